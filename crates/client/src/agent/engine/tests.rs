//! A loop that is killed between every two things it does.

mod fake;

use super::*;
use fake::{Fake, Kill, Universe};
use serde_json::{Map, Value, json};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use x811_protocol::code::Code;
use x811_protocol::envelope::{CoreType, EnvelopeRules, MessageType, ParsedEnvelope, verify};
use x811_protocol::facts::AcceptancePolicy;
use x811_protocol::interaction::StateName;
use x811_protocol::money::MicroUsdc;

use crate::agent::caps::Caps;
use crate::agent::decide::PriceRule;
use crate::agent::negotiator::Negotiator;
use crate::agent::notice::silent;
use crate::agent::run::Order;
use crate::agent::work::{Job, good_if_inline};
use crate::compose::{ComposeError, Composer, ErrorReport, Payload, Request};
use crate::http::{InboxPage, Incoming};
use crate::negotiator::FixedConcession;
use crate::policy::Trust;
use crate::testing::{CountingEntropy, ManualClock};

fn usdc(text: &str) -> MicroUsdc {
    MicroUsdc::from_usdc_decimal(text).unwrap()
}

fn order(universe: &Universe) -> Order {
    Order {
        provider: universe.bob.did,
        request: Request {
            task_type: "echo".to_owned(),
            parameters: [("text".to_owned(), json!("hello"))].into_iter().collect(),
            max_budget: usdc("0.05"),
            deadline_s: 60,
            acceptance_policy: AcceptancePolicy::Auto,
            threshold_amount: None,
            callback_url: None,
            idempotency_key: "first".to_owned(),
        },
    }
}

fn engine(universe: &Arc<Mutex<Universe>>, is_initiator: bool) -> Engine<Fake> {
    let world = Fake::new(universe.clone(), is_initiator);
    let state = world.stored();
    let caps = Caps {
        per_interaction: usdc("0.05"),
        per_day: usdc("0.05"),
        per_counterparty: usdc("0.05"),
        per_network: usdc("0.05"),
    };
    Engine {
        state,
        initiator: is_initiator.then(|| InitiatorPart {
            rules: InitiatorRules {
                minimum_trust: Trust::ZERO,
                caps: Some(caps),
                network: "local".to_owned(),
            },
            check: Arc::new(good_if_inline),
        }),
        provider: (!is_initiator).then(|| ProviderPart {
            rules: ProviderRules {
                prices: vec![PriceRule {
                    task_type: "echo".to_owned(),
                    price: usdc("0.029"),
                    price_per_kib: MicroUsdc::ZERO,
                    estimated_time_s: 5,
                    expiry_s: 300,
                    deliverables: vec!["the text".to_owned()],
                    terms: None,
                }],
                payment_address: None,
                most_at_once: 4,
            },
            worker: Arc::new(|_: Job| async { Ok(Product::text("hello")) }),
        }),
        negotiator: None,
        dealer: None,
        jobs: JoinSet::new(),
        working: BTreeMap::new(),
        observer: silent(),
        world,
    }
}

/// Runs a loop from its start until all is over or it is killed; whether it was killed.
async fn live(universe: &Arc<Mutex<Universe>>, is_initiator: bool) -> bool {
    let mut engine = engine(universe, is_initiator);
    let first = order(&universe.lock().unwrap());
    let begun = async {
        if !engine.state.is_rebuilt {
            let id = universe.lock().unwrap().interaction();
            if let Some(id) = id {
                let Ok(case) = engine.world.case(id).await else {
                    return false;
                };
                engine.adopt(&case);
            }
            engine.state.is_rebuilt = true;
        }
        engine.resume();
        !is_initiator || engine.order(&[first]).is_ok()
    };
    if !begun.await {
        return true;
    }
    for _ in 0..60 {
        if let Some(id) = universe.lock().unwrap().step_of_the_other(is_initiator) {
            engine.state.touch(id);
        }
        if engine.turn().await.is_err() {
            return true;
        }
        while let Some(done) = engine.jobs.join_next().await {
            if engine.job_ended(done).await.is_err() {
                return true;
            }
        }
        universe.lock().unwrap().now_ms += 1_000;
        if universe.lock().unwrap().is_settled(&engine.state) {
            return false;
        }
    }
    panic!("nothing ends: {:?}", engine.state);
}

