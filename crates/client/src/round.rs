//! Taking part in rounds: [`Proposer`], [`Voter`] and [`Leader`], each for one agent at one ledger.
//!
//! What is voted on is read from the proposer's own signed envelope, never from what the ledger says of
//! it. The tally is the ledger's, and whoever audits the round counts again.

mod secret;

pub use secret::Secret;

use serde_json::{Map, Value};
use x811_protocol::did::Did;
use x811_protocol::facts::consensus::{ConsensusFacts, Decision, HumanRuling, Proposal};
use x811_protocol::facts::{ConsensusVerb, Facts};
use x811_protocol::id::RoundId;
use x811_protocol::key::KeyId;
use x811_protocol::payload::{PayloadRules, facts_of};
use x811_protocol::round::{Opened, commitment};

use crate::clock::Clock;
use crate::compose::{About, Ballot, ComposeError, Composer, NewProposal, RoundStep};
use crate::entropy::{Entropy, EntropyError};
use crate::http::{Accepted, ClientError, LedgerClient, RoundView};
use crate::identity::Identity;

/// An agent at the ledger where its rounds are. The others are made of it.
#[derive(Clone, Copy)]
pub struct Member<'a> {
    client: &'a LedgerClient,
    identity: &'a Identity,
    entropy: &'a dyn Entropy,
    clock: &'a dyn Clock,
    ledger: Did,
}

/// A proposal as its proposer signed it.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposed {
    /// What the proposal says that decides: mechanism, participants, weights, times.
    pub facts: Proposal,
    /// Who proposed it.
    pub proposer: Did,
    /// What is decided on, as a text for whoever votes.
    pub subject: String,
    /// What is done if it is accepted.
    pub action: Map<String, Value>,
}

impl Proposed {
    /// What further messages repeat of it.
    pub const fn about(&self) -> About {
        About {
            round: self.facts.proposal_id,
            proposal_hash: self.facts.proposal_hash,
            weights_hash: self.facts.weights_hash,
            term: self.facts.attempt,
        }
    }

    /// Takes part, under its leader and its weights.
    pub const fn ready(&self) -> RoundStep {
        RoundStep::Ready {
            about: self.about(),
            leader: self.facts.leader,
        }
    }

    /// Opens the round, as the agent that leads.
    pub const fn opening(&self) -> RoundStep {
        RoundStep::VoteRequest(self.about())
    }

    /// An open vote; a rejection needs a rationale.
    pub const fn vote(&self, ballot: Ballot, blocked_by: Vec<RoundId>) -> RoundStep {
        RoundStep::Vote {
            about: self.about(),
            ballot,
            blocked_by,
        }
    }

    /// A sealed vote of `voter`: the commitment to `secret`.
    pub fn commitment(&self, secret: &Secret, voter: Did) -> RoundStep {
        let opened = Opened {
            decision: secret.ballot.decision,
            proposal_id: secret.round,
            rationale: secret.ballot.rationale.as_deref(),
            round: secret.round,
            salt: &secret.salt,
            voter,
        };
        RoundStep::Commitment {
            about: self.about(),
            commitment: commitment(&opened),
            at: secret.at,
        }
    }
}

/// The leader's signal: what was decided, as the ledger counted it; where the leader decides (mechanism
/// `leader`), `decision` is the decision.
///
/// # Errors
/// [`RoundError::Undecided`] of a round that waits for its votes, without a decision.
pub fn signal(
    view: &RoundView,
    decision: Option<Decision>,
    rationale: Option<String>,
) -> Result<RoundStep, RoundError> {
    let outcome = view.outcome.as_ref();
    let word = outcome.and_then(|tally| tally.get("outcome")?.as_str());
    let commits = match (decision, word) {
        (_, Some(word)) => word == "commit",
        (Some(decision), None) => decision == Decision::Approve,
        (None, None) => return Err(RoundError::Undecided { round: view.id }),
    };
    Ok(RoundStep::Signal {
        round: view.id,
        commits,
        tally: outcome.cloned(),
        rationale,
    })
}

