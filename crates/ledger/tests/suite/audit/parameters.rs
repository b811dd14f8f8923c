//! Parameters: which stand in the report, what changed, and what must not be set any more
//! (record.md section 2, ledger-contract.md section 9).

use serde_json::json;
use x811_audit::Report;
use x811_ledger::sequencer::OpenError;
use x811_protocol::evm::{ChainId, EvmAddress};
use x811_protocol::parameters::{PayerBindingRule, UnfitNetwork};

use super::base::{BASE, TOKEN, TREASURY};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::golden::folder;
use super::ledgerbox::Ledgerbox;
use super::resealing::{remarks, resealed};
use super::scene::{Parts, audit, exported, found, pay, settled_and_disputed};

const OTHER_TOKEN: EvmAddress = EvmAddress::from_bytes([0xe6; 20]);

#[tokio::test]
async fn lc_9_the_report_says_by_what_payments_were_decided_and_what_changed() {
    let mut ledgerbox = Ledgerbox::open().await;
    ledgerbox.crash().await;
    ledgerbox.parameters.networks[0].confirmed_depth = 6;
    ledgerbox.parameters.windows.offer_ms = 10_000;
    ledgerbox.parameters.networks[0].treasury = None;
    ledgerbox.start().await.unwrap();
    let report = audit(&exported(&ledgerbox).await);
    let [first, second] = &report.parameters[..] else {
        panic!("{:?}", report.parameters);
    };
    assert_eq!((first.position, first.changes.len()), (1, 0));
    assert_eq!(first.payer_binding, PayerBindingRule::Wallet);
    let network = &first.networks[0];
    assert_eq!((&*network.name, network.token), (BASE, TOKEN));
    assert_eq!(network.chain_id, ChainId::new(8_453));
    assert_eq!(
        (network.confirmed_depth, network.treasury),
        (12, Some(TREASURY))
    );
    let changes = second.changes.iter();
    let changes: Vec<_> = changes
        .map(|change| {
            let (before, after) = (change.before.as_deref(), change.after.as_deref());
            (&*change.member, before, after)
        })
        .collect();
    let treasury = TREASURY.to_string();
    let expected = [
        ("networks.base.confirmed_depth", Some("12"), Some("6")),
        ("networks.base.treasury", Some(&*treasury), None),
        ("windows.offer_ms", Some("60000"), Some("10000")),
    ];
    assert_eq!(changes, expected);
    assert_eq!(remarks(&report), Vec::<&str>::new());
}

/// Rules are named with where they begin: an auditor knows what decided.
#[test]
fn lc_9_the_report_says_which_rules_decided() {
    let log = std::fs::read(folder().join("bundle/log-every-event.x811")).unwrap();
    assert_eq!(rules(&audit(&log)), [(0, 2)]);
}

fn rules(report: &Report) -> Vec<(u64, u64)> {
    let rules = report.rules.iter();
    rules.map(|it| (it.position, it.rules_version)).collect()
}

/// Why the ledger does not start with the networks changed so.
async fn refused(ledgerbox: &mut Ledgerbox, change: impl Fn(&mut Ledgerbox)) -> OpenError {
    let before = ledgerbox.parameters.clone();
    ledgerbox.crash().await;
    change(ledgerbox);
    let records = ledgerbox.records().await.len();
    let error = ledgerbox.start().await.unwrap_err();
    assert_eq!(
        ledgerbox.records().await.len(),
        records,
        "nothing was written"
    );
    ledgerbox.parameters = before;
    ledgerbox.start().await.unwrap();
    error
}

#[tokio::test]
async fn lc_9_networks_that_no_payment_should_be_decided_by_are_refused() {
    let mut ledgerbox = Ledgerbox::open().await;
    let same_name = refused(&mut ledgerbox, |ledgerbox| {
        let networks = &mut ledgerbox.parameters.networks;
        networks.push(networks[0].clone());
    });
    let OpenError::Parameters(fault) = same_name.await else {
        panic!("another error");
    };
    let name = BASE.to_owned();
    assert_eq!(fault, UnfitNetwork::SameName { name: name.clone() });
    assert_eq!(
        fault.to_string(),
        "two networks are called base: give each a name of its own"
    );
    let same_chain = refused(&mut ledgerbox, |ledgerbox| {
        let networks = &mut ledgerbox.parameters.networks;
        networks.push(networks[0].clone());
        "base-2".clone_into(&mut networks[1].name);
    });
    let chain_id = ChainId::new(8_453);
    let error = same_chain.await;
    assert!(
        matches!(&error, OpenError::Parameters(UnfitNetwork::SameChain { chain_id: id }) if *id == chain_id),
        "{error}"
    );
    let no_depth = refused(&mut ledgerbox, |ledgerbox| {
        ledgerbox.parameters.networks[0].confirmed_depth = 0;
    });
    let error = no_depth.await;
    assert!(
        matches!(&error, OpenError::Parameters(UnfitNetwork::NoDepth { name: of }) if *of == name),
        "{error}"
    );
}

