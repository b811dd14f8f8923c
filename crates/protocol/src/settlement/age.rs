//! Which blocks are older than a bill: what was paid before it was agreed on pays something else
//! (ledger-contract.md section 5, "Age"). Of an interaction that is when its ACCEPT was recorded.

use crate::event::Evidence;
use crate::observation::{Block, NetworkHead, RecordedBranch};
use crate::time::TimestampMs;

/// The ACCEPT's clock and a block's may differ by this much.
const ACCEPT_SLACK_MS: u64 = 2_000;

/// From when on a transfer can pay: after the ACCEPT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// Above this height, the head's that was recorded with the ACCEPT.
    Above(u64),
    /// In a block of that time or later; where no head was recorded.
    Time(TimestampMs),
}

impl Since {
    /// From when on can be paid on `network` what was accepted at `accepted_at`, recorded together
    /// with `heads`.
    pub fn of(network: &str, heads: &[NetworkHead], accepted_at: TimestampMs) -> Since {
        match heads.iter().find(|head| head.network == network) {
            Some(head) => Since::Above(head.number),
            None => Since::Time(accepted_at.saturating_sub_ms(ACCEPT_SLACK_MS)),
        }
    }

    /// Whether a transfer of that block can pay.
    pub fn admits(self, block: &Block) -> bool {
        match self {
            Since::Above(number) => block.number > number,
            Since::Time(at) => TimestampMs::new(block.timestamp_s.saturating_mul(1_000)) >= at,
        }
    }
}

/// How old a block is against an ACCEPT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Age {
    /// Not older: what is in it can pay.
    Young,
    /// Older: what is in it pays something else.
    Old,
    /// Not known yet: nothing is decided by it.
    Open,
}

impl Age {
    /// Of a block at or below the height of the head recorded at ACCEPT, where that stands so.
    pub fn below(block: &Block, recorded: Option<RecordedBranch>) -> Age {
        match recorded {
            None => Age::Open,
            Some(RecordedBranch::Same) => Age::Old,
            Some(RecordedBranch::Forked(fork)) if block.number <= fork.number => Age::Old,
            Some(RecordedBranch::Forked(_) | RecordedBranch::Lost) => Age::Young,
        }
    }
}

/// Where the head recorded at ACCEPT stood, as evidence says.
pub fn branch_in(evidence: &Evidence) -> RecordedBranch {
    match (evidence.forked_at, evidence.fork_unknown) {
        (Some(fork), _) => RecordedBranch::Forked(fork),
        (None, true) => RecordedBranch::Lost,
        (None, false) => RecordedBranch::Same,
    }
}

/// Whether what the evidence shows is older than the ACCEPT that was recorded at `accepted_at` together
/// with `heads`.
pub fn is_shown_older(
    evidence: &Evidence,
    heads: &[NetworkHead],
    accepted_at: TimestampMs,
) -> bool {
    let block = &evidence.block;
    is_older(&evidence.network, block, heads, accepted_at)
        && Age::below(block, Some(branch_in(evidence))) == Age::Old
}

/// What is wrong with the fork that evidence names, if anything: it is of a block at or below a
/// recorded head, which is above the fork.
pub fn fork_fault(evidence: &Evidence, heads: &[NetworkHead]) -> Option<&'static str> {
    if evidence.forked_at.is_none() && !evidence.fork_unknown {
        return None;
    }
    let head = heads.iter().find(|head| head.network == evidence.network);
    let Some(head) = head.filter(|head| evidence.block.number <= head.number) else {
        return Some("no head was recorded at ACCEPT that the block is at or below");
    };
    match evidence.forked_at {
        Some(_) if evidence.fork_unknown => Some("the fork is named, and said not to be known"),
        Some(fork) if fork.number >= head.number => {
            Some("the fork is not below the head that was recorded at ACCEPT")
        }
        Some(_) | None => None,
    }
}

/// Whether `block` of `network` is older than the ACCEPT that was recorded at `accepted_at` together
/// with `heads`: at or below the height of the network's head there; without such a head, by the
/// clock.
pub fn is_older(
    network: &str,
    block: &Block,
    heads: &[NetworkHead],
    accepted_at: TimestampMs,
) -> bool {
    !Since::of(network, heads, accepted_at).admits(block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evm::BlockHash;

    fn block(number: u64, timestamp_s: u64) -> Block {
        Block {
            hash: BlockHash::from_bytes([1; 32]),
            number,
            timestamp_s,
        }
    }

    /// The height decides where there is one, whatever the clocks say; another network's does not.
    #[test]
    fn lc_5_a_block_is_older_by_the_head_at_accept_and_without_one_by_the_clock() {
        let accepted_at = TimestampMs::new(100_000);
        let heads = [NetworkHead::new("base", block(7, 90))];
        for (number, timestamp_s, by_head, by_clock) in [
            (6, 101, true, false),
            (7, 90, true, true),
            (8, 90, false, true),
            (8, 97, false, true),
            (8, 98, false, false),
        ] {
            let block = block(number, timestamp_s);
            let is_older = |network| is_older(network, &block, &heads, accepted_at);
            assert_eq!(is_older("base"), by_head, "{number} at {timestamp_s} s");
            assert_eq!(is_older("other"), by_clock, "{number} at {timestamp_s} s");
        }
    }
}
