//! Windows, and that one of them passed.

use crate::code::Code;
use crate::round::RoundWindow;
use serde::{Deserialize, Serialize};

/// A window of an interaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Window {
    /// REQUEST to OFFER.
    Offer,
    /// OFFER to ACCEPT or REJECT.
    Accept,
    /// ACCEPT to RESULT.
    Result,
    /// RESULT to VERIFY.
    Verify,
    /// VERIFY to PAYMENT.
    Payment,
    /// PAYMENT to confirmation.
    Confirmation,
}

/// A window of a negotiation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContractWindow {
    /// Terms to their acceptance: a signed moment, which never moves.
    Contract,
    /// Acceptance to the REQUEST: the ledger's, which downtime moves.
    Engagement,
}

/// A window of a session about a capability: the ledger's, which downtime moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionWindow {
    /// Request to response.
    Response,
    /// Willing response to the acceptance of terms.
    Session,
    /// Acceptance to the second signature.
    Agree,
}

/// The window of an agreement: the moment that both signed, which never moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgreementWindow {
    /// The second signature to the end of the duration.
    Agreement,
}

/// A window of some machine. No two machines have windows of one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LapsedWindow {
    /// Of an interaction.
    Interaction(Window),
    /// Of a negotiation.
    Contract(ContractWindow),
    /// Of a session.
    Session(SessionWindow),
    /// Of an agreement.
    Agreement(AgreementWindow),
    /// Of a round.
    Round(RoundWindow),
}

impl From<Window> for LapsedWindow {
    fn from(window: Window) -> LapsedWindow {
        LapsedWindow::Interaction(window)
    }
}

impl From<ContractWindow> for LapsedWindow {
    fn from(window: ContractWindow) -> LapsedWindow {
        LapsedWindow::Contract(window)
    }
}

impl From<RoundWindow> for LapsedWindow {
    fn from(window: RoundWindow) -> LapsedWindow {
        LapsedWindow::Round(window)
    }
}

impl From<SessionWindow> for LapsedWindow {
    fn from(window: SessionWindow) -> LapsedWindow {
        LapsedWindow::Session(window)
    }
}

/// `lapsed`: a window passed, and what it was open for did not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lapsed {
    /// Which window passed.
    pub window: LapsedWindow,
    /// The code both parties are told.
    pub code: Code,
}
