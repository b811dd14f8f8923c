//! A stored history is input: `evolve` takes what `decide` can write and names what it cannot
//! (record.md section 1, design.md sections 6 and 8).

use x811_protocol::code::Code;
use x811_protocol::envelope::CoreType;
use x811_protocol::event::{
    Confirmed, EnvelopeAccepted, Event, Final, Lapsed, Late, Looked, Refuted, RefutedCause,
    Reversed, Seen, SettlementEvent, TransactionNamed, Window,
};
use x811_protocol::facts::Facts;
use x811_protocol::interaction::{Interaction, State, StateName};
use x811_protocol::machine::{Illegal, Machine, Recorded, replay};
use x811_protocol::time::TimestampMs;

use super::chain::{Chain, DEPTH, PAYEE, PAYER, micro, tx};
use super::messages::TOTAL;
use super::schedule::{answer_look, next_look, until_look};
use super::world::{SEPOLIA, StreamName, World, hash_at};

/// The records of interaction 0.
fn records(world: &World) -> Vec<Recorded<'_>> {
    let own = world
        .log
        .iter()
        .zip(0..)
        .filter(|(r, _)| r.stream == StreamName::Interaction(0));
    own.map(|(record, position)| Recorded {
        event: &record.event,
        position,
        hash: hash_at(position),
        recorded_at_ms: record.at,
        parameters: Some(&world.registry.parameters),
    })
    .collect()
}

fn evolve(state: Option<&State>, event: &Event, at: TimestampMs) -> Result<State, Illegal> {
    let world = World::new();
    let recorded = Recorded {
        event,
        position: 77,
        hash: hash_at(77),
        recorded_at_ms: at,
        parameters: Some(&world.registry.parameters),
    };
    Interaction::evolve(state.cloned(), &recorded)
}

#[test]
fn replay_of_a_stream_gives_the_live_state() {
    for name in StateName::ALL {
        let world = World::at(name);
        let replayed = replay::<Interaction>(records(&world)).unwrap();
        assert_eq!(replayed.as_ref(), Some(world.state(0)), "{name}");
    }
    let nothing = replay::<Interaction>(Vec::new()).unwrap();
    assert!(nothing.is_none(), "an empty stream has not begun");
}

#[test]
fn replay_stops_at_the_first_event_that_is_not_possible() {
    let world = World::at(StateName::Completed);
    let whole = records(&world);
    for missing in 0..whole.len() {
        let mut cut = whole.clone();
        cut.remove(missing);
        // The last may be missing: that is a shorter history; so may what was only seen.
        let harmless = missing + 1 == whole.len() || whole[missing].event.type_name() == "seen";
        let replayed = replay::<Interaction>(cut);
        assert_eq!(
            replayed.is_ok(),
            harmless,
            "without event {missing}: {replayed:?}"
        );
    }
    for place in 1..whole.len() {
        let mut swapped = whole.clone();
        swapped.swap(place - 1, place);
        let illegal = replay::<Interaction>(swapped);
        let last_two = whole[place].event.type_name() == "confirmed";
        assert!(
            illegal.is_err() || last_two,
            "events {place} and the one before swapped"
        );
    }
    for repeated in 0..whole.len() {
        let mut doubled = whole.clone();
        doubled.insert(repeated, whole[repeated]);
        let illegal = replay::<Interaction>(doubled);
        let is_payment = repeated == 5;
        assert!(illegal.is_err() || is_payment, "event {repeated} twice");
    }
}

#[test]
fn an_illegal_event_is_named_with_position_state_and_reason() {
    let lapsed = Event::Lapsed(Lapsed {
        window: Window::Offer.into(),
        code: Code::RequestTimeout,
    });
    let illegal = evolve(None, &lapsed, TimestampMs::MAX).unwrap_err();
    assert_eq!(
        (illegal.position, illegal.state, illegal.event),
        (77, "none", "lapsed")
    );
    let accepted = World::at(StateName::Accepted);
    let illegal = evolve(Some(accepted.state(0)), &lapsed, TimestampMs::MAX).unwrap_err();
    assert_eq!(
        illegal.to_string(),
        "position 77: lapsed is not possible in state accepted: this window is not open, or its \
         code is another"
    );
}

