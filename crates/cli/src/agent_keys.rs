//! Keys of agents that somebody knows from another source than the ledger.

use std::path::{Path, PathBuf};

use x811_audit::KnownAgentKeys;
use x811_client::identity::AgentName;
use x811_protocol::key::KeyId;

use crate::bounded;
use crate::context::Context;
use crate::failure::Failure;

/// The largest file of keys, in bytes: some 10,000 keys.
const MAX_BYTES: usize = 1 << 20;

/// The largest number of faults that one error names.
const MAX_NAMED: usize = 16;

#[derive(Debug, Default, clap::Args)]
pub(crate) struct AgentKeyArgs {
    /// A key that you know to be an agent's, from another source than the ledger: DID=KEY, or the name of an agent of
    /// your own. Name every key that the agent has had
    #[arg(long = "agent-key", value_name = "DID=KEY")]
    agent_keys: Vec<String>,
    /// A file of such keys: one DID=KEY a line; lines that begin with # are comments
    #[arg(long = "agent-keys", value_name = "FILE")]
    agent_keys_file: Option<PathBuf>,
}

impl AgentKeyArgs {
    /// The keys that were named; `None` where none was.
    pub(crate) fn read(&self, context: &Context) -> Result<Option<KnownAgentKeys>, Failure> {
        if self.agent_keys.is_empty() && self.agent_keys_file.is_none() {
            return Ok(None);
        }
        let (mut keys, mut faults) = (Vec::new(), Vec::new());
        for named in &self.agent_keys {
            match named.parse::<AgentName>() {
                Ok(own) => keys.extend(context.home.agent(&own)?.own_keys()),
                Err(_) => match key(named) {
                    Ok(key) => keys.push(key),
                    Err(fault) => faults.push(fault),
                },
            }
        }
        if let Some(file) = &self.agent_keys_file {
            let (known, wrong) = lines(&text(file)?);
            keys.extend(known);
            faults.extend(wrong);
        }
        if faults.is_empty() {
            return Ok(Some(keys.into_iter().collect()));
        }
        let more = faults.len().saturating_sub(MAX_NAMED);
        faults.truncate(MAX_NAMED);
        if more > 0 {
            faults.push(format!("and {more} more"));
        }
        Err(Failure::usage(&faults.join("; "))
            .hint("write DID=KEY, as `x811 agent show NAME` prints both"))
    }
}

fn text(file: &Path) -> Result<String, Failure> {
    bounded::text(file, MAX_BYTES).map_err(|error| {
        let message = format!("{} cannot be read: {error}", file.display());
        Failure::local("agent_keys", message)
    })
}

/// The keys of a file, and a sentence for each line that has none.
fn lines(text: &str) -> (Vec<KeyId>, Vec<String>) {
    let (mut keys, mut faults) = (Vec::new(), Vec::new());
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match key(line) {
            Ok(key) => keys.push(key),
            Err(fault) => faults.push(format!("line {}: {fault}", index + 1)),
        }
    }
    (keys, faults)
}

/// Reads DID=KEY.
fn key(text: &str) -> Result<KeyId, String> {
    let (did, key) = text
        .split_once('=')
        .ok_or_else(|| format!("{text} is not DID=KEY"))?;
    let did = did.trim().parse();
    let did = did.map_err(|error| format!("{text}: {error}"))?;
    let key = key.trim().parse();
    let key = key.map_err(|error| format!("{text}: {error}"))?;
    Ok(KeyId { did, key })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DID: &str = "did:x811:019c8c61-8129-7511-9f31-aa5142e65448";
    const KEY: &str = "z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp";

    #[test]
    fn lc_9_a_file_of_agent_keys_names_every_line_that_is_wrong() {
        let file = format!("# ours\n\n{DID}={KEY}\n{DID} {KEY}\n{DID}=z6Mk\nnobody={KEY}\n");
        let (keys, faults) = lines(&file);
        assert_eq!(keys, [format!("{DID}#{KEY}").parse().unwrap()]);
        let begins: Vec<&str> = faults.iter().filter_map(|it| it.get(..7)).collect();
        assert_eq!(begins, ["line 4:", "line 5:", "line 6:"], "{faults:?}");
    }
}
