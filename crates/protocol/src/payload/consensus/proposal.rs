//! `x811.consensus/propose`, in the members of the draft (CC-8 to CC-16) and of the resolutions.

use serde_json::{Map, Value};

use super::super::member::{Members, as_integer};
use super::{
    hash_of_unsigned, known_word, malformed, moment, optional_known_word, round, rounds, tag,
};
use crate::canonical::to_canonical;
use crate::did::Did;
use crate::digest::Digest;
use crate::envelope::Header;
use crate::facts::consensus::{Mechanism, Proposal, Risk, Threshold, Voting};
use crate::id::RoundId;
use crate::refusal::Refusal;
use crate::round::weights_hash;

/// Reads a proposal.
pub(super) fn facts(
    header: &Header,
    members: Members<'_>,
    payload: &Map<String, Value>,
) -> Result<Proposal, Refusal> {
    if members.did("proposer")? != header.from {
        return Err(malformed("proposer must be the sender (CX-3)"));
    }
    let (proposal_id, consensus_round_id) = (
        round(members, "proposal_id")?,
        round(members, "consensus_round_id")?,
    );
    if [proposal_id, consensus_round_id] != [RoundId::from(header.id); 2] {
        return Err(malformed(
            "proposal_id and consensus_round_id must both be the id of the envelope",
        ));
    }
    let subject = members.string("subject")?;
    let object = members.object("action")?;
    let action = Members::new("action", object);
    let participants = participants(members)?;
    let mechanism: Mechanism = known_word(members, "mechanism")?;
    let weights = weights(members)?;
    Ok(Proposal {
        action_hash: Digest::of(&to_canonical(object)),
        action_type: action.string("type")?.to_owned(),
        attempt: members.optional_positive_integer("attempt")?.unwrap_or(1),
        blocked_by: rounds(members, "blocked_by")?.unwrap_or_default(),
        consensus_round_id,
        f: members.optional_integer("f")?,
        leader: members.did("leader")?,
        mechanism,
        proposal_hash: hash_of_unsigned(payload),
        proposal_id,
        quorum: members.integer("quorum")?,
        resource_tags: resource_tags(action)?,
        resubmission_of: members
            .optional_envelope_id("resubmission_of")?
            .map(RoundId::from),
        reveal_ms: members.optional_positive_integer("reveal_ms")?,
        reversible: object.contains_key("reversible") && action.boolean("reversible")?,
        risk: optional_known_word(action, "risk")?.unwrap_or(Risk::High),
        specificity: members.optional_integer("specificity")?.unwrap_or(0),
        subject_hash: Digest::of(subject.as_bytes()),
        threshold: threshold(members)?,
        timeout_ms: moment(header, members, "timeout")?,
        urgency: members.optional_integer("urgency")?.unwrap_or(0),
        voting: optional_known_word(members, "voting")?.unwrap_or(Voting::Open),
        weights_hash: weights
            .as_ref()
            .map(|weights| weights_hash(&participants, weights)),
        participants,
        weights,
    })
}

fn participants(members: Members<'_>) -> Result<Vec<Did>, Refusal> {
    let did = |value: &Value| {
        let text = value.as_str().unwrap_or_default();
        text.parse()
            .map_err(|fault| malformed(format!("participants: {fault}")))
    };
    members.array("participants")?.iter().map(did).collect()
}

fn weights(members: Members<'_>) -> Result<Option<Vec<u64>>, Refusal> {
    let Some(list) = members.optional_array("weights")? else {
        return Ok(None);
    };
    let weight = |value: &Value| {
        as_integer(value).ok_or_else(|| malformed("weights must be integers of zero or more"))
    };
    list.iter().map(weight).collect::<Result<_, _>>().map(Some)
}

fn threshold(members: Members<'_>) -> Result<Option<Threshold>, Refusal> {
    let Some(object) = members.optional_object("threshold")? else {
        return Ok(None);
    };
    let members = Members::new("threshold", object);
    Ok(Some(Threshold {
        den: members.integer("den")?,
        num: members.integer("num")?,
    }))
}

/// Names of what the action is about, so that rivals are known by them.
fn resource_tags(action: Members<'_>) -> Result<Vec<Digest>, Refusal> {
    let named = action.optional_array("resource")?.unwrap_or_default();
    let tag_of = |value: &Value| {
        let name = value.as_str();
        name.map(tag)
            .ok_or_else(|| malformed("action.resource must be an array of texts"))
    };
    named.iter().map(tag_of).collect()
}
