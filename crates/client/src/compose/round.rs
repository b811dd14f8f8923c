//! `x811.consensus/…`: deciding together (round.md, "Messages and facts").

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::{CustomType, Header, MessageType};
use x811_protocol::facts::ConsensusVerb;
use x811_protocol::facts::consensus::{Decision, HumanRuling, Mechanism, Threshold, Voting};
use x811_protocol::id::RoundId;
use x811_protocol::time::TimestampMs;

use super::{ComposeError, Members, Payload};

/// What is put to participants.
#[derive(Debug, Clone, PartialEq)]
pub struct NewProposal {
    /// What is done if it is accepted: `type`, and `resource`, `risk`, `reversible` where it has them.
    pub action: Map<String, Value>,
    /// Rounds that stand in its way.
    pub blocked_by: Vec<RoundId>,
    /// How many faulty agents are to be tolerated (CX-48).
    pub f: Option<u64>,
    /// The ledger, or the agent that leads.
    pub leader: Did,
    /// How votes decide.
    pub mechanism: Mechanism,
    /// The agents that vote.
    pub participants: Vec<Did>,
    /// The least number of votes.
    pub quorum: u64,
    /// The failed round that it retries, and which attempt it is.
    pub retry: Option<(RoundId, u64)>,
    /// How long sealed votes may be revealed, in milliseconds.
    pub reveal_ms: Option<u64>,
    /// How narrow the action is, 0 to 100.
    pub specificity: Option<u64>,
    /// For whoever votes: what is decided.
    pub subject: String,
    /// Weighted: what the approving part of all weight must exceed.
    pub threshold: Option<Threshold>,
    /// The last moment for votes.
    pub timeout: TimestampMs,
    /// How soon it must be decided, 0 to 100.
    pub urgency: Option<u64>,
    /// Open or sealed.
    pub voting: Voting,
    /// Weighted: of each participant, in their order.
    pub weights: Option<Vec<u64>>,
}

/// The proposal that a message of a round is about, as its sender read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// Id of the round: the envelope id of its proposal.
    pub round: RoundId,
    /// SHA-256 of the RFC 8785 form of the proposal without its signature.
    pub proposal_hash: Digest,
    /// Weighted: of participants and weights.
    pub weights_hash: Option<Digest>,
    /// Number of the attempt, from 1.
    pub term: u64,
}

/// What an agent says to a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ballot {
    /// For it, against it or neither.
    pub decision: Decision,
    /// Why; a rejection needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
}

impl Ballot {
    fn put(self, members: Members) -> Members {
        members
            .set_text("decision", self.decision)
            .set_some("rationale", self.rationale)
    }
}

/// One message of a round, addressed to the ledger.
#[derive(Debug, Clone, PartialEq)]
pub enum RoundStep {
    /// Opens a round, named by the envelope that carries it.
    Propose(Box<NewProposal>),
    /// An agent that leads opens the round.
    VoteRequest(About),
    /// Takes part, under this leader and these weights.
    Ready {
        /// The proposal and attempt that it is about.
        about: About,
        /// Whom the sender takes as leader.
        leader: Did,
    },
    /// An open vote.
    Vote {
        /// The proposal and attempt that it is about.
        about: About,
        /// What is said.
        ballot: Ballot,
        /// Rounds that stand in the way.
        blocked_by: Vec<RoundId>,
    },
    /// A sealed vote.
    Commitment {
        /// The proposal and attempt that it is about.
        about: About,
        /// [`x811_protocol::round::commitment`] of what is revealed later.
        commitment: Digest,
        /// When; the reveal repeats it.
        at: TimestampMs,
    },
    /// What a commitment stood for.
    Reveal {
        /// Id of the round: the envelope id of its proposal.
        round: RoundId,
        /// What was said.
        ballot: Ballot,
        /// 16 to 32 random bytes in base64url without padding.
        salt: String,
        /// That of the commitment.
        at: TimestampMs,
    },
    /// The leader's signal: it is done, or not.
    Signal {
        /// Id of the round: the envelope id of its proposal.
        round: RoundId,
        /// Whether it is done.
        commits: bool,
        /// The final tally, as the ledger has it; without one in mechanism `leader`.
        tally: Option<Map<String, Value>>,
        /// Why; needed against the votes.
        rationale: Option<String>,
    },
    /// The leader suspends the round.
    Suspend(RoundId),
    /// The leader goes on with it.
    Resume(RoundId),
    /// The proposer takes it back, before the first vote.
    Withdraw(RoundId),
    /// Humans are asked, as there is no time for a retry.
    Escalate(RoundId),
    /// What a human decides.
    HumanDecision {
        /// Id of the round: the envelope id of its proposal.
        round: RoundId,
        /// Position of the escalation.
        escalation: u64,
        /// What is decided.
        ruling: HumanRuling,
        /// Why it is decided so, in words.
        rationale: String,
    },
    /// What a participant did about what was decided.
    Report {
        /// Id of the round: the envelope id of its proposal.
        round: RoundId,
        /// Whether it was done.
        done: bool,
        /// A text or an object.
        report: Option<Value>,
    },
}

