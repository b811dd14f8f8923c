//! What each transition keeps, one requirement at a time (AE-9 to AE-37, AX-1, AX-10).

use x811_protocol::code::Code;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::CoreType;
use x811_protocol::id::InteractionId;
use x811_protocol::interaction::table::{TRANSITIONS, lapse_of};
use x811_protocol::interaction::{Interaction, Stage, State, StateName};
use x811_protocol::machine::Machine;

use super::cells::assert_refused;
use super::chain::{PAYEE, micro};
use super::messages::{BUDGET, INITIATOR, MOVES, PROVIDER, SENDERS, TOTAL};
use super::world::{World, hash_at};

/// Every message from every sender is refused in `state`.
fn assert_takes_nothing(requirement: &str, state: StateName) {
    let reached = World::at(state);
    assert!(Interaction::is_terminal(reached.state(0)), "{requirement}");
    let errors = [CoreType::Error, CoreType::Request];
    for kind in MOVES.into_iter().chain(errors) {
        for sender in SENDERS {
            let message = reached.draft(0, kind).sent_by(sender);
            let label = format!("{requirement}: {state} + {kind} from {sender:?}");
            assert_refused(&mut reached.clone(), &message, &label);
        }
    }
}

/// `kind` from the right sender is refused in every state but `home`.
fn assert_only_in(requirement: &str, kind: CoreType, home: StateName) {
    for state in StateName::ALL {
        let mut world = World::at(state);
        let message = world.draft(0, kind);
        let label = format!("{requirement}: {state} + {kind}");
        if state == home {
            world.send_ok(0, &message);
        } else {
            assert_refused(&mut world, &message, &label);
        }
    }
}

#[test]
fn ae_009_ten_states_five_of_them_terminal() {
    let names: Vec<_> = StateName::ALL.iter().map(|name| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "pending",
            "offered",
            "accepted",
            "delivered",
            "verified",
            "completed",
            "expired",
            "rejected",
            "disputed",
            "failed",
        ]
    );
    for name in StateName::ALL {
        let world = World::at(name);
        let open = ["pending", "offered", "accepted", "delivered", "verified"];
        assert_eq!(name.is_terminal(), !open.contains(&name.as_str()), "{name}");
        assert_eq!(
            Interaction::is_terminal(world.state(0)),
            name.is_terminal(),
            "{name}"
        );
        assert_eq!(
            Interaction::deadline(world.state(0)).is_none(),
            name.is_terminal(),
            "{name}"
        );
    }
}

#[test]
fn ae_010_a_request_creates_one_pending_interaction() {
    let mut world = World::new();
    let number = world.add_stream();
    let request = world.draft(number, CoreType::Request);
    let outcome = world.send_ok(number, &request);
    assert_eq!(outcome.types(), ["envelope_accepted"]);
    let State::Pending { opening, deadline } = world.state(0) else {
        panic!()
    };
    assert_eq!(
        (opening.initiator, opening.provider),
        (*INITIATOR, *PROVIDER)
    );
    assert_eq!(opening.max_budget, micro(BUDGET));
    assert_eq!(*deadline, world.now.saturating_add_ms(60_000));
    let accepted = outcome.accepted();
    assert_eq!(accepted.derived.deadline_at_ms, Some(*deadline));
    assert_eq!(accepted.derived.parameters, Some(0));
}

#[test]
fn ax_001_the_request_s_id_is_the_interaction_s_and_is_taken_for_ever() {
    for state in StateName::ALL {
        let mut world = World::at(state);
        let id = world.streams[0].request_id;
        assert_eq!(world.state(0).opening().id, InteractionId::from(id));
        assert_eq!(world.state(0).opening().record.envelope, id);
        let mut second = world.draft(0, CoreType::Request);
        second.id = Some(id);
        second.request().payload_hash = Digest::of(b"another request");
        assert_refused(
            &mut world,
            &second,
            &format!("AX-1: {state} + REQUEST of the same id"),
        );
    }
}

