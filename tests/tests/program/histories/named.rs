//! Histories that random ones may miss, each for what it is about.

use x811_ledger::memory::CommitFault;

use super::chain::Fault;
use super::random::run;
use super::story::{Act, Amount};
use super::verdict::Tally;

const MINE: Act = Act::Mine {
    tx: 1,
    amount: Amount::Total,
    reverts: false,
};
const LOSE: Act = Act::Reorg {
    depth: 20,
    fewer: 0,
    comes_back: false,
};
const HALF_A_MINUTE: Act = Act::Pass(35_000);

const PAID: Tally = Tally {
    confirmed: 1,
    reversed: 0,
    returned: 0,
    late: 0,
    refuted: 0,
};
const REVERSED: Tally = Tally {
    reversed: 1,
    ..PAID
};

#[test]
fn sw_23_and_24_a_payment_that_is_reversed_and_returns_stands_once() {
    let acts = [
        Act::Pay(1),
        MINE,
        HALF_A_MINUTE,
        LOSE,
        HALF_A_MINUTE,
        MINE,
        HALF_A_MINUTE,
    ];
    assert_eq!(run(&acts[..3]), PAID);
    assert_eq!(run(&acts[..5]), REVERSED);
    let returned = Tally {
        returned: 1,
        ..REVERSED
    };
    assert_eq!(run(&acts), returned);
    // Away once more, and for good.
    let lost = Tally {
        reversed: 2,
        ..returned
    };
    assert_eq!(run(&[&acts[..], &[LOSE, HALF_A_MINUTE]].concat()), lost);
}

#[test]
fn sw_21_what_is_paid_twice_is_booked_as_late() {
    let second = Act::Mine {
        tx: 2,
        amount: Amount::Total,
        reverts: false,
    };
    let acts = [
        Act::Pay(1),
        Act::PayAgain(0, 2),
        MINE,
        HALF_A_MINUTE,
        second,
        HALF_A_MINUTE,
    ];
    assert_eq!(run(&acts), Tally { late: 1, ..PAID });
}

/// Found by its receipt, although no look was left that could ask for it.
#[test]
fn sw_21_what_is_paid_twice_and_left_out_of_the_logs_is_booked_as_late() {
    let second = Act::Mine {
        tx: 2,
        amount: Amount::Total,
        reverts: false,
    };
    for endpoint in [0, 1] {
        let acts = [
            Act::Fault(endpoint, Fault::OmitsLog(2)),
            Act::Pay(1),
            Act::PayAgain(0, 2),
            MINE,
            second.clone(),
            Act::Pass(2_000),
        ];
        assert_eq!(run(&acts), Tally { late: 1, ..PAID }, "{endpoint}");
    }
}

/// Both of a sum, of which the first was refuted alone.
#[test]
fn sw_24_what_was_refuted_before_it_paid_is_reversed_too() {
    let half = |tx| Act::Mine {
        tx,
        amount: Amount::Half,
        reverts: false,
    };
    let acts = [
        Act::Pay(1),
        half(1),
        Act::Pass(26_000),
        half(2),
        Act::PayAgain(0, 2),
        Act::Pass(26_000),
        Act::Reorg {
            depth: 34,
            fewer: 0,
            comes_back: false,
        },
        HALF_A_MINUTE,
    ];
    let both = Tally {
        reversed: 2,
        refuted: 1,
        ..PAID
    };
    assert_eq!(run(&acts), both);
}

/// The same transaction in another block, where it is not older than what it is to pay.
#[test]
fn sw_24_what_was_too_old_before_a_reorg_and_then_paid_is_reversed_too() {
    let back = Act::Reorg {
        depth: 20,
        fewer: 0,
        comes_back: true,
    };
    let acts = [
        MINE,
        Act::Pass(4_000),
        Act::Pay(1),
        Act::Pass(26_000),
        back,
        Act::Pass(26_000),
        LOSE,
        HALF_A_MINUTE,
    ];
    let refuted_at_first = Tally {
        refuted: 1,
        ..REVERSED
    };
    assert_eq!(run(&acts), refuted_at_first);
}

