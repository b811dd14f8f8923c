//! Text from agents and networks, shown so that it does nothing and hides nothing.
//!
//! One place for terminals, pages and pictures, so that what is safe in one is safe in all
//! (design.md, security). Here: the characters that a reader does not see, or sees elsewhere than
//! they stand.

mod html;
mod terminal;

pub use html::Escaped;
pub use terminal::{escape, escape_json, shorten};

/// Whether a screen acts on the character, shows nothing for it, or shows its neighbours in another
/// order or form: two names that differ in such characters alone look the same.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'                        // soft hyphen
            | '\u{34f}'                     // combining grapheme joiner
            | '\u{61c}'                     // Arabic letter mark
            | '\u{115f}' | '\u{1160}'       // Hangul fillers
            | '\u{17b4}' | '\u{17b5}'       // Khmer inherent vowels
            | '\u{180b}'..='\u{180f}'       // Mongolian variation selectors, vowel separator
            | '\u{200b}'..='\u{200f}'       // zero width, left-to-right and right-to-left marks
            | '\u{2028}'..='\u{202e}'       // line and paragraph separators, bidi embeddings
            | '\u{2060}'..='\u{206f}'       // word joiner, invisible operators, bidi isolates
            | '\u{3164}' | '\u{ffa0}'       // Hangul fillers
            | '\u{fe00}'..='\u{fe0f}'       // variation selectors
            | '\u{feff}'                    // byte order mark
            | '\u{fff0}'..='\u{fffb}'       // interlinear annotation
            | '\u{1d173}'..='\u{1d17a}'     // musical formatting
            | '\u{e0000}'..='\u{e0fff}'     // tags, variation selectors
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_turns_hides_or_varies_is_hidden_and_letters_are_not() {
        for c in "\0\u{7f}\u{ad}\u{200b}\u{200d}\u{202e}\u{2066}\u{fe0f}\u{feff}\u{e0041}\u{e0100}"
            .chars()
        {
            assert!(is_hidden(c), "{:?}", c.escape_unicode().to_string());
        }
        for c in "az AZ 09 -_./é世界אבعر🙂".chars() {
            assert!(!is_hidden(c), "{c}");
        }
    }
}
