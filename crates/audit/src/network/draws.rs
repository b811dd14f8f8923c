//! Draws among rounds that block each other (round.md, "When it is decided", rule 9), kept for whoever holds
//! them against the network: a block that is not there, a height that was not fixed by the last known head,
//! and a draw that was let pass although its block was there are all ways to pick who stays.

use x811_protocol::event::{Event, LapsedWindow};
use x811_protocol::evm::ChainId;
use x811_protocol::observation::Block;
use x811_protocol::round::RoundWindow;
use x811_protocol::stream::{Stream, Subject};
use x811_protocol::time::TimestampMs;

use crate::network::on_chain::ChainPlace;
use crate::record::examine::Whole;
use x811_world::World;

/// What became of a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drawing {
    /// This block drew.
    By(Block),
    /// The time for it passed at this moment.
    Passed(TimestampMs),
}

/// A draw as a log has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedDraw {
    /// The record that ends it.
    pub place: ChainPlace,
    /// EIP-155 id of the chain whose block draws.
    pub chain_id: ChainId,
    /// When the cycle was closed.
    pub closed_at: TimestampMs,
    /// Height of the block that draws.
    pub height: u64,
    /// Height of the head that was the last known one when the cycle was closed.
    pub counted_from: u64,
    /// Heads older than that are not known ones.
    pub blind_after_ms: u64,
    /// Blocks above it before it is reported.
    pub confirmed_depth: u64,
    /// What became of it.
    pub drawing: Drawing,
}

/// The draw that a record ends; `before` is the world before it.
pub(crate) fn recorded(before: &World, whole: &Whole) -> Option<RecordedDraw> {
    let Some(Stream::Of(Subject::Round(id))) = &whole.stream else {
        return None;
    };
    let at = TimestampMs::new(whole.record.recorded_at_ms());
    let (drawing, field) = if let Event::CycleDrawn(drawn) = &whole.event {
        (Drawing::By(drawn.block), "block")
    } else if let Event::Lapsed(lapsed) = &whole.event
        && lapsed.window == LapsedWindow::Round(RoundWindow::Draw)
    {
        (Drawing::Passed(at), "window")
    } else {
        return None;
    };
    let state = &before.round(*id)?.state;
    let draw = state.draw()?;
    let is_blind = before
        .sight(&draw.network)
        .is_some_and(|sight| sight.blind_since.is_some());
    if is_blind && matches!(drawing, Drawing::Passed(_)) {
        // Whoever sees no block lets it pass.
        return None;
    }
    let network = state.opening.parameters.network(&draw.network)?;
    Some(RecordedDraw {
        place: ChainPlace::of(&whole.spot, field.to_owned()),
        chain_id: network.chain_id,
        closed_at: draw.closed_at,
        height: draw.height,
        counted_from: draw.height.saturating_sub(state.opening.rounds.draw_blocks),
        blind_after_ms: network.blind_after_ms,
        confirmed_depth: network.confirmed_depth,
        drawing,
    })
}