/// Kills the loop at its `at`th call, before or after what that does, starts it again and lets it
/// end. False when it made fewer calls.
async fn killed_at(
    at: usize,
    kill: Kill,
    is_initiator: bool,
    loses_state: bool,
) -> Option<Universe> {
    let universe = Arc::new(Mutex::new(Universe::new(at, kill)));
    let was_killed = live(&universe, is_initiator).await;
    if was_killed {
        universe.lock().unwrap().revive(loses_state);
        let again = live(&universe, is_initiator).await;
        assert!(!again, "it is killed once");
    }
    let universe = Arc::into_inner(universe).unwrap().into_inner().unwrap();
    was_killed.then_some(universe)
}

#[tokio::test]
async fn ae_064_an_initiator_killed_anywhere_says_all_once_and_pays_once() {
    let mut points = 0;
    for kill in [Kill::Before, Kill::After] {
        for at in 0.. {
            let Some(universe) = killed_at(at, kill, true, false).await else {
                break;
            };
            points += 1;
            assert_eq!(universe.state, StateName::Completed, "{kill:?} {at}");
            assert_eq!(universe.transfers, 1, "{kill:?} {at}");
            for act in [Act::Request, Act::Accept, Act::Verify, Act::Payment] {
                let ids = universe.sent_ids(act);
                assert_eq!(ids, 1, "{act:?} under {ids} ids: {kill:?} {at}");
            }
            let state = universe.stored().unwrap();
            assert_eq!(state.commitments.len(), 1, "{kill:?} {at}");
            assert_eq!(state.alarms, [], "{kill:?} {at}");
        }
    }
    assert!(points > 40, "only {points} points");
}

#[tokio::test]
async fn ae_064_an_initiator_whose_state_is_lost_anywhere_pays_once() {
    for kill in [Kill::Before, Kill::After] {
        for at in 0.. {
            let Some(universe) = killed_at(at, kill, true, true).await else {
                break;
            };
            assert_eq!(universe.state, StateName::Completed, "{kill:?} {at}");
            assert_eq!(universe.transfers, 1, "{kill:?} {at}");
            for act in [Act::Request, Act::Accept, Act::Verify, Act::Payment] {
                assert_eq!(universe.accepted(act), 1, "{act:?} {kill:?} {at}");
            }
        }
    }
}

#[tokio::test]
async fn ae_059_a_provider_killed_anywhere_delivers_once() {
    let runs = AtomicUsize::new(0);
    for kill in [Kill::Before, Kill::After] {
        for at in 0.. {
            let Some(universe) = killed_at(at, kill, false, false).await else {
                break;
            };
            runs.fetch_add(1, Ordering::Relaxed);
            assert_eq!(universe.state, StateName::Completed, "{kill:?} {at}");
            for act in [Act::Offer, Act::Result] {
                assert_eq!(universe.sent_ids(act), 1, "{act:?} {kill:?} {at}");
            }
        }
    }
    assert!(runs.into_inner() > 15);
}

