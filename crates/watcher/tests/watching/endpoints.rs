//! Several endpoints: what they must agree on, what one alone cannot bring about, and who is
//! followed.

use crate::scripted::{CHAIN_ID, CONFIRMED_DEPTH, Rig, ScriptedChain, depth, tx, unreachable};
use std::collections::BTreeMap;
use x811_protocol::digest::Digest;
use x811_protocol::evm::ChainId;
use x811_protocol::observation::{BlindCause, Observation, TransactionStatus};
use x811_watcher::{EndpointState, NetworkHealth};

/// Two endpoints of one chain, and a watcher of one transaction.
struct Two {
    a: ScriptedChain,
    b: ScriptedChain,
    rig: Rig,
}

impl Two {
    fn start() -> Two {
        let [a, b] = [(); 2].map(|()| ScriptedChain::with_blocks(40));
        let rig = Rig::through(&[("a", &a), ("b", &b)], &[tx(1)]);
        Two { a, b, rig }
    }

    /// The same happens on the chain that both serve.
    fn both(&self, act: impl Fn(&mut crate::scripted::World)) {
        act(&mut self.a.world());
        act(&mut self.b.world());
    }

    /// Mines, and returns the depth that is reported of the transaction.
    async fn mined(&mut self) -> Option<u64> {
        self.both(|world| world.mine(1));
        self.depth().await
    }

    /// The depth in the sweep of the newest head.
    async fn depth(&mut self) -> Option<u64> {
        depth(&self.newest().await, tx(1))
    }

    async fn newest(&mut self) -> x811_protocol::observation::Sweep {
        let numbers = [self.a.world().head().number, self.b.world().head().number];
        loop {
            if let Observation::Sweep(sweep) = self.rig.next().await
                && numbers.contains(&sweep.head.number)
            {
                return sweep;
            }
        }
    }

    fn health(&self) -> NetworkHealth {
        self.rig.health.borrow().clone()
    }

    fn disagreements(&self) -> [u64; 2] {
        [0, 1].map(|id| self.health().endpoints[id].disagreements)
    }

