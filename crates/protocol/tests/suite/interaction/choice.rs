//! `claim::choose` alone: (i) one transfer = total, (ii) price and fee, (iii) greedy
//! (ledger-contract.md section 5).

use proptest::prelude::*;
use x811_protocol::evm::EvmAddress;
use x811_protocol::settlement::claim::{Candidate, Due, choose};

use super::chain::{PAYEE, TREASURY, micro, tx};

const PRICE: u64 = 4;
const FEE: u64 = 2;
const TOTAL: u64 = 6;

fn due(treasury: Option<EvmAddress>) -> Due {
    Due {
        price: micro(PRICE),
        protocol_fee: micro(FEE),
        total: micro(TOTAL),
        payee: PAYEE,
        treasury,
    }
}

fn candidates(rows: &[(EvmAddress, u64)]) -> Vec<Candidate> {
    rows.iter()
        .zip(0..)
        .map(|((to, amount), ordinal)| Candidate {
            tx_hash: tx(1),
            ordinal,
            to: *to,
            amount: micro(*amount),
        })
        .collect()
}

/// Ordinals of what is chosen.
fn chosen(treasury: Option<EvmAddress>, candidates: &[Candidate]) -> Option<Vec<u64>> {
    let chosen = choose(&due(treasury), candidates)?;
    Some(chosen.iter().map(|candidate| candidate.ordinal).collect())
}

/// Label, transfers as (to, amount), ordinals that are chosen.
type Row<'a> = (&'a str, &'a [(EvmAddress, u64)], Option<&'a [u64]>);

#[test]
fn three_ways_to_pay_in_their_order() {
    let (b, t) = (PAYEE, TREASURY);
    #[rustfmt::skip]
    let table: [Row; 20] = [
        ("(i) the whole", &[(b, 6)], Some(&[0])),
        ("(i) the first of two", &[(b, 6), (b, 6)], Some(&[0])),
        ("(i) before (ii)", &[(b, 4), (t, 2), (b, 6)], Some(&[2])),
        ("(i) before (iii)", &[(b, 1), (b, 5), (b, 6)], Some(&[2])),
        ("(i) only to the payee", &[(t, 6)], None),
        ("(ii) price, fee", &[(b, 4), (t, 2)], Some(&[0, 1])),
        ("(ii) fee, price", &[(t, 2), (b, 4)], Some(&[0, 1])),
        ("(ii) the first of each", &[(b, 4), (b, 4), (t, 2), (t, 2)], Some(&[0, 2])),
        ("(ii) before (iii)", &[(b, 5), (b, 4), (t, 2)], Some(&[1, 2])),
        ("(ii) the fee to the payee is (iii)", &[(b, 2), (b, 4)], Some(&[0, 1])),
        ("(iii) in parts", &[(b, 1), (b, 2), (b, 3)], Some(&[0, 1, 2])),
        ("(iii) stops when covered", &[(b, 5), (b, 5), (b, 5)], Some(&[0, 1])),
        ("(iii) over", &[(b, 9)], Some(&[0])),
        ("(iii) treasury passed over once the total is covered", &[(b, 3), (t, 3), (t, 1), (b, 1)], Some(&[0, 1, 3])),
        ("(iii) more to the payee covers the fee", &[(b, 4), (b, 1), (t, 1)], Some(&[0, 1, 2])),
        ("(iii) the price must reach the payee", &[(b, 3), (t, 9)], None),
        ("(iii) the total must be reached", &[(b, 4), (t, 1)], None),
        ("one short", &[(b, 5)], None),
        ("nothing", &[], None),
        ("two to the treasury", &[(t, 2), (t, 4)], None),
    ];
    for (label, rows, expected) in table {
        let expected = expected.map(<[u64]>::to_vec);
        assert_eq!(
            chosen(Some(TREASURY), &candidates(rows)),
            expected,
            "{label}"
        );
    }
}

