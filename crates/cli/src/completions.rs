//! `x811 completions`: a script that makes a shell complete commands, options and their values.

use clap::CommandFactory as _;
use clap_complete::Shell;
use serde::Serialize;

use crate::command::Cli;
use crate::exit::Exit;
use crate::output::{Out, Report};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Debug, Serialize)]
struct Script {
    shell: String,
    script: String,
}

impl Report for Script {
    fn print(&self, out: &mut Out) {
        out.verbatim(&self.script);
    }
}

/// Prints the script.
pub(crate) fn run(args: &Args, out: &mut Out) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "x811", &mut script);
    out.report(&Script {
        shell: args.shell.to_string(),
        script: String::from_utf8_lossy(&script).into_owned(),
    });
    Exit::Ok
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum as _;

    #[test]
    fn every_shell_completes_every_verb() {
        for shell in Shell::value_variants() {
            let (mut out, printed, _) = Out::captured(false);
            let args = Args { shell: *shell };
            assert_eq!(run(&args, &mut out), Exit::Ok);
            let script = printed.text();
            for verb in Cli::command().get_subcommands() {
                assert!(
                    script.contains(verb.get_name()),
                    "{shell}: {}",
                    verb.get_name()
                );
            }
        }
    }
}