/// Real events of a watched payment, and some that belong to no stream of an interaction yet.
fn settlement_events() -> Vec<Event> {
    let mut world = World::watching();
    let block = world.mine_next(1, &[(PAYER, PAYEE, TOTAL - 1)]);
    world.until_block(block + DEPTH - 1);
    let mut events = world.sweep(0).events;
    world.advance_ms(30_000);
    world.tick(0);
    until_look(&mut world);
    events.extend(answer_look(&mut world).1.events);
    world.complete(0, 2);
    events.extend(world.events(0).last().copied().cloned());
    events.extend([
        Event::Settlement(SettlementEvent::Unseen(TransactionNamed { tx_hash: tx(1) })),
        Event::Settlement(SettlementEvent::Final(Final {
            head: Chain::block(9),
        })),
        Event::Settlement(SettlementEvent::Returned(TransactionNamed {
            tx_hash: tx(1),
        })),
        Event::Settlement(SettlementEvent::Reversed(Reversed {
            tx_hash: tx(1),
            provider_seq: 0,
            provider_prev: hash_at(1),
        })),
        Event::Settlement(SettlementEvent::Late(Late {
            evidence: Vec::new(),
            claims: Vec::new(),
        })),
    ]);
    events
}

#[test]
fn ax_007_only_a_watched_payment_is_seen_refuted_looked_for_or_confirmed() {
    let events = settlement_events();
    let types: Vec<_> = events.iter().map(Event::type_name).collect();
    assert_eq!(types[..4], ["seen", "refuted", "looked", "confirmed"]);
    for name in StateName::ALL {
        let world = World::at(name);
        for event in &events {
            let evolved = evolve(Some(world.state(0)), event, TimestampMs::MAX);
            assert!(evolved.is_err(), "{name} + {}", event.type_name());
        }
    }
    for event in &events {
        assert!(
            evolve(None, event, TimestampMs::MAX).is_err(),
            "none + {}",
            event.type_name()
        );
    }
}

#[test]
fn ax_032_an_error_in_a_finished_interaction_is_not_possible() {
    let mut pending = World::at(StateName::Pending);
    let error = pending.draft(0, CoreType::Error);
    let recorded = pending.send_ok(0, &error).events.remove(0);
    for name in StateName::ALL {
        let world = World::at(name);
        let evolved = evolve(Some(world.state(0)), &recorded, world.now);
        assert_eq!(evolved.is_err(), name.is_terminal(), "{name}");
    }
}

/// `change` to the last event of `world` makes it illegal.
fn assert_illegal(label: &str, world: &World, change: impl FnOnce(&mut Event)) {
    let mut records = records(world);
    let last = records.pop().unwrap();
    let before = replay::<Interaction>(records).unwrap();
    let at = last.recorded_at_ms;
    let mut event = last.event.clone();
    assert!(
        evolve(before.as_ref(), &event, at).is_ok(),
        "{label}: legal before the change"
    );
    change(&mut event);
    assert!(evolve(before.as_ref(), &event, at).is_err(), "{label}");
}

fn accepted(event: &mut Event) -> &mut EnvelopeAccepted {
    match event {
        Event::EnvelopeAccepted(accepted) => accepted,
        other => panic!("{}", other.type_name()),
    }
}

#[test]
fn messages_without_what_they_fix_are_not_possible() {
    let openers = [
        StateName::Pending,
        StateName::Offered,
        StateName::Accepted,
        StateName::Delivered,
        StateName::Verified,
    ];
    for name in openers {
        let label = format!("{name} without a deadline");
        assert_illegal(&label, &World::at(name), |event| {
            accepted(event).derived.deadline_at_ms = None;
        });
    }
    let paid = World::watching();
    assert_illegal("PAYMENT without a deadline", &paid, |event| {
        accepted(event).derived.deadline_at_ms = None;
    });
    let offered = World::at(StateName::Offered);
    assert_illegal("OFFER without a payee", &offered, |event| {
        accepted(event).derived.payee = None;
    });
    assert_illegal("OFFER with a later deadline than AX-5", &offered, |event| {
        accepted(event).derived.deadline_at_ms = Some(TimestampMs::MAX);
    });
    let mut twice = World::watching();
    twice.pay(0, 2);
    assert_illegal("a further PAYMENT on another network", &twice, |event| {
        let Facts::Payment(payment) = &mut accepted(event).facts else {
            panic!()
        };
        payment.network = SEPOLIA.to_owned();
    });
    let request = World::at(StateName::Pending).events(0)[0].clone();
    let recorded = Recorded {
        event: &request,
        position: 1,
        hash: hash_at(1),
        recorded_at_ms: TimestampMs::MAX,
        parameters: None,
    };
    let illegal = Interaction::evolve(None, &recorded).unwrap_err();
    assert_eq!(
        illegal.why,
        "the parameters it was opened under are not known"
    );
}

/// A world whose last event is the answer to look 1.
fn looked() -> World {
    let mut world = World::looking();
    until_look(&mut world);
    answer_look(&mut world);
    world
}

