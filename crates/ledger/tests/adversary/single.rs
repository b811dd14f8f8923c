//! Every member of every event of every record is changed, removed and doubled, and every record
//! dropped, doubled and swapped.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use rayon::prelude::*;
use serde_json::json;
use x811_eventlog::{Draft, Hash, Record};

use crate::bundles::signed;
use crate::changes::{Lie, SaidBy, lies};
use crate::every_event::every_event;
use crate::log::Log;
use crate::members::Pool;
use crate::rarer::rarer;
use crate::scene::exported_under;
use crate::table::{Known, read};
use crate::verdict::{Honest, Verdict3};

/// Set to `all`, every lie is told; to a number, each so manieth; else some of each kind.
const VARIABLE: &str = "X811_FORGERIES";

/// One of how many lies is told where nobody asks for more.
const ONE_IN: usize = 16;

#[expect(
    clippy::disallowed_methods,
    reason = "a test has no command line of its own"
)]
fn one_in() -> usize {
    match std::env::var(VARIABLE).as_deref() {
        Ok("all") => 1,
        Ok(number) => number.parse().expect("`all`, or a number"),
        Err(_) => ONE_IN,
    }
}

fn known() -> Known {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/AUDIT.md");
    read(&std::fs::read_to_string(path).unwrap_or_default())
}

async fn honest() -> Honest {
    let mut ledgerbox = every_event().await;
    rarer(&mut ledgerbox).await;
    let note = signed(&ledgerbox, ledgerbox.records().await.len()).await;
    let export = exported_under(&ledgerbox, Some(&note)).await;
    Honest::of(Log::of(&export, crate::keys::of(&ledgerbox)))
}

#[tokio::test]
async fn lc_9_no_member_of_any_event_can_be_a_lie() {
    let honest = honest().await;
    let pool = Pool::of(&honest.log);
    let said_by = SaidBy::of(&honest.log);
    let places = 0..honest.log.records.len();
    let all: Vec<Lie> = places
        .flat_map(|at| lies(&honest.log, &pool, &said_by, at))
        .collect();
    let told: Vec<Lie> = all.into_iter().step_by(one_in()).collect();
    println!("{} lies, {} records", told.len(), honest.log.records.len());
    let threads = rayon::ThreadPoolBuilder::new().build().unwrap();
    let verdicts: Vec<(Lie, Verdict3)> = threads.install(|| {
        told.into_par_iter()
            .map(|lie| {
                let v = verdict(&honest, &lie);
                (lie, v)
            })
            .collect()
    });
    let mut counts: BTreeMap<Verdict3, u64> = BTreeMap::new();
    let mut misses: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for (lie, verdict) in &verdicts {
        *counts.entry(*verdict).or_default() += 1;
        if *verdict == Verdict3::Clean {
            let key = (lie.event.clone(), lie.member.clone());
            misses.entry(key).or_default().push(lie.what(&honest.log));
        }
    }
    let known = known();
    let mut text = format!("{counts:?}\n");
    for ((event, member), whats) in &misses {
        let kind = known
            .get(&(event.clone(), member.clone()))
            .map_or("?", String::as_str);
        writeln!(text, "{event} {member} [{kind}] {}", whats.len()).unwrap();
        for what in whats.iter().take(40) {
            writeln!(text, "    {what}").unwrap();
        }
    }
    std::fs::write(format!("{}/misses.txt", env!("CARGO_TARGET_TMPDIR")), &text).unwrap();
    let _ = BTreeSet::<u8>::new();
}

fn verdict(honest: &Honest, lie: &Lie) -> Verdict3 {
    if let Some(pointer) = lie.written_twice() {
        return twice(honest, lie.record, pointer);
    }
    let (records, from) = lie.told(&honest.log);
    honest.verdict(records, from)
}

/// A member that stands twice in the text of a leaf.
fn twice(honest: &Honest, record: usize, pointer: &str) -> Verdict3 {
    const MARK: &str = "the-member-that-stands-twice";
    let written = &honest.log.records[record];
    let (mut event, name) = (written.event.clone(), pointer.rsplit('/').next().unwrap());
    let value = event.pointer(pointer).unwrap().to_string();
    *event.pointer_mut(pointer).unwrap() = json!(MARK);
    let draft = Draft {
        recorded_at_ms: written.at_ms,
        stream: written.stream.clone(),
        stream_seq: 0,
        event,
    };
    let sealed = Record::seal(record as u64, Hash::ZERO, draft);
    let leaf = sealed.map(|sealed| String::from_utf8(sealed.bytes().to_vec()).unwrap());
    let mark = format!("\"{MARK}\"");
    let doubled = leaf.map(|leaf| leaf.replace(&mark, &format!("{value},\"{name}\":{value}")));
    match doubled.map(|leaf| Record::parse(leaf.into_bytes())) {
        Ok(Ok(_)) => Verdict3::Clean,
        Ok(Err(_)) | Err(_) => Verdict3::Broken,
    }
}
