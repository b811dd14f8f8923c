//! Lies of two to four records that agree with each other, over every pair of streams that influence each other:
//! a record is left out, moved, doubled or exchanged together with what it caused, with the notices of both.
//!
//! The links are read from honest logs: an effect names its cause, an interaction the ACCEPT of its contract or its
//! agreement, and every message rests on the registration of its sender. What the audit calls clean must be what
//! `tests/AUDIT.md` calls the ledger's word: a message that was left out with all that followed from it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use x811_audit::Outcome;

use super::super::super::single::known;
use super::super::super::size::size;
use super::super::super::verdict::judge;
use super::super::{Story, contests, contracts, excluded, rounds};

/// Lies of each kind of link and change that the gate tells; `X811_PAIRS` is another number.
const TOLD: u32 = 1;

/// The pairs of kinds of streams that have to be among the links.
const PAIRS: [(&str, &str); 15] = [
    ("agent", "contract"),
    ("agent", "descriptor"),
    ("agent", "interaction"),
    ("agent", "round"),
    ("agent", "session"),
    ("agreement", "interaction"),
    ("contract", "interaction"),
    ("interaction", "agreement"),
    ("interaction", "conduct"),
    ("interaction", "contract"),
    ("ledger", "interaction"),
    ("ledger", "round"),
    ("ledger", "session"),
    ("round", "round"),
    ("session", "agreement"),
];

/// A record, and one that rests on it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Link {
    cause: u64,
    effect: u64,
    /// The member of the effect that names the cause; `None` where the rules do.
    names: Option<&'static str>,
}

fn kind(story: &Story, name: u64) -> String {
    let stream = &story.record(name).stream;
    stream.split(':').next().unwrap().to_owned()
}

/// Members by which a record names another by its position.
const NAMING: [&str; 3] = ["/cause", "/derived/contract/accept", "/derived/parameters"];

fn links(story: &Story) -> Vec<Link> {
    let (mut links, mut spoke) = (Vec::new(), BTreeSet::new());
    let registered: BTreeMap<String, u64> = story
        .events("agent_registered")
        .into_iter()
        .map(|name| (story.get(name, "/envelope/from").to_string(), name))
        .collect();
    for effect in story.names(|it| it.event_type() != "notice_issued") {
        let event = &story.record(effect).event;
        for pointer in NAMING {
            let cause = event.pointer(pointer).and_then(|at| at.as_u64());
            links.extend(cause.map(|cause| Link {
                cause,
                effect,
                names: Some(pointer),
            }));
        }
        // An interaction under an agreement rests on the record by which both agreed.
        if let Some(agreement) = event.pointer("/derived/agreement/id") {
            let stream = format!("agreement:{}", agreement.as_str().unwrap());
            let agreed = story.names(|it| it.stream == stream)[0];
            links.push(Link {
                cause: agreed,
                effect,
                names: None,
            });
        }
        let sender = event.pointer("/envelope/from").map(ToString::to_string);
        let first = sender.filter(|it| spoke.insert((it.clone(), kind(story, effect))));
        let cause = first.and_then(|sender| registered.get(&sender));
        links.extend(cause.filter(|cause| **cause != effect).map(|cause| Link {
            cause: *cause,
            effect,
            names: None,
        }));
    }
    links
}

/// A change of both records of a link; false where it changes nothing.
type Change = fn(&mut Story, &Link, &[Link]) -> bool;

