//! Strict reading of JSON: what every honest reader must understand alike, or refuse.
//!
//! A signature covers the canonical form of what was read, so two readers that understand the same
//! bytes differently would disagree about what was signed. Refused, with X811-4001 at the boundary
//! (AX-22): duplicate keys (compared after unescaping), lone surrogates, and every number beyond
//! ±(2^53 - 1), however it is spelled. A double that large is always an integer, and its canonical
//! form would be an integer that other readers round or refuse; so the range is checked on the
//! digits, before any conversion to a float (ledger-contract.md section 6).
//!
//! What is read is already the canonical value: `100.0`, `1e2` and `100` are the same integer, and
//! `-0` is 0, as RFC 8785 writes them. Facts are therefore the same whether they are taken from the
//! bytes as received or from the stored canonical body.

mod members;

use std::borrow::Cow;
use std::ops::Range;

use serde_json::{Map, Number, Value};

use members::Gathered;
pub(crate) use members::{Member, Members};

/// The largest magnitude of a number: 2^53 - 1.
pub const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// What a text may cost its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest text, in bytes.
    pub max_bytes: usize,
    /// The deepest nesting; a top-level object or array has depth 1.
    pub max_depth: usize,
}

impl Limits {
    /// The deepest nesting by default.
    pub const DEFAULT_DEPTH: usize = 128;

    /// At most `max_bytes` bytes, nested at most [`Limits::DEFAULT_DEPTH`] deep.
    pub const fn bytes(max_bytes: usize) -> Limits {
        Limits {
            max_bytes,
            max_depth: Limits::DEFAULT_DEPTH,
        }
    }
}

impl Default for Limits {
    /// 1 MiB (AX-41) and 128 levels.
    fn default() -> Limits {
        Limits::bytes(1 << 20)
    }
}

/// Reads one JSON text strictly.
///
/// # Errors
/// The text is over a limit, not UTF-8, not RFC 8259 JSON, or ambiguous in one of the ways the
/// module documentation names.
pub fn parse_strict(bytes: &[u8], limits: &Limits) -> Result<Value, JsonError> {
    read(bytes, limits, None, Reader::value).map(|(value, _)| value)
}

/// An object as it was read, where its members are what matters.
#[derive(Debug)]
pub(crate) struct Outermost<'a> {
    /// Its members; absent where the text is no object.
    pub(crate) members: Option<Members<'a>>,
    /// Whether the text is plainly the RFC 8785 form of the object; where it is not, it may be all the
    /// same.
    pub(crate) is_canonical: bool,
    /// What is left of a plainly canonical text without the member that was to be left out, and plainly
    /// canonical too.
    pub(crate) rest: Option<[&'a str; 2]>,
}

/// Reads an object, and finds what is left of it without the member of that name.
pub(crate) fn parse_members<'a>(
    bytes: &'a [u8],
    limits: &Limits,
    left_out: Option<&'static str>,
) -> Result<Outermost<'a>, JsonError> {
    let (members, reader) = read(bytes, limits, left_out, Reader::outermost)?;
    let member_at = reader.wanted_at.filter(|_| reader.is_canonical);
    Ok(Outermost {
        members,
        is_canonical: reader.is_canonical,
        rest: member_at.map(|range| without(reader.text, range)),
    })
}

/// What stands before and behind a member, without the comma that follows it or is before it.
fn without(text: &str, member: Range<usize>) -> [&str; 2] {
    let (before, behind) = (&text[..member.start], &text[member.end..]);
    match behind.strip_prefix(',') {
        Some(behind) => [before, behind],
        None => [before.strip_suffix(',').unwrap_or(before), behind],
    }
}

fn read<'a, T>(
    bytes: &'a [u8],
    limits: &Limits,
    wanted: Option<&'static str>,
    outermost: fn(&mut Reader<'a>) -> Result<T, JsonError>,
) -> Result<(T, Reader<'a>), JsonError> {
    if bytes.len() > limits.max_bytes {
        return Err(JsonError::TooLarge {
            size: bytes.len(),
            max: limits.max_bytes,
        });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| JsonError::NotUtf8 {
        offset: error.valid_up_to(),
    })?;
    let mut reader = Reader {
        text,
        at: 0,
        depth: 0,
        max_depth: limits.max_depth,
        is_canonical: true,
        wanted,
        wanted_at: None,
    };
    let value = outermost(&mut reader)?;
    reader.skip_blanks();
    if reader.at < text.len() {
        Err(reader.syntax())
    } else {
        Ok((value, reader))
    }
}

