//! The rules of settlement-watcher.md section 2 that the machine keeps, each in its shortest story.
//! `tests/SETTLEMENT.md` lists them with all other tests that defend them.

use x811_protocol::code::Code;
use x811_protocol::envelope::CoreType;
use x811_protocol::event::{Event, Refuted, RefutedCause, RevertReason, SettlementEvent};
use x811_protocol::interaction::table::Sender;
use x811_protocol::interaction::{Interaction, StateName};
use x811_protocol::machine::Input;
use x811_protocol::machine::Recorded;
use x811_protocol::observation::Hindrance;
use x811_protocol::settlement::SettlingMachine as _;
use x811_protocol::settlement_view::{Live, MoneyStanding, ProviderPaid, SettlementView};

use super::chain::{Chain, DEPTH, OTHER, PAYEE, PAYER, TREASURY, transfers, tx};
use super::messages::{FEE, PRICE, TOTAL, header};
use super::world::{Outcome, World, hash_at};

/// Why the first transaction was refuted.
fn refuted(outcome: &Outcome) -> Option<RefutedCause> {
    outcome.refuted().first().map(|refuted| refuted.cause)
}

/// Where the money is by the records alone, held against the machine's own state.
fn view(world: &World, number: usize) -> SettlementView {
    let events = world.events(number);
    let records = events.iter().zip(0..).map(|(event, position)| Recorded {
        event,
        position,
        hash: hash_at(position),
        recorded_at_ms: world.now,
        parameters: None,
    });
    let id = world.state(number).opening().id;
    let view = SettlementView::of(id, records, Live::nothing(world.now));
    assert_eq!(view.state, world.name(number), "as the machine has it");
    if let Some(settlement) = world.state(number).settlement() {
        assert_eq!(view.failures, settlement.failures);
        let declared: Vec<_> = settlement.declared.iter().map(|d| d.tx_hash).collect();
        let shown: Vec<_> = view
            .transactions
            .iter()
            .map(|known| known.tx_hash)
            .collect();
        assert_eq!(shown, declared);
    }
    view
}

#[test]
fn rule_01_a_payment_counts_in_verified_alone_and_once() {
    for name in [
        StateName::Pending,
        StateName::Offered,
        StateName::Accepted,
        StateName::Delivered,
    ] {
        let mut world = World::at(name);
        let payment = world.draft_payment(0, 1, None);
        let outcome = world.send(0, &payment);
        assert_eq!(outcome.code(), Some(Code::InvalidStateTransition), "{name}");
        assert!(outcome.events.is_empty(), "{name}");
    }
    let world = World::watching();
    let again = world.draft_payment(0, 1, None);
    let id = world.streams[0].request_id;
    let envelope = header(id, &again, world.now);
    let first = Interaction::repeated(
        world.state(0),
        &Input {
            envelope: &envelope,
            facts: &again.facts,
        },
    );
    assert!(
        first.is_some(),
        "the same hash is answered by the first PAYMENT"
    );
    assert_eq!(world.settlement(0).payments.len(), 1);
}

#[test]
fn rule_02_the_initiator_alone_pays() {
    for sender in [Sender::Provider, Sender::Stranger] {
        let mut world = World::at(StateName::Verified);
        let payment = world.draft(0, CoreType::Payment).sent_by(sender);
        let outcome = world.send(0, &payment);
        assert!(outcome.code().is_some(), "{sender:?}");
        assert_eq!(world.name(0), StateName::Verified);
        assert!(world.state(0).settlement().is_none(), "{sender:?}");
        assert_eq!(view(&world, 0).standing, MoneyStanding::NotDeclared);
    }
}

#[test]
fn rule_06_the_payee_is_the_offers_whatever_the_message_says() {
    let mut world = World::at(StateName::Verified);
    let mut payment = world.draft(0, CoreType::Payment);
    payment.payment().payee_address = OTHER;
    let refused = world.send(0, &payment);
    assert_eq!(refused.code(), Some(Code::InvalidPaymentAddress));
    // And a transfer to somebody else pays nobody here.
    let (world, outcome) = World::paid_by(&[(PAYER, OTHER, TOTAL)]);
    assert_eq!(refuted(&outcome), Some(RefutedCause::OtherPayee));
    assert_eq!(view(&world, 0).paid, ProviderPaid::NotYet);
}

