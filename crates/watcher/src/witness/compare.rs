//! Evidence against a receipt, member by member. Pure.

use x811_protocol::event::PayerBinding;
use x811_protocol::observation::{Block, Transfer};
use x811_protocol::settlement::Fit;

use super::Shown;
use crate::source::Receipt;

/// A member of the evidence that the chain says otherwise of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Which: `transfers[0].amount`; `tx_hash` where there is no such transaction, `block` where it
    /// is in another one.
    pub member: String,
    /// What is there, and what was recorded.
    pub sentence: String,
}

impl Difference {
    pub(super) fn of(member: impl Into<String>, sentence: impl Into<String>) -> Difference {
        Difference {
            member: member.into(),
            sentence: sentence.into(),
        }
    }
}

/// Where the evidence differs from the `receipt`, whose block the chain holds as `mined_in`. Nothing
/// is said of depth and level, which were true of another moment.
pub fn differences(
    shown: &Shown<'_>,
    receipt: &Receipt,
    mined_in: Option<Block>,
) -> Vec<Difference> {
    if receipt.tx_hash != shown.tx_hash {
        let sentence = format!("the chain answers for {}", receipt.tx_hash);
        return vec![Difference::of("tx_hash", sentence)];
    }
    if shown.has_reverted == Some(receipt.succeeded) {
        let sentence = match receipt.succeeded {
            true => "the transaction succeeded on the chain, the record says that it failed",
            false => "the transaction failed on the chain and moved nothing",
        };
        return vec![Difference::of("tx_hash", sentence)];
    }
    let mut found = Vec::new();
    if let (Some(recorded), Some(there)) = (shown.block, mined_in)
        && recorded != there
    {
        let sentence = format!(
            "it is in block {}, the record says {}",
            named(there),
            named(recorded)
        );
        found.push(Difference::of("block", sentence));
    }
    let count = receipt.transfers.len() as u64;
    if let Some(recorded) = shown.transfer_count.filter(|recorded| *recorded != count) {
        let sentence = format!(
            "the transaction has {count} transfers of the token, the record says {recorded}"
        );
        found.push(Difference::of("transfer_count", sentence));
    }
    for (index, recorded) in shown.transfers.iter().enumerate() {
        let mut there = receipt.transfers.iter();
        let there = there.find(|there| there.ordinal == recorded.ordinal);
        found.extend(transfer(index, recorded, there));
        found.extend(authorization(shown, index, recorded, receipt));
        found.extend(named_nonce(index, recorded, receipt));
    }
    found.extend(left_out(shown, receipt));
    found
}

fn transfer(index: usize, recorded: &Transfer, there: Option<&Transfer>) -> Vec<Difference> {
    let field = format!("transfers[{index}]");
    let Some(there) = there else {
        let ordinal = recorded.ordinal;
        let sentence =
            format!("the transaction has no transfer of the token with ordinal {ordinal}");
        return vec![Difference::of(field, sentence)];
    };
    let members = [
        ("from", there.from.to_string(), recorded.from.to_string()),
        ("to", there.to.to_string(), recorded.to.to_string()),
        (
            "amount",
            format!("{} USDC", there.amount.to_usdc_decimal()),
            format!("{} USDC", recorded.amount.to_usdc_decimal()),
        ),
    ];
    let differing = members.into_iter().filter(|(_, there, said)| there != said);
    differing
        .map(|(member, there, said)| {
            let sentence = format!("the chain says {there}, the record says {said}");
            Difference::of(format!("{field}.{member}"), sentence)
        })
        .collect()
}

/// The payer is proven by the authorization alone: then each transfer shown carries it.
fn authorization(
    shown: &Shown<'_>,
    index: usize,
    recorded: &Transfer,
    receipt: &Receipt,
) -> Option<Difference> {
    let fit = shown
        .fit
        .filter(|fit| fit.binding == PayerBinding::Authorization)?;
    let nonce = receipt.authorizations.get(&recorded.ordinal);
    if nonce.is_some_and(|nonce| fit.is_own(recorded, nonce)) {
        return None;
    }
    let under = match nonce {
        Some(nonce) => format!("the transfer was made under the nonce {nonce}"),
        None => "the transfer was made under no authorization".to_owned(),
    };
    let sentence = format!("{under}, and nothing but this payment's nonce proves the payer");
    let field = format!("transfers[{index}].authorization_nonce");
    Some(Difference::of(field, sentence))
}

/// The nonce that the record names for the transfer.
fn named_nonce(index: usize, recorded: &Transfer, receipt: &Receipt) -> Option<Difference> {
    let nonce = recorded.authorization_nonce?;
    if receipt.authorizations.get(&recorded.ordinal) == Some(&nonce) {
        return None;
    }
    let sentence = format!("the transfer was not made under the nonce {nonce}");
    let field = format!("transfers[{index}].authorization_nonce");
    Some(Difference::of(field, sentence))
}

/// Transfers that can pay, where the record shows all of those, and not among them.
fn left_out(shown: &Shown<'_>, receipt: &Receipt) -> Option<Difference> {
    let fit = shown.fit.filter(|_| shown.shows_all)?;
    let mut paying = paying(&fit, receipt);
    let is_shown = |ordinal| shown.transfers.iter().any(|it| it.ordinal == ordinal);
    let hidden = paying.find(|there| !is_shown(there.ordinal))?;
    let sentence = format!(
        "the transaction also moved {}, which the record leaves out",
        moved(hidden)
    );
    Some(Difference::of("transfers", sentence))
}

/// The transfers of a transaction that can pay.
pub(super) fn paying<'r>(fit: &'r Fit, receipt: &'r Receipt) -> impl Iterator<Item = &'r Transfer> {
    let transfers = receipt.transfers.iter();
    transfers.filter(|it| fit.takes(it, receipt.authorizations.get(&it.ordinal)))
}

/// Whether a transfer shown carries an authorization for something else.
pub(super) fn is_foreign(shown: &Shown<'_>, receipt: &Receipt) -> bool {
    let Some(fit) = shown.fit else {
        return false;
    };
    let mut transfers = shown.transfers.iter();
    transfers.any(|transfer| {
        let nonce = receipt.authorizations.get(&transfer.ordinal);
        nonce.is_some_and(|nonce| !fit.is_own(transfer, nonce))
    })
}

/// A transfer for people.
pub(super) fn moved(transfer: &Transfer) -> String {
    format!(
        "{} USDC from {} to {} (transfer {})",
        transfer.amount.to_usdc_decimal(),
        transfer.from.to_checksum(),
        transfer.to.to_checksum(),
        transfer.ordinal
    )
}

/// A block for people.
fn named(block: Block) -> String {
    let Block {
        number,
        hash,
        timestamp_s,
    } = block;
    format!("{number} ({hash}, {timestamp_s})")
}
