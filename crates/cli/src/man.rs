//! `x811 man`: a manual page for every command, as roff.

use std::path::PathBuf;

use clap::CommandFactory as _;
use serde::Serialize;

use crate::command::Cli;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Directory for the pages, made when it does not exist
    directory: PathBuf,
}

#[derive(Debug, Serialize)]
struct Written {
    directory: PathBuf,
    pages: Vec<String>,
}

impl Report for Written {
    fn print(&self, out: &mut Out) {
        let directory = self.directory.display();
        let count = self.pages.len();
        out.heading(Tone::Good, format!("{count} manual pages in {directory}"));
        out.line(format!("Read one: man {directory}/x811.1"));
    }
}

/// Writes the pages.
pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Exit, Failure> {
    let unwritten = |error: std::io::Error| {
        let directory = args.directory.display();
        Failure::local(
            "unwritten",
            format!("the pages cannot be written to {directory}: {error}"),
        )
        .hint("give a directory you may write to")
    };
    std::fs::create_dir_all(&args.directory).map_err(unwritten)?;
    clap_mangen::generate_to(Cli::command(), &args.directory).map_err(unwritten)?;
    let mut pages = Vec::new();
    for entry in std::fs::read_dir(&args.directory).map_err(unwritten)? {
        let name = entry.map_err(unwritten)?.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("x811") && name.ends_with(".1") {
            pages.push(name.into_owned());
        }
    }
    pages.sort();
    out.report(&Written {
        directory: args.directory.clone(),
        pages,
    });
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_has_its_page() {
        let directory = tempfile::tempdir().unwrap();
        let (mut out, _, _) = Out::captured(false);
        let args = Args {
            directory: directory.path().join("man"),
        };
        assert_eq!(run(&args, &mut out), Ok(Exit::Ok));
        for verb in Cli::command().get_subcommands() {
            let page = args.directory.join(format!("x811-{}.1", verb.get_name()));
            let text = std::fs::read_to_string(&page).unwrap();
            assert!(text.contains(".SH NAME"), "{}", page.display());
        }
    }
}