#[test]
fn rule_14_payer_and_payee_are_those_of_the_log() {
    let (_, outcome) = World::paid_by(&[(OTHER, PAYEE, TOTAL)]);
    assert_eq!(refuted(&outcome), Some(RefutedCause::OtherPayee));
    // Relayed: whoever sent the transaction, the transfer is from payer to payee.
    let (world, outcome) = World::paid_by(&[(OTHER, TREASURY, 1), (PAYER, PAYEE, TOTAL)]);
    assert_eq!(outcome.confirmed().unwrap().claims[0].ordinal, 1);
    assert_eq!(view(&world, 0).paid, ProviderPaid::Yes);
}

#[test]
fn rule_15_one_micro_usdc_short_is_short_and_only_what_is_needed_is_claimed() {
    let (world, outcome) = World::paid_by(&[(PAYER, PAYEE, TOTAL - 1)]);
    assert_eq!(refuted(&outcome), Some(RefutedCause::Short));
    let MoneyStanding::Refused { code, .. } = view(&world, 0).standing else {
        panic!("{:?}", view(&world, 0));
    };
    assert_eq!(code, Code::InsufficientBalance);
    // A single log equal to the need goes before any sum, wherever it stands.
    let (_, outcome) =
        World::paid_by(&[(PAYER, PAYEE, 7), (PAYER, PAYEE, TOTAL), (PAYER, PAYEE, 9)]);
    let claims = &outcome.confirmed().unwrap().claims;
    assert_eq!(
        claims.iter().map(|claim| claim.ordinal).collect::<Vec<_>>(),
        [1]
    );
    // Else in order until it is reached.
    let (_, outcome) = World::paid_by(&[
        (PAYER, PAYEE, TOTAL - 5),
        (PAYER, PAYEE, 5),
        (PAYER, PAYEE, 6),
    ]);
    let claims = &outcome.confirmed().unwrap().claims;
    assert_eq!(
        claims.iter().map(|claim| claim.ordinal).collect::<Vec<_>>(),
        [0, 1]
    );
}

#[test]
fn rule_16_whole_or_split_or_in_two_transactions() {
    let (_, whole) = World::paid_by(&[(PAYER, PAYEE, TOTAL)]);
    let (_, split) = World::paid_by(&[(PAYER, PAYEE, PRICE), (PAYER, TREASURY, FEE)]);
    assert_eq!(whole.confirmed().unwrap().claims.len(), 1);
    assert_eq!(split.confirmed().unwrap().claims.len(), 2);

    let mut world = World::at(StateName::Verified);
    let payment = world.draft_payment(0, 1, Some(2));
    world.send_ok(0, &payment);
    let block = world.mine_next(1, &[(PAYER, PAYEE, PRICE)]);
    world.mine(2, block + 1, &[(PAYER, TREASURY, FEE)]);
    let outcome = world.deep(0, block + 1);
    let confirmed = outcome.confirmed().unwrap();
    assert_eq!(
        confirmed.evidence.len(),
        2,
        "each transaction has its evidence"
    );
    assert_eq!(
        confirmed
            .claims
            .iter()
            .map(|claim| claim.tx_hash)
            .collect::<Vec<_>>(),
        [tx(1), tx(2)]
    );
    assert_eq!(view(&world, 0).paid_micro_usdc.as_micro_usdc(), TOTAL);

    // The price alone leaves the fee missing.
    let (_, outcome) = World::paid_by(&[(PAYER, PAYEE, PRICE)]);
    assert_eq!(refuted(&outcome), Some(RefutedCause::Short));
}