/// The proposal of a round, its signatures checked.
///
/// # Errors
/// [`RoundError::NotAProposal`] for an envelope of another kind, [`RoundError::Client`].
pub async fn proposed(client: &LedgerClient, round: RoundId) -> Result<Proposed, RoundError> {
    let not_one = || RoundError::NotAProposal { round };
    let message = client.message(round.proposal_id()).await?.envelope;
    let header = message.header();
    if ConsensusVerb::of(&header.message_type) != Some(ConsensusVerb::Propose) {
        return Err(not_one());
    }
    let key = KeyId {
        did: header.from,
        key: message.key().key,
    };
    let payload = message.payload();
    let facts = facts_of(header, &key, payload, &PayloadRules::default());
    let Ok(Facts::Consensus(ConsensusFacts::Propose(facts))) = facts else {
        return Err(not_one());
    };
    Ok(Proposed {
        facts: *facts,
        proposer: header.from,
        subject: payload["subject"].as_str().unwrap_or_default().to_owned(),
        action: payload["action"].as_object().cloned().unwrap_or_default(),
    })
}

impl<'a> Member<'a> {
    /// Of `identity` at `ledger`; `client` reads as it.
    pub fn new(
        client: &'a LedgerClient,
        identity: &'a Identity,
        entropy: &'a dyn Entropy,
        clock: &'a dyn Clock,
        ledger: Did,
    ) -> Member<'a> {
        Member {
            client,
            identity,
            entropy,
            clock,
            ledger,
        }
    }

    /// This agent as one that proposes.
    pub const fn proposer(self) -> Proposer<'a> {
        Proposer(self)
    }

    /// This agent as one that votes.
    pub const fn voter(self) -> Voter<'a> {
        Voter(self)
    }

    /// This agent as one that leads.
    pub const fn leader(self) -> Leader<'a> {
        Leader(self)
    }

    /// The proposal of a round: [`proposed`].
    ///
    /// # Errors
    /// As [`proposed`].
    pub async fn proposed(&self, round: RoundId) -> Result<Proposed, RoundError> {
        proposed(self.client, round).await
    }

    /// Says one step.
    ///
    /// # Errors
    /// [`RoundError::Compose`] before anything is sent, [`RoundError::Client`] where it is refused.
    pub async fn say(&self, step: &RoundStep) -> Result<Accepted, RoundError> {
        let composer = Composer::new(self.identity, self.entropy, self.clock);
        let sealed = composer.seal(self.ledger, step)?;
        Ok(self.client.send(&sealed).await?)
    }

    /// What a human who is named in the parameters decides on an escalation.
    ///
    /// # Errors
    /// As [`Member::say`].
    pub async fn decide(
        &self,
        round: RoundId,
        escalation: u64,
        ruling: HumanRuling,
        rationale: &str,
    ) -> Result<Accepted, RoundError> {
        let rationale = rationale.to_owned();
        self.say(&RoundStep::HumanDecision {
            round,
            escalation,
            ruling,
            rationale,
        })
        .await
    }
}

/// An agent that proposes rounds.
#[derive(Clone, Copy)]
pub struct Proposer<'a>(Member<'a>);

impl Proposer<'_> {
    /// Puts it to its participants; the round is named by the accepted envelope.
    ///
    /// # Errors
    /// As [`Member::say`].
    pub async fn propose(&self, proposal: NewProposal) -> Result<(RoundId, Accepted), RoundError> {
        let step = RoundStep::Propose(Box::new(proposal));
        let accepted = self.0.say(&step).await?;
        Ok((RoundId::from(accepted.envelope_id), accepted))
    }

    /// Takes it back, before the first vote.
    ///
    /// # Errors
    /// As [`Member::say`].
    pub async fn withdraw(&self, round: RoundId) -> Result<Accepted, RoundError> {
        self.0.say(&RoundStep::Withdraw(round)).await
    }

    /// Asks humans about a failed round, where there is no time for a retry.
    ///
    /// # Errors
    /// As [`Member::say`].
    pub async fn escalate(&self, round: RoundId) -> Result<Accepted, RoundError> {
        self.0.say(&RoundStep::Escalate(round)).await
    }
}

/// An agent that votes in rounds as a participant.
#[derive(Clone, Copy)]
pub struct Voter<'a>(Member<'a>);