#[test]
fn sw_24_a_reversal_is_recorded_although_its_first_report_was_lost_with_a_commit() {
    for fault in [CommitFault::Backend, CommitFault::UnknownNothingStored] {
        let acts = [
            Act::Pay(1),
            MINE,
            HALF_A_MINUTE,
            Act::Commit(fault),
            LOSE,
            HALF_A_MINUTE,
        ];
        assert_eq!(run(&acts), REVERSED, "{fault:?}");
    }
}

/// What paid another interaction and is older than this one leaves no doubt that the rest is short,
/// although the new watcher does not know yet where the head recorded at ACCEPT stands.
#[test]
fn sw_11_what_is_short_beside_what_was_refuted_before_is_refuted() {
    let mine = |tx, amount| Act::Mine {
        tx,
        amount,
        reverts: false,
    };
    let acts = [
        Act::Pay(4),
        mine(4, Amount::Total),
        Act::Pass(2_000),
        Act::Exchange(0),
        Act::Pay(4),
        Act::PayAgain(0, 1),
        mine(4, Amount::Total),
        mine(1, Amount::Half),
        Act::Pass(2_000),
    ];
    // What came too late to pay is shown.
    let expected = Tally {
        refuted: 2,
        late: 1,
        ..PAID
    };
    assert_eq!(run(&acts), expected);
}

/// The head that one endpoint says is far above the other's when the ACCEPT is recorded: no payment
/// that comes then is older than it.
#[test]
fn sw_26_blocks_that_one_endpoint_invents_around_an_accept_make_no_payment_older() {
    for endpoint in [0, 1] {
        let acts = [
            Act::Fault(endpoint, Fault::InventsBlocks(39)),
            Act::Pay(1),
            Act::Heal(endpoint),
            MINE,
            HALF_A_MINUTE,
        ];
        assert_eq!(run(&acts), PAID, "{endpoint}");
    }
}

/// One endpoint shows for a while what nobody sent; then it is sent, or it is not, also across a restart.
#[test]
fn sw_26_a_transfer_that_one_endpoint_shows_for_a_while_is_forgotten() {
    let restart = Act::Restart {
        away_ms: 3_000,
        forgets: false,
        dies_after_commit: false,
    };
    for endpoint in [0, 1] {
        for between in [Act::Pass(2_000), restart.clone()] {
            let shown = [
                Act::Pay(1),
                Act::Fault(endpoint, Fault::InventsTransfer(1)),
                Act::Pass(6_000),
                between,
                Act::Heal(endpoint),
            ];
            let nothing = Tally {
                confirmed: 0,
                ..PAID
            };
            assert_eq!(run(&shown), nothing, "{endpoint}");
            let sent = [&shown[..], &[MINE, HALF_A_MINUTE]].concat();
            assert_eq!(run(&sent), PAID, "{endpoint}");
        }
    }
}

/// A reorganisation leaves fewer blocks, and the transaction is mined anew below the height of the head
/// that was recorded at the ACCEPT: the branch decides, not the number.
#[test]
fn sw_19_what_is_mined_anew_below_the_height_of_the_accept_pays() {
    for (comes_back, fewer) in [(true, 1), (true, 4), (true, 16), (false, 4), (false, 16)] {
        let lower = Act::Reorg {
            depth: fewer + 4,
            fewer,
            comes_back,
        };
        let acts = [Act::Pay(1), MINE, lower, MINE, HALF_A_MINUTE];
        assert_eq!(run(&acts), PAID, "{comes_back} {fewer}");
    }
}

/// The second of two payments is at the height of the head that the ACCEPT has, on another branch, and
/// another interaction waits for it when the first is paid.
#[test]
fn sw_19_and_21_what_is_paid_twice_below_the_height_of_the_accept_is_booked_as_late() {
    let mine = |tx| Act::Mine {
        tx,
        amount: Amount::Total,
        reverts: false,
    };
    let both = [Act::Pay(3), Act::PayAgain(0, 1), mine(3), mine(1)];
    let lower = Act::Reorg {
        depth: 7,
        fewer: 3,
        comes_back: true,
    };
    let alone = [&both[..], &[Act::Pass(4_000), lower.clone()]].concat();
    assert_eq!(run(&alone), Tally { late: 1, ..PAID });
    let rival = [Act::Pass(2_000), lower, Act::Pass(2_000), Act::Pay(1)];
    let refuted = Tally {
        late: 1,
        refuted: 1,
        ..PAID
    };
    assert_eq!(run(&[&both[..], &rival].concat()), refuted);
}
