//! Which transfers complete an interaction, and what the confirmation says (AX-17, AX-18,
//! ledger-contract.md section 5, settlement-watcher.md section 2).

use x811_protocol::code::Code;
use x811_protocol::envelope::CoreType;
use x811_protocol::event::{
    Confirmed, Event, Evidence, FindingStatus, Level, Seen, SettlementEvent,
};
use x811_protocol::evm::ChainId;
use x811_protocol::interaction::{Interaction, State, StateName};
use x811_protocol::machine::Machine;
use x811_protocol::observation::Transfer;
use x811_protocol::parameters::FinalBy;
use x811_protocol::settlement::DeclaredStanding;
use x811_protocol::settlement::level::STAND_IN_BLOCKS;

use super::chain::{Chain, DEPTH, OTHER, PAYEE, PAYER, TREASURY, micro, transfers, tx};
use super::messages::{FEE, PRICE, TOTAL};
use super::schedule::{answer_look, until_look};
use super::world::{Outcome, World, hash_at, parameters_with_safe_above};

fn confirmed(outcome: &Outcome) -> &Confirmed {
    let confirmed = outcome.confirmed();
    confirmed.unwrap_or_else(|| panic!("not confirmed: {:?}", outcome.types()))
}

/// Claims as (transaction number, ordinal).
fn claims(outcome: &Outcome) -> Vec<(u8, u64)> {
    let claims = &confirmed(outcome).claims;
    assert!(
        claims
            .iter()
            .all(|claim| claim.chain_id == ChainId::new(8_453))
    );
    claims
        .iter()
        .map(|claim| (claim.tx_hash.as_bytes()[0], claim.ordinal))
        .collect()
}

#[test]
fn ax_018_what_pays_and_which_transfers_are_claimed() {
    let (a, b, t) = (PAYER, PAYEE, TREASURY);
    let table = [
        ("the whole", vec![(a, b, TOTAL)], vec![0], None),
        (
            "price and fee",
            vec![(a, b, PRICE), (a, t, FEE)],
            vec![0, 1],
            None,
        ),
        (
            "fee and price",
            vec![(a, t, FEE), (a, b, PRICE)],
            vec![0, 1],
            None,
        ),
        (
            "the whole before smaller ones",
            vec![(a, b, 5), (a, b, TOTAL)],
            vec![1],
            None,
        ),
        (
            "the whole before price and fee",
            vec![(a, b, PRICE), (a, t, FEE), (a, b, TOTAL)],
            vec![2],
            None,
        ),
        (
            "price and fee before greedy",
            vec![(a, b, PRICE + 1), (a, b, PRICE), (a, t, FEE)],
            vec![1, 2],
            None,
        ),
        ("over", vec![(a, b, TOTAL + 7)], vec![0], Some(7)),
        (
            "in parts",
            vec![(a, b, PRICE), (a, b, FEE - 1), (a, b, 1)],
            vec![0, 1, 2],
            None,
        ),
        (
            "no more than it takes",
            vec![(a, b, TOTAL + 1), (a, b, 9)],
            vec![0],
            Some(1),
        ),
        (
            "zero values are ignored and counted",
            vec![(a, b, 0), (a, t, 0), (a, b, TOTAL)],
            vec![2],
            None,
        ),
        (
            "strangers' transfers are ignored and counted",
            vec![(OTHER, b, TOTAL), (a, OTHER, TOTAL), (a, b, TOTAL)],
            vec![2],
            None,
        ),
    ];
    for (label, rows, ordinals, surplus) in table {
        let count = rows.len() as u64;
        let (_, outcome) = World::paid_by(&rows);
        let expected: Vec<_> = ordinals.into_iter().map(|ordinal| (1, ordinal)).collect();
        assert_eq!(claims(&outcome), expected, "{label}");
        assert_eq!(
            confirmed(&outcome).surplus,
            surplus.map(micro),
            "AX-17: {label}"
        );
        let evidence = &confirmed(&outcome).evidence;
        assert_eq!(evidence.len(), 1, "{label}");
        assert_eq!(evidence[0].transfer_count, count, "{label}");
        assert_covers(confirmed(&outcome), label);
    }
}

