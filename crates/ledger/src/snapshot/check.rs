//! What a snapshot says otherwise than the log.

use super::Snapshot;
use std::collections::BTreeMap;
use std::fmt::Debug;
use x811_world::{FirstAnswer, World, WorldContent, for_each_machine};

/// One member in which a snapshot and the world differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Name of that member.
    pub member: &'static str,
    /// Which entry of it; empty where it has no entries.
    pub key: String,
    /// What the log adds up to, if anything.
    pub replayed: Option<String>,
    /// What the snapshot says, if anything.
    pub snapshot: Option<String>,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = |side: &Option<String>| side.clone().unwrap_or_else(|| "nothing".to_owned());
        write!(
            f,
            "{} {}: the log adds up to {}, the snapshot says {}",
            self.member,
            self.key,
            shown(&self.replayed),
            shown(&self.snapshot)
        )
    }
}

/// Compares a snapshot with the world that the log adds up to at the same size.
///
/// Two things may differ and are no fault: nonces that were spent without a record are known to
/// the running ledger only, and it forgets by its clock, which may be ahead of the last record.
#[must_use]
pub fn check(replayed: &World, snapshot: &Snapshot) -> Vec<Difference> {
    let mut replayed = replayed.clone();
    replayed.forget_old(snapshot.taken_at_ms);
    let expected = replayed.content();
    let mut found = snapshot.world.clone();
    found.forget_old(snapshot.taken_at_ms);
    let found = found.content();
    let mut differences = single_members(&expected, &found);
    let size = expected.head.size;
    let unrecorded = |answer: &FirstAnswer| match answer {
        FirstAnswer::Record(position) => *position < size,
        FirstAnswer::Refused(_) => true,
    };
    let nonces = |content: &WorldContent| table(&content.nonces, |(k, v, b)| (*k, (*v, *b)));
    let (known, mut held) = (nonces(&expected), nonces(&found));
    held.retain(|tag, (answer, _)| known.contains_key(tag) || !unrecorded(answer));
    compare("nonces", &known, &held, &mut differences);
    let ids = |content: &WorldContent| table(&content.envelope_ids, |(k, v, b)| (*k, (*v, *b)));
    compare(
        "envelope_ids",
        &ids(&expected),
        &ids(&found),
        &mut differences,
    );
    differences
}

/// Everything but what was seen lately.
fn single_members(expected: &WorldContent, found: &WorldContent) -> Vec<Difference> {
    let mut differences = Vec::new();
    let out = &mut differences;
    let pairs = |content: &WorldContent| {
        [
            ("head", format!("{:?}", content.head)),
            ("frontier", hex::encode(content.frontier.to_bytes())),
            ("identity", format!("{:?}", content.identity)),
            ("keyring", format!("{:?}", content.keyring)),
            ("rules", format!("{:?}", content.rules)),
            ("ledger_seq", content.ledger_seq.to_string()),
        ]
    };
    for ((member, expected), (_, found)) in pairs(expected).into_iter().zip(pairs(found)) {
        if expected != found {
            out.push(Difference {
                member,
                key: String::new(),
                replayed: Some(expected),
                snapshot: Some(found),
            });
        }
    }
    let parameters = |content: &WorldContent| table(&content.parameters, Clone::clone);
    compare("parameters", &parameters(expected), &parameters(found), out);
    // A network that nothing was recorded of is the same as none.
    let networks = |content: &WorldContent| {
        let mut networks = table(&content.networks, |(name, seq, since, recorded)| {
            (name.clone(), (*seq, *since, recorded.clone()))
        });
        networks.retain(|_, sight| *sight != (0, None, None));
        networks
    };
    compare("networks", &networks(expected), &networks(found), out);
    let agents = |content: &WorldContent| table(&content.agents, Clone::clone);
    compare("agents", &agents(expected), &agents(found), out);
    let trust = |content: &WorldContent| table(&content.trust, Clone::clone);
    compare("trust", &trust(expected), &trust(found), out);
    macro_rules! compare_subjects {
        ($($held:ident: $subject:ident($machine:ty), $kind:literal;)+) => {
            $(
                let live = |content: &WorldContent| {
                    table(&content.subjects.$held, |(k, p, l)| (*k, (*p, l.clone())))
                };
                compare(stringify!($held), &live(expected), &live(found), out);
            )+
        };
    }
    for_each_machine!(compare_subjects);
    let owed =
        |content: &WorldContent| table(&content.owed, |(cause, to, n)| ((*cause, *to), n.clone()));
    compare("owed", &owed(expected), &owed(found), out);
    let charged = |content: &WorldContent| table(&content.charged, Clone::clone);
    compare("charged", &charged(expected), &charged(found), out);
    let failed =
        |content: &WorldContent| table(&content.failed, |one| (one.failed.round, one.clone()));
    compare("failed", &failed(expected), &failed(found), out);
    differences
}

fn table<T, K: Ord, V>(items: &[T], entry: impl Fn(&T) -> (K, V)) -> BTreeMap<K, V> {
    items.iter().map(entry).collect()
}

fn compare<K: Ord + Debug, V: PartialEq + Debug>(
    member: &'static str,
    expected: &BTreeMap<K, V>,
    found: &BTreeMap<K, V>,
    out: &mut Vec<Difference>,
) {
    let extra = found.keys().filter(|key| !expected.contains_key(key));
    for key in expected.keys().chain(extra) {
        let (expected, found) = (expected.get(key), found.get(key));
        if expected != found {
            out.push(Difference {
                member,
                key: format!("{key:?}"),
                replayed: expected.map(|value| format!("{value:?}")),
                snapshot: found.map(|value| format!("{value:?}")),
            });
        }
    }
}
