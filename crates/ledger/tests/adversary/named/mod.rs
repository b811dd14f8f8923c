//! Stories that somebody tells who holds the ledger's keys and profits from them: several records
//! changed so that they fit each other. Each must be found, but for those that are listed.

mod chain;
mod keys;
mod mail;
mod money;
mod notices;
mod open_stories;
mod parties;
mod story;
mod times;
mod word;

use x811_ledger::audit::Outcome;

use open_stories::OPEN_STORIES;
pub(crate) use story::Story;

/// Holds the audit to a story.
pub(crate) fn hold(test: &str, story: &Story) {
    let parts = test.rsplit("::");
    let mut names = parts.filter(|part| *part != "here" && !part.starts_with('{'));
    let name = names.next().unwrap();
    let report = story.report();
    let verdict = crate::verdict::judge(&report);
    let open = OPEN_STORIES.iter().find(|(story, _)| *story == name);
    match (open, verdict) {
        (None, Outcome::Clean) => panic!("{name}: nobody finds it"),
        (Some(_), Outcome::Broken | Outcome::Incomplete) => {
            panic!(
                "{name} is found now and no longer open: {:#?}",
                report.findings
            )
        }
        (None, Outcome::Broken | Outcome::Incomplete) | (Some(_), Outcome::Clean) => {}
    }
}

/// The story must be found, unless it is open; its name is that of the test.
macro_rules! found {
    ($story:expr) => {{
        fn here() {}
        crate::named::hold(std::any::type_name_of_val(&here), &$story);
    }};
}

pub(crate) use found;