impl RoundStep {
    const fn verb(&self) -> ConsensusVerb {
        match self {
            RoundStep::Propose(_) => ConsensusVerb::Propose,
            RoundStep::VoteRequest(_) => ConsensusVerb::VoteRequest,
            RoundStep::Ready { .. } => ConsensusVerb::Ready,
            RoundStep::Vote { .. } | RoundStep::Commitment { .. } => ConsensusVerb::Vote,
            RoundStep::Reveal { .. } => ConsensusVerb::Reveal,
            RoundStep::Signal { commits: true, .. } => ConsensusVerb::Commit,
            RoundStep::Signal { commits: false, .. } => ConsensusVerb::Abort,
            RoundStep::Suspend(_) => ConsensusVerb::Suspend,
            RoundStep::Resume(_) => ConsensusVerb::Resume,
            RoundStep::Withdraw(_) => ConsensusVerb::Withdraw,
            RoundStep::Escalate(_) => ConsensusVerb::Escalate,
            RoundStep::HumanDecision { .. } => ConsensusVerb::HumanDecision,
            RoundStep::Report { done: true, .. } => ConsensusVerb::Executed,
            RoundStep::Report { done: false, .. } => ConsensusVerb::Failed,
        }
    }

    fn own_members(&self) -> Members {
        match self {
            RoundStep::Propose(proposal) => proposed(proposal),
            RoundStep::VoteRequest(about) => acknowledged(about),
            RoundStep::Ready { about, leader } => acknowledged(about).set_text("leader", leader),
            RoundStep::Vote {
                about,
                ballot,
                blocked_by,
            } => {
                let members = of_round(about.round)
                    .set_text("consensus_round_id", about.round)
                    .set_text("proposal_hash", about.proposal_hash)
                    .set_some("blocked_by", texts(blocked_by));
                ballot.clone().put(members)
            }
            RoundStep::Commitment {
                about,
                commitment,
                at,
            } => of_round(about.round)
                .set_text("consensus_round_id", about.round)
                .set_text("proposal_hash", about.proposal_hash)
                .set_text("commitment", commitment)
                .set_text("timestamp", at.to_rfc3339()),
            RoundStep::Reveal {
                round,
                ballot,
                salt,
                at,
            } => {
                let members = of_round(*round)
                    .set_text("consensus_round_id", round)
                    .set_text("salt", salt)
                    .set_text("timestamp", at.to_rfc3339());
                ballot.clone().put(members)
            }
            RoundStep::Signal {
                round,
                tally,
                rationale,
                ..
            } => of_round(*round)
                .set_some("tally", tally.clone())
                .set_some("rationale", rationale.clone()),
            RoundStep::Suspend(round) | RoundStep::Resume(round) | RoundStep::Withdraw(round) => {
                of_round(*round)
            }
            RoundStep::Escalate(round) => of_round(*round).set_text("reason", "time_critical"),
            RoundStep::HumanDecision {
                round,
                escalation,
                ruling,
                rationale,
            } => of_round(*round)
                .set("escalation", *escalation)
                .set_text("decision", ruling)
                .set_text("rationale", rationale),
            RoundStep::Report { round, report, .. } => {
                of_round(*round).set_some("report", report.clone())
            }
        }
    }
}

