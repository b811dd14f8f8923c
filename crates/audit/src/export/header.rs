//! The first line: whose log it is, and how much of it there is.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use x811_protocol::event::LedgerOpened;
use x811_protocol::stream::Subject;

/// The version of the line format of a whole log, under `x811_export`.
pub const EXPORT_VERSION: u64 = 2;

/// The version of the line format of a bundle, which is about one subject.
pub const BUNDLE_VERSION: u64 = 3;

const MARK: &str = "x811_export";
const SCOPE: &str = "scope";

/// What position 0 of the log says, so that a reader knows whose log it is before the first record
/// and can compare; and what is in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The event at position 0.
    pub opened: LedgerOpened,
    /// What of the log is in the file.
    pub scope: Scope,
}

/// What of a log is in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Every record from position 0 on.
    Log,
    /// One subject, and every stream that it rests on.
    Of(Subject),
}

/// The scope of a whole log, as files name it.
const LOG: &str = "log";

impl Scope {
    /// The version of a file of this scope, under `x811_export`.
    fn version(self) -> u64 {
        match self {
            Scope::Log => EXPORT_VERSION,
            Scope::Of(_) => BUNDLE_VERSION,
        }
    }

    /// What it is about, unless it is a whole log.
    #[must_use]
    pub fn subject(self) -> Option<Subject> {
        match self {
            Scope::Log => None,
            Scope::Of(subject) => Some(subject),
        }
    }
}

/// Written as `"log"`, or as an object whose one member is the id of the subject under the word for its
/// machine.
impl Serialize for Scope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Scope::Log => serializer.serialize_str(LOG),
            Scope::Of(subject) => serializer.collect_map([(subject.kind(), subject.id())]),
        }
    }
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Scope, D::Error> {
        let value = Value::deserialize(reader)?;
        if value == LOG {
            return Ok(Scope::Log);
        }
        let members = value.as_object().filter(|members| members.len() == 1);
        let member = members.and_then(|members| members.iter().next());
        let subject = member.and_then(|(kind, id)| format!("{kind}:{}", id.as_str()?).parse().ok());
        subject.map(Scope::Of).ok_or_else(|| {
            D::Error::custom("it is neither `log` nor an object of one kind of subject and an id")
        })
    }
}

impl Header {
    /// The line, without its line end.
    ///
    /// # Errors
    /// When the identity cannot be written as JSON.
    pub fn to_line(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut members = serde_json::to_value(&self.opened)?;
        members[SCOPE] = serde_json::to_value(self.scope)?;
        Ok(super::line::write_mark(members, MARK, self.scope.version()))
    }

    /// Reads the line, without its line end.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn parse(line: &[u8]) -> Result<Header, String> {
        let known = [EXPORT_VERSION, BUNDLE_VERSION];
        let (version, mut members) = super::line::read_mark(line, MARK, &known)?;
        let scope = members.as_object_mut().and_then(|it| it.remove(SCOPE));
        let scope = Scope::deserialize(scope.unwrap_or_default());
        let scope = scope.map_err(|error| format!("`{SCOPE}`: {error}"))?;
        if version != scope.version() {
            return Err(format!(
                "unknown version: `{MARK}` is {version}, and in a file of this scope this program \
                 knows {}; use the version of x811 that wrote the file, or export it again",
                scope.version()
            ));
        }
        let opened = LedgerOpened::deserialize(members).map_err(|error| error.to_string())?;
        let header = Header { opened, scope };
        // No record and no signature covers this line: a reader that is lenient with a spelling would
        // pass what the next one refuses.
        match header.to_line() {
            Ok(written) if written == line => Ok(header),
            Ok(_) => Err("a member is not in the one spelling that it has".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}
