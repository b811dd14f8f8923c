//! What the body proves: that it is what was signed, and that the record's members and facts are
//! its.

use serde::Serialize;
use serde_json::{Map, Value};
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::{AcceptedHeader, ParsedEnvelope, nonce_tag};
use x811_protocol::event::{AgentEvent, EnvelopeAccepted, Event, LedgerEvent, NoticeIssued};
use x811_protocol::facts::Facts;
use x811_protocol::payload::registry::{Operation, Registration, Verb, rotation_message};
use x811_protocol::payload::{self, PayloadRules};
use x811_protocol::refusal::Refusal;
use x811_protocol::wallet::{Wallet, WalletKind};

use crate::finding::findings::{Cause, Findings, Spot};
use crate::finding::verdict::{FactCounts, Verdict};
use x811_world::agent::Agent;
use x811_world::notice::is_news;
use x811_world::registry;

/// What facts are read with: the rules in force, the ledger's DID and what the sender's records add
/// up to, as far as they are known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Basis<'a> {
    pub(crate) payload: Option<PayloadRules>,
    pub(crate) ledger: Option<Did>,
    pub(crate) sender: Option<&'a Agent>,
}

/// Whether judging the body takes more than the rules in force: a message to the registry is held
/// against the ledger's DID and the sender's keys.
pub(crate) fn needs_registry(event: &Event) -> bool {
    let is_message = matches!(event, Event::EnvelopeAccepted(_) | Event::NoticeIssued(_));
    event.envelope().is_some() && !is_message
}

/// Judges the body of the record at `spot`: whether it proves what the record says.
pub(crate) fn judge(
    spot: &Spot,
    event: &Event,
    body: Option<&[u8]>,
    basis: Basis<'_>,
    findings: &mut Findings,
) -> Option<Verdict> {
    let Some(envelope) = event.envelope() else {
        if body.is_some() {
            let sentence = "a body, though the record carries no envelope";
            findings.add(spot, "body", Cause::BodyChanged, sentence);
        }
        return None;
    };
    let Some(body) = body else {
        return Some(Verdict::Asserted);
    };
    let Some(parsed) = parsed(spot, event, envelope, body, findings) else {
        return Some(Verdict::Broken);
    };
    let is_lenient = basis.payload.is_none_or(|rules| rules.reference_sdk);
    if parsed.has_plain_nonce && !is_lenient {
        return Some(refused(
            spot,
            "its nonce is not a UUID with hyphens",
            findings,
        ));
    }
    let members_agree = members(spot, envelope, &parsed, findings);
    let facts = facts(spot, event, &parsed, basis, findings);
    Some(if members_agree {
        facts
    } else {
        Verdict::Broken
    })
}

/// Wallets with a key and new keys prove themselves from the record alone. Of a contract wallet only
/// the form of the proof can be checked: that its contract accepted it is asserted.
pub(crate) fn proofs(
    spot: &Spot,
    event: &Event,
    ledger: Option<Did>,
    counts: &mut FactCounts,
    findings: &mut Findings,
) {
    let Some(ledger) = ledger else {
        return;
    };
    let mut wallets = |agent: Did, wallets: &[Wallet]| {
        for (index, wallet) in wallets.iter().enumerate() {
            let verdict = match (wallet.verify_offline(agent, ledger), wallet.kind) {
                (Ok(()), WalletKind::Eoa) => Verdict::Proven,
                (Ok(()), WalletKind::Erc1271) => Verdict::Asserted,
                (Err(error), _) => {
                    let field = format!("wallets[{index}].proof");
                    findings.add(spot, field, Cause::ProofInvalid, error.to_string());
                    Verdict::Broken
                }
            };
            counts.count(verdict);
        }
    };
    if let Event::Agent(AgentEvent::Registered(registered)) = event {
        wallets(registered.envelope.from, &registered.wallets);
    } else if let Event::Agent(AgentEvent::Updated(updated)) = event {
        wallets(updated.envelope.from, &updated.wallets);
    } else if let Event::Ledger(LedgerEvent::KeyRotated(rotated)) = event {
        if !rotated.is_proven(ledger) {
            let sentence = "it is not by old_key over the rotation of these two keys";
            findings.add(spot, "proof", Cause::ProofInvalid, sentence);
        }
    } else if let Event::Agent(AgentEvent::KeyRotated(rotated)) = event {
        let (agent, new_key) = (rotated.envelope.from, rotated.new_key.key);
        let text = rotation_message(agent, ledger, rotated.old_key, new_key);
        if !new_key.verify(text.as_bytes(), &rotated.proof) {
            let sentence = "it is not by new_key over the rotation of these two keys";
            findings.add(spot, "proof", Cause::ProofInvalid, sentence);
        }
    }
}

