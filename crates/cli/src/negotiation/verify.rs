//! `x811 negotiation verify FILE`: chains of XAP, another protocol. No rule of this ledger is applied,
//! and nothing is sent or stored.

use std::path::{Path, PathBuf};

use serde::Serialize;
use x811_client::negotiation::{
    Authorship, Chain, ChainError, Keys, MAX_CHAIN_BYTES, Outcome, Profile, Step, verify,
};

use crate::audit::contract::begins_a_contract;
use crate::bounded;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

/// Bytes of the largest file of keys.
const MAX_KEYS_BYTES: usize = 1 << 20;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The chain: a JSON array of XAP messages, or one message behind the other; `-` for standard input
    file: PathBuf,
    /// Whose key is whose: a JSON object of agents and Ed25519 public keys in base64. Without it no
    /// signature is checked
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
}

/// Verifies; [`Exit::Findings`] when a step does not hold, [`Exit::Unverified`] when every step holds but
/// not every author is proven.
pub(super) fn run(args: Args, out: &mut Out) -> Result<Exit, Failure> {
    let keys = match &args.keys {
        Some(file) => {
            let read = Keys::read(&read(file, MAX_KEYS_BYTES)?);
            read.map_err(|error| no_keys(file, &error.to_string()))?
        }
        None => Keys::default(),
    };
    let bytes = read(&args.file, MAX_CHAIN_BYTES)?;
    if begins_a_contract(&bytes) {
        let message = format!(
            "{} is a rendered contract, not an XAP chain",
            args.file.display()
        );
        return Err(Failure::local("no_chain", message).hint("x811 audit FILE checks it"));
    }
    let verdict = match verify(&bytes, &keys) {
        Ok(chain) => BundleVerdict::Holds(chain),
        Err(error @ ChainError::Step { index, profile, .. }) => BundleVerdict::Broken {
            profile,
            step: index,
            why: error.to_string(),
        },
        Err(error) => return Err(no_chain(&args.file, &error)),
    };
    let exit = match &verdict {
        BundleVerdict::Broken { .. } => Exit::Findings,
        BundleVerdict::Holds(chain) if chain.is_proven() => Exit::Ok,
        BundleVerdict::Holds(_) => Exit::Unverified,
    };
    out.report(&Verified {
        file: args.file,
        has_keys: args.keys.is_some(),
        verdict,
    });
    Ok(exit)
}

/// A file's bytes; of one that is larger, one byte more than `max_bytes`.
fn read(file: &Path, max_bytes: usize) -> Result<Vec<u8>, Failure> {
    bounded::read(file, max_bytes).map_err(|error| {
        let message = format!("{} cannot be read: {error}", file.display());
        Failure::local("file", message)
    })
}

fn no_keys(file: &Path, why: &str) -> Failure {
    let message = format!("{} has no keys: {why}", file.display());
    Failure::local("keys", message).hint("write {\"agent_0a1b2c3d\": \"KEY\", …}, KEY in base64")
}

fn no_chain(file: &Path, error: &ChainError) -> Failure {
    let message = format!("{} is no XAP chain: {error}", file.display());
    Failure::local("no_chain", message).hint(
        "write the messages as one JSON array, from the OFFER on; contracts of an x811 ledger are for \
         `x811 audit`",
    )
}

#[derive(Serialize)]
struct Verified {
    file: PathBuf,
    #[serde(skip)]
    has_keys: bool,
    #[serde(flatten)]
    verdict: BundleVerdict,
}

#[derive(Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
enum BundleVerdict {
    Holds(Chain),
    Broken {
        #[serde(skip_serializing_if = "Option::is_none")]
        profile: Option<Profile>,
        /// The first step that does not hold, from 0.
        step: usize,
        why: String,
    },
}

impl Report for Verified {
    fn print(&self, out: &mut Out) {
        match &self.verdict {
            BundleVerdict::Holds(chain) => self.print_chain(chain, out),
            BundleVerdict::Broken { profile, step, why } => {
                let of = profile.map(|profile| format!(" of profile {profile}"));
                let of = of.unwrap_or_default();
                out.heading(Tone::Bad, format_args!("THE CHAIN{of} DOES NOT HOLD"));
                out.line(why);
                match step {
                    0 => {}
                    1 => out.line("step 0 holds"),
                    step => out.line(format_args!("steps 0 to {} hold", step - 1)),
                }
            }
        }
    }
}

impl Verified {
    fn print_chain(&self, chain: &Chain, out: &mut Out) {
        let outcome = match chain.outcome {
            Outcome::Open => "not answered",
            Outcome::Accepted => "accepted",
            Outcome::Rejected => "rejected",
            Outcome::Withdrawn => "withdrawn by its author",
        };
        match chain.is_proven() {
            true => out.heading(Tone::Good, format_args!("the chain holds: {outcome}")),
            false => out.heading(
                Tone::Waiting,
                format_args!("NOT VERIFIED: the links hold, not every author is proven: {outcome}"),
            ),
        }
        let mut fields = vec![
            ("profile", chain.profile.to_string()),
            ("negotiation", chain.negotiation_id.clone()),
            (
                "offer",
                format!("by {} to {}", chain.initiator, chain.responder),
            ),
        ];
        if let Some(parent) = &chain.parent_negotiation_id {
            fields.push(("continues", format!("{parent}, by its own word")));
        }
        out.fields(&fields);
        out.gap();
        let header = [
            "step",
            "does",
            "by",
            "round",
            "amount",
            "made at",
            "signature",
        ];
        let rows: Vec<_> = chain.steps.iter().map(row).collect();
        out.table(&header, &rows);
        out.gap();
        self.print_remarks(chain, out);
    }

    fn print_remarks(&self, chain: &Chain, out: &mut Out) {
        let has = |authorship| chain.steps.iter().any(|step| step.authorship == authorship);
        if !self.has_keys {
            out.line("No signature was checked: name the agents' keys with --keys FILE.");
        } else if has(Authorship::NoKey) {
            out.line("Steps without a key were not checked: the file of keys lacks their agent.");
        }
        if has(Authorship::Unsigned) {
            out.line("The reference never signs its OFFER: nothing in it proves who made it.");
        }
        if chain.steps.iter().any(|step| step.is_dated_back) {
            out.line("A step is dated before the one it answers: clocks differ, or it came late.");
        }
        out.line("Times are the agents' own word, and steps may be missing at the end.");
    }
}

fn row(step: &Step) -> Vec<String> {
    let amount = match &step.usdc {
        Some(usdc) => format!("{usdc} USDC"),
        None => format!(
            "{} minor units of {}",
            step.amount_minor_units, step.currency
        ),
    };
    let signature = match step.authorship {
        Authorship::Proven => "proven",
        Authorship::NoKey => "not checked",
        Authorship::Unsigned => "none",
    };
    vec![
        step.index.to_string(),
        step.state.name().to_owned(),
        step.from.to_string(),
        step.round.to_string(),
        amount,
        step.created_at_ms.to_rfc3339(),
        signature.to_owned(),
    ]
}

#[cfg(test)]
mod tests;
