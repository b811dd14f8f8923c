//! Agreements that live a year cost nothing when the ledger was away or blind: what moves is read with an
//! offset, and what was signed is not touched at all (machines.md sections 3 and 10).

use super::bargain::{Bargain, taking};
use super::base::BASE;
use super::ledgerbox::Ledgerbox;
use super::party::Account;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use x811_protocol::event::{Event, LedgerEvent, NetworkEvent};
use x811_protocol::facts::CapabilityVerb as Verb;
use x811_protocol::id::AgreementId;
use x811_protocol::observation::{BlindCause, Observation};
use x811_protocol::parameters::Capabilities;
use x811_protocol::stream::Subject;
use x811_world::row::SubjectRow;
use x811_world::{Touched, World};

/// A year.
const YEAR_S: u64 = 31_536_000;

/// How long the ledger is away, and how long blind.
const GAP_MS: u64 = 3_600_000;

/// As many as a pair may have, of two pairs.
const EACH: usize = 30;

async fn agreements(ledgerbox: &Ledgerbox) -> (Vec<AgreementId>, Bargain) {
    let mut made = Vec::new();
    let first = Bargain::new(ledgerbox).await;
    let consumer = ledgerbox.initiator(&Account::new(0x47)).await;
    let (provider, stranger) = (first.provider.clone(), first.stranger.clone());
    for bargain in [
        first.clone(),
        Bargain::between(consumer, provider, stranger),
    ] {
        for number in 0..EACH {
            let mut bargain = bargain.clone();
            let terms = Bargain::terms(YEAR_S, number as u64 + 1);
            bargain.agree(ledgerbox, &terms).await;
            made.push(bargain.agreement.unwrap().0);
        }
    }
    (made, first)
}

fn rows(ledgerbox: &Ledgerbox) -> BTreeMap<Subject, SubjectRow> {
    let mut rows = ledgerbox.rows.rows().subjects;
    rows.retain(|subject, _| matches!(subject, Subject::Agreement(_)));
    rows
}

/// Away for an hour, from a crash and in order, and blind for an hour, with a session open that does move.
async fn away_and_blind(ledgerbox: &mut Ledgerbox, bargain: &Bargain) -> Bargain {
    let mut open = bargain.clone();
    let consumer = open.consumer.clone();
    open.say(ledgerbox, &consumer, Verb::Request, &Value::Null)
        .await;
    ledgerbox.advance_ms(1_000).await;
    ledgerbox.down_ms(GAP_MS).await;
    ledgerbox
        .observe(Observation::Unreachable {
            network: BASE.to_owned(),
            cause: BlindCause::Unreachable,
            silent: Vec::new(),
        })
        .await;
    ledgerbox.advance_ms(1_000).await;
    ledgerbox.sweep().await;
    open
}

/// The very same state, in the same place of memory, before and after: nothing was written anew.
#[tokio::test]
async fn mach_3_downtime_and_blindness_touch_no_agreement() {
    let mut ledgerbox = taking(Capabilities::DEFAULT).await;
    let (made, bargain) = agreements(&ledgerbox).await;
    ledgerbox.settle().await;
    let before = rows(&ledgerbox);
    assert_eq!(before.len(), made.len());
    let size = ledgerbox.records().await.len();
    let open = away_and_blind(&mut ledgerbox, &bargain).await;
    ledgerbox.settle().await;
    assert_eq!(rows(&ledgerbox), before, "rows hold what was opened");

    // The same records, one at a time.
    let mut world = World::empty();
    let (mut away, mut blind, mut sighted) = (0, 0, 0);
    let events = ledgerbox.events().await;
    assert!(events.len() < size + 10, "no record for each agreement");
    for (record, event) in &events {
        let of_all = |world: &World| -> Vec<_> {
            let held = made.iter().map(|id| world.agreement(*id).cloned());
            held.collect()
        };
        let counted = match event {
            Event::Ledger(LedgerEvent::Resumed(_)) => &mut away,
            Event::Network(NetworkEvent::Blind(_)) => &mut blind,
            Event::Network(NetworkEvent::Sighted(_)) => &mut sighted,
            _ => {
                world.apply(record, event).unwrap();
                continue;
            }
        };
        let session = open.session.unwrap();
        let of_session = |world: &World| world.session(session).map(|live| live.state.deadline);
        let (held, window) = (of_all(&world), of_session(&world));
        let touched = world.apply(record, event).unwrap();
        if held.iter().any(Option::is_none) {
            continue;
        }
        *counted += 1;
        for (one, other) in held.iter().zip(of_all(&world)) {
            let (one, other) = (one.as_ref().unwrap(), other.unwrap());
            assert!(Arc::ptr_eq(one, &other), "{}", event.type_name());
        }
        if touched == Touched::EveryClock && *event.type_name() == *"ledger_resumed" {
            assert_ne!(of_session(&world), window, "what the ledger opened moves");
        }
    }
    assert_eq!((away, blind, sighted), (1, 1, 1));
}

/// An agreement ends when it was signed to end, however long the ledger was away.
#[tokio::test]
async fn mach_3_a_year_is_a_year_whatever_the_ledger_missed() {
    let mut ledgerbox = taking(Capabilities::DEFAULT).await;
    let mut bargain = Bargain::new(&ledgerbox).await;
    bargain.agree(&ledgerbox, &Bargain::terms(YEAR_S, 1)).await;
    let id = bargain.agreement.unwrap().0;
    let ends = |ledgerbox: &Ledgerbox| {
        let world = ledgerbox.ledger().world();
        world.agreement(id).map(|live| live.state.ends_at)
    };
    let due = ends(&ledgerbox);
    assert!(due.is_some());
    away_and_blind(&mut ledgerbox, &bargain).await;
    assert_eq!(ends(&ledgerbox), due);
    ledgerbox.down_ms(YEAR_S * 1_000).await;
    ledgerbox.advance_ms(1).await;
    assert_eq!(ends(&ledgerbox), None, "it is over, at once");
    ledgerbox.assert_log_adds_up().await;
}
