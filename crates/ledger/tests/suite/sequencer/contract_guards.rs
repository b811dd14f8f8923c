//! Guards of a negotiation that depend on the moment, the parameters and the state (contract.md,
//! "Machine" and "From contract to interaction"). What the shape of a payload decides is held by the
//! payload rules of `x811-protocol`.

use super::ledgerbox::Ledgerbox;
use super::talks::{Talks, talking};
use serde_json::{Value, json};
use x811_protocol::canonical::to_canonical;
use x811_protocol::code::Code;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::facts::NegotiationVerb;
use x811_protocol::id::ContractId;
use x811_protocol::parameters::Contracts;
use x811_protocol::refusal::Kind;

const MIN_LIFE_MS: u64 = Contracts::DEFAULT.min_life_ms;
const MAX_LIFE_MS: u64 = Contracts::DEFAULT.max_life_ms;

async fn opened() -> (Ledgerbox, Talks) {
    let ledgerbox = talking(Contracts::DEFAULT).await;
    let talks = Talks::new(&ledgerbox).await;
    (ledgerbox, talks)
}

/// The first offer, or the answer of the payee, with a payload that `change` has made.
fn changed(
    ledgerbox: &Ledgerbox,
    talks: &Talks,
    verb: NegotiationVerb,
    change: impl FnOnce(&mut Value),
) -> SealedEnvelope {
    let mut payload = talks.payload(ledgerbox, verb, "0.41");
    change(&mut payload);
    let from = if verb == NegotiationVerb::Offer {
        &talks.payer
    } else {
        &talks.payee
    };
    talks.seal(ledgerbox, from, verb, payload)
}

fn in_ms(ledgerbox: &Ledgerbox, life_ms: u64) -> Value {
    ledgerbox
        .now()
        .saturating_add_ms(life_ms)
        .to_rfc3339()
        .into()
}

async fn first_offer(ledgerbox: &Ledgerbox, talks: &mut Talks) {
    let payer = talks.payer.clone();
    talks
        .say(ledgerbox, &payer, NegotiationVerb::Offer, "0.41")
        .await;
}

/// XX-3: neither shorter nor longer than the ledger's parameters say, offer and counter alike.
#[tokio::test]
async fn xx_3_terms_live_as_long_as_the_parameters_allow() {
    let (ledgerbox, mut talks) = opened().await;
    for verb in [NegotiationVerb::Offer, NegotiationVerb::Counter] {
        for life_ms in [0, MIN_LIFE_MS - 1, MAX_LIFE_MS + 1] {
            let message = changed(&ledgerbox, &talks, verb, |payload| {
                payload["expires_at"] = in_ms(&ledgerbox, life_ms);
            });
            let refusal = ledgerbox.refuse(&message).await;
            assert_eq!(
                (refusal.code, refusal.kind),
                (Code::InvalidStateTransition, Kind::Guard)
            );
            assert!(refusal.message.contains("expires_at"), "{verb:?} {life_ms}");
        }
        for life_ms in [MIN_LIFE_MS, MAX_LIFE_MS] {
            let mut other = Talks::new(&ledgerbox).await;
            if verb == NegotiationVerb::Counter {
                first_offer(&ledgerbox, &mut other).await;
            }
            let message = changed(&ledgerbox, &other, verb, |payload| {
                payload["expires_at"] = in_ms(&ledgerbox, life_ms);
            });
            ledgerbox.accept(&message).await;
        }
        if verb == NegotiationVerb::Offer {
            first_offer(&ledgerbox, &mut talks).await;
        }
    }
    ledgerbox.assert_log_adds_up().await;
}

