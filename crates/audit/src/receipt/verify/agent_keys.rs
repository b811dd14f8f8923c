//! The keys that signed the messages. Each is named, and compared with the keys that the verifier knows. Where the
//! initiator signed with several keys, the file has the records that gave it each of them.

use super::messages::{Messages, SignedBy};
use super::steps::{Broken, Steps, broken, event};
use super::times;
use crate::KnownAgentKeys;
use crate::receipt::form::Receipt;
use std::collections::BTreeSet;
use x811_eventlog::Record;
use x811_protocol::did::Did;
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::event::{AgentEvent, Event, KeyRotated};
use x811_protocol::key::{AgentKey, Profile, PublicKey};
use x811_protocol::parameters::Limits;
use x811_protocol::payload::registry::{Verb, rotation_message};
use x811_protocol::stream::Stream;
use x811_protocol::time::TimestampMs;
use x811_world::registry::verb;

const ABOUT: &str = "keys";

/// A record that gave the agent keys.
#[derive(Debug)]
struct Given {
    position: u64,
    keys: Vec<AgentKey>,
    /// The key that ended with it.
    ended: Option<PublicKey>,
}

impl Given {
    /// The key that was replaced, and its successor.
    fn rotation(&self) -> Option<(PublicKey, PublicKey)> {
        Some((self.ended?, self.keys.first()?.key))
    }
}

/// Names the keys of both parties, and compares them with those that the verifier knows.
///
/// # Errors
/// The initiator's messages are signed by several keys, and the records under the checkpoint do not
/// show that each was its own when its message was recorded; or a key is none of the known ones.
pub(super) fn keys(
    receipt: &Receipt,
    ledger: Did,
    messages: &Messages,
    known: &KnownAgentKeys,
    steps: &mut Steps,
) -> Result<(), Broken> {
    let signed = messages.of_initiator();
    let used = distinct(&signed);
    let (initiators, rotations) = if let [only] = &used[..] {
        if !receipt.agent_keys.is_empty() {
            let sentence = "the file has records of keys, and one key signed all";
            return Err(broken(ABOUT, sentence));
        }
        (format!("the initiator's key is {}", only.key), Vec::new())
    } else if receipt.agent_keys.is_empty() {
        return Err(unexplained(&signed, &used));
    } else {
        let given = given(receipt, ledger, messages.initiator())?;
        let explained = explained(&signed, &given)?;
        let sentence = format!(
            "the initiator's keys are {explained}, as its records under the checkpoint show"
        );
        (sentence, given.iter().filter_map(Given::rotation).collect())
    };
    let used: Vec<PublicKey> = used.iter().map(|it| it.key).collect();
    let provider = messages.provider_key().key;
    let knows_initiator = is_known(messages.initiator(), &used, &rotations, known)?;
    let knows_provider = is_known(messages.provider(), &[provider], &[], known)?;
    let source = |is_known| match is_known {
        true => "known to you",
        false => "attested by the ledger only",
    };
    let sentence = format!(
        "{initiators}: {}; the provider's key is {provider}: {}",
        source(knows_initiator),
        source(knows_provider)
    );
    if knows_initiator && knows_provider {
        steps.proven(ABOUT, sentence);
    } else {
        let advice = "compare them with keys from another source: --agent-key DID=KEY";
        steps.asserted(ABOUT, format!("{sentence}; {advice}"));
    }
    Ok(())
}

/// True if each of the keys that an agent used is known, or connected to a known key by rotations; false if no
/// key of the agent is known.
///
/// # Errors
/// Keys of the agent are known, and one that it used is neither.
fn is_known(
    agent: Did,
    used: &[PublicKey],
    rotations: &[(PublicKey, PublicKey)],
    known: &KnownAgentKeys,
) -> Result<bool, Broken> {
    let Some(known) = known.of(agent) else {
        return Ok(false);
    };
    let mut connected = known.clone();
    // Each pass adds a key or is the last.
    while let Some(key) = next_connected(&connected, rotations) {
        connected.insert(key);
    }
    match used.iter().find(|key| !connected.contains(key)) {
        None => Ok(true),
        Some(key) => {
            let sentence = format!(
                "{key} signed for {agent}, and is none of the keys that you know: somebody else signed, \
                 or you did not name every key that the agent has had"
            );
            Err(broken(ABOUT, sentence))
        }
    }
}

fn next_connected(
    connected: &BTreeSet<PublicKey>,
    rotations: &[(PublicKey, PublicKey)],
) -> Option<PublicKey> {
    rotations.iter().find_map(|(old, new)| {
        match (connected.contains(old), connected.contains(new)) {
            (true, false) => Some(*new),
            (false, true) => Some(*old),
            (_, _) => None,
        }
    })
}

