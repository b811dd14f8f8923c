//! The options of `x811 serve`, each of which may also stand in the environment.

use std::path::PathBuf;

use super::settings::Settings;
use super::value::LogFormat;

/// Options of `x811 serve`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// TOML file with settings; environment and options win over it. None is read unless named
    #[arg(long, env = "X811_CONFIG", value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Print what would be in force, without secrets, and end
    #[arg(long)]
    pub(super) check: bool,
    #[command(flatten)]
    pub(super) settings: Settings,
}

impl Args {
    /// Whether a program reads all that is said, as far as options and environment tell.
    pub(super) fn logs_json(&self) -> bool {
        self.settings.log.format == Some(LogFormat::Json) && !self.check
    }
}