struct Reader<'a> {
    text: &'a str,
    /// Byte offset of what is read next; always on a character boundary.
    at: usize,
    /// Objects and arrays that are open.
    depth: usize,
    max_depth: usize,
    /// No blank, no escape, no key out of order, and no number but whole ones so far.
    is_canonical: bool,
    /// The member of the outermost object to be found.
    wanted: Option<&'static str>,
    /// Where it stands, from the quote of its name.
    wanted_at: Option<Range<usize>>,
}

impl<'a> Reader<'a> {
    /// Reads a value and the blanks before it.
    fn value(&mut self) -> Result<Value, JsonError> {
        self.skip_blanks();
        match self.peek() {
            Some(b'{') => self.nested(Reader::object),
            Some(b'[') => self.nested(Reader::array),
            Some(b'"') => self.string().map(|text| Value::String(text.into_owned())),
            Some(b'-' | b'0'..=b'9') => self.number().map(Value::Number),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => Err(self.syntax()),
        }
    }

    /// Reads an object with its members apart, and the blanks before it; `None` for another value.
    fn outermost(&mut self) -> Result<Option<Members<'a>>, JsonError> {
        self.skip_blanks();
        if self.peek() != Some(b'{') {
            return self.value().map(|_| None);
        }
        self.nested(|reader| reader.members(Reader::member))
            .map(|members| Some(Members::from(members)))
    }

    /// Reads the value of a member and the blanks before it.
    fn member(&mut self) -> Result<Member<'a>, JsonError> {
        self.skip_blanks();
        match self.peek() {
            Some(b'"') => self.string().map(Member::Text),
            _ => self.value().map(Member::Other),
        }
    }

    fn nested<T>(&mut self, read: fn(&mut Self) -> Result<T, JsonError>) -> Result<T, JsonError> {
        if self.depth == self.max_depth {
            return Err(JsonError::TooDeep { offset: self.at });
        }
        self.at += 1;
        self.depth += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    /// Reads the rest of an object, behind its brace.
    fn object(&mut self) -> Result<Value, JsonError> {
        let members = self.members(Reader::value)?;
        let owned = members
            .into_iter()
            .map(|(key, value)| (key.into_owned(), value));
        Ok(Value::Object(Map::from_iter(owned)))
    }

    /// The same, its members in the order of their names.
    fn members<V>(
        &mut self,
        value: fn(&mut Self) -> Result<V, JsonError>,
    ) -> Result<Vec<(Cow<'a, str>, V)>, JsonError> {
        let mut members = Gathered::default();
        self.skip_blanks();
        if self.take(b'}') {
            return Ok(Vec::new());
        }
        loop {
            self.skip_blanks();
            let offset = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.syntax());
            }
            let key = self.string()?;
            self.skip_blanks();
            self.expect(b':')?;
            let value = value(self)?;
            if self.depth == 1 && self.wanted == Some(&*key) {
                self.wanted_at = Some(offset..self.at);
            }
            self.is_canonical &= key.is_ascii() && members.are_before(&key);
            if !members.add(key, value) {
                return Err(JsonError::DuplicateKey { offset });
            }
            self.skip_blanks();
            if self.take(b'}') {
                return Ok(members.in_order());
            }
            self.expect(b',')?;
        }
    }

    /// Reads the rest of an array, behind its bracket.
    fn array(&mut self) -> Result<Value, JsonError> {
        let mut elements = Vec::new();
        self.skip_blanks();
        if self.take(b']') {
            return Ok(Value::Array(elements));
        }
        loop {
            elements.push(self.value()?);
            self.skip_blanks();
            if self.take(b']') {
                return Ok(Value::Array(elements));
            }
            self.expect(b',')?;
        }
    }

    /// Reads a string from its opening quote.
    fn string(&mut self) -> Result<Cow<'a, str>, JsonError> {
        self.at += 1;
        let plain = self.plain();
        if self.take(b'"') {
            return Ok(Cow::Borrowed(plain));
        }
        let mut out = plain.to_owned();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(out));
                }
                Some(b'\\') => out.push(self.escape()?),
                _ => return Err(self.syntax()),
            }
            out.push_str(self.plain());
        }
    }

    /// Skips what stands for itself in a string, and gives it.
    fn plain(&mut self) -> &'a str {
        let rest = &self.text.as_bytes()[self.at..];
        let is_odd = |byte: &u8| (*byte < 0x20) | (*byte == b'"') | (*byte == b'\\');
        let (chunks, _) = rest.as_chunks::<16>();
        let is_plain = |chunk: &&[u8; 16]| !chunk.iter().fold(false, |any, b| any | is_odd(b));
        let start = self.at;
        let length = 16 * chunks.iter().take_while(is_plain).count();
        let length = length + rest[length..].iter().take_while(|b| !is_odd(b)).count();
        self.at += length;
        &self.text[start..self.at]
    }

    /// Reads an escape sequence from its backslash.
    fn escape(&mut self) -> Result<char, JsonError> {
        self.is_canonical = false;
        let offset = self.at;
        self.at += 1;
        let simple = match self.peek() {
            Some(letter @ (b'"' | b'\\' | b'/')) => char::from(letter),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(offset),
            _ => return Err(self.syntax()),
        };
        self.at += 1;
        Ok(simple)
    }

    /// Reads `uXXXX` or a surrogate pair `uXXXX\uXXXX`; `offset` is that of its backslash.
    fn unicode_escape(&mut self, offset: usize) -> Result<char, JsonError> {
        let first = self.code_unit()?;
        if !(0xd800..0xe000).contains(&first) {
            return char::from_u32(first).ok_or(JsonError::LoneSurrogate { offset });
        }
        if first >= 0xdc00 || !self.rest().starts_with("\\u") {
            return Err(JsonError::LoneSurrogate { offset });
        }
        self.at += 1;
        let second = self.code_unit()?;
        if !(0xdc00..0xe000).contains(&second) {
            return Err(JsonError::LoneSurrogate { offset });
        }
        let code_point = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        char::from_u32(code_point).ok_or(JsonError::LoneSurrogate { offset })
    }

    /// Reads `uXXXX`: one unit of UTF-16 in four hex digits.
    fn code_unit(&mut self) -> Result<u32, JsonError> {
        let digits = self.text.as_bytes().get(self.at + 1..self.at + 5);
        let unit = digits.and_then(|digits| {
            digits.iter().try_fold(0, |unit, digit| {
                char::from(*digit)
                    .to_digit(16)
                    .map(|value| (unit << 4) | value)
            })
        });
        let unit = unit.ok_or_else(|| self.syntax())?;
        self.at += 5;
        Ok(unit)
    }

    fn number(&mut self) -> Result<Number, JsonError> {
        let offset = self.at;
        self.take(b'-');
        let leading_zero = self.peek() == Some(b'0');
        if self.digits()? > 1 && leading_zero {
            return Err(JsonError::Syntax { offset });
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            if !self.take(b'+') {
                self.take(b'-');
            }
            self.digits()?;
        }
        let token = &self.text[offset..self.at];
        self.is_canonical &= token.bytes().all(|byte| byte.is_ascii_digit());
        canonical_number(token).ok_or(JsonError::NumberOutOfRange { offset })
    }

    /// Skips at least one digit and says how many.
    fn digits(&mut self) -> Result<usize, JsonError> {
        let count = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        self.at += count;
        if count == 0 {
            Err(self.syntax())
        } else {
            Ok(count)
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, JsonError> {
        if !self.rest().starts_with(word) {
            return Err(self.syntax());
        }
        self.at += word.len();
        Ok(value)
    }

    fn skip_blanks(&mut self) {
        if self.peek().is_some_and(|byte| byte > b' ') {
            return;
        }
        let blanks = self
            .rest()
            .bytes()
            .take_while(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r'));
        let count = blanks.count();
        self.is_canonical &= count == 0;
        self.at += count;
    }

    fn expect(&mut self, byte: u8) -> Result<(), JsonError> {
        if self.take(byte) {
            Ok(())
        } else {
            Err(self.syntax())
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn syntax(&self) -> JsonError {
        JsonError::Syntax { offset: self.at }
    }
}

/// The number a token spells, whole numbers as integers; `None` beyond ±(2^53 - 1).
fn canonical_number(token: &str) -> Option<Number> {
    if is_beyond_safe_integers(token) {
        return None;
    }
    let value: f64 = token.parse().ok()?;
    if value.fract() == 0.0 {
        // Exact: the token is within ±(2^53 - 1), and rounding cannot leave that range.
        Some(Number::from(value as i64))
    } else {
        Number::from_f64(value)
    }
}

/// Compares the decimal value of a number token with 2^53 - 1, digit by digit.
fn is_beyond_safe_integers(token: &str) -> bool {
    const LIMIT: &[u8; 16] = b"9007199254740991";
    let token = token.strip_prefix('-').unwrap_or(token);
    let (mantissa, exponent) = token.split_once(['e', 'E']).unwrap_or((token, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));

    let mut digits = whole
        .bytes()
        .chain(fraction.bytes())
        .skip_while(|digit| *digit == b'0');
    let leading_zeros = whole.len() + fraction.len() - digits.clone().count();
    // How many of the significant digits stand before the decimal point.
    let whole_digits = saturating_exponent(exponent) + whole.len() as i64 - leading_zeros as i64;
    if digits.clone().next().is_none() || whole_digits < 16 {
        return false;
    }
    if whole_digits > 16 {
        return true;
    }
    for limit in LIMIT {
        let digit = digits.next().unwrap_or(b'0');
        if digit != *limit {
            return digit > *limit;
        }
    }
    digits.any(|digit| digit != b'0')
}

/// The exponent of a number token; far beyond what any text can balance, it is cut.
fn saturating_exponent(text: &str) -> i64 {
    const FAR: i64 = i64::MAX / 2;
    match text.parse::<i64>() {
        Ok(exponent) => exponent.clamp(-FAR, FAR),
        Err(_) if text.starts_with('-') => -FAR,
        Err(_) => FAR,
    }
}

/// Why a text was not read. Offsets count bytes from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// Over the size limit.
    #[error("the text has {size} bytes, {max} are allowed: send less")]
    TooLarge {
        /// Bytes of the text.
        size: usize,
        /// Bytes that are allowed.
        max: usize,
    },
    /// The bytes are not UTF-8.
    #[error("byte {offset} is not UTF-8: encode the text as UTF-8")]
    NotUtf8 {
        /// Where the text stops to be UTF-8.
        offset: usize,
    },
    /// The text is not JSON.
    #[error("not JSON at byte {offset}: write one RFC 8259 value and nothing else")]
    Syntax {
        /// Where no JSON text can go on.
        offset: usize,
    },
    /// Two members of one object have the same name.
    #[error("the key at byte {offset} is a duplicate: name every member of an object once")]
    DuplicateKey {
        /// Where the second of the two keys begins.
        offset: usize,
    },
    /// Half of a surrogate pair.
    #[error("the escape at byte {offset} is half of a surrogate pair: write the whole character")]
    LoneSurrogate {
        /// Where the escape sequence begins.
        offset: usize,
    },
    /// A number that not every reader keeps exact.
    #[error("the number at byte {offset} is beyond 2^53 - 1: write it as a string")]
    NumberOutOfRange {
        /// Where the number begins.
        offset: usize,
    },
    /// Nested too deep.
    #[error("the value at byte {offset} is nested too deep: flatten the message")]
    TooDeep {
        /// Where the first level too many begins.
        offset: usize,
    },
}

/// How deep objects and arrays lie in each other in a value; 0 of any other.
pub fn depth(value: &Value) -> usize {
    match value {
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

#[cfg(test)]
mod tests;
