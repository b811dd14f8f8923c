//! What an auditor's endpoint says of evidence (settlement-watcher.md rules 11 to 15, 25, 26).

#![expect(clippy::unwrap_used, reason = "a harness stops the test at once")]

use std::collections::BTreeMap;

use x811_protocol::digest::Digest;
use x811_protocol::event::{Evidence, Level, PayerBinding};
use x811_protocol::evm::{BlockHash, EvmAddress};
use x811_protocol::money::MicroUsdc;
use x811_protocol::settlement::Fit;
use x811_watcher::{Shown, SourceError, Testimony, Witness};

use super::scripted::{CHAIN_ID, ScriptedChain, TOKEN, refused, tx, unreachable};

const PAID: u64 = 29_725;
const NONCE: Digest = Digest::from_bytes([7; 32]);

/// A chain with a payment under an authorization, ten blocks deep, and honest evidence of it.
fn paid() -> (ScriptedChain, Evidence) {
    let chain = ScriptedChain::with_blocks(20);
    let mut world = chain.world();
    world.pay(tx(1), PAID);
    world.authorize(tx(1), NONCE);
    let (block, receipt) = (world.head().block(), world.receipts[&tx(1)].clone());
    world.mine(9);
    drop(world);
    let evidence = Evidence {
        network: "base".to_owned(),
        tx_hash: tx(1),
        block,
        depth: 10,
        level: Level::Confirmed,
        endpoints: vec!["rpc".to_owned()],
        transfers: receipt.transfers,
        transfer_count: 1,
        forked_at: None,
        fork_unknown: false,
    };
    (chain, evidence)
}

async fn testimony(chain: &ScriptedChain, evidence: &Evidence, stands: bool) -> Testimony {
    let mut witness = Witness::call(chain.clone()).await.unwrap();
    assert_eq!(witness.chain_id(), CHAIN_ID);
    let shown = Shown::of(evidence, TOKEN, stands.then_some(evidence.block));
    let mut testimonies = witness.examine(&[shown]).await.unwrap();
    testimonies.pop().unwrap()
}

/// The members that differ.
fn members(testimony: Testimony) -> Vec<String> {
    let Testimony::Differs(found) = testimony else {
        panic!("{testimony:?}");
    };
    found.into_iter().map(|it| it.member).collect()
}

#[tokio::test(start_paused = true)]
async fn sw_13_to_15_every_member_of_evidence_is_compared() {
    let (chain, honest) = paid();
    assert_eq!(testimony(&chain, &honest, true).await, Testimony::Same);
    let stranger = EvmAddress::from_bytes([9; 20]);
    type Change = fn(&mut Evidence, EvmAddress);
    let table: [(&str, Change); 9] = [
        ("tx_hash", |it, _| it.tx_hash = tx(2)),
        ("block", |it, _| it.block.number -= 1),
        ("block", |it, _| {
            it.block.hash = BlockHash::from_bytes([3; 32])
        }),
        ("block", |it, _| it.block.timestamp_s += 1),
        ("transfer_count", |it, _| it.transfer_count = 2),
        ("transfers[0]", |it, _| it.transfers[0].ordinal = 1),
        ("transfers[0].from", |it, who| it.transfers[0].from = who),
        ("transfers[0].to", |it, who| it.transfers[0].to = who),
        ("transfers[0].authorization_nonce", |it, _| {
            it.transfers[0].authorization_nonce = Some(Digest::from_bytes([8; 32]));
        }),
    ];
    for (member, change) in table {
        let mut evidence = honest.clone();
        change(&mut evidence, stranger);
        assert_eq!(members(testimony(&chain, &evidence, true).await), [member]);
    }
    let mut evidence = honest.clone();
    evidence.transfers[0].amount = MicroUsdc::from_micro_usdc(PAID + 1).unwrap();
    let Testimony::Differs(found) = testimony(&chain, &evidence, true).await else {
        panic!("a micro-USDC too much goes through");
    };
    let sentence = "the chain says 0.029725 USDC, the record says 0.029726 USDC";
    assert_eq!(found[0].sentence, sentence);
}

/// What pays: the payer's transfers to the payee, and these nonces.
fn fit(binding: PayerBinding, payment_nonce: Digest) -> Fit {
    Fit {
        binding,
        fee_nonce: Digest::from_bytes([6; 32]),
        payee: EvmAddress::from_bytes([2; 20]),
        payer: EvmAddress::from_bytes([1; 20]),
        payment_nonce,
        treasury: None,
    }
}

