//! `x811 capability verify`.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::{Map, Value};
use x811_protocol::payload::capability::{MAX_JWS_BYTES, SignedAgreement, signed_agreement};
use x811_protocol::refusal::Refusal;

use crate::bounded;
use crate::failure::Failure;
use crate::kinds::{self, Kind};
use crate::output::{Out, Report, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A JWS with two signatures, as `x811 capability jws` writes it
    file: PathBuf,
}

/// What two signatures prove.
#[derive(Serialize)]
struct Consent {
    agreement: Map<String, Value>,
    keys: Vec<String>,
    proven: &'static str,
    not_proven: &'static str,
}

/// Said of every such file.
const PROVEN: &str = "both keys signed exactly this agreement";
const NOT_PROVEN: &str = "that the keys are those of the two agents, that the agreement came into force, and whether \
     it still is: audit the agreement's bundle";

/// Checks it offline.
pub(super) fn run(args: &Args) -> Result<impl Report, Failure> {
    let text = bounded::read(&args.file, MAX_JWS_BYTES).map_err(|error| {
        Failure::local("file", format!("{}: {error}", args.file.display()))
            .hint("name a file that `x811 capability jws` wrote")
    })?;
    if let Some(what) = kinds::other_than(Kind::Agreement, &text) {
        let message = format!("{} is no agreement: {what}", args.file.display());
        return Err(Failure::local("file", message));
    }
    let SignedAgreement {
        agreement, keys, ..
    } = signed_agreement(&text).map_err(|refusal| not_taken(refusal).broken())?;
    Ok(Consent {
        agreement,
        keys: keys.iter().map(ToString::to_string).collect(),
        proven: PROVEN,
        not_proven: NOT_PROVEN,
    })
}

/// Why a JWS is none of an agreement.
pub(super) fn not_taken(refusal: Refusal) -> Failure {
    Failure::untrusted(refusal.message)
}

impl Report for Consent {
    fn print(&self, out: &mut Out) {
        out.heading(Tone::Good, "both signatures hold");
        let text = |name: &str| self.agreement.get(name).map(Value::to_string);
        let names = [
            "ledger",
            "agreement_id",
            "revision",
            "consumer",
            "provider",
            "type",
            "version",
            "parameters",
            "terms",
        ];
        let mut fields: Vec<(&str, String)> = Vec::new();
        for name in names {
            fields.extend(text(name).map(|value| (name, value.trim_matches('"').to_owned())));
        }
        fields.push(("signed by", self.keys.join(", ")));
        fields.push(("proven", self.proven.to_owned()));
        fields.push(("not proven", self.not_proven.to_owned()));
        out.fields(&fields);
    }
}
