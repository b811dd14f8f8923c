//! Two parties that hold to their limits, and parties that do as they like.

use super::Strategy;
use super::*;
use proptest::prelude::{any, prop_assert, prop_oneof, proptest};
use proptest::strategy::Strategy as _;

fn usdc(micro_usdc: u64) -> MicroUsdc {
    MicroUsdc::from_micro_usdc(micro_usdc).unwrap()
}

fn limits(side: Side, opening: u64, walk_away: u64, per_turn: u64) -> Limits {
    Limits {
        side,
        opening: usdc(opening),
        walk_away: usdc(walk_away),
        per_turn: usdc(per_turn),
    }
}

const ALIKE: LastTerms = LastTerms {
    are_alike: true,
    may_be_countered: true,
};

/// A strategy that wishes anything.
struct Any(u64);

impl Strategy for Any {
    fn concession(&self, said: Said<'_>, _: &Limits) -> MicroUsdc {
        let turn = (said.own.len() + said.theirs.len()) as u64;
        usdc(self.0.wrapping_mul(turn + 7) % 1_000_003)
    }
}

fn strategy(kind: u8, step: u64) -> Box<dyn Strategy> {
    match kind % 3 {
        0 => Box::new(FixedConcession { step: usdc(step) }),
        1 => Box::new(TitForTat { first: usdc(step) }),
        _ => Box::new(Any(step)),
    }
}

fn some_limits(side: Side) -> impl proptest::strategy::Strategy<Value = Limits> {
    (0..200_000_u64, 0..200_000_u64, 0..60_000_u64).prop_map(move |(one, other, per_turn)| {
        let (low, high) = (one.min(other), one.max(other));
        match side {
            Side::Payer => limits(side, low, high, per_turn),
            Side::Payee => limits(side, high, low, per_turn),
        }
    })
}

/// Holds one reply against the limits.
fn check(said: Said<'_>, limits: &Limits, reply: Reply) {
    match reply {
        Reply::Counter(price) => {
            assert!(limits.side.is_as_good(price, limits.walk_away));
            if let Some(last) = said.own.last() {
                let conceded = price.as_micro_usdc().abs_diff(last.as_micro_usdc());
                assert!(conceded <= limits.per_turn.as_micro_usdc());
                assert!(limits.side.is_as_good(*last, price), "it goes one way");
            }
        }
        Reply::Accept => {
            let agreed = *said.theirs.last().unwrap();
            assert!(limits.side.is_as_good(agreed, limits.walk_away));
        }
        Reply::Reject => {}
    }
}

proptest! {
    #[test]
    fn xn_4_two_negotiators_end_within_both_limits(
        payer in some_limits(Side::Payer),
        payee in some_limits(Side::Payee),
        kinds in (0..3_u8, 0..3_u8),
        step in 0..80_000_u64,
        payer_begins: bool,
        max_turns in 1..30_usize,
    ) {
        let strategies = [strategy(kinds.0, step), strategy(kinds.1, step)];
        let parties = [payer, payee];
        let mut prices: [Vec<MicroUsdc>; 2] = [Vec::new(), Vec::new()];
        let mut turn = usize::from(!payer_begins);
        let said = Said::default();
        prices[turn].push(next_price(said, &parties[turn], &*strategies[turn]));
        let mut turns = 1;
        loop {
            turn = 1 - turn;
            let said = Said { own: &prices[turn], theirs: &prices[1 - turn] };
            let last = LastTerms { are_alike: true, may_be_countered: turns < max_turns };
            let said_next = reply(said, &parties[turn], &*strategies[turn], last);
            check(said, &parties[turn], said_next);
            match said_next {
                Reply::Counter(price) => prices[turn].push(price),
                Reply::Accept => {
                    // The author named it, so it is within the author's limits too.
                    let agreed = *prices[1 - turn].last().unwrap();
                    prop_assert!(agreed <= payer.walk_away && agreed >= payee.walk_away);
                    break;
                }
                Reply::Reject => break,
            }
            turns += 1;
            prop_assert!(turns <= max_turns, "no turn is taken that there is not");
        }
    }

    #[test]
    fn xn_4_whatever_the_other_says_the_limits_hold(
        limits in prop_oneof![some_limits(Side::Payer), some_limits(Side::Payee)],
        theirs in proptest::collection::vec(0..300_000_u64, 1..25),
        alike in proptest::collection::vec(any::<bool>(), 25),
        kind in 0..3_u8,
        step in 0..400_000_u64,
    ) {
        let strategy = strategy(kind, step);
        let (mut own, mut heard) = (Vec::new(), Vec::new());
        for (turn, price) in theirs.into_iter().enumerate() {
            heard.push(usdc(price));
            let said = Said { own: &own, theirs: &heard };
            let last = LastTerms { are_alike: alike[turn], may_be_countered: turn < 20 };
            let next = reply(said, &limits, &*strategy, last);
            check(said, &limits, next);
            prop_assert!(alike[turn] || next != Reply::Accept, "other terms are not agreed to");
            prop_assert!(turn < 20 || !matches!(next, Reply::Counter(_)));
            match next {
                Reply::Counter(price) => own.push(price),
                Reply::Accept | Reply::Reject => break,
            }
        }
    }

    #[test]
    fn xx_6_the_price_within_a_total_is_the_highest(total in 0..1_000_000_000_000_000_000_u64) {
        let price = usdc(total).price_within().as_micro_usdc();
        let cost = |price| usdc(price).as_micro_usdc() + usdc(price).protocol_fee().as_micro_usdc();
        prop_assert!(cost(price) <= total);
        prop_assert!(cost(price + 1) > total);
    }
}

