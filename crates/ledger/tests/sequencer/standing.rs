//! An agent's standing and keys count from the record on that changes them (AE-93 to AE-95, AX-29
//! to AX-31). No message changes them yet, so the records are laid into the stored log.

use crate::ledgerbox::Ledgerbox;
use crate::party::Party;
use serde_json::json;
use x811_eventlog::Record;
use x811_ledger::port::{Commit, LedgerStore as _};
use x811_protocol::code::Code;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::event::{AgentStatusChanged, Event, KeyRotated};
use x811_protocol::key::{AgentKey, Profile};
use x811_protocol::time::TimestampMs;

/// Lays `event` at the end of `party`'s stream and starts the ledger on it.
async fn overtake(ledgerbox: &mut Ledgerbox, party: &Party, event: Event) {
    ledgerbox.settle().await;
    let mut world = ledgerbox.ledger().world();
    ledgerbox.crash().await;
    let draft = x811_eventlog::Draft {
        recorded_at_ms: world.head().recorded_at_ms,
        stream: format!("agent:{}", party.did),
        stream_seq: world.agent(party.did).unwrap().identity_seq,
        event: serde_json::to_value(&event).unwrap(),
    };
    let record = Record::seal(world.head().size, world.head().hash, draft).unwrap();
    world.apply(&record, &event).unwrap();
    let commit = Commit {
        expected_size: record.position(),
        records: vec![record],
        frontier: world.frontier().to_bytes(),
        ..Commit::default()
    };
    ledgerbox.store.commit(commit).await.unwrap();
    ledgerbox.start().await.unwrap();
}

fn status_changed(ledgerbox: &Ledgerbox, party: &Party) -> AgentStatusChanged {
    let envelope = ledgerbox.seal(
        party,
        "x811.registry/status",
        &ledgerbox.identity,
        json!({}),
    );
    AgentStatusChanged {
        envelope: envelope.accepted_header(),
    }
}

fn greeting(ledgerbox: &Ledgerbox, from: &Party, to: &Party) -> SealedEnvelope {
    ledgerbox.seal(from, "x811.ext/greeting", to, json!({}))
}

#[tokio::test]
async fn ae_094_and_ax_030_a_deactivated_or_revoked_did_is_refused_with_its_status() {
    for (status, change) in [
        ("deactivated", Event::AgentDeactivated as fn(_) -> _),
        ("revoked", Event::AgentRevoked as fn(_) -> _),
    ] {
        let mut ledgerbox = Ledgerbox::open().await;
        let (party, other) = (ledgerbox.provider().await, ledgerbox.provider().await);
        ledgerbox
            .accept(&greeting(&ledgerbox, &party, &other))
            .await;
        let event = change(status_changed(&ledgerbox, &party));
        overtake(&mut ledgerbox, &party, event).await;

        let refused = greeting(&ledgerbox, &party, &other);
        let size = ledgerbox.records().await.len();
        let refusal = ledgerbox.refuse(&refused).await;
        assert_eq!(refusal.code, Code::SignatureInvalid, "{status}");
        assert_eq!(refusal.http_status(), 401, "{status}");
        assert_eq!(refusal.details, Some(json!({ "did_status": status })));
        assert_eq!(refusal.related, Some(refused.header.id));
        assert_eq!(ledgerbox.records().await.len(), size, "{status}");
        let spent = ledgerbox.store.spent_nonces(TimestampMs::new(0)).await;
        assert_eq!(spent.unwrap(), [], "{status}: no nonce is spent by it");
        // The others go on, towards it as well.
        ledgerbox
            .accept(&greeting(&ledgerbox, &other, &party))
            .await;
    }
}

#[tokio::test]
async fn ax_031_a_reactivated_did_speaks_again() {
    let mut ledgerbox = Ledgerbox::open().await;
    let (party, other) = (ledgerbox.provider().await, ledgerbox.provider().await);
    let event = Event::AgentDeactivated(status_changed(&ledgerbox, &party));
    overtake(&mut ledgerbox, &party, event).await;
    let message = greeting(&ledgerbox, &party, &other);
    assert_eq!(ledgerbox.code(&message).await, Code::SignatureInvalid);
    let event = Event::AgentReactivated(status_changed(&ledgerbox, &party));
    overtake(&mut ledgerbox, &party, event).await;
    ledgerbox.accept(&message).await;
}

/// AX-29: nothing is cached, so the new key signs at once and the old one at no time.
#[tokio::test]
async fn ae_093_and_ae_095_keys_count_as_the_log_has_them_now() {
    let mut ledgerbox = Ledgerbox::open().await;
    let (party, other) = (ledgerbox.provider().await, ledgerbox.provider().await);
    ledgerbox
        .accept(&greeting(&ledgerbox, &party, &other))
        .await;
    let renewed = Party {
        did: party.did,
        key: ledgerbox.party().key,
    };
    let early = greeting(&ledgerbox, &renewed, &other);
    assert_eq!(ledgerbox.code(&early).await, Code::SignatureInvalid);

    let rotation = ledgerbox.seal(
        &party,
        "x811.registry/rotate",
        &ledgerbox.identity,
        json!({}),
    );
    let rotated = KeyRotated {
        old_key: party.key.public(),
        new_key: AgentKey {
            key: renewed.key.public(),
            profile: Profile::Digest,
        },
        proof: renewed.key.sign(b"the log is trusted here"),
        document_digest: Digest::ZERO,
        envelope: rotation.accepted_header(),
    };
    overtake(&mut ledgerbox, &party, Event::KeyRotated(rotated)).await;
    let late = greeting(&ledgerbox, &party, &other);
    let refusal = ledgerbox.refuse(&late).await;
    assert_eq!(refusal.code, Code::SignatureInvalid);
    assert_eq!(refusal.http_status(), 401);
    ledgerbox.accept(&early).await;
    assert_eq!(ledgerbox.code(&late).await, Code::SignatureInvalid);
}