/// The evidence quotes every claimed transfer, and they cover price and total.
fn assert_covers(confirmed: &Confirmed, label: &str) {
    let claimed = confirmed.claims.iter().map(|claim| {
        let evidence = confirmed
            .evidence
            .iter()
            .find(|e| e.tx_hash == claim.tx_hash)
            .unwrap();
        let quoted = evidence
            .transfers
            .iter()
            .find(|t| t.ordinal == claim.ordinal);
        quoted.unwrap_or_else(|| panic!("{label}: {claim:?} is claimed but not quoted"))
    });
    let claimed: Vec<_> = claimed.collect();
    let sum = |of: &[&&Transfer]| of.iter().map(|t| t.amount.as_micro_usdc()).sum::<u64>();
    let to_payee: Vec<_> = claimed.iter().filter(|t| t.to == PAYEE).collect();
    assert!(sum(&to_payee) >= PRICE, "{label}");
    assert!(sum(&claimed.iter().collect::<Vec<_>>()) >= TOTAL, "{label}");
}

#[test]
fn ae_065_the_fee_in_a_transaction_of_its_own() {
    let mut world = World::at(StateName::Verified);
    let payment = world.draft_payment(0, 1, Some(2));
    world.send_ok(0, &payment);
    let block = world.mine_next(1, &[(PAYER, PAYEE, PRICE)]);
    world.mine(2, block + 1, &[(PAYER, OTHER, 1), (PAYER, TREASURY, FEE)]);
    world.until_block(block + DEPTH - 1);
    assert_eq!(
        world.sweep(0).types(),
        ["seen", "seen"],
        "the fee is not deep enough"
    );
    world.until_block(block + DEPTH);
    let outcome = world.sweep(0);
    assert_eq!(claims(&outcome), [(1, 0), (2, 1)]);
    let evidence: Vec<_> = confirmed(&outcome)
        .evidence
        .iter()
        .map(|e| e.tx_hash)
        .collect();
    assert_eq!(evidence, [tx(1), tx(2)]);
    assert_covers(confirmed(&outcome), "AE-65");
}

#[test]
fn ax_008_short_and_then_topped_up_by_a_second_payment() {
    let mut world = World::watching();
    let block = world.mine_next(1, &[(PAYER, PAYEE, TOTAL - 10)]);
    world.until_block(block + DEPTH - 1);
    assert_eq!(world.sweep(0).types(), ["seen", "refuted"]);
    world.pay(0, 2);
    let block = world.mine_next(2, &[(PAYER, PAYEE, 10)]);
    let outcome = world.deep(0, block);
    assert_eq!(world.name(0), StateName::Completed);
    assert_eq!(claims(&outcome), [(1, 0), (2, 0)], "both are claimed");
    assert_eq!(confirmed(&outcome).surplus, None);
    assert_eq!(confirmed(&outcome).records.payments.len(), 2);
    assert_covers(confirmed(&outcome), "topped up");
}

#[test]
fn ax_017_paid_twice_claims_once() {
    let mut world = World::watching();
    world.pay(0, 2);
    let block = world.next_block();
    for number in [1, 2] {
        world.mine(number, block, &[(PAYER, PAYEE, TOTAL)]);
    }
    world.until_block(block + DEPTH - 1);
    assert_eq!(claims(&world.sweep(0)), [(1, 0)], "in order of declaration");
}

