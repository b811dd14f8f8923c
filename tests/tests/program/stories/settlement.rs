//! Was the provider paid? Paid in full, never paid, and paid too little.

use super::stage::Stage;
use super::undeclared;
use x811_tests::anvil::{BASE_USDC, DEV_KEYS, usdc};

/// The retry schedule, shortened at start as the demo does.
const SHORT: [&str; 4] = [
    "--confirmation-ms",
    "5000",
    "--looks-ms",
    "2000,2000,2000,2000",
];

#[tokio::test]
async fn ae_017_a_real_transfer_completes_the_interaction() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let interaction = stage.deliver(&bert);
    let before = stage.x811("bert", &["provider", "paid", &interaction]);
    assert_eq!(before.code, Some(10), "nothing is paid yet: {before:?}");

    let payment = stage.pay(&interaction);
    let paid = stage.until_decided(&interaction).await;

    assert_eq!(paid.code, Some(0), "{paid:?}");
    assert!(
        paid.stdout.contains("0x"),
        "the answer names the transaction: {paid:?}"
    );
    let report = stage.audit();
    assert_eq!(report["verdict"], "clean", "{payment} {report}");
    assert_eq!(report["interactions"]["completed"], 1);
    assert_eq!(report["read_model"]["not_compared"], 0);
    let envelopes = report["envelopes"].as_u64().unwrap();
    assert_eq!(report["signatures_valid"].as_u64(), Some(envelopes));
    assert_eq!(report["facts"]["proven"].as_u64(), Some(envelopes));
}

/// The transfer says what it pays, on the chain and in the PAYMENT.
#[tokio::test]
async fn sw_18_a_payment_is_authorised_for_its_interaction() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let interaction = stage.deliver(&bert);
    let payment = stage.pay(&interaction);
    assert_eq!(payment["origin"], "signed", "{payment}");
    let nonce = payment["authorization_nonce"].as_str().unwrap();
    let tx_hash = payment["tx_hash"].as_str().unwrap().parse().unwrap();
    let receipt = stage.anvil.receipt(tx_hash).await;
    let used = receipt.logs()[0]
        .log_decode_validate::<usdc::AuthorizationUsed>()
        .unwrap();
    assert_eq!(used.inner.nonce.to_string(), format!("0x{nonce}"));
    let paid = stage.until_decided(&interaction).await;
    assert_eq!(paid.code, Some(0), "{paid:?}");
}

/// Whoever lost the file of a transfer that was sent does not pay again: the token knows.
#[tokio::test]
async fn sw_18_a_transfer_whose_file_is_lost_is_found_and_declared() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let interaction = stage.deliver(&bert);
    let rpc_url = stage.anvil.rpc_url();
    let lost = undeclared::pay(&stage, &interaction).await;
    let purse = stage.anvil.balance(BASE_USDC, lost.payer).await;

    let found = stage.x811("ada", &["pay", &interaction, "--rpc", &rpc_url]);

    let found = found.ok().json();
    assert_eq!(found["origin"], "found", "{found}");
    assert_eq!(found["tx_hash"], lost.tx_hash.to_string());
    assert_eq!(stage.anvil.balance(BASE_USDC, lost.payer).await, purse);
    let paid = stage.until_decided(&interaction).await;
    assert_eq!(paid.code, Some(0), "{paid:?}");
}

#[tokio::test]
async fn a_plain_transfer_is_made_where_it_is_asked_for() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let interaction = stage.deliver(&bert);
    let rpc_url = stage.anvil.rpc_url();
    let arguments = ["pay", &interaction, "--rpc", &rpc_url, "--plain-transfer"];
    let payment = stage.x811("ada", &arguments).ok().json();
    assert!(payment.get("authorization_nonce").is_none(), "{payment}");
    let paid = stage.until_decided(&interaction).await;
    assert_eq!(paid.code, Some(0), "{paid:?}");
}

