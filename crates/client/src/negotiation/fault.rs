//! What can be wrong with a chain.

use super::message::{AgentId, MessageError, State};
use super::profile::Profile;

/// Why a chain does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// More bytes than a chain can have; nothing was read.
    #[error("the file has more than {max} bytes, the most that is read")]
    TooLarge {
        /// Bytes that are read at most.
        max: usize,
    },
    /// Neither an array of objects nor objects behind each other.
    #[error("no JSON array of messages, nor one message behind the other: {why}")]
    Json {
        /// What the JSON reader says.
        why: String,
    },
    /// The chain has no step.
    #[error("there is no message in it")]
    Empty,
    /// The first step that does not hold. Those before it do.
    #[error("step {index}: {fault}")]
    Step {
        /// Which step, from 0.
        index: usize,
        /// The profile of the chain, once its first step could be read.
        profile: Option<Profile>,
        /// What is wrong with it.
        fault: StepFault,
    },
}

/// Why a step does not hold where it stands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StepFault {
    /// It is no XAP message.
    #[error("{0}")]
    Message(#[from] MessageError),
    /// The chain begins with something else.
    #[error("a chain begins with an OFFER of round 1 that names no step before it")]
    NoOffer,
    /// Both parties are the same agent.
    #[error("{agent} offers to itself")]
    OneParty {
        /// The agent that is on both sides.
        agent: AgentId,
    },
    /// Another negotiation than that of the first step.
    #[error("it belongs to {found:?}: one file holds one negotiation")]
    OtherNegotiation {
        /// The negotiation that it names.
        found: String,
    },
    /// Another parent than the first step names.
    #[error("it names another parent_negotiation_id than the OFFER")]
    OtherParent,
    /// Its sender or its receiver is neither of the two parties.
    #[error("{agent} is no party to the negotiation")]
    Stranger {
        /// The agent that sent the step.
        agent: AgentId,
    },
    /// A step behind the end.
    #[error("{} stands behind the {} that ended the negotiation", state.name(), end.name())]
    AfterTheEnd {
        /// What it does.
        state: State,
        /// What ended it.
        end: State,
    },
    /// A second OFFER.
    #[error("a second OFFER: other terms are a COUNTER")]
    SecondOffer,
    /// The author of the last terms acts on them.
    #[error("{agent} is the author of the last terms: the other party's turn")]
    WrongTurn {
        /// The agent that sent the step.
        agent: AgentId,
    },
    /// The receiver is not the other party.
    #[error("it is to {to}, who is not the other party")]
    Receiver {
        /// To whom it says it is.
        to: AgentId,
    },
    /// It does not name the step before it as that one stands in the file.
    #[error(
        "it does not name the step before it: that one was changed, or a step was dropped, added or moved"
    )]
    Link,
    /// A signature or a link as the other profile makes it.
    #[error("its {what} is of profile {found}: a chain has one profile, and never two")]
    Mixed {
        /// The part that is of the other profile.
        what: &'static str,
        /// The other profile.
        found: Profile,
    },
    /// Another round than the one it must be.
    #[error("it says round {found}, which must be {expected}")]
    Round {
        /// What it says.
        found: u64,
        /// What it must be.
        expected: u64,
    },
    /// A counter too many.
    #[error("round {round} of at most {max_rounds}: no further COUNTER is allowed")]
    TooManyRounds {
        /// The round of the COUNTER, which is one too many.
        round: u64,
        /// How many the OFFER allows.
        max_rounds: u64,
    },
    /// Another limit than the OFFER's.
    #[error("it says at most {found} rounds, the OFFER {max_rounds}")]
    OtherMaxRounds {
        /// What it says.
        found: u64,
        /// What the OFFER says.
        max_rounds: u64,
    },
    /// Later than the terms before it allow.
    #[error("made at {created_at}, when the terms had ended at {expires_at}")]
    Late {
        /// When it says it was made, RFC 3339.
        created_at: String,
        /// The first moment at which the terms could not be answered any more, RFC 3339.
        expires_at: String,
    },
    /// Terms that nobody could have answered.
    #[error("its terms end before they were made, or at that moment")]
    BornExpired,
    /// An ACCEPT of other terms.
    #[error("it accepts other terms than those of the step before it")]
    OtherTerms,
    /// Text that is no signature in the chain's profile.
    #[error("its signature is not spelled as {profile} spells one")]
    SignatureForm {
        /// The chain's profile.
        profile: Profile,
    },
    /// A signature that is not by the sender's key.
    #[error("its signature is not by the key of {agent}, or the step was changed")]
    Signature {
        /// The agent that sent the step.
        agent: AgentId,
    },
}