#[test]
fn ae_010_nothing_but_a_request_begins_an_interaction() {
    for kind in CoreType::ALL {
        let mut world = World::new();
        let number = world.add_stream();
        let message = world.draft(number, kind);
        let outcome = world.send(number, &message);
        if kind == CoreType::Request {
            assert_eq!(outcome.code(), None);
        } else {
            assert_eq!(
                outcome.code(),
                Some(Code::InvalidStateTransition),
                "AE-10: {kind}"
            );
            assert!(world.streams[0].state.is_none(), "AE-10: {kind}");
        }
    }
}

#[test]
fn ae_011_an_offer_fixes_price_and_payee() {
    let world = World::at(StateName::Offered);
    let offer = world.state(0).offer().unwrap();
    assert_eq!((offer.total, offer.payee), (micro(TOTAL), PAYEE));
    assert_eq!(offer.offer_hash, Digest::of(b"offer"));
    assert_eq!(offer.record.envelope, world.streams[0].offer_id);
    assert_eq!(offer.record.hash, hash_at(2));
}

#[test]
fn ae_012_an_accept_opens_the_result_window_and_keeps_the_heads() {
    let world = World::at(StateName::Accepted);
    let State::Accepted { deal, deadline } = world.state(0) else {
        panic!()
    };
    assert_eq!(*deadline, world.now.saturating_add_ms(3_600_000));
    assert_eq!(deal.acceptance.at, world.now);
    let networks: Vec<_> = deal
        .acceptance
        .heads
        .iter()
        .map(|h| h.network.as_str())
        .collect();
    assert_eq!(networks, ["base-sepolia", "base"]);
}

#[test]
fn ae_012_without_a_known_head_an_accept_records_none() {
    let mut world = World::at(StateName::Offered);
    world.registry.sees_heads = false;
    let accept = world.draft(0, CoreType::Accept);
    let outcome = world.send_ok(0, &accept);
    let accepted = outcome.accepted();
    assert_eq!(accepted.derived.heads, None);
}

#[test]
fn ae_013_a_reject_ends_it_without_a_code() {
    let world = World::at(StateName::Rejected);
    assert_eq!(world.closing_code(0), None);
    assert_eq!(world.state(0).opener(), world.streams[0].offer_id);
}

#[test]
fn ae_014_a_result_opens_the_verify_window() {
    let world = World::at(StateName::Delivered);
    let State::Delivered {
        delivery, deadline, ..
    } = world.state(0)
    else {
        panic!()
    };
    assert_eq!(delivery.result_hash, Digest::of(b"result"));
    assert_eq!(*deadline, world.now.saturating_add_ms(30_000));
}

#[test]
fn ae_015_a_verify_opens_the_payment_window() {
    let world = World::at(StateName::Verified);
    let State::Verified {
        settlement: Stage::Awaiting { deadline },
        ..
    } = world.state(0)
    else {
        panic!()
    };
    assert_eq!(*deadline, world.now.saturating_add_ms(60_000));
}

#[test]
fn ae_016_a_dispute_names_the_result_as_its_opener() {
    let mut world = World::at(StateName::Delivered);
    let result = world.state(0).opener();
    let dispute = world.draft_dispute(0);
    let outcome = world.send_ok(0, &dispute);
    let accepted = outcome.accepted();
    assert_eq!(accepted.derived.deadline_at_ms, None, "it opens no window");
    assert_eq!(world.state(0).opener(), result);
    assert_eq!(Interaction::deadline(world.state(0)), None);
}

#[test]
fn ae_017_a_payment_is_recorded_and_completes_once_it_is_confirmed() {
    let mut world = World::at(StateName::Verified);
    world.complete(0, 1);
    assert_eq!(world.name(0), StateName::Completed);
    let types: Vec<_> = world
        .events(0)
        .iter()
        .map(|event| event.type_name())
        .collect();
    assert_eq!(
        types[5..],
        ["envelope_accepted", "seen", "confirmed"],
        "AX-7"
    );
}

#[test]
fn ae_023_completed_takes_nothing() {
    assert_takes_nothing("AE-23", StateName::Completed);
}

