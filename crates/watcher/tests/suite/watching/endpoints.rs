//! Several endpoints: what they must agree on, what one alone cannot bring about, and who is
//! followed.

use super::depth;
use super::rig::Rig;
use super::scripted::{CHAIN_ID, CONFIRMED_DEPTH, ScriptedChain, tx, unreachable};
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
    fn both(&self, act: impl Fn(&mut super::scripted::World)) {
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

    /// Mines where nobody lies, and returns the next sweep.
    async fn mined_by_the_other(&mut self, liar: usize) -> x811_protocol::observation::Sweep {
        [&self.b, &self.a][liar].world().mine(1);
        let truth = [&self.b, &self.a][liar].world().canonical.clone();
        // The liar has the true block, too, below what it invents.
        [&self.a, &self.b][liar].world().canonical = truth;
        [&self.a, &self.b][liar].world().mine(40);
        self.rig.sweep().await
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
        2,
        "asked when it was new, and when the other had it"
    );
    two.both(|world| world.mine(1));
    let sweep = two.newest().await;
    assert_eq!(depth(&sweep, tx(1)), Some(CONFIRMED_DEPTH));
    assert_eq!(sweep.endpoints, ["a", "b"]);
    assert_eq!(two.b.world().calls.receipt, 2, "the branch is held by hash");
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
    for _ in 0..50 {
        assert_eq!(two.depth().await, None, "contested from the first");
        two.both(|world| world.mine(1));
    }
    assert_eq!(two.disagreements(), [1, 1], "counted once");
    two.a.world().forged.clear();
    two.both(|world| world.mine(1));
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
    for _ in 0..=CONFIRMED_DEPTH {
        assert_eq!(two.depth().await, None);
        two.both(|world| world.mine(1));
    }
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
    assert_eq!(sweep.endpoints, ["a", "b"], "who follows is another one");
    assert_eq!(depth(&sweep, tx(1)), None, "what a gave is a's word");
    two.a.world().logs_fail_every = None;
    for _ in 3..2 * CONFIRMED_DEPTH {
        assert_eq!(two.mined().await, None, "one endpoint shows nothing");
    }
}

#[tokio::test(start_paused = true)]
async fn sw_26_a_transaction_that_one_endpoint_made_up_is_never_confirmed() {
    let mut two = Two::start();
    two.newest().await;
    two.both(|world| world.mine(1));
    two.a.world().pay(tx(1), 29_725);
    for _ in 1..40 {
        assert_eq!(two.depth().await, None, "it is contested");
        two.both(|world| world.mine(1));
    }
    assert_eq!(two.disagreements(), [1, 1]);
    assert_eq!(two.health().unsettled, 1, "the operator is paged");
}