#[test]
fn rule_17_one_transfer_pays_one_interaction() {
    let (mut world, first) = World::paid_by(&[(PAYER, PAYEE, TOTAL)]);
    let claimed = first.confirmed().unwrap().claims.clone();
    let second = world.bring(StateName::Verified);
    world.pay(second, 1);
    let outcome = world.sweep(second);
    assert!(outcome.confirmed().is_none());
    // It is older than the second ACCEPT as well; whichever is named, it pays nothing.
    assert!(refuted(&outcome).is_some());
    assert_eq!(
        world.registry.claimed.iter().copied().collect::<Vec<_>>(),
        claimed
    );
    assert_eq!(view(&world, second).paid, ProviderPaid::NotYet);
}

#[test]
fn rule_19_a_payment_from_before_the_accept_does_not_count() {
    let mut world = World::new();
    let block = world.mine_next(1, &[(PAYER, PAYEE, TOTAL)]);
    world.until_block(block + DEPTH);
    let number = world.bring(StateName::Verified);
    world.pay(number, 1);
    let outcome = world.sweep(number);
    assert_eq!(refuted(&outcome), Some(RefutedCause::OlderThanAccept));
}

#[test]
fn rule_20_zero_transfers_are_nothing_and_a_price_of_zero_needs_none() {
    let (_, outcome) = World::paid_by(&[(PAYER, PAYEE, 0), (PAYER, TREASURY, 0)]);
    assert_eq!(refuted(&outcome), Some(RefutedCause::OtherPayee));
    let (_, outcome) = World::paid_by(&[(PAYER, PAYEE, 0), (PAYER, PAYEE, TOTAL)]);
    let confirmed = outcome.confirmed().unwrap();
    assert_eq!(
        confirmed.claims[0].ordinal, 1,
        "it counts as a place, not as money"
    );
    assert_eq!(confirmed.evidence[0].transfers.len(), 1);
}

#[test]
fn rule_21_a_replaced_transaction_is_watched_on_and_the_new_hash_pays() {
    let mut world = World::watching();
    world.pay(0, 2);
    let block = world.mine_next(2, &[(PAYER, PAYEE, TOTAL)]);
    let outcome = world.deep(0, block);
    assert_eq!(outcome.confirmed().unwrap().claims[0].tx_hash, tx(2));
    assert!(refuted(&outcome).is_none(), "not found is never failed");
    // Both mined: one pays, the other is left alone.
    let mut world = World::watching();
    world.pay(0, 2);
    let block = world.next_block();
    for number in [1, 2] {
        world.mine(number, block, &[(PAYER, PAYEE, TOTAL)]);
    }
    let outcome = world.deep(0, block);
    assert_eq!(outcome.confirmed().unwrap().claims.len(), 1);
}

#[test]
fn rule_22_what_is_too_much_is_booked_apart() {
    let (world, outcome) = World::paid_by(&[(PAYER, PAYEE, TOTAL + 3)]);
    let surplus = outcome.confirmed().unwrap().surplus.unwrap();
    assert_eq!(surplus.as_micro_usdc(), 3);
    let view = view(&world, 0);
    assert_eq!(view.surplus_micro_usdc, surplus);
    assert_eq!(view.due_micro_usdc.unwrap().as_micro_usdc(), TOTAL);
    assert_eq!(world.name(0), StateName::Completed);
}

#[test]
fn rule_23_a_reorg_before_the_confirmation_takes_nothing_but_the_sighting() {
    let mut world = World::watching();
    let block = world.mine_next(1, &[(PAYER, PAYEE, TOTAL)]);
    world.until_block(block + 2);
    world.sweep(0);
    assert!(matches!(
        view(&world, 0).standing,
        MoneyStanding::Seen { .. }
    ));
    world.chain.reorganise_away(tx(1));
    let outcome = world.sweep(0);
    assert_eq!(outcome.types(), ["unseen"]);
    assert_eq!(view(&world, 0).standing, MoneyStanding::Declared);
    assert_eq!(world.settlement(0).failures, 0);
    // The same signed transaction comes back in another block.
    let block = Chain::head_number(world.now) + 1;
    world.mine(1, block, &[(PAYER, PAYEE, TOTAL)]);
    let outcome = world.deep(0, block);
    assert!(outcome.confirmed().is_some());
}

