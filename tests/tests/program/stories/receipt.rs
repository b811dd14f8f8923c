//! A receipt is handed to somebody who has nothing but the file and the ledger's key.

use super::stage::{Stage, text};
use serde_json::Value;
use x811_tests::binary::{Finished, run};

/// What the receipt of one interaction may weigh.
const MAX_BYTES: u64 = 9_000;

fn verify(file: &str, vkey: &str) -> Finished {
    run(&["--json", "receipt", "verify", file, "--key", vkey])
}

#[tokio::test]
async fn a_payment_is_proven_to_a_stranger_offline() {
    let (mut stage, bert) = Stage::peopled(&[]).await;
    let interaction = stage.deliver(&bert);
    let too_early = stage.x811("bert", &["receipt", &interaction]);
    assert_eq!(too_early.code, Some(1), "{too_early:?}");
    let payment = stage.pay(&interaction);
    let paid = stage.until_decided(&interaction).await;
    assert_eq!(paid.code, Some(0), "{paid:?}");

    let file = stage.data_dir().with_extension("receipt.json");
    let file = file.to_str().unwrap();
    let kept = stage.x811("bert", &["receipt", &interaction, "-o", file]);
    let kept = kept.ok().json();
    assert!(kept["bytes"].as_u64().unwrap() < MAX_BYTES, "{kept}");
    let folder = stage.data_dir().with_extension("tiles");
    stage.kill();
    let data_dir = stage.data_dir();
    let export = ["--json", "export", data_dir.to_str().unwrap(), "--tiles"];
    let exported = run(&[&export[..], &[folder.to_str().unwrap()]].concat());
    let vkey = text(&exported.ok().json(), "vkey");

    let verified = verify(file, &vkey).ok().json();
    let verdict_of = |about: &str| {
        let steps = verified["steps"].as_array().unwrap();
        let step = steps.iter().find(|step| step["about"] == about);
        step.map(|step| step["verdict"].clone())
    };
    for about in [
        "checkpoint",
        "issuer",
        "standing",
        "record",
        "messages",
        "terms",
        "payee",
    ] {
        assert_eq!(verdict_of(about), Some(Value::from("proven")), "{about}");
    }
    assert_eq!(verdict_of("transfers"), Some(Value::from("asserted")));
    assert_eq!(verdict_of("reversal"), Some(Value::from("not_checked")));
    assert_eq!(
        verified["paid"]["transfers"][0]["tx_hash"],
        payment["tx_hash"]
    );

    let alone = run(&["receipt", "verify", file]);
    assert_eq!(alone.code, Some(21), "{alone:?}");
    assert!(alone.stdout.contains("NOT VERIFIED"), "{alone:?}");
    assert!(alone.stdout.contains("asserted    issuer"), "{alone:?}");
    assert!(!alone.stdout.contains("the receipt holds"), "{alone:?}");

    let good = std::fs::read_to_string(file).unwrap();
    let changed = good.replace("\"price\":", "\"pricf\":");
    assert_ne!(changed, good);
    std::fs::write(file, changed).unwrap();
    let refused = verify(file, &vkey);
    assert_eq!(refused.code, Some(20), "{refused:?}");
    assert!(refused.json()["paid"].is_null(), "{refused:?}");
}
