//! What is told of endpoints and branches, and lies about it: forks, silent
//! endpoints, the quorum, and the log that another one goes on from (ledger-contract.md section 5,
//! machines.md section 1.6, stores.md section 2).

use serde_json::{Value, json};
use x811_audit::Cause;
use x811_protocol::digest::Digest;
use x811_protocol::event::Continues;
use x811_protocol::evm::BlockHash;
use x811_protocol::observation::{
    ForkPoint, Observation, RecordedBranch, Sweep, TransactionStatus,
};

use super::base::{Base, tx};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::{Ledgerbox, impatient};
use super::resealing::{first, remarks, resealed, with};
use super::scene::{Parts, audit, exported, found, honest};

const FORK: &str = "/evidence/0/forked_at";

/// The block below the head that was recorded at the ACCEPT.
fn below(head: u64) -> ForkPoint {
    let block = Base::block(head - 1);
    ForkPoint {
        hash: block.hash,
        number: block.number,
    }
}

/// Looks every second, each look changed.
pub(crate) async fn look_each_second(
    ledgerbox: &Ledgerbox,
    seconds: u64,
    change: impl Fn(&mut Sweep),
) {
    for _ in 0..seconds {
        ledgerbox.advance_ms(1_000).await;
        let number = Base::head_number(ledgerbox.now());
        let Observation::Sweep(mut sweep) = ledgerbox.base.sweep(number, ledgerbox.watched())
        else {
            unreachable!("it is a sweep");
        };
        change(&mut sweep);
        ledgerbox.observe(Observation::Sweep(sweep)).await;
    }
}

/// The same, with that said of a recorded head.
async fn watch(ledgerbox: &Ledgerbox, seconds: u64, head: BlockHash, said: Option<RecordedBranch>) {
    look_each_second(ledgerbox, seconds, |sweep| {
        sweep.followed_from = u64::MAX;
        sweep.recorded = said.map(|branch| (head, branch)).into_iter().collect();
    })
    .await;
}

/// An interaction whose payment lies in the block of the head that was recorded at its ACCEPT, and the
/// height of that.
async fn paid_at_the_head(said: Option<RecordedBranch>) -> (Ledgerbox, Deal, u64) {
    let mut ledgerbox = impatient().await;
    ledgerbox.sweep().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    let head = Base::head_number(ledgerbox.now());
    let payer = deal.account.address;
    ledgerbox.base.mine(tx(1), head, payer, &[TOTAL_MICRO_USDC]);
    ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
    let said = said.map(|branch| match branch {
        RecordedBranch::Forked(_) => RecordedBranch::Forked(below(head)),
        other @ (RecordedBranch::Same | RecordedBranch::Lost) => other,
    });
    watch(&ledgerbox, 4, Base::block(head).hash, said).await;
    (ledgerbox, deal, head)
}

fn anywhere() -> RecordedBranch {
    RecordedBranch::Forked(below(1))
}

#[tokio::test]
async fn lc_5_a_payment_above_the_fork_counts_and_the_audit_agrees() {
    for (said, member) in [
        (anywhere(), FORK),
        (RecordedBranch::Lost, "/evidence/0/fork_unknown"),
    ] {
        let (ledgerbox, deal, head) = paid_at_the_head(Some(said)).await;
        assert_eq!(ledgerbox.state(deal.id()), "completed", "{said:?}");
        let bytes = exported(&ledgerbox).await;
        assert_eq!(found(&audit(&bytes)), [], "{said:?}");
        let at = Parts::of(&bytes).find_event("confirmed") as u64;
        // Without it the payment is older than the ACCEPT.
        let report = with(&bytes, at as usize, &[(member, Value::Null)]);
        let too_old = (at, "evidence[0].block", Cause::NoEvidence);
        assert!(found(&report).contains(&too_old), "{:?}", found(&report));
        // At the block or above it the fork says that it is older, at the head that it is none.
        for number in [head, head + 1] {
            let fork = json!({"hash": Base::block(number).hash, "number": number});
            let changes = [("/evidence/0/fork_unknown", Value::Null), (FORK, fork)];
            let report = with(&bytes, at as usize, &changes);
            let named = (at, "evidence[0].forked_at", Cause::NoEvidence);
            assert!(found(&report).contains(&named), "{:?}", found(&report));
        }
    }
}