/// The transfer is on its way while its PAYMENT cannot be sent; then the window is over.
#[tokio::test]
async fn ae_064_a_payment_refused_after_its_broadcast_alarms_and_stays_listed() {
    let mut universe = Universe::new(usize::MAX, Kill::Before);
    universe.refuses_payments = true;
    let universe = Arc::new(Mutex::new(universe));
    let mut engine = engine(&universe, true);
    let first = order(&universe.lock().unwrap());
    engine.order(&[first]).unwrap();
    for _ in 0..10 {
        if let Some(id) = universe.lock().unwrap().step_of_the_other(true) {
            engine.state.touch(id);
        }
        engine.turn().await.unwrap();
        universe.lock().unwrap().now_ms += 1_000;
    }
    assert_eq!(universe.lock().unwrap().transfers, 1);
    let alarms = &engine.state.alarms;
    assert!(
        alarms
            .iter()
            .any(|alarm| alarm.text.contains("may have paid")),
        "{alarms:?}"
    );
    let task = engine.state.tasks.values().next().unwrap();
    assert!(task.transfer.is_some(), "{task:?}");
}

/// Less than twenty seconds of the window are left when it could pay.
#[tokio::test]
async fn ae_064_nothing_is_signed_or_sent_when_the_window_is_nearly_over() {
    let mut universe = Universe::new(usize::MAX, Kill::Before);
    universe.payment_window_ms = 19_000;
    let universe = Arc::new(Mutex::new(universe));
    let mut engine = engine(&universe, true);
    let first = order(&universe.lock().unwrap());
    engine.order(&[first]).unwrap();
    for _ in 0..10 {
        if let Some(id) = universe.lock().unwrap().step_of_the_other(true) {
            engine.state.touch(id);
        }
        engine.turn().await.unwrap();
        universe.lock().unwrap().now_ms += 1_000;
    }
    let universe = universe.lock().unwrap();
    assert_eq!(
        (universe.state, universe.transfers),
        (StateName::Verified, 0)
    );
    assert_eq!(universe.sent_ids(Act::Payment), 0);
}

/// A ledger that takes a message and leaves it out of its log has no proof of it.
#[tokio::test]
async fn ax_044_a_record_without_a_proof_alarms_within_a_minute_and_once() {
    let mut universe = Universe::new(usize::MAX, Kill::Before);
    universe.hides_proofs = true;
    let universe = Arc::new(Mutex::new(universe));
    let mut engine = engine(&universe, false);
    let mut alarmed_after_s = Vec::new();
    let mut delivered_at_s = None;
    for second in 0..200 {
        if let Some(id) = universe.lock().unwrap().step_of_the_other(false) {
            engine.state.touch(id);
        }
        engine.turn().await.unwrap();
        while let Some(done) = engine.jobs.join_next().await {
            engine.job_ended(done).await.unwrap();
        }
        if delivered_at_s.is_none() && universe.lock().unwrap().accepted(Act::Result) == 1 {
            delivered_at_s = Some(second);
        }
        alarmed_after_s.resize(engine.state.alarms.len(), second);
        universe.lock().unwrap().now_ms += 1_000;
    }
    let [alarm] = engine.state.alarms.as_slice() else {
        panic!("one alarm: {:?}", engine.state.alarms);
    };
    assert!(
        alarm.text.contains("no proof that the acknowledged result"),
        "{alarm:?}"
    );
    let late_s = alarmed_after_s[0] - delivered_at_s.unwrap();
    assert!((60..=66).contains(&late_s), "{late_s}");
    assert_eq!(engine.state.proofs.len(), 1, "it is still asked for");
}

#[tokio::test]
async fn ae_066_a_worker_that_panics_is_an_error_to_the_initiator() {
    let universe = Arc::new(Mutex::new(Universe::new(usize::MAX, Kill::Before)));
    let mut engine = engine(&universe, false);
    if let Some(part) = &mut engine.provider {
        part.worker = Arc::new(|job: Job| async move {
            assert!(job.task_type.is_empty(), "a fault of the worker");
            Ok(Product::text("never"))
        });
    }
    for _ in 0..5 {
        if let Some(id) = universe.lock().unwrap().step_of_the_other(false) {
            engine.state.touch(id);
        }
        engine.turn().await.unwrap();
        while let Some(done) = engine.jobs.join_next().await {
            engine.job_ended(done).await.unwrap();
        }
        universe.lock().unwrap().now_ms += 1_000;
    }
    let universe = universe.lock().unwrap();
    assert_eq!(universe.sent_ids(Act::Error), 1);
    assert_eq!(universe.sent_ids(Act::Result), 0);
}

