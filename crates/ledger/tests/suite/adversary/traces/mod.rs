//! Traces that whoever holds the receipt key changes and signs anew. What a trace says twice must break it, or be
//! counted as not checked; what it says once must be found by the audit of trace and log. The rest is listed with
//! its reason, and the lists may only shrink.

mod agreeing;
mod served;
mod word;

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use serde_json::{Value, json};
use uuid::{Builder, Uuid};
use x811_audit::{TraceComparison, TraceGap, compare_trace};
use x811_protocol::answer::Trace;
use x811_protocol::digest::Digest;
use x811_protocol::trace::{Claims, Verified, verify};

use super::every_path::{entry, exactly, others, path, pointers};
use super::size::size;
use served::Served;
use word::{ALONE, WORD};

/// One of so many changes is told, besides one of each member; the gate's number is `ONE_IN`.
const VARIABLE: &str = "X811_TRACES";
const ONE_IN: u32 = 150;

/// The stored log of that name.
fn log(name: &str) -> Vec<u8> {
    let vectors = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/bundle");
    std::fs::read(format!("{vectors}/{name}.x811")).unwrap()
}

/// A log, and everything that it has traces of.
struct Traced {
    export: Vec<u8>,
    traces: Vec<Served>,
}

impl Traced {
    fn all() -> Vec<Traced> {
        let names = ["log-every-event", "log-rounds"];
        names.map(Traced::of).into()
    }

    fn of(name: &str) -> Traced {
        let export = log(name);
        let traces = Served::all(&export);
        Traced { export, traces }
    }

    fn compared(&self, trace: &Trace) -> Option<TraceComparison> {
        compare_trace(("log", &self.export[..]), ("trace", trace)).ok()
    }
}

fn verified(trace: &Trace) -> Option<Verified> {
    verify(trace.wid, &trace.tokens, &trace.own).ok()
}

/// How many things a report says that nobody checked.
fn sum<K>(counts: &BTreeMap<K, u64>) -> u64 {
    counts.values().sum()
}

/// Who finds a changed trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finder {
    Alone,
    Log,
    Nobody,
}

/// An honest trace with what is said of it, to hold changed ones against.
struct Honest<'a> {
    traced: &'a Traced,
    served: &'a Served,
    not_shown: u64,
    gaps: u64,
}

impl Honest<'_> {
    fn of<'a>(traced: &'a Traced, served: &'a Served) -> Honest<'a> {
        let trace = served.resigned(&served.claims);
        let compared = traced.compared(&trace).unwrap();
        Honest {
            traced,
            served,
            not_shown: sum(&verified(&trace).unwrap().not_checked),
            gaps: sum(&compared.not_checked),
        }
    }

    fn finder(&self, claims: &[Claims]) -> Finder {
        let trace = self.served.resigned(claims);
        let alone = verified(&trace);
        if alone.is_none_or(|it| sum(&it.not_checked) > self.not_shown) {
            return Finder::Alone;
        }
        match self.traced.compared(&trace) {
            Some(it) if it.agrees() && sum(&it.not_checked) <= self.gaps => Finder::Nobody,
            Some(_) | None => Finder::Log,
        }
    }
}

/// A change of one trace, which is signed anew.
#[derive(Debug, Clone)]
enum Change {
    Set(usize, String, Value),
    Remove(usize, String),
    /// A node is left out, and nobody names it.
    Drop(usize),
    Swap(usize),
    /// Nothing follows from there on.
    Cut(usize),
    /// Served by so many seconds later.
    Served(i64),
}

/// A change, the trace that it is of, and the member that it is about.
#[derive(Debug, Clone)]
struct Forgery {
    change: Change,
    member: String,
    trace: usize,
}

fn of_trace(number: usize, served: &Served) -> Vec<Forgery> {
    let mut all = Vec::new();
    let mut add = |member: &str, change| {
        all.push(Forgery {
            change,
            member: member.to_owned(),
            trace: number,
        });
    };
    let values: Vec<Value> = served.claims.iter().map(|it| json!(it)).collect();
    let mut texts = BTreeSet::new();
    for value in &values {
        let mut members = Vec::new();
        pointers(value, "", &mut members);
        let here = members.iter().filter_map(|it| value.pointer(it)?.as_str());
        texts.extend(here.map(str::to_owned));
    }
    for (place, value) in values.iter().enumerate() {
        let act = value["exec_act"].as_str().unwrap();
        let mut members = Vec::new();
        pointers(value, "", &mut members);
        for pointer in members {
            let path = path(&pointer);
            let member = match path
                .strip_prefix("ect_ext.")
                .and_then(|it| it.split_once('.'))
            {
                Some((_, member)) => format!("{act}.{member}"),
                None => format!("claims.{path}"),
            };
            for other in others(value.pointer(&pointer).unwrap(), &texts) {
                add(&member, Change::Set(place, pointer.clone(), other));
            }
            add(&member, Change::Remove(place, pointer));
        }
        add("nodes.drop", Change::Drop(place));
        if place > 0 {
            add("nodes.swap", Change::Swap(place));
            add("nodes.cut", Change::Cut(place));
        }
    }
    for seconds in [1, -1, 3_600, -3_600] {
        add("claims.iat", Change::Served(seconds));
    }
    all
}

