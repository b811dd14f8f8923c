//! The block `[negotiation]` of the files of `x811 agent run`.

use std::sync::Arc;

use serde::Deserialize;
use x811_client::agent::{Negotiator, Purchase, Sale};
use x811_client::negotiator::{FixedConcession, Strategy, TitForTat};

use crate::usdc::Usdc;

/// The most turns of a negotiation (XX-4).
const MAX_TURNS: u64 = 20;

/// How it negotiates.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NegotiationFile {
    strategy: StrategyName,
    /// The most that is conceded in one turn; a price.
    per_turn: Usdc,
    /// The most turns, the offer counted.
    #[serde(default = "max_turns")]
    max_turns: u64,
    /// How long its offers stand, in seconds.
    #[serde(default = "ten_minutes")]
    life_s: u64,
}

fn max_turns() -> u64 {
    MAX_TURNS
}

fn ten_minutes() -> u64 {
    600
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StrategyName {
    FixedConcession,
    TitForTat,
}

impl NegotiationFile {
    /// With what it buys or sells.
    pub(super) fn negotiator(&self, purchases: Vec<Purchase>, sales: Vec<Sale>) -> Negotiator {
        let step = self.per_turn.0;
        let strategy: Arc<dyn Strategy> = match self.strategy {
            StrategyName::FixedConcession => Arc::new(FixedConcession { step }),
            StrategyName::TitForTat => Arc::new(TitForTat { first: step }),
        };
        Negotiator {
            strategy,
            per_turn: step,
            max_turns: self.max_turns,
            life_ms: self.life_s.saturating_mul(1_000),
            purchases,
            sales,
        }
    }
}