/// The nonce of the very transfer that is shown, not of any in the transaction.
#[tokio::test(start_paused = true)]
async fn sw_18_the_transfers_own_nonce_is_compared() {
    use PayerBinding::{Authorization, Unchecked, Wallet};
    let elsewhere = Digest::from_bytes([8; 32]);
    let own = ["transfers[0].authorization_nonce"];
    // How the payer is bound, what stands for this payment, whether the transfer carries `NONCE`.
    for (binding, nonce, is_under, expected) in [
        (Authorization, NONCE, true, Some(&[][..])),
        (Authorization, NONCE, false, Some(&own[..])),
        (Authorization, elsewhere, true, Some(&own[..])),
        (Wallet, NONCE, true, Some(&[])),
        (Wallet, NONCE, false, Some(&[])),
        (Wallet, elsewhere, true, None),
        (Unchecked, elsewhere, true, None),
    ] {
        let (chain, evidence) = paid();
        if !is_under {
            let mut world = chain.world();
            world
                .receipts
                .get_mut(&tx(1))
                .unwrap()
                .authorizations
                .clear();
        }
        let shown = Shown {
            fit: Some(fit(binding, nonce)),
            ..Shown::of(&evidence, TOKEN, Some(evidence.block))
        };
        let mut witness = Witness::call(chain).await.unwrap();
        let said = witness.examine(&[shown]).await.unwrap().pop().unwrap();
        let label = format!("{binding:?} {nonce} {is_under}: {said:?}");
        match expected {
            None => assert!(
                matches!(&said, Testimony::Unknown(why) if why.contains("something else")),
                "{label}"
            ),
            Some([]) => assert_eq!(said, Testimony::Same, "{label}"),
            Some(expected) => assert_eq!(members(said), expected, "{label}"),
        }
    }
}

/// A payment that is said to pay nobody, or too little, and moved more than is shown.
#[tokio::test(start_paused = true)]
async fn sw_14_a_transfer_that_the_record_leaves_out_is_named() {
    let elsewhere = Digest::from_bytes([8; 32]);
    for (nonce, shows_all, expected) in [
        (NONCE, true, &["transfers"][..]),
        (NONCE, false, &[]),
        (elsewhere, true, &[]),
    ] {
        let (chain, mut evidence) = paid();
        evidence.transfers = Vec::new();
        let shown = Shown {
            fit: Some(fit(PayerBinding::Wallet, nonce)),
            shows_all,
            is_followed: false,
            ..Shown::of(&evidence, TOKEN, Some(evidence.block))
        };
        let mut witness = Witness::call(chain).await.unwrap();
        let said = witness.examine(&[shown]).await.unwrap().pop().unwrap();
        match expected {
            [] => assert_eq!(said, Testimony::Same),
            expected => assert_eq!(members(said), expected),
        }
    }
}

/// The log says no more of what did not pay: where it is since a reorganisation is no difference,
/// what it was in the block that was recorded is.
#[tokio::test(start_paused = true)]
async fn sw_24_a_reorganisation_after_a_refutation_is_no_difference() {
    type Change = fn(&ScriptedChain);
    let table: [(Change, bool); 4] = [
        (|chain| chain.world().reorg(12), true),
        (
            |chain| {
                let mut world = chain.world();
                world.reorg(12);
                world.pay(tx(1), PAID);
            },
            true,
        ),
        (
            |chain| {
                let mut world = chain.world();
                world.reorg(12);
                world.pay(tx(1), PAID);
                world.receipts.get_mut(&tx(1)).unwrap().succeeded = false;
            },
            true,
        ),
        (|_| {}, false),
    ];
    for (change, has_moved) in table {
        let (chain, mut evidence) = paid();
        evidence.transfers = Vec::new();
        change(&chain);
        let shown = Shown {
            has_reverted: Some(true),
            is_followed: false,
            ..Shown::of(&evidence, TOKEN, Some(evidence.block))
        };
        let mut witness = Witness::call(chain).await.unwrap();
        let said = witness.examine(&[shown]).await.unwrap().pop().unwrap();
        match has_moved {
            true => assert!(
                matches!(&said, Testimony::Unknown(why) if why.contains("reorganisation")),
                "{said:?}"
            ),
            false => assert_eq!(
                members(said),
                ["tx_hash"],
                "it succeeded in that very block"
            ),
        }
    }
}

/// The evidence that a payment reverted.
#[tokio::test(start_paused = true)]
async fn sw_12_a_transaction_that_is_said_to_have_failed_did() {
    let (chain, paid) = paid();
    let evidence = Evidence {
        transfers: Vec::new(),
        transfer_count: 0,
        ..paid
    };
    let shown = Shown {
        has_reverted: Some(true),
        ..Shown::of(&evidence, TOKEN, Some(evidence.block))
    };
    let mut witness = Witness::call(chain.clone()).await.unwrap();
    let mut said = witness.examine(&[shown]).await.unwrap();
    assert_eq!(members(said.pop().unwrap()), ["tx_hash"], "it paid");
    {
        let mut world = chain.world();
        let receipt = world.receipts.get_mut(&tx(1)).unwrap();
        (receipt.succeeded, receipt.transfers) = (false, Vec::new());
        receipt.authorizations.clear();
    }
    let said = witness.examine(&[shown]).await.unwrap();
    assert_eq!(said, [Testimony::Same]);
}