/// The body, once it is known to be the one that was signed.
fn parsed(
    spot: &Spot,
    event: &Event,
    envelope: &AcceptedHeader,
    body: &[u8],
    findings: &mut Findings,
) -> Option<ParsedEnvelope> {
    let is_own_request = if let Event::Agent(AgentEvent::Registered(registered)) = event {
        registered.reference_sdk.is_some()
    } else {
        matches!(event, Event::Agent(AgentEvent::Deactivated(_))) && envelope.from == envelope.to
    };
    let parsed = match is_own_request {
        true => ParsedEnvelope::from_registering_body(body, envelope.signature),
        false => ParsedEnvelope::from_body(body, envelope.signature),
    };
    let digest = match &parsed {
        Ok(parsed) => parsed.digest,
        Err(_) => Digest::of(body),
    };
    if digest != envelope.digest {
        let expected = envelope.digest;
        let sentence = format!(
            "the body hashes to {digest}, the record names {expected}: it is not the body that \
             was signed"
        );
        findings.add(spot, "body", Cause::BodyChanged, sentence);
        return None;
    }
    match parsed {
        Ok(parsed) => Some(parsed),
        Err(refusal) => {
            findings.add(spot, "body", Cause::BodyChanged, refusal.to_string());
            None
        }
    }
}

/// Every member of the recorded envelope that the body says too.
fn members(
    spot: &Spot,
    envelope: &AcceptedHeader,
    parsed: &ParsedEnvelope,
    findings: &mut Findings,
) -> bool {
    let header = &parsed.header;
    let nonce_tag = nonce_tag(header.from, header.nonce);
    let size = parsed.body.len() as u64;
    let same = header.id == envelope.id
        && header.message_type == envelope.message_type
        && header.version == envelope.version
        && header.from == envelope.from
        && header.to == envelope.to
        && header.created_ms == envelope.created_ms
        && header.expires_ms == envelope.expires_ms
        && nonce_tag == envelope.nonce_tag
        && size == envelope.size;
    if same {
        return true;
    }
    let from_body = AcceptedHeader {
        id: header.id,
        message_type: header.message_type.clone(),
        version: header.version.clone(),
        from: header.from,
        to: header.to,
        created_ms: header.created_ms,
        expires_ms: header.expires_ms,
        nonce_tag,
        size,
        ..envelope.clone()
    };
    let cause = Cause::EnvelopeDiffers;
    agree(spot, "envelope", cause, envelope, &from_body, findings)
}

fn facts(
    spot: &Spot,
    event: &Event,
    parsed: &ParsedEnvelope,
    basis: Basis<'_>,
    findings: &mut Findings,
) -> Verdict {
    if let Event::EnvelopeAccepted(accepted) = event {
        message_facts(spot, accepted, parsed, basis, findings)
    } else if let Event::NoticeIssued(notice) = event {
        notice_facts(spot, notice, parsed, basis, findings)
    } else {
        registry_facts(spot, event, parsed, basis, findings)
    }
}

fn message_facts(
    spot: &Spot,
    accepted: &EnvelopeAccepted,
    parsed: &ParsedEnvelope,
    basis: Basis<'_>,
    findings: &mut Findings,
) -> Verdict {
    let Some(rules) = basis.payload else {
        return Verdict::Asserted;
    };
    let (header, key) = (&parsed.header, &accepted.envelope.key);
    let size = payload::check_size(&header.message_type, parsed.body.len());
    let facts = size.and_then(|()| payload::facts_of(header, key, &parsed.payload, &rules));
    match facts {
        Ok(facts) => verdict(agree(
            spot,
            "facts",
            Cause::FactsDiffer,
            &accepted.facts,
            &facts,
            findings,
        )),
        Err(refusal) => refused(spot, &refusal.to_string(), findings),
    }
}

