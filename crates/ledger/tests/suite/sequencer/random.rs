//! Random mixes of messages, observations, time, restarts and failing commits: whatever happens,
//! live state is what the log adds up to, and what was acknowledged is in the log for ever.

use super::base::{BASE, Base, tx};
use super::bundles::{all_clean, bundle, interactions};
use super::deal::{Deal, TOTAL_MICRO_USDC};
use super::ledgerbox::Ledgerbox;
use super::party::Account;
use super::size::size;
use super::snapshots::assert_every_cut_holds;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use x811_audit::audit_export;
use x811_eventlog::EventLog;
use x811_ledger::answer::{Accepted, Answer};
use x811_ledger::memory::{CommitFault, MemoryReadModel};
use x811_ledger::port::LedgerStore;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::event::{Event, SettlementEvent};
use x811_protocol::id::EnvelopeId;
use x811_protocol::observation::{BlindCause, Observation};
use x811_protocol::refusal::Refusal;

/// Interactions between the same two parties, so that they are rivals for the same transactions.
const DEALS: usize = 3;

#[derive(Debug, Clone, Copy)]
enum Message {
    Request,
    RequestOfTheFirst,
    Offer,
    Accept,
    Reject,
    Result,
    Verify,
    Payment(u16),
    Error,
    Custom,
    Resent(usize),
}

#[derive(Debug, Clone)]
enum Act {
    Say(usize, Message),
    /// Says everything that leads to a watched payment.
    Pay(usize, u16),
    /// All of it in one batch.
    SayAtOnce(Vec<(usize, Message)>),
    Mine(u16, u64),
    Revert(u16),
    Reorganise(u16),
    Sweep,
    LoseSight,
    Pass(u64),
    Watch(u64),
    JumpWall(u64),
    Fail(CommitFault),
    Restart {
        away_ms: u64,
        without_rows: bool,
    },
    CrashBeforeCommit(usize, Message),
    CrashAfterCommit(usize, Message),
}

impl Act {
    fn is_a_new_start(&self) -> bool {
        match self {
            Act::Restart { .. } | Act::CrashBeforeCommit(..) | Act::CrashAfterCommit(..) => true,
            Act::Say(..)
            | Act::Pay(..)
            | Act::SayAtOnce(_)
            | Act::Mine(..)
            | Act::Revert(_)
            | Act::Reorganise(_)
            | Act::Sweep
            | Act::LoseSight
            | Act::Pass(_)
            | Act::Watch(_)
            | Act::JumpWall(_)
            | Act::Fail(_) => false,
        }
    }
}

fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        3 => Just(Message::Request),
        1 => Just(Message::RequestOfTheFirst),
        3 => Just(Message::Offer),
        3 => Just(Message::Accept),
        1 => Just(Message::Reject),
        3 => Just(Message::Result),
        3 => Just(Message::Verify),
        3 => (1..4_u16).prop_map(Message::Payment),
        1 => Just(Message::Error),
        1 => Just(Message::Custom),
        2 => (0..8_usize).prop_map(Message::Resent),
    ]
}