#[test]
fn the_confirmation_names_every_record_it_rests_on() {
    let mut world = World::at(StateName::Verified);
    world.registry.provider.receipts = 7;
    world.registry.provider.last_receipt = Some(hash_at(400));
    world.complete(0, 1);
    let events = world.events(0);
    let Some(Event::Settlement(SettlementEvent::Confirmed(confirmed))) = events.last() else {
        panic!()
    };
    let records = &confirmed.records;
    let named = [
        records.request,
        records.offer,
        records.accept,
        records.result,
        records.verify,
    ];
    assert_eq!(named, [1, 2, 3, 4, 5].map(hash_at));
    assert_eq!(records.payments, [hash_at(6)]);
    assert_eq!(
        (confirmed.provider_seq, confirmed.provider_prev),
        (7, Some(hash_at(400)))
    );
    let Evidence {
        network,
        block,
        level,
        endpoints,
        ..
    } = &confirmed.evidence[0];
    assert_eq!((network.as_str(), *level), ("base", Level::Confirmed));
    assert_eq!(*block, Chain::block(block.number));
    assert_eq!(endpoints, &["one", "two"]);

    let State::Completed {
        completion, opener, ..
    } = world.state(0)
    else {
        panic!()
    };
    assert_eq!(completion.claims, confirmed.claims);
    assert_eq!(completion.position, world.log.len() as u64 - 1);
    let Event::EnvelopeAccepted(payment) = events[events.len() - 3] else {
        panic!()
    };
    assert_eq!(*opener, payment.envelope.id);
}

#[test]
fn levels_safe_and_final_are_named_where_the_endpoint_knows_them() {
    for (safe, finalised, expected) in [
        (0, 0, Level::Confirmed),
        (1, 0, Level::Safe),
        (1, 1, Level::Final),
    ] {
        let mut world = World::watching();
        let block = world.mine_next(1, &[(PAYER, PAYEE, TOTAL)]);
        world.chain.safe_number = Some(block - 1 + safe);
        world.chain.final_number = Some(block - 1 + finalised);
        let outcome = world.deep(0, block);
        assert_eq!(confirmed(&outcome).evidence[0].level, expected);
    }
}

#[test]
fn totals_above_the_limit_wait_for_safe() {
    let complete = |limit: u64, safe: bool| {
        let mut world = World::with(parameters_with_safe_above(micro(limit)));
        world.bring(StateName::Verified);
        world.pay(0, 1);
        let block = world.mine_next(1, &[(PAYER, PAYEE, TOTAL)]);
        world.chain.safe_number = Some(if safe { block } else { block - 1 });
        world.deep(0, block).types().contains(&"confirmed")
    };
    assert!(complete(TOTAL, false), "not above");
    assert!(!complete(TOTAL - 1, false), "above, not yet safe");
    assert!(complete(TOTAL - 1, true), "above and safe");
}

/// Where the parameters do not say what makes a block safe, depth stands in while no endpoint names such a head.
#[test]
fn lc_5_depth_is_safe_where_the_parameters_say_so_and_stands_in_where_they_say_nothing() {
    let heads = [
        (None, None),
        (Some(0), None),
        (None, Some(0)),
        (Some(700), Some(700)),
    ];
    let ways = [None, Some(FinalBy::Tag), Some(FinalBy::Depth)];
    for (final_by, (safe, finalised)) in ways.into_iter().flat_map(|way| heads.map(|it| (way, it)))
    {
        let mut parameters = parameters_with_safe_above(micro(1));
        parameters.networks[0].final_by = final_by;
        let mut world = World::with(parameters);
        world.bring(StateName::Verified);
        world.pay(0, 1);
        let block = world.mine_next(1, &[(PAYER, PAYEE, TOTAL)]);
        (world.chain.safe_number, world.chain.final_number) = (safe, finalised);
        let deep = DEPTH + STAND_IN_BLOCKS;
        world.until_block(block + deep - 2);
        let is_confirmed = world.sweep(0).types().contains(&"confirmed");
        let is_named = safe.is_some_and(|safe| safe >= block);
        assert_eq!(
            is_confirmed,
            is_named && final_by != Some(FinalBy::Depth),
            "{final_by:?}"
        );
        if is_confirmed {
            continue;
        }
        world.until_block(block + deep - 1);
        let outcome = world.sweep(0);
        let is_safe = match final_by {
            None => safe.is_none() && finalised.is_none(),
            Some(FinalBy::Tag) => false,
            Some(FinalBy::Depth) => true,
        };
        let is_confirmed = outcome.types().contains(&"confirmed");
        assert_eq!(is_confirmed, is_safe, "{final_by:?} {safe:?} {finalised:?}");
        if is_confirmed {
            let evidence = &confirmed(&outcome).evidence[0];
            assert_eq!((evidence.level, evidence.depth), (Level::Confirmed, deep));
        }
    }
}

