//! Text from agents and networks, made safe for a terminal.
//!
//! A sender must not be able to move the cursor, change colours, retitle the window, reverse the
//! order of what is read, or hide characters. Every such character is shown as `\u{…}` instead; the
//! backslash is doubled, so that nobody can fake such an escape either.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::is_hidden;

/// The longest piece of a sender's free text that is shown, in characters.
const SHOWN_CHARS: usize = 240;

/// The text with every character that a terminal would act on, or not show, written out.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| c == '\\' || is_hidden(c)) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => escaped.push_str("\\n"),
            '\t' => escaped.push_str("\\t"),
            '\\' => escaped.push_str("\\\\"),
            c if is_hidden(c) => escaped.extend(c.escape_unicode()),
            c => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

/// A sender's free text, cut to a length that leaves the rest of the page readable.
pub fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}… ({} bytes in all)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}

/// JSON text that means the same and can be shown: inside JSON, unsafe characters can only be in
/// strings, where `\uXXXX` is as good.
pub fn escape_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        if c != '\n' && is_hidden(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                // Writing to a string cannot fail.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(c);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_terminal_acts_on_comes_through() {
        let table = [
            ("plain text, ünïcödé 世界 🙂", "plain text, ünïcödé 世界 🙂"),
            ("\x1b[31mred\x1b[0m", r"\u{1b}[31mred\u{1b}[0m"),
            ("\x1b]0;title\x07", r"\u{1b}]0;title\u{7}"),
            ("\u{9b}2J", r"\u{9b}2J"),
            ("back\x08space\rreturn", r"back\u{8}space\u{d}return"),
            ("two\nlines\tand\0more", r"two\nlines\tand\u{0}more"),
            ("paid\u{202e}ton", r"paid\u{202e}ton"),
            ("\u{2066}isolate\u{2069}", r"\u{2066}isolate\u{2069}"),
            ("zero\u{200b}width\u{feff}", r"zero\u{200b}width\u{feff}"),
            ("\u{e0041}tag", r"\u{e0041}tag"),
            ("va\u{fe0f}ry", r"va\u{fe0f}ry"),
            ("line\u{2028}separator", r"line\u{2028}separator"),
            ("del\x7f", r"del\u{7f}"),
            (r"fake \u{1b} escape", r"fake \\u{1b} escape"),
        ];
        for (text, expected) in table {
            assert_eq!(escape(text), expected);
        }
    }

    #[test]
    fn every_control_and_every_bidi_character_is_caught() {
        let controls = (0..=0x1f).chain(0x7f..=0x9f);
        let bidi = [0x61c, 0x200e, 0x200f].into_iter();
        let bidi = bidi.chain(0x202a..=0x202e).chain(0x2066..=0x2069);
        for c in controls.chain(bidi).filter_map(char::from_u32) {
            let text = format!("a{c}b");
            assert!(!escape(&text).contains(c), "{c:?}");
            let json = serde_json::to_string(&text).unwrap();
            assert!(c == '\n' || !escape_json(&json).contains(c), "{c:?}");
        }
    }

    #[test]
    fn escaped_json_means_the_same() {
        let text = "a\u{202e}b\u{9b}c\u{e0041}d\n\"e\\";
        let json = serde_json::to_string(&serde_json::json!({ text: [text, 1] })).unwrap();
        let escaped = escape_json(&json);
        assert!(!escaped.contains('\u{202e}') && !escaped.contains('\u{e0041}'));
        let value = serde_json::json!({ text: [text, 1] });
        let read: serde_json::Value = serde_json::from_str(&escaped).unwrap();
        assert_eq!(read, value);
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(shorten("short"), "short");
        let long = "ü".repeat(300);
        assert_eq!(
            shorten(&long),
            format!("{}… (600 bytes in all)", "ü".repeat(240))
        );
    }
}