fn fault() -> impl Strategy<Value = CommitFault> {
    prop_oneof![
        Just(CommitFault::Backend),
        Just(CommitFault::UnknownNothingStored),
        Just(CommitFault::UnknownAllStored),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    let wait = prop_oneof![
        Just(1_u64),
        Just(999),
        Just(5_000),
        Just(30_001),
        Just(61_000),
        Just(310_000),
    ];
    let away = prop_oneof![Just(0_u64), Just(3_000), Just(120_000)];
    prop_oneof![
        8 => (0..DEALS, message()).prop_map(|(deal, message)| Act::Say(deal, message)),
        4 => (0..DEALS, 1..4_u16).prop_map(|(deal, number)| Act::Pay(deal, number)),
        2 => proptest::collection::vec((0..DEALS, message()), 2..5).prop_map(Act::SayAtOnce),
        2 => (1..4_u16, prop_oneof![
            Just(TOTAL_MICRO_USDC),
            Just(TOTAL_MICRO_USDC * 2),
            Just(1),
        ]).prop_map(|(number, amount)| Act::Mine(number, amount)),
        1 => (1..4_u16).prop_map(Act::Revert),
        1 => (1..4_u16).prop_map(Act::Reorganise),
        3 => Just(Act::Sweep),
        1 => Just(Act::LoseSight),
        3 => wait.prop_map(Act::Pass),
        2 => (5_000..40_000_u64).prop_map(Act::Watch),
        1 => prop_oneof![Just(4_000_u64), Just(60_000)].prop_map(Act::JumpWall),
        3 => fault().prop_map(Act::Fail),
        2 => (away, any::<bool>())
            .prop_map(|(away_ms, without_rows)| Act::Restart { away_ms, without_rows }),
        1 => (0..DEALS, message()).prop_map(|(deal, m)| Act::CrashBeforeCommit(deal, m)),
        1 => (0..DEALS, message()).prop_map(|(deal, m)| Act::CrashAfterCommit(deal, m)),
    ]
}

/// A ledger, its parties, and what they were told.
struct Story {
    ledgerbox: Ledgerbox,
    deals: Vec<Deal>,
    sent: Vec<SealedEnvelope>,
    acknowledged: BTreeMap<EnvelopeId, Accepted>,
}

impl Story {
    async fn begin() -> Story {
        let ledgerbox = Ledgerbox::open().await;
        let first = Deal::between_new_parties(&ledgerbox).await;
        let mut deals = Vec::new();
        for _ in 0..DEALS {
            let account = Account::new(0x46);
            let deal = Deal::between(&ledgerbox, &first.initiator, &first.provider, account);
            deals.push(deal);
        }
        Story {
            ledgerbox,
            deals,
            sent: Vec::new(),
            acknowledged: BTreeMap::new(),
        }
    }

    fn seal(&mut self, deal: usize, message: Message) -> SealedEnvelope {
        if let (Message::Resent(index), false) = (message, self.sent.is_empty()) {
            return self.sent[index % self.sent.len()].clone();
        }
        let first_key = self.deals[0].request_id.to_string();
        let (ledgerbox, deal) = (&self.ledgerbox, &mut self.deals[deal]);
        let envelope = match message {
            Message::Request => deal.request(ledgerbox),
            Message::RequestOfTheFirst => {
                let payload = Deal::request_payload(&first_key);
                ledgerbox.seal(&deal.initiator, "x811/request", &deal.provider, payload)
            }
            Message::Offer => deal.offer(ledgerbox),
            Message::Accept => deal.accept(ledgerbox),
            Message::Reject => deal.reject(ledgerbox),
            Message::Result => deal.result(ledgerbox),
            Message::Verify => deal.verify(ledgerbox),
            Message::Payment(number) => deal.payment(ledgerbox, number),
            Message::Error => deal.error(ledgerbox, Some(deal.request_id)),
            Message::Custom | Message::Resent(_) => {
                let payload = serde_json::json!({});
                ledgerbox.seal(&deal.provider, "x811.ext/a", &deal.initiator, payload)
            }
        };
        self.sent.push(envelope.clone());
        envelope
    }

    fn answered(&mut self, answer: Result<Answer, Refusal>) {
        match answer {
            Ok(Answer::Accepted(accepted)) => {
                let before = self.acknowledged.insert(accepted.envelope_id, accepted);
                assert_eq!(before, None, "accepted twice");
            }
            Ok(Answer::Repeated(first)) => {
                let known = self.acknowledged.entry(first.envelope_id);
                assert_eq!(known.or_insert_with(|| first.clone()), &first);
            }
            Err(_) => {}
        }
    }

    async fn say(&mut self, deal: usize, message: Message) {
        let envelope = self.seal(deal, message);
        let answer = self.ledgerbox.submit(&envelope).await;
        self.answered(answer);
    }

    async fn say_at_once(&mut self, messages: &[(usize, Message)]) {
        let store = self.ledgerbox.store.clone();
        let held = store.hold_commits().await;
        let mut answers = Vec::new();
        for (deal, message) in messages {
            let envelope = self.seal(*deal, *message);
            answers.push(self.ledgerbox.submit_later(&envelope).await);
        }
        drop(held);
        for answer in answers {
            let answer = answer.await.unwrap();
            self.answered(answer);
        }
    }

    async fn crash_around(&mut self, deal: usize, message: Message, stored: bool) {
        let envelope = self.seal(deal, message);
        let store = self.ledgerbox.store.clone();
        if stored {
            self.ledgerbox
                .fail_next_commit(CommitFault::StoredNeverTold);
            let _unanswered = self.ledgerbox.submit_later(&envelope).await;
            self.ledgerbox.crash().await;
        } else {
            let held = store.hold_commits().await;
            let _unanswered = self.ledgerbox.submit_later(&envelope).await;
            self.ledgerbox.crash().await;
            drop(held);
        }
        store.pass_all_commits();
        self.start().await;
        // Whoever got no answer sends the same again.
        let answer = self.ledgerbox.submit(&envelope).await;
        self.answered(answer);
    }

    /// Starts, and once more for every commit of a start that fails.
    async fn start(&mut self) {
        while self.ledgerbox.start().await.is_err() {}
    }

    async fn act(&mut self, act: &Act) {
        let ledgerbox = &mut self.ledgerbox;
        let block = Base::head_number(ledgerbox.now());
        let payer = self.deals[0].account.address;
        match act {
            Act::Say(deal, message) => self.say(*deal, *message).await,
            Act::Pay(deal, number) => {
                let payment = Message::Payment(*number);
                for message in [
                    Message::Request,
                    Message::Offer,
                    Message::Accept,
                    Message::Result,
                    Message::Verify,
                    payment,
                ] {
                    self.say(*deal, message).await;
                }
            }
            Act::SayAtOnce(messages) => self.say_at_once(messages).await,
            Act::Mine(number, amount) => {
                ledgerbox.base.mine(tx(*number), block, payer, &[*amount]);
            }
            Act::Revert(number) => ledgerbox.base.revert(tx(*number), block),
            Act::Reorganise(number) => ledgerbox.base.reorganise_away(tx(*number)),
            Act::Sweep => ledgerbox.sweep().await,
            Act::LoseSight => {
                let observation = Observation::Unreachable {
                    network: BASE.to_owned(),
                    cause: BlindCause::WrongChain,
                    silent: Vec::new(),
                };
                ledgerbox.observe(observation).await;
            }
            Act::Pass(ms) => ledgerbox.advance_ms(*ms).await,
            Act::Watch(ms) => ledgerbox.watch_ms(*ms).await,
            Act::JumpWall(ms) => {
                let wall = ledgerbox.now().saturating_add_ms(*ms);
                ledgerbox.clock.jump_wall_to(wall);
                for _ in 0..12 {
                    ledgerbox.advance_ms(1_000).await;
                }
            }
            Act::Fail(fault) => ledgerbox.fail_next_commit(*fault),
            Act::Restart {
                away_ms,
                without_rows,
            } => {
                ledgerbox.crash().await;
                ledgerbox.clock.advance_ms(*away_ms);
                if *without_rows {
                    ledgerbox.rows = Arc::new(MemoryReadModel::new());
                }
                self.start().await;
            }
            Act::CrashBeforeCommit(deal, message) => {
                self.crash_around(*deal, *message, false).await;
            }
            Act::CrashAfterCommit(deal, message) => {
                self.crash_around(*deal, *message, true).await;
            }
        }
    }

    /// Left alone long enough, everything comes to its end and leaves memory.
    async fn end(self) {
        let ledgerbox = &self.ledgerbox;
        ledgerbox.store.pass_all_commits();
        // One tick to find out that it can write again: until then it counts as away.
        ledgerbox.advance_ms(1_000).await;
        ledgerbox.advance_ms(3_600_001).await;
        let mut left = ledgerbox.ledger().world().sizes();
        for _ in 0..120 {
            if left.interactions == 0 {
                break;
            }
            ledgerbox.sweep().await;
            ledgerbox.advance_ms(5_000).await;
            left = ledgerbox.ledger().world().sizes();
        }
        self.check().await;
        assert_eq!((left.interactions, left.notices_owed), (0, 0));
        assert_eq!(left.watched == 0, left.aftermath == 0, "{left:?}");
    }

    /// Everything that must hold at any moment.
    async fn check(&self) {
        self.ledgerbox.assert_log_adds_up().await;
        for accepted in self.acknowledged.values() {
            let log = self.ledgerbox.store.log();
            let record = log.read(accepted.position, 1).await.unwrap().remove(0);
            let hash = record.hash();
            assert_eq!(hash.as_bytes(), accepted.record_hash.as_bytes());
            let event = Event::from_json(record.event_json()).unwrap();
            assert_eq!(event.envelope().unwrap().id, accepted.envelope_id);
        }
        let (mut ids, mut claims) = (BTreeSet::new(), BTreeSet::new());
        for (_, event) in self.ledgerbox.events().await {
            if let Some(envelope) = event.envelope() {
                assert!(ids.insert(envelope.id), "an id twice");
            }
            if let Event::Settlement(SettlementEvent::Confirmed(confirmed)) = event {
                for claim in confirmed.claims {
                    assert!(claims.insert(claim), "a transfer paid twice");
                }
            }
        }
    }
}

/// What happened before the random part.
#[derive(Debug, Clone, Copy)]
enum Before {
    Nothing,
    Rivals,
    Blindness,
    Crashes,
}

async fn tell(before: Before, acts: &[Act]) {
    live_through(before, acts).await.end().await;
}

/// Lives through it and checks on the way.
async fn live_through(before: Before, acts: &[Act]) -> Story {
    let mut story = Story::begin().await;
    let prologue = match before {
        Before::Nothing => vec![],
        Before::Rivals => vec![Act::Sweep, Act::Pay(0, 1), Act::Pay(1, 1), Act::Pay(2, 2)],
        Before::Blindness => vec![
            Act::LoseSight,
            Act::Pay(0, 1),
            Act::Say(1, Message::Request),
        ],
        Before::Crashes => (0..2)
            .flat_map(|deal| {
                [
                    Act::CrashBeforeCommit(deal, Message::Request),
                    Act::CrashAfterCommit(deal, Message::Offer),
                ]
            })
            .collect(),
    };
    for (act, number) in prologue.iter().chain(acts).zip(1..) {
        story.act(act).await;
        if number % 4 == 0 || act.is_a_new_start() {
            story.check().await;
        }
    }
    story
}

fn runs_true(before: Before, acts: &[Act]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(tell(before, acts));
}

fn before() -> impl Strategy<Value = Before> {
    prop_oneof![
        Just(Before::Nothing),
        Just(Before::Rivals),
        Just(Before::Blindness),
        Just(Before::Crashes),
    ]
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    proptest::collection::vec(act(), 1..16)
}

/// A configuration of `cases` histories, multiplied by `X811_LEDGER_HISTORIES` where it is set, and of at most
/// `max_shrink_iters` attempts to make a failing one smaller.
pub(crate) fn runs(cases: u32, max_shrink_iters: u32) -> ProptestConfig {
    ProptestConfig {
        cases: cases * size("X811_LEDGER_HISTORIES", 1),
        failure_persistence: None,
        max_shrink_iters,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(runs(25, 400))]

    #[test]
    fn lc_1_the_log_adds_up_whatever_happens(acts in acts()) {
        runs_true(Before::Nothing, &acts);
    }

    #[test]
    fn lc_1_the_log_adds_up_whatever_happens_to_rivals(acts in acts()) {
        runs_true(Before::Rivals, &acts);
    }

    #[test]
    fn lc_1_the_log_adds_up_whatever_happens_in_blindness(acts in acts()) {
        runs_true(Before::Blindness, &acts);
    }

    #[test]
    fn lc_1_the_log_adds_up_whatever_happens_after_crashes(acts in acts()) {
        runs_true(Before::Crashes, &acts);
    }
}

/// A crash after which another interaction's ACCEPT names the head that was known before, and blindness
/// that a fresh head does not end: a bundle shows none of the records that named it.
#[tokio::test]
async fn lc_7_a_bundle_is_clean_whose_head_another_interaction_named() {
    let acts = [
        Act::CrashBeforeCommit(0, Message::Request),
        Act::LoseSight,
        Act::Pay(0, 1),
    ];
    let story = live_through(Before::Rivals, &acts).await;
    story.ledgerbox.settle().await;
    all_clean(&story.ledgerbox).await;
}

proptest! {
    #![proptest_config(runs(8, 100))]

    #[test]
    fn lc_1_a_snapshot_at_any_record_stands_for_the_log_before_it(
        before in before(),
        acts in acts(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let story = live_through(before, &acts).await;
            story.ledgerbox.settle().await;
            assert_every_cut_holds(&story.ledgerbox).await;
        });
    }
}

proptest! {
    #![proptest_config(runs(16, 100))]

    #[test]
    fn lc_7_every_bundle_of_any_history_is_clean_and_no_bit_of_it_can_be_turned(
        before in before(),
        acts in acts(),
        flips in proptest::collection::vec((any::<prop::sample::Index>(), 0..8_u8), 8),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let story = live_through(before, &acts).await;
            story.ledgerbox.settle().await;
            all_clean(&story.ledgerbox).await;
            for id in interactions(&story.ledgerbox).await {
                let good = bundle(&story.ledgerbox, id).await;
                for (at, bit) in &flips {
                    let mut bad = good.clone();
                    bad[at.index(good.len())] ^= 1 << bit;
                    let report = audit_export(&bad[..], None).unwrap();
                    assert!(!report.is_clean(), "byte {}, bit {bit}", at.index(good.len()));
                }
            }
        });
    }
}
