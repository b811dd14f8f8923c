//! The payloads of `x811.consensus/…` (round.md, "Messages and facts").
//!
//! Every one is signed inside as well, for tools that know nothing of envelopes (CX-9), by the envelope's
//! own key.

mod proposal;
mod vote;

use serde_json::{Map, Value};

use super::in_own_words;
use super::member::Members;
use crate::canonical::to_canonical;
use crate::code::Code;
use crate::digest::Digest;
use crate::envelope::Header;
use crate::facts::consensus::{
    ConsensusFacts, ConsensusVerb, Escalate, HumanDecision, LeaderSignal, OfRound, Ready, Report,
    VoteRequest, malformed,
};
use crate::id::RoundId;
use crate::jws::{DetachedJws, MEMBER, unsigned_form};
use crate::key::KeyId;
use crate::refusal::{Kind, Refusal};
use crate::time::TimestampMs;

/// Reads the payload of that message, whose envelope is signed by `key`, and checks the signature inside
/// it, which is by the same key (machines.md section 7).
///
/// # Errors
/// CCN-1001 for a member that is missing, malformed or contradicts another, CCN-1002 for a word that is
/// none of those in its place, CCN-2001 for a signature that has not the one form that is read, does not hold, or is by
/// another key.
pub fn read(
    verb: ConsensusVerb,
    header: &Header,
    key: &KeyId,
    payload: &Map<String, Value>,
) -> Result<ConsensusFacts, Refusal> {
    let members = Members::new(verb.as_str(), payload);
    let facts = facts(verb, header, members, payload).map_err(in_own_words)?;
    facts.consistent()?;
    check_signature(verb, key, members, payload)?;
    Ok(facts)
}

fn facts(
    verb: ConsensusVerb,
    header: &Header,
    members: Members<'_>,
    payload: &Map<String, Value>,
) -> Result<ConsensusFacts, Refusal> {
    Ok(match verb {
        ConsensusVerb::Propose => {
            ConsensusFacts::Propose(Box::new(proposal::facts(header, members, payload)?))
        }
        ConsensusVerb::VoteRequest => ConsensusFacts::VoteRequest(VoteRequest {
            proposal_hash: members.digest("proposal_hash")?,
            proposal_id: round(members, "proposal_id")?,
            term: members.positive_integer("term")?,
            weights_hash: members.optional_digest("weights_hash")?,
        }),
        ConsensusVerb::Ready => ConsensusFacts::Ready(Ready {
            leader: members.did("leader")?,
            proposal_hash: members.digest("proposal_hash")?,
            proposal_id: round(members, "proposal_id")?,
            term: members.positive_integer("term")?,
            weights_hash: members.optional_digest("weights_hash")?,
        }),
        ConsensusVerb::Vote => {
            ConsensusFacts::Vote(Box::new(vote::facts(header, members, payload)?))
        }
        ConsensusVerb::Reveal => {
            ConsensusFacts::Reveal(Box::new(vote::reveal(header, members, payload)?))
        }
        ConsensusVerb::Commit => ConsensusFacts::Commit(signal(members)?),
        ConsensusVerb::Abort => ConsensusFacts::Abort(signal(members)?),
        ConsensusVerb::Suspend => ConsensusFacts::Suspend(of_round(members)?),
        ConsensusVerb::Resume => ConsensusFacts::Resume(of_round(members)?),
        ConsensusVerb::Withdraw => ConsensusFacts::Withdraw(of_round(members)?),
        ConsensusVerb::Escalate => ConsensusFacts::Escalate(Escalate {
            proposal_id: round(members, "proposal_id")?,
            reason: known_word(members, "reason")?,
        }),
        ConsensusVerb::HumanDecision => ConsensusFacts::HumanDecision(HumanDecision {
            decision: known_word(members, "decision")?,
            escalation: members.integer("escalation")?,
            proposal_id: round(members, "proposal_id")?,
            rationale_hash: text_that_says_something(members, "rationale")?
                .map(|text| Digest::of(text.as_bytes()))
                .ok_or_else(|| malformed("a human's decision needs a rationale"))?,
        }),
        ConsensusVerb::Executed => ConsensusFacts::Executed(report(members, payload)?),
        ConsensusVerb::Failed => ConsensusFacts::Failed(report(members, payload)?),
    })
}

/// A commit or an abort. Its tally is the final one as the leader read it (CC-23).
fn signal(members: Members<'_>) -> Result<LeaderSignal, Refusal> {
    let tally = members.optional_object("tally")?;
    Ok(LeaderSignal {
        proposal_id: round(members, "proposal_id")?,
        rationale_hash: text_that_says_something(members, "rationale")?
            .map(|text| Digest::of(text.as_bytes())),
        tally_hash: tally.map(|tally| Digest::of(&to_canonical(tally))),
    })
}