#[test]
fn xn_4_three_turns_of_fixed_concessions() {
    let payer = limits(Side::Payer, 20_000, 48_000, 5_000);
    let payee = limits(Side::Payee, 30_000, 25_000, 5_000);
    let step = FixedConcession { step: usdc(5_000) };
    let (bid, ask) = (usdc(20_000), usdc(30_000));
    let first = Said {
        own: &[],
        theirs: &[bid],
    };
    assert_eq!(reply(first, &payee, &step, ALIKE), Reply::Counter(ask));
    let second = Said {
        own: &[bid],
        theirs: &[ask],
    };
    let better = usdc(25_000);
    assert_eq!(reply(second, &payer, &step, ALIKE), Reply::Counter(better));
    let third = Said {
        own: &[ask],
        theirs: &[bid, better],
    };
    assert_eq!(reply(third, &payee, &step, ALIKE), Reply::Accept);
}

#[test]
fn xn_4_tit_for_tat_gives_once_and_then_what_it_gets() {
    let limits = limits(Side::Payer, 10_000, 50_000, 4_000);
    let strategy = TitForTat { first: usdc(1_000) };
    // what the other said, what comes next
    let table: [(&[u64], u64); 5] = [
        (&[60_000], 21_000),
        (&[60_000, 57_000], 23_000),
        (&[60_000, 50_000], 24_000),
        (&[60_000, 60_000], 20_000),
        (&[60_000, 70_000], 20_000),
    ];
    for (theirs, next) in table {
        let theirs: Vec<MicroUsdc> = theirs.iter().map(|price| usdc(*price)).collect();
        let said = Said {
            own: &[usdc(20_000)],
            theirs: &theirs,
        };
        assert_eq!(
            next_price(said, &limits, &strategy),
            usdc(next),
            "{theirs:?}"
        );
    }
    // Two who wait for each other part, or take what they would take anyway.
    let own = [usdc(20_000), usdc(20_000)];
    for (last, expected) in [(60_000, Reply::Reject), (50_000, Reply::Accept)] {
        let theirs = [usdc(last), usdc(last)];
        let said = Said {
            own: &own,
            theirs: &theirs,
        };
        assert_eq!(reply(said, &limits, &strategy, ALIKE), expected);
    }
}

/// One line of `tests/packages/replies.json`.
#[derive(serde::Deserialize)]
struct Case {
    side: String,
    opening: u64,
    walk_away: u64,
    per_turn: u64,
    strategy: String,
    own: Vec<u64>,
    theirs: Vec<u64>,
    are_alike: bool,
    may_be_countered: bool,
    reply: serde_json::Value,
}

/// The packages for Python and Node are held to the same replies (tests/packages/forms.*).
#[test]
fn xn_4_the_loops_of_other_languages_say_the_same() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/packages/replies.json"
    );
    let cases: Vec<Case> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert!(cases.len() > 200);
    for case in cases {
        let side = match case.side.as_str() {
            "payer" => Side::Payer,
            _ => Side::Payee,
        };
        let amounts = |amounts: &[u64]| amounts.iter().copied().map(usdc).collect::<Vec<_>>();
        let (own, theirs) = (amounts(&case.own), amounts(&case.theirs));
        let limits = limits(side, case.opening, case.walk_away, case.per_turn);
        let kind = u8::from(case.strategy == "tit_for_tat");
        let last = LastTerms {
            are_alike: case.are_alike,
            may_be_countered: case.may_be_countered,
        };
        let said = Said {
            own: &own,
            theirs: &theirs,
        };
        let said = match reply(said, &limits, &*strategy(kind, case.per_turn), last) {
            Reply::Accept => serde_json::json!(["accept"]),
            Reply::Counter(price) => serde_json::json!(["counter", price.as_micro_usdc()]),
            Reply::Reject => serde_json::json!(["reject"]),
        };
        assert_eq!(said, case.reply);
    }
}