/// XX-3: a counter without `expires_at` keeps the end of the terms before it; one with an earlier end
/// shortens it.
#[tokio::test]
async fn xx_3_a_counter_keeps_or_shortens_the_end() {
    for (shorter_ms, ends_after_ms) in [(None, 60_000), (Some(10_000), 10_000)] {
        let (ledgerbox, mut talks) = opened().await;
        first_offer(&ledgerbox, &mut talks).await;
        let counter =
            changed(
                &ledgerbox,
                &talks,
                NegotiationVerb::Counter,
                |payload| match shorter_ms {
                    Some(life_ms) => payload["expires_at"] = in_ms(&ledgerbox, life_ms),
                    None => drop(payload.as_object_mut().unwrap().remove("expires_at")),
                },
            );
        ledgerbox.accept(&counter).await;
        ledgerbox.advance_ms(ends_after_ms - 1).await;
        ledgerbox.settle().await;
        assert_eq!(talks.state(&ledgerbox), "countered", "{shorter_ms:?}");
        ledgerbox.advance_ms(1).await;
        ledgerbox.settle().await;
        assert_eq!(talks.state(&ledgerbox), "expired", "{shorter_ms:?}");
        ledgerbox.assert_log_adds_up().await;
    }
}

/// XX-4: an offer may ask for fewer turns than the ledger allows, never for more.
#[tokio::test]
async fn xx_4_max_rounds_lowers_the_number_of_turns_and_never_raises_it() {
    let (ledgerbox, mut talks) = opened().await;
    let most = Contracts::DEFAULT.max_turns;
    let many = changed(&ledgerbox, &talks, NegotiationVerb::Offer, |payload| {
        payload["max_rounds"] = (most + 1).into();
    });
    let refusal = ledgerbox.refuse(&many).await;
    assert_eq!(refusal.kind, Kind::Guard);
    assert!(refusal.message.contains("max_rounds"), "{refusal:?}");

    // One turn: it is taken or left.
    let mut payload = talks.payload(&ledgerbox, NegotiationVerb::Offer, "0.41");
    payload["max_rounds"] = 1.into();
    let terms_hash = Digest::of(&to_canonical(&payload["terms"]));
    let offer = talks.seal(&ledgerbox, &talks.payer, NegotiationVerb::Offer, payload);
    let accepted = ledgerbox.accept(&offer).await;
    talks.id = Some(ContractId::from(accepted.envelope_id));
    talks.step = Some((accepted.envelope_id, terms_hash));
    let counter = changed(&ledgerbox, &talks, NegotiationVerb::Counter, |_| {});
    let refusal = ledgerbox.refuse(&counter).await;
    assert!(refusal.message.contains("turns"), "{refusal:?}");
    let payee = talks.payee.clone();
    talks
        .say(&ledgerbox, &payee, NegotiationVerb::Accept, "")
        .await;
    ledgerbox.assert_log_adds_up().await;
}

/// XX-6: payer and payee are the two who speak, whoever of them begins.
#[tokio::test]
async fn xx_6_terms_are_between_sender_and_recipient() {
    let (ledgerbox, mut talks) = opened().await;
    let (payer, stranger) = (talks.payer.did, talks.stranger.did);
    let foreign: [(&str, Value); 3] = [
        ("payer", json!(stranger)),
        ("payee", json!(stranger)),
        ("payee", json!(payer)),
    ];
    for verb in [NegotiationVerb::Offer, NegotiationVerb::Counter] {
        for (member, did) in &foreign {
            let message = changed(&ledgerbox, &talks, verb, |payload| {
                payload["terms"][member] = did.clone();
            });
            let refusal = ledgerbox.refuse(&message).await;
            assert_eq!(refusal.kind, Kind::Shape, "{verb:?} {member}");
        }
        if verb == NegotiationVerb::Offer {
            first_offer(&ledgerbox, &mut talks).await;
        }
    }
    let turned = changed(&ledgerbox, &talks, NegotiationVerb::Counter, |payload| {
        payload["terms"]["payer"] = json!(talks.payee.did);
        payload["terms"]["payee"] = json!(talks.payer.did);
    });
    ledgerbox.accept(&turned).await;
    ledgerbox.assert_log_adds_up().await;
}

