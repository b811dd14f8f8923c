//! The registry's messages, end to end: what is recorded, what is refused with which code
//! (ledger-contract.md section 4, AX-30, AX-31).

use super::ledgerbox::{Ledgerbox, TASK};
use super::party::{Account, Party};
use serde_json::{Value, json};
use x811_protocol::code::Code;
use x811_protocol::document::DidDocument;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::event::Event;
use x811_protocol::key::{AgentKey, Profile, PublicKey};
use x811_protocol::payload::registry::rotation_message;
use x811_protocol::time::TimestampMs;
use x811_world::agent::{AgentStanding, Status};

/// A message of `party` to the registry.
pub(crate) fn ask(
    ledgerbox: &Ledgerbox,
    party: &Party,
    verb: &str,
    payload: Value,
) -> SealedEnvelope {
    let kind = format!("x811.registry/{verb}");
    ledgerbox.seal(party, &kind, &ledgerbox.identity, payload)
}

/// An update that keeps the task and has these wallets and this expiry.
pub(crate) fn update(
    ledgerbox: &Ledgerbox,
    party: &Party,
    accounts: &[&Account],
    expires_at: Option<TimestampMs>,
) -> SealedEnvelope {
    let ledger = ledgerbox.identity.did;
    let wallets: Vec<Value> = accounts
        .iter()
        .map(|account| account.bound_to(party.did, ledger))
        .collect();
    let mut payload = party.registration(&[TASK], &wallets);
    if let Some(at) = expires_at {
        payload["expires_at_ms"] = json!(at);
    }
    ask(ledgerbox, party, "update", payload)
}

/// The payload by which `party`, which has one key, replaces it by that of `renewed`.
pub(crate) fn rotation_payload(ledgerbox: &Ledgerbox, party: &Party, renewed: &Party) -> Value {
    let (old_key, new_key) = (party.key.public(), renewed.key.public());
    let text = rotation_message(party.did, ledgerbox.identity.did, old_key, new_key);
    json!({
        "document": document(party, &[new_key]),
        "new_key": new_key,
        "proof": renewed.key.sign(text.as_bytes()),
    })
}

pub(crate) fn rotate(ledgerbox: &Ledgerbox, party: &Party, renewed: &Party) -> SealedEnvelope {
    let payload = rotation_payload(ledgerbox, party, renewed);
    ask(ledgerbox, party, "rotate", payload)
}

/// The same agent with a key of its own making that nobody knows yet.
pub(crate) fn with_new_key(ledgerbox: &Ledgerbox, party: &Party) -> Party {
    Party {
        did: party.did,
        key: ledgerbox.party().key,
    }
}

pub(crate) fn greeting(ledgerbox: &Ledgerbox, from: &Party, to: &Party) -> SealedEnvelope {
    ledgerbox.seal(from, "x811.ext/greeting", to, json!({}))
}

fn document(party: &Party, keys: &[PublicKey]) -> Value {
    let keys: Vec<AgentKey> = keys
        .iter()
        .map(|key| AgentKey {
            key: *key,
            profile: Profile::Digest,
        })
        .collect();
    DidDocument::build(party.did, &keys, None)
}

async fn last_event(ledgerbox: &Ledgerbox) -> (String, Event) {
    let (record, event) = ledgerbox.events().await.pop().unwrap();
    (record.stream().to_owned(), event)
}

#[tokio::test]
async fn lc_4_every_verb_leaves_its_event_in_the_agents_stream() {
    let ledgerbox = Ledgerbox::open().await;
    let party = ledgerbox.provider().await;
    let renewed = with_new_key(&ledgerbox, &party);
    let account = Account::new(0x46);
    let expires_at = ledgerbox.now().saturating_add_ms(86_400_000);
    let messages = [
        (
            update(&ledgerbox, &party, &[&account], Some(expires_at)),
            "agent_updated",
        ),
        (rotate(&ledgerbox, &party, &renewed), "key_rotated"),
        (
            ask(&ledgerbox, &renewed, "deactivate", json!({})),
            "agent_deactivated",
        ),
        (
            ask(&ledgerbox, &renewed, "reactivate", json!({"unknown": 1})),
            "agent_reactivated",
        ),
        (
            ask(&ledgerbox, &renewed, "revoke", json!({})),
            "agent_revoked",
        ),
    ];
    for (message, name) in messages {
        let accepted = ledgerbox.accept(&message).await;
        let (stream, event) = last_event(&ledgerbox).await;
        assert_eq!(event.type_name(), name);
        assert_eq!(stream, format!("agent:{}", party.did));
        assert_eq!(event.envelope().unwrap().id, message.header.id);
        assert_eq!(accepted.envelope_id, message.header.id);
    }
    let world = ledgerbox.ledger().world();
    let agent = world.agent(party.did).unwrap();
    assert_eq!(agent.status, Status::Revoked);
    assert_eq!(agent.expires_at_ms, Some(expires_at));
    assert!(agent.owns(account.address));
    assert_eq!(agent.keys.len(), 1);
    assert_eq!(agent.keys[0].key, renewed.key.public());
    assert_eq!(agent.document_position, agent.position + 2);
}

