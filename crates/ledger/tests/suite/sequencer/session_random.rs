//! Two clients of some sessions who pay no heed to each other, with somebody who takes no part, time
//! that passes, and a ledger that is killed, stays away for a while, and comes back from its log or from a
//! snapshot: one close a session, one agreement at most, and nobody uses more than was agreed on.
//!
//! A longer run, with the number of histories:
//! `X811_SESSION_HISTORIES=10000 cargo nextest run --profile full -p x811-ledger --test suite cx_38_whatever`.

use super::bargain::{Bargain, taking_crowds};
use super::bundles::audited;
use super::ledgerbox::Ledgerbox;
use super::size::size;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use x811_ledger::answer::Answer;
use x811_protocol::event::{Agreed, CloseReason, Effect, Event, Used};
use x811_protocol::facts::{CapabilityFacts, CapabilityVerb as Verb, Facts};
use x811_protocol::id::{AgreementId, EnvelopeId, SessionId};
use x811_protocol::parameters::Capabilities;
use x811_protocol::stream::{Stream, Subject};

/// Histories of one run.
const HISTORIES: u32 = 40;

/// Sessions that are negotiated side by side.
const THREADS: usize = 3;

/// A minute, in which uses are counted.
const MINUTE_MS: u64 = 60_000;

/// Who speaks.
#[derive(Debug, Clone, Copy)]
enum Who {
    Consumer,
    Provider,
    Stranger,
}

/// What happens next, whatever the other side has said meanwhile.
#[derive(Debug, Clone, Copy)]
enum Act {
    /// A request; of the next revision, if it is to be one and something is in force.
    Ask(usize, Who, bool),
    /// A message about a session, its last step or the one before.
    Say(usize, Who, Verb, bool),
    /// From the request to both signatures, as far as nobody minds.
    Agree(usize),
    /// A REQUEST under the last agreement, within its size or not.
    Use(bool),
    /// The end of the last agreement.
    Revoke(Who),
    /// Time passes, in milliseconds.
    Pass(u64),
    /// The ledger is killed, stays away for so long, and comes back from a snapshot or from its log.
    Die(u64, bool),
}

fn act() -> impl Strategy<Value = Act> {
    let who = || prop_oneof![6 => Just(Who::Consumer), 6 => Just(Who::Provider), 1 => Just(Who::Stranger)];
    let verb = prop_oneof![
        4 => Just(Verb::Response),
        4 => Just(Verb::Offer),
        6 => Just(Verb::Counter),
        4 => Just(Verb::Accept),
        8 => Just(Verb::Agree),
        1 => Just(Verb::Reject),
        1 => Just(Verb::Close),
    ];
    let waits = prop_oneof![
        Just(1_u64),
        Just(20_000),
        Just(30_001),
        Just(60_001),
        Just(600_001)
    ];
    let away = prop_oneof![3 => Just(0_u64), 1 => Just(45_000), 1 => Just(3_600_000)];
    let thread = || 0..THREADS;
    prop_oneof![
        3 => (thread(), who(), any::<bool>()).prop_map(|(thread, who, anew)| Act::Ask(thread, who, anew)),
        14 => (thread(), who(), verb, prop::bool::weighted(0.15))
            .prop_map(|(thread, who, verb, stale)| Act::Say(thread, who, verb, stale)),
        3 => thread().prop_map(Act::Agree),
        5 => any::<bool>().prop_map(Act::Use),
        1 => who().prop_map(Act::Revoke),
        3 => waits.prop_map(Act::Pass),
        2 => (away, any::<bool>()).prop_map(|(away_ms, from_log)| Act::Die(away_ms, from_log)),
    ]
}

/// What two parties and somebody else have said so far.
struct Play {
    ledgerbox: Ledgerbox,
    threads: [Bargain; THREADS],
    /// The step before the last one, of each.
    before: [Option<(EnvelopeId, Value)>; THREADS],
    /// The last agreement that came into force.
    in_force: Option<(AgreementId, u64)>,
    turn: u64,
}

impl Play {
    async fn new() -> Play {
        let ledgerbox = taking_crowds(Capabilities::DEFAULT).await;
        let bargain = Bargain::new(&ledgerbox).await;
        Play {
            ledgerbox,
            threads: [bargain.clone(), bargain.clone(), bargain],
            before: [None, None, None],
            in_force: None,
            turn: 0,
        }
    }

    /// Another duration and other limits with every turn, small ones, so that they are met.
    fn terms(&mut self) -> Value {
        self.turn += 1;
        let mut terms = Bargain::terms(60 + 30 * (self.turn % 20), 1 + self.turn % 3);
        terms["requests_per_minute"] = json!(1 + self.turn % 2);
        terms
    }

    async fn ask(&mut self, thread: usize, who: Who, anew: bool) {
        let talk = &mut self.threads[thread];
        let before = talk.clone();
        talk.agreement = self.in_force.filter(|_| !anew);
        self.say(thread, who, Verb::Request, false).await;
        if self.threads[thread].session == before.session {
            // It was refused: the session before goes on.
            self.threads[thread] = before;
        } else {
            self.before[thread] = None;
        }
    }