#[test]
fn looks_out_of_turn_are_not_possible() {
    fn with(change: impl FnOnce(&mut Looked)) -> impl FnOnce(&mut Event) {
        |event| match event {
            Event::Settlement(SettlementEvent::Looked(looked)) => change(looked),
            other => panic!("{}", other.type_name()),
        }
    }
    let world = looked();
    assert_illegal("another number", &world, with(|looked| looked.look = 2));
    assert_illegal(
        "another due time",
        &world,
        with(|looked| {
            looked.due_at_ms = looked.due_at_ms.saturating_sub_ms(1);
        }),
    );
    assert_illegal(
        "an old head",
        &world,
        with(|looked| {
            looked.head.timestamp_s = looked.due_at_ms.as_ms() / 1_000 - 1;
        }),
    );
    let mut blind = World::looking();
    let (number, due) = next_look(&blind);
    blind.go_blind(super::world::BASE);
    let head = Chain::block(Chain::head_number(due) + 1);
    let looked = Looked {
        look: number,
        due_at_ms: due,
        head,
        finding: Vec::new(),
    };
    let evolved = evolve(
        Some(blind.state(0)),
        &Event::Settlement(SettlementEvent::Looked(looked.clone())),
        TimestampMs::MAX,
    );
    assert!(evolved.is_err(), "while the clock stands still");
    let sighted = World::looking();
    evolve(
        Some(sighted.state(0)),
        &Event::Settlement(SettlementEvent::Looked(looked)),
        TimestampMs::MAX,
    )
    .unwrap();
}

#[test]
fn findings_about_unknown_or_settled_transactions_are_not_possible() {
    let mut world = World::watching();
    let block = world.next_block();
    world.chain.revert(tx(1), block);
    world.until_block(block);
    world.sweep(0);
    let undeclared = |event: &mut Event| match event {
        Event::Settlement(
            SettlementEvent::Seen(Seen { tx_hash, .. })
            | SettlementEvent::Refuted(Refuted { tx_hash, .. }),
        ) => {
            *tx_hash = tx(9);
        }
        other => panic!("{}", other.type_name()),
    };
    assert_illegal("seen, not declared", &world, undeclared);
    let seen = world.events(0).last().copied().unwrap();
    assert!(
        evolve(Some(world.state(0)), seen, world.now).is_err(),
        "seen twice in one block"
    );

    world.deep(0, block);
    assert_illegal("refuted, not declared", &world, undeclared);
    assert_illegal("the code of another cause", &world, |event| match event {
        Event::Settlement(SettlementEvent::Refuted(refuted)) => refuted.cause = RefutedCause::Short,
        other => panic!("{}", other.type_name()),
    });
    let refuted = world.events(0).last().copied().unwrap();
    assert!(
        evolve(Some(world.state(0)), refuted, world.now).is_err(),
        "refuted twice"
    );
}

#[test]
fn ae_017_a_confirmation_without_claims_or_evidence_is_not_possible() {
    fn with(change: impl FnOnce(&mut Confirmed)) -> impl FnOnce(&mut Event) {
        |event| match event {
            Event::Settlement(SettlementEvent::Confirmed(confirmed)) => change(confirmed),
            other => panic!("{}", other.type_name()),
        }
    }
    let paid = World::at(StateName::Completed);
    assert_illegal(
        "no claims",
        &paid,
        with(|confirmed| confirmed.claims.clear()),
    );
    assert_illegal(
        "no evidence",
        &paid,
        with(|confirmed| confirmed.evidence.clear()),
    );
    assert_illegal(
        "a claim on something undeclared",
        &paid,
        with(|confirmed| {
            confirmed.claims[0].tx_hash = tx(9);
            confirmed.evidence[0].tx_hash = tx(9);
        }),
    );
    let claim = match paid.events(0).last() {
        Some(Event::Settlement(SettlementEvent::Confirmed(confirmed))) => confirmed.claims[0],
        _ => panic!(),
    };
    let mut free = World::at(StateName::Pending);
    let offer = free.draft(0, CoreType::Offer).priced(0);
    free.send_ok(0, &offer);
    free.walk(
        0,
        &[
            CoreType::Accept,
            CoreType::Result,
            CoreType::Verify,
            CoreType::Payment,
        ],
    );
    free.advance_ms(1);
    free.tick(0);
    assert_eq!(free.state(0).offer().unwrap().total, micro(0));
    assert_illegal(
        "a claim though nothing was due",
        &free,
        with(|confirmed| {
            confirmed.claims.push(claim);
        }),
    );
}
