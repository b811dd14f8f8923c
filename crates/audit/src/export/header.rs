//! The first line: whose log it is, and how much of it there is.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use x811_protocol::did::Did;
use x811_protocol::event::LedgerOpened;
use x811_protocol::id::{AgreementId, ContractId, InteractionId, RoundId, SessionId};
use x811_protocol::stream::Subject;

use super::end::EndVersion;

/// The version of the line format of a whole log, under `x811_export`. Version 1 is read too.
pub const EXPORT_VERSION: u64 = 2;

/// The version of that of one interaction, contract or descriptor: with a keys statement, and ends of version 2. Version 2 is
/// read too.
pub const BUNDLE_VERSION: u64 = 3;

const MARK: &str = "x811_export";
const SCOPE: &str = "scope";

/// What position 0 of the log says, so that a reader knows whose log it is before the first record
/// and can compare; and what is in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The version of the line format: 1 to 3.
    pub version: u64,
    /// The event at position 0.
    pub opened: LedgerOpened,
    /// What of the log is in the file; always the whole of it in version 1.
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
    /// One contract, and every stream that it rests on; from version 3 on.
    Contract(ContractId),
    /// What one agent says that it can do, and every stream that it rests on; from version 3 on.
    Descriptor(Did),
    /// One session about a capability, and every stream that it rests on; from version 3 on.
    Session(SessionId),
    /// One agreement, and every stream that it rests on; from version 3 on.
    Agreement(AgreementId),
    /// One round, and every stream that it rests on; from version 3 on.
    Round(RoundId),
    /// What one agent answers for; from version 3 on.
    Conduct(Did),
}

impl Scope {
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
    /// The header that is written today.
    #[must_use]
    pub fn new(opened: LedgerOpened, scope: Scope) -> Header {
        let version = match scope.subject() {
            None => EXPORT_VERSION,
            Some(_) => BUNDLE_VERSION,
        };
        Header {
            version,
            opened,
            scope,
        }
    }

    /// Whether the file has a keys statement, and of which version its ends are.
    #[must_use]
    pub fn end_version(&self) -> EndVersion {
        if self.version < BUNDLE_VERSION {
            EndVersion::One
        } else {
            EndVersion::Two
        }
    }

    /// The line, without its line end.
    ///
    /// # Errors
    /// When the identity cannot be written as JSON.
    pub fn to_line(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut members = serde_json::to_value(&self.opened)?;
        if self.version > 1 {
            members[SCOPE] = serde_json::to_value(self.scope)?;
        }
        Ok(super::line::write_mark(members, MARK, self.version))
    }

    /// Reads the line, without its line end.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn parse(line: &[u8]) -> Result<Header, String> {
        let (version, mut members) = super::line::read_mark(line, MARK, BUNDLE_VERSION)?;
        let scope = members
            .as_object_mut()
            .filter(|_| version > 1)
            .map(|members| members.remove(SCOPE).unwrap_or(Value::Null));
        let scope = scope.map(Scope::deserialize).transpose();
        let scope = scope.map_err(|error| format!("`{SCOPE}`: {error}"))?;
        if version == BUNDLE_VERSION && scope == Some(Scope::Log) {
            return Err(format!("a whole log has no version {version}"));
        }
        let is_of_machine = scope
            .and_then(Scope::subject)
            .is_some_and(|subject| subject.interaction().is_none());
        if version < BUNDLE_VERSION && is_of_machine {
            return Err(format!("a bundle of that scope has no version {version}"));
        }
        let opened = LedgerOpened::deserialize(members).map_err(|error| error.to_string())?;
        let header = Header {
            version,
            opened,
            scope: scope.unwrap_or(Scope::Log),
        };
        // No record and no signature covers this line: a reader that is lenient with a spelling would
        // pass what the next one refuses.
        match header.to_line() {
            Ok(written) if written == line => Ok(header),
            Ok(_) => Err("a member is not in the one spelling that it has".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}