#[test]
fn waiting_for_safe_is_pending_not_negative() {
    let mut world = World::with(parameters_with_safe_above(micro(1)));
    world.bring(StateName::Verified);
    world.pay(0, 1);
    let block = world.mine_next(1, &[(PAYER, PAYEE, TOTAL)]);
    world.until_block(block + DEPTH + 10);
    world.sweep(0);
    for _ in 0..6 {
        until_look(&mut world);
        let (looked, _) = answer_look(&mut world);
        assert_eq!(
            (looked.look, looked.finding[0].status),
            (1, FindingStatus::Seen)
        );
    }
    assert_eq!(world.settlement(0).failures, 0);
    world.chain.safe_number = Some(block);
    assert_eq!(confirmed(&world.sweep(0)).evidence[0].level, Level::Safe);
}

#[test]
fn zero_price_confirms_at_once_with_nothing_due() {
    let mut world = World::at(StateName::Pending);
    let offer = world.draft(0, CoreType::Offer).priced(0);
    world.send_ok(0, &offer);
    world.walk(0, &[CoreType::Accept, CoreType::Result, CoreType::Verify]);
    let mut payment = world.draft(0, CoreType::Payment);
    payment.payment().amount = micro(0);
    world.send_ok(0, &payment);
    assert_eq!(
        world.name(0),
        StateName::Verified,
        "the receipt needs the PAYMENT's own hash"
    );
    world.mine(1, 1, &[(PAYER, PAYEE, 5)]);
    assert_eq!(world.sweep(0).events, [], "no transaction is looked at");
    let due = Interaction::deadline(world.state(0)).unwrap();
    assert!(due <= world.now, "nothing is waited for");
    world.now = due.saturating_add_ms(1);
    let outcome = world.tick(0);
    assert_eq!(world.name(0), StateName::Completed);
    let confirmed = confirmed(&outcome);
    assert!(confirmed.claims.is_empty() && confirmed.evidence.is_empty());
    assert_eq!(confirmed.surplus, None);
    assert_eq!(confirmed.records.payments.len(), 1);
    assert!(outcome.lapses.is_empty(), "nobody is told X811-5030");
}

#[test]
fn zero_price_confirms_on_a_blind_network_too() {
    let mut world = World::at(StateName::Pending);
    let offer = world.draft(0, CoreType::Offer).priced(0);
    world.send_ok(0, &offer);
    world.walk(0, &[CoreType::Accept, CoreType::Result, CoreType::Verify]);
    world.go_blind(super::world::BASE);
    let payment = world.draft(0, CoreType::Payment);
    world.send_ok(0, &payment);
    world.advance_ms(1);
    world.tick(0);
    assert_eq!(world.name(0), StateName::Completed);
}

#[test]
fn a_price_below_the_first_micro_usdc_of_fee() {
    let mut world = World::at(StateName::Pending);
    let offer = world.draft(0, CoreType::Offer).priced(19);
    world.send_ok(0, &offer);
    world.walk(0, &[CoreType::Accept, CoreType::Result, CoreType::Verify]);
    world.pay(0, 1);
    let block = world.mine_next(1, &[(PAYER, TREASURY, 0), (PAYER, PAYEE, 19)]);
    world.until_block(block + DEPTH - 1);
    assert_eq!(claims(&world.sweep(0)), [(1, 1)]);
}

#[test]
fn seen_is_recorded_once_for_each_block_and_quotes_what_fits() {
    let mut world = World::watching();
    let block = world.next_block();
    let rows = transfers(&[(OTHER, PAYEE, 1), (PAYER, PAYEE, TOTAL), (PAYER, PAYEE, 0)]);
    world.chain.mine(tx(1), block, rows.clone());
    world.until_block(block);
    let outcome = world.sweep(0);
    let [
        Event::Settlement(SettlementEvent::Seen(Seen {
            tx_hash,
            block: seen_in,
            transfers,
        })),
    ] = &outcome.events[..]
    else {
        panic!("{:?}", outcome.types())
    };
    assert_eq!((*tx_hash, *seen_in), (tx(1), Chain::block(block)));
    assert_eq!(transfers, &rows[1..2]);
    world.until_block(block + 1);
    assert_eq!(world.sweep(0).events, []);
    world.chain.mine(tx(1), block + 2, rows);
    world.until_block(block + 3);
    assert_eq!(world.sweep(0).types(), ["seen"], "in another block");
}

