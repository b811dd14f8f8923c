//! Lies about the records of one subject, in its bundle: what the rest of the log is not there to show
//! is counted as not checked, and everything else is found, is the ledger's word by `tests/AUDIT.md`, or
//! stands in the list below with the count that it falls under. The list may only shrink.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use x811_audit::{Options, Outcome, Report, Unchecked, audit_export};
use x811_eventlog::note::NoteKey;
use x811_protocol::stream::{Stream, Subject};

use super::bundles::try_bundle;
use super::changes::{Lie, SaidBy, lies};
use super::every_event::every_event;
use super::extract::bundle_of;
use super::ledgerbox::Ledgerbox;
use super::log::Log;
use super::members::Pool;
use super::rarer::rarer;
use super::single::{is_its_word, known, some_of, written_by};
use super::size::size;
use super::table::Known;
use super::verdict::judge;

/// Event and member that a bundle cannot show, and the count that says so.
const UNSEEN: &[(&str, &str, Unchecked)] = &[];

/// Bundles of each kind: those with the most records. The gate has one.
const VARIABLE: &str = "X811_SCOPES";

/// The gate tells one of this many lies.
const ONE_IN: u32 = 12;

/// The bundle of a subject, and what an audit of it says.
struct Bundle {
    subject: Subject,
    bytes: Vec<u8>,
    /// The same, taken from the log that was sealed anew.
    sealed: Vec<u8>,
    report: Report,
}

/// A log, and the bundles of its subjects.
struct Bundles {
    log: Log,
    trusted: NoteKey,
    bundles: Vec<Bundle>,
}

impl Bundles {
    async fn of(ledgerbox: &Ledgerbox) -> Bundles {
        let log = written_by(ledgerbox).await;
        let opened = log.header().unwrap().opened;
        let trusted = NoteKey::new(&*opened.origin, *opened.keys.checkpoint.as_bytes()).unwrap();
        let mut all = Bundles {
            log,
            trusted,
            bundles: Vec::new(),
        };
        let mut of_kind: BTreeMap<&str, u32> = BTreeMap::new();
        for subject in all.subjects() {
            let count = of_kind.entry(subject.kind()).or_default();
            let records = all.log.records.len() as u64;
            if *count == size(VARIABLE, 1) {
                continue;
            }
            if let Ok(bytes) = try_bundle(ledgerbox, subject, records).await {
                let report = all.report(&bytes);
                assert_eq!(report.findings, [], "{subject}");
                assert_eq!(judge(&report), Outcome::Clean, "{subject}");
                let sealed = bundle_of(&all.log.sealed().unwrap(), &bytes, &all.log.hand);
                *count += 1;
                all.bundles.push(Bundle {
                    subject,
                    bytes,
                    sealed,
                    report,
                });
            }
        }
        all
    }

    /// Those with the most records first.
    fn subjects(&self) -> Vec<Subject> {
        let mut records: BTreeMap<Subject, usize> = BTreeMap::new();
        for written in &self.log.records {
            if let Ok(Stream::Of(subject)) = written.stream.parse() {
                *records.entry(subject).or_default() += 1;
            }
        }
        let mut subjects: Vec<Subject> = records.keys().copied().collect();
        subjects.sort_by_key(|subject| std::cmp::Reverse(records[subject]));
        subjects
    }

    fn report(&self, bundle: &[u8]) -> Report {
        let options = Options {
            trust: Some(self.trusted.clone().into()),
            ..Options::default()
        };
        audit_export(bundle, options).unwrap()
    }

    /// Every lie about a record of that subject.
    fn lies(&self, subject: Subject) -> Vec<Lie> {
        let (pool, said_by) = (Pool::of(&self.log, &known()), SaidBy::of(&self.log));
        let records = self.log.records.iter().enumerate();
        let own = records.filter(|(_, it)| it.stream.parse() == Ok(Stream::Of(subject)));
        own.flat_map(|(at, _)| lies(&self.log, &pool, &said_by, at))
            .collect()
    }

    /// Whether an audit of the bundle with that lie is clean, and counts nothing more as not checked.
    fn is_missed(&self, bundle: &Bundle, lie: &Lie) -> bool {
        if lie.written_twice().is_some() {
            return false;
        }
        let (records, _) = lie.told(&self.log);
        let hand = self.log.hand.clone();
        let told = Log { records, hand };
        let Some(sealed) = told.sealed() else {
            return false;
        };
        let forged = bundle_of(&sealed, &bundle.bytes, &told.hand);
        if forged == bundle.sealed {
            return false;
        }
        let report = self.report(&forged);
        judge(&report) == Outcome::Clean && counts(&report) <= counts(&bundle.report)
    }
}

/// How many things it says that nobody checked.
fn counts(report: &Report) -> u64 {
    report.extract.as_ref().unwrap().not_checked.values().sum()
}

fn listed(lie: &Lie) -> Option<&'static (&'static str, &'static str, Unchecked)> {
    let mut unseen = UNSEEN.iter();
    unseen.find(|(event, member, _)| (*event, *member) == (&*lie.event, &*lie.member))
}

/// Whether an entry of the list covers the lie, and the bundle counts what the entry names.
fn is_counted(bundle: &Bundle, lie: &Lie) -> bool {
    let not_checked = &bundle.report.extract.as_ref().unwrap().not_checked;
    listed(lie).is_some_and(|(_, _, count)| not_checked.contains_key(count))
}

fn missed(all: &Bundles, known: &Known, bundle: &Bundle, told: &[Lie]) -> BTreeSet<String> {
    let missed = told.par_iter().filter(|lie| {
        let may_be = is_its_word(known, &all.log, lie) || is_counted(bundle, lie);
        !may_be && all.is_missed(bundle, lie)
    });
    missed
        .map(|lie| {
            format!(
                "{} {} {}: {}",
                bundle.subject.kind(),
                lie.event,
                lie.member,
                lie.what(&all.log)
            )
        })
        .collect()
}

#[tokio::test]
async fn lc_8_every_member_of_a_bundle_is_held_to_the_others_or_listed() {
    let mut ledgerbox = every_event().await;
    rarer(&mut ledgerbox).await;
    let (all, known) = (Bundles::of(&ledgerbox).await, known());
    let kinds: BTreeSet<&str> = all.bundles.iter().map(|it| it.subject.kind()).collect();
    assert_eq!(kinds.len(), 7, "{kinds:?}");
    let (mut found_by_nobody, mut still) = (BTreeSet::new(), BTreeSet::new());
    for bundle in &all.bundles {
        let lies = all.lies(bundle.subject);
        let one_in = if size(VARIABLE, 1) > 1 { 1 } else { ONE_IN };
        let told = some_of(&lies).into_iter();
        let seed = size("X811_SEED", 0) % one_in;
        let told: Vec<Lie> = told.skip(seed as usize).step_by(one_in as usize).collect();
        found_by_nobody.extend(missed(&all, &known, bundle, &told));
        for lie in &lies {
            if let Some((event, member, _)) = listed(lie)
                && !still.contains(&(*event, *member))
                && all.is_missed(bundle, lie)
            {
                still.insert((*event, *member));
            }
        }
    }
    assert!(
        found_by_nobody.is_empty(),
        "found by nobody: {found_by_nobody:#?}"
    );
    let listed: BTreeSet<_> = UNSEEN
        .iter()
        .map(|(event, member, _)| (*event, *member))
        .collect();
    let gone: Vec<_> = listed.difference(&still).collect();
    assert!(
        gone.is_empty(),
        "found now, to be taken out of the list: {gone:#?}"
    );
}
