//! Stories that somebody tells who holds the ledger's keys and profits from them: several records
//! changed so that they fit each other. Each must be found, or be the ledger's word by
//! `tests/AUDIT.md`.

mod away;
mod behind;
mod chain;
mod contests;
mod contracts;
mod excluded;
mod held;
mod keys;
mod lasting;
mod late_watch;
mod mail;
mod money;
mod notices;
mod pairs;
mod parties;
mod quorum;
mod reported;
mod rounds;
mod seen;
mod signals;
mod signed;
mod signing_order;
mod story;
mod times;
mod votes;
mod word;
mod words;

use x811_audit::Outcome;

use super::verdict::judge;
pub(crate) use story::Story;
use words::WORDS;

/// What is told otherwise than it was, by the requirement that it offends and what it is about.
type Told = (&'static str, fn(&mut Story));

/// Holds the audit to each of these, told of that honest log.
#[track_caller]
fn hold(honest: &Story, stories: &[Told]) {
    let fault = |(name, tell): &Told| {
        let mut story = honest.clone();
        tell(&mut story);
        let (report, is_word) = (story.report(), WORDS.iter().any(|(word, ..)| word == name));
        match (is_word, judge(&report)) {
            (false, Outcome::Clean) => Some(format!("{name}: nobody finds it")),
            (true, Outcome::Broken | Outcome::Incomplete) => Some(format!(
                "{name} is found now, the ledger's word no longer: {:#?}",
                report.findings
            )),
            (false, Outcome::Broken | Outcome::Incomplete) | (true, Outcome::Clean) => None,
        }
    };
    let faults: Vec<String> = stories.iter().filter_map(fault).collect();
    assert!(
        faults.is_empty(),
        "{}",
        faults.join(
            "
"
        )
    );
}

#[test]
fn lc_9_stories_that_nobody_finds_are_called_the_ledgers_word() {
    let known = super::single::known();
    for (story, event, member, _) in WORDS {
        let row = known
            .of(event, member)
            .unwrap_or_else(|| panic!("{story}: {event} {member}"));
        assert_eq!(row.kind, "word", "{story}: {event} {member}");
    }
}
