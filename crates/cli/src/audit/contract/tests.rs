//! A rendered contract in a file, and files that only look like one.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;
use x811_protocol::contract_page::{PageEntry, render};
use x811_protocol::time::TimestampMs;

use super::super::tests::nowhere;
use super::*;

const ADA: &str = "did:x811:019b76da-a800-7000-8000-00000000000a";
const BERT: &str = "did:x811:019b76da-a800-7000-8000-00000000000b";

/// An offer, a counter with a text that a terminal would act on, and agreement.
fn agreed() -> String {
    let terms = |value: &str| {
        let amount = json!({ "amount": { "value": value, "currency": "USDC" } });
        amount.as_object().cloned()
    };
    let entry = |second: u64, action, agent: &str, terms| PageEntry {
        action,
        agent: agent.parse().unwrap(),
        terms,
        message: None,
        at: TimestampMs::new(1_767_225_600_000 + 1_000 * second),
    };
    let contract = Contract {
        id: "019b76da-a800-7000-8000-000000000001".parse().unwrap(),
        initiator: ADA.parse().unwrap(),
        responder: BERT.parse().unwrap(),
        status: PageStatus::Accepted,
        history: vec![
            entry(0, PageAction::Offer, ADA, terms("2.5")),
            entry(1, PageAction::Counter, BERT, terms("\u{1b}[2J3")),
            entry(2, PageAction::Accept, ADA, None),
        ],
        expires_at: TimestampMs::new(1_767_229_200_000),
    };
    serde_json::to_string(&render(&contract).unwrap()).unwrap()
}

/// What an audit of this text says, and how it ends.
async fn audited(text: &str, json: bool) -> (Result<Exit, Failure>, String) {
    let folder = TempDir::new().unwrap();
    let source = folder.path().join("contract.json");
    fs::write(&source, text).unwrap();
    let (mut out, said, _) = Out::captured(json);
    let args = Args {
        source,
        ..Args::default()
    };
    let exit = super::super::run(args, &nowhere(), &mut out).await;
    (exit, said.text())
}

#[tokio::test]
async fn xn_7_a_rendering_that_holds_says_what_it_does_not_prove() {
    let (exit, said) = audited(&agreed(), false).await;
    assert_eq!(exit, Ok(Exit::Unverified));
    for part in [
        "neg-019b76da-a800-7000-8000-000000000001",
        "accepted",
        "2.5 USDC",
        "bundle",
    ] {
        assert!(said.contains(part), "{said}");
    }
    assert!(
        !said.contains('\u{1b}') && said.contains(r"\u{1b}[2J3"),
        "{said}"
    );
    let (_, said) = audited(&agreed(), true).await;
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["verdict"], "holds");
    assert_eq!(said["entries"][2]["action"], "accept");
}

#[tokio::test]
async fn xn_7_a_changed_rendering_is_broken_and_its_entry_is_named() {
    let changed = agreed().replace("\"2.5\"", "\"2.6\"");
    let (exit, said) = audited(&changed, false).await;
    assert_eq!(exit, Ok(Exit::Findings));
    assert!(said.contains("entry 0"), "{said}");
    let (_, said) = audited(&changed, true).await;
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(
        (&said["verdict"], &said["entry"]),
        (&"broken".into(), &0.into())
    );
    let unknown = agreed().replace("x811-jcs-1", "x811-jcs-9\\u001b[2J");
    let (exit, said) = audited(&unknown, false).await;
    assert_eq!(exit, Ok(Exit::Findings));
    assert!(
        said.contains("x811-jcs-1") && !said.contains('\u{1b}'),
        "{said}"
    );
    let cut = &agreed()[..200];
    let (exit, _) = audited(cut, false).await;
    assert_eq!(exit.unwrap_err().code, "file");
}

#[tokio::test]
async fn xn_7_options_that_mean_nothing_to_a_contract_are_refused_together() {
    let folder = TempDir::new().unwrap();
    let source = folder.path().join("contract.json");
    fs::write(&source, agreed()).unwrap();
    let mut args = Args {
        source,
        html: Some("page.html".into()),
        ..Args::default()
    };
    args.trust.key = Some("ledger.example+00000000+AA".to_owned());
    let (mut out, ..) = Out::captured(false);
    let failure = super::super::run(args, &nowhere(), &mut out)
        .await
        .unwrap_err();
    assert_eq!(failure.exit, Exit::Usage);
    assert!(failure.message.contains("--key, --html"), "{failure:?}");
}

#[test]
fn no_export_receipt_or_log_is_taken_for_a_contract() {
    for (first, is_one) in [
        (&b"{\"chainProfile\":\"x811-jcs-1\",\"id\":"[..], true),
        (b"\n{\n  \"acceptedAt\": null,\n", true),
        (b"{\"id\": \"neg-019b76da", true),
        (
            b"{\"did\":1,\"x811_export\":2}\nr {\"chainProfile\":1}\n",
            false,
        ),
        (b"{\"checkpoint\":\"\",\"x811_receipt\":2}\n", false),
        (b"[{\"negotiation_id\":\"neg_0a1b2c3d\"", false),
        (b"{\"id\":\"019b76da", false),
        (b"r {\"chainProfile\":", false),
        (b"", false),
    ] {
        let text = String::from_utf8_lossy(first);
        assert_eq!(begins_a_contract(first), is_one, "{text}");
    }
}