#[test]
fn ae_024_expired_takes_nothing() {
    assert_takes_nothing("AE-24", StateName::Expired);
}

#[test]
fn ae_025_rejected_takes_nothing() {
    assert_takes_nothing("AE-25", StateName::Rejected);
}

#[test]
fn ae_026_failed_takes_nothing() {
    assert_takes_nothing("AE-26", StateName::Failed);
}

#[test]
fn ae_027_and_ax_010_disputed_takes_nothing() {
    assert_takes_nothing("AE-27, AX-10", StateName::Disputed);
}

#[test]
fn ae_028_offer_only_in_pending() {
    assert_only_in("AE-28", CoreType::Offer, StateName::Pending);
}

#[test]
fn ae_029_accept_only_in_offered() {
    assert_only_in("AE-29", CoreType::Accept, StateName::Offered);
}

#[test]
fn ae_030_reject_only_in_offered() {
    assert_only_in("AE-30", CoreType::Reject, StateName::Offered);
}

#[test]
fn ae_031_result_only_in_accepted() {
    assert_only_in("AE-31", CoreType::Result, StateName::Accepted);
}

#[test]
fn ae_032_verify_only_in_delivered() {
    assert_only_in("AE-32", CoreType::Verify, StateName::Delivered);
}

#[test]
fn ae_033_payment_only_in_verified() {
    assert_only_in("AE-33", CoreType::Payment, StateName::Verified);
}

#[test]
fn ae_035_each_message_meets_the_state_the_one_before_left() {
    let mut world = World::at(StateName::Pending);
    let (offer, accept) = (
        world.draft(0, CoreType::Offer),
        world.draft(0, CoreType::Accept),
    );
    assert_refused(&mut world, &accept, "AE-35: ACCEPT before the OFFER");
    world.send_ok(0, &offer);
    assert_refused(&mut world, &offer, "AE-35: the OFFER a second time");
    let accept = world.draft(0, CoreType::Accept);
    world.send_ok(0, &accept);
    assert_refused(&mut world, &accept, "AE-35: the ACCEPT a second time");
}

#[test]
fn ae_036_after_a_refusal_the_right_message_still_passes() {
    let mut world = World::at(StateName::Offered);
    let right = world.draft(0, CoreType::Accept);
    let mut wrong = right.clone();
    wrong.accept().offer_hash = Digest::of(b"another offer");
    let before = world.state(0).clone();
    assert_eq!(world.send(0, &wrong).code(), Some(Code::OfferHashMismatch));
    assert_eq!(*world.state(0), before);
    world.send_ok(0, &right);
}

#[test]
fn ae_037_every_rule_of_the_table_names_its_requirement_and_code() {
    let requirements: Vec<_> = TRANSITIONS.iter().map(|row| row.requirement).collect();
    assert_eq!(
        requirements,
        ["AE-11", "AE-12", "AE-13", "AE-14", "AE-15", "AE-17"]
    );
    let codes = super::windows::WINDOWS.map(|window| lapse_of(window).code.as_str());
    let expected = [
        "X811-4020",
        "X811-4021",
        "X811-4022",
        "X811-4023",
        "X811-4024",
        "X811-5030",
    ];
    assert_eq!(codes, expected);
}

#[test]
fn ax_032_an_error_between_the_parties_changes_nothing() {
    for state in StateName::ALL
        .into_iter()
        .filter(|name| !name.is_terminal())
    {
        for sender in SENDERS {
            let mut world = World::at(state);
            let before = world.state(0).clone();
            let error = world.draft(0, CoreType::Error).sent_by(sender);
            let outcome = world.send(0, &error);
            assert_eq!(
                *world.state(0),
                before,
                "AX-32: {state}, ERROR from {sender:?}"
            );
            let stranger = sender == x811_protocol::interaction::table::Sender::Stranger;
            let expected = stranger.then_some(Code::InvalidStateTransition);
            assert_eq!(
                outcome.code(),
                expected,
                "AX-32: {state}, ERROR from {sender:?}"
            );
        }
    }
}
