//! `--checkpoint-dir` of an audit, and whether it was named for this very audit.

use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, FromArgMatches, value_parser};

use crate::failure::Failure;

const NAME: &str = "checkpoint-dir";

/// Where the ledger of a data directory keeps its last signed checkpoint.
#[derive(Debug, Default)]
pub(super) struct CheckpointDir {
    directory: Option<PathBuf>,
    /// Not by the environment, which is the same for every command.
    is_named: bool,
}

impl CheckpointDir {
    pub(super) fn get(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Refuses it for a file.
    pub(super) fn check_unnamed(&self) -> Result<(), Failure> {
        if !self.is_named {
            return Ok(());
        }
        let message = "--checkpoint-dir goes with a data directory; an export brings its own \
                       checkpoint, which is the one that is audited";
        Err(Failure::usage(message).hint(
            "leave --checkpoint-dir out; where the export has no checkpoint, or an old one, export \
             the log again with --checkpoint-dir",
        ))
    }
}

impl clap::Args for CheckpointDir {
    fn augment_args(command: Command) -> Command {
        let help = "Where the ledger of a data directory keeps its last signed checkpoint (the \
                    data directory's path and -checkpoint)";
        command.arg(
            Arg::new(NAME)
                .long(NAME)
                .env("X811_CHECKPOINT_DIR")
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .help(help),
        )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for CheckpointDir {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(CheckpointDir {
            directory: matches.get_one(NAME).cloned(),
            is_named: matches.value_source(NAME) == Some(ValueSource::CommandLine),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