    async fn say(&mut self, thread: usize, who: Who, verb: Verb, is_stale: bool) {
        let terms = self.terms();
        let talk = &mut self.threads[thread];
        let is_sayable = match verb {
            Verb::Request => true,
            Verb::Accept => talk.step.is_some() && talk.session.is_some(),
            _ => talk.session.is_some(),
        };
        if !is_sayable {
            return;
        }
        let now = talk.step.clone();
        if is_stale && self.before[thread].is_some() {
            talk.step = self.before[thread].clone();
        }
        let from = match who {
            Who::Consumer => talk.consumer.clone(),
            Who::Provider => talk.provider.clone(),
            Who::Stranger => talk.stranger.clone(),
        };
        let envelope = talk.message(&self.ledgerbox, &from, verb, &terms);
        talk.step = now;
        let Ok(Answer::Accepted(accepted)) = self.ledgerbox.submit(&envelope).await else {
            return;
        };
        if [Verb::Offer, Verb::Counter].contains(&verb) {
            self.before[thread] = talk.step.clone();
        }
        talk.note(verb, &terms, accepted.envelope_id);
        if verb == Verb::Agree && accepted.state == Some("closed") {
            self.in_force = talk.agreement;
        }
    }

    async fn act(&mut self, act: Act) {
        match act {
            Act::Ask(thread, who, anew) => self.ask(thread, who, anew).await,
            Act::Say(thread, who, verb, is_stale) => self.say(thread, who, verb, is_stale).await,
            Act::Agree(thread) => {
                let is_first = self.in_force.is_none();
                self.ask(thread, Who::Consumer, is_first).await;
                for (who, verb) in [
                    (Who::Provider, Verb::Response),
                    (Who::Consumer, Verb::Offer),
                    (Who::Provider, Verb::Accept),
                    (Who::Provider, Verb::Agree),
                    (Who::Consumer, Verb::Agree),
                ] {
                    self.say(thread, who, verb, false).await;
                }
            }
            Act::Use(is_small) => {
                let mut talk = self.threads[0].clone();
                talk.agreement = self.in_force;
                if self.in_force.is_some() {
                    let (_, request) = talk.use_it(&self.ledgerbox, |payload| {
                        if !is_small {
                            payload["parameters"]["text"] = json!("a".repeat(4_096));
                        }
                    });
                    // Refused or not: that is what is looked at below.
                    let _ = self.ledgerbox.submit(&request).await;
                }
            }
            Act::Revoke(who) => self.revoke(who).await,
            Act::Pass(ms) => self.ledgerbox.advance_ms(ms).await,
            Act::Die(away_ms, from_log) => {
                self.ledgerbox.crash().await;
                if from_log {
                    self.ledgerbox.snapshots.clear();
                }
                self.ledgerbox.clock.advance_ms(away_ms);
                self.ledgerbox.start().await.unwrap();
            }
        }
    }

    async fn revoke(&mut self, who: Who) {
        let mut talk = self.threads[0].clone();
        talk.agreement = self.in_force;
        if self.in_force.is_none() {
            return;
        }
        let from = match who {
            Who::Consumer => talk.consumer.clone(),
            Who::Provider => talk.provider.clone(),
            Who::Stranger => talk.stranger.clone(),
        };
        let envelope = talk.message(&self.ledgerbox, &from, Verb::Revoke, &Value::Null);
        if self.ledgerbox.submit(&envelope).await.is_ok() {
            self.in_force = None;
        }
    }
}

/// What the records of one session say.
#[derive(Debug, Default)]
struct OfSession {
    counters: u64,
    agreed: u64,
    closed: Option<CloseReason>,
    closes: u64,
    behind_close: u64,
}

/// What the records of one agreement say so far.
#[derive(Debug, Default)]
struct OfAgreement {
    in_force: Option<Agreed>,
    is_over: bool,
    used: u64,
    minutes: BTreeMap<u64, u64>,
}

impl OfAgreement {
    fn agreed(&mut self, agreed: &Agreed) {
        let due = self
            .in_force
            .as_ref()
            .map_or(1, |before| before.revision + 1);
        assert_eq!(
            agreed.revision, due,
            "no revision is left out or comes twice"
        );
        assert!(!self.is_over, "what is over is not negotiated again");
        *self = OfAgreement {
            in_force: Some(agreed.clone()),
            ..OfAgreement::default()
        };
    }

    fn used(&mut self, at_ms: u64) {
        let agreed = self
            .in_force
            .as_ref()
            .expect("used before it was agreed on");
        assert!(
            !self.is_over && at_ms < agreed.ends_at_ms.as_ms(),
            "used once it was over"
        );
        self.used += 1;
        assert!(
            self.used <= agreed.limits.max_requests.unwrap(),
            "more than all"
        );
        let minute = (at_ms - agreed.starts_at_ms.as_ms()) / MINUTE_MS;
        let in_minute = self.minutes.entry(minute).or_default();
        *in_minute += 1;
        assert!(
            *in_minute <= agreed.limits.requests_per_minute.unwrap(),
            "more than in a minute"
        );
    }
}

