//! What a benchmark found: figures for a program, and the same in words for a person.

use serde::Serialize;
use serde_json::{Map, Value};

use x811_console::output::{Out, Report, Tone};

/// The report of a benchmark, put together piece by piece in the order in which a person reads it.
#[derive(Debug, Serialize)]
pub(super) struct Measured {
    benchmark: &'static str,
    cores: usize,
    /// Members of the JSON.
    #[serde(flatten)]
    figures: Map<String, Value>,
    #[serde(skip)]
    heading: String,
    #[serde(skip)]
    parts: Vec<Part>,
}

#[derive(Debug)]
enum Part {
    Fields(Vec<(&'static str, String)>),
    Table(Vec<&'static str>, Vec<Vec<String>>),
    Line(String),
    Gap,
}

impl Measured {
    /// The one of that benchmark; `heading` says the most important figure.
    pub(super) fn new(benchmark: &'static str, heading: String) -> Measured {
        Measured {
            benchmark,
            cores: rayon::current_num_threads(),
            figures: Map::new(),
            heading,
            parts: Vec::new(),
        }
    }

    /// Adds members of the JSON; one that is null, as it cannot be read here, is left out.
    pub(super) fn figures(mut self, figures: impl Serialize) -> Measured {
        if let Ok(Value::Object(members)) = serde_json::to_value(figures) {
            let known = members.into_iter().filter(|(_, figure)| !figure.is_null());
            self.figures.extend(known);
        }
        self
    }

    /// Says names and values.
    pub(super) fn fields<const N: usize>(self, fields: [(&'static str, String); N]) -> Measured {
        self.say(Part::Fields(fields.into()))
    }

    /// Says rows under a header.
    pub(super) fn table(self, header: &[&'static str], rows: Vec<Vec<String>>) -> Measured {
        self.say(Part::Table(header.to_vec(), rows))
    }

    /// Says a sentence.
    pub(super) fn line(self, text: impl Into<String>) -> Measured {
        self.say(Part::Line(text.into()))
    }

    /// Leaves a line empty.
    pub(super) fn gap(self) -> Measured {
        self.say(Part::Gap)
    }

    fn say(mut self, part: Part) -> Measured {
        self.parts.push(part);
        self
    }
}

impl Report for Measured {
    fn print(&self, out: &mut Out) {
        out.heading(Tone::Plain, &self.heading);
        for part in &self.parts {
            match part {
                Part::Fields(fields) => out.fields(fields),
                Part::Table(header, rows) => out.table(header, rows),
                Part::Line(text) => out.line(text),
                Part::Gap => out.gap(),
            }
        }
    }
}
