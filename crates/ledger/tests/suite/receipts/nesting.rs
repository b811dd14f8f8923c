//! Receipts and bundles hold whatever an envelope may hold.

use serde_json::{Value, json};
use x811_audit::audit_export;
use x811_audit::receipt::Receipt;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::json::Limits;

use super::bundles::bundle;
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::Ledgerbox;
use super::paper::{Paper, impatient, pay};

/// A value of so many levels, in keys that RFC 8785 puts in another order than a map has them.
fn nested(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, level| match level % 3 {
        0 => json!([inner]),
        1 => json!({ "n": inner }),
        _ => json!({ "\u{e000}": 0, "\u{10000}": inner }),
    })
}

/// A VERIFY nested so deep: the message and its payload are two levels.
fn verify(ledgerbox: &Ledgerbox, deal: &mut Deal, levels: usize) -> SealedEnvelope {
    let plain = deal.verify(ledgerbox);
    let mut message: Value = serde_json::from_slice(&plain.json).unwrap();
    message["payload"]["note"] = nested(levels - 2);
    let payload = message["payload"].take();
    ledgerbox.seal(&deal.initiator, "x811/verify", &deal.provider, payload)
}

#[tokio::test]
async fn lc_8_receipts_hold_what_an_envelope_may_hold() {
    let deepest = Limits::DEFAULT_DEPTH;
    let mut ledgerbox = impatient().await;
    for (levels, number) in [(deepest - 2, 1), (deepest - 1, 2), (deepest, 3)] {
        let mut deal = Deal::opened(&ledgerbox, Until::Delivered).await;
        let too_deep = verify(&ledgerbox, &mut deal, deepest + 1);
        ledgerbox.refuse(&too_deep).await;
        let deep = verify(&ledgerbox, &mut deal, levels);
        ledgerbox.accept(&deep).await;
        pay(&mut ledgerbox, &deal, number, &[TOTAL_MICRO_USDC]).await;
        let paper = Paper::of(&ledgerbox, &deal).await;
        let checked = paper.holds(&paper.receipt);
        assert!(serde_json::to_vec(&checked).is_ok());
        let bundle = bundle(&ledgerbox, deal.id()).await;
        assert!(audit_export(&bundle[..], None).unwrap().is_clean());
        // One level more than any envelope has is no receipt.
        let mut deeper = paper.receipt.clone();
        deeper.envelopes[2].body["payload"]["note"] = nested(deepest - 1);
        let deeper = Receipt::from_bytes(&deeper.sign(&paper.receipt_key).to_bytes());
        assert!(deeper.is_err());
    }
}
