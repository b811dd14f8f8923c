//! The variables of the environment, held to the same rule as keys of a file: one that nobody reads is
//! a slip of the finger, and a setting that is not in force.

use std::collections::BTreeSet;

use clap::{Command, CommandFactory as _};

use super::layers::nearest;
use crate::command::Cli;
use crate::failure::Failure;

const OURS: &str = "X811_";

/// What Kubernetes sets for a service called `x811`: nobody's slip.
const OF_KUBERNETES: [&str; 2] = ["X811_PORT", "X811_SERVICE_"];

/// What the packages for Node and Python read: where this binary is.
const OF_PACKAGES: &str = "X811_BINARY";

/// Refuses variables of ours that no command reads.
pub(super) fn check() -> Result<(), Failure> {
    let names = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
    refuse_unknown(names)
}

fn refuse_unknown(names: impl Iterator<Item = String>) -> Result<(), Failure> {
    let known = known();
    let is_known = |name: &String| {
        let name = name.as_str();
        let is_kubernetes = OF_KUBERNETES.iter().any(|begin| name.starts_with(begin));
        let is_read = known.contains(name) || name == OF_PACKAGES;
        !name.starts_with(OURS) || is_read || is_kubernetes
    };
    let mut names = names;
    let Some(unknown) = names.find(|name| !is_known(name)) else {
        return Ok(());
    };
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let meant = match nearest(&unknown, &known) {
        Some(near) => format!("; did you mean {near}?"),
        None => String::new(),
    };
    let message = format!("no setting is called {unknown}, which is in the environment{meant}");
    Err(Failure::local("config", message)
        .hint("unset it, or correct it: `x811 serve --help` names them all"))
}

/// The variables of all commands: who sets one for another command need not unset it here.
fn known() -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    collect(&Cli::command(), &mut known);
    known
}

fn collect(command: &Command, known: &mut BTreeSet<String>) {
    for argument in command.get_arguments() {
        let name = argument.get_env().map(|name| name.to_string_lossy());
        known.extend(name.map(|name| name.into_owned()));
    }
    for below in command.get_subcommands() {
        collect(below, known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(name: &str) -> Option<String> {
        let checked = refuse_unknown([name.to_owned()].into_iter());
        checked.err().map(|failure| failure.message)
    }

    #[test]
    fn limits_a_variable_that_nobody_reads_is_refused_with_the_nearest_name() {
        let message = refused("X811_LISTN").unwrap();
        assert!(message.contains("did you mean X811_LISTEN?"), "{message}");
        assert!(refused("X811_QQQQQ").is_some());
    }

    #[test]
    fn variables_of_ours_of_others_and_of_kubernetes_pass() {
        for name in [
            "X811_LISTEN",
            "X811_LOG_FORMAT",
            "X811_HOME",
            "RUST_LOG",
            "LISTN",
            "X811_BINARY",
            "X811_PORT",
            "X811_PORT_8811_TCP_ADDR",
            "X811_SERVICE_HOST",
        ] {
            assert_eq!(refused(name), None, "{name}");
        }
    }
}