/// Nobody is refused, and nobody is paid, by what the watcher has not found out.
#[tokio::test]
async fn lc_5_while_the_fork_is_not_known_the_payment_waits() {
    let (ledgerbox, deal, head) = paid_at_the_head(None).await;
    assert_eq!(ledgerbox.state(deal.id()), "verified");
    let asked = ledgerbox.ledger().world().recorded_in_question("base");
    assert_eq!(
        asked.into_iter().collect::<Vec<_>>(),
        [(head, Base::block(head).hash)]
    );
    watch(
        &ledgerbox,
        1,
        Base::block(head).hash,
        Some(anywhere_below(head)),
    )
    .await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    assert!(
        ledgerbox
            .ledger()
            .world()
            .recorded_in_question("base")
            .is_empty()
    );
    assert_eq!(found(&audit(&exported(&ledgerbox).await)), []);
}

/// Looks are answered while it waits: what is deep enough is neither enough nor too little.
#[tokio::test]
async fn lc_5_looks_at_a_payment_whose_age_is_not_known_are_no_finding() {
    let (ledgerbox, deal, head) = paid_at_the_head(None).await;
    watch(&ledgerbox, 120, Base::block(head).hash, None).await;
    let bytes = exported(&ledgerbox).await;
    Parts::of(&bytes).find_event("looked");
    let report = audit(&bytes);
    assert_eq!(found(&report), [], "{}", ledgerbox.state(deal.id()));
    let said = remarks(&report).concat();
    assert!(
        said.contains("was deep enough and decided on by nobody"),
        "{said}"
    );
}

/// The same of one that too few endpoints have shown.
#[tokio::test]
async fn lc_5_looks_at_a_payment_that_too_few_endpoints_showed_are_no_finding() {
    let mut parameters = super::ledgerbox::parameters();
    parameters.networks[0].endpoint_quorum = Some(2);
    let mut ledgerbox = Ledgerbox::with(parameters).await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    super::scene::pay(&mut ledgerbox, &deal, 1, TOTAL_MICRO_USDC).await;
    look_each_second(&ledgerbox, 120, |sweep| {
        for status in sweep.transactions.values_mut() {
            if let TransactionStatus::Mined(mined) = status {
                mined.endpoints.truncate(1);
            }
        }
    })
    .await;
    assert_eq!(ledgerbox.state(deal.id()), "verified");
    let bytes = exported(&ledgerbox).await;
    Parts::of(&bytes).find_event("looked");
    let report = audit(&bytes);
    assert_eq!(found(&report), [], "{}", ledgerbox.state(deal.id()));
    let said = remarks(&report).concat();
    assert!(
        said.contains("was deep enough and decided on by nobody"),
        "{said}"
    );
}

fn anywhere_below(head: u64) -> RecordedBranch {
    RecordedBranch::Forked(below(head))
}

/// A reorganisation takes the head away that made it older, and the watcher's blocks are lost: it is not older for
/// having been refuted before.
#[tokio::test]
async fn lc_5_what_was_refuted_as_older_counts_once_its_head_is_gone() {
    for said in [anywhere(), RecordedBranch::Lost] {
        let (ledgerbox, deal, head) = paid_at_the_head(Some(RecordedBranch::Same)).await;
        assert!(ledgerbox.types(deal.id()).await.contains(&"refuted"));
        let hash = Base::block(head).hash;
        let asked = ledgerbox.ledger().world().recorded_in_question("base");
        assert_eq!(asked.into_iter().collect::<Vec<_>>(), [(head, hash)]);
        let said = match said {
            RecordedBranch::Forked(_) => anywhere_below(head),
            other @ (RecordedBranch::Same | RecordedBranch::Lost) => other,
        };
        watch(&ledgerbox, 4, hash, Some(said)).await;
        assert_eq!(ledgerbox.state(deal.id()), "completed", "{said:?}");
        assert_eq!(found(&audit(&exported(&ledgerbox).await)), []);
    }
}

