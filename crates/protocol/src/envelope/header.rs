//! The members of an envelope besides payload and signature (AE-69 to AE-76).

use serde_json::{Map, Value};

use super::message_type::{CoreType, MessageType};
use super::times::id_time_fits;
use crate::code::Code;
use crate::did::Did;
use crate::id::{EnvelopeId, Nonce};
use crate::json::{Member, Members};
use crate::refusal::{Kind, Refusal, quoted};
use crate::time::{TimeError, TimestampMs};

/// The version of the specification that we emit (AE-69).
pub const PROTOCOL_VERSION: &str = "0.1.0";

/// The type of the ledger's notices of rounds.
pub const CONSENSUS_NOTICE: &str = "x811.consensus/notice";

/// The type of notices of sessions, agreements and conduct.
pub const CAPABILITY_NOTICE: &str = "x811.capability/notice";

/// The longest `version`, in bytes (record.md section 1: labels).
const VERSION_MAX_LEN: usize = 32;

/// What is taken besides the strict form of AEEP.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leeway {
    /// Any RFC 9562 UUID for `id` and `nonce` (AX-25).
    pub(super) any_uuid: bool,
    /// 32 hex digits for `nonce` (decision 0190).
    pub(super) plain_nonce: bool,
    /// A REQUEST of an agent to itself, which is how the published SDK registers (decision 0190).
    pub(super) to_oneself: bool,
}

/// Who says what kind of thing to whom, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Id of this envelope.
    pub id: EnvelopeId,
    /// Semantic version of the protocol, `0.x.y`.
    pub version: String,
    /// What the payload is.
    pub message_type: MessageType,
    /// DID of the sender.
    pub from: Did,
    /// DID of the recipient.
    pub to: Did,
    /// When the sender made the envelope, floored to milliseconds.
    pub created_ms: TimestampMs,
    /// From when on the sender wants the envelope discarded.
    pub expires_ms: Option<TimestampMs>,
    /// Never used before by this sender.
    pub nonce: Nonce,
}

impl Header {
    /// Reads the members of an envelope, in the order of AX-28.
    pub(super) fn read(members: &Members<'_>, leeway: Leeway) -> Result<Header, Refusal> {
        let version = version(members)?;
        if let Some(absent) = ["from", "nonce"]
            .into_iter()
            .find(|name| members.get(name).is_none())
        {
            return Err(missing_credential(absent));
        }
        let id = id(members, leeway.any_uuid)?;
        Header::read_rest(members, id, version, leeway).map_err(|refusal| refusal.related_to(id))
    }

    fn read_rest(
        members: &Members<'_>,
        id: EnvelopeId,
        version: String,
        leeway: Leeway,
    ) -> Result<Header, Refusal> {
        let header = Header {
            id,
            version,
            message_type: message_type(members)?,
            from: did(members, "from")?,
            to: did(members, "to")?,
            nonce: nonce(members, leeway)?,
            created_ms: created(members)?,
            expires_ms: expires(members)?,
        };
        let may_be_to_oneself = leeway.to_oneself && header.is_request() || header.is_own_notice();
        if header.from == header.to && !may_be_to_oneself {
            return Err(Refusal::shape(
                "`from` and `to` are the same agent: address another one",
            ));
        }
        if !leeway.any_uuid && !header.id_time_fits() {
            return Err(Refusal::shape(
                "the time inside the UUIDv7 `id` is more than 5 minutes from `created`: make both \
                 at the same moment",
            ));
        }
        Ok(header)
    }

    /// The members as an envelope has them.
    pub(super) fn to_members(&self) -> Map<String, Value> {
        let mut members = Map::new();
        let mut set = |name: &str, text: String| members.insert(name.to_owned(), text.into());
        set("id", self.id.to_string());
        set("version", self.version.clone());
        set("type", self.message_type.to_string());
        set("from", self.from.to_string());
        set("to", self.to.to_string());
        set("created", self.created_ms.to_rfc3339());
        if let Some(expires) = self.expires_ms {
            set("expires", expires.to_rfc3339());
        }
        set("nonce", self.nonce.to_string());
        members
    }

    /// Whether it is a notice of a round, which the ledger addresses to itself: all members read it
    /// (machines.md section 8). From anybody else that type is refused.
    pub fn is_own_notice(&self) -> bool {
        matches!(&self.message_type, MessageType::Custom(custom) if custom.as_str() == CONSENSUS_NOTICE)
            && self.from == self.to
    }

    fn is_request(&self) -> bool {
        self.message_type == MessageType::Core(CoreType::Request)
    }

    fn id_time_fits(&self) -> bool {
        id_time_fits(self.id, self.created_ms)
    }
}

/// An envelope without `signature`, `nonce` or `from` (AX-46).
pub(super) fn missing_credential(name: &str) -> Refusal {
    let message = format!("the envelope has no `{name}`: add it and sign again");
    Refusal::new(Code::MissingCredentials, Kind::Authentication, message)
}

