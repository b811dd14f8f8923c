//! What a compact receipt proves.

use super::keys;
use super::paid::{PaidPayment, PaidTransfer};
use super::places;
use super::places::numbered;
use super::steps::{Broken, Checked, ClaimVerdict, Steps, broken, event};
use super::times;
use super::transfers::{claimed, elsewhere, sentence};
use super::trusted::Trusted;
use crate::checkpoint_note::verifies;
use crate::receipt::compact::CompactReceipt;
use crate::receipt::form::ask;
use crate::refresh::Refresh;
use x811_eventlog::{Checkpoint, Policy, Record};
use x811_protocol::did::Did;
use x811_protocol::event::{Confirmed, Event, SettlementEvent};
use x811_protocol::id::InteractionId;
use x811_protocol::key::PublicKey;
use x811_protocol::stream::Stream;
use x811_protocol::time::TimestampMs;

/// Verifies a compact receipt offline. Without `trust` it is only found to hold together. With it,
/// the record is proven to be in the log, and the keys statement names the receipt key that issued the
/// file. Whose the log is it never says.
#[must_use]
pub fn verify_compact(receipt: &CompactReceipt, trust: Option<&Policy>) -> Checked {
    let trusted = Trusted {
        policy: trust,
        ..Trusted::default()
    };
    verify_compact_trusting(receipt, trusted)
}

/// The same with everything that the verifier has from other sources. A compact receipt has no key of an agent to
/// compare.
#[must_use]
pub fn verify_compact_trusting(receipt: &CompactReceipt, trusted: Trusted<'_>) -> Checked {
    let mut steps = Steps::under(trusted.policy);
    let paid = check(receipt, trusted, &mut steps);
    steps.checked(paid)
}

fn check(
    receipt: &CompactReceipt,
    trusted: Trusted<'_>,
    steps: &mut Steps,
) -> Result<PaidPayment, Broken> {
    let (record, confirmed, interaction) = confirmed(receipt)?;
    let root = root(receipt, &record, trusted.policy, trusted.refresh, steps)?;
    let statement = &receipt.statement;
    statement
        .verify(&verifies)
        .map_err(|error| broken("issuer", error))?;
    let key = PublicKey::from_bytes(&statement.public_key);
    let key = key.map_err(|error| broken("issuer", error))?;
    let ledger = statement.issuer.parse::<Did>();
    let ledger = ledger.map_err(|error| broken("issuer", format!("{error}")))?;
    keys::compact_issuer(receipt, &root)?;
    let sentence_of_issuer = format!(
        "signed by {key}, the receipt key of the log {} by its keys statement; that this log is \
         {ledger}'s stands at position 0, which a compact receipt has not",
        root.origin
    );
    steps.by_the_log("issuer", sentence_of_issuer);
    let recorded_at_ms = TimestampMs::new(record.recorded_at_ms());
    let sentence_of_record = format!(
        "the confirmation is record {} of the log, of {}",
        record.position(),
        recorded_at_ms.to_rfc3339()
    );
    steps.by_the_log("record", sentence_of_record);
    let without = "price, payee and consent, and how deep and by how many endpoints a transfer had to \
                   be shown: a compact receipt has no messages and no parameters";
    steps.not_checked("messages", without);
    if trusted.agent_keys.is_some() {
        let sentence = "the agents' keys: a compact receipt has none of them";
        steps.not_checked("keys", sentence);
    }
    let transfers = claimed(&confirmed)?;
    surplus(&confirmed, &transfers)?;
    numbered(&record, &confirmed)?;
    places::of_confirmation(&record, &confirmed)?;
    times::of_blocks(&confirmed, recorded_at_ms, steps)?;
    steps.asserted("transfers", sentence(&transfers));
    elsewhere(&transfers, steps);
    let paid = PaidPayment::new(interaction, &record, &confirmed, transfers);
    steps.left(&paid, &ask(interaction));
    Ok(paid)
}

/// A surplus is part of what the transfers moved.
fn surplus(confirmed: &Confirmed, transfers: &[PaidTransfer]) -> Result<(), Broken> {
    let amounts = transfers
        .iter()
        .map(|it| u128::from(it.amount.as_micro_usdc()));
    let paid: u128 = amounts.sum();
    let surplus = confirmed.surplus.map(|it| u128::from(it.as_micro_usdc()));
    match surplus {
        Some(surplus) if surplus == 0 || surplus > paid => {
            let sentence = "the surplus is not part of what the claimed transfers moved";
            Err(broken("transfers", sentence))
        }
        Some(_) | None => Ok(()),
    }
}

fn confirmed(receipt: &CompactReceipt) -> Result<(Record, Confirmed, InteractionId), Broken> {
    let about = "record";
    let statement = &receipt.statement;
    let record = Record::parse(statement.leaf.clone());
    let record = record.map_err(|error| broken(about, error))?;
    let Event::Settlement(SettlementEvent::Confirmed(confirmed)) = event(&record, about)? else {
        return Err(broken(about, "the record is no confirmation"));
    };
    let interaction = statement.subject.parse::<InteractionId>();
    let interaction = interaction.map_err(|error| broken(about, format!("{error}")))?;
    if record.stream() != Stream::interaction(interaction).to_string() {
        return Err(broken(about, "the confirmation is of another interaction"));
    }
    Ok((record, confirmed, interaction))
}

/// Whether the log signed the root that the record leads to.
fn root(
    receipt: &CompactReceipt,
    record: &Record,
    trust: Option<&Policy>,
    refresh: Option<&Refresh>,
    steps: &mut Steps,
) -> Result<Checkpoint, Broken> {
    let about = "checkpoint";
    let log = &receipt.statement.receipt;
    if log.proof.position != record.position() {
        return Err(broken("record", "the proof is of another position"));
    }
    let root = log.verify(record.hash(), &verifies);
    let root = root.map_err(|error| broken(about, error))?;
    let checkpoint = Checkpoint {
        origin: log.origin.clone(),
        size: log.proof.size,
        root,
    };
    let Some(trust) = trust else {
        let sentence = format!(
            "the log {} signed the root {root} that the record leads to; whether that is the log \
             you mean is yours to say: give its key with --key",
            log.origin
        );
        steps.add(about, ClaimVerdict::NotChecked, sentence);
        return Ok(checkpoint);
    };
    let is_log = |key: &x811_eventlog::note::NoteKey| {
        key.name() == log.origin && *key.public_key() == log.public_key
    };
    if !trust.logs().iter().any(is_log) {
        keys::compact_replaced(receipt, &checkpoint, trust, refresh, steps)?;
        return Ok(checkpoint);
    }
    if trust.asks_for_witnesses() {
        let sentence = "the policy asks for witnesses, whose signatures a compact receipt cannot \
                        have: take the receipt in JSON";
        return Err(broken(about, sentence));
    }
    let sentence = format!("the key you trust signed the root {root} that the record leads to");
    steps.proven(about, sentence);
    Ok(checkpoint)
}
