//! What the published TypeScript SDK signs, under the recorded leniency and without it (decision 0190):
//! a whole deal in its forms, what the audit makes of it, and who could gain by the leniency.

use super::base::tx;
use super::bundles::audited;
use super::ledgerbox::{Ledgerbox, TASK};
use super::party::{Account, Party};
use super::sdk_forms::{PAYEE, document, envelope, registered, registration, send};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use x811_protocol::canonical::to_canonical;
use x811_protocol::code::Code;
use x811_protocol::digest::Digest;
use x811_protocol::event::{Event, PayerBinding};
use x811_protocol::evm::EvmAddress;
use x811_protocol::id::InteractionId;
use x811_protocol::parameters::{Leniency, PayerBindingRule};

/// A ledger with these leniencies.
async fn ledger(lenient: &[Leniency]) -> Ledgerbox {
    Ledgerbox::but(|it| it.lenient = lenient.to_vec()).await
}

async fn lenient_ledger() -> Ledgerbox {
    ledger(&[Leniency::ReferenceSdk, Leniency::Addresses]).await
}

/// A deal in the SDK's forms up to its PAYMENT by transaction 1; the id of its REQUEST.
async fn dealt(ledgerbox: &mut Ledgerbox, initiator: &Party, provider: &Party) -> InteractionId {
    let say = |from: &Party, kind: &str, to: &Party, payload: Value| {
        envelope(ledgerbox, from, kind, to, payload)
    };
    let request = json!({
        "task_type": TASK, "parameters": {"text": "Good day"}, "max_budget": 0.05, "currency": "USDC",
        "deadline": 60, "acceptance_policy": "auto", "idempotency_key": "key-1",
    });
    let request = say(initiator, "x811/request", provider, request);
    send(ledgerbox, &request).await.unwrap();
    let id = request["id"].clone();
    // 0.05 * 0.9 in doubles; fee and total as toFixed(6) writes them; no account.
    let offer = json!({
        "request_id": id, "price": "0.045000000000000005", "protocol_fee": "0.001125",
        "total_cost": "0.046125", "currency": "USDC", "estimated_time": 10,
        "deliverables": ["the text"], "expiry": 300,
    });
    let offer_hash = Digest::of(&to_canonical(&offer));
    send(ledgerbox, &say(provider, "x811/offer", initiator, offer))
        .await
        .unwrap();
    let accept = json!({"offer_id": id, "offer_hash": offer_hash});
    send(ledgerbox, &say(initiator, "x811/accept", provider, accept))
        .await
        .unwrap();
    let result_hash = Digest::of(b"Guten Tag");
    let result = json!({
        "request_id": id, "offer_id": id, "content": "Guten Tag", "content_type": "text/plain",
        "result_hash": result_hash, "execution_time_ms": 7,
    });
    send(ledgerbox, &say(provider, "x811/result", initiator, result))
        .await
        .unwrap();
    let verify = json!({"request_id": id, "result_hash": result_hash, "verified": true});
    send(ledgerbox, &say(initiator, "x811/verify", provider, verify))
        .await
        .unwrap();
    let payer = Account::new(0x46).address;
    let payment = json!({
        "request_id": id, "offer_id": id, "tx_hash": tx(1).to_string(), "amount": 0.046125,
        "currency": "USDC", "network": "base",
        "payer_address": payer.to_checksum().to_lowercase(), "payee_address": PAYEE,
    });
    let payment = say(initiator, "x811/payment", provider, payment);
    send(ledgerbox, &payment).await.unwrap();
    id.as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn sdk_a_deal_in_the_forms_of_the_published_sdk_is_recorded_and_audited() {
    let mut ledgerbox = lenient_ledger().await;
    let (initiator, provider) = registered(&ledgerbox).await;
    let id = dealt(&mut ledgerbox, &initiator, &provider).await;
    // Nothing is completed by naming a transaction: it is watched (sdk-compat.md section 6).
    assert_eq!(ledgerbox.state(id), "verified");
    let world = ledgerbox.ledger().world();
    let agent = world.agent(provider.did).unwrap();
    assert_eq!(
        agent.default_payee(),
        Some(EvmAddress::parse_lenient(PAYEE).unwrap())
    );
    assert!(agent.wallets.is_empty(), "nothing was proven");
    let events = ledgerbox.events().await.into_iter();
    let bindings: Vec<_> = events
        .filter_map(|(_, event)| match event {
            Event::EnvelopeAccepted(accepted) => accepted.derived.payer_binding,
            _ => None,
        })
        .collect();
    assert_eq!(bindings, [PayerBinding::Unchecked]);
    let report = audited(&ledgerbox).await;
    assert!(report.is_clean(), "{report:?}");
    ledgerbox.restart().await;
    assert_eq!(ledgerbox.state(id), "verified");
    let report = audited(&ledgerbox).await;
    assert!(report.is_clean(), "{report:?}");
}

/// What the SDK's MCP server sends: it knows the REQUEST by its idempotency key alone (sdk-compat.md, O3),
/// and writes a fee that its arithmetic leaves a micro-USDC below ours (M3).
#[tokio::test]
async fn sdk_messages_that_name_the_idempotency_key_are_of_its_interaction() {
    let mut ledgerbox = lenient_ledger().await;
    let (initiator, provider) = registered(&ledgerbox).await;
    let key = "5b3f0a52-8c1d-4e6f-9a7b-0c1d2e3f4a5b";
    let request = request_under(&ledgerbox, &initiator, &provider, key);
    send(&ledgerbox, &request).await.unwrap();
    let id: InteractionId = request["id"].as_str().unwrap().parse().unwrap();
    // A restart knows it from the snapshot or the log.
    ledgerbox.restart().await;
    let offer = json!({
        "request_id": key, "price": "0.000140", "protocol_fee": "0.000003",
        "total_cost": "0.000143", "currency": "USDC", "estimated_time": 10,
        "deliverables": ["the text"], "expiry": 300,
    });
    let offer_hash = Digest::of(&to_canonical(&offer));
    let result_hash = Digest::of(b"Guten Tag");
    let payer = Account::new(0x46).address;
    for (from, to, kind, payload) in [
        (&provider, &initiator, "offer", offer),
        (
            &initiator,
            &provider,
            "accept",
            json!({"offer_id": key, "offer_hash": offer_hash}),
        ),
        (
            &provider,
            &initiator,
            "result",
            json!({
                "request_id": key, "offer_id": key, "content": "Guten Tag", "content_type": "text/plain",
                "result_hash": result_hash, "execution_time_ms": 7,
            }),
        ),
        (
            &initiator,
            &provider,
            "verify",
            json!({
                "request_id": key, "offer_id": key, "result_hash": result_hash, "verified": true,
            }),
        ),
        (
            &initiator,
            &provider,
            "payment",
            json!({
                "request_id": key, "offer_id": key, "tx_hash": tx(1).to_string(), "amount": "0.000143",
                "currency": "USDC", "network": "base",
                "payer_address": payer.to_checksum().to_lowercase(), "payee_address": PAYEE,
            }),
        ),
    ] {
        let kind = format!("x811/{kind}");
        let message = envelope(&ledgerbox, from, &kind, to, payload);
        send(&ledgerbox, &message).await.unwrap();
    }
    assert_eq!(ledgerbox.state(id), "verified");
    let report = audited(&ledgerbox).await;
    assert!(report.is_clean(), "{report:?}");
}

/// An agent that registered so leaves by a REQUEST to itself with an empty payload (D1): nobody else can,
/// and a payload that says anything is no deactivation.
#[tokio::test]
async fn sdk_an_agent_deactivates_itself_by_an_empty_request() {
    let mut ledgerbox = lenient_ledger().await;
    let (initiator, provider) = registered(&ledgerbox).await;
    let bert = ledgerbox.provider().await;
    for (from, payload) in [(&initiator, json!({"name": "Other"})), (&bert, json!({}))] {
        let message = envelope(&ledgerbox, from, "x811/request", from, payload);
        let refused = send(&ledgerbox, &message).await.unwrap_err();
        assert_eq!(refused.code, Code::InvalidStateTransition, "{refused:?}");
    }
    let leaves = envelope(
        &ledgerbox,
        &initiator,
        "x811/request",
        &initiator,
        json!({}),
    );
    let mut forged = leaves.clone();
    forged["from"] = json!(provider.did);
    forged["to"] = json!(provider.did);
    let refused = send(&ledgerbox, &forged).await.unwrap_err();
    assert_eq!(refused.code, Code::SignatureInvalid, "{refused:?}");
    send(&ledgerbox, &leaves).await.unwrap();
    let request = request_under(&ledgerbox, &initiator, &provider, "key-1");
    let refused = send(&ledgerbox, &request).await.unwrap_err();
    assert_eq!(
        refused.code,
        Code::SignatureInvalid,
        "its messages are not taken: {refused:?}"
    );
    let report = audited(&ledgerbox).await;
    assert!(report.is_clean(), "{report:?}");
    ledgerbox.restart().await;
    let report = audited(&ledgerbox).await;
    assert!(report.is_clean(), "{report:?}");
}

fn request_under(ledgerbox: &Ledgerbox, from: &Party, to: &Party, key: &str) -> Value {
    let request = json!({
        "task_type": TASK, "parameters": {"text": "Good day"}, "max_budget": 0.05, "currency": "USDC",
        "deadline": 60, "acceptance_policy": "auto", "idempotency_key": key,
    });
    envelope(ledgerbox, from, "x811/request", to, request)
}

/// A key is one initiator's: under the key of somebody else's REQUEST nothing is found, and neither is
/// what is over, or what no leniency is recorded for.
#[tokio::test]
async fn sdk_an_idempotency_key_names_the_interaction_of_its_two_agents_alone() {
    let key = "5b3f0a52-8c1d-4e6f-9a7b-0c1d2e3f4a5b";
    let offer = |fee: &str, total: &str| {
        json!({
            "request_id": key, "price": "0.000140", "protocol_fee": fee, "total_cost": total,
            "currency": "USDC", "estimated_time": 10, "deliverables": ["the text"], "expiry": 300,
        })
    };
    let ledgerbox = lenient_ledger().await;
    let (initiator, provider) = registered(&ledgerbox).await;
    let (other, stranger) = registered(&ledgerbox).await;
    let request = request_under(&ledgerbox, &initiator, &provider, key);
    send(&ledgerbox, &request).await.unwrap();
    for (from, to) in [
        (&stranger, &initiator),
        (&stranger, &other),
        (&provider, &other),
    ] {
        let payload = offer("0.000004", "0.000144");
        let message = envelope(&ledgerbox, from, "x811/offer", to, payload);
        let refused = send(&ledgerbox, &message).await.unwrap_err();
        assert_eq!(refused.code, Code::InvalidStateTransition, "{refused:?}");
    }
    for (fee, total) in [
        ("0.000002", "0.000142"),
        ("0.000006", "0.000146"),
        ("0.000003", "0.000144"),
    ] {
        let message = envelope(
            &ledgerbox,
            &provider,
            "x811/offer",
            &initiator,
            offer(fee, total),
        );
        let refused = send(&ledgerbox, &message).await.unwrap_err();
        assert_eq!(refused.code, Code::InvalidStateTransition, "{refused:?}");
    }
    let rejected = request_under(&ledgerbox, &other, &stranger, key);
    send(&ledgerbox, &rejected).await.unwrap();
    let payload = offer("0.000005", "0.000145");
    let hash = Digest::of(&to_canonical(&payload));
    let message = envelope(&ledgerbox, &stranger, "x811/offer", &other, payload);
    send(&ledgerbox, &message).await.unwrap();
    let reject = json!({"offer_id": key, "code": "PRICE_TOO_HIGH", "reason": "dear"});
    let message = envelope(&ledgerbox, &other, "x811/reject", &stranger, reject);
    send(&ledgerbox, &message).await.unwrap();
    let accept = json!({"offer_id": key, "offer_hash": hash});
    let message = envelope(&ledgerbox, &other, "x811/accept", &stranger, accept);
    let refused = send(&ledgerbox, &message).await.unwrap_err();
    assert_eq!(refused.code, Code::InvalidStateTransition, "it is over");
    let report = audited(&ledgerbox).await;
    assert!(report.is_clean(), "{report:?}");
}

/// The leniency is recorded: without it each form is refused, and the messages around it are not.
#[tokio::test]
async fn sdk_a_ledger_without_the_leniency_refuses_every_form() {
    for lenient in [&[][..], &[Leniency::Uuids, Leniency::Addresses]] {
        let ledgerbox = ledger(lenient).await;
        let party = ledgerbox.party();
        let form = registration(&ledgerbox, &party, json!({"name": "Buyer"}));
        let refused = send(&ledgerbox, &form).await.unwrap_err();
        assert_eq!(refused.code, Code::InvalidStateTransition);
        assert!(ledgerbox.ledger().world().agent(party.did).is_none());
        // The envelope alone is a message of an agent to itself.
        let refused = send(&ledgerbox, &form["envelope"]).await.unwrap_err();
        assert!(matches!(
            refused.code,
            Code::InvalidStateTransition | Code::MissingCredentials
        ));
        let account = Account::new(0x46);
        let (initiator, provider) = (
            ledgerbox.initiator(&account).await,
            ledgerbox.provider().await,
        );
        let letter = envelope(&ledgerbox, &initiator, "x811/request", &provider, json!({}));
        let refused = send(&ledgerbox, &letter).await.unwrap_err();
        assert_eq!(
            refused.code,
            Code::MissingCredentials,
            "a nonce without hyphens"
        );
    }
}

/// Document and key stand outside the signature: who sends another's gains nothing.
#[tokio::test]
async fn sdk_a_registration_is_by_the_key_of_its_own_document() {
    let ledgerbox = lenient_ledger().await;
    let (party, other) = (ledgerbox.party(), ledgerbox.party());
    let good = registration(&ledgerbox, &party, json!({"name": "Buyer"}));
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut form = good.clone();
        change(&mut form);
        form
    };
    let other_key = BASE64_URL_SAFE_NO_PAD.encode(other.key.public().as_bytes());
    let mut foreign = document(&other);
    foreign["id"] = json!(party.did);
    let named =
        |name: &str| registration(&ledgerbox, &party, json!({"name": name}))["envelope"].clone();
    let resigned = named("Somebody else");
    let forms = [
        changed(&|form| form["did_document"] = document(&other)),
        changed(&|form| form["public_key"] = other_key.clone().into()),
        changed(&|form| {
            form["did_document"] = document(&other);
            form["public_key"] = other_key.clone().into();
        }),
        changed(&|form| form["public_key"] = "AAAA".into()),
        changed(&|form| drop(form.as_object_mut().unwrap().remove("public_key"))),
        changed(&|form| form["did_document"] = foreign.clone()),
        changed(&|form| form["envelope"]["signature"] = resigned["signature"].clone()),
        registration(&ledgerbox, &party, json!({})),
        registration(
            &ledgerbox,
            &party,
            json!({"name": "x", "payment_address": "0x1"}),
        ),
        registration(
            &ledgerbox,
            &party,
            json!({"name": "x", "capabilities": [TASK]}),
        ),
    ];
    for form in &forms {
        let refused = send(&ledgerbox, form).await;
        assert!(refused.is_err(), "{form}");
    }
    assert!(ledgerbox.ledger().world().agent(party.did).is_none());
    send(&ledgerbox, &good).await.unwrap();
    // A second time, and by another key: the DID is taken.
    let again = registration(&ledgerbox, &party, json!({"name": "Buyer"}));
    let refused = send(&ledgerbox, &again).await.unwrap_err();
    assert_eq!(
        (refused.code, refused.http_status()),
        (Code::DidDocumentInvalid, 409)
    );
    let thief = Party {
        did: party.did,
        key: other.key,
    };
    let stolen = registration(&ledgerbox, &thief, json!({"name": "Buyer"}));
    assert_eq!(
        send(&ledgerbox, &stolen).await.unwrap_err().http_status(),
        409
    );
    // A key beside any other message registers nobody.
    let mut request = envelope(
        &ledgerbox,
        &party,
        "x811/request",
        &ledgerbox.identity,
        json!({}),
    );
    request = json!({
        "envelope": request, "did_document": document(&party), "public_key": good["public_key"],
    });
    let refused = send(&ledgerbox, &request).await.unwrap_err();
    assert_eq!(refused.code, Code::DidDocumentInvalid);
}