/// A member that has to be a string.
fn text<'a>(members: &'a Members<'_>, name: &str) -> Result<&'a str, Refusal> {
    match members.get(name) {
        Some(Member::Text(text)) => Ok(text),
        Some(Member::Other(_)) => Err(Refusal::shape(format!(
            "`{name}` is not a string: write it as one"
        ))),
        None => Err(Refusal::shape(format!(
            "the envelope has no `{name}`: add it and sign again"
        ))),
    }
}

/// Takes any 0.x.y (AX-38, AE-119).
fn version(members: &Members<'_>) -> Result<String, Refusal> {
    let version = text(members, "version")?;
    if is_supported_version(version) {
        return Ok(version.to_owned());
    }
    let message = format!("version {} is not supported: use 0.1.0", quoted(version));
    Err(Refusal::new(
        Code::ProtocolVersionUnsupported,
        Kind::Shape,
        message,
    ))
}

/// Whether this is a semantic version (semver.org 2.0.0) of major 0.
fn is_supported_version(version: &str) -> bool {
    if version == PROTOCOL_VERSION {
        return true;
    }
    let (rest, build) = match version.split_once('+') {
        Some((rest, build)) => (rest, Some(build)),
        None => (version, None),
    };
    let (core, pre_release) = match rest.split_once('-') {
        Some((core, pre_release)) => (core, Some(pre_release)),
        None => (rest, None),
    };
    let is_identifier = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    let is_number = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|b| b.is_ascii_digit())
            && (part.len() == 1 || !part.starts_with('0'))
    };
    let is_pre_release = |part: &str| {
        is_identifier(part) && (is_number(part) || !part.bytes().all(|b| b.is_ascii_digit()))
    };
    let numbers: Vec<&str> = core.split('.').collect();
    version.len() <= VERSION_MAX_LEN
        && matches!(numbers[..], ["0", minor, patch] if is_number(minor) && is_number(patch))
        && pre_release.is_none_or(|parts| parts.split('.').all(is_pre_release))
        && build.is_none_or(|parts| parts.split('.').all(is_identifier))
}

fn id(members: &Members<'_>, lenient: bool) -> Result<EnvelopeId, Refusal> {
    let text = text(members, "id")?;
    let id = if lenient {
        EnvelopeId::lenient(text)
    } else {
        text.parse()
    };
    id.map_err(|error| Refusal::shape(format!("`id` is {error}")))
}

fn message_type(members: &Members<'_>) -> Result<MessageType, Refusal> {
    let text = text(members, "type")?;
    text.parse()
        .map_err(|error| Refusal::shape(format!("`type` {} is {error}", quoted(text))))
}

fn did(members: &Members<'_>, name: &str) -> Result<Did, Refusal> {
    let did = text(members, name)?.parse();
    did.map_err(|error| Refusal::shape(format!("`{name}` is {error}")))
}

fn nonce(members: &Members<'_>, leeway: Leeway) -> Result<Nonce, Refusal> {
    let refused =
        |message: String| Refusal::new(Code::MissingCredentials, Kind::Authentication, message);
    let text = text(members, "nonce").map_err(|refusal| refused(refusal.message))?;
    let nonce = if leeway.plain_nonce && text.len() == Nonce::PLAIN_LEN {
        Nonce::plain(text)
    } else if leeway.any_uuid {
        Nonce::lenient(text)
    } else {
        text.parse()
    };
    nonce.map_err(|error| refused(format!("`nonce` is {error}")))
}

fn created(members: &Members<'_>) -> Result<TimestampMs, Refusal> {
    TimestampMs::parse_rfc3339(text(members, "created")?)
        .map_err(|error| unreadable_time("created", error))
}

/// Absent is fine, `null` is not: it would be signed, and readers differ about what it means.
fn expires(members: &Members<'_>) -> Result<Option<TimestampMs>, Refusal> {
    if members.get("expires").is_none() {
        return Ok(None);
    }
    TimestampMs::parse_rfc3339(text(members, "expires")?)
        .map(Some)
        .map_err(|error| unreadable_time("expires", error))
}

fn unreadable_time(name: &str, error: TimeError) -> Refusal {
    let message = format!("`{name}`: {error}");
    Refusal::new(Code::TimestampInvalid, Kind::Authentication, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ae_118_to_120_and_ax_038_any_semantic_version_of_major_0() {
        for good in [
            "0.1.0",
            "0.0.0",
            "0.2.1",
            "0.10.999",
            "0.1.0-rc.1",
            "0.1.0+build.007",
            "0.1.0-a-b+c",
        ] {
            assert!(is_supported_version(good), "{good}");
        }
        for bad in [
            "",
            "0",
            "0.1",
            "0.1.0.0",
            "1.0.0",
            "1.0.0-rc.1",
            "00.1.0",
            "0.01.0",
            "0.1.00",
            "v0.1.0",
            "0.1.0-",
            "0.1.0+",
            "0.1.0-01",
            "0.1.0-a..b",
            "0.1.0+a+b",
            "0.1.0-é",
            " 0.1.0",
            "0.-1.0",
            "0.1.0-aaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "10.0.0",
        ] {
            assert!(!is_supported_version(bad), "{bad}");
        }
    }
}