/// Reads the message to the registry again and compares what is recorded of it, member by member;
/// and whether the document in it lists the keys that the sender's records add up to.
fn registry_facts(
    spot: &Spot,
    event: &Event,
    parsed: &ParsedEnvelope,
    basis: Basis<'_>,
    findings: &mut Findings,
) -> Verdict {
    let (Some(ledger), Some(envelope)) = (basis.ledger, event.envelope()) else {
        return Verdict::Asserted;
    };
    let is_own_request = parsed.header.from == parsed.header.to;
    let of_reference_sdk = || {
        if !matches!(event, Event::Agent(AgentEvent::Registered(_))) {
            return Operation::of_reference_sdk(&parsed.payload);
        }
        let (from, key) = (parsed.header.from, envelope.key.key);
        let registration = Registration::of_reference_sdk(from, key, &parsed.payload)?;
        Ok(Operation::Register(Box::new(registration)))
    };
    let of_type = |verb: Option<Verb>| {
        let verb = verb.ok_or_else(|| Refusal::shape("it is no message to the registry"))?;
        let (from, signing_key) = (parsed.header.from, envelope.key.key);
        let operation = Operation::parse(verb, from, ledger, signing_key, &parsed.payload)?;
        basis
            .sender
            .map_or(Ok(()), |agent| registry::keys_fit(agent, &operation))?;
        Ok(operation)
    };
    let read = match is_own_request {
        true => of_reference_sdk(),
        false => Verb::of(&parsed.header.message_type).and_then(of_type),
    };
    let operation = match read {
        Ok(operation) => operation,
        Err(refusal) => return refused(spot, &refusal.to_string(), findings),
    };
    let from_body = registry::event(envelope, &operation);
    let cause = Cause::FactsDiffer;
    verdict(agree(spot, "", cause, event, &from_body, findings))
}

fn notice_facts(
    spot: &Spot,
    notice: &NoticeIssued,
    parsed: &ParsedEnvelope,
    basis: Basis<'_>,
    findings: &mut Findings,
) -> Verdict {
    let Some(rules) = basis.payload else {
        return Verdict::Asserted;
    };
    let (message_type, from) = (&parsed.header.message_type, parsed.header.from);
    if is_news(message_type) {
        let recorded = serde_json::json!({ "code": notice.code, "cause": notice.cause });
        let cause = parsed.payload.get("cause_position");
        let from_body = serde_json::json!({ "code": null, "cause": cause });
        let cause = Cause::FactsDiffer;
        return verdict(agree(spot, "", cause, &recorded, &from_body, findings));
    }
    let told = payload::facts(message_type, from, &parsed.payload, &rules);
    let code = match told {
        Ok(Facts::Error(error)) => Some(error.code),
        Ok(_) => None,
        Err(refusal) => return refused(spot, &refusal.to_string(), findings),
    };
    let recorded = serde_json::json!({ "code": notice.code, "cause": notice.cause });
    let from_body = serde_json::json!({
        "code": code,
        "cause": parsed.payload.get("cause_position"),
    });
    let cause = Cause::FactsDiffer;
    verdict(agree(spot, "", cause, &recorded, &from_body, findings))
}

fn refused(spot: &Spot, why: &str, findings: &mut Findings) -> Verdict {
    let sentence = format!("the body would not be accepted: {why}");
    findings.add(spot, "facts", Cause::FactsDiffer, sentence);
    Verdict::Broken
}

fn verdict(agree: bool) -> Verdict {
    if agree {
        Verdict::Proven
    } else {
        Verdict::Broken
    }
}

/// Compares member by member and names each that differs; `true` when none does.
pub(crate) fn agree<T: Serialize + PartialEq>(
    spot: &Spot,
    prefix: &str,
    cause: Cause,
    recorded: &T,
    computed: &T,
    findings: &mut Findings,
) -> bool {
    if recorded == computed {
        return true;
    }
    let (recorded, computed) = (object(recorded), object(computed));
    let mut agree = true;
    let mut names: Vec<&String> = recorded.keys().chain(computed.keys()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let (found, expected) = (recorded.get(name), computed.get(name));
        if found == expected {
            continue;
        }
        agree = false;
        let field = [prefix, name].join(if prefix.is_empty() { "" } else { "." });
        let sentence = format!(
            "the record says {}, it should say {}",
            shown(found),
            shown(expected)
        );
        findings.add(spot, field, cause, sentence);
    }
    agree
}

fn object(value: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(members)) => members,
        Ok(other) => Map::from_iter([("value".to_owned(), other)]),
        Err(error) => Map::from_iter([("unwritable".to_owned(), error.to_string().into())]),
    }
}

/// A value for people, cut where it is long.
pub fn shown(value: Option<&Value>) -> String {
    const MAX_CHARS: usize = 160;
    let Some(value) = value else {
        return "nothing".to_owned();
    };
    let text = value.to_string();
    if text.chars().count() <= MAX_CHARS {
        return text;
    }
    let start: String = text.chars().take(MAX_CHARS).collect();
    format!("{start}…")
}
