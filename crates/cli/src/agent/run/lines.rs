//! What a loop tells, a line each; with `--json` one JSON value a line.

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use x811_client::agent::{Notice, What};

use crate::output::{Out, Report, Tone};
use x811_protocol::shown::shorten;

pub(super) struct Line(pub(super) Notice);

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Notice {
            at_ms,
            interaction,
            what,
            text,
        } = &self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("at_ms", at_ms)?;
        map.serialize_entry("what", what.as_str())?;
        if let Some(interaction) = interaction {
            map.serialize_entry("interaction", interaction)?;
        }
        map.serialize_entry("text", text)?;
        map.end()
    }
}

impl Report for Line {
    fn print(&self, out: &mut Out) {
        let notice = &self.0;
        let at = notice.at_ms.to_rfc3339();
        let id = notice.interaction.map(|id| id.to_string());
        let id = id.unwrap_or_default();
        let text = shorten(&notice.text);
        let line = format!("{at}  {:<9} {id:<36}  {text}", notice.what.as_str());
        let line = line.trim_end();
        match notice.what {
            What::Alarm => out.heading(Tone::Bad, line),
            What::Paid => out.heading(Tone::Good, line),
            What::Asked | What::FeedLost => out.heading(Tone::Waiting, line),
            What::Running
            | What::FeedBack
            | What::Said
            | What::FeesRaised
            | What::Working
            | What::Agreed
            | What::Over => {
                out.line(line);
            }
        }
    }
}