const CHANGES: [(&str, Change); 7] = [
    ("both are left out", |story, link, _| {
        let both = [link.effect, link.cause];
        let all: BTreeSet<u64> = both
            .iter()
            .flat_map(|name| story.with_notices(*name))
            .collect();
        story.without(all);
        true
    }),
    (
        "the effect is left out, with what was told of it",
        |story, link, _| {
            let all = story.with_notices(link.effect);
            story.without(all);
            true
        },
    ),
    (
        "the effect comes first, with what was told of it",
        |story, link, _| {
            for name in story.with_notices(link.effect) {
                story.moved(name, link.cause);
            }
            true
        },
    ),
    (
        "the cause is another record of its stream",
        |story, link, _| {
            let stream = story.record(link.cause).stream.clone();
            let others =
                story.names(|it| it.stream == stream && it.event_type() != "notice_issued");
            let other = others.into_iter().rev().find(|name| *name < link.cause);
            let (Some(pointer), Some(other)) = (link.names, other) else {
                return false;
            };
            story.set(link.effect, pointer, json!(other));
            true
        },
    ),
    (
        "the effect is of another subject of its kind",
        |story, link, links| {
            let (of, own) = (
                kind(story, link.effect),
                story.record(link.effect).stream.clone(),
            );
            let others = links
                .iter()
                .map(|it| story.record(it.effect).stream.clone());
            let other = others
                .into_iter()
                .find(|it| *it != own && it.starts_with(&format!("{of}:")));
            let Some(other) = other else {
                return false;
            };
            for name in story.with_notices(link.effect) {
                story.in_stream(name, &other);
            }
            true
        },
    ),
    (
        "two effects have each other's causes",
        |story, link, links| {
            let is_like = |it: &&Link| {
                let types = [it.effect, link.effect].map(|name| story.record(name).event_type());
                *it != link
                    && types[0] == types[1]
                    && it.names == link.names
                    && it.cause != link.cause
            };
            let (Some(pointer), Some(other)) = (link.names, links.iter().find(is_like)) else {
                return false;
            };
            story.set(link.effect, pointer, json!(other.cause)).set(
                other.effect,
                pointer,
                json!(link.cause),
            );
            true
        },
    ),
    (
        "the effect is doubled, and what was told of it",
        |story, link, _| {
            for name in story.with_notices(link.effect) {
                story.again(name, link.effect);
            }
            true
        },
    ),
];

/// True if the ledger may leave such a record out (`tests/AUDIT.md`): nothing in the log shows it.
fn may_be_left_out(story: &Story, name: u64) -> bool {
    let row = known();
    let row = row.of(story.record(name).event_type(), "(record)");
    row.is_some_and(|row| row.kind == "word")
}

#[derive(Debug, Default)]
struct Told {
    by_pair: BTreeMap<(String, String), u32>,
    faults: Vec<String>,
}

impl Told {
    /// Tells the lies about one log, at most so many of each kind of link and change.
    fn tell(&mut self, log: &str, honest: &Story, most: u32) {
        let links = links(honest);
        let mut counts: BTreeMap<(String, String, String, usize), u32> = BTreeMap::new();
        for link in &links {
            let pair = (kind(honest, link.cause), kind(honest, link.effect));
            let event = honest.record(link.effect).event_type().to_owned();
            for (index, (what, change)) in CHANGES.iter().enumerate() {
                let key = (pair.0.clone(), pair.1.clone(), event.clone(), index);
                let count = counts.entry(key).or_default();
                if *count == most {
                    continue;
                }
                let mut story = honest.clone();
                if !change(&mut story, link, &links) {
                    continue;
                }
                *count += 1;
                *self.by_pair.entry(pair.clone()).or_default() += 1;
                if judge(&story.report()) == Outcome::Clean && !is_word(honest, index, link) {
                    self.faults
                        .push(format!("{log}: {link:?} {pair:?} {event}: {what}"));
                }
            }
        }
    }
}

/// True where the lie is one that no file can show: a message was left out, and all that it had caused.
fn is_word(honest: &Story, change: usize, link: &Link) -> bool {
    match change {
        0 => may_be_left_out(honest, link.cause),
        1 => may_be_left_out(honest, link.effect),
        _ => false,
    }
}

#[tokio::test]
async fn lc_9_no_lie_of_two_records_and_more_that_agree_holds() {
    let most = size("X811_PAIRS", TOLD);
    let mut told = Told::default();
    told.tell("interactions", &Story::of_interactions(), most);
    told.tell("contracts", &contracts::honest().await, most);
    told.tell("rounds", &rounds::honest().await, most);
    told.tell("rivals", &contests::drawn().await, most);
    told.tell("conduct", &excluded::honest().await, most);
    assert!(
        told.faults.is_empty(),
        "nobody finds:\n{}",
        told.faults.join("\n")
    );
    for (cause, effect) in PAIRS {
        let pair = (cause.to_owned(), effect.to_owned());
        assert!(
            told.by_pair.contains_key(&pair),
            "{pair:?}: {:#?}",
            told.by_pair
        );
    }
    assert!(
        told.by_pair.values().sum::<u32>() >= 60,
        "{:#?}",
        told.by_pair
    );
}