#[tokio::test(start_paused = true)]
async fn sw_12_a_transaction_that_failed_moved_nothing() {
    let (chain, evidence) = paid();
    {
        let mut world = chain.world();
        let receipt = world.receipts.get_mut(&tx(1)).unwrap();
        (receipt.succeeded, receipt.transfers) = (false, Vec::new());
    }
    assert_eq!(
        members(testimony(&chain, &evidence, true).await),
        ["tx_hash"]
    );
}

#[tokio::test(start_paused = true)]
async fn sw_24_what_a_reorganisation_took_back_is_gone_or_has_returned() {
    let (chain, evidence) = paid();
    chain.world().reorg(12);
    assert_eq!(testimony(&chain, &evidence, false).await, Testimony::Gone);
    let differing = members(testimony(&chain, &evidence, true).await);
    assert_eq!(
        differing,
        ["tx_hash"],
        "the log still says that it is there"
    );

    chain.world().pay(tx(1), PAID);
    let back = testimony(&chain, &evidence, false).await;
    assert_eq!(
        back,
        Testimony::Same,
        "in another block, as was to be expected"
    );
    assert_eq!(members(testimony(&chain, &evidence, true).await), ["block"]);
}

#[tokio::test(start_paused = true)]
async fn sw_25_an_endpoint_that_cannot_tell_is_no_witness() {
    type Change = fn(&ScriptedChain);
    let table: [(Change, &str); 4] = [
        (
            |chain| {
                let mut world = chain.world();
                world.lag_blocks = 15;
                world.receipts.clear();
            },
            "is at block 13",
        ),
        (
            |chain| {
                chain.world().too_large.insert(tx(1));
            },
            "too long",
        ),
        (
            |chain| {
                chain.world().denied.insert(tx(1));
            },
            "logs but no receipt",
        ),
        (
            |chain| {
                let mut world = chain.world();
                world.receipts.get_mut(&tx(1)).unwrap().block_hash = BlockHash::from_bytes([3; 32]);
            },
            "does not hold",
        ),
    ];
    for (change, why) in table {
        let (chain, evidence) = paid();
        change(&chain);
        let said = testimony(&chain, &evidence, true).await;
        assert!(
            matches!(&said, Testimony::Unknown(said) if said.contains(why)),
            "{why}: {said:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_is_asked_again_before_it_is_given_up() {
    let (chain, evidence) = paid();
    let mut witness = Witness::call(chain.clone()).await.unwrap();
    let shown = [Shown::of(&evidence, TOKEN, Some(evidence.block))];
    chain.world().failure = Some(unreachable());
    let healed = chain.clone();
    tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        healed.world().failure = None;
    });
    assert_eq!(witness.examine(&shown).await, Ok(vec![Testimony::Same]));
    for failure in [unreachable(), refused()] {
        chain.world().failure = Some(failure.clone());
        let answer: Result<_, SourceError> = witness.examine(&shown).await;
        assert_eq!(answer, Err(failure));
    }
}

#[tokio::test(start_paused = true)]
async fn many_are_answered_in_their_order() {
    let chain = ScriptedChain::with_blocks(3);
    let mut all = BTreeMap::new();
    for byte in 1..=100 {
        let mut world = chain.world();
        world.mine(1);
        world.pay(tx(byte), u64::from(byte));
        all.insert(
            byte,
            (world.head().block(), world.receipts[&tx(byte)].clone()),
        );
    }
    let (_, honest) = paid();
    let evidence: Vec<Evidence> = all
        .iter()
        .map(|(byte, (block, receipt))| Evidence {
            tx_hash: tx(*byte),
            block: *block,
            transfers: receipt.transfers.clone(),
            transfer_count: if byte % 10 == 0 { 2 } else { 1 },
            ..honest.clone()
        })
        .collect();
    let shown: Vec<Shown<'_>> = evidence
        .iter()
        .map(|evidence| Shown::of(evidence, TOKEN, Some(evidence.block)))
        .collect();
    let mut witness = Witness::call(chain.clone()).await.unwrap();
    let testimonies = witness.examine(&shown).await.unwrap();
    let differ: Vec<usize> = testimonies
        .iter()
        .enumerate()
        .filter(|(_, testimony)| **testimony != Testimony::Same)
        .map(|(place, _)| place + 1)
        .collect();
    assert_eq!(differ, [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
    assert_eq!(chain.world().calls.receipt_batches, 1);
}

/// What paid below the head recorded at its ACCEPT counts only where that is on another branch.
#[tokio::test]
async fn lc_5_a_recorded_head_that_is_on_the_branch_after_all_is_a_difference() {
    let (chain, evidence) = paid();
    let mut witness = Witness::call(chain.clone()).await.unwrap();
    let head = chain.world().head().block();
    for (hash, is_found) in [(head.hash, true), (evidence.block.hash, false)] {
        let shown = Shown {
            parted: Some((head.number, hash)),
            ..Shown::of(&evidence, TOKEN, Some(evidence.block))
        };
        let testimony = witness.examine(&[shown]).await.unwrap().remove(0);
        let is_differing = matches!(&testimony, Testimony::Differs(found)
            if found.iter().any(|it| it.member == "forked_at"));
        assert_eq!(is_differing, is_found, "{testimony:?}");
    }
}