#[tokio::test]
async fn lc_9_another_token_under_live_interactions_is_refused() {
    let mut ledgerbox = Ledgerbox::open().await;
    ledgerbox.crash().await;
    ledgerbox.parameters.networks[0].token = OTHER_TOKEN;
    ledgerbox.start().await.unwrap();
    Deal::opened(&ledgerbox, Until::Pending).await;
    for change in [
        |ledgerbox: &mut Ledgerbox| ledgerbox.parameters.networks[0].token = TOKEN,
        |ledgerbox: &mut Ledgerbox| {
            ledgerbox.parameters.networks[0].chain_id = ChainId::new(84_532);
        },
    ] {
        let error = refused(&mut ledgerbox, change).await;
        let OpenError::NetworkInUse {
            network,
            interactions,
        } = &error
        else {
            panic!("{error}");
        };
        assert_eq!((network.as_str(), *interactions), (BASE, 1));
        assert!(
            error
                .to_string()
                .contains("give the new network a name of its own")
        );
    }
}

/// What is over and still watched would be looked for on the other chain, and be reversed.
#[tokio::test]
async fn lc_9_another_chain_under_a_payment_that_is_watched_is_refused() {
    let mut ledgerbox = super::ledgerbox::impatient().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    pay(&mut ledgerbox, &deal, 1, TOTAL_MICRO_USDC).await;
    ledgerbox.watch_ms(8_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    let error = refused(&mut ledgerbox, |ledgerbox| {
        ledgerbox.parameters.networks[0].chain_id = ChainId::new(84_532);
    });
    assert!(matches!(error.await, OpenError::NetworkInUse { .. }));
}

/// A log of an older version, which had them, gets the verdict that it had.
#[tokio::test]
async fn lc_9_what_older_versions_allowed_is_a_remark() {
    let bytes = exported(&settled_and_disputed().await).await;
    let mut parts = Parts::of(&bytes);
    let networks = parts.records[1].member("/networks").as_array_mut().unwrap();
    let mut second = networks[0].clone();
    second["confirmed_depth"] = json!(0);
    networks.push(second);
    let mut third = networks[0].clone();
    third["name"] = json!("base-2");
    networks.push(third);
    let report = audit(&resealed(parts));
    assert_eq!(found(&report), []);
    let said = remarks(&report);
    let expected = [
        "two networks are called base",
        "depth of base is 0",
        "chain id 8453",
    ];
    for (sentence, part) in said.iter().zip(expected) {
        assert!(sentence.contains(part), "{said:?}");
    }
    assert_eq!(said.len(), 3);
    let positions: Vec<u64> = report
        .remarks
        .iter()
        .map(|remark| remark.position)
        .collect();
    assert_eq!(positions, [1, 1, 1]);
}

#[tokio::test]
async fn lc_9_another_token_under_live_interactions_is_a_remark_in_an_old_log() {
    let mut ledgerbox = Ledgerbox::open().await;
    Deal::opened(&ledgerbox, Until::Pending).await;
    ledgerbox.crash().await;
    ledgerbox.parameters.windows.offer_ms = 50_000;
    ledgerbox.start().await.unwrap();
    let mut parts = Parts::of(&exported(&ledgerbox).await);
    let at = parts.records.len() - 1;
    assert_eq!(parts.records[at].event_type(), "parameters_set");
    parts.records[at].member("/networks")[0]["token"] = json!(OTHER_TOKEN);
    let report = audit(&resealed(parts));
    assert_eq!(found(&report), []);
    let said = remarks(&report);
    assert!(
        said.len() == 1 && said[0].starts_with("base got another chain or token"),
        "{said:?}"
    );
}

/// Whoever sets parameters ten thousand times hides no change behind a list that ends.
#[tokio::test]
async fn lc_9_no_change_is_hidden_behind_many() {
    let mut parts = Parts::of(&exported(&Ledgerbox::open().await).await);
    let (first, size) = (parts.records[1].clone(), parts.records.len());
    let seqs = parts.records.iter();
    let seqs = seqs.filter(|kept| kept.draft.stream == "ledger").count();
    for more in 0..1_003_usize {
        let mut record = first.clone();
        record.draft.stream_seq = (seqs + more) as u64;
        record.draft.recorded_at_ms = parts.records[size - 1].draft.recorded_at_ms;
        *record.member("/networks/0/confirmed_depth") = (5 + more % 2).into();
        parts.records.push(record);
    }
    *parts
        .records
        .last_mut()
        .unwrap()
        .member("/networks/0/confirmed_depth") = 1.into();
    let last = parts.records.len() as u64 - 1;
    let report = audit(&parts.rehashed());
    assert_eq!(report.parameters.len(), 1_000);
    let behind: Vec<u64> = (last - 3..=last).collect();
    assert_eq!(report.parameters_left_out_at, behind);
    let in_force = report.parameters_in_force.as_ref().unwrap();
    assert_eq!(
        (in_force.position, in_force.networks[0].confirmed_depth),
        (last, 1)
    );
    let remark = report
        .remarks
        .iter()
        .find(|remark| remark.position == behind[0]);
    assert!(
        remark.unwrap().sentence.contains("1000 records"),
        "{remark:?}"
    );
}
