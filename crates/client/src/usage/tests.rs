use super::*;
use proptest::prelude::*;

/// Counters of both sides together that a ledger takes.
const COUNTERS: usize = 5;

fn usage(duration_s: u64, requests: u64) -> Usage {
    Usage {
        duration_s,
        max_requests: Some(requests),
        requests_per_minute: None,
        max_request_bytes: None,
    }
}

/// Two loops that answer each other, the consumer first; gives the terms they come to and the counters.
fn settled(rooms: [Room; 2], strategies: [&dyn UsageStrategy; 2]) -> (Option<Usage>, usize) {
    let mut said = [vec![rooms[0].first], Vec::new()];
    let mut counters = 0;
    loop {
        let me = 1 - (said[0].len() + said[1].len() + 1) % 2;
        let last = LastUsage {
            are_alike: true,
            may_be_countered: counters < COUNTERS,
        };
        let now = SaidUsage {
            own: &said[me],
            theirs: &said[1 - me],
        };
        match usage_reply(now, &rooms[me], strategies[me], last) {
            UsageReply::Accept => return (said[1 - me].last().copied(), counters),
            UsageReply::Reject => return (None, counters),
            UsageReply::Counter(terms) => {
                said[me].push(terms);
                counters += 1;
            }
        }
    }
}

fn rooms(wanted: [Usage; 2], granted: [Usage; 2]) -> [Room; 2] {
    let [first, last] = wanted;
    let consumer = Room {
        side: Side::Consumer,
        first,
        last,
    };
    let [first, last] = granted;
    let provider = Room {
        side: Side::Provider,
        first,
        last,
    };
    [consumer, provider]
}

#[test]
fn cc_081_what_is_granted_at_once_is_accepted() {
    let rooms = rooms(
        [usage(60, 3), usage(60, 1)],
        [usage(600, 10), usage(600, 10)],
    );
    assert_eq!(
        settled(rooms, [&Straight, &Straight]),
        (Some(usage(60, 3)), 0)
    );
}

#[test]
fn cx_39_both_come_half_the_way_within_five_counters() {
    let rooms = rooms([usage(600, 9), usage(60, 3)], [usage(60, 1), usage(600, 4)]);
    let (terms, counters) = settled(rooms, [&Halfway, &Halfway]);
    let requests = terms.unwrap().max_requests.unwrap();
    assert!((3..=4).contains(&requests), "{requests}");
    assert!(counters <= COUNTERS);
}

/// Between no limit and some limit there is no number that a message could have.
#[test]
fn cx_39_from_no_limit_it_is_one_step_to_any() {
    for (own, theirs) in [(u64::MAX, 65_536), (65_536, u64::MAX)] {
        assert_eq!(Halfway.next(own, theirs), theirs);
    }
}

#[test]
fn cc_082_ranges_that_do_not_meet_end_in_a_rejection() {
    let rooms = rooms(
        [usage(600, 9), usage(60, 5)],
        [usage(600, 1), usage(600, 4)],
    );
    for strategies in [
        [&Halfway as &dyn UsageStrategy, &Halfway],
        [&Straight, &Straight],
    ] {
        assert_eq!(settled(rooms, strategies).0, None);
    }
}

#[test]
fn cx_39_other_terms_besides_the_numbers_are_never_accepted() {
    let room = rooms([usage(60, 3), usage(60, 1)], [usage(60, 3), usage(60, 3)])[1];
    let asked = [usage(60, 1)];
    let said = SaidUsage {
        own: &[],
        theirs: &asked,
    };
    let strange = |may_be_countered| LastUsage {
        are_alike: false,
        may_be_countered,
    };
    let countered = usage_reply(said, &room, &Straight, strange(true));
    assert_eq!(
        countered,
        UsageReply::Counter(usage(60, 1)),
        "no more than was asked for"
    );
    assert_eq!(
        usage_reply(said, &room, &Straight, strange(false)),
        UsageReply::Reject
    );
}

proptest! {
    /// Whatever the other side says, nothing beyond one's own last terms is said or accepted.
    #[test]
    fn cx_39_limits_hold_whatever_the_strategy_wishes(
        own in prop::option::of((1_u64..50, 1_u64..50)),
        theirs in prop::collection::vec((1_u64..50, 1_u64..50), 1..4),
        first in (1_u64..50, 1_u64..50),
        last in (1_u64..50, 1_u64..50),
        is_consumer in any::<bool>(),
        is_halfway in any::<bool>(),
        may_be_countered in any::<bool>(),
    ) {
        let of = |(duration_s, requests)| usage(duration_s, requests);
        let room = Room {
            side: if is_consumer { Side::Consumer } else { Side::Provider },
            first: of(first),
            last: of(last),
        };
        let strategy: &dyn UsageStrategy = if is_halfway { &Halfway } else { &Straight };
        let theirs: Vec<Usage> = theirs.into_iter().map(of).collect();
        let own: Vec<Usage> = own.map(of).into_iter().collect();
        let said = SaidUsage { own: &own, theirs: &theirs };
        let last_terms = LastUsage { are_alike: true, may_be_countered };
        match usage_reply(said, &room, strategy, last_terms) {
            UsageReply::Accept => {
                prop_assert!(room.takes(*theirs.last().unwrap(), room.last));
            }
            UsageReply::Counter(terms) => {
                prop_assert!(room.takes(terms, room.last));
                prop_assert!(may_be_countered);
            }
            UsageReply::Reject => {}
        }
    }
}
