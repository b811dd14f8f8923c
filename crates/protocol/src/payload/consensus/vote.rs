//! `x811.consensus/vote` and `x811.consensus/reveal` (CC-17 to CC-22, CX-51).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::super::member::Members;
use super::text_that_says_something;
use super::{hash_of_unsigned, known_word, malformed, moment, round, rounds, tag};
use crate::digest::Digest;
use crate::envelope::Header;
use crate::facts::consensus::{Choice, Decision, Reveal, Vote};
use crate::id::RoundId;
use crate::refusal::Refusal;
use crate::round::{Opened, commitment};

/// Random bytes in a salt.
const SALT_BYTES: std::ops::RangeInclusive<usize> = 16..=32;

/// Reads a vote: open, or a commitment.
pub(super) fn facts(
    header: &Header,
    members: Members<'_>,
    payload: &Map<String, Value>,
) -> Result<Vote, Refusal> {
    speaks_for_itself(header, members)?;
    let commitment = members.optional_digest("commitment")?;
    let choice = if commitment.is_none() || payload.contains_key("decision") {
        Some(choice(members, payload)?)
    } else if payload.contains_key("rationale") {
        return Err(malformed(
            "a sealed vote shows no rationale: it is revealed with the decision",
        ));
    } else {
        None
    };
    Ok(Vote {
        blocked_by: rounds(members, "blocked_by")?,
        commitment,
        consensus_round_id: round(members, "consensus_round_id")?,
        decision: choice.map(|choice| choice.decision),
        proposal_hash: members.digest("proposal_hash")?,
        proposal_id: round(members, "proposal_id")?,
        rationale_hash: choice.and_then(|choice| choice.rationale_hash),
        rationale_tag: choice.and_then(|choice| choice.rationale_tag),
        timestamp_ms: moment(header, members, "timestamp")?,
        vote_hash: choice.map(|choice| choice.vote_hash),
    })
}

/// Reads a reveal. Its commitment is computed from what it reveals, never taken from it.
pub(super) fn reveal(
    header: &Header,
    members: Members<'_>,
    payload: &Map<String, Value>,
) -> Result<Reveal, Refusal> {
    speaks_for_itself(header, members)?;
    let salt = members.string("salt")?;
    let bytes = URL_SAFE_NO_PAD.decode(salt).unwrap_or_default();
    if !SALT_BYTES.contains(&bytes.len()) {
        return Err(malformed(
            "salt must be 16 to 32 random bytes in base64url without padding",
        ));
    }
    let proposal_id = round(members, "proposal_id")?;
    let consensus_round_id: RoundId = round(members, "consensus_round_id")?;
    let choice = choice(members, payload)?;
    Ok(Reveal {
        commitment: commitment(&Opened {
            decision: choice.decision,
            proposal_id,
            rationale: members.optional_string("rationale")?,
            round: consensus_round_id,
            salt,
            voter: header.from,
        }),
        decision: choice.decision,
        proposal_id,
        rationale_hash: choice.rationale_hash,
        rationale_tag: choice.rationale_tag,
        timestamp_ms: moment(header, members, "timestamp")?,
        vote_hash: choice.vote_hash,
    })
}

fn speaks_for_itself(header: &Header, members: Members<'_>) -> Result<(), Refusal> {
    if members.did("voter")? == header.from {
        return Ok(());
    }
    Err(malformed(
        "voter must be the sender: nobody votes for another",
    ))
}

fn choice(members: Members<'_>, payload: &Map<String, Value>) -> Result<Choice, Refusal> {
    let decision: Decision = known_word(members, "decision")?;
    let rationale = text_that_says_something(members, "rationale")?;
    Ok(Choice {
        decision,
        rationale_hash: rationale.map(|text| Digest::of(text.as_bytes())),
        rationale_tag: rationale.map(tag),
        vote_hash: hash_of_unsigned(payload),
    })
}