impl Payload for RoundStep {
    #[expect(
        clippy::expect_used,
        reason = "the fourteen names are types of messages"
    )]
    fn message_type(&self) -> MessageType {
        let custom: CustomType = self.verb().as_str().parse().expect("a type of a message");
        MessageType::Custom(custom)
    }

    fn members(&self) -> Result<Map<String, Value>, ComposeError> {
        Ok(self.own_members().0)
    }

    fn members_under(&self, header: &Header) -> Result<Map<String, Value>, ComposeError> {
        let members = self.own_members();
        let members = match self {
            RoundStep::Propose(_) => members
                .set_text("proposal_id", header.id)
                .set_text("consensus_round_id", header.id)
                .set_text("proposer", header.from),
            RoundStep::Vote { .. } => members
                .set_text("voter", header.from)
                .set_text("timestamp", header.created_ms.to_rfc3339()),
            RoundStep::Commitment { .. } | RoundStep::Reveal { .. } => {
                members.set_text("voter", header.from)
            }
            RoundStep::VoteRequest(_)
            | RoundStep::Ready { .. }
            | RoundStep::Signal { .. }
            | RoundStep::Suspend(_)
            | RoundStep::Resume(_)
            | RoundStep::Withdraw(_)
            | RoundStep::Escalate(_)
            | RoundStep::HumanDecision { .. }
            | RoundStep::Report { .. } => members,
        };
        Ok(members.0)
    }

    fn signed_inside(&self) -> Option<&'static str> {
        Some(self.verb().jws_type())
    }
}

fn of_round(round: RoundId) -> Members {
    Members::default().set_text("proposal_id", round)
}

fn acknowledged(about: &About) -> Members {
    of_round(about.round)
        .set_text("proposal_hash", about.proposal_hash)
        .set("term", about.term)
        .set_some(
            "weights_hash",
            about.weights_hash.map(|hash| hash.to_string()),
        )
}

/// The ids as texts; `None` of none.
fn texts<T: ToString>(ids: &[T]) -> Option<Vec<String>> {
    let texts: Vec<String> = ids.iter().map(ToString::to_string).collect();
    (!texts.is_empty()).then_some(texts)
}

fn proposed(proposal: &NewProposal) -> Members {
    let sealed = (proposal.voting == Voting::Sealed).then(|| proposal.voting.to_string());
    let threshold = proposal.threshold;
    let members = Members::default()
        .set("action", proposal.action.clone())
        .set_text("leader", proposal.leader)
        .set_text("mechanism", proposal.mechanism)
        .set_some("participants", texts(&proposal.participants))
        .set("quorum", proposal.quorum)
        .set_text("subject", &proposal.subject)
        .set_text("timeout", proposal.timeout.to_rfc3339())
        .set_some("voting", sealed)
        .set_some("reveal_ms", proposal.reveal_ms)
        .set_some("f", proposal.f)
        .set_some("weights", proposal.weights.clone())
        .set_some(
            "threshold",
            threshold.map(|part| json!({"num": part.num, "den": part.den})),
        )
        .set_some("urgency", proposal.urgency)
        .set_some("specificity", proposal.specificity)
        .set_some("blocked_by", texts(&proposal.blocked_by));
    match proposal.retry {
        Some((failed, attempt)) => members
            .set_text("resubmission_of", failed)
            .set("attempt", attempt),
        None => members,
    }
}