#[test]
fn a_transaction_that_leaves_its_block_is_unseen_at_once() {
    let mut world = World::watching();
    let block = world.mine_next(1, &[(PAYER, PAYEE, TOTAL)]);
    world.until_block(block + 1);
    world.sweep(0);
    assert_eq!(
        world.settlement(0).declared[0].standing,
        DeclaredStanding::Seen(Chain::block(block))
    );

    world.chain.reorganise_away(tx(1));
    assert_eq!(
        world.sweep_at(0, block - 1).events,
        [],
        "a head that lags proves nothing"
    );
    let at_its_height = world.clone().sweep_at(0, block);
    assert_eq!(at_its_height.types(), ["unseen"]);
    assert_eq!(world.sweep(0).types(), ["unseen"]);
    assert_eq!(
        world.settlement(0).declared[0].standing,
        DeclaredStanding::Unseen
    );
    assert_eq!(world.sweep(0).events, [], "once");

    world.until_block(block + DEPTH - 1);
    assert_eq!(
        world.sweep(0).events,
        [],
        "its old depth counts for nothing"
    );
    let back = world.next_block();
    world.mine(1, back, &[(PAYER, PAYEE, TOTAL)]);
    world.until_block(back + DEPTH - 1);
    assert_eq!(world.sweep(0).types().last(), Some(&"confirmed"));
    assert_eq!(world.replayed(), [Some(world.state(0).clone())]);
}

#[test]
fn a_transfer_deep_inside_a_batch_is_found_and_quoted() {
    // Eight declared transactions, each a batch of 100 transfers; only the last one pays.
    let mut world = World::watching();
    for number in 2..=8 {
        world.pay(0, number);
    }
    let block = world.next_block();
    let dust: Vec<_> = (0..99).map(|_| (PAYER, PAYEE, 1)).collect();
    for number in 1..=8 {
        let last = if number == 8 { TOTAL } else { 1 };
        let rows: Vec<_> = dust.iter().copied().chain([(PAYER, PAYEE, last)]).collect();
        world.chain.mine(tx(number), block, transfers(&rows));
    }
    let outcome = world.deep(0, block);
    assert_eq!(claims(&outcome), [(8, 99)]);
    assert_covers(confirmed(&outcome), "batch");
    assert_bounds(&outcome);
}

#[test]
fn greedy_takes_at_most_as_many_transfers_as_a_record_can_quote() {
    let part = TOTAL.div_ceil(64);
    let paid = |count, amount| World::paid_by(&vec![(PAYER, PAYEE, amount); count]).1;
    let outcome = paid(64, part);
    assert_eq!(claims(&outcome).len(), 64);
    assert_covers(confirmed(&outcome), "64 parts");
    assert_bounds(&outcome);
    let outcome = paid(65, TOTAL.div_ceil(65));
    assert_eq!(outcome.types(), ["seen"], "65 parts are not too little");
    let outcome = paid(65, TOTAL / 65 - 1);
    let Some(Event::Settlement(SettlementEvent::Refuted(refuted))) = outcome.events.last() else {
        panic!()
    };
    assert_eq!(refuted.code, Code::InsufficientBalance, "65 small parts");
    assert_bounds(&outcome);
}

#[test]
fn ax_017_a_surplus_beyond_what_an_amount_holds_is_recorded_as_the_most() {
    let most = x811_protocol::money::MicroUsdc::MAX;
    let rows = [
        (PAYER, TREASURY, most.as_micro_usdc()),
        (PAYER, PAYEE, most.as_micro_usdc()),
    ];
    let (_, outcome) = World::paid_by(&rows);
    assert_eq!(confirmed(&outcome).surplus, Some(most));
}

