//! The first line: whose log it is, and how much of it there is.

use serde::{Deserialize, Serialize};
use x811_protocol::did::Did;
use x811_protocol::event::LedgerOpened;
use x811_protocol::id::{AgreementId, ContractId, InteractionId, RoundId, SessionId};
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Scope {
    /// Every record from position 0 on.
    Log,
    /// One interaction, and every stream that it rests on.
    Interaction(InteractionId),
    /// One contract, and every stream that it rests on.
    Contract(ContractId),
    /// What one agent says that it can do, and every stream that it rests on.
    Descriptor(Did),
    /// One session about a capability, and every stream that it rests on.
    Session(SessionId),
    /// One agreement, and every stream that it rests on.
    Agreement(AgreementId),
    /// One round, and every stream that it rests on.
    Round(RoundId),
    /// What one agent answers for.
    Conduct(Did),
}

impl Scope {
    /// The version of a file of this scope, under `x811_export`.
    fn version(self) -> u64 {
        match self.subject() {
            None => EXPORT_VERSION,
            Some(_) => BUNDLE_VERSION,
        }
    }

    /// What it is about, unless it is a whole log.
    #[must_use]
    pub fn subject(self) -> Option<Subject> {
        match self {
            Scope::Log => None,
            Scope::Interaction(id) => Some(Subject::Interaction(id)),
            Scope::Contract(id) => Some(Subject::Contract(id)),
            Scope::Descriptor(did) => Some(Subject::Descriptor(did)),
            Scope::Session(id) => Some(Subject::Session(id)),
            Scope::Agreement(id) => Some(Subject::Agreement(id)),
            Scope::Round(id) => Some(Subject::Round(id)),
            Scope::Conduct(did) => Some(Subject::Conduct(did)),
        }
    }
}

impl From<Subject> for Scope {
    fn from(subject: Subject) -> Scope {
        match subject {
            Subject::Interaction(id) => Scope::Interaction(id),
            Subject::Contract(id) => Scope::Contract(id),
            Subject::Descriptor(did) => Scope::Descriptor(did),
            Subject::Session(id) => Scope::Session(id),
            Subject::Agreement(id) => Scope::Agreement(id),
            Subject::Round(id) => Scope::Round(id),
            Subject::Conduct(did) => Scope::Conduct(did),
        }
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