#[tokio::test]
async fn lc_5_a_refutation_as_older_names_no_unknown_fork() {
    let (ledgerbox, deal, _) = paid_at_the_head(Some(RecordedBranch::Same)).await;
    assert_eq!(ledgerbox.state(deal.id()), "verified");
    let bytes = honest(&ledgerbox).await;
    first(&bytes, "refuted")
        .set("/evidence/fork_unknown", json!(true))
        .finds("cause", Cause::ReDecisionDiffers);
}

#[tokio::test]
async fn lc_5_a_fork_without_a_recorded_head_above_it_is_found() {
    let bytes = exported(&super::scene::settled_and_disputed().await).await;
    let fork = json!({"hash": Base::block(1).hash, "number": 1});
    first(&bytes, "confirmed")
        .set(FORK, fork)
        .finds("evidence[0].forked_at", Cause::NoEvidence);
}

#[tokio::test]
async fn lc_5_evidence_by_fewer_endpoints_than_must_agree_is_found() {
    let mut parameters = super::ledgerbox::parameters();
    parameters.networks[0].endpoint_quorum = Some(2);
    let mut ledgerbox = Ledgerbox::with(parameters).await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    super::scene::pay(&mut ledgerbox, &deal, 1, TOTAL_MICRO_USDC).await;
    ledgerbox.watch_ms(60_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    let bytes = honest(&ledgerbox).await;
    first(&bytes, "confirmed")
        .set("/evidence/0/endpoints", json!(["one"]))
        .finds("evidence[0].endpoints", Cause::NoEvidence);
    // The way out of the operator is in the report.
    let at = Parts::of(&bytes).find_event("parameters_set");
    let report = with(&bytes, at, &[("/networks/0/endpoint_quorum", json!(1))]);
    assert_eq!(report.parameters[0].networks[0].endpoint_quorum, Some(1));
}

#[tokio::test]
async fn lc_5_blindness_names_the_silent_endpoints_once_and_in_order() {
    let ledgerbox = impatient().await;
    ledgerbox.sweep().await;
    let unreachable = Observation::Unreachable {
        network: "base".to_owned(),
        cause: x811_protocol::observation::BlindCause::WrongChain,
        silent: vec!["two".to_owned(), "one".to_owned(), "two".to_owned()],
    };
    ledgerbox.observe(unreachable).await;
    let bytes = honest(&ledgerbox).await;
    let mut parts = Parts::of(&bytes);
    let at = parts.find_event("network_blind");
    assert_eq!(*parts.records[at].member("/silent"), json!(["one", "two"]));
    for bad in [json!(["two", "one"]), json!(["one", "one"]), Value::Null] {
        let report = with(&bytes, at, &[("/silent", bad.clone())]);
        assert!(!found(&report).is_empty(), "{bad}");
    }
}

#[tokio::test]
async fn mach_1_a_log_may_go_on_from_another_one() {
    let bytes = exported(&impatient().await).await;
    let parts = Parts::of(&bytes);
    let own = parts.clone().records[0].member("/origin").clone();
    let reopened = |origin: &Value, size: u64| {
        let mut parts = parts.clone();
        let continues = Continues {
            origin: origin.as_str().unwrap().to_owned(),
            root: Digest::of(b"the last root"),
            size,
        };
        parts.records[0].draft.event["continues"] = json!(continues);
        parts.header.opened.continues = Some(continues);
        audit(&resealed(parts))
    };
    let report = reopened(&json!("before.example/x811"), 7);
    assert_eq!(found(&report), []);
    let said = remarks(&report).concat();
    assert!(
        said.contains("goes on from before.example/x811 with 7 records"),
        "{said}"
    );
    for (origin, size) in [(&own, 7), (&json!("before.example/x811"), 0)] {
        assert!(
            !found(&reopened(origin, size)).is_empty(),
            "{origin} {size}"
        );
    }
}