/// One nonce, whichever way it is written: a replay does not pass by taking its hyphens away.
#[tokio::test]
async fn sdk_a_nonce_without_hyphens_is_the_one_with_them() {
    let ledgerbox = lenient_ledger().await;
    let (initiator, provider) = registered(&ledgerbox).await;
    let mut first = envelope(
        &ledgerbox,
        &initiator,
        "x811.test/hello",
        &provider,
        json!({}),
    );
    let spelled = |envelope: &mut Value, nonce: &str| {
        let members = envelope.as_object_mut().unwrap();
        members.remove("signature");
        members.insert("nonce".to_owned(), nonce.into());
        let signature = initiator.key.sign(&to_canonical(&*envelope));
        envelope["signature"] = BASE64_URL_SAFE_NO_PAD.encode(signature.as_bytes()).into();
    };
    spelled(&mut first, "0123456789ab4def8123456789abcdef");
    send(&ledgerbox, &first).await.unwrap();
    let mut second = envelope(
        &ledgerbox,
        &initiator,
        "x811.test/hello",
        &provider,
        json!({}),
    );
    spelled(&mut second, "01234567-89ab-4def-8123-456789abcdef");
    let replay = send(&ledgerbox, &second).await.unwrap_err();
    assert_eq!(replay.code, Code::NonceReplay);
    let mut third = envelope(
        &ledgerbox,
        &initiator,
        "x811.test/hello",
        &provider,
        json!({}),
    );
    spelled(&mut third, "0123456789AB4DEF8123456789ABCDEF");
    assert_eq!(
        send(&ledgerbox, &third).await.unwrap_err().code,
        Code::MissingCredentials
    );
}