#[tokio::test]
async fn lc_4_what_an_update_leaves_out_is_gone() {
    let ledgerbox = Ledgerbox::open().await;
    let account = Account::new(0x46);
    let party = ledgerbox.initiator(&account).await;
    let payload = party.registration(&["proofreading"], &[]);
    ledgerbox
        .accept(&ask(&ledgerbox, &party, "update", payload))
        .await;
    let world = ledgerbox.ledger().world();
    let agent = world.agent(party.did).unwrap();
    assert_eq!(*agent.capabilities, ["proofreading".to_owned()]);
    assert!(!agent.owns(account.address));
    assert_eq!(agent.expires_at_ms, None);
}

#[tokio::test]
async fn lc_4_an_update_never_touches_keys() {
    let ledgerbox = Ledgerbox::open().await;
    let (party, other) = (ledgerbox.provider().await, ledgerbox.party());
    let (own, foreign) = (party.key.public(), other.key.public());
    let mut with_profiles = party.registration(&[], &[]);
    with_profiles["profiles"] = json!({own.to_string(): "direct"});
    let mut payloads = vec![with_profiles];
    for keys in [vec![foreign], vec![own, foreign]] {
        let mut payload = party.registration(&[], &[]);
        payload["document"] = document(&party, &keys);
        payloads.push(payload);
    }
    payloads.push(other.registration(&[], &[]));
    let before = ledgerbox.ledger().world().agent(party.did).cloned();
    for payload in payloads {
        let refusal = ledgerbox
            .refuse(&ask(&ledgerbox, &party, "update", payload.clone()))
            .await;
        let answer = (refusal.code, refusal.http_status());
        assert_eq!(answer, (Code::DidDocumentInvalid, 400), "{payload}");
    }
    assert_eq!(ledgerbox.ledger().world().agent(party.did).cloned(), before);
}

#[tokio::test]
async fn lc_4_a_rotation_replaces_exactly_the_key_that_signs_it() {
    let ledgerbox = Ledgerbox::open().await;
    let party = ledgerbox.party();
    let second = with_new_key(&ledgerbox, &party);
    let renewed = with_new_key(&ledgerbox, &party);
    let mut registration = party.registration(&[], &[]);
    registration["document"] = document(&party, &[party.key.public(), second.key.public()]);
    ledgerbox
        .accept(&ask(&ledgerbox, &party, "register", registration))
        .await;

    let good = |keys: &[&Party]| {
        let keys: Vec<_> = keys.iter().map(|party| party.key.public()).collect();
        let mut payload = rotation_payload(&ledgerbox, &party, &renewed);
        payload["document"] = document(&party, &keys);
        payload
    };
    let mut by_another = good(&[&renewed, &second]);
    by_another["proof"] = rotation_payload(&ledgerbox, &second, &renewed)["proof"].clone();
    let mut of_another_key = good(&[&renewed, &second]);
    of_another_key["proof"] = json!(second.key.sign(b"whatever"));
    let mut no_new_key = rotation_payload(&ledgerbox, &party, &second);
    no_new_key["document"] = document(&party, &[second.key.public()]);
    let refused = [
        (by_another, Code::DidDocumentInvalid),
        (of_another_key, Code::DidDocumentInvalid),
        (no_new_key, Code::DidDocumentInvalid),
        (good(&[&renewed]), Code::DidDocumentInvalid),
        (good(&[&renewed, &second, &party]), Code::DidDocumentInvalid),
        (good(&[&second, &party]), Code::DidDocumentInvalid),
        (
            json!({"document": document(&party, &[renewed.key.public()])}),
            Code::InvalidStateTransition,
        ),
    ];
    for (payload, code) in refused {
        let refusal = ledgerbox
            .refuse(&ask(&ledgerbox, &party, "rotate", payload.clone()))
            .await;
        assert_eq!(refusal.code, code, "{payload}");
        assert_eq!(refusal.http_status(), 400, "{payload}");
    }
    let mut payload = good(&[&second, &renewed]);
    payload["profile"] = json!("direct");
    ledgerbox
        .accept(&ask(&ledgerbox, &party, "rotate", payload))
        .await;
    let world = ledgerbox.ledger().world();
    let expected = [
        AgentKey {
            key: renewed.key.public(),
            profile: Profile::Direct,
        },
        AgentKey {
            key: second.key.public(),
            profile: Profile::Digest,
        },
    ];
    assert_eq!(*world.agent(party.did).unwrap().keys, expected);
}

