//! The story of the trial machine, through a ledger that runs: submission, lapse, effect, row, notice, bundle,
//! audit and root, and what is found of an operator who holds every key of the ledger.

#![expect(
    clippy::unwrap_used,
    reason = "a test that panics has failed, and a match picks the one variant it is about"
)]

use bundles::{audited, bundle_of};
use forger::Forger;
use ledgerbox::{Ledgerbox, parameters};
use party::Party;
use scene::{Kept, causes_at, found};
use serde_json::json;
use x811_audit::{Cause, audit_export};
use x811_protocol::code::Code;
use x811_protocol::event::{Effect, Event};
use x811_protocol::id::PledgeId;
use x811_protocol::stream::Subject;

#[path = "../suite/support/base.rs"]
#[expect(dead_code, reason = "the sequencer's tests use the rest")]
mod base;
#[path = "../suite/support/bundles.rs"]
#[expect(dead_code, reason = "the sequencer's tests use the rest")]
mod bundles;
#[path = "../suite/support/deal.rs"]
#[expect(dead_code, reason = "the sequencer's tests use the rest")]
mod deal;
#[path = "../suite/audit/forger.rs"]
#[expect(dead_code, reason = "the audit's tests use the rest")]
mod forger;
#[path = "../suite/support/ledgerbox.rs"]
#[expect(
    dead_code,
    clippy::panic,
    clippy::expect_used,
    reason = "the sequencer's tests use the rest"
)]
mod ledgerbox;
#[path = "../suite/support/party.rs"]
mod party;
#[path = "../suite/sequencer/picture.rs"]
#[expect(clippy::expect_used, reason = "a test that panics has failed")]
mod picture;
#[path = "../suite/audit/scene.rs"]
#[expect(
    dead_code,
    clippy::expect_used,
    reason = "the audit's tests use the rest"
)]
mod scene;
#[path = "../suite/sequencer/watches.rs"]
mod watches;

const WINDOW_S: u64 = 60;

/// Between two agents, given.
struct Given {
    ledgerbox: Ledgerbox,
    from: Party,
    to: Party,
    id: PledgeId,
}

impl Given {
    async fn for_s(window_s: u64) -> Given {
        let ledgerbox = Ledgerbox::with(parameters()).await;
        let (from, to) = (ledgerbox.provider().await, ledgerbox.provider().await);
        let payload = json!({ "window_s": window_s });
        let message = ledgerbox.seal(&from, "x811.pledge/give", &to, payload);
        let accepted = ledgerbox.accept(&message).await;
        let id = PledgeId::from(message.header.id);
        let subject = accepted.subject.unwrap();
        assert_eq!((subject.kind, subject.id), ("pledge", id.to_string()));
        assert_eq!(accepted.state, Some("given"));
        Given {
            ledgerbox,
            from,
            to,
            id,
        }
    }

    fn subject(&self) -> Subject {
        Subject::Pledge(self.id)
    }

    fn conduct(&self) -> Subject {
        Subject::Conduct(self.from.did)
    }

    /// Time passes the window by that much.
    async fn due(&self) {
        self.ledgerbox.advance_ms(WINDOW_S * 1_000 + 1).await;
    }

    fn row_state(&self) -> String {
        let rows = self.ledgerbox.rows.rows();
        rows.subjects[&self.subject()].state.clone()
    }

    /// Records of that stream: their places and types.
    async fn types(&self, stream: Subject) -> Vec<(u64, &'static str)> {
        let stream = stream.to_string();
        let events = self.ledgerbox.events().await.into_iter();
        let own = events.filter(|(record, _)| record.stream() == stream);
        own.map(|(record, event)| (record.position(), event.type_name()))
            .collect()
    }
}