/// Transaction 1, declared, failed in the next block and deep enough; and why, as far as is said.
fn failed_by(hindrance: Option<Hindrance>) -> (World, Refuted) {
    let mut world = World::watching();
    let block = world.next_block();
    world.chain.revert(tx(1), block);
    if let Some(hindrance) = hindrance {
        world.chain.hinder(tx(1), hindrance);
    }
    let outcome = world.deep(0, block);
    let refuted = outcome.refuted()[0].clone();
    (world, refuted)
}

#[test]
fn rule_29_the_reason_of_a_refused_payment_is_recorded_and_told() {
    let blacklisted = |account| Some(Hindrance::Blacklisted(account));
    let table = [
        (
            Some(Hindrance::Paused),
            Some(RevertReason::TokenPaused),
            "it reverted: USDC was paused",
        ),
        (
            blacklisted(PAYER),
            Some(RevertReason::PayerBlacklisted),
            "it reverted: the payer was blacklisted",
        ),
        (
            blacklisted(PAYEE),
            Some(RevertReason::PayeeBlacklisted),
            "it reverted: the payee was blacklisted",
        ),
        // Somebody else's trouble is no reason.
        (blacklisted(OTHER), None, "it reverted"),
        (None, None, "it reverted"),
    ];
    for (hindrance, reason, text) in table {
        let (world, refuted) = failed_by(hindrance);
        assert_eq!(refuted.cause, RefutedCause::Reverted);
        assert_eq!(
            (refuted.reason, refuted.code),
            (reason, Code::PaymentFailed)
        );
        let shown = view(&world, 0);
        let told = format!(
            "refused because {text}: {}, X811-5003 PAYMENT_FAILED",
            tx(1)
        );
        assert!(shown.sentence.starts_with(&told), "{}", shown.sentence);
        let event = Event::Settlement(SettlementEvent::Refuted(refuted));
        let bytes = serde_json::to_value(&event).unwrap();
        assert_eq!(bytes.get("reason").is_some(), reason.is_some());
        assert_eq!(Event::from_value(&bytes).unwrap(), event);
    }
}

#[test]
fn rule_29_a_transfer_that_succeeded_needs_no_reason() {
    let mut world = World::watching();
    let block = world.next_block();
    let short = transfers(&[(PAYER, PAYEE, TOTAL - 1)]);
    world.chain.mine(tx(1), block, short);
    world.chain.hinder(tx(1), Hindrance::Paused);
    let outcome = world.deep(0, block);
    let refuted = outcome.refuted()[0];
    assert_eq!((refuted.cause, refuted.reason), (RefutedCause::Short, None));
}

/// The token may be upgraded to keep a part of every transfer: what arrived is what its log says,
/// and nothing else is asked.
#[test]
fn rule_30_what_a_fee_on_transfer_leaves_is_what_counts() {
    let fee = 1;
    // The payer sent the total; the token's logs say what came and what was kept.
    let (world, outcome) = World::paid_by(&[(PAYER, PAYEE, TOTAL - fee), (PAYER, OTHER, fee)]);
    assert_eq!(refuted(&outcome), Some(RefutedCause::Short));
    assert_eq!(view(&world, 0).paid, ProviderPaid::NotYet);
    // Who sends so much more that the total arrives has paid, and no more than the log says.
    let (world, outcome) = World::paid_by(&[(PAYER, PAYEE, TOTAL), (PAYER, OTHER, fee)]);
    let claims = &outcome.confirmed().unwrap().claims;
    assert_eq!(claims.iter().map(|c| c.ordinal).collect::<Vec<_>>(), [0]);
    let shown = view(&world, 0);
    assert_eq!(shown.paid_micro_usdc.as_micro_usdc(), TOTAL);
    assert!(shown.surplus_micro_usdc.is_zero());
}
