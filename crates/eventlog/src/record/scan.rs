//! Reads a leaf without a tree of values: one pass that knows the RFC 8785 form and gives up at the
//! first byte that might be something else. What it gives up on is read the long way, which says
//! what is wrong, if anything is.

use std::ops::Range;

use super::{MAX_DEPTH, MAX_INTEGER, MAX_LEAF_BYTES};
use crate::hash::Hash;

/// A leaf in its canonical form; the rules on its members are still to be checked.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Scanned {
    pub(super) event: Range<usize>,
    pub(super) event_type: Range<usize>,
    pub(super) position: u64,
    pub(super) prev: Hash,
    pub(super) recorded_at_ms: u64,
    pub(super) stream: String,
    pub(super) stream_seq: u64,
}

/// Reads a leaf whose keys and whose stream are plain text.
pub(super) fn scan(bytes: &[u8]) -> Option<Scanned> {
    if bytes.len() > MAX_LEAF_BYTES {
        return None;
    }
    let mut scanner = Scanner {
        text: str::from_utf8(bytes).ok()?,
        at: 0,
    };
    scanner.word("{\"event\":")?;
    let event_start = scanner.at;
    let event_type = scanner.object(2)??;
    let event = event_start..scanner.at;
    scanner.word(",\"position\":")?;
    let position = scanner.integer()?;
    scanner.word(",\"prev\":")?;
    let prev = scanner.plain_string()?.parse().ok()?;
    scanner.word(",\"recorded_at_ms\":")?;
    let recorded_at_ms = scanner.integer()?;
    scanner.word(",\"stream\":")?;
    let stream = scanner.plain_string()?.to_owned();
    scanner.word(",\"stream_seq\":")?;
    let stream_seq = scanner.integer()?;
    scanner.word(",\"v\":1}")?;
    (scanner.at == bytes.len()).then_some(Scanned {
        event,
        event_type,
        position,
        prev,
        recorded_at_ms,
        stream,
        stream_seq,
    })
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn word(&mut self, word: &str) -> Option<()> {
        let found = self.text.as_bytes()[self.at..].starts_with(word.as_bytes());
        self.at += word.len();
        found.then_some(())
    }

    /// Reads a value that stands inside `depth - 1` objects and arrays.
    fn value(&mut self, depth: usize) -> Option<()> {
        match self.peek()? {
            b'{' => self.object(depth).map(|_| ()),
            b'[' => self.array(depth),
            b'"' => self.string().map(|_| ()),
            b'0'..=b'9' => self.integer().map(|_| ()),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            _ => None,
        }
    }

    /// Reads an object and gives the place of the text of its member `type`, if it is a string.
    fn object(&mut self, depth: usize) -> Option<Option<Range<usize>>> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.word("{")?;
        let mut type_name = None;
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(type_name);
        }
        let mut key_before = None;
        loop {
            let key = self.plain_string()?;
            // ASCII keys have the same order in UTF-8 and UTF-16.
            if !key.is_ascii() || key_before.is_some_and(|before| before >= key) {
                return None;
            }
            key_before = Some(key);
            self.word(":")?;
            let start = self.at;
            self.value(depth + 1)?;
            if key == "type" && self.text.as_bytes()[start] == b'"' {
                type_name = Some(start + 1..self.at - 1);
            }
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Some(type_name);
                }
                _ => return None,
            }
        }
    }

    fn array(&mut self, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.word("[")?;
        if self.peek()? == b']' {
            self.at += 1;
            return Some(());
        }
        loop {
            self.value(depth + 1)?;
            match self.peek()? {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    /// Reads a string that says what it is written as.
    fn plain_string(&mut self) -> Option<&'a str> {
        let text = self.string()?;
        (!text.contains('\\')).then_some(text)
    }

    /// Reads a string and gives what stands between its quotes.
    fn string(&mut self) -> Option<&'a str> {
        self.word("\"")?;
        let start = self.at;
        loop {
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return self.text.get(start..self.at - 1);
                }
                b'\\' => self.escape()?,
                0..0x20 => return None,
                _ => self.at += 1,
            }
        }
    }

    /// Reads the one escape that RFC 8785 writes for a character.
    fn escape(&mut self) -> Option<()> {
        let sequence = &self.text.as_bytes()[self.at + 1..];
        match sequence {
            [b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't', ..] => self.at += 2,
            [b'u', b'0', b'0', b'0', b'0'..=b'7' | b'b' | b'e' | b'f', ..]
            | [b'u', b'0', b'0', b'1', b'0'..=b'9' | b'a'..=b'f', ..] => self.at += 6,
            _ => return None,
        }
        Some(())
    }

    fn integer(&mut self) -> Option<u64> {
        let digits = &self.text.as_bytes()[self.at..];
        let length = digits.iter().take_while(|b| b.is_ascii_digit()).count();
        if !(1..=16).contains(&length) || (length > 1 && digits[0] == b'0') {
            return None;
        }
        self.at += length;
        let number = digits[..length]
            .iter()
            .fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
        (number <= MAX_INTEGER).then_some(number)
    }
}

#[cfg(test)]
mod tests;
