//! `x811/payment`: AE-64, AE-65.

use serde_json::json;

use super::offer::envelope_ids;
use super::*;

const KIND: &str = "x811/payment";
const TX_HASH: &str = "0x1234567890abcdef1234567890abcdef1234567890abcdef1234567890abcdef";
const FEE_TX_HASH: &str = "0xabcdef1234567890abcdef1234567890abcdef1234567890abcdef1234567890";

pub(crate) fn example() -> Value {
    json!({
        "request_id": REQUEST_ID,
        "offer_id": OFFER_ID,
        "tx_hash": TX_HASH,
        "amount": "0.029725",
        "currency": "USDC",
        "network": "base",
        "payer_address": INITIATOR_ADDRESS,
        "payee_address": PROVIDER_ADDRESS,
        "fee_tx_hash": FEE_TX_HASH
    })
}

fn check(name: &str, table: impl IntoIterator<Item = (Option<Value>, Verdict)>) {
    check_member(KIND, &example(), name, table);
}

fn tx_hashes() -> Vec<(Option<Value>, Verdict)> {
    vec![
        (Some(json!(format!("0x{}", "AB".repeat(32)))), ACCEPTED),
        (Some(json!("")), BAD_TX_HASH),
        (Some(json!(TX_HASH[2..])), BAD_TX_HASH),
        (Some(json!(format!("{TX_HASH}00"))), BAD_TX_HASH),
        (Some(json!(TX_HASH.replace('f', "g"))), BAD_TX_HASH),
        (Some(json!(12)), BAD_TX_HASH),
        (Some(Value::Null), BAD_TX_HASH),
    ]
}

#[test]
fn ae_064_references() {
    check("request_id", envelope_ids());
    check("offer_id", envelope_ids());
}

#[test]
fn ae_005_ae_017_and_ae_064_tx_hash() {
    check(
        "tx_hash",
        tx_hashes().into_iter().chain([(None, BAD_TX_HASH)]),
    );
}

#[test]
fn ae_064_amount() {
    check(
        "amount",
        [
            (Some(json!("0")), ACCEPTED),
            (Some(json!("1")), ACCEPTED),
            (Some(json!(0.029725)), MALFORMED),
            (Some(json!("0.0297250")), MALFORMED),
            (Some(json!("-1")), MALFORMED),
            (Some(json!("")), MALFORMED),
            (None, MALFORMED),
        ],
    );
}

#[test]
fn ae_064_ax_016_currency_and_network() {
    check(
        "currency",
        [(Some(json!("USDT")), MALFORMED), (None, MALFORMED)],
    );
    check(
        "network",
        [
            (Some(json!("base-sepolia")), ACCEPTED),
            (Some(json!("x".repeat(32))), ACCEPTED),
            (Some(json!("x".repeat(33))), MALFORMED),
            (Some(json!("Base")), MALFORMED),
            (Some(json!("base ")), MALFORMED),
            (Some(json!("")), MALFORMED),
            (Some(json!(8453)), MALFORMED),
            (None, MALFORMED),
        ],
    );
}

#[test]
fn ae_064_ax_015_addresses() {
    for name in ["payer_address", "payee_address"] {
        check(
            name,
            [
                (
                    Some(json!("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")),
                    ACCEPTED,
                ),
                (
                    Some(json!("0xAbC1234567890DefAbC1234567890DefAbC12345")),
                    BAD_ADDRESS,
                ),
                (
                    Some(json!("0x742d35Cc6634C0532925a3b844Bc9e7595f2bD18")),
                    BAD_ADDRESS,
                ),
                (Some(json!(PROVIDER_ADDRESS.to_lowercase())), BAD_ADDRESS),
                (Some(json!(ZERO_ADDRESS)), BAD_ADDRESS),
                (Some(json!("")), BAD_ADDRESS),
                (Some(json!(0)), BAD_ADDRESS),
                (None, MALFORMED),
            ],
        );
    }
    check(
        "payer_address",
        [(Some(json!(PROVIDER_ADDRESS)), BAD_ADDRESS)],
    );
    check(
        "payee_address",
        [(Some(json!(INITIATOR_ADDRESS)), BAD_ADDRESS)],
    );
}

#[test]
fn ae_065_fee_tx_hash() {
    check(
        "fee_tx_hash",
        tx_hashes().into_iter().chain([(None, ACCEPTED)]),
    );
}

#[test]
fn ae_065_a_fee_in_the_same_transaction_is_declared_once() {
    let alone = facts(KIND, &with(&example(), "fee_tx_hash", None));
    for same in [
        TX_HASH.to_owned(),
        format!("0x{}", TX_HASH[2..].to_uppercase()),
    ] {
        assert_eq!(
            facts(KIND, &with(&example(), "fee_tx_hash", Some(json!(same)))),
            alone
        );
    }
}

#[test]
fn ax_017_amount_is_recorded_whole_beside_a_fee_transaction() {
    let expected = json!({
        "request_id": REQUEST_ID,
        "offer_id": OFFER_ID,
        "tx_hash": TX_HASH,
        "fee_tx_hash": FEE_TX_HASH,
        "amount": "29725",
        "payer_address": INITIATOR_ADDRESS.to_lowercase(),
        "payee_address": PROVIDER_ADDRESS.to_lowercase(),
        "network": "base",
    });
    assert_eq!(recorded(KIND, &example()), expected);
}
