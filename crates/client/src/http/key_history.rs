//! The keys that an agent or the ledger had, position by position, from its beginning to the present
//! ones (ledger-contract.md section 4).
//!
//! No former key is believed on the ledger's word: each was named by the key that took its place,
//! in the proof of the rotation, and the last of these are the keys of the agent's DID document. The
//! ledger's word is left for the positions, which only an audit of the whole log proves. Of its own
//! keys each signed for the one that took its place, and the last is the one that it shows.

use x811_protocol::did::Did;
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::event::{AgentEvent, Event, KeyRotated, LedgerEvent, LedgerRole};
use x811_protocol::key::{AgentKey, Profile, PublicKey};
use x811_protocol::payload::registry::rotation_message;

use super::LedgerClient;
use super::answer::{History, HistoryRecord};
use super::error::ClientError;

/// How many pages are read before the ledger is taken to have no end: 10 000 records of an agent.
const MAX_PAGES: u32 = 50;

/// An agent's keys from its registration on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeyHistory(Vec<Span>);

/// Keys, and the first position that they signed for; they end where the next begin.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    from_position: u64,
    keys: Vec<AgentKey>,
}

impl KeyHistory {
    /// Follows the records of an agent, oldest first, each held against its leaf before.
    fn follow(did: Did, ledger: Did, records: &[HistoryRecord]) -> Result<KeyHistory, ClientError> {
        let mut spans: Vec<Span> = Vec::new();
        for record in records {
            let last = spans.last();
            if last.is_some_and(|last| record.position < last.from_position) {
                return Err(record.fault("it is out of order"));
            }
            let span = match (last, record.event()?) {
                (None, Event::Ledger(LedgerEvent::Opened(opened)))
                    if did == ledger && opened.did == did =>
                {
                    Span {
                        from_position: record.position,
                        keys: vec![of_the_ledger(opened.keys.envelope)],
                    }
                }
                (Some(last), Event::Ledger(LedgerEvent::KeyRotated(rotated))) if did == ledger => {
                    if rotated.role != LedgerRole::Envelope {
                        continue;
                    }
                    if last.keys != [of_the_ledger(rotated.old_key)] || !rotated.is_proven(ledger) {
                        return Err(record.fault("the key it replaces did not sign for it"));
                    }
                    Span {
                        from_position: record.position + 1,
                        keys: vec![of_the_ledger(rotated.new_key)],
                    }
                }
                (None, Event::Agent(AgentEvent::Registered(registered))) => Span {
                    from_position: record.position,
                    keys: registered.keys,
                },
                (Some(last), Event::Agent(AgentEvent::KeyRotated(rotated))) => {
                    let replaced = replaced(did, ledger, &last.keys, &rotated);
                    Span {
                        from_position: record.position + 1,
                        keys: replaced.map_err(|fault| record.fault(fault))?,
                    }
                }
                _ => return Err(record.fault("it is not the next of this agent's keys")),
            };
            spans.push(span);
        }
        Ok(KeyHistory(spans))
    }

    /// Whether these are the keys it ends in, in any order.
    pub(super) fn leads_to(&self, present: &[AgentKey]) -> bool {
        let mut present = present.to_vec();
        let mut last = self.0.last().map_or(Vec::new(), |last| last.keys.clone());
        present.sort_unstable();
        last.sort_unstable();
        present == last
    }

    /// The keys that a message at `position` may be signed by.
    pub(super) fn keys_at(&self, position: u64) -> &[AgentKey] {
        let begun = |span: &&Span| span.from_position <= position;
        let span = self.0.iter().rev().find(begun);
        span.map_or(&[], |span| &span.keys)
    }
}

/// A key that signs notices.
fn of_the_ledger(key: PublicKey) -> AgentKey {
    AgentKey {
        key,
        profile: Profile::Digest,
    }
}

/// The keys after a rotation that both keys agreed to.
fn replaced(
    did: Did,
    ledger: Did,
    keys: &[AgentKey],
    rotated: &KeyRotated,
) -> Result<Vec<AgentKey>, &'static str> {
    let header = &rotated.envelope;
    let signer = AgentKey {
        key: header.key.key,
        profile: header.profile,
    };
    if header.from != did || signer.key != rotated.old_key || !keys.contains(&signer) {
        return Err("the key it replaces was not one of the agent's");
    }
    if keys.iter().any(|known| known.key == rotated.new_key.key) {
        return Err("the new key was one of the agent's before");
    }
    if !is_signed(header) {
        return Err("the replaced key never asked for it");
    }
    let text = rotation_message(did, ledger, rotated.old_key, rotated.new_key.key);
    if !rotated.new_key.key.verify(text.as_bytes(), &rotated.proof) {
        return Err("the new key never proved itself");
    }
    let replace = |known: &AgentKey| match *known == signer {
        true => rotated.new_key,
        false => *known,
    };
    Ok(keys.iter().map(replace).collect())
}

/// Whether the leaf's signature holds. One over the whole body (AX-23) cannot be looked at here;
/// the new key's proof names the old one all the same.
fn is_signed(header: &AcceptedHeader) -> bool {
    header.profile == Profile::Direct || header.verify_from_leaf()
}

impl LedgerClient {
    /// Reads how an agent, or the ledger, came by its keys.
    ///
    /// # Errors
    /// X811-1001 for a DID that is not registered; [`ClientError::Untrusted`] when a record or a
    /// rotation does not hold; else as [`ClientError`] says.
    pub(super) async fn key_history(&self, did: Did) -> Result<KeyHistory, ClientError> {
        let uuid = did.uuid().to_string();
        let mut records: Vec<HistoryRecord> = Vec::new();
        let mut after: Option<u64> = None;
        for _ in 0..MAX_PAGES {
            let after_seq = after.map(|seq| seq.to_string());
            let query: Vec<_> = after_seq
                .iter()
                .map(|seq| ("after_seq", seq.as_str()))
                .collect();
            let path = ["api", "v1", "agents", &uuid, "keys"];
            let page: History = self.get(&path, &query).await?.read()?;
            records.extend(page.records);
            if page.next.is_none() {
                let ledger = self.info().await?.did;
                let stream = match did == ledger {
                    true => "ledger".to_owned(),
                    false => format!("agent:{did}"),
                };
                for record in &records {
                    record.check(&stream)?;
                }
                return KeyHistory::follow(did, ledger, &records);
            }
            after = page.next;
        }
        Err(ClientError::Untrusted {
            cause: format!("the ledger has more than {MAX_PAGES} pages of records of {did}"),
        })
    }
}

#[cfg(test)]
mod tests;