impl Voter<'_> {
    /// Takes part, under the leader and the weights of the proposal.
    ///
    /// # Errors
    /// As [`Member::say`].
    pub async fn ready(&self, proposed: &Proposed) -> Result<Accepted, RoundError> {
        self.0.say(&proposed.ready()).await
    }

    /// An open vote; a rejection needs a rationale.
    ///
    /// # Errors
    /// As [`Member::say`].
    pub async fn vote(
        &self,
        proposed: &Proposed,
        ballot: Ballot,
        blocked_by: Vec<RoundId>,
    ) -> Result<Accepted, RoundError> {
        self.0.say(&proposed.vote(ballot, blocked_by)).await
    }

    /// What a sealed vote is revealed with. Keep it before [`Voter::commit`]: a commitment that is not
    /// revealed does not count, and is noticed.
    ///
    /// # Errors
    /// [`RoundError::Entropy`].
    pub fn secret(&self, proposed: &Proposed, ballot: Ballot) -> Result<Secret, RoundError> {
        let at = self.0.clock.now();
        let round = proposed.facts.proposal_id;
        Ok(Secret::draw(round, ballot, at, self.0.entropy)?)
    }

    /// A sealed vote: the commitment to `secret`.
    ///
    /// # Errors
    /// As [`Member::say`].
    pub async fn commit(
        &self,
        proposed: &Proposed,
        secret: &Secret,
    ) -> Result<Accepted, RoundError> {
        let step = proposed.commitment(secret, self.0.identity.did);
        self.0.say(&step).await
    }

    /// Reveals what was committed to; the ledger takes it from the timeout on.
    ///
    /// # Errors
    /// As [`Member::say`].
    pub async fn reveal(&self, secret: &Secret) -> Result<Accepted, RoundError> {
        self.0.say(&secret.reveal()).await
    }

    /// Says whether what was decided is done.
    ///
    /// # Errors
    /// As [`Member::say`].
    pub async fn report(
        &self,
        round: RoundId,
        done: bool,
        report: Option<Value>,
    ) -> Result<Accepted, RoundError> {
        self.0
            .say(&RoundStep::Report {
                round,
                done,
                report,
            })
            .await
    }
}

/// An agent that leads rounds in the place of the ledger.
#[derive(Clone, Copy)]
pub struct Leader<'a>(Member<'a>);

impl Leader<'_> {
    /// Opens the round.
    ///
    /// # Errors
    /// As [`Member::say`].
    pub async fn open(&self, proposed: &Proposed) -> Result<Accepted, RoundError> {
        self.0.say(&proposed.opening()).await
    }

    /// Signs what was decided, or decides: [`signal`].
    ///
    /// # Errors
    /// [`RoundError::Undecided`], else as [`Member::say`].
    pub async fn signal(
        &self,
        view: &RoundView,
        decision: Option<Decision>,
        rationale: Option<String>,
    ) -> Result<Accepted, RoundError> {
        self.0.say(&signal(view, decision, rationale)?).await
    }

    /// Suspends the round: votes are taken, and nothing is decided.
    ///
    /// # Errors
    /// As [`Member::say`].
    pub async fn suspend(&self, round: RoundId) -> Result<Accepted, RoundError> {
        self.0.say(&RoundStep::Suspend(round)).await
    }

    /// Ends the suspension: the round goes on.
    ///
    /// # Errors
    /// As [`Member::say`].
    pub async fn resume(&self, round: RoundId) -> Result<Accepted, RoundError> {
        self.0.say(&RoundStep::Resume(round)).await
    }
}

/// Why nothing was said, or nothing was taken.
#[derive(Debug, thiserror::Error)]
pub enum RoundError {
    /// It was not sealed.
    #[error(transparent)]
    Compose(#[from] ComposeError),
    /// It was not taken, or nothing was read.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The system gave no random numbers.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// What has the id of the round is no proposal.
    #[error(
        "{round} names no proposal: a round is named by the envelope id of its x811.consensus/propose"
    )]
    NotAProposal {
        /// What was asked for.
        round: RoundId,
    },
    /// There is nothing to sign.
    #[error("round {round} is not decided yet: ask again when its votes are counted")]
    Undecided {
        /// The round that was asked about.
        round: RoundId,
    },
}