#[test]
fn without_a_treasury_there_is_no_second_way() {
    assert_eq!(
        chosen(None, &candidates(&[(PAYEE, 4), (PAYEE, 2)])),
        Some(vec![0, 1]),
        "(iii)"
    );
    assert_eq!(chosen(None, &candidates(&[(PAYEE, 4)])), None);
}

#[test]
fn a_payee_that_is_the_treasury_is_not_counted_twice() {
    let one = Due {
        price: micro(3),
        protocol_fee: micro(3),
        ..due(Some(PAYEE))
    };
    assert_eq!(choose(&one, &candidates(&[(PAYEE, 3)])), None);
    assert_eq!(
        choose(&one, &candidates(&[(PAYEE, 3), (PAYEE, 3)]))
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn amounts_at_the_top_of_their_range_do_not_overflow() {
    let most = x811_protocol::money::MicroUsdc::MAX.as_micro_usdc();
    let rows = vec![(PAYEE, most); 40];
    let parts = Due {
        total: micro(most),
        price: micro(most),
        ..due(None)
    };
    assert_eq!(choose(&parts, &candidates(&rows)).unwrap().len(), 1);
    let rows = vec![(PAYEE, most - 1); 40];
    assert_eq!(choose(&parts, &candidates(&rows)).unwrap().len(), 2);
}

/// Sums of a set: to the payee, and to both.
fn sums(set: &[Candidate]) -> (u64, u64) {
    let of = |set: &mut dyn Iterator<Item = &Candidate>| {
        set.map(|candidate| candidate.amount.as_micro_usdc())
            .sum::<u64>()
    };
    (
        of(&mut set.iter().filter(|c| c.to == PAYEE)),
        of(&mut set.iter()),
    )
}

fn covers(set: &[Candidate]) -> bool {
    let (payee, both) = sums(set);
    payee >= PRICE && both >= TOTAL
}

/// All subsets, in order of their members.
fn subsets(candidates: &[Candidate]) -> Vec<Vec<Candidate>> {
    (0_u32..1 << candidates.len())
        .map(|mask| {
            let members = candidates.iter().enumerate();
            members
                .filter(|(place, _)| mask >> place & 1 == 1)
                .map(|(_, c)| *c)
                .collect()
        })
        .collect()
}

fn is_whole(set: &[Candidate]) -> bool {
    set.len() == 1 && set[0].to == PAYEE && set[0].amount == micro(TOTAL)
}

fn is_price_and_fee(set: &[Candidate]) -> bool {
    let is = |c: &Candidate, to, amount| c.to == to && c.amount == micro(amount);
    let pays = |price, fee| is(price, PAYEE, PRICE) && is(fee, TREASURY, FEE);
    set.len() == 2 && (pays(&set[0], &set[1]) || pays(&set[1], &set[0]))
}

fn small_sets() -> impl Strategy<Value = Vec<Candidate>> {
    let row = (
        prop_oneof![2 => Just(PAYEE), 1 => Just(TREASURY)],
        1_u64..=7,
    );
    prop::collection::vec(row, 0..=6).prop_map(|rows| candidates(&rows))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn choose_agrees_with_trying_every_subset(candidates in small_sets()) {
        let all = subsets(&candidates);
        let chosen = choose(&due(Some(TREASURY)), &candidates);
        prop_assert_eq!(chosen.is_some(), all.iter().any(|set| covers(set)));
        let Some(chosen) = chosen else { return Ok(()) };
        prop_assert!(covers(&chosen));
        prop_assert!(all.contains(&chosen), "a subset, in order, nothing twice");
        if all.iter().any(|set| is_whole(set)) {
            prop_assert!(is_whole(&chosen), "(i) beats (ii) and (iii)");
        } else if all.iter().any(|set| is_price_and_fee(set)) {
            prop_assert!(is_price_and_fee(&chosen), "(ii) beats (iii)");
        } else {
            let (_, before) = chosen.split_last().unwrap();
            prop_assert!(!covers(before), "(iii) stops when it is covered");
        }
    }
}
