//! Guards of PAYMENT, first and repeated (AE-17, AX-7, AX-15 to AX-18, ledger-contract.md sections
//! 3 to 5).

use x811_protocol::code::Code;
use x811_protocol::envelope::CoreType;
use x811_protocol::event::PayerBinding;
use x811_protocol::interaction::{Interaction, Schedule, StateName};
use x811_protocol::machine::Input;
use x811_protocol::parameters::PayerBindingRule;
use x811_protocol::settlement::SettlingMachine as _;

use super::chain::{OTHER, PAYER, micro, tx};
use super::guards::answer_in;
use super::messages::{Message, PRICE, TOTAL, header};
use super::world::{SEPOLIA, World, parameters, wallet};

fn answer(change: impl FnOnce(&mut Message)) -> Option<(Code, u16)> {
    let mut world = World::at(StateName::Verified);
    let mut payment = world.draft(0, CoreType::Payment);
    change(&mut payment);
    answer_in(&mut world, &payment)
}

#[test]
fn ae_017_the_amount_covers_the_total() {
    let paid = |amount: u64| answer(|message| message.payment().amount = micro(amount));
    let short = Some((Code::InsufficientBalance, 402));
    assert_eq!(paid(TOTAL), None, "equal");
    assert_eq!(paid(TOTAL + 1), None, "over (AX-17)");
    assert_eq!(paid(TOTAL - 1), short, "one micro-USDC short");
    assert_eq!(paid(PRICE), short, "the price without the fee");
    assert_eq!(paid(0), short, "nothing");
}

#[test]
fn ax_015_the_payee_is_the_offer_s() {
    let refused = answer(|message| message.payment().payee_address = OTHER);
    assert_eq!(refused, Some((Code::InvalidPaymentAddress, 400)));
}

#[test]
fn the_payer_is_a_wallet_bound_to_the_initiator() {
    let refused = answer(|message| message.payment().payer_address = OTHER);
    assert_eq!(
        refused,
        Some((Code::InvalidPaymentAddress, 400)),
        "ledger-contract.md section 4"
    );

    let mut world = World::at(StateName::Verified);
    world.registry.initiator_wallets.clear();
    let payment = world.draft(0, CoreType::Payment);
    let unbound = Some((Code::InvalidPaymentAddress, 400));
    assert_eq!(
        answer_in(&mut world, &payment),
        unbound,
        "bound as of now, not as of the ACCEPT"
    );
    world.registry.initiator_wallets = vec![wallet(OTHER), wallet(PAYER)];
    let outcome = world.send_ok(0, &payment);
    let accepted = outcome.accepted();
    assert_eq!(accepted.derived.payer_binding, Some(PayerBinding::Wallet));
}

#[test]
fn the_payer_is_taken_as_stated_only_where_that_is_configured() {
    let mut unchecked = parameters();
    unchecked.payer_binding = PayerBindingRule::Unchecked;
    let mut world = World::with(unchecked);
    world.bring(StateName::Verified);
    let mut payment = world.draft(0, CoreType::Payment);
    payment.payment().payer_address = OTHER;
    let outcome = world.send_ok(0, &payment);
    let accepted = outcome.accepted();
    assert_eq!(
        accepted.derived.payer_binding,
        Some(PayerBinding::Unchecked)
    );
}

#[test]
fn ae_004_and_ax_016_the_network_is_a_configured_one() {
    let on = |network: &str| answer(|message| message.payment().network = network.to_owned());
    let unknown = Some((Code::InvalidStateTransition, 400));
    assert_eq!(on("base"), None);
    assert_eq!(on(SEPOLIA), None, "a further network of the settings");
    assert_eq!(on("ethereum"), unknown);
    assert_eq!(on("Base"), unknown);
}

#[test]
fn ax_016_a_further_payment_is_on_the_network_of_the_first() {
    let mut world = World::watching();
    let mut payment = world.draft_payment(0, 2, None);
    payment.payment().network = SEPOLIA.to_owned();
    let refused = Some((Code::InvalidStateTransition, 400));
    assert_eq!(answer_in(&mut world, &payment), refused);
}

#[test]
fn ax_007_a_payment_stops_the_payment_window_and_starts_the_confirmation_window() {
    let mut world = World::at(StateName::Verified);
    world.advance_ms(59_000);
    world.pay(0, 1);
    let t0 = world.now;
    assert_eq!(world.settlement(0).started_at, t0);
    let deadline = t0.saturating_add_ms(30_000);
    assert_eq!(
        world.settlement(0).schedule,
        Schedule::Confirmation { deadline }
    );
    world.advance_ms(2_000);
    assert_eq!(world.tick(0).events, [], "61 s after the VERIFY");
}

