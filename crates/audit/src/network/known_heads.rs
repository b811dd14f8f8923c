//! Which head the ledger knew when an ACCEPT came (decision 0267). At or below it a payment is older than the
//! ACCEPT, so whoever writes the log gains by an old head, or by none. That the ledger saw a head is its word;
//! what the log says of heads before bounds it:
//!
//! - A network of which the log has named a head is named by every ACCEPT.
//! - While a network is not blind, the head is no older than what makes it so, but for one that the log named
//!   last, before the ledger started.
//! - While it is blind, the head is not so young that it would have ended that.

use std::collections::BTreeMap;

use x811_protocol::envelope::{CoreType, MessageType};
use x811_protocol::event::{EnvelopeAccepted, Event, LedgerEvent, NetworkEvent, SettlementEvent};
use x811_protocol::observation::{Block, NetworkHead};
use x811_protocol::stream::{Stream, Subject};
use x811_protocol::time::TimestampMs;

use crate::finding::findings::Findings;
use crate::finding::unchecked::Unchecked;
use crate::replay::decided::Decided;

/// How long after its moment blindness may be recorded, and how long behind a start what a process knew
/// before may be as old as the time away, in milliseconds.
const LATE_MS: u64 = 30_000;

/// What the log says of the heads that the ledger knew.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownHeads {
    /// How often the ledger started so far.
    starts: u64,
    /// By network, `starts` when a head was last named that this process had seen itself.
    seen: BTreeMap<String, u64>,
    /// When the ledger last said that it had been away, and for how long in [`LATE_MS`] before that, in
    /// milliseconds.
    away: Option<(TimestampMs, u64)>,
}

impl KnownHeads {
    /// Takes the next record; names what of an ACCEPT's heads does not fit those before.
    pub(crate) fn take(&mut self, decided: &Decided<'_>, findings: &mut Findings) {
        if let Event::Ledger(LedgerEvent::Resumed(resumed)) = decided.event {
            self.starts += 1;
            self.away = Some((decided.at, self.away_ms(decided.at) + resumed.gap_ms));
        } else if let (Stream::Network(name), Some(_)) =
            (decided.stream, head_of_sight(decided.event))
        {
            self.saw(name);
        } else if let Event::Settlement(SettlementEvent::Looked(_)) = decided.event
            && let Some(network) = network_of(decided)
        {
            self.saw(network);
        } else if let (Stream::Of(Subject::Interaction(_)), Event::EnvelopeAccepted(accepted)) =
            (decided.stream, decided.event)
            && accepted.envelope.message_type == MessageType::Core(CoreType::Accept)
        {
            self.accept(decided, accepted, findings);
        }
    }

    fn saw(&mut self, network: &str) {
        self.seen.insert(network.to_owned(), self.starts);
    }

    /// For how long the ledger says that it was away, where it started a moment before `at`.
    fn away_ms(&self, at: TimestampMs) -> u64 {
        let lately = self.away.filter(|(back, _)| at.since(*back) <= LATE_MS);
        lately.map_or(0, |(_, away_ms)| away_ms)
    }

    fn accept(
        &mut self,
        decided: &Decided<'_>,
        accepted: &EnvelopeAccepted,
        findings: &mut Findings,
    ) {
        let heads = accepted.derived.heads.as_deref().unwrap_or_default();
        for known in decided.before.heads() {
            if !heads.iter().any(|head| head.network == known.network) {
                let sentence = format!(
                    "the log has named a head of {} before, and the ACCEPT names none",
                    known.network
                );
                decided.differs("derived.heads", sentence, findings);
            }
        }
        for (index, head) in heads.iter().enumerate() {
            if let Some(sentence) = self.misfit(decided, head, findings) {
                decided.differs(&format!("derived.heads[{index}]"), sentence, findings);
            }
        }
        for head in heads.iter().filter(|head| !is_last_named(decided, head)) {
            self.saw(&head.network);
        }
    }

    /// Why the ledger cannot have known that head last. In a bundle another record may have named it.
    fn misfit(
        &self,
        decided: &Decided<'_>,
        head: &NetworkHead,
        findings: &mut Findings,
    ) -> Option<&'static str> {
        let (_, parameters) = decided.before.parameters()?;
        let network = parameters.network(&head.network)?;
        let sight = decided.before.sight(&head.network)?;
        let age_ms = age_ms(decided.at, &head.block());
        let is_last = is_last_named(decided, head);
        if sight.blind_since.is_some() {
            let is_young = age_ms < network.fresh_ms && !is_last;
            return (is_young && !decided.leaves(Unchecked::NamedHeads, findings))
                .then_some("the network was blind, and a head so young would have ended that");
        }
        let most_ms = network.blind_after_ms + LATE_MS + self.away_ms(decided.at);
        if age_ms <= most_ms {
            return None;
        }
        let is_from_before = match decided.is_extract {
            true => {
                self.may_be_from_before(head) && decided.leaves(Unchecked::NamedHeads, findings)
            }
            false => is_last && self.seen.get(&head.network) != Some(&self.starts),
        };
        (!is_from_before).then_some(
            "the network was not blind, so that the ledger knew a head that is not as old as this one",
        )
    }

    /// Whether a record before the last start can have named that head.
    fn may_be_from_before(&self, head: &NetworkHead) -> bool {
        let head_at = TimestampMs::new(head.timestamp_s.saturating_mul(1_000));
        self.away.is_some_and(|(back, _)| head_at <= back)
    }
}

/// Whether no head of the network was named since.
fn is_last_named(decided: &Decided<'_>, head: &NetworkHead) -> bool {
    let sight = decided.before.sight(&head.network);
    let last = sight.and_then(|sight| sight.recorded.as_ref());
    last.is_some_and(|last| (last.number, last.hash) == (head.number, head.hash))
}

pub(crate) fn head_of_sight(event: &Event) -> Option<Block> {
    if let Event::Network(NetworkEvent::Blind(blind)) = event {
        blind.head
    } else if let Event::Network(NetworkEvent::Sighted(sighted)) = event {
        Some(sighted.head)
    } else {
        None
    }
}

pub(crate) fn age_ms(at: TimestampMs, block: &Block) -> u64 {
    at.since(block.time())
}

/// The network of the payment that the record is about.
pub(crate) fn network_of<'a>(decided: &Decided<'a>) -> Option<&'a str> {
    let Stream::Of(Subject::Interaction(id)) = decided.stream else {
        return None;
    };
    let live = decided.before.watching(*id)?;
    Some(live.state.watched()?.network)
}
