//! What an audit says of whose log it was.

use x811_audit::{Cosigned, Given, Trust, Verdict};
use x811_protocol::time::TimestampMs;

use super::summary::Check;

/// Its line in the table.
pub(super) const ABOUT: &str = "whose log";

/// For the table: every record, by how well it is known whose log it is in.
pub(super) fn check(trust: &Trust) -> Check {
    let is_broken = trust.verdict == Verdict::Broken;
    let not_proven = |is_it| if is_it { trust.records_asserted } else { 0 };
    Check {
        about: ABOUT,
        how: match (trust.given, trust.verdict) {
            (None, _) => {
                "Asserted: the ledger's key was taken from the file itself. Only a key or a policy \
                 from elsewhere (--key, --policy) proves whose log this is."
            }
            (Some(_), Verdict::Asserted) => {
                "Asserted: the last checkpoint is by another key of the log than yours, which the \
                 ledger may have replaced."
            }
            (Some(Given::Key), Verdict::Proven) => {
                "Every checkpoint is signed by your key. Asserted: records behind the last one."
            }
            (Some(Given::Policy), Verdict::Proven) => {
                "Every checkpoint is signed and cosigned as your policy wants. Asserted: records \
                 behind the last one."
            }
            (Some(Given::Key), Verdict::Broken) => "Your key does not hold this log for good.",
            (Some(Given::Policy), Verdict::Broken) => {
                "Your policy does not hold this log for good."
            }
        },
        proven: trust.records_proven,
        asserted: not_proven(!is_broken),
        broken: not_proven(is_broken),
        not_checked: 0,
    }
}

/// In a word, before the other reservations.
pub(super) fn word(trust: &Trust) -> &'static str {
    match (trust.verdict, trust.given) {
        (Verdict::Proven, Some(Given::Key)) => "proven, by your key",
        (Verdict::Proven, Some(Given::Policy)) => "proven, by your policy",
        (Verdict::Asserted, Some(_)) => "asserted, by another key of the log",
        (Verdict::Proven | Verdict::Asserted, None) => "asserted, by the file alone",
        (Verdict::Broken, _) => "BROKEN",
    }
}

/// What the figures do not say.
pub(super) fn note(trust: &Trust, records: u64) -> String {
    if let Some(rotated) = &trust.rotated {
        return format!("rotated, asserted: {rotated}");
    }
    match (trust.verdict, trust.given) {
        (Verdict::Asserted, Some(given)) => format!(
            "asserted: whose log this is, for no checkpoint is here, and your {given} says nothing of \
             these records without one"
        ),
        (_, None) => {
            "asserted: whose log this is, for the ledger's key was taken from the file itself: \
             compare it with the one you have from elsewhere, and give that with --key or --policy"
                .to_owned()
        }
        (Verdict::Broken, Some(given)) => format!("your {given} does not hold this log for good"),
        (Verdict::Proven, Some(given)) => {
            let mut note = format!(
                "proven by your {given}: whose log this is, for {} of {records} records",
                trust.records_proven
            );
            if trust.records_asserted > 0 {
                let behind = trust.records_asserted;
                note.push_str(&format!(
                    "; {behind} came after the last checkpoint, and whose they are is asserted"
                ));
            }
            let seen: Vec<String> = trust.cosigned.iter().map(seen).collect();
            if !seen.is_empty() {
                note.push_str(&format!("; seen by {}", seen.join(", ")));
            }
            note
        }
    }
}

fn seen(by: &Cosigned) -> String {
    let at = TimestampMs::new(by.timestamp_s.saturating_mul(1_000));
    format!("{} ({})", by.witness, at.to_rfc3339())
}

/// The ledger's key, and where it is from.
pub(super) fn key(trust: &Trust) -> Option<String> {
    let vkey = trust.checkpoint_vkey.as_ref()?;
    Some(match (trust.given, trust.verdict) {
        (Some(Given::Key), Verdict::Proven) => format!("{vkey} (as you gave it)"),
        (Some(Given::Policy), Verdict::Proven) => format!("{vkey} (as your policy has it)"),
        (_, _) => format!("{vkey} (taken from the file)"),
    })
}
