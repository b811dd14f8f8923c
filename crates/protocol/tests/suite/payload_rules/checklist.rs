//! The rules of settlement-watcher.md section 2 that a PAYMENT's form keeps, each in a row or two.
//! `tests/SETTLEMENT.md` lists them with all other tests that defend them.

use serde_json::json;

use super::payment::example;
use super::*;

const KIND: &str = "x811/payment";

fn code(member: &str, value: Value) -> Option<Code> {
    let payment = with(&example(), member, Some(value));
    facts(KIND, &payment).err().map(|refusal| refusal.code)
}

#[test]
fn rule_03_a_hash_has_one_spelling() {
    let mixed = format!("0x{}", "aBcD".repeat(16));
    let upper = with(&example(), "tx_hash", Some(json!(mixed)));
    assert_eq!(recorded(KIND, &upper)["tx_hash"], mixed.to_lowercase());
    for bad in [json!("0x12"), json!("12".repeat(32)), json!(null), json!(7)] {
        assert_eq!(code("tx_hash", bad), Some(Code::InsufficientBalance));
    }
}

#[test]
fn rule_04_currency_is_usdc_and_a_network_is_named_exactly() {
    let malformed = Some(Code::InvalidStateTransition);
    for bad in ["usdc", "USDT", "USDbC", ""] {
        assert_eq!(code("currency", json!(bad)), malformed, "{bad}");
    }
    for bad in ["Base", "base ", ""] {
        assert_eq!(code("network", json!(bad)), malformed, "{bad}");
    }
    assert_eq!(code("network", json!("base")), None);
}

#[test]
fn rule_05_addresses_carry_their_checksum() {
    let bad = Some(Code::InvalidPaymentAddress);
    for member in ["payer_address", "payee_address"] {
        let lower = PROVIDER_ADDRESS.to_lowercase();
        let upper = format!("0x{}", PROVIDER_ADDRESS[2..].to_uppercase());
        // The specification's own example, with a letter in the wrong case.
        let wrong = "0x742d35Cc6634C0532925a3b844Bc9e7595f2bD18";
        for address in [lower.as_str(), upper.as_str(), wrong, ZERO_ADDRESS, "0x12"] {
            assert_eq!(code(member, json!(address)), bad, "{member} {address}");
        }
    }
    // Nobody pays himself.
    let same = json!(PROVIDER_ADDRESS);
    assert_eq!(code("payer_address", same), bad);
}

#[test]
fn rule_07_an_amount_is_a_decimal_string_and_never_a_float() {
    let malformed = Some(Code::InvalidStateTransition);
    for bad in [
        json!(0.029_725),
        json!("2.9725e-2"),
        json!("+1"),
        json!("-1"),
        json!("1,0"),
        json!(".5"),
        json!(""),
    ] {
        assert_eq!(code("amount", bad.clone()), malformed, "{bad}");
    }
    let payment = with(&example(), "amount", Some(json!("0.029725")));
    assert_eq!(recorded(KIND, &payment)["amount"], "29725");
}

#[test]
fn rule_08_what_cannot_be_paid_on_the_chain_is_refused() {
    for bad in ["0.0000001", "1.0000000", "0.000000025"] {
        let refused = code("amount", json!(bad));
        assert_eq!(refused, Some(Code::InvalidStateTransition), "{bad}");
    }
    assert_eq!(code("amount", json!("0.000001")), None);
}
