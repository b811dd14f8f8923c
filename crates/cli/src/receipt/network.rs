//! `x811 receipt verify --rpc URL`: the transfers themselves, on their network.

use x811_audit::receipt::{Checked, ClaimVerdict, PaidTransfer};
use x811_protocol::evm::ChainId;
use x811_protocol::observation::{Block, Transfer};
use x811_protocol::settlement::Fit;
use x811_watcher::witness::ASKED_TOGETHER;
use x811_watcher::{Shown, Testimony};

use crate::failure::Failure;
use crate::witness;

/// The step about the transfers, and the one about what became of them.
const TRANSFER: &str = "transfer";
const REVERSAL: &str = "reversal";

/// Asks the endpoint at `url` for what was paid, and says so in the steps. A transfer that is not
/// there breaks the receipt.
pub(super) async fn ask(url: &str, checked: &mut Checked) -> Result<(), Failure> {
    // What does not hold needs no network.
    let Some(paid) = &checked.paid else {
        return Ok(());
    };
    let mut witness = witness::call(url).await?;
    let moved: Vec<Transfer> = paid.transfers.iter().map(moved).collect();
    let mut shown = Vec::new();
    for (transfer, moved) in paid.transfers.iter().zip(&moved) {
        match said(transfer, moved, witness.chain_id()) {
            Ok(said) => shown.push(said),
            Err(why) => {
                say(checked, TRANSFER, ClaimVerdict::NotChecked, why);
                return Ok(());
            }
        }
    }
    let mut testimonies = Vec::new();
    for together in shown.chunks(ASKED_TOGETHER) {
        let answered = witness.examine(together).await;
        testimonies.extend(answered.map_err(witness::silent)?);
    }
    if !testimonies.is_empty() {
        conclude(checked, testimonies, witness.chain_id(), witness.head());
    }
    Ok(())
}

fn moved(transfer: &PaidTransfer) -> Transfer {
    Transfer {
        authorization_nonce: None,
        ordinal: transfer.ordinal,
        from: transfer.from,
        to: transfer.to,
        amount: transfer.amount,
    }
}

/// What the receipt says of a transfer, or why an endpoint of `chain_id` cannot be asked.
fn said<'a>(
    transfer: &PaidTransfer,
    moved: &'a Transfer,
    chain_id: ChainId,
) -> Result<Shown<'a>, String> {
    if transfer.chain_id != chain_id {
        return Err(format!(
            "the endpoint serves chain {chain_id}, the transfer is on chain {}",
            transfer.chain_id
        ));
    }
    let token = transfer.token.ok_or(
        "the receipt does not say which token was paid with; the whole receipt does, ask for it",
    )?;
    Ok(Shown {
        token,
        tx_hash: transfer.tx_hash,
        has_reverted: Some(false),
        block: Some(transfer.block),
        transfers: std::slice::from_ref(moved),
        transfer_count: None,
        fit: fit(transfer),
        shows_all: false,
        parted: None,
        is_followed: true,
    })
}

/// What the transfer must be to pay, where the receipt has the messages that say it.
fn fit(transfer: &PaidTransfer) -> Option<Fit> {
    let (binding, nonce) = (transfer.payer_binding?, transfer.authorization_nonce?);
    Some(Fit {
        binding,
        fee_nonce: nonce,
        payee: transfer.to,
        payer: transfer.from,
        payment_nonce: nonce,
        treasury: None,
    })
}

fn conclude(checked: &mut Checked, testimonies: Vec<Testimony>, chain_id: ChainId, head: Block) {
    let (mut differing, mut unknown, mut has_moved) = (Vec::new(), Vec::new(), false);
    for testimony in testimonies {
        match testimony {
            Testimony::Same => {}
            Testimony::Differs(found) if found.iter().all(|it| it.member == "block") => {
                has_moved = true;
            }
            Testimony::Differs(found) => {
                differing.extend(found.into_iter().map(|it| it.sentence));
            }
            Testimony::Gone => differing.push("a transfer is not there".to_owned()),
            Testimony::Unknown(why) => unknown.push(why),
        }
    }
    let at = format!("chain {chain_id} at its block {}", head.number);
    if !differing.is_empty() {
        let sentence = format!("{at} says otherwise: {}", differing.join("; "));
        say(checked, TRANSFER, ClaimVerdict::Broken, sentence);
        checked.paid = None;
    } else if !unknown.is_empty() {
        say(
            checked,
            TRANSFER,
            ClaimVerdict::NotChecked,
            unknown.join("; "),
        );
    } else {
        let sentence = format!("{at} has the transfers, by the endpoint you chose");
        say(checked, TRANSFER, ClaimVerdict::Proven, sentence);
        let sentence = if has_moved {
            format!("a reorganisation moved them to another block, where they stand: {at}")
        } else {
            format!("nothing took them back: {at} has them where the receipt says")
        };
        say(checked, REVERSAL, ClaimVerdict::Proven, sentence);
    }
}

/// Says it in the step `about`.
fn say(checked: &mut Checked, about: &str, verdict: ClaimVerdict, sentence: String) {
    let mut steps = checked.steps.iter_mut();
    if let Some(step) = steps.find(|step| step.about == about) {
        step.verdict = verdict;
        step.sentence = sentence;
    }
}
