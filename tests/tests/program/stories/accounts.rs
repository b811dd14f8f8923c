//! `x811 provider paid` where a payment is refused, and of all that a provider worked for.

use alloy::sol_types::SolCall;
use serde_json::{Value, json};
use x811_tests::anvil::{BASE_USDC, DEV_KEYS, usdc};
use x811_tests::binary::{Server, run};

use super::stage::Stage;

/// The development account with the token's roles.
const OPERATOR_KEY: &str = DEV_KEYS[9];

/// What is due for one delivery, in micro-USDC.
const TOTAL_MICRO_USDC: u64 = 29_725;

async fn operate<C: SolCall>(stage: &Stage, call: &C) {
    let sent = stage.anvil.send(OPERATOR_KEY, BASE_USDC, call).await;
    assert!(stage.anvil.receipt(sent).await.status(), "{}", C::SIGNATURE);
}

/// A transfer that is mined and fails is declared, and refuted once it is deep.
async fn fail<C: SolCall, D: SolCall>(stage: &Stage, bert: &str, stop: &C, go: &D) -> Value {
    let interaction = stage.deliver(bert);
    let payee = stage.payee(&interaction);
    operate(stage, stop).await;
    let payer = stage.wallet_key("ada");
    let sent = stage
        .anvil
        .transfer(&payer, BASE_USDC, payee, TOTAL_MICRO_USDC)
        .await;
    assert!(!stage.anvil.receipt(sent).await.status());
    // What was so in its block counts, not what is so when it is looked at.
    operate(stage, go).await;
    let sent = sent.to_string();
    let payment = ["send", "payment", &interaction, "--tx", &sent];
    let _ = stage.x811("ada", &payment).ok();
    stage.anvil.mine(12).await;
    stage.until_recorded(&interaction, "\"refuted\"").await;
    let paid = stage.x811("bert", &["provider", "paid", &interaction]);
    assert_eq!(paid.code, Some(10), "another PAYMENT may come: {paid:?}");
    paid.json()
}

#[tokio::test]
async fn rule_29_the_provider_is_told_why_a_payment_reverted() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let paused = fail(&stage, &bert, &usdc::pauseCall {}, &usdc::unpauseCall {}).await;
    let standing = &paused["standing"];
    assert_eq!(standing["kind"], "refused", "{paused}");
    assert_eq!(standing["reason"], "token_paused", "{paused}");
    assert_eq!(standing["code"], "X811-5003", "{paused}");
    let account = paused["payee"].as_str().unwrap().parse().unwrap();
    let stop = usdc::blacklistCall { account };
    let refused = fail(&stage, &bert, &stop, &usdc::unBlacklistCall { account }).await;
    assert_eq!(refused["standing"]["reason"], "payee_blacklisted");
    let sentence = refused["sentence"].as_str().unwrap();
    assert!(
        sentence.starts_with("refused because it reverted: the payee was blacklisted: 0x"),
        "{sentence}"
    );
    let report = stage.audit();
    assert_eq!(report["verdict"], "clean", "{report}");
}

#[tokio::test]
async fn a_provider_sees_all_it_worked_for_and_what_that_adds_up_to() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let none = stage.x811("bert", &["provider", "paid"]).ok().json();
    assert_eq!(none["interactions"], json!([]));
    let paid = stage.deliver(&bert);
    let _ = stage.pay(&paid);
    let decided = stage.until_decided(&paid).await;
    assert_eq!(decided.code, Some(0), "{decided:?}");
    let unpaid = stage.deliver(&bert);
    let wanted = [
        "send",
        "request",
        "--to",
        &bert,
        "--task",
        "echo",
        "--budget",
        "0.05",
        "--deadline",
        "60",
    ];
    let wanted = stage.x811("ada", &wanted).ok().json();

    let all = stage.x811("bert", &["provider", "paid"]).ok().json();
    let listed: Vec<(&Value, &Value, &Value)> = all["interactions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                &one["interaction_id"],
                &one["paid"],
                &one["standing"]["kind"],
            )
        })
        .collect();
    assert_eq!(listed.len(), 3, "{all}");
    assert_eq!((listed[0].0, listed[0].1), (&json!(paid), &json!("yes")));
    assert_eq!(
        listed[1],
        (&json!(unpaid), &json!("not_yet"), &json!("not_declared"))
    );
    assert_eq!(
        listed[2],
        (
            &wanted["interaction_id"],
            &json!("not_yet"),
            &json!("not_due")
        )
    );
    assert_eq!(
        all["total"],
        json!({
            "paid": 1, "not_yet": 2, "no": 0,
            "due_micro_usdc": (2 * TOTAL_MICRO_USDC).to_string(),
            "paid_micro_usdc": TOTAL_MICRO_USDC.to_string(),
        })
    );
    assert_eq!(all["unverified"], 0);

    let newest = stage.x811("bert", &["provider", "paid", "--last", "1"]);
    let newest = newest.ok().json();
    assert_eq!(newest["interactions"].as_array().unwrap().len(), 1);
    assert_eq!(newest["interactions"][0]["standing"]["kind"], "not_due");
    // Who provides nothing has nothing to be paid for.
    let none = stage.x811("ada", &["provider", "paid"]).ok().json();
    assert_eq!(none["total"]["paid"], 0, "{none}");

    assert_eq!(read_by_people(&stage, &paid), listed.len());
}

/// How many lines name an interaction, when people read it.
fn read_by_people(stage: &Stage, paid: &str) -> usize {
    let home = stage.folder.path().join("home");
    let url = stage.server.as_ref().map(Server::url).unwrap();
    let home = home.to_str().unwrap();
    let table = run(&[
        "--ledger", url, "--home", home, "--agent", "bert", "provider", "paid",
    ])
    .ok()
    .stdout;
    let line = table.lines().find(|line| line.contains(paid)).unwrap();
    assert!(
        line.contains("PAID") && line.contains("0.029725"),
        "{table}"
    );
    let sums = "3 interactions: 1 paid, 2 not yet, 0 no; 0.029725 of 0.05945 USDC that are due";
    assert!(table.contains(sums), "{table}");
    let interactions = table.lines().skip(1);
    interactions.take_while(|line| !line.is_empty()).count()
}