fn distinct(signed: &[SignedBy<'_>]) -> Vec<AgentKey> {
    let mut keys = Vec::new();
    for by in signed {
        if !keys.contains(&by.key) {
            keys.push(by.key);
        }
    }
    keys
}

/// Which messages a key signed: `ACCEPT, VERIFY`.
fn names(signed: &[SignedBy<'_>], key: AgentKey) -> String {
    let by_it = signed.iter().filter(|by| by.key == key);
    let mut names: Vec<String> = by_it.map(|by| by.name.to_uppercase()).collect();
    names.dedup();
    names.join(", ")
}

fn unexplained(signed: &[SignedBy<'_>], used: &[AgentKey]) -> Broken {
    let used = used
        .iter()
        .map(|key| format!("{} ({})", key.key, names(signed, *key)));
    let used: Vec<String> = used.collect();
    let sentence = format!(
        "the initiator's messages are signed by {} keys, {}, and the file has no record that gave \
         it more than one: a receipt from before there were such records in it may be honest, so \
         ask the ledger for another with x811 receipt",
        used.len(),
        used.join(" and ")
    );
    broken(ABOUT, sentence)
}

/// What the records in `agent_keys` say; each is signed by a key of the agent, and a new key has
/// proved itself.
fn given(receipt: &Receipt, ledger: Did, agent: Did) -> Result<Vec<Given>, Broken> {
    let positions = receipt.agent_keys.iter().map(|leaf| leaf.place.position);
    if !positions.is_sorted_by(|one, next| one < next) {
        let sentence = "the records in `agent_keys` are not in order";
        return Err(broken(ABOUT, sentence));
    }
    let stream = Stream::Agent(agent).to_string();
    let leaves = receipt.agent_keys.iter();
    leaves
        .map(|leaf| {
            let record = leaf.record(stream.clone());
            let record = record.map_err(|error| broken(ABOUT, error))?;
            given_by(&record, ledger, agent)
        })
        .collect()
}

fn given_by(record: &Record, ledger: Did, agent: Did) -> Result<Given, Broken> {
    let event = event(record, ABOUT)?;
    let verb = verb(&event).map(Verb::as_str);
    let (keys, ended, envelope) = if let Event::Agent(AgentEvent::Registered(it)) = event {
        (it.keys, None, it.envelope)
    } else if let Event::Agent(AgentEvent::KeyRotated(it)) = event {
        replaces(&it, agent, ledger)?;
        (vec![it.new_key], Some(it.old_key), it.envelope)
    } else {
        return Err(broken(ABOUT, "a record in `agent_keys` gives no key"));
    };
    is_by(&envelope, agent)?;
    is_to(&envelope, ledger, verb)?;
    let at = TimestampMs::new(record.recorded_at_ms());
    times::of_message(&envelope, at, Limits::DEFAULT.clock_tolerance_ms)?;
    Ok(Given {
        position: record.position(),
        keys,
        ended,
    })
}

fn replaces(rotated: &KeyRotated, agent: Did, ledger: Did) -> Result<(), Broken> {
    let new_key = rotated.new_key.key;
    let text = rotation_message(agent, ledger, rotated.old_key, new_key);
    if rotated.envelope.key.key != rotated.old_key {
        let sentence = "a key was not replaced by the key that it replaces";
        return Err(broken(ABOUT, sentence));
    }
    if !new_key.verify(text.as_bytes(), &rotated.proof) {
        let sentence = format!("{new_key} has not signed that it takes another key's place");
        return Err(broken(ABOUT, sentence));
    }
    Ok(())
}

/// Profile `direct` signs the body, which is not in the file: its signature is left to an audit.
fn is_by(envelope: &AcceptedHeader, agent: Did) -> Result<(), Broken> {
    let is_own = envelope.from == agent && envelope.key.did == agent;
    let holds = match envelope.profile {
        Profile::Digest => envelope.verify_from_leaf(),
        Profile::Direct => true,
    };
    if is_own && holds {
        return Ok(());
    }
    let sentence = "a record in `agent_keys` is of another agent, or not signed by its key";
    Err(broken(ABOUT, sentence))
}

/// Messages to the registry are addressed to the ledger, and each has its own type.
fn is_to(envelope: &AcceptedHeader, ledger: Did, verb: Option<&str>) -> Result<(), Broken> {
    if envelope.to == ledger && Some(envelope.message_type.as_str()) == verb {
        return Ok(());
    }
    let sentence =
        "a record in `agent_keys` is of another message than one that gives this ledger a key";
    Err(broken(ABOUT, sentence))
}

/// Each key once with its messages and the record that gave it: `KEY (ACCEPT; record 7)`.
fn explained(signed: &[SignedBy<'_>], given: &[Given]) -> Result<String, Broken> {
    let (mut used, mut said) = (Vec::new(), Vec::new());
    for by in signed {
        let before = given.iter().filter(|it| it.position < by.position);
        let from = before.clone().rfind(|it| it.keys.contains(&by.key));
        let from = from.ok_or_else(|| {
            let sentence = format!(
                "no record in the file gave the initiator the key {} before its {}",
                by.key.key,
                by.name.to_uppercase()
            );
            broken(ABOUT, sentence)
        })?;
        let mut since = before.filter(|it| it.position > from.position);
        if let Some(end) = since.find(|it| it.ended == Some(by.key.key)) {
            let sentence = format!(
                "the {} is signed by {}, which record {} had replaced",
                by.name.to_uppercase(),
                by.key.key,
                end.position
            );
            return Err(broken(ABOUT, sentence));
        }
        used.push(from.position);
        let sentence = format!(
            "{} ({}; record {})",
            by.key.key,
            names(signed, by.key),
            from.position
        );
        if !said.contains(&sentence) {
            said.push(sentence);
        }
    }
    if given.iter().any(|it| !used.contains(&it.position)) {
        let sentence = "a record in `agent_keys` gave no key that signed";
        return Err(broken(ABOUT, sentence));
    }
    Ok(said.join(" and "))
}