#[test]
fn ax_008_a_further_payment_adds_transactions_and_restarts_nothing() {
    let mut world = World::watching();
    let (t0, schedule) = (world.now, world.settlement(0).schedule);
    world.advance_ms(20_000);
    let payment = world.draft_payment(0, 2, Some(3));
    let outcome = world.send_ok(0, &payment);
    let settlement = world.settlement(0);
    assert_eq!((settlement.started_at, settlement.schedule), (t0, schedule));
    let hashes: Vec<_> = settlement
        .declared
        .iter()
        .map(|declared| declared.tx_hash)
        .collect();
    assert_eq!(hashes, [tx(1), tx(2), tx(3)], "in order of declaration");
    assert_eq!(settlement.payments.len(), 2);
    let accepted = outcome.accepted();
    assert_eq!(
        accepted.derived.deadline_at_ms,
        Some(t0.saturating_add_ms(30_000))
    );

    let mut looking = World::looking();
    let schedule = looking.settlement(0).schedule;
    looking.advance_ms(1_000);
    looking.pay(0, 2);
    assert_eq!(
        looking.settlement(0).schedule,
        schedule,
        "the timetable does not move"
    );
}

/// Label, what is wrong, the code that answers it.
type Fault = (&'static str, fn(&mut Message), Code);

#[test]
fn a_further_payment_meets_the_same_guards() {
    let table: [Fault; 3] = [
        (
            "short",
            |m| m.payment().amount = micro(TOTAL - 1),
            Code::InsufficientBalance,
        ),
        (
            "payee",
            |m| m.payment().payee_address = OTHER,
            Code::InvalidPaymentAddress,
        ),
        (
            "payer",
            |m| m.payment().payer_address = OTHER,
            Code::InvalidPaymentAddress,
        ),
    ];
    for (label, change, code) in table {
        let mut world = World::watching();
        let mut payment = world.draft_payment(0, 2, None);
        change(&mut payment);
        let refused = answer_in(&mut world, &payment).map(|(code, _)| code);
        assert_eq!(refused, Some(code), "{label}");
    }
}

#[test]
fn at_most_eight_transactions_are_declared() {
    let refused = Some((Code::InvalidStateTransition, 422));
    let mut world = World::watching();
    for number in 2..=7 {
        world.pay(0, number);
    }
    let two_more = world.draft_payment(0, 8, Some(9));
    assert_eq!(answer_in(&mut world, &two_more), refused, "seven and two");
    let known_and_new = world.draft_payment(0, 7, Some(8));
    world.send_ok(0, &known_and_new);
    assert_eq!(world.settlement(0).declared.len(), 8);
    let ninth = world.draft_payment(0, 9, None);
    assert_eq!(answer_in(&mut world, &ninth), refused, "the ninth");
}

#[test]
fn a_payment_that_names_only_declared_transactions_is_found_as_a_repeat() {
    let mut world = World::at(StateName::Verified);
    let first = world.draft_payment(0, 1, Some(2));
    world.send_ok(0, &first);
    let first_position = world.log.len() as u64 - 1;
    world.pay(0, 3);
    let second_position = world.log.len() as u64 - 1;

    let position = |world: &World, message: &Message| {
        let id = x811_protocol::id::EnvelopeId::from_parts(world.now.as_ms(), &[5; 10]);
        let envelope = header(id, message, world.now);
        Interaction::repeated(
            world.state(0),
            &Input {
                envelope: &envelope,
                facts: &message.facts,
            },
        )
    };
    let named = |tx_hash, fee| world.draft_payment(0, tx_hash, fee);
    assert_eq!(position(&world, &named(1, None)), Some(first_position));
    assert_eq!(position(&world, &named(2, Some(1))), Some(first_position));
    assert_eq!(position(&world, &named(3, None)), Some(second_position));
    assert_eq!(position(&world, &named(1, Some(3))), Some(second_position));
    assert_eq!(
        position(&world, &named(1, Some(4))),
        None,
        "one of them is new"
    );
    let by_provider = named(1, None).sent_by(x811_protocol::interaction::table::Sender::Provider);
    assert_eq!(
        position(&world, &by_provider),
        None,
        "somebody else says it"
    );
    assert_eq!(
        position(&World::at(StateName::Verified), &named(1, None)),
        None,
        "the first"
    );
    let verify = world.draft(0, CoreType::Verify);
    assert_eq!(position(&world, &verify), None, "no PAYMENT");

    let repeat = named(1, None);
    let refused = Some((Code::InvalidStateTransition, 422));
    assert_eq!(
        answer_in(&mut world, &repeat),
        refused,
        "it makes no second record"
    );
}

#[test]
fn a_wrong_repeat_is_no_way_round_the_payer() {
    let mut world = World::watching();
    world.registry.initiator_wallets.push(wallet(OTHER));
    let mut payment = world.draft_payment(0, 1, Some(2));
    payment.payment().payer_address = OTHER;
    world.send_ok(0, &payment);
    let payers: Vec<_> = world
        .settlement(0)
        .declared
        .iter()
        .map(|d| d.payer)
        .collect();
    assert_eq!(
        payers,
        [PAYER, OTHER],
        "who declared a transaction first names its payer"
    );
}