/// Nobody negotiates with who has left; who has left in between still ends what it began.
#[tokio::test]
async fn xn_4_an_inactive_responder_is_not_negotiated_with() {
    let (ledgerbox, mut talks) = opened().await;
    let leave = |party| {
        ledgerbox.seal(
            party,
            "x811.registry/deactivate",
            &ledgerbox.identity,
            json!({}),
        )
    };
    ledgerbox.accept(&leave(&talks.payee)).await;
    let offer = changed(&ledgerbox, &talks, NegotiationVerb::Offer, |_| {});
    let refusal = ledgerbox.refuse(&offer).await;
    assert_eq!(
        (refusal.code, refusal.kind),
        (Code::AgentNotFound, Kind::NotFound)
    );
    let back = ledgerbox.seal(
        &talks.payee,
        "x811.registry/reactivate",
        &ledgerbox.identity,
        json!({}),
    );
    ledgerbox.accept(&back).await;
    first_offer(&ledgerbox, &mut talks).await;
    ledgerbox.assert_log_adds_up().await;
}

/// 200 open by default between one initiator and all others; another initiator is not held up.
#[tokio::test]
async fn mach_10_open_negotiations_of_one_initiator_are_limited() {
    let ledgerbox = talking(Contracts {
        open_per_initiator: 2,
        ..Contracts::DEFAULT
    })
    .await;
    let mut talks = Talks::new(&ledgerbox).await;
    for _ in 0..2 {
        first_offer(&ledgerbox, &mut talks).await;
        talks.payee = ledgerbox.provider().await;
    }
    let third = changed(&ledgerbox, &talks, NegotiationVerb::Offer, |_| {});
    assert_eq!(ledgerbox.code(&third).await, Code::RateLimitExceeded);
    let mut others = Talks::new(&ledgerbox).await;
    first_offer(&ledgerbox, &mut others).await;
    ledgerbox.assert_log_adds_up().await;
}

/// XX-6: a REQUEST fits no contract that is pending, countered, rejected, lapsed or unknown, and no
/// other task than the agreed one; whoever is not the payer cannot send it.
#[tokio::test]
async fn xx_6_a_request_needs_a_contract_that_is_agreed_on() {
    let (ledgerbox, mut talks) = opened().await;
    let refuse = async |talks: &Talks, when: &str| {
        let (_, request) = talks.request(&ledgerbox, |_| {});
        let refusal = ledgerbox.refuse(&request).await;
        assert_eq!(refusal.kind, Kind::Guard, "{when}");
        assert_eq!(refusal.code, Code::InvalidStateTransition, "{when}");
        assert!(
            refusal.message.contains("negotiation_id"),
            "{when}: {refusal:?}"
        );
    };
    let (payer, payee) = (talks.payer.clone(), talks.payee.clone());
    first_offer(&ledgerbox, &mut talks).await;
    refuse(&talks, "pending").await;
    talks
        .say(&ledgerbox, &payee, NegotiationVerb::Counter, "2.05")
        .await;
    refuse(&talks, "countered").await;
    talks
        .say(&ledgerbox, &payer, NegotiationVerb::Reject, "")
        .await;
    refuse(&talks, "rejected").await;
    let step = talks.step.unwrap().0;
    talks.id = Some(ContractId::from(step));
    refuse(&talks, "unknown").await;

    talks.agree(&ledgerbox).await;
    let (_, other) = talks.request(&ledgerbox, |payload| {
        payload["task_type"] = "summarise".into();
    });
    let refusal = ledgerbox.refuse(&other).await;
    assert!(refusal.message.contains("task_type"), "{refusal:?}");
    let mut letter = ledgerbox.letter("x811/request", &talks.payee, json!({}));
    letter.payload = super::deal::Deal::request_payload(&letter.id.to_string());
    letter.payload["parameters"]["negotiation_id"] = talks.id.unwrap().to_public().into();
    let refusal = ledgerbox.refuse(&talks.stranger.seal(&letter)).await;
    assert!(refusal.message.contains("payer"), "{refusal:?}");

    ledgerbox
        .advance_ms(Contracts::DEFAULT.engagement_ms + 1)
        .await;
    ledgerbox.settle().await;
    refuse(&talks, "lapsed").await;
    ledgerbox.assert_log_adds_up().await;
}
