//! Verbs that name a round and nothing else.

use x811_protocol::id::RoundId;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which round: the envelope id of its proposal
    #[arg(value_name = "ROUND")]
    pub(crate) round: RoundId,
}