/// The interaction ends while its transfer waits in the outbox: nothing leaves.
#[tokio::test]
async fn ae_064_a_transfer_of_an_interaction_that_ended_never_leaves() {
    let universe = Arc::new(Mutex::new(Universe::new(usize::MAX, Kill::Before)));
    let mut engine = engine(&universe, true);
    let first = order(&universe.lock().unwrap());
    engine.order(&[first]).unwrap();
    let has_transfer = |engine: &Engine<Fake>| {
        let mut outbox = engine.state.outbox.iter();
        outbox.any(|entry| entry.transfer.is_some())
    };
    while !has_transfer(&engine) {
        if let Some(id) = universe.lock().unwrap().step_of_the_other(true) {
            engine.state.touch(id);
        }
        engine.send_due().await.unwrap();
        let going = engine.state.tasks.keys().next().copied();
        if let Some(id) = going {
            engine.attend(id).await.unwrap();
        }
    }
    universe.lock().unwrap().state = StateName::Disputed;
    for _ in 0..5 {
        engine.turn().await.unwrap();
        universe.lock().unwrap().now_ms += 10_000;
    }
    assert_eq!(universe.lock().unwrap().transfers, 0);
    assert_eq!(engine.state.outbox, []);
}

/// An ERROR whose sender names somebody else's interaction as a negotiation.
struct Naming(InteractionId);

impl Payload for Naming {
    fn message_type(&self) -> MessageType {
        CoreType::Error.into()
    }

    fn members(&self) -> Result<Map<String, Value>, ComposeError> {
        let report = ErrorReport {
            code: Code::ResultTimeout,
            message: "there is no such negotiation".to_owned(),
            related: None,
        };
        let mut members = report.members()?;
        members.insert(
            "negotiation_id".to_owned(),
            format!("neg-{}", self.0).into(),
        );
        Ok(members)
    }
}

/// Who deals with a loop that negotiates must not be able to make it forget an interaction.
#[tokio::test]
async fn ae_066_an_error_makes_no_negotiation_of_an_interaction() {
    let universe = Arc::new(Mutex::new(Universe::new(usize::MAX, Kill::Before)));
    let mut engine = engine(&universe, true);
    engine.negotiator = Some(Arc::new(Negotiator {
        strategy: Arc::new(FixedConcession {
            step: usdc("0.001"),
        }),
        per_turn: usdc("0.001"),
        max_turns: 10,
        life_ms: 60_000,
        purchases: Vec::new(),
        sales: Vec::new(),
    }));
    let first = order(&universe.lock().unwrap());
    engine.order(&[first]).unwrap();
    let interaction = *engine.state.tasks.keys().next().unwrap();
    let sealed = {
        let universe = universe.lock().unwrap();
        let (entropy, clock) = (CountingEntropy::default(), ManualClock::default());
        let composer = Composer::new(&universe.bob, &entropy, &clock);
        let sealed = composer
            .seal(universe.ada.did, &Naming(interaction))
            .unwrap();
        let parsed = ParsedEnvelope::parse(&sealed.json, &EnvelopeRules::default()).unwrap();
        verify(parsed, &[universe.bob.agent_key()]).unwrap()
    };
    let page = InboxPage {
        messages: vec![Incoming {
            position: 7,
            interaction_id: None,
            envelope: sealed,
        }],
        board: Vec::new(),
        unverified: Vec::new(),
        next: None,
    };
    engine.take(&page, &[]).unwrap();
    assert!(engine.state.talks.is_empty());
    assert!(engine.state.tasks.contains_key(&interaction));
}
