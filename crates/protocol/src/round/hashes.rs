//! What is hashed of a round: weights, commitments, votes and the tally.

use std::collections::BTreeSet;

use serde::Serialize;

use super::contest::Contest;
use super::message::seat_of;
use super::state::{Countersignature, Phase, State};
use super::tally::{Hindrance, Outcome, TallyVerdict};
use crate::canonical::to_canonical;
use crate::did::Did;
use crate::digest::Digest;
use crate::facts::consensus::Decision;
use crate::id::RoundId;
use crate::machine::RecordRef;
use crate::time::TimestampMs;

/// SHA-256 of the RFC 8785 form of `{participants, weights}`: what every participant acknowledges
/// before a weighted round opens (CC-31, CX-16).
pub fn weights_hash(participants: &[Did], weights: &[u64]) -> Digest {
    #[derive(Serialize)]
    struct Weighed<'a> {
        participants: &'a [Did],
        weights: &'a [u64],
    }
    Digest::of(&to_canonical(&Weighed {
        participants,
        weights,
    }))
}

/// What a sealed vote commits to.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Opened<'a> {
    /// What it says.
    pub decision: Decision,
    /// Id of the round: the envelope id of its proposal.
    pub proposal_id: RoundId,
    /// Why; left out where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rationale: Option<&'a str>,
    /// The round: `consensus_round_id`.
    pub round: RoundId,
    /// 16 to 32 random bytes in base64url without padding.
    pub salt: &'a str,
    /// Who votes, so that nobody repeats another's commitment.
    pub voter: Did,
}

/// SHA-256 of its RFC 8785 form (CX-51).
pub fn commitment(opened: &Opened<'_>) -> Digest {
    Digest::of(&to_canonical(opened))
}

/// SHA-256 over the hashes of the votes that count, sorted, 32 bytes each (CX-10).
pub fn votes_digest(vote_hashes: impl IntoIterator<Item = Digest>) -> Digest {
    let mut hashes: Vec<Digest> = vote_hashes.into_iter().collect();
    hashes.sort_unstable();
    let parts: Vec<&[u8]> = hashes.iter().map(|hash| &hash.as_bytes()[..]).collect();
    Digest::of_parts(&parts)
}

/// What is hashed of a round in place of its whole state: seats by their running hash, and of what the
/// proposal fixed the record. Members stand in the order of their names.
#[derive(Debug, Serialize)]
pub struct HashedRound<'a> {
    #[serde(skip_serializing_if = "Contest::is_none")]
    contest: &'a Contest,
    countersignature: Countersignature,
    decided: Option<TallyVerdict>,
    effects_due: u64,
    evidence_of: &'a BTreeSet<Did>,
    failure_told: bool,
    hindrance: Option<Hindrance>,
    is_called: bool,
    is_due: bool,
    leader_said: Option<Outcome>,
    lost_ms: u64,
    lost_timeout: bool,
    opened_at: Option<TimestampMs>,
    phase: Phase,
    record: RecordRef,
    retried_by: Option<RoundId>,
    seats_run: Option<Digest>,
    was_suspended: bool,
}

impl State {
    /// The hashed form of the round.
    pub fn hashed(&self) -> HashedRound<'_> {
        // Every member is named: a new one must be decided on.
        let State {
            contest,
            countersignature,
            decided,
            effects_due,
            evidence_of,
            failure_told,
            hindrance,
            is_called,
            is_due,
            leader_said,
            lost_ms,
            lost_timeout,
            opened_at,
            opening,
            phase,
            retried_by,
            seats: _,
            seats_run,
            was_suspended,
        } = self;
        HashedRound {
            contest,
            countersignature: *countersignature,
            decided: *decided,
            effects_due: *effects_due,
            evidence_of,
            failure_told: *failure_told,
            hindrance: *hindrance,
            is_called: *is_called,
            is_due: *is_due,
            leader_said: *leader_said,
            lost_ms: *lost_ms,
            lost_timeout: *lost_timeout,
            opened_at: *opened_at,
            phase: *phase,
            record: opening.record,
            retried_by: *retried_by,
            seats_run: *seats_run,
            was_suspended: *was_suspended,
        }
    }

    /// Hashes what a message made of its sender's seat behind what was hashed before: SHA-256 of that (32 zero
    /// bytes at first), the seat's number in eight bytes, and SHA-256 of its RFC 8785 form.
    pub(super) fn run_seat(&mut self, sender: Did) {
        let Some(number) = seat_of(self, sender) else {
            return;
        };
        let before = self.seats_run.unwrap_or(Digest::ZERO);
        let seat = Digest::of(&to_canonical(&self.seats[number]));
        let number = (number as u64).to_be_bytes();
        let parts: [&[u8]; 3] = [before.as_bytes(), &number, seat.as_bytes()];
        self.seats_run = Some(Digest::of_parts(&parts));
    }
}

impl TallyVerdict {
    /// The final tally as a leader's signal repeats it: the counts, with the outcome, its reason and the
    /// digest of the votes (CX-10).
    pub fn to_value(&self) -> serde_json::Value {
        let mut value = serde_json::json!(self.tally);
        if let Some(members) = value.as_object_mut() {
            members.insert("outcome".to_owned(), self.outcome.as_str().into());
            members.insert("reason".to_owned(), self.reason.as_str().into());
            members.insert(
                "votes_digest".to_owned(),
                self.votes_digest.to_string().into(),
            );
        }
        value
    }

    /// SHA-256 of the RFC 8785 form of [`TallyVerdict::to_value`].
    pub fn tally_hash(&self) -> Digest {
        Digest::of(&to_canonical(&self.to_value()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cx_10_the_digest_of_votes_does_not_know_their_order() {
        let [a, b] = [b"a", b"b"].map(|text| Digest::of(text));
        assert_eq!(votes_digest([a, b]), votes_digest([b, a]));
        assert_ne!(votes_digest([a, b]), votes_digest([a]));
        assert_ne!(votes_digest([a, a]), votes_digest([a]));
        assert_eq!(votes_digest([]), Digest::of(b""));
    }

    /// Written by another program: `sha256(jcs)` of the members in their order.
    #[test]
    fn cx_51_a_commitment_is_the_hash_of_what_is_opened() {
        let id: RoundId = "0190a1b2-c3d4-7e5f-8901-234567890abc".parse().unwrap();
        let voter: Did = "did:x811:019c8c61-8129-7511-9f31-aa5142e65441"
            .parse()
            .unwrap();
        let opened = Opened {
            decision: Decision::Reject,
            proposal_id: id,
            rationale: Some("no"),
            round: id,
            salt: "AAAAAAAAAAAAAAAAAAAAAA",
            voter,
        };
        let text = format!(
            r#"{{"decision":"reject","proposal_id":"{id}","rationale":"no","round":"{id}","salt":"AAAAAAAAAAAAAAAAAAAAAA","voter":"{voter}"}}"#
        );
        assert_eq!(commitment(&opened), Digest::of(text.as_bytes()));
        let silent = Opened {
            rationale: None,
            ..opened
        };
        let text = text.replace(r#""rationale":"no","#, "");
        assert_eq!(commitment(&silent), Digest::of(text.as_bytes()));
        let other: Did = "did:x811:019c8c61-8129-7511-9f31-aa5142e65442"
            .parse()
            .unwrap();
        assert_ne!(
            commitment(&Opened {
                voter: other,
                ..opened
            }),
            commitment(&opened)
        );
    }
}
