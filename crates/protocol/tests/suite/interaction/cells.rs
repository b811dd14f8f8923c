//! 10 states × 6 messages × 3 senders: six cells accept, VERIFY's splits in two, every other cell
//! answers X811-4001 and changes nothing (AE-11 to AE-17, AE-23 to AE-37, AX-11).

use x811_protocol::code::Code;
use x811_protocol::envelope::CoreType;
use x811_protocol::interaction::StateName;
use x811_protocol::interaction::table::{self, Sender};

use super::messages::{MOVES, Message, SENDERS};
use super::world::World;

/// The accepting cells as AE-11 to AE-17 word them, written down again on purpose.
const ACCEPTING: [(&str, StateName, CoreType, Sender, StateName); 6] = {
    use CoreType as M;
    use Sender::{Initiator, Provider};
    use StateName as S;
    [
        ("AE-11", S::Pending, M::Offer, Provider, S::Offered),
        ("AE-12", S::Offered, M::Accept, Initiator, S::Accepted),
        ("AE-13", S::Offered, M::Reject, Initiator, S::Rejected),
        ("AE-14", S::Accepted, M::Result, Provider, S::Delivered),
        ("AE-15", S::Delivered, M::Verify, Initiator, S::Verified),
        (
            "AE-17 as read by AX-7",
            S::Verified,
            M::Payment,
            Initiator,
            S::Verified,
        ),
    ]
};

/// Which requirement refuses a cell: the finished state, the wrong state or the wrong sender.
fn refused_by(state: StateName, kind: CoreType) -> &'static str {
    match state {
        StateName::Completed => return "AE-23",
        StateName::Expired => return "AE-24",
        StateName::Rejected => return "AE-25",
        StateName::Failed => return "AE-26",
        StateName::Disputed => return "AE-27",
        _ => {}
    }
    let home = ACCEPTING.iter().find(|cell| cell.2 == kind).unwrap().1;
    match kind {
        _ if home == state => "AE-34",
        CoreType::Offer => "AE-28",
        CoreType::Accept => "AE-29",
        CoreType::Reject => "AE-30",
        CoreType::Result => "AE-31",
        CoreType::Verify => "AE-32",
        CoreType::Payment => "AE-33",
        CoreType::Request | CoreType::Error => panic!("{kind} is no move"),
    }
}

/// Sends `message` and checks X811-4001 and that nothing but the nonce is spent (AE-36, AE-37).
pub(crate) fn assert_refused(world: &mut World, message: &Message, label: &str) {
    let (state, length) = (world.state(0).clone(), world.log.len());
    let outcome = world.send(0, message);
    assert_eq!(
        outcome.code(),
        Some(Code::InvalidStateTransition),
        "{label}"
    );
    assert_eq!(*world.state(0), state, "{label} left a trace in the state");
    assert_eq!(world.log.len(), length, "{label} left a record");
}

#[test]
fn ae_011_to_ae_037_and_ae_096_one_hundred_and_eighty_cells() {
    let (mut accepted, mut refused) = (0, 0);
    for state in StateName::ALL {
        let reached = World::at(state);
        for kind in MOVES {
            for sender in SENDERS {
                let mut world = reached.clone();
                let message = world.draft(0, kind).sent_by(sender);
                let cell = ACCEPTING
                    .iter()
                    .find(|cell| (cell.1, cell.2, cell.3) == (state, kind, sender));
                let label = format!("{state} + {kind} from {sender:?}");
                let in_table = table::transition(state, kind, sender);
                assert_eq!(in_table.is_some(), cell.is_some(), "{label}");
                if let Some((requirement, .., to)) = cell {
                    let outcome = world.send(0, &message);
                    assert_eq!(
                        outcome.types(),
                        ["envelope_accepted"],
                        "{requirement}: {label}"
                    );
                    assert_eq!(world.name(0), *to, "{requirement}: {label}");
                    assert_eq!(in_table.unwrap().to, *to, "{requirement}: {label}");
                    accepted += 1;
                } else {
                    let requirement = refused_by(state, kind);
                    assert_refused(&mut world, &message, &format!("{requirement}: {label}"));
                    refused += 1;
                }
            }
        }
    }
    assert_eq!((accepted, refused), (6, 174));
}

