//! Why Anvil did not do what it was asked.

use std::path::PathBuf;

use x811_console::exit::Exit;
use x811_console::failure::Failure;

/// Why Anvil did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum AnvilError {
    /// It could not be run.
    #[error("{} could not be started: {source}", path.display())]
    Spawn {
        /// What was tried.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// It ended, or did not say where it listens.
    #[error("anvil did not start: {said}")]
    Silent {
        /// Its last words.
        said: String,
    },
    /// The address is none, or nobody answers there.
    #[error("no answer at {endpoint}: {cause}")]
    Unreachable {
        /// Host of the endpoint.
        endpoint: String,
        /// What the network said.
        cause: String,
    },
    /// Something else answers.
    #[error("{endpoint} is not Anvil but says it is `{version}`; nothing was done")]
    NotAnvil {
        /// Host of the endpoint.
        endpoint: String,
        /// What it says it is.
        version: String,
    },
    /// It said no.
    #[error("anvil refused {method}: {cause}")]
    Refused {
        /// The call.
        method: &'static str,
        /// Its reason.
        cause: String,
    },
    /// It answered in a form it never should.
    #[error("anvil's answer to {method} cannot be read")]
    Unreadable {
        /// The call.
        method: &'static str,
    },
    /// The token did nothing.
    #[error("the token refused to {what}")]
    TokenRefused {
        /// What it should have done.
        what: &'static str,
    },
    /// A file cannot be written or read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file that was named.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// What was asked for makes no sense on this chain.
    #[error("{0}")]
    Nonsense(String),
}

impl From<AnvilError> for Failure {
    fn from(error: AnvilError) -> Failure {
        let text = error.to_string();
        match error {
            AnvilError::Spawn { .. } | AnvilError::Silent { .. } => Failure::new(
                Exit::Local,
                "anvil",
                text,
            )
            .hint(
                "`npm ci` in the checkout installs the pinned Anvil; name another with --anvil, \
                     and a free port with --port",
            ),
            AnvilError::Unreachable { .. } => Failure::new(Exit::Unreachable, "anvil", text)
                .hint("start one with `x811 anvil start`, or name another with --rpc"),
            AnvilError::NotAnvil { .. } => Failure::new(Exit::Refused, "not_anvil", text)
                .hint("these commands change the chain: name an Anvil with --rpc, not a ledger and not Base"),
            AnvilError::Refused { .. }
            | AnvilError::Unreadable { .. }
            | AnvilError::TokenRefused { .. } => Failure::new(Exit::Refused, "anvil_refused", text)
                .hint("see what Anvil printed; with another token, name it with --token"),
            AnvilError::File { .. } => Failure::local("file", text).hint(
                "`reorg --save` wants a file that is not there yet, `resend` one that it wrote",
            ),
            // The chain does not allow it: the message says why.
            AnvilError::Nonsense(_) => Failure::usage(&text).hint(""),
        }
    }
}
