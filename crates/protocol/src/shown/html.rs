//! Text from a file that nobody trusts, made safe inside of HTML.

use std::fmt::{self, Display, Formatter, Write};

use super::escape;

/// Shows a value so that a browser takes it for text and shows all of it: markup as entities, and
/// what is invisible or turns the order of reading as `\u{…}`.
pub struct Escaped<T>(pub T);

impl<T: Display> Display for Escaped<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        for c in escape(&text).chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_is_markup_and_nothing_is_hidden() {
        let table = [
            ("plain ünïcödé 世界", "plain ünïcödé 世界"),
            (
                "<script>alert('x')</script>",
                "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;",
            ),
            ("\"onload=\"&amp;", "&quot;onload=&quot;&amp;amp;"),
            ("paid\u{202e}ton\u{0}", r"paid\u{202e}ton\u{0}"),
            ("two\nlines", r"two\nlines"),
        ];
        for (text, shown) in table {
            assert_eq!(Escaped(text).to_string(), shown);
        }
    }
}
