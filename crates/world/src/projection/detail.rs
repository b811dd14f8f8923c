//! What a row shows of an interaction besides its columns.
//!
//! Members stand in the order of their names, in which they are hashed when rows are compared.

use serde::Serialize;
use serde_json::Value;
use serde_with::skip_serializing_none;
use x811_eventlog::write_canonical;
use x811_protocol::code::Code;
use x811_protocol::digest::Digest;
use x811_protocol::event::Claim;
use x811_protocol::evm::TxHash;
use x811_protocol::id::EnvelopeId;
use x811_protocol::interaction::{Offer, Schedule, Settlement, State};
use x811_protocol::money::MicroUsdc;
use x811_protocol::settlement::{Aftermath, Completion, Declared, DeclaredStanding};
use x811_protocol::time::TimestampMs;

/// Most texts are shorter.
const TYPICAL_TEXT_BYTES: usize = 768;

/// The member `detail` of a row; what does not apply to the state is left out.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
pub struct Detail<'a> {
    /// Why it ended unpaid, where a code says it.
    pub code: Option<Code>,
    /// The payment.
    pub confirmed: Option<Confirmed<'a>>,
    /// Transfers that came too late.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub late: &'a [Claim],
    /// Transactions of these that have disappeared.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub late_reversed: &'a [TxHash],
    /// The offer.
    pub offer: Option<Offered>,
    /// The transactions that are watched.
    pub settlement: Option<Watched<'a>>,
}

/// How it was paid.
#[derive(Debug, Serialize)]
pub struct Confirmed<'a> {
    claims: &'a [Claim],
    #[serde(rename = "final")]
    is_final: bool,
    position: u64,
    record_hash: Digest,
    reversed: &'a [TxHash],
}

/// What was offered.
#[derive(Debug, Serialize)]
pub struct Offered {
    id: EnvelopeId,
    offer_hash: Digest,
    /// In EIP-55 form.
    payee: String,
    price: MicroUsdc,
    protocol_fee: MicroUsdc,
    total: MicroUsdc,
}

/// A payment being watched.
#[derive(Debug, Serialize)]
pub struct Watched<'a> {
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

/// What is waited for.
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
    /// The detail of an interaction in that state.
    pub fn of(state: &State) -> Detail<'_> {
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

    /// The text that [`Detail::to_value`] is written as.
    #[expect(clippy::expect_used, reason = "a struct with string keys")]
    pub(crate) fn to_text(&self) -> String {
        let mut text = Vec::with_capacity(TYPICAL_TEXT_BYTES);
        write_canonical(&mut text, self)
            .expect("it holds strings, small integers and booleans only");
        let text = String::from_utf8(text).expect("JSON is UTF-8");
        debug_assert_eq!(text, self.to_value().to_string());
        text
    }

    #[expect(clippy::expect_used, reason = "a struct with string keys")]
    pub(crate) fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("it holds strings, integers and booleans only")
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