#[tokio::test]
async fn mach_4_a_lapse_has_an_effect_on_another_subject() {
    let given = Given::for_s(WINDOW_S).await;
    assert_eq!(given.row_state(), "given");
    given.ledgerbox.advance_ms(WINDOW_S * 1_000).await;
    assert_eq!(given.types(given.conduct()).await, [], "not due yet");

    given.ledgerbox.advance_ms(1).await;
    assert_eq!(given.row_state(), "due");
    let types = given.types(given.subject()).await;
    let names: Vec<&str> = types.iter().map(|(_, name)| *name).collect();
    let told = "notice_issued";
    assert_eq!(names, ["envelope_accepted", "lapsed", told, told]);
    let lapse = types[1].0;
    let [(effect, "pledge_due")] = given.types(given.conduct()).await[..] else {
        panic!("the giver's conduct has it once");
    };
    assert_eq!(effect, lapse + 1, "directly behind its cause");
    let rows = given.ledgerbox.rows.rows();
    assert_eq!(rows.subjects[&given.conduct()].detail["breaches"], 1);
    given.ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn mach_8_both_are_told() {
    let given = Given::for_s(WINDOW_S).await;
    given.due().await;
    let events = given.ledgerbox.events().await;
    let told = events.iter().filter_map(|(record, event)| match event {
        Event::NoticeIssued(notice) => Some((record.position(), notice)),
        _ => None,
    });
    let told: Vec<_> = told.collect();
    let mut to: Vec<_> = told.iter().map(|(_, notice)| notice.to).collect();
    let mut both = vec![given.from.did, given.to.did];
    (to.sort(), both.sort());
    assert_eq!(to, both);
    let rows = given.ledgerbox.rows.rows();
    for (position, notice) in told {
        assert_eq!(notice.code, Some(Code::ResultTimeout));
        assert!(rows.deliveries.contains_key(&(notice.to, position)));
    }
}

#[tokio::test]
async fn mach_3_downtime_moves_its_window_and_its_row() {
    let mut given = Given::for_s(WINDOW_S).await;
    let deadline = |given: &Given| {
        let rows = given.ledgerbox.rows.rows();
        rows.subjects[&given.subject()].deadline_at_ms.unwrap()
    };
    let before = deadline(&given);
    given.ledgerbox.crash().await;
    given.ledgerbox.clock.advance_ms(WINDOW_S * 2_000);
    given.ledgerbox.start().await.unwrap();
    assert!(deadline(&given) > before, "the ledger was away");
    given.ledgerbox.assert_log_adds_up().await;
    given.due().await;
    assert_eq!(given.row_state(), "due");
    let report = audited(&given.ledgerbox).await;
    assert_eq!((&report.findings[..], report.is_clean()), (&[][..], true));
}

/// Before it is due, while notices may be owed, and after: snapshots and the log say the same.
#[tokio::test]
async fn mach_3_a_restart_knows_it() {
    let mut given = Given::for_s(WINDOW_S).await;
    given.ledgerbox.restart().await;
    given.ledgerbox.assert_log_adds_up().await;
    given.due().await;
    given.ledgerbox.restart().await;
    given.ledgerbox.assert_log_adds_up().await;
    assert_eq!(given.types(given.conduct()).await.len(), 1, "once");
}

#[tokio::test]
async fn mach_10_the_whole_log_and_its_bundle_are_clean() {
    let given = Given::for_s(WINDOW_S).await;
    given.due().await;
    let report = audited(&given.ledgerbox).await;
    assert_eq!((&report.findings[..], report.is_clean()), (&[][..], true));
    assert_eq!(
        report.read_model.unwrap().subjects,
        2,
        "its row and that of the conduct are compared"
    );

    let bytes = bundle_of(&given.ledgerbox, given.subject()).await;
    let report = audit_export(&bytes[..], None).unwrap();
    assert_eq!((&report.findings[..], report.is_clean()), (&[][..], true));
    assert_eq!(report.extract.unwrap().subject(), Some(given.subject()));
    let text = String::from_utf8(bytes).unwrap();
    let without = |line: &&str| !line.contains(r#""type":"lapsed""#);
    let cut: String = text.split_inclusive('\n').filter(without).collect();
    assert_ne!(cut, text);
    let report = audit_export(cut.as_bytes(), None).unwrap();
    assert_ne!(report.findings, [], "the lapse was left out");
}

/// Its giver runs the ledger, holds all its keys, and would have a clean conduct.
#[tokio::test]
async fn mach_4_an_operator_who_hides_or_changes_the_effect_is_found() {
    let given = Given::for_s(WINDOW_S).await;
    given.due().await;
    // Long after, something else is recorded.
    given.ledgerbox.advance_ms(3_600_000).await;
    given.ledgerbox.provider().await;
    let honest = Forger::at(&given.ledgerbox).await;
    let conduct = given.conduct().to_string();
    let at = honest.place(&conduct, "pledge_due");

    let mut hidden = honest.clone();
    hidden.parts.records.remove(at);
    assert_ne!(causes_at(&hidden.report(), at as u64), [], "left out");

    let mut blamed = honest.clone();
    blamed.parts.records[at].draft.stream = format!("conduct:{}", given.to.did);
    *blamed.parts.records[at].member("/giver") = json!(given.to.did);
    assert_ne!(causes_at(&blamed.report(), at as u64), [], "another's");

    let mut never = honest;
    let own = given.subject().to_string();
    let is_given = |kept: &Kept| kept.event_type() == "envelope_accepted";
    let is_of = |kept: &Kept| [&own, &conduct].contains(&&kept.draft.stream);
    never
        .parts
        .records
        .retain(|kept| is_given(kept) || !is_of(kept));
    assert!(!never.report().is_clean(), "it was never due");
}

/// A word for a year, and a log long enough for a root: nothing but the pledge's state rests on its end.
#[tokio::test]
async fn rec_4_its_state_is_under_the_root() {
    let given = Given::for_s(31_536_000).await;
    let root = 999;
    while given.ledgerbox.records().await.len() <= root {
        for number in 0..100 {
            let payload = json!({ "number": number });
            let letter = given
                .ledgerbox
                .seal(&given.from, "x811.test/hello", &given.to, payload);
            given.ledgerbox.accept(&letter).await;
            given.ledgerbox.advance_ms(100).await;
        }
    }
    let mut forger = Forger::at(&given.ledgerbox).await;
    let report = forger.report();
    assert_eq!((found(&report), report.state_roots.proven), (vec![], 1));
    let at = forger.place(&given.subject().to_string(), "envelope_accepted");
    let deadline = forger.parts.records[at].member("/derived/deadline_at_ms");
    *deadline = json!(deadline.as_u64().unwrap() + 1);
    let report = forger.report();
    let state = Cause::StateDiffers;
    assert!(causes_at(&report, root as u64).contains(&state));
    assert_eq!(causes_at(&report, at as u64), [Cause::ReDecisionDiffers]);
}

#[tokio::test]
async fn mach_4_it_has_one_effect_that_names_it() {
    let given = Given::for_s(WINDOW_S).await;
    given.due().await;
    let events = given.ledgerbox.events().await;
    let effects = events.iter().filter_map(|(_, event)| match event {
        Event::Effect(effect) => Some(effect),
        _ => None,
    });
    let effects: Vec<&Effect> = effects.collect();
    let [Effect::PledgeDue(due)] = effects[..] else {
        panic!("one effect: {effects:?}");
    };
    assert_eq!((due.giver, due.pledge), (given.from.did, given.id));
}
