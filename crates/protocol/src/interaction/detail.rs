//! The detail of an interaction's row.

use super::state::{Offer, Schedule, Settlement, State};
use crate::code::Code;
use crate::digest::Digest;
use crate::event::Claim;
use crate::evm::TxHash;
use crate::id::EnvelopeId;
use crate::money::MicroUsdc;
use crate::settlement::{Aftermath, Completion, Declared, DeclaredStanding};
use crate::time::TimestampMs;
use serde::Serialize;
use serde_with::skip_serializing_none;

/// The detail of a row; what does not apply to the state is left out.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
pub(super) struct Detail<'a> {
    /// The reason why it ended unpaid, where it is a code.
    code: Option<Code>,
    confirmed: Option<Confirmed<'a>>,
    /// Transfers that came too late.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    late: &'a [Claim],
    /// Transactions of these that have disappeared.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    late_reversed: &'a [TxHash],
    offer: Option<Offered>,
    settlement: Option<Watched<'a>>,
}

/// The payment.
#[derive(Debug, Serialize)]
struct Confirmed<'a> {
    claims: &'a [Claim],
    #[serde(rename = "final")]
    is_final: bool,
    position: u64,
    record_hash: Digest,
    reversed: &'a [TxHash],
}

#[derive(Debug, Serialize)]
struct Offered {
    id: EnvelopeId,
    offer_hash: Digest,
    /// In EIP-55 form.
    payee: String,
    price: MicroUsdc,
    protocol_fee: MicroUsdc,
    total: MicroUsdc,
}

/// The transactions that are watched.
#[derive(Debug, Serialize)]
struct Watched<'a> {
    clock_stopped_since_ms: Option<TimestampMs>,
    declared: Vec<Stands>,
    failures: u64,
    network: &'a str,
    schedule: Stage,
    started_at_ms: TimestampMs,
}

/// A declared transaction.
#[derive(Debug, Serialize)]
struct Stands {
    block_number: Option<u64>,
    standing: &'static str,
    tx_hash: TxHash,
}

/// The end of the time for the confirmation, or the next look.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Stage {
    Confirmation {
        deadline_at_ms: TimestampMs,
        stage: &'static str,
    },
    Look {
        due_at_ms: TimestampMs,
        look: u64,
        stage: &'static str,
    },
}

impl Detail<'_> {
    pub(super) fn of(state: &State) -> Detail<'_> {
        let aftermath = state.aftermath().map(|(_, aftermath)| aftermath);
        let late = aftermath.map(|aftermath| &aftermath.late);
        let watch = aftermath.and_then(Aftermath::late_watch);
        Detail {
            code: state.closing_code(),
            confirmed: state.completion().map(Confirmed::of),
            late: late.map_or(&[], Vec::as_slice),
            late_reversed: watch.map_or(&[], |watch| &watch.reversed),
            offer: state.offer().map(Offered::of),
            settlement: state.settlement().map(Watched::of),
        }
    }
}

impl Confirmed<'_> {
    fn of(completion: &Completion) -> Confirmed<'_> {
        Confirmed {
            claims: &completion.claims,
            is_final: completion.is_final,
            position: completion.position,
            record_hash: completion.hash,
            reversed: &completion.reversed,
        }
    }
}

impl Offered {
    fn of(offer: &Offer) -> Offered {
        Offered {
            id: offer.record.envelope,
            offer_hash: offer.offer_hash,
            payee: offer.payee.to_checksum(),
            price: offer.price,
            protocol_fee: offer.protocol_fee,
            total: offer.total,
        }
    }
}

impl Watched<'_> {
    fn of(settlement: &Settlement) -> Watched<'_> {
        Watched {
            clock_stopped_since_ms: settlement.paused_since,
            declared: settlement.declared.iter().map(Stands::of).collect(),
            failures: settlement.failures,
            network: &settlement.network,
            schedule: Stage::of(settlement.schedule),
            started_at_ms: settlement.started_at,
        }
    }
}

impl Stands {
    fn of(declared: &Declared) -> Stands {
        let (standing, block) = match declared.standing {
            DeclaredStanding::Unseen => ("unseen", None),
            DeclaredStanding::Seen(block) => ("seen", Some(block.number)),
            DeclaredStanding::Refuted(block) => ("refuted", Some(block.number)),
            DeclaredStanding::Gone(block) => ("gone", Some(block.number)),
        };
        Stands {
            block_number: block,
            standing,
            tx_hash: declared.tx_hash,
        }
    }
}

impl Stage {
    fn of(schedule: Schedule) -> Stage {
        match schedule {
            Schedule::Confirmation { deadline } => Stage::Confirmation {
                deadline_at_ms: deadline,
                stage: "confirmation",
            },
            Schedule::Look { number, due } => Stage::Look {
                due_at_ms: due,
                look: number,
                stage: "look",
            },
        }
    }
}
