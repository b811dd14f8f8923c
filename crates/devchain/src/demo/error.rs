//! Why the demo did not come to its end.

use crate::anvil::AnvilError;
use x811_client::compose::ComposeError;
use x811_client::home::HomeError;
use x811_client::http::ClientError;
use x811_client::pay::PayError;
use x811_console::exit::Exit;
use x811_console::failure::Failure;
use x811_protocol::interaction::StateName;
use x811_server::RunError;

/// Why the demo did not come to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DemoError {
    /// Anvil did not do what it was asked.
    #[error(transparent)]
    Anvil(#[from] AnvilError),
    /// The ledger refused or could not be reached.
    #[error(transparent)]
    Ledger(#[from] ClientError),
    /// The agents' keys could not be written.
    #[error(transparent)]
    Keys(#[from] HomeError),
    /// The ledger ended by itself.
    #[error(transparent)]
    Ended(RunError),
    /// A message could not be made.
    #[error(transparent)]
    Compose(#[from] ComposeError),
    /// The transfer failed.
    #[error(transparent)]
    Pay(#[from] PayError),
    /// Something the demo makes for itself.
    #[error("the demo could not prepare {0}")]
    Setup(&'static str),
    /// A message that must come did not.
    #[error("{who} waited in vain for {what}")]
    Silence {
        who: &'static str,
        what: &'static str,
    },
    /// A message was not what its signature says.
    #[error("the message at position {position} does not prove what it says")]
    Forged { position: u64 },
    /// An interaction ended otherwise than it must.
    #[error("the interaction should have ended {expected} but ended {actual}")]
    WrongEnd {
        /// What must be.
        expected: StateName,
        actual: StateName,
    },
    /// The audit found something.
    #[error("the audit of the demo's own log failed: {0}")]
    Audit(String),
    /// The directory could not be removed.
    #[error("the data directory could not be removed: {0}")]
    Directory(#[source] std::io::Error),
}

impl From<DemoError> for Failure {
    fn from(error: DemoError) -> Failure {
        let anvil = matches!(
            error,
            DemoError::Anvil(AnvilError::Spawn { .. } | AnvilError::Silent { .. })
        );
        let next = if anvil {
            "run scripts/demo.sh, which installs the anvil it needs"
        } else {
            "run it again; if it stays, report it with everything above"
        };
        Failure::new(Exit::Local, "demo", error.to_string()).hint(next)
    }
}
