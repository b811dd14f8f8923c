//! JSON as a terminal may show it.

use std::io;

use serde_json::ser::Formatter;
use x811_protocol::shown::escape_json;

/// Writes JSON as [`escape_json`] leaves it.
pub(crate) struct EscapedJson;

impl Formatter for EscapedJson {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if fragment.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            writer.write_all(fragment.as_bytes())
        } else {
            writer.write_all(escape_json(fragment).as_bytes())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_written_as_its_text_would_be_escaped() {
        let text = "a\u{202e}b\u{9b}c\u{e0041}d\n\"e\\";
        let value = serde_json::json!({ text: [text, 1] });
        let mut shown = Vec::new();
        let mut serializer = serde_json::Serializer::with_formatter(&mut shown, EscapedJson);
        serde::Serialize::serialize(&value, &mut serializer).unwrap();
        assert_eq!(shown, escape_json(&value.to_string()).as_bytes());
    }
}