fn of_round(members: Members<'_>) -> Result<OfRound, Refusal> {
    Ok(OfRound {
        proposal_id: round(members, "proposal_id")?,
    })
}

fn report(members: Members<'_>, payload: &Map<String, Value>) -> Result<Report, Refusal> {
    let report_hash = match payload.get("report") {
        None => None,
        Some(Value::String(text)) => Some(Digest::of(text.as_bytes())),
        Some(Value::Object(object)) => Some(Digest::of(&to_canonical(object))),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) => {
            return Err(malformed("report must be a text or an object"));
        }
    };
    Ok(Report {
        proposal_id: round(members, "proposal_id")?,
        report_hash,
    })
}

fn check_signature(
    verb: ConsensusVerb,
    key: &KeyId,
    members: Members<'_>,
    payload: &Map<String, Value>,
) -> Result<(), Refusal> {
    let invalid = |why: &str| {
        let message = format!("{MEMBER}: {why}");
        Refusal::new(Code::JwsInvalid, Kind::Authentication, message)
    };
    let text = members
        .string(MEMBER)
        .map_err(|refusal| invalid(&refusal.message))?;
    let jws =
        DetachedJws::parse(text, verb.jws_type()).map_err(|fault| invalid(&fault.to_string()))?;
    if jws.kid != *key {
        return Err(invalid(
            "kid names another key than that of the envelope: sign both with one key",
        ));
    }
    if !jws.verify(payload) {
        return Err(invalid(
            "it does not hold over the payload in its RFC 8785 form without this member",
        ));
    }
    Ok(())
}

/// SHA-256 of the RFC 8785 form of the payload without its signature.
fn hash_of_unsigned(payload: &Map<String, Value>) -> Digest {
    Digest::of(&unsigned_form(payload))
}

fn round(members: Members<'_>, name: &str) -> Result<RoundId, Refusal> {
    members.envelope_id(name).map(RoundId::from)
}

fn rounds(members: Members<'_>, name: &str) -> Result<Option<Vec<RoundId>>, Refusal> {
    let Some(list) = members.optional_array(name)? else {
        return Ok(None);
    };
    let id = |value: &Value| {
        let text = value.as_str().unwrap_or_default();
        RoundId::lenient(text).map_err(|fault| malformed(format!("{name}: {fault}")))
    };
    list.iter().map(id).collect::<Result<_, _>>().map(Some)
}

/// A moment as the draft writes it: an HTTP-date, or RFC 3339 (CX-5).
fn moment(header: &Header, members: Members<'_>, name: &str) -> Result<TimestampMs, Refusal> {
    let text = members.string(name)?;
    TimestampMs::parse_http_date(text, header.created_ms).map_err(|_| {
        malformed(format!(
            "{name} must be an HTTP-date such as \"Sun, 06 Nov 1994 08:49:37 GMT\", or RFC 3339"
        ))
    })
}

/// CCN-1002 for a text that is none of the words.
fn known_word<T>(members: Members<'_>, name: &str) -> Result<T, Refusal>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    members.string(name)?;
    members.word(name).map_err(|refusal| Refusal {
        code: Code::UnknownValue,
        ..refusal
    })
}

fn optional_known_word<T>(members: Members<'_>, name: &str) -> Result<Option<T>, Refusal>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    if members.optional_string(name)?.is_none() {
        return Ok(None);
    }
    known_word(members, name).map(Some)
}

/// A text that is not blank; blank is as if it were left out (CX-8). No Unicode tables: a fact must be
/// the same in every program and year (machines.md section 6).
fn text_that_says_something<'a>(
    members: Members<'a>,
    name: &str,
) -> Result<Option<&'a str>, Refusal> {
    let text = members.optional_string(name)?;
    Ok(text.filter(|text| text.bytes().any(|byte| !byte.is_ascii_whitespace())))
}

/// SHA-256 of the text in ASCII lower case with its runs of ASCII white space collapsed
/// (machines.md section 6).
fn tag(text: &str) -> Digest {
    let mut plain = String::with_capacity(text.len());
    let mut was_space = false;
    for letter in text.chars() {
        let is_space = letter.is_ascii_whitespace();
        if !is_space {
            plain.push(letter.to_ascii_lowercase());
        } else if !was_space {
            plain.push(' ');
        }
        was_space = is_space;
    }
    Digest::of(plain.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cx_50_equal_rationales_are_equal_but_for_case_and_space() {
        assert_eq!(tag("Too  Risky\n"), tag("too risky "));
        assert_ne!(tag("too risky"), tag("toorisky"));
        assert_eq!(tag("É"), Digest::of("É".as_bytes()));
    }
}