/// The payer is unproven for agents that registered in that form, and for nobody else.
#[tokio::test]
async fn sdk_another_agents_payer_is_bound_as_ever() {
    let mut ledgerbox = lenient_ledger().await;
    assert_eq!(ledgerbox.parameters.payer_binding, PayerBindingRule::Wallet);
    let (_, provider) = registered(&ledgerbox).await;
    let native = ledgerbox.initiator(&Account::new(0x46)).await;
    let mut deal = super::deal::Deal::between(&ledgerbox, &native, &provider, Account::new(0x47));
    ledgerbox.accept(&deal.request(&ledgerbox)).await;
    let id = json!(deal.request_id);
    let offer = json!({
        "request_id": id, "price": "1", "protocol_fee": "0.025", "total_cost": "1.025",
        "currency": "USDC", "estimated_time": 10, "deliverables": ["the text"], "expiry": 300,
    });
    deal.offer_hash = Digest::of(&to_canonical(&offer));
    let offer = envelope(&ledgerbox, &provider, "x811/offer", &native, offer);
    deal.offer_id = offer["id"].as_str().unwrap().parse().unwrap();
    send(&ledgerbox, &offer).await.unwrap();
    ledgerbox.accept(&deal.accept(&ledgerbox)).await;
    let result_hash = Digest::of(b"Guten Tag");
    let result = json!({
        "request_id": id, "offer_id": id, "content": "Guten Tag", "content_type": "text/plain",
        "result_hash": result_hash, "execution_time_ms": 7,
    });
    let result = envelope(&ledgerbox, &provider, "x811/result", &native, result);
    send(&ledgerbox, &result).await.unwrap();
    ledgerbox.accept(&deal.verify(&ledgerbox)).await;
    let payment = json!({
        "request_id": id, "offer_id": deal.offer_id, "tx_hash": tx(1).to_string(),
        "amount": "1.025", "currency": "USDC", "network": "base",
        "payer_address": deal.account.address.to_checksum(), "payee_address": PAYEE,
    });
    let payment = ledgerbox.seal(&native, "x811/payment", &provider, payment);
    assert_eq!(ledgerbox.code(&payment).await, Code::InvalidPaymentAddress);
    deal.mine(&mut ledgerbox, 1, &[1_025_000]);
    ledgerbox.watch_ms(8_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "verified");
}