/// The table of `registry.rs`, cell by cell.
#[tokio::test]
async fn ax_030_registry_operations_answer_by_the_standing() {
    use Code::{
        DidDeactivated as D1003, DidDocumentInvalid as D1005, DidNotFound as D1001,
        DidRevoked as D1002, InvalidStateTransition as D4001, SignatureInvalid as D2003,
    };
    let (yes, no) = (None, Some);
    let verbs = [
        "register",
        "update",
        "rotate",
        "deactivate",
        "reactivate",
        "revoke",
    ];
    let table = [
        (
            None,
            [yes, no(D1001), no(D1001), no(D1001), no(D1001), no(D1001)],
        ),
        (
            Some(AgentStanding::Active),
            [no(D1005), yes, yes, yes, no(D4001), yes],
        ),
        (
            Some(AgentStanding::Expired),
            [no(D1005), yes, no(D2003), no(D2003), no(D2003), yes],
        ),
        (
            Some(AgentStanding::Deactivated),
            [no(D1005), no(D1003), no(D1003), no(D1003), yes, yes],
        ),
        (
            Some(AgentStanding::Revoked),
            [
                no(D1005),
                no(D1002),
                no(D1002),
                no(D1002),
                no(D1002),
                no(D1002),
            ],
        ),
    ];
    let ledgerbox = Ledgerbox::open().await;
    for (standing, row) in table {
        for (verb, expected) in verbs.into_iter().zip(row) {
            let party = stood(&ledgerbox, standing).await;
            let message = match verb {
                "register" => ledgerbox.registration(&party, &[TASK], &[]),
                "update" => update(&ledgerbox, &party, &[], None),
                "rotate" => rotate(&ledgerbox, &party, &with_new_key(&ledgerbox, &party)),
                _ => ask(&ledgerbox, &party, verb, json!({})),
            };
            let answer = ledgerbox.submit(&message).await;
            let context = format!("{verb} when {standing:?}: {answer:?}");
            match (answer, expected) {
                (Ok(_), None) => {}
                (Err(refusal), Some(code)) => {
                    assert_eq!(refusal.code, code, "{context}");
                    let gone = matches!(code, D1002 | D1003);
                    assert_eq!(refusal.http_status() == 410, gone, "{context}");
                    assert_eq!(refusal.related, Some(message.header.id), "{context}");
                }
                (_, _) => panic!("{context}"),
            }
        }
    }
}

/// A new party of that standing; `None` for one that has not registered.
async fn stood(ledgerbox: &Ledgerbox, standing: Option<AgentStanding>) -> Party {
    let party = match standing {
        None => return ledgerbox.party(),
        Some(_) => ledgerbox.provider().await,
    };
    let verb = match standing {
        Some(AgentStanding::Deactivated) => "deactivate",
        Some(AgentStanding::Revoked) => "revoke",
        Some(AgentStanding::Expired) => {
            let soon = ledgerbox.now().saturating_add_ms(1_000);
            let expiring = update(ledgerbox, &party, &[], Some(soon));
            ledgerbox.accept(&expiring).await;
            ledgerbox.advance_ms(1_001).await;
            return party;
        }
        Some(AgentStanding::Active) | None => return party,
    };
    ledgerbox
        .accept(&ask(ledgerbox, &party, verb, json!({})))
        .await;
    party
}

#[tokio::test]
async fn lc_4_unknown_verbs_and_other_recipients_are_refused_not_mailed() {
    let ledgerbox = Ledgerbox::open().await;
    let (party, other) = (ledgerbox.provider().await, ledgerbox.provider().await);
    let size = ledgerbox.records().await.len();
    let unknown = ask(&ledgerbox, &party, "erase", json!({}));
    let refusal = ledgerbox.refuse(&unknown).await;
    let answer = (refusal.code, refusal.http_status());
    assert_eq!(answer, (Code::InvalidStateTransition, 400));
    let astray = ledgerbox.seal(&party, "x811.registry/revoke", &other, json!({}));
    let refusal = ledgerbox.refuse(&astray).await;
    let answer = (refusal.code, refusal.http_status());
    assert_eq!(answer, (Code::DidDocumentInvalid, 400));
    assert_eq!(ledgerbox.records().await.len(), size);
}

