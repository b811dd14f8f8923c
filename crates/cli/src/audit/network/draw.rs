//! Draws among rounds, against the chain: the block is there, its height was fixed by the head of that
//! moment, and a draw that was let pass had no block in time (round.md, "When it is decided", rule 9).

use std::collections::{BTreeMap, BTreeSet};

use x811_audit::{Drawing, RecordedDraw};
use x811_protocol::evm::ChainId;
use x811_protocol::observation::Block;
use x811_protocol::time::TimestampMs;
use x811_watcher::{RpcSource, Witness};

use super::Findings;
use crate::failure::Failure;
use crate::witness;

/// How far the clocks of a ledger and of a chain may differ, and how long a report of a block may take.
const GRACE_MS: u64 = 120_000;

/// Asks for the blocks of every draw whose chain has an endpoint.
///
/// # Errors
/// An endpoint gave no answer.
pub(super) async fn ask(
    witnesses: &mut BTreeMap<ChainId, Witness<RpcSource>>,
    draws: &[RecordedDraw],
    findings: &mut Findings,
) -> Result<(), Failure> {
    for draw in draws {
        let Some(witness) = witnesses.get_mut(&draw.chain_id) else {
            findings.heard.open.insert(draw.place.position);
            continue;
        };
        let deepest = draw
            .height
            .saturating_add(draw.confirmed_depth.saturating_sub(1));
        let heights = BTreeSet::from([draw.counted_from, draw.height, deepest]);
        let blocks = witness.blocks(heights).await.map_err(witness::silent)?;
        take(draw, &blocks, findings);
    }
    Ok(())
}

fn take(draw: &RecordedDraw, blocks: &BTreeMap<u64, Block>, findings: &mut Findings) {
    let differences = differences(draw, blocks);
    let is_shown = blocks.contains_key(&draw.height) && blocks.contains_key(&draw.counted_from);
    let position = draw.place.position;
    if !differences.is_empty() {
        findings.heard.differ.insert(position);
    } else if is_shown {
        findings.heard.same.insert(position);
    } else {
        findings.heard.open.insert(position);
    }
    let list = differences.into_iter();
    let list = list.map(|(member, sentence)| draw.place.differs(member, sentence));
    findings.list.extend(list);
}

/// What the chain says otherwise, by member.
fn differences(draw: &RecordedDraw, blocks: &BTreeMap<u64, Block>) -> Vec<(&'static str, String)> {
    let mut differences = Vec::new();
    if let Some(head) = blocks.get(&draw.counted_from) {
        let at_ms = mined_at(head).as_ms();
        let closed_ms = draw.closed_at.as_ms();
        let is_later = at_ms > closed_ms.saturating_add(GRACE_MS);
        let is_old = at_ms.saturating_add(draw.blind_after_ms + GRACE_MS) < closed_ms;
        if is_later || is_old {
            let sentence = format!(
                "block {}, which its height was counted from, is of {}: that was not the head when the \
                 cycle was closed",
                head.number,
                mined_at(head).to_rfc3339()
            );
            differences.push(("height", sentence));
        }
    }
    match (draw.drawing, blocks.get(&draw.height)) {
        (Drawing::By(block), Some(there)) if block.hash != there.hash => {
            let sentence = format!("block {} is {} on the chain", there.number, there.hash);
            differences.push(("hash", sentence));
        }
        (Drawing::By(block), Some(there)) if block.timestamp_s != there.timestamp_s => {
            let sentence = format!(
                "block {} is of {}",
                there.number,
                mined_at(there).to_rfc3339()
            );
            differences.push(("timestamp_s", sentence));
        }
        (Drawing::Passed(at), Some(_)) => {
            let deepest = draw
                .height
                .saturating_add(draw.confirmed_depth.saturating_sub(1));
            let in_time = |block: &&Block| mined_at(block).as_ms() + GRACE_MS <= at.as_ms();
            if let Some(block) = blocks.get(&deepest).filter(in_time) {
                let sentence = format!(
                    "the block that was to draw was deep enough at {}, and the draw was let pass",
                    mined_at(block).to_rfc3339()
                );
                differences.push(("draw", sentence));
            }
        }
        (Drawing::By(_) | Drawing::Passed(_), _) => {}
    }
    differences
}

const fn mined_at(block: &Block) -> TimestampMs {
    TimestampMs::new(block.timestamp_s.saturating_mul(1_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use x811_audit::ChainPlace;
    use x811_protocol::evm::BlockHash;

    /// The cycle was closed at second 1,000, when block 500 was the head; block 530 draws.
    fn draw(drawing: Drawing) -> RecordedDraw {
        RecordedDraw {
            place: ChainPlace {
                position: 7,
                line: None,
                stream: None,
                field: "block".to_owned(),
            },
            chain_id: ChainId::new(8_453),
            closed_at: TimestampMs::new(1_000_000),
            height: 530,
            counted_from: 500,
            blind_after_ms: 30_000,
            confirmed_depth: 12,
            drawing,
        }
    }

    fn block(number: u64, timestamp_s: u64) -> Block {
        Block {
            hash: BlockHash::from_bytes([3; 32]),
            number,
            timestamp_s,
        }
    }

    /// Two seconds a block, the head at second 999.
    fn chain() -> BTreeMap<u64, Block> {
        let blocks = [(500, 999), (530, 1_059), (541, 1_081)];
        let blocks = blocks.map(|(number, at_s)| (number, block(number, at_s)));
        blocks.into_iter().collect()
    }

    fn named(draw: &RecordedDraw, chain: &BTreeMap<u64, Block>) -> Vec<&'static str> {
        let found = differences(draw, chain).into_iter();
        found.map(|(member, _)| member).collect()
    }

    #[test]
    fn cc_061_an_endpoint_shows_the_block_that_drew() {
        let honest = draw(Drawing::By(block(530, 1_059)));
        assert!(named(&honest, &chain()).is_empty());
        assert!(
            named(&honest, &BTreeMap::new()).is_empty(),
            "it cannot tell"
        );
        let mut other = block(530, 1_059);
        other.hash = BlockHash::from_bytes([4; 32]);
        assert_eq!(named(&draw(Drawing::By(other)), &chain()), ["hash"]);
        let later = draw(Drawing::By(block(530, 1_061)));
        assert_eq!(named(&later, &chain()), ["timestamp_s"]);
    }

    /// Attack: the operator fixes a height that suits it: of a block that is there, or that never comes.
    #[test]
    fn cc_061_the_height_is_counted_from_the_head_of_that_moment() {
        let mut earlier = chain();
        earlier.insert(500, block(500, 840));
        let honest = draw(Drawing::By(block(530, 1_059)));
        assert_eq!(named(&honest, &earlier), ["height"]);
        let mut later = chain();
        later.insert(500, block(500, 1_121));
        assert_eq!(named(&honest, &later), ["height"]);
    }

    /// Attack: the oldest suits the operator, so that it reports no block.
    #[test]
    fn cc_061_a_draw_is_not_let_pass_while_its_block_is_there() {
        let passed = |at_s: u64| draw(Drawing::Passed(TimestampMs::new(at_s * 1_000)));
        assert_eq!(named(&passed(4_600), &chain()), ["draw"]);
        assert!(
            named(&passed(1_090), &chain()).is_empty(),
            "it had just come"
        );
        let mut stopped = chain();
        stopped.remove(&541);
        assert!(named(&passed(4_600), &stopped).is_empty());
    }
}
