//! The heartbeat of the published TypeScript SDK (decision 0190): an envelope of the agent to itself, of
//! the type `x811/heartbeat`. It is no message: it leaves no record, and nothing but presence rests on
//! it.

use serde_json::{Map, Value};

use super::header::{Header, Leeway};
use super::parse::{SIGNATURE, decoded, no_object, payload, unreadable, unwrapped};
use super::times::check_times;
use super::verify::signed_by_one_of;
use crate::canonical::members_to_canonical;
use crate::did::Did;
use crate::digest::Digest;
use crate::json::{Limits, parse_members};
use crate::key::AgentKey;
use crate::refusal::Refusal;
use crate::signature::Signature;
use crate::time::TimestampMs;

const TYPE: &str = "x811/heartbeat";

/// A well-formed heartbeat whose signature nobody has checked yet.
#[derive(Debug, Clone)]
pub struct ParsedHeartbeat {
    header: Header,
    payload: Map<String, Value>,
    body: Vec<u8>,
    signature: Signature,
}

/// A heartbeat by one of its sender's keys.
#[derive(Debug, Clone)]
pub struct SdkHeartbeat {
    /// Who is there.
    pub from: Did,
    /// When it said so, by its own clock.
    pub created_ms: TimestampMs,
    /// `{availability, capacity, ttl?}` as it was sent.
    pub payload: Map<String, Value>,
}

impl ParsedHeartbeat {
    /// Reads `{"envelope": {…}}` or the bare envelope, of at most `max_bytes`.
    ///
    /// # Errors
    /// As [`ParsedEnvelope::parse`](super::ParsedEnvelope::parse); X811-4001 for another type and for
    /// one that is not addressed to its sender.
    pub fn parse(bytes: &[u8], max_bytes: usize) -> Result<ParsedHeartbeat, Refusal> {
        let outermost =
            parse_members(bytes, &Limits::bytes(max_bytes), None).map_err(unreadable)?;
        let mut members = unwrapped(outermost.members.ok_or_else(no_object)?)?;
        let signature = members.remove(SIGNATURE);
        let mut all = members.into_map();
        let body = members_to_canonical(&all);
        // The header has no type of its own for what is no message: it is read as the REQUEST of an
        // agent to itself, which the SDK registers with.
        let named = all.insert("type".to_owned(), "x811/request".into());
        if named.as_ref().and_then(Value::as_str) != Some(TYPE) {
            return Err(Refusal::shape(format!(
                "`type` is not {TYPE}: send a heartbeat here"
            )));
        }
        let mut members = all.into();
        let leeway = Leeway {
            any_uuid: true,
            plain_nonce: true,
            to_oneself: true,
        };
        let header = Header::read(&members, leeway)?;
        if header.from != header.to {
            return Err(Refusal::shape(
                "a heartbeat is of the agent that sends it: write your own DID for `from` and `to`",
            ));
        }
        Ok(ParsedHeartbeat {
            signature: decoded(signature)?,
            payload: payload(&mut members)?,
            header,
            body,
        })
    }

    /// Whose it says that it is.
    pub fn from(&self) -> Did {
        self.header.from
    }

    /// Checks its times and then its signature, as those of every envelope.
    ///
    /// # Errors
    /// X811-2002 for its times, X811-2003 when none of `keys` made the signature.
    pub fn verify(
        self,
        keys: &[AgentKey],
        now: TimestampMs,
        tolerance_ms: u64,
    ) -> Result<SdkHeartbeat, Refusal> {
        check_times(&self.header, now, tolerance_ms)?;
        let digest = Digest::of(&self.body);
        let key = signed_by_one_of(keys, &digest, &self.body, &self.signature);
        key.map_err(|refusal| refusal.related_to(self.header.id))?;
        Ok(SdkHeartbeat {
            from: self.header.from,
            created_ms: self.header.created_ms,
            payload: self.payload,
        })
    }
}
