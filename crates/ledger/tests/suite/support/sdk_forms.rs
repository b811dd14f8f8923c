//! What the published TypeScript SDK sends, as it signs it (decision 0190).

use super::ledgerbox::{Ledgerbox, TASK};
use super::party::Party;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use x811_ledger::answer::{Accepted, Answer};
use x811_ledger::entropy::Entropy as _;
use x811_protocol::canonical::to_canonical;
use x811_protocol::document::DidDocument;
use x811_protocol::id::EnvelopeId;
use x811_protocol::key::{AgentKey, Profile};
use x811_protocol::refusal::Refusal;

/// The account that the provider names when it registers, in lower case as the SDK's demo does.
pub(crate) const PAYEE: &str = "0x4242424242424242424242424242424242424242";

/// 32 hex digits, not of any UUID version.
fn nonce(ledgerbox: &Ledgerbox) -> String {
    let mut bytes = [0; 16];
    ledgerbox.entropy.fill(&mut bytes);
    bytes[6] = 0xff;
    hex::encode(bytes)
}

/// An envelope as the SDK makes it: nonce without hyphens, the whole canonical body signed.
pub(crate) fn envelope(
    ledgerbox: &Ledgerbox,
    from: &Party,
    kind: &str,
    to: &Party,
    payload: Value,
) -> Value {
    let now = ledgerbox.now();
    let mut random = [0; 10];
    ledgerbox.entropy.fill(&mut random);
    let mut envelope = json!({
        "version": "0.1.0", "id": EnvelopeId::from_parts(now.as_ms(), &random), "type": kind,
        "from": from.did, "to": to.did, "created": now.to_rfc3339(),
        "expires": now.saturating_add_ms(300_000).to_rfc3339(), "payload": payload,
        "nonce": nonce(ledgerbox),
    });
    let signature = from.key.sign(&to_canonical(&envelope));
    envelope["signature"] = BASE64_URL_SAFE_NO_PAD.encode(signature.as_bytes()).into();
    envelope
}

pub(crate) async fn send(ledgerbox: &Ledgerbox, body: &Value) -> Result<Accepted, Refusal> {
    let bytes = serde_json::to_vec(body).unwrap();
    match ledgerbox.ledger().submit(bytes).await? {
        Answer::Accepted(accepted) => Ok(accepted),
        Answer::Repeated(first) => panic!("{first:?}"),
    }
}

/// The document that the SDK sends beside its registration.
pub(crate) fn document(party: &Party) -> Value {
    let key = AgentKey {
        key: party.key.public(),
        profile: Profile::Direct,
    };
    DidDocument::build(party.did, &[key], Some("https://agent.example"))
}

pub(crate) fn registration(ledgerbox: &Ledgerbox, party: &Party, payload: Value) -> Value {
    json!({
        "envelope": envelope(ledgerbox, party, "x811/request", party, payload),
        "did_document": document(party),
        "public_key": BASE64_URL_SAFE_NO_PAD.encode(party.key.public().as_bytes()),
    })
}

/// Two agents as the demo registers them.
pub(crate) async fn registered(ledgerbox: &Ledgerbox) -> (Party, Party) {
    let (initiator, provider) = (ledgerbox.party(), ledgerbox.party());
    let payload = json!({"name": "Buyer"});
    send(ledgerbox, &registration(ledgerbox, &initiator, payload))
        .await
        .unwrap();
    let payload = json!({
        "name": "Translator", "description": "German", "endpoint": "https://agent.example",
        "payment_address": PAYEE,
        "capabilities": [{"name": TASK, "pricing": {"model": "flat"}}],
    });
    send(ledgerbox, &registration(ledgerbox, &provider, payload))
        .await
        .unwrap();
    (initiator, provider)
}
