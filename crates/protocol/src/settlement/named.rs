//! What records of settlement name of a network.

use crate::event::{Event, Evidence, SettlementEvent};
use crate::observation::Block;

/// Returns the evidence of payments, and of what was none, in an event.
pub fn evidence(event: &Event) -> &[Evidence] {
    if let Event::Settlement(SettlementEvent::Confirmed(confirmed)) = event {
        &confirmed.evidence
    } else if let Event::Settlement(SettlementEvent::Late(late)) = event {
        &late.evidence
    } else if let Event::Settlement(SettlementEvent::Refuted(refuted)) = event {
        std::slice::from_ref(&refuted.evidence)
    } else {
        &[]
    }
}

/// Returns every block that an event about payments names, by member.
pub fn named_blocks(event: &Event) -> Vec<(String, Block)> {
    if let Event::Settlement(SettlementEvent::Seen(seen)) = event {
        return vec![("block".to_owned(), seen.block)];
    } else if let Event::Settlement(SettlementEvent::Looked(looked)) = event {
        return vec![("head".to_owned(), looked.head)];
    } else if let Event::Settlement(SettlementEvent::Final(reached)) = event {
        return vec![("head".to_owned(), reached.head)];
    } else if let Event::Settlement(SettlementEvent::Refuted(refuted)) = event {
        return vec![("evidence.block".to_owned(), refuted.evidence.block)];
    }
    let each = evidence(event).iter().enumerate();
    let named = each.map(|(index, shown)| (format!("evidence[{index}].block"), shown.block));
    named.collect()
}