#[test]
fn a_confirmation_by_eight_batches_stays_within_a_record() {
    let mut world = World::watching();
    for number in 2..=8 {
        world.pay(0, number);
    }
    let block = world.next_block();
    // The first covers the total but not the price; each gives the payee 7 parts of the price.
    let part = (PAYER, PAYEE, PRICE.div_ceil(56));
    for number in 1..=8 {
        let first = if number == 1 { TOTAL } else { 1 };
        let rows = std::iter::once((PAYER, TREASURY, first))
            .chain([part; 7])
            .chain([(PAYER, TREASURY, 1); 92]);
        world
            .chain
            .mine(tx(number), block, transfers(&rows.collect::<Vec<_>>()));
    }
    let outcome = world.deep(0, block);
    assert_eq!(claims(&outcome).len(), 57);
    assert_eq!(confirmed(&outcome).evidence.len(), 8);
    assert_covers(confirmed(&outcome), "eight batches");
    assert_bounds(&outcome);
}

/// At most 64 transfers in one evidence, and every record fits (record.md section 1).
fn assert_bounds(outcome: &Outcome) {
    for event in &outcome.events {
        let bytes = x811_protocol::canonical::to_canonical(event).len();
        assert!(bytes < 60_000, "{}: {bytes} bytes", event.type_name());
        let quoted: Vec<usize> = match event {
            Event::Settlement(SettlementEvent::Seen(seen)) => vec![seen.transfers.len()],
            Event::Settlement(SettlementEvent::Refuted(refuted)) => {
                vec![refuted.evidence.transfers.len()]
            }
            Event::Settlement(SettlementEvent::Confirmed(c)) => {
                c.evidence.iter().map(|e| e.transfers.len()).collect()
            }
            _ => Vec::new(),
        };
        assert!(
            quoted.iter().all(|count| *count <= 64),
            "{}: {quoted:?}",
            event.type_name()
        );
    }
}

/// So many transfers of these amounts to the payee.
fn dust(rows: &[(usize, u64)]) -> Vec<x811_protocol::observation::Transfer> {
    let each = rows.iter();
    let rows: Vec<_> = each
        .flat_map(|(count, amount)| vec![(PAYER, PAYEE, *amount); *count])
        .collect();
    transfers(&rows)
}

/// In order it would take more than a record can name; among the largest it does not.
#[test]
fn rule_15_dust_before_a_transfer_that_pays_is_no_reason_to_refuse() {
    let mut world = World::watching();
    let block = world.next_block();
    let rows = [(65, 1), (1, TOTAL - 10), (80, 2)];
    world.chain.mine(tx(1), block, dust(&rows));
    let outcome = world.deep(0, block);
    assert_eq!(outcome.types(), ["seen", "confirmed"]);
    let confirmed = confirmed(&outcome);
    let quoted: Vec<u64> = confirmed.evidence[0]
        .transfers
        .iter()
        .map(|it| it.ordinal)
        .collect();
    let expected: Vec<u64> = (65..=128).collect();
    assert_eq!(quoted, expected, "the largest alone");
    let claimed: Vec<u64> = confirmed.claims.iter().map(|it| it.ordinal).collect();
    assert_eq!(claimed, (65..=70).collect::<Vec<u64>>());
}

/// All of them are enough and no 64 of them: that is not too little. It waits for what the largest lack.
#[test]
fn rule_15_what_is_enough_in_too_many_transfers_waits() {
    let mut world = World::looking();
    let block = world.next_block();
    world
        .chain
        .mine(tx(1), block, dust(&[(65, TOTAL / 65 + 1)]));
    world.until_block(block + DEPTH);
    assert_eq!(world.sweep(0).types(), ["seen", "looked"]);
    for _ in 0..3 {
        until_look(&mut world);
        let (looked, _) = answer_look(&mut world);
        assert_eq!(looked.finding[0].status, FindingStatus::Seen);
    }
    assert_eq!(world.settlement(0).failures, 0);
    world.pay(0, 2);
    let block = world.next_block();
    world.chain.mine(tx(2), block, dust(&[(1, TOTAL / 32)]));
    let outcome = world.deep(0, block);
    let confirmed = confirmed(&outcome);
    let quoted = confirmed.evidence.iter().map(|it| it.transfers.len());
    assert_eq!(quoted.collect::<Vec<usize>>(), [63, 1]);
}