    /// Pays, and mines until the payment is as deep as it must be less one.
    async fn paid_almost_deep(&mut self) {
        self.newest().await;
        self.both(|world| {
            world.mine(1);
            world.pay(tx(1), 29_725);
        });
        assert_eq!(self.depth().await, Some(1));
        for expected in 2..CONFIRMED_DEPTH {
            assert_eq!(self.mined().await, Some(expected));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn sw_26_a_positive_takes_two_endpoints_that_agree() {
    let mut two = Two::start();
    two.paid_almost_deep().await;
    assert_eq!(
        two.b.world().calls.receipt,
        1,
        "asked once, when it was new"
    );
    two.both(|world| world.mine(1));
    let sweep = two.newest().await;
    assert_eq!(depth(&sweep, tx(1)), Some(CONFIRMED_DEPTH));
    assert_eq!(sweep.endpoints, ["a", "b"]);
    assert_eq!(
        two.b.world().calls.receipt,
        2,
        "one receipt at confirmed depth"
    );
    assert_eq!(two.disagreements(), [0, 0]);
}

#[tokio::test(start_paused = true)]
async fn sw_26_a_forged_transfer_is_never_confirmed_and_the_truth_is() {
    let mut two = Two::start();
    two.newest().await;
    two.a.world().forged.insert(tx(1), 29_725);
    two.both(|world| {
        world.mine(1);
        world.pay(tx(1), 1);
    });
    for depth in 1..CONFIRMED_DEPTH {
        assert_eq!(two.depth().await, Some(depth));
        two.both(|world| world.mine(1));
    }
    for _ in 0..50 {
        assert_eq!(two.depth().await, None);
        two.both(|world| world.mine(1));
    }
    assert_eq!(two.disagreements(), [1, 1], "counted once");
    two.a.world().forged.clear();
    let sweep = two.newest().await;
    let TransactionStatus::Mined(mined) = &sweep.transactions[&tx(1)] else {
        panic!("it is mined")
    };
    assert_eq!(mined.transfers[0].amount.as_micro_usdc(), 1);
}

/// What a transfer was authorised for decides whose it is, so it takes two endpoints as well.
#[tokio::test(start_paused = true)]
async fn rule_18_a_forged_authorization_is_never_confirmed_and_the_truth_is() {
    let mut two = Two::start();
    two.newest().await;
    two.both(|world| {
        world.mine(1);
        world.pay(tx(1), 29_725);
        world.authorize(tx(1), Digest::of(b"this interaction"));
    });
    two.a.world().authorize(tx(1), Digest::of(b"another"));
    for depth in 1..CONFIRMED_DEPTH {
        assert_eq!(two.depth().await, Some(depth));
        two.both(|world| world.mine(1));
    }
    assert_eq!(two.depth().await, None);
    assert_eq!(two.disagreements(), [1, 1]);
    two.a
        .world()
        .authorize(tx(1), Digest::of(b"this interaction"));
    two.both(|world| world.mine(1));
    let sweep = two.newest().await;
    let TransactionStatus::Mined(mined) = &sweep.transactions[&tx(1)] else {
        panic!("it is mined")
    };
    let truth = BTreeMap::from([(0, Digest::of(b"this interaction"))]);
    assert_eq!(mined.authorizations, truth);
    assert_eq!(mined.endpoints, ["a", "b"]);
}

/// The first endpoint gives some blocks of a gap and fails on the others, which the second gives.
#[tokio::test(start_paused = true)]
async fn sw_26_what_one_endpoint_gave_is_not_the_word_of_the_one_that_follows_it() {
    let mut two = Two::start();
    two.newest().await;
    two.a.world().forged.insert(tx(1), 29_725);
    two.a.world().logs_fail_every = Some(2);
    two.both(|world| {
        world.mine(1);
        world.pay(tx(1), 1);
        world.mine(1);
    });
    let sweep = two.newest().await;
    let TransactionStatus::Mined(mined) = &sweep.transactions[&tx(1)] else {
        panic!("it is mined")
    };
    assert_eq!(mined.transfers[0].amount.as_micro_usdc(), 29_725);
    assert_eq!(mined.endpoints, ["a"]);
    assert_eq!(sweep.endpoints, ["a", "b"], "who follows is another one");
    two.a.world().logs_fail_every = None;
    for expected in 3..CONFIRMED_DEPTH {
        assert_eq!(two.mined().await, Some(expected));
    }
    for _ in 0..5 {
        assert_eq!(two.mined().await, None, "one endpoint confirms nothing");
    }
}

#[tokio::test(start_paused = true)]
async fn sw_26_a_transaction_that_one_endpoint_made_up_is_never_confirmed() {
    let mut two = Two::start();
    two.newest().await;
    two.both(|world| world.mine(1));
    two.a.world().pay(tx(1), 29_725);
    for _ in 1..40 {
        let sweep = two.newest().await;
        assert!(depth(&sweep, tx(1)).is_none_or(|depth| depth < CONFIRMED_DEPTH));
        two.both(|world| world.mine(1));
    }
    assert_eq!(two.disagreements(), [0, 1]);
}

#[tokio::test(start_paused = true)]
async fn sw_10_null_from_one_and_a_receipt_from_the_other_is_no_negative() {
    let mut two = Two::start();
    two.newest().await;
    two.both(|world| world.mine(1));
    two.b.world().pay(tx(1), 29_725);
    two.rig.look_for(&[tx(1)]);
    for _ in 1..40 {
        let sweep = two.newest().await;
        let status = sweep.transactions.get(&tx(1));
        assert_ne!(status, Some(&TransactionStatus::NotFound));
        assert!(depth(&sweep, tx(1)).is_none_or(|depth| depth < CONFIRMED_DEPTH));
        two.both(|world| world.mine(1));
    }
    let true_one = two.b.world().receipts[&tx(1)].clone();
    two.a.world().receipts.insert(tx(1), true_one);
    two.both(|world| world.mine(1));
    two.newest().await;
    assert!(
        two.mined()
            .await
            .is_some_and(|depth| depth > CONFIRMED_DEPTH)
    );
}

#[tokio::test(start_paused = true)]
async fn sw_26_confirmation_waits_for_an_endpoint_that_is_down_and_nothing_is_negative() {
    let mut two = Two::start();
    two.paid_almost_deep().await;
    two.b.world().failure = Some(unreachable());
    two.rig.look_for(&[tx(1)]);
    for _ in 0..50 {
        two.both(|world| world.mine(1));
        let sweep = two.newest().await;
        assert_eq!(sweep.transactions.get(&tx(1)), None);
    }
    assert_eq!(two.health().endpoints[1].state, EndpointState::Failing);
    assert!(two.health().endpoints[1].last_error.is_some());
    two.b.world().failure = None;
    let deep = two.rig.all_within(20_000).await;
    drop(deep);
    let found = two.mined().await;
    assert!(
        found.is_some_and(|depth| depth > CONFIRMED_DEPTH),
        "{found:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn sw_25_a_negative_is_not_concluded_from_an_endpoint_that_lags() {
    let mut two = Two::start();
    two.newest().await;
    // The leader stops where it is; the other goes on and has the payment.
    two.b.world().mine(20);
    two.b.world().pay(tx(1), 29_725);
    two.rig.look_for(&[tx(1)]);
    let sweep = two.newest().await;
    assert_eq!(sweep.head.number, 59, "the other is followed");
    assert_ne!(
        sweep.transactions.get(&tx(1)),
        Some(&TransactionStatus::NotFound)
    );
    two.rig.all_within(10_000).await;
    let health = two.health();
    assert_eq!(health.endpoints[0].state, EndpointState::Lagging);
    assert!(health.endpoints[1].leads && !health.endpoints[0].leads);
}

#[tokio::test(start_paused = true)]
async fn sw_25_the_other_endpoint_takes_over_when_the_leader_fails() {
    let mut two = Two::start();
    two.newest().await;
    two.a.world().failure = Some(unreachable());
    two.both(|world| {
        world.mine(1);
        world.pay(tx(1), 5);
    });
    let seen = two.rig.all_within(10_000).await;
    let sweep = seen.iter().find_map(|observation| match observation {
        Observation::Sweep(sweep) => Some(sweep),
        Observation::Unreachable { .. } => None,
    });
    assert_eq!(depth(sweep.unwrap(), tx(1)), Some(1));
    assert!(
        seen.iter().all(|o| matches!(o, Observation::Sweep(_))),
        "the network is seen all the time"
    );
    assert!(two.health().endpoints[1].leads);
    two.b.world().failure = Some(unreachable());
    two.rig.all_within(20_000).await;
    two.a.world().failure = None;
    assert_eq!(two.mined().await, Some(2), "and back");
}

#[tokio::test(start_paused = true)]
async fn sw_09_an_endpoint_of_another_chain_is_left_out() {
    let mut two = Two::start();
    two.newest().await;
    two.a.world().chain_id = ChainId::new(84_532);
    two.rig.all_within(120_000).await;
    let health = two.health();
    assert_eq!(health.endpoints[0].state, EndpointState::Misfit);
    assert!(health.endpoints[1].leads);
    two.b.world().chain_id = ChainId::new(1);
    let seen = two.rig.all_within(120_000).await;
    let last = seen.last().unwrap();
    let blind = Observation::Unreachable {
        network: "base".to_owned(),
        cause: BlindCause::WrongChain,
    };
    assert_eq!(*last, blind);
    two.both(|world| world.chain_id = CHAIN_ID);
    two.newest().await;
}

/// The leader falls silent about the one transaction that matters, or invents a branch without it.
#[tokio::test(start_paused = true)]
async fn sw_26_a_leader_on_a_branch_of_its_own_denies_nothing() {
    let mut two = Two::start();
    two.paid_almost_deep().await;
    two.rig.look_for(&[tx(1)]);
    two.a.world().reorg(30);
    for _ in 0..40 {
        two.both(|world| world.mine(1));
        let sweep = two.newest().await;
        assert_eq!(
            sweep.transactions.get(&tx(1)),
            None,
            "b still has it on its branch"
        );
    }
    assert!(two.health().unsettled == 1);
}

#[tokio::test(start_paused = true)]
async fn sw_design_a_level_is_the_lowest_that_is_named() {
    let mut two = Two::start();
    two.newest().await;
    two.a.world().safe_number = Some(35);
    two.b.world().safe_number = Some(30);
    let mut last = None;
    for _ in 0..12 {
        two.both(|world| world.mine(1));
        last = two.newest().await.safe_number;
    }
    assert_eq!(last, Some(30));
}

#[tokio::test(start_paused = true)]
async fn sw_design_an_operator_sees_each_endpoint() {
    let mut two = Two::start();
    two.newest().await;
    two.both(|world| world.mine(1));
    two.newest().await;
    two.rig.all_within(1_000).await;
    let health = two.health();
    let labels: Vec<&str> = health.endpoints.iter().map(|e| e.label.as_str()).collect();
    assert_eq!(labels, ["a", "b"]);
    for endpoint in &health.endpoints {
        assert_eq!(endpoint.state, EndpointState::Good);
        assert_eq!(endpoint.head, Some(two.a.world().head().block()));
        assert_eq!((endpoint.failures, endpoint.disagreements), (0, 0));
        assert!(endpoint.calls > 0);
    }
    assert_eq!((health.watched, health.unsettled), (1, 0));
    assert_eq!(health.indexed_blocks, 13);
}
