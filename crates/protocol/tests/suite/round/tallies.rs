//! The tally vectors of the list (ids-consensus.md, part 13), and what they leave open.

use proptest::prelude::*;
use x811_protocol::facts::consensus::{Decision, Mechanism, Threshold};
use x811_protocol::round::tally::{Cast, Hindrance, Poll};
use x811_protocol::round::{Outcome, Reason};

fn seat(decision: Decision) -> Cast {
    Cast {
        connected: true,
        decision: Some(decision),
        unrevealed: false,
    }
}

/// So many of each, and the silent ones, everybody being connected.
fn seats(eligible: usize, approve: usize, reject: usize, abstain: usize) -> Vec<Cast> {
    let silent = Cast {
        connected: true,
        ..Cast::default()
    };
    let mut seats = vec![silent; eligible];
    let decisions = [
        (Decision::Approve, approve),
        (Decision::Reject, reject),
        (Decision::Abstain, abstain),
    ];
    let decisions = decisions
        .into_iter()
        .flat_map(|(decision, count)| std::iter::repeat_n(decision, count));
    for (place, decision) in decisions.enumerate() {
        seats[place] = seat(decision);
    }
    seats
}

fn poll(mechanism: Mechanism, seats: &[Cast]) -> Poll<'_> {
    Poll {
        abstain_counts: true,
        f: None,
        hindrance: None,
        leader: None,
        mechanism,
        quorum: 0,
        seats,
        threshold: Threshold::HALF,
        weights: &[],
    }
}

const COMMIT: (Outcome, Reason) = (Outcome::Commit, Reason::Accepted);

const fn abort(reason: Reason) -> (Outcome, Reason) {
    (Outcome::Abort, reason)
}

fn verdict(poll: &Poll<'_>) -> (Outcome, Reason) {
    let (_, outcome, reason) = poll.decide();
    (outcome, reason)
}

#[test]
fn cc_006_and_cc_026_to_cc_029_the_vectors_of_majority() {
    for (eligible, approve, reject, abstain, expected) in [
        (5, 2, 1, 0, COMMIT),
        (5, 2, 0, 0, abort(Reason::NoQuorum)),
        (5, 1, 1, 1, abort(Reason::Tie)),
        (5, 1, 0, 2, COMMIT),
        (5, 0, 0, 5, abort(Reason::NoDecisiveVotes)),
        (4, 1, 1, 0, abort(Reason::Tie)),
        (4, 2, 0, 0, COMMIT),
        (4, 1, 0, 0, abort(Reason::NoQuorum)),
        (3, 1, 2, 0, abort(Reason::Rejected)),
        (2, 1, 0, 0, COMMIT),
        (1, 1, 0, 0, COMMIT),
        (1, 0, 0, 0, abort(Reason::NoQuorum)),
    ] {
        let seats = seats(eligible, approve, reject, abstain);
        let poll = poll(Mechanism::Majority, &seats);
        let row = (eligible, approve, reject, abstain);
        assert_eq!(verdict(&poll), expected, "{row:?}");
        let (tally, ..) = poll.decide();
        assert_eq!(
            tally.quorum_required,
            (eligible as u64).div_ceil(2),
            "{row:?}"
        );
        assert_eq!(
            tally.received,
            (approve + reject + abstain) as u64,
            "{row:?}"
        );
    }
}

#[test]
fn cx_12_in_the_other_reading_abstentions_do_not_count_for_the_quorum() {
    let seats = seats(5, 1, 0, 2);
    let other = Poll {
        abstain_counts: false,
        ..poll(Mechanism::Majority, &seats)
    };
    assert_eq!(verdict(&other), abort(Reason::NoQuorum));
}

#[test]
fn cx_6_a_proposal_raises_the_quorum_and_never_lowers_it() {
    for (quorum, votes, expected) in [
        (0, 3, COMMIT),
        (2, 2, abort(Reason::NoQuorum)),
        (4, 3, abort(Reason::NoQuorum)),
        (4, 4, COMMIT),
    ] {
        let seats = seats(5, votes, 0, 0);
        let poll = Poll {
            quorum,
            ..poll(Mechanism::Majority, &seats)
        };
        assert_eq!(verdict(&poll), expected, "{quorum} {votes}");
    }
}

/// a = 50, b = 30, c = 20.
fn weighed(votes: [Option<Decision>; 3], threshold: Threshold, quorum: u64) -> (Outcome, Reason) {
    let seats = votes.map(|decision| Cast {
        connected: true,
        decision,
        unrevealed: false,
    });
    verdict(&Poll {
        quorum,
        threshold,
        weights: &[50, 30, 20],
        ..poll(Mechanism::Weighted, &seats)
    })
}