impl Change {
    /// The claims after it; `None` where they are no claims, or as they were.
    fn told(&self, honest: &Served) -> Option<Vec<Claims>> {
        let mut values: Vec<Value> = honest.claims.iter().map(|it| json!(it)).collect();
        match self {
            Change::Set(place, pointer, other) => {
                let value = &mut values[*place];
                *value.pointer_mut(pointer)? = other.clone();
                let before = honest.claims[*place].jti;
                if pointer.ends_with("/record_hash") && value["exec_act"] != "consensus_votes" {
                    let hash: Digest = other.as_str()?.parse().ok()?;
                    value["jti"] = json!(jti(hash));
                }
                let after = value["jti"].clone();
                rename(&mut values, &json!(before), &after);
            }
            Change::Remove(place, pointer) => {
                let (object, name) = pointer.rsplit_once('/')?;
                let members = values[*place].pointer_mut(object)?.as_object_mut()?;
                members.remove(name)?;
            }
            Change::Drop(place) => {
                let gone = values.remove(*place)["jti"].clone();
                for value in &mut values {
                    let pred = value["pred"].as_array_mut()?;
                    pred.retain(|pred| *pred != gone);
                }
            }
            Change::Swap(place) => values.swap(place - 1, *place),
            Change::Cut(place) => values.truncate(*place),
            Change::Served(seconds) => {
                for value in &mut values {
                    for name in ["iat", "exp"] {
                        value[name] = json!(value[name].as_i64()? + seconds);
                    }
                }
            }
        }
        let claims: Vec<Claims> = values
            .into_iter()
            .map(serde_json::from_value)
            .collect::<Result<_, _>>()
            .ok()?;
        (!claims.is_empty() && claims != honest.claims).then_some(claims)
    }
}

/// The id of a node by its record (round.md, "Trace").
fn jti(hash: Digest) -> Uuid {
    let digest = Digest::of_parts(&[b"x811 ect v1", hash.as_bytes()]);
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.as_bytes()[..16]);
    Builder::from_custom_bytes(bytes).into_uuid()
}

/// Whoever names the node goes on to.
fn rename(values: &mut [Value], before: &Value, after: &Value) {
    for value in values {
        for pred in value["pred"].as_array_mut().into_iter().flatten() {
            if pred == before {
                *pred = after.clone();
            }
        }
    }
}

/// The first of each member, another one for each seed, and one of `one_in` others.
fn some_of(all: &[Forgery]) -> Vec<&Forgery> {
    let one_in = size(VARIABLE, ONE_IN) as usize;
    let seed = size("X811_SEED", 0) as usize;
    let mut of_member: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, forgery) in all.iter().enumerate() {
        of_member.entry(&forgery.member).or_default().push(at);
    }
    let mut told: BTreeSet<usize> = (seed % one_in..all.len()).step_by(one_in).collect();
    told.extend(of_member.values().map(|of| of[seed % of.len()]));
    told.into_iter().map(|at| &all[at]).collect()
}

#[test]
fn cc_101_honest_traces_hold_and_agree_with_their_log() {
    let mut shapes = BTreeSet::new();
    for traced in Traced::all() {
        for served in &traced.traces {
            let trace = served.resigned(&served.claims);
            let checked = verify(trace.wid, &trace.tokens, &trace.own);
            assert!(checked.is_ok(), "{}: {checked:?}", served.wid);
            let compared = traced.compared(&trace).unwrap();
            assert!(compared.agrees() && compared.was_compared(), "{compared:?}");
            assert_eq!(compared.nodes, compared.compared, "{compared:?}");
            assert_eq!(
                sum(&compared.not_checked),
                1,
                "when it was served: {compared:?}"
            );
            shapes.extend(served.claims.iter().map(|claims| claims.exec_act.clone()));
        }
    }
    // A hundred votes and more are in the tests of the protocol.
    assert_eq!(
        shapes.len(),
        x811_protocol::trace::Act::ALL.len() - 1,
        "{shapes:?}"
    );
}

/// Bundles that were stored hold against traces that were served from the log, and of their own records.
#[test]
fn cc_101_honest_traces_agree_with_stored_bundles() {
    let bundles = [
        "agreement",
        "negotiation",
        "negotiation-withdrawn",
        "round-drawn",
        "round-held",
        "round-sealed",
        "round-silent-again",
        "round-silent",
        "session",
    ];
    for name in bundles {
        let traced = Traced::of(name);
        assert!(!traced.traces.is_empty(), "{name}");
        for served in &traced.traces {
            let trace = served.resigned(&served.claims);
            assert!(verified(&trace).is_some(), "{name}");
            let compared = traced.compared(&trace).unwrap();
            assert!(
                compared.agrees() && compared.was_compared(),
                "{name}: {compared:?}"
            );
        }
    }
}

