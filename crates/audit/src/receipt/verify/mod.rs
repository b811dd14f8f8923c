//! What a receipt proves to somebody who has nothing but the file, and a key that he trusts.

mod agent_keys;
mod compact;
mod derived;
mod grounds;
mod keys;
mod messages;
mod paid;
mod places;
mod settled;
mod steps;
mod times;
mod transfers;
mod trusted;

pub use compact::{verify_compact, verify_compact_trusting};
pub use paid::{PaidPayment, PaidTransfer, Terms};
pub use steps::{AsOf, Checked, ClaimVerdict, Step};
pub use trusted::Trusted;

use crate::KnownAgentKeys;
use crate::receipt::form::{Receipt, ask};
use grounds::Grounds;
use messages::Messages;
use places::numbered;
use steps::{Broken, Steps, broken, event};
use transfers::{own_nonces, paid_transfers};
use x811_eventlog::{Checkpoint, Policy, Record, TlogProof};
use x811_protocol::event::{Confirmed, Event, LedgerEvent, SettlementEvent};
use x811_protocol::parameters::Parameters;
use x811_protocol::time::TimestampMs;

/// Verifies a receipt offline. Without `trust` it is only found to hold together: whose ledger it is
/// stays open, and what rests on that is asserted, for anybody can open a ledger.
#[must_use]
pub fn verify(receipt: &Receipt, trust: Option<&Policy>) -> Checked {
    let trusted = Trusted {
        policy: trust,
        ..Trusted::default()
    };
    verify_trusting(receipt, trusted)
}

/// The same with everything that the verifier has from other sources.
#[must_use]
pub fn verify_trusting(receipt: &Receipt, trusted: Trusted<'_>) -> Checked {
    let mut steps = Steps::under(trusted.policy);
    let paid = check(receipt, trusted, &mut steps);
    steps.checked(paid)
}

fn check(
    receipt: &Receipt,
    trusted: Trusted<'_>,
    steps: &mut Steps,
) -> Result<PaidPayment, Broken> {
    let opened = keys::opened(receipt)?;
    let Trusted {
        policy, refresh, ..
    } = trusted;
    let checkpoint = keys::checkpoint(receipt, policy, refresh, &opened, steps)?;
    let (record, confirmed) = confirmed(receipt)?;
    let parameters = under_one_root(receipt, &record, &checkpoint)?;
    keys::issuer(receipt, &opened, &checkpoint, steps)?;
    let recorded_at_ms = TimestampMs::new(record.recorded_at_ms());
    let sentence = format!(
        "the confirmation is record {} of the log, of {}",
        record.position(),
        recorded_at_ms.to_rfc3339()
    );
    steps.by_the_log("record", sentence);
    keys::standing(receipt, &opened, &checkpoint, &record, steps)?;
    let unknown = KnownAgentKeys::default();
    let known = trusted.agent_keys.unwrap_or(&unknown);
    let messages = Messages::read(receipt, &confirmed)?;
    agent_keys::keys(receipt, opened.did, &messages, known, steps)?;
    let sentence = "OFFER, ACCEPT, VERIFY and PAYMENT are signed by the keys named above, and the \
                    records that follow from them are those that the confirmation names";
    steps.proven("messages", sentence);
    let terms = messages.terms(receipt.interaction, steps)?;
    let grounds = Grounds {
        ledger: opened.did,
        interaction: receipt.interaction,
        messages: &messages,
        terms: &terms,
        parameters: &parameters,
    };
    let mut transfers = paid_transfers(grounds, &confirmed, steps)?;
    own_nonces(&mut transfers, grounds);
    if receipt.ask != ask(receipt.interaction) {
        let sentence = "the path to ask at is not that of this interaction";
        return Err(broken("reversal", sentence));
    }
    derived::opening(&opened, receipt)?;
    derived::check(grounds)?;
    places::of_confirmation(&record, &confirmed)?;
    places::check(receipt, &record, &confirmed, &checkpoint)?;
    numbered(&record, &confirmed)?;
    times::of_messages(grounds, steps)?;
    times::of_blocks(&confirmed, recorded_at_ms, steps)?;
    let paid = PaidPayment::new(receipt.interaction, &record, &confirmed, transfers)
        .by(opened.did)
        .under_checkpoint(checkpoint.size)
        .under(terms);
    steps.left(&paid, &receipt.ask);
    Ok(paid)
}

/// The record `confirmed` and its inclusion proof alone, as a C2SP tlog-proof.
///
/// # Errors
/// What does not hold in the receipt.
pub fn tlog_proof(receipt: &Receipt) -> Result<TlogProof, Step> {
    let checked = check(receipt, Trusted::default(), &mut Steps::under(None));
    let proof = checked.and_then(|_| proof_of_confirmed(receipt));
    proof.map_err(|Broken { about, sentence }| Step {
        about,
        verdict: ClaimVerdict::Broken,
        sentence,
    })
}

fn proof_of_confirmed(receipt: &Receipt) -> Result<TlogProof, Broken> {
    let about = "record";
    let opened = keys::opened(receipt)?;
    let checkpoint = keys::checkpoint(receipt, None, None, &opened, &mut Steps::under(None))?;
    let (record, _) = confirmed(receipt)?;
    let leaves = receipt.leaves(&record);
    let leaves = leaves.map_err(|error| broken(about, error))?;
    let proof = receipt.multiproof(checkpoint.size);
    let proof = proof.inclusion(&leaves, record.position());
    Ok(TlogProof {
        extra: Some(record.bytes().to_vec()),
        index: record.position(),
        path: proof.map_err(|error| broken(about, error))?.path,
        checkpoint: receipt.checkpoint.clone(),
    })
}

fn confirmed(receipt: &Receipt) -> Result<(Record, Confirmed), Broken> {
    let about = "record";
    let record = receipt.confirmed.record(receipt.stream());
    let record = record.map_err(|error| broken(about, error))?;
    let Event::Settlement(SettlementEvent::Confirmed(confirmed)) = event(&record, about)? else {
        return Err(broken(about, "the record is no confirmation"));
    };
    Ok((record, confirmed))
}

/// Whether its records are under the checkpoint; gives the parameters among them.
fn under_one_root(
    receipt: &Receipt,
    confirmed: &Record,
    checkpoint: &Checkpoint,
) -> Result<(u64, Parameters), Broken> {
    let about = "record";
    let leaves = receipt.leaves(confirmed);
    let leaves = leaves.map_err(|error| broken(about, error))?;
    let proof = receipt.multiproof(checkpoint.size);
    let included = proof.verify(&leaves, checkpoint.root);
    included.map_err(|error| broken(about, error))?;
    let about = "network";
    let parameters = Event::from_value(&receipt.parameters.event);
    let parameters = parameters.map_err(|error| broken(about, error))?;
    let Event::Ledger(LedgerEvent::ParametersSet(parameters)) = parameters else {
        let sentence = "the record in `parameters` is no parameters_set";
        return Err(broken(about, sentence));
    };
    Ok((receipt.parameters.place.position, parameters))
}