#[tokio::test]
async fn lc_4_only_the_agent_itself_is_heard() {
    let ledgerbox = Ledgerbox::open().await;
    let party = ledgerbox.provider().await;
    let stranger = with_new_key(&ledgerbox, &party);
    for verb in ["deactivate", "reactivate", "revoke"] {
        let forged = ask(&ledgerbox, &stranger, verb, json!({}));
        assert_eq!(
            ledgerbox.code(&forged).await,
            Code::SignatureInvalid,
            "{verb}"
        );
    }
    let forged = rotate(&ledgerbox, &stranger, &stranger);
    assert_eq!(ledgerbox.code(&forged).await, Code::SignatureInvalid);
}

#[tokio::test]
async fn ae_087_a_repeated_status_message_gets_its_first_outcome() {
    let ledgerbox = Ledgerbox::open().await;
    let party = ledgerbox.provider().await;
    for verb in ["deactivate", "reactivate", "revoke"] {
        let message = ask(&ledgerbox, &party, verb, json!({}));
        let first = ledgerbox.accept(&message).await;
        let refusal = ledgerbox.refuse(&message).await;
        assert_eq!(refusal.code, Code::NonceReplay, "{verb}");
        let details = refusal.details.unwrap();
        assert_eq!(
            details["first"]["position"],
            json!(first.position),
            "{verb}"
        );
    }
}

/// Its key is gone by its own doing, so only its bytes tell that it was accepted.
#[tokio::test]
async fn ae_087_a_repeated_rotation_gets_its_first_outcome() {
    let mut ledgerbox = Ledgerbox::open().await;
    let party = ledgerbox.provider().await;
    let renewed = with_new_key(&ledgerbox, &party);
    let before = greeting(&ledgerbox, &party, &ledgerbox.identity);
    ledgerbox.accept(&before).await;
    let payload = rotation_payload(&ledgerbox, &party, &renewed);
    let mut letter = ledgerbox.letter("x811.registry/rotate", &ledgerbox.identity, payload);
    let message = party.seal(&letter);
    let first = ledgerbox.accept(&message).await;
    for again in ["at once", "after a restart"] {
        let refusal = ledgerbox.refuse(&message).await;
        assert_eq!(refusal.code, Code::NonceReplay, "{again}");
        assert_eq!(refusal.related, Some(message.header.id), "{again}");
        let details = refusal.details.unwrap();
        assert_eq!(details["first"]["position"], json!(first.position));
        assert_eq!(ledgerbox.code(&before).await, Code::NonceReplay, "{again}");
        ledgerbox.restart().await;
    }
    letter.payload["unknown"] = json!(1);
    let changed = party.seal(&letter);
    assert_eq!(changed.header.id, message.header.id);
    assert_eq!(ledgerbox.code(&changed).await, Code::SignatureInvalid);
    let last = ledgerbox.records().await.pop().unwrap();
    assert_ne!(last.event()["type"], "key_rotated", "nothing is done twice");
}

#[tokio::test]
async fn ax_031_an_expiry_lies_ahead() {
    let ledgerbox = Ledgerbox::open().await;
    let party = ledgerbox.provider().await;
    for past in [ledgerbox.now(), TimestampMs::new(0)] {
        let refusal = ledgerbox
            .refuse(&update(&ledgerbox, &party, &[], Some(past)))
            .await;
        assert_eq!(refusal.code, Code::DidDocumentInvalid);
        assert!(refusal.message.contains("expires_at_ms"), "{refusal}");
    }
    let mut text = party.registration(&[], &[]);
    text["expires_at_ms"] = json!("2030-01-01T00:00:00Z");
    let refusal = ledgerbox
        .refuse(&ask(&ledgerbox, &party, "update", text))
        .await;
    assert_eq!(refusal.code, Code::InvalidStateTransition);
}

#[tokio::test]
async fn promise_2_a_restart_finds_the_same_registry() {
    let mut ledgerbox = Ledgerbox::open().await;
    let party = ledgerbox.provider().await;
    let renewed = with_new_key(&ledgerbox, &party);
    let expires_at = ledgerbox.now().saturating_add_ms(60_000);
    for message in [
        update(&ledgerbox, &party, &[&Account::new(7)], Some(expires_at)),
        rotate(&ledgerbox, &party, &renewed),
        ask(&ledgerbox, &renewed, "deactivate", json!({})),
    ] {
        ledgerbox.accept(&message).await;
    }
    let before = ledgerbox.ledger().world().agent(party.did).cloned();
    ledgerbox.restart().await;
    assert_eq!(ledgerbox.ledger().world().agent(party.did).cloned(), before);
    ledgerbox
        .accept(&ask(&ledgerbox, &renewed, "reactivate", json!({})))
        .await;
}