/// Everything that was said, counted again from the records alone.
#[derive(Debug, Default)]
struct Counted {
    sessions: BTreeMap<SessionId, OfSession>,
    agreements: BTreeMap<AgreementId, OfAgreement>,
    /// REQUESTs under an agreement, and effects of them, by position of the REQUEST.
    requests: BTreeMap<u64, AgreementId>,
    uses: BTreeMap<u64, AgreementId>,
}

impl Counted {
    fn take(&mut self, stream: &Stream, position: u64, at_ms: u64, event: &Event) {
        match (stream, event) {
            (Stream::Of(Subject::Session(id)), event) => self.session(*id, event),
            (Stream::Of(Subject::Agreement(id)), event) => {
                let agreement = self.agreements.entry(*id).or_default();
                match event {
                    Event::Effect(Effect::Agreed(agreed)) => {
                        self.sessions.get_mut(&agreed.session).unwrap().agreed += 1;
                        agreement.agreed(agreed);
                    }
                    Event::Effect(Effect::Used(Used { cause, .. })) => {
                        self.uses.insert(*cause, *id);
                        agreement.used(at_ms);
                    }
                    Event::EnvelopeAccepted(_) | Event::Lapsed(_) => agreement.is_over = true,
                    _ => {}
                }
            }
            (_, Event::EnvelopeAccepted(accepted)) => {
                if let Some(agreement) = &accepted.derived.agreement {
                    self.requests.insert(position, agreement.id);
                    let in_force = self.agreements[&agreement.id].in_force.as_ref().unwrap();
                    assert_eq!(in_force.revision, agreement.revision);
                    assert!(accepted.envelope.size <= in_force.limits.max_request_bytes.unwrap());
                }
            }
            (_, _) => {}
        }
    }

    fn session(&mut self, id: SessionId, event: &Event) {
        let session = self.sessions.entry(id).or_default();
        let is_notice = matches!(event, Event::NoticeIssued(_));
        session.behind_close += u64::from(session.closed.is_some() && !is_notice);
        match event {
            Event::Effect(Effect::SessionClosed(closed)) => {
                session.closed = Some(closed.reason);
                session.closes += 1;
            }
            Event::EnvelopeAccepted(accepted)
                if matches!(
                    &accepted.facts,
                    Facts::Capability(CapabilityFacts::Counter(_))
                ) =>
            {
                session.counters += 1;
            }
            _ => {}
        }
    }

    fn check(&self) {
        for (id, session) in &self.sessions {
            assert_eq!(
                (session.closes, session.behind_close),
                (1, 0),
                "{id}: {session:?}"
            );
            assert!(
                session.counters <= Capabilities::DEFAULT.counters,
                "{id}: {session:?}"
            );
            let is_agreed = session.closed == Some(CloseReason::Agreed);
            assert_eq!(session.agreed, u64::from(is_agreed), "{id}: {session:?}");
        }
        assert_eq!(
            self.requests, self.uses,
            "each REQUEST is counted, and nothing else"
        );
    }
}

/// Plays one history, and holds it against what must be true of all.
async fn play(acts: &[Act]) -> Counted {
    let mut play = Play::new().await;
    for act in acts {
        play.act(*act).await;
    }
    let mut ledgerbox = play.ledgerbox;
    // Every window passes, and those of the longest terms.
    ledgerbox.advance_ms(1_000_000).await;
    let mut counted = Counted::default();
    for (record, event) in ledgerbox.events().await {
        let stream: Stream = record.stream().parse().unwrap();
        counted.take(&stream, record.position(), record.recorded_at_ms(), &event);
    }
    counted.check();
    ledgerbox.assert_log_adds_up().await;
    let report = audited(&ledgerbox).await;
    assert_eq!(report.findings, []);
    ledgerbox.restart().await;
    ledgerbox.assert_log_adds_up().await;
    counted
}

#[test]
fn cx_38_whatever_happens_a_session_closes_once_and_agreements_hold() {
    let cases = size("X811_SESSION_HISTORIES", HISTORIES);
    let config = Config {
        failure_persistence: None,
        ..Config::with_cases(cases)
    };
    let acts = prop::collection::vec(act(), 1..40);
    let mut runner = TestRunner::new(config);
    let met = std::cell::Cell::new([0_u64; 3]);
    let played = runner.run(&acts, |acts| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let counted = runtime.unwrap().block_on(play(&acts));
        let revisions = counted
            .sessions
            .values()
            .map(|session| session.agreed)
            .sum::<u64>();
        let [sessions, agreed, used] = met.get();
        met.set([
            sessions + counted.sessions.len() as u64,
            agreed + revisions,
            used + counted.uses.len() as u64,
        ]);
        Ok(())
    });
    played.unwrap();
    let met = met.get();
    // A use takes a session, an agreement and a REQUEST under it: the fewest of 40 histories were 8.
    let due = [4, 4, 10].map(|share| u64::from(cases) / share);
    let is_enough = met.iter().zip(due).all(|(met, due)| *met >= due);
    assert!(is_enough, "too little was tried: {met:?}, of {due:?}");
}