/// The whole trace with that many nodes, served `seconds` behind the last of them.
fn earlier(served: &Served, nodes: usize, seconds: u64) -> Trace {
    let mut claims = served.claims[..nodes].to_vec();
    let iat = claims[nodes - 1].recorded_at_ms.as_ms() / 1_000 + seconds;
    for node in &mut claims {
        (node.iat, node.exp) = (iat, iat + 600);
    }
    served.resigned(&claims)
}

/// A trace is of a moment, and a file ends somewhere: what neither shows is counted, and is no difference.
#[test]
fn cc_101_traces_and_files_of_different_moments_are_compared_as_far_as_both_go() {
    let traced = Traced::of("log-every-event");
    let engaged = |served: &&Served| {
        served
            .claims
            .iter()
            .any(|it| it.exec_act == "contract_engage")
    };
    let served = traced.traces.iter().find(engaged).unwrap();
    let all = served.claims.len();
    let before = traced.compared(&earlier(served, all - 1, 0)).unwrap();
    assert!(before.agrees() && before.was_compared(), "{before:?}");
    let hidden = traced.compared(&earlier(served, all - 1, 3_600)).unwrap();
    assert!(!hidden.agrees(), "the last node was an hour old");
    assert!(
        hidden.differences[0]
            .sentence
            .contains("leaves out contract_engage")
    );

    // A log that ends before the last node.
    let whole = String::from_utf8(traced.export.clone()).unwrap();
    let position = served.claims[all - 1].ect_ext["contract"]["position"]
        .as_u64()
        .unwrap();
    let mut left = position;
    let begins = whole.lines().take_while(|line| {
        let is_record = line.starts_with("r ");
        left -= u64::from(is_record && left > 0);
        !is_record || left > 0
    });
    let begins: String = begins.flat_map(|line| [line, "\n"]).collect();
    let short = Traced {
        export: begins.into_bytes(),
        traces: Vec::new(),
    };
    let trace = served.resigned(&served.claims);
    let compared = short.compared(&trace).unwrap();
    assert!(compared.agrees() && compared.was_compared(), "{compared:?}");
    assert!(compared.not_checked[&TraceGap::Beyond] > 0, "{compared:?}");

    // Another subject's bundle, and files that have no nodes.
    let other = Traced::of("round-held");
    let compared = other.compared(&trace).unwrap();
    assert!(
        compared.agrees() && !compared.was_compared(),
        "{compared:?}"
    );
    for bytes in [&b"{\"ask\":1}\n"[..], b"x811/ledger\n1\n", b""] {
        assert!(compare_trace(("file", bytes), ("trace", &trace)).is_err());
    }
}

/// Whoever has no key of the ledger makes no evidence, and its trace does not pass for the ledger's.
#[test]
fn cc_101_a_trace_by_a_key_that_the_log_does_not_name_differs() {
    let traced = Traced::of("log-every-event");
    let served = &traced.traces[0];
    let compared = traced.compared(&served.by_a_stranger()).unwrap();
    assert!(!compared.agrees() && !compared.is_evidence, "{compared:?}");
    assert!(
        compared.differences[0]
            .sentence
            .contains("never a receipt key")
    );
}

#[test]
fn cc_101_every_member_of_a_trace_is_held_to_the_others_to_the_log_or_listed() {
    let logs = Traced::all();
    let honest: Vec<Honest<'_>> = logs
        .iter()
        .flat_map(|traced| {
            traced
                .traces
                .iter()
                .map(|served| Honest::of(traced, served))
        })
        .collect();
    let all = honest.iter().enumerate();
    let all: Vec<Forgery> = all
        .flat_map(|(number, honest)| of_trace(number, honest.served))
        .collect();
    let finder = |forgery: &Forgery| {
        let honest = &honest[forgery.trace];
        let claims = forgery.change.told(honest.served);
        claims.map_or(Finder::Alone, |claims| honest.finder(&claims))
    };
    let told = some_of(&all).into_par_iter();
    let found: Vec<(&str, Finder)> = told.map(|it| (&*it.member, finder(it))).collect();
    // Of a listed member the first change that is missed is enough.
    for (list, due) in [(ALONE, Finder::Log), (WORD, Finder::Nobody)] {
        let by = |finder: Finder| found.iter().filter(move |(_, by)| *by == finder);
        let mut missed: BTreeSet<String> =
            by(due).map(|(member, _)| (*member).to_owned()).collect();
        for (listed, _) in list {
            if !missed
                .iter()
                .any(|member| entry(list, member) == Some(listed))
            {
                let mut of_it = all
                    .iter()
                    .filter(|it| entry(list, &it.member) == Some(listed));
                missed.extend(
                    of_it
                        .find(|it| finder(it) == due)
                        .map(|it| it.member.clone()),
                );
            }
        }
        exactly(&missed, list);
    }
}