/// Both endpoints are the same chain; the evidence names whoever said so.
#[tokio::test]
async fn rule_26_two_endpoints_that_agree_are_named_in_the_evidence() {
    let (stage, bert) = Stage::peopled(&["--second-rpc-url", "{rpc}"]).await;
    let interaction = stage.deliver(&bert);
    let _ = stage.pay(&interaction);
    let paid = stage.until_decided(&interaction).await;
    assert_eq!(paid.code, Some(0), "{paid:?}");
    let history = stage.x811("bert", &["history", &interaction]).ok();
    assert!(history.stdout.contains("rpc-2"), "{history:?}");
    let status = stage.x811("", &["status"]).ok().json();
    let endpoints = status["networks"][0]["endpoints"].as_array().unwrap();
    assert_eq!(endpoints.len(), 2, "{status}");
    for endpoint in endpoints {
        assert_eq!(endpoint["state"], "good", "{status}");
        assert_eq!(endpoint["disagreements"], 0, "{status}");
    }
}

#[tokio::test]
async fn sw_23_a_reorg_while_the_ledger_is_down_is_noticed_at_its_start() {
    let (mut stage, bert) = Stage::peopled(&["--confirmed-depth", "40"]).await;
    let interaction = stage.deliver(&bert);
    stage.anvil.mine(12).await;
    let _ = stage.pay(&interaction);
    stage.until_recorded(&interaction, "\"seen\"").await;
    let payment = stage.payment(&interaction);
    stage.kill();
    stage.anvil.reorg_from(payment).await;
    stage.start();
    stage.until_recorded(&interaction, "\"unseen\"").await;
    let endpoint = &stage.x811("", &["status"]).ok().json()["networks"][0]["endpoints"][0];
    assert_eq!(endpoint["state"], "good", "{endpoint}");
}

#[tokio::test]
async fn ae_105_a_payment_that_never_comes_ends_in_dispute() {
    let (stage, bert) = Stage::peopled(&SHORT).await;
    let interaction = stage.deliver(&bert);
    let nothing = format!("0x{}", "ab".repeat(32));
    let _ = stage
        .x811("ada", &["send", "payment", &interaction, "--tx", &nothing])
        .ok();

    let paid = stage.until_decided(&interaction).await;

    assert_eq!(paid.code, Some(11), "{paid:?}");
    assert!(paid.stdout.contains("X811-5030"), "{paid:?}");
    let history = stage.x811("bert", &["history", &interaction]).ok();
    assert_eq!(
        history.stdout.matches("\"looked\"").count(),
        4,
        "{history:?}"
    );
    let report = stage.audit();
    assert_eq!(report["interactions"]["disputed"], 1);
    let observations = &report["observations"];
    assert_eq!(observations["records"]["looked_not_found"], 4, "{report}");
}

#[tokio::test]
async fn ax_017_a_payment_that_is_too_small_is_refuted_and_disputed() {
    let (stage, bert) = Stage::peopled(&SHORT).await;
    let interaction = stage.deliver(&bert);
    let payee = stage.payee(&interaction);
    let payer = stage.wallet_key("ada");
    let short = stage.anvil.transfer(&payer, BASE_USDC, payee, 10_000).await;
    let short = short.to_string();
    let _ = stage
        .x811("ada", &["send", "payment", &interaction, "--tx", &short])
        .ok();

    let paid = stage.until_decided(&interaction).await;

    assert_eq!(paid.code, Some(11), "{paid:?}");
    assert!(paid.stdout.contains("X811-5001"), "{paid:?}");
    let report = stage.audit();
    assert_eq!(report["verdict"], "clean", "{report}");
    assert_eq!(report["interactions"]["disputed"], 1);
}

#[tokio::test]
async fn rule_18_a_strangers_transfer_cannot_be_claimed() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let interaction = stage.deliver(&bert);
    let payee = stage.payee(&interaction);
    stage
        .anvil
        .mint(
            BASE_USDC,
            x811_tests::anvil::Anvil::dev_account(3).address(),
            29_725,
        )
        .await;
    let strangers = stage
        .anvil
        .transfer(DEV_KEYS[3], BASE_USDC, payee, 29_725)
        .await;
    let stranger = x811_tests::anvil::Anvil::dev_account(3)
        .address()
        .to_checksum(None);
    let payment = [
        "send",
        "payment",
        &interaction,
        "--tx",
        &strangers.to_string(),
    ];
    let refused = stage.x811("ada", &[&payment[..], &["--payer", &stranger]].concat());
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stdout.contains("X811-5002"), "{refused:?}");
}