#[test]
fn ae_016_the_verify_cell_splits_in_two() {
    for state in StateName::ALL {
        for sender in SENDERS {
            let mut world = World::at(state);
            let message = world.draft_dispute(0).sent_by(sender);
            let label = format!("AE-16: {state} + VERIFY of false from {sender:?}");
            if (state, sender) == (StateName::Delivered, Sender::Initiator) {
                world.send_ok(0, &message);
                assert_eq!(world.name(0), StateName::Disputed, "{label}");
                assert_eq!(world.closing_code(0), None, "{label}: no code, a verdict");
            } else {
                assert_refused(&mut world, &message, &label);
            }
        }
    }
}

#[test]
fn ae_033_while_a_payment_is_watched_only_another_payment_moves() {
    for reached in [World::watching(), World::looking()] {
        for kind in MOVES {
            for sender in SENDERS {
                let mut world = reached.clone();
                let mut message = world.draft(0, kind).sent_by(sender);
                let label = format!("AE-28 to AE-34: watching + {kind} from {sender:?}");
                if (kind, sender) == (CoreType::Payment, Sender::Initiator) {
                    message.payment().tx_hash = super::chain::tx(2);
                    world.send_ok(0, &message);
                    assert_eq!(world.settlement(0).declared.len(), 2, "{label}");
                } else {
                    assert_refused(&mut world, &message, &label);
                }
            }
        }
    }
}

#[test]
fn ax_011_the_recipient_must_be_the_counterparty() {
    for (requirement, state, kind, sender, _) in ACCEPTING {
        let reached = World::at(state);
        let right = reached.draft(0, kind);
        for wrong in SENDERS.map(super::messages::did_of) {
            if wrong == right.to {
                continue;
            }
            let mut message = right.clone();
            message.to = wrong;
            let label = format!("AX-11, {requirement}: {kind} from {sender:?} to {wrong}");
            assert_refused(&mut reached.clone(), &message, &label);
        }
    }
}

#[test]
fn ax_011_references_must_be_those_of_the_interaction() {
    let foreign = x811_protocol::id::EnvelopeId::from_parts(1, &[9; 10]);
    let check = |state: StateName, kind: CoreType, change: &dyn Fn(&mut Message)| {
        let mut world = World::at(state);
        let mut message = world.draft(0, kind);
        change(&mut message);
        assert_refused(
            &mut world,
            &message,
            &format!("AX-11: {kind} with a foreign reference"),
        );
    };
    check(StateName::Pending, CoreType::Offer, &|m| {
        m.offer().request_id = foreign
    });
    check(StateName::Offered, CoreType::Accept, &|m| {
        m.accept().offer_id = foreign
    });
    check(StateName::Offered, CoreType::Reject, &|m| {
        m.reject().offer_id = foreign
    });
    check(StateName::Accepted, CoreType::Result, &|m| {
        m.result().request_id = foreign
    });
    check(StateName::Accepted, CoreType::Result, &|m| {
        m.result().offer_id = foreign
    });
    check(StateName::Delivered, CoreType::Verify, &|m| {
        m.verify().request_id = foreign
    });
    check(StateName::Delivered, CoreType::Verify, &|m| {
        m.verify().offer_id = foreign
    });
    check(StateName::Verified, CoreType::Payment, &|m| {
        m.payment().request_id = foreign
    });
    check(StateName::Verified, CoreType::Payment, &|m| {
        m.payment().offer_id = foreign
    });
}

#[test]
fn ae_034_the_answer_is_the_same_to_the_other_party_and_to_strangers() {
    for (requirement, state, kind, sender, _) in ACCEPTING {
        let answers: Vec<_> = SENDERS
            .into_iter()
            .filter(|other| *other != sender)
            .map(|other| {
                let mut world = World::at(state);
                let message = world.draft(0, kind).sent_by(other);
                world.send(0, &message).refusal.unwrap()
            })
            .collect();
        assert_eq!(answers[0], answers[1], "AX-11, {requirement}: {kind}");
    }
}