#[test]
fn cc_007_cc_032_and_cc_033_the_vectors_of_weighted() {
    use Decision::{Abstain, Approve, Reject};
    let (yes, no, neither) = (Some(Approve), Some(Reject), Some(Abstain));
    let two_fifths = Threshold { den: 5, num: 2 };
    for (votes, threshold, expected) in [
        ([yes, None, None], Threshold::HALF, abort(Reason::Rejected)),
        ([yes, no, yes], Threshold::HALF, COMMIT),
        ([None, yes, None], Threshold::HALF, abort(Reason::NoQuorum)),
        (
            [neither, yes, yes],
            Threshold::HALF,
            abort(Reason::Rejected),
        ),
        (
            [yes, None, neither],
            Threshold::HALF,
            abort(Reason::Rejected),
        ),
        ([no, yes, yes], two_fifths, COMMIT),
        (
            [neither; 3],
            Threshold::HALF,
            abort(Reason::NoDecisiveVotes),
        ),
    ] {
        assert_eq!(weighed(votes, threshold, 0), expected, "{votes:?}");
    }
    assert_eq!(
        weighed([yes, None, yes], Threshold::HALF, 3),
        abort(Reason::NoQuorum),
        "quorum counts votes beside the weight"
    );
}

/// Sums and products of the largest weights are exact.
#[test]
fn cx_16_the_largest_weights_and_denominators_are_compared_exactly() {
    let half = (1_u64 << 52) - 1;
    let seats = [seat(Decision::Approve), seat(Decision::Reject)];
    let threshold = Threshold {
        den: 1_000_000,
        num: 500_000,
    };
    for (mine, theirs, expected) in [
        (half + 1, half, COMMIT),
        (half, half + 1, abort(Reason::Rejected)),
        (half, half, abort(Reason::Rejected)),
    ] {
        let poll = Poll {
            threshold,
            weights: &[mine, theirs],
            ..poll(Mechanism::Weighted, &seats)
        };
        assert_eq!(verdict(&poll), expected);
    }
}

#[test]
fn cc_038_to_cc_042_and_cx_20_the_vectors_of_optimistic() {
    let unheard = vec![Cast::default(); 4];
    for (seats, expected) in [
        (seats(4, 0, 0, 0), COMMIT),
        (seats(4, 0, 0, 4), COMMIT),
        (seats(4, 3, 1, 0), abort(Reason::Objection)),
        (unheard, abort(Reason::Partition)),
    ] {
        assert_eq!(verdict(&poll(Mechanism::Optimistic, &seats)), expected);
    }
}

#[test]
fn cc_035_to_cc_037_the_leader_decides_and_votes_advise() {
    for (approve, reject, advised) in [
        (1, 3, Some(Outcome::Abort)),
        (3, 1, Some(Outcome::Commit)),
        (2, 2, None),
        (0, 0, None),
    ] {
        let seats = seats(4, approve, reject, 0);
        let silent = poll(Mechanism::Leader, &seats);
        assert_eq!(silent.recommendation(), advised);
        assert_eq!(verdict(&silent), abort(Reason::LeaderSilent));
        for outcome in [Outcome::Commit, Outcome::Abort] {
            let led = Poll {
                leader: Some(outcome),
                ..silent
            };
            assert_eq!(verdict(&led), (outcome, Reason::LeaderDecision));
        }
    }
}

/// More than half: of an even number, half is not enough, or two halves could both decide (CX-13).
#[test]
fn cc_048_cx_13_and_cx_24_less_than_a_majority_that_was_heard_decides_nothing() {
    for (eligible, connected, decides) in [
        (1, 0, false),
        (1, 1, true),
        (2, 1, false),
        (2, 2, true),
        (4, 2, false),
        (4, 3, true),
        (5, 2, false),
        (5, 3, true),
    ] {
        let mut seats = seats(eligible, 0, 0, 0);
        for seat in &mut seats[connected..] {
            seat.connected = false;
        }
        let is_commit = verdict(&poll(Mechanism::Optimistic, &seats)) == COMMIT;
        assert_eq!(is_commit, decides, "{connected} of {eligible}");
    }
}

#[test]
fn cc_109_and_cx_48_two_f_and_one_votes_that_are_for_or_against_it() {
    for mechanism in [Mechanism::Majority, Mechanism::Weighted] {
        for (approve, abstain, expected) in [
            (2, 2, abort(Reason::NoQuorum)),
            (3, 0, COMMIT),
            (3, 1, COMMIT),
        ] {
            let seats = seats(4, approve, 0, abstain);
            let poll = Poll {
                f: Some(1),
                weights: &[1, 1, 1, 1],
                ..poll(mechanism, &seats)
            };
            assert_eq!(verdict(&poll), expected, "{mechanism} {approve} {abstain}");
        }
    }
}

