//! Stories that somebody tells who holds the ledger's keys and profits from them: several records
//! changed so that they fit each other. Each must be found, or be the ledger's word by
//! `tests/AUDIT.md`.

mod away;
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
mod parties;
mod quorum;
mod rounds;
mod seen;
mod signals;
mod signed;
mod story;
mod times;
mod votes;
mod word;
mod words;

use x811_ledger::audit::Outcome;

pub(crate) use story::Story;
use words::WORDS;

/// Holds the audit to a story.
pub(crate) fn hold(test: &str, story: &Story) {
    let parts = test.rsplit("::");
    let mut names = parts.filter(|part| *part != "here" && !part.starts_with('{'));
    let name = names.next().unwrap();
    let report = story.report();
    let verdict = crate::verdict::judge(&report);
    let word = WORDS.iter().find(|(story, ..)| *story == name);
    match (word, verdict) {
        (None, Outcome::Clean) => panic!("{name}: nobody finds it"),
        (Some(_), Outcome::Broken | Outcome::Incomplete) => {
            panic!(
                "{name} is found now, the ledger's word no longer: {:#?}",
                report.findings
            )
        }
        (None, Outcome::Broken | Outcome::Incomplete) | (Some(_), Outcome::Clean) => {}
    }
}

#[test]
fn lc_9_stories_that_nobody_finds_are_called_the_ledgers_word() {
    let known = crate::single::known();
    for (story, event, member, _) in WORDS {
        let row = known
            .of(event, member)
            .unwrap_or_else(|| panic!("{story}: {event} {member}"));
        assert_eq!(row.kind, "word", "{story}: {event} {member}");
    }
}

/// The story must be found, unless it is the ledger's word; its name is that of the test.
macro_rules! found {
    ($story:expr) => {{
        fn here() {}
        crate::named::hold(std::any::type_name_of_val(&here), &$story);
    }};
}

pub(crate) use found;
