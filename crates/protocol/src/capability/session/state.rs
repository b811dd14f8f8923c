//! What is known of a session. Members stand in the order of their names, in which a state is hashed
//! after every record; absent ones are null.

use super::table::{StateName, lapse_of};
use crate::capability::version::Version;
use crate::code::Code;
use crate::did::Did;
use crate::digest::Digest;
use crate::event::{CloseReason, SessionWindow};
use crate::facts::{RenewalReason, SessionTerms};
use crate::id::{AgreementId, SessionId};
use crate::machine::{RecordRef, not_restored};
use crate::parameters::Parameters;
use crate::time::TimestampMs;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How a session is ending or has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ending {
    /// Whose message ended it, if one did.
    pub closed_by: Option<Did>,
    /// How it ends or has ended.
    pub reason: CloseReason,
}

/// The agreement that a session negotiates again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Renewal {
    /// Id of that agreement.
    pub agreement: AgreementId,
    /// Why it is negotiated again.
    pub reason: RenewalReason,
    /// The revision that the request named.
    pub revision: u64,
}

/// A signature under the agreement that a session makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signed {
    /// SHA-256 of the agreement's RFC 8785 form.
    pub agreement_hash: Digest,
    /// The agent that signed.
    pub by: Did,
    /// Who may use the capability, as it says.
    pub consumer: Did,
    /// Who provides it, as it says.
    pub provider: Did,
    /// The message that signed it, and its record.
    pub record: RecordRef,
    /// The revision, as it says.
    pub revision: u64,
}

/// Terms that one of the two proposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProposedTerms {
    /// The message that proposed them.
    pub record: RecordRef,
    /// What was proposed.
    pub terms: SessionTerms,
}

/// The state of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Whose the last step was.
    pub author: Did,
    /// The type of the capability.
    pub capability: String,
    /// Counters so far, of both sides together.
    pub counters: u64,
    /// Until when the window of its state is open.
    pub deadline: Option<TimestampMs>,
    /// How it ends: `session_closed` says so next, or has said so.
    pub ending: Option<Ending>,
    /// Id of the session: the envelope id of its request.
    pub id: SessionId,
    /// The agent that asked for the session.
    pub initiator: Did,
    /// Whether its last record was written.
    pub is_closed: bool,
    /// The last message of the two about it.
    pub last: RecordRef,
    /// The parameters it keeps to its end. Not in the stored form.
    #[serde(skip, default = "not_restored")]
    pub parameters: Arc<Parameters>,
    /// SHA-256 of the parameters that were asked for.
    pub parameters_hash: Digest,
    /// The agreement that it negotiates again, if it does.
    pub renews: Option<Renewal>,
    /// Signatures under its agreement, in their order.
    pub signatures: Vec<Signed>,
    /// Its name; [`StateName::Closed`] from what ended it on.
    pub state: StateName,
    /// Who was asked.
    pub target: Did,
    /// The last terms.
    pub terms: Option<ProposedTerms>,
    /// The version that both will use.
    pub version: Version,
}

impl State {
    /// The other one of the two.
    pub fn counterparty(&self, party: Did) -> Did {
        if party == self.initiator {
            self.target
        } else {
            self.initiator
        }
    }

    /// Whether that is one of the two.
    pub fn is_member(&self, did: Did) -> bool {
        [self.initiator, self.target].contains(&did)
    }

    /// The agreement that it makes or negotiates again.
    pub fn agreement(&self) -> AgreementId {
        self.renews
            .map_or(AgreementId::from(self.id), |renews| renews.agreement)
    }

    /// The revision that it makes.
    pub fn revision(&self) -> u64 {
        self.renews.map_or(1, |renews| renews.revision + 1)
    }

    /// The code of the window that passed, of a session that time ended.
    pub fn lapsed_code(&self) -> Code {
        let is_unanswered = self.author == self.initiator && self.terms.is_none();
        let window = match is_unanswered {
            true => SessionWindow::Response,
            false => SessionWindow::Session,
        };
        lapse_of(window).0
    }

    /// How it ends, while its last record is due.
    pub fn due_ending(&self) -> Option<Ending> {
        self.ending.filter(|_| !self.is_closed)
    }
}