#[test]
fn cx_25_what_hindered_a_round_comes_before_its_votes() {
    let seats = seats(4, 4, 0, 0);
    for (hindrance, reason) in [
        (Hindrance::LedgerDown, Reason::LedgerDown),
        (Hindrance::Suspended, Reason::Partition),
        (Hindrance::NotOpened, Reason::LeaderSilent),
        (
            Hindrance::WeightsUnacknowledged,
            Reason::WeightsUnacknowledged,
        ),
        (Hindrance::Withdrawn, Reason::Withdrawn),
    ] {
        for mechanism in Mechanism::ALL {
            let poll = Poll {
                hindrance: Some(hindrance),
                leader: Some(Outcome::Commit),
                weights: &[1, 1, 1, 1],
                ..poll(mechanism, &seats)
            };
            assert_eq!(verdict(&poll), abort(reason), "{mechanism}");
        }
    }
}

fn decision() -> impl Strategy<Value = Option<Decision>> {
    prop_oneof![
        Just(None),
        Just(Some(Decision::Approve)),
        Just(Some(Decision::Reject)),
        Just(Some(Decision::Abstain)),
    ]
}

fn any_seat() -> impl Strategy<Value = Cast> {
    (decision(), any::<bool>()).prop_map(|(decision, was_heard)| Cast {
        connected: decision.is_some() || was_heard,
        decision,
        unrevealed: false,
    })
}

fn electorate() -> impl Strategy<Value = (Mechanism, Vec<Cast>, Vec<u64>, u64, bool, Threshold)> {
    let mechanism = prop_oneof![Just(Mechanism::Majority), Just(Mechanism::Weighted)];
    let threshold = (1_u64..100).prop_map(|num| Threshold { den: 100, num });
    (mechanism, 1_usize..9, any::<bool>(), threshold).prop_flat_map(
        |(mechanism, eligible, abstain_counts, threshold)| {
            (
                Just(mechanism),
                prop::collection::vec(any_seat(), eligible),
                prop::collection::vec(1_u64..100, eligible),
                0..=eligible as u64,
                Just(abstain_counts),
                Just(threshold),
            )
        },
    )
}

fn cases() -> ProptestConfig {
    ProptestConfig::with_cases(2_000)
}

proptest! {
    #![proptest_config(cases())]

    /// Seats with their weights may stand in any order: the verdict is that of the set.
    #[test]
    fn cx_10_the_verdict_does_not_know_an_order(
        (mechanism, casts, weights, quorum, abstain_counts, threshold) in electorate(),
        keys in prop::collection::vec(any::<u64>(), 8),
    ) {
        let verdict_of = |casts: &[Cast], weights: &[u64]| {
            Poll { abstain_counts, quorum, threshold, weights, ..poll(mechanism, casts) }.decide()
        };
        let mut together: Vec<_> = casts.iter().copied().zip(weights.clone()).zip(keys).collect();
        together.sort_by_key(|(_, key)| *key);
        let (shuffled, its_weights): (Vec<_>, Vec<_>) =
            together.into_iter().map(|(seat, _)| seat).unzip();
        prop_assert_eq!(verdict_of(&casts, &weights), verdict_of(&shuffled, &its_weights));
    }

    /// Whoever turns from silence or rejection to approval never turns a commit into an abort.
    #[test]
    fn cc_026_one_approval_more_never_turns_a_commit_into_an_abort(
        (mechanism, casts, weights, quorum, abstain_counts, threshold) in electorate(),
        place in any::<prop::sample::Index>(),
    ) {
        let outcome_of = |casts: &[Cast]| {
            let poll = Poll { abstain_counts, quorum, threshold, weights: &weights, ..poll(mechanism, casts) };
            verdict(&poll).0
        };
        let mut more = casts.clone();
        more[place.index(casts.len())] = seat(Decision::Approve);
        if outcome_of(&casts) == Outcome::Commit {
            prop_assert_eq!(outcome_of(&more), Outcome::Commit);
        }
    }

    /// What is called settled is what every way to fill the silent seats leads to, and nothing else is.
    #[test]
    fn cx_15_settled_is_what_no_outstanding_vote_can_change(
        (mechanism, casts, weights, quorum, abstain_counts, threshold) in electorate(),
    ) {
        let poll_of = |casts: &[Cast]| {
            verdict(&Poll { abstain_counts, quorum, threshold, weights: &weights, ..poll(mechanism, casts) })
        };
        let silent: Vec<usize> =
            (0..casts.len()).filter(|place| casts[*place].decision.is_none()).collect();
        let ways = 4_usize.pow(silent.len() as u32);
        let is_settled = (0..ways).all(|way| {
            let mut filled = casts.clone();
            let mut rest = way;
            for place in &silent {
                let decisions = [None, Some(Decision::Approve), Some(Decision::Reject), Some(Decision::Abstain)];
                if let Some(decision) = decisions[rest % 4] {
                    filled[*place] = seat(decision);
                }
                rest /= 4;
            }
            poll_of(&filled) == poll_of(&casts)
        });
        let poll = Poll { abstain_counts, quorum, threshold, weights: &weights, ..poll(mechanism, &casts) };
        prop_assert_eq!(poll.is_settled(), is_settled);
    }
}