/// Held by one for a while, by none afterwards: both are asked again, and it is missing.
#[tokio::test(start_paused = true)]
async fn sw_26_what_no_endpoint_carries_any_more_is_missing() {
    let mut two = Two::start();
    two.newest().await;
    two.both(|world| world.mine(1));
    two.a.world().pay(tx(1), 29_725);
    for _ in 0..3 {
        assert_eq!(two.mined().await, None);
    }
    two.a.world().receipts.clear();
    two.both(|world| world.mine(1));
    let sweep = two.newest().await;
    let status = sweep.transactions.get(&tx(1));
    assert_eq!(status, Some(&TransactionStatus::NotFound));
    assert_eq!(two.health().unsettled, 0);
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
        assert_eq!(sweep.transactions.get(&tx(1)), None);
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

/// Fewer answer than must agree: no head is agreed, nothing is concluded, and it is said who is silent.
#[tokio::test(start_paused = true)]
async fn sw_26_nothing_is_concluded_while_one_of_two_is_down() {
    let mut two = Two::start();
    two.paid_almost_deep().await;
    two.b.world().failure = Some(unreachable());
    two.rig.look_for(&[tx(1)]);
    two.both(|world| world.mine(50));
    let seen = two.rig.all_within(100_000).await;
    assert!(!seen.is_empty());
    for seen in seen {
        let is_who = matches!(&seen, Observation::Unreachable { silent, .. } if silent == &["b"]);
        assert!(is_who, "only who is silent is told: {seen:?}");
    }
    let health = two.health();
    assert_eq!(health.endpoints[1].state, EndpointState::Failing);
    assert!(health.endpoints[1].last_error.is_some());
    assert_eq!(health.silent(), ["b"]);
    assert!(!health.is_agreed);
    two.b.world().failure = None;
    drop(two.rig.all_within(20_000).await);
    let found = two.mined().await;
    assert!(
        found.is_some_and(|depth| depth > CONFIRMED_DEPTH),
        "{found:?}"
    );
    assert!(two.health().is_agreed && two.health().silent().is_empty());
}

/// The leader stops where it is; the other goes on and has the payment.
#[tokio::test(start_paused = true)]
async fn sw_25_nothing_is_concluded_above_an_endpoint_that_lags() {
    let mut two = Two::start();
    two.newest().await;
    two.b.world().mine(20);
    two.b.world().pay(tx(1), 29_725);
    two.rig.look_for(&[tx(1)]);
    let seen = two.rig.all_within(10_000).await;
    let sweeps = seen.iter().map(|seen| match seen {
        Observation::Sweep(sweep) => sweep,
        Observation::Unreachable { .. } | Observation::Header { .. } => panic!("both answer"),
    });
    for sweep in sweeps {
        assert_eq!(sweep.head.number, 39, "the agreed head");
        assert_eq!(
            sweep.transactions.get(&tx(1)),
            None,
            "neither there nor absent"
        );
    }
    assert_eq!(two.health().endpoints[0].state, EndpointState::Lagging);
    let there = two.b.world().clone_of(tx(1));
    two.a.world().mine(20);
    two.a.world().receipts.insert(tx(1), there);
    assert_eq!(two.depth().await, Some(1));
}

/// One of two invents blocks on top of the true head, so that a payment seems deep.
#[tokio::test(start_paused = true)]
async fn sw_26_headers_that_one_endpoint_invents_make_nothing_deeper() {
    for liar in [0, 1] {
        let mut two = Two::start();
        two.newest().await;
        two.both(|world| {
            world.mine(1);
            world.pay(tx(1), 29_725);
        });
        [&two.a, &two.b][liar].world().mine(40);
        assert_eq!(two.rig.all_within(20_000).await.len(), 1);
        let sweep = two.mined_by_the_other(liar).await;
        assert_eq!((sweep.head.number, depth(&sweep, tx(1))), (41, Some(2)));
    }
}

/// Of three, two agree whatever the third says or does not say.
#[tokio::test(start_paused = true)]
async fn sw_25_two_of_three_go_on_when_the_leader_fails() {
    let [a, b, c] = [(); 3].map(|()| ScriptedChain::with_blocks(40));
    let mut rig = Rig::through(&[("a", &a), ("b", &b), ("c", &c)], &[tx(1)]);
    rig.sweep().await;
    a.world().failure = Some(unreachable());
    for chain in [&a, &b, &c] {
        chain.world().mine(1);
        chain.world().pay(tx(1), 5);
    }
    let seen = rig.all_within(10_000).await;
    let sweep = seen.iter().find_map(|observation| match observation {
        Observation::Sweep(sweep) => Some(sweep),
        Observation::Unreachable { .. } | Observation::Header { .. } => None,
    });
    let sweep = sweep.unwrap();
    assert_eq!(depth(sweep, tx(1)), Some(1));
    assert_eq!(sweep.endpoints, ["b", "c"]);
    assert!(rig.health.borrow().endpoints[1].leads);
}

#[tokio::test(start_paused = true)]
async fn sw_25_the_network_is_unseen_when_no_endpoint_answers() {
    let mut two = Two::start();
    two.newest().await;
    two.both(|world| world.failure = Some(unreachable()));
    let seen = two.rig.all_within(20_000).await;
    let blind = Observation::Unreachable {
        network: "base".to_owned(),
        cause: BlindCause::Unreachable,
        silent: vec!["a".to_owned(), "b".to_owned()],
    };
    assert_eq!(seen.last(), Some(&blind));
    two.both(|world| {
        world.failure = None;
        world.mine(1);
        world.pay(tx(1), 5);
    });
    assert_eq!(two.depth().await, Some(1), "and back");
}

#[tokio::test(start_paused = true)]
async fn sw_09_an_endpoint_of_another_chain_is_left_out() {
    let mut two = Two::start();
    two.newest().await;
    two.a.world().chain_id = ChainId::new(84_532);
    two.rig.all_within(120_000).await;
    let health = two.health();
    assert_eq!(health.endpoints[0].state, EndpointState::Misfit);
    assert_eq!(health.silent(), ["a"], "it counts as silent");
    two.b.world().chain_id = ChainId::new(1);
    let seen = two.rig.all_within(120_000).await;
    let last = seen.last().unwrap();
    let blind = Observation::Unreachable {
        network: "base".to_owned(),
        cause: BlindCause::WrongChain,
        silent: vec!["a".to_owned(), "b".to_owned()],
    };
    assert_eq!(*last, blind);
    two.both(|world| world.chain_id = CHAIN_ID);
    two.newest().await;
}

/// The leader invents a branch without it, or is the first on a true one: the other still has it.
#[tokio::test(start_paused = true)]
async fn sw_26_a_leader_on_a_branch_of_its_own_denies_nothing() {
    let mut two = Two::start();
    two.paid_almost_deep().await;
    two.rig.look_for(&[tx(1)]);
    two.a.world().reorg(30);
    for _ in 0..40 {
        two.both(|world| world.mine(1));
        for seen in two.rig.all_within(2_000).await {
            let Observation::Sweep(sweep) = seen else {
                panic!("both answer")
            };
            assert_ne!(
                sweep.transactions.get(&tx(1)),
                Some(&TransactionStatus::NotFound),
                "b still has it on its branch"
            );
        }
    }
    assert!(two.health().is_agreed, "on what is below");
    two.a.world().mine(1);
    let branch = two.a.world().canonical.clone();
    two.b.world().canonical = branch;
    two.b.world().receipts.clear();
    let sweep = two.newest().await;
    let status = sweep.transactions.get(&tx(1));
    assert_eq!(status, Some(&TransactionStatus::NotFound), "both left it");
}

#[tokio::test(start_paused = true)]
async fn sw_26_a_level_is_reached_where_both_say_so() {
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
async fn sw_26_one_endpoint_alone_names_no_level() {
    let mut two = Two::start();
    two.a.world().safe_number = Some(35);
    two.b.world().safe_number = None;
    for _ in 0..12 {
        two.both(|world| world.mine(1));
        let sweep = two.newest().await;
        assert_eq!((sweep.safe_number, sweep.finalized), (None, None));
    }
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
