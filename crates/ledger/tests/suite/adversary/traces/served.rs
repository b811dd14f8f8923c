//! The traces that a ledger serves of a log.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use x811_audit::export::{Item, Reader};
use x811_eventlog::Record;
use x811_protocol::answer::Trace;
use x811_protocol::digest::Digest;
use x811_protocol::event::Event;
use x811_protocol::key::{KeyId, PublicKey, SecretKey};
use x811_protocol::stream::{Stream, Subject};
use x811_protocol::time::TimestampMs;
use x811_protocol::trace::{
    Claims, OwnToken, Recorded, Wid, nodes, owns, sessions_of, shown_message,
};

/// A record of a subject.
struct Kept {
    event: Event,
    hash: Digest,
    payload: Option<Map<String, Value>>,
    position: u64,
    recorded_at_ms: TimestampMs,
    subject: Subject,
}

/// An honest trace, and the key that signs it.
pub(super) struct Served {
    pub(super) claims: Vec<Claims>,
    pub(super) own: Vec<OwnToken>,
    pub(super) wid: Wid,
    kid: KeyId,
    key: SecretKey,
    tokens: Vec<String>,
}

impl Served {
    /// Every trace of the export, as of its last record.
    pub(super) fn all(export: &[u8]) -> Vec<Served> {
        let (kept, kid, served) = read(export);
        let mut secrets = super::super::keys::all().into_iter();
        let key = secrets.find(|key| key.public() == kid.key).unwrap();
        let mut seen = BTreeSet::new();
        let opened = kept.iter().filter(|kept| seen.insert(kept.subject));
        let opened = opened.filter_map(|kept_first| named(&kept, kept_first));
        let traces = opened.filter_map(|(subject, parts)| {
            let parts = kept.iter().filter(|kept| parts.contains(&kept.subject));
            let recorded = parts.map(|kept| Recorded {
                event: &kept.event,
                hash: kept.hash,
                payload: kept.payload.as_ref(),
                position: kept.position,
                recorded_at_ms: kept.recorded_at_ms,
                subject: kept.subject,
            });
            let nodes = nodes(subject, recorded);
            let wid: Wid = subject.public_id().parse().unwrap();
            let name = wid.to_string();
            let claims: Vec<Claims> = nodes
                .iter()
                .map(|node| Claims::of(node, &name, served, kid.did))
                .collect();
            let tokens = claims.iter().map(|it| it.signed(kid, &key)).collect();
            (!nodes.is_empty()).then(|| Served {
                claims,
                own: owns(&nodes),
                wid,
                kid,
                key: key.clone(),
                tokens,
            })
        });
        traces.collect()
    }

    /// The same by another key, in the ledger's name.
    pub(super) fn by_a_stranger(&self) -> Trace {
        let key = SecretKey::from_seed([7; 32]);
        let kid = KeyId {
            key: key.public(),
            ..self.kid
        };
        let tokens = self.claims.iter().map(|it| it.signed(kid, &key));
        Trace {
            wid: self.wid,
            tokens: tokens.collect(),
            own: self.own.clone(),
        }
    }

    /// The same with other claims, signed anew.
    pub(super) fn resigned(&self, claims: &[Claims]) -> Trace {
        let token = |claims: &Claims| {
            let same = self.claims.iter().position(|honest| honest == claims);
            same.map_or_else(
                || claims.signed(self.kid, &self.key),
                |place| self.tokens[place].clone(),
            )
        };
        Trace {
            wid: self.wid,
            tokens: claims.iter().map(token).collect(),
            own: self.own.clone(),
        }
    }
}

/// All records of subjects, the ledger's receipt key, and the time of the last record.
fn read(export: &[u8]) -> (Vec<Kept>, KeyId, TimestampMs) {
    let (mut all, mut kid, mut last) = (Vec::new(), None, TimestampMs::new(0));
    for item in Reader::new(export) {
        let Item::Record(line) = item.unwrap() else {
            continue;
        };
        let record = Record::parse(line.leaf).unwrap();
        last = TimestampMs::new(record.recorded_at_ms());
        let said = record.event();
        if said["type"] == "ledger_opened" {
            kid = Some(KeyId {
                did: said["did"].as_str().unwrap().parse().unwrap(),
                key: public_key(&said["keys"]["receipt"]),
            });
        } else if said["type"] == "ledger_key_rotated" && said["role"] == "receipt" {
            kid.as_mut().unwrap().key = public_key(&said["new_key"]);
        }
        let Ok(Stream::Of(subject)) = record.stream().parse() else {
            continue;
        };
        let event = Event::from_value(&said).unwrap();
        let body = line.body.filter(|_| shown_message(&event).is_some());
        let body = body.map(|body| serde_json::from_slice::<Value>(&body.bytes).unwrap());
        all.push(Kept {
            payload: body.and_then(|body| body["payload"].as_object().cloned()),
            event,
            hash: Digest::from_bytes(*record.hash().as_bytes()),
            position: record.position(),
            recorded_at_ms: last,
            subject,
        });
    }
    (all, kid.unwrap(), last)
}

fn public_key(value: &Value) -> PublicKey {
    serde_json::from_value(value.clone()).unwrap()
}

/// The subject that a trace is named by and all that it is made of, if that begins with the first record of
/// this one.
fn named(all: &[Kept], first: &Kept) -> Option<(Subject, BTreeSet<Subject>)> {
    let facts = |kept: &Kept| serde_json::to_value(&kept.event).unwrap()["facts"].clone();
    match first.subject {
        Subject::Contract(_) => Some((first.subject, BTreeSet::from([first.subject]))),
        Subject::Round(id) => {
            if !facts(first)["resubmission_of"].is_null() {
                return None;
            }
            let mut parts = BTreeSet::from([first.subject]);
            let mut last = id.to_string();
            for kept in all {
                if facts(kept)["resubmission_of"] == last.as_str() {
                    parts.insert(kept.subject);
                    last = kept.subject.public_id();
                }
            }
            Some((first.subject, parts))
        }
        Subject::Session(id) => {
            let agreement = Subject::Agreement(id.into());
            let own = all.iter().filter(|kept| kept.subject == agreement);
            let sessions = sessions_of(own.map(|kept| &kept.event));
            if sessions.is_empty() {
                return Some((first.subject, BTreeSet::from([first.subject])));
            }
            let sessions = sessions.into_iter().map(Subject::Session);
            Some((agreement, sessions.chain([agreement]).collect()))
        }
        Subject::Interaction(_)
        | Subject::Descriptor(_)
        | Subject::Agreement(_)
        | Subject::Conduct(_) => None,
    }
}
