//! Times that a receipt names against those at which its records were made.

use super::grounds::Grounds;
use super::steps::{Broken, Steps, broken};
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::event::Confirmed;
use x811_protocol::evm::ChainId;
use x811_protocol::observation::{BLOCK_AHEAD_MS, Block};
use x811_protocol::parameters::{Limits, Parameters};
use x811_protocol::time::TimestampMs;

/// How far the clocks of agents may be from the ledger's. Later parameters may allow more
/// than those in a receipt, up to the most that any ledger can be configured to allow.
fn tolerance_ms(parameters: &Parameters) -> u64 {
    let most = Limits::DEFAULT.clock_tolerance_ms;
    parameters.limits.clock_tolerance_ms.max(most)
}

/// Holds the times of messages and heads to their records.
///
/// # Errors
/// A message that was recorded long before or after its sender made it, or a head from later than its
/// record.
pub(super) fn of_messages(grounds: Grounds<'_>, steps: &mut Steps) -> Result<(), Broken> {
    let parameters = &grounds.parameters.1;
    let most = tolerance_ms(parameters);
    for (header, at) in grounds.messages.recorded() {
        of_message(header, at, most)?;
    }
    let (heads, at) = grounds.messages.accepted_at();
    for head in heads {
        let block = Block {
            number: head.number,
            hash: head.hash,
            timestamp_s: head.timestamp_s,
        };
        let network = parameters.network(&head.network);
        let chain = network.map(|network| network.chain_id);
        // A network that these parameters do not name is one of later parameters, and pays nothing here.
        if let Some(chain) = chain {
            not_from_later(block, chain, at, steps)?;
        }
    }
    Ok(())
}

pub(super) fn of_message(
    header: &AcceptedHeader,
    at: TimestampMs,
    most: u64,
) -> Result<(), Broken> {
    let name = header.message_type.as_str();
    if header.created_ms.as_ms().abs_diff(at.as_ms()) > most {
        let sentence = format!(
            "the {name} was made at {} and recorded at {}: a ledger takes no message so far from its \
             own time",
            header.created_ms.to_rfc3339(),
            at.to_rfc3339()
        );
        return Err(broken("messages", sentence));
    }
    if header.expires_ms.is_some_and(|expires| expires <= at) {
        let sentence = format!("the {name} was recorded after it had expired");
        return Err(broken("messages", sentence));
    }
    Ok(())
}

/// Holds the blocks of the evidence to the record of the confirmation.
///
/// # Errors
/// A block that nobody could have seen then.
pub(super) fn of_blocks(
    confirmed: &Confirmed,
    at: TimestampMs,
    steps: &mut Steps,
) -> Result<(), Broken> {
    let Some(chain) = confirmed.claims.first().map(|claim| claim.chain_id) else {
        return Ok(());
    };
    for evidence in &confirmed.evidence {
        not_from_later(evidence.block, chain, at, steps)?;
    }
    Ok(())
}

fn not_from_later(
    block: Block,
    chain: ChainId,
    at: TimestampMs,
    steps: &mut Steps,
) -> Result<(), Broken> {
    if block.time().since(at) <= BLOCK_AHEAD_MS {
        return Ok(());
    }
    let sentence = format!(
        "block {} of chain {chain} is of {}, and its record of {}",
        block.number,
        block.time().to_rfc3339(),
        at.to_rfc3339()
    );
    if !chain.is_own() {
        let sentence = format!("{sentence}: nobody could have seen it then");
        return Err(broken("transfers", sentence));
    }
    let sentence = format!("{sentence}: whoever runs a chain with this id sets its time");
    steps.not_checked("time", sentence);
    Ok(())
}
