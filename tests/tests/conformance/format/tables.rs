//! The tables of the three texts: under a heading that is one name in code marks, the first table.

use std::collections::BTreeMap;
use std::fs;

use x811_tests::anvil::checkout;

/// One member of an object.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) member: String,
    /// Of its value, as the text says it.
    pub(crate) ty: String,
    /// `always`, or when; absent in states, where everything is.
    pub(crate) there: Option<String>,
}

/// All tables.
#[derive(Debug)]
pub(crate) struct Tables {
    members: BTreeMap<String, Vec<Row>>,
    /// Tag and type, none where the tag is all.
    tags: BTreeMap<String, Vec<(String, Option<String>)>>,
    words: BTreeMap<String, Vec<String>>,
    /// From the type of a message to its facts.
    facts: BTreeMap<String, String>,
    events: Vec<String>,
}

impl Tables {
    pub(crate) fn read() -> Tables {
        let mut tables = Tables {
            members: BTreeMap::new(),
            tags: BTreeMap::new(),
            words: BTreeMap::new(),
            facts: BTreeMap::new(),
            events: Vec::new(),
        };
        for name in ["FORMAT.md", "EVENTS.md", "STATES.md"] {
            let path = checkout().join("crates/eventlog").join(name);
            tables.add(&fs::read_to_string(path).unwrap());
        }
        tables
    }

    fn add(&mut self, text: &str) {
        let (mut title, mut header): (Option<&str>, Option<Vec<String>>) = (None, None);
        for line in text.lines() {
            if line.starts_with('#') {
                let heading = line.trim_start_matches('#').trim();
                title = quoted(heading).filter(|name| format!("`{name}`") == heading);
                header = None;
            } else if let Some(cells) = line.strip_prefix('|') {
                let cells: Vec<&str> = cells
                    .trim_end_matches('|')
                    .split('|')
                    .map(str::trim)
                    .collect();
                match (&header, cells[0].starts_with("---")) {
                    (None, _) => header = Some(cells.iter().map(|c| (*c).to_owned()).collect()),
                    (Some(_), true) => {}
                    (Some(header), false) => self.row(title, header, &cells),
                }
            } else {
                header = None;
            }
        }
    }

    fn row(&mut self, title: Option<&str>, header: &[String], cells: &[&str]) {
        let first = || {
            quoted(cells[0])
                .unwrap_or_else(|| panic!("{title:?}: {cells:?}"))
                .to_owned()
        };
        let columns: Vec<&str> = header.iter().map(String::as_str).collect();
        match (columns.as_slice(), title) {
            (["member", "type", rest @ ..], Some(title)) => {
                let row = Row {
                    member: first(),
                    ty: cells[1].to_owned(),
                    there: (rest[0] == "there").then(|| cells[2].to_owned()),
                };
                self.members.entry(title.to_owned()).or_default().push(row);
            }
            (["tag", "holds", ..], Some(title)) => {
                let held = Some(cells[1].to_owned()).filter(|held| !held.is_empty());
                self.tags
                    .entry(title.to_owned())
                    .or_default()
                    .push((first(), held));
            }
            (["words", ..], _) => {
                let words = cells[1].split('`').skip(1).step_by(2).map(str::to_owned);
                self.words.insert(first(), words.collect());
            }
            (["type of the message", ..], _) => {
                self.facts.insert(first(), cells[1].to_owned());
            }
            (["stream", "events"], _) => {
                let events = cells[1].split('`').skip(1).step_by(2);
                for event in events.map(str::to_owned) {
                    if !self.events.contains(&event) {
                        self.events.push(event);
                    }
                }
            }
            _ => {}
        }
    }

    pub(crate) fn is_event(&self, name: &str) -> bool {
        self.events.iter().any(|event| event == name)
    }

    pub(crate) fn members(&self, name: &str) -> &[Row] {
        self.members.get(name).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn all_members(&self) -> impl Iterator<Item = (&String, &Vec<Row>)> {
        self.members.iter()
    }

    pub(crate) fn words(&self, name: &str) -> Vec<&str> {
        let words = self.words.get(name);
        words.into_iter().flatten().map(String::as_str).collect()
    }

    pub(crate) fn tags(&self, name: &str) -> Vec<&str> {
        let tags = self.tags.get(name);
        tags.into_iter().flatten().map(|(tag, _)| &**tag).collect()
    }

    pub(crate) fn choice(&self, name: &str) -> Option<&[(String, Option<String>)]> {
        self.tags.get(name).map(Vec::as_slice)
    }

    /// Types that what is called so may be: itself, and any facts for `facts`.
    pub(crate) fn types<'a>(&'a self, ty: &'a str) -> Vec<&'a str> {
        match ty {
            "facts" => self.facts.values().map(String::as_str).collect(),
            ty => vec![ty],
        }
    }

    /// The table of the facts of that type of message.
    pub(crate) fn facts_of(&self, message_type: &str) -> &str {
        let custom = "x811.<namespace>/<name>";
        let facts = self
            .facts
            .get(message_type)
            .or_else(|| self.facts.get(custom));
        facts.unwrap()
    }
}

/// What stands between the first code marks.
fn quoted(cell: &str) -> Option<&str> {
    cell.split('`').nth(1)
}
