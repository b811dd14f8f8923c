//! What an initiator may commit itself to, whatever its policy says (AE-109).
//!
//! A commitment is written into the state file with the ACCEPT that makes it, before that is sent.
//! It counts for a day, unless the interaction ends without a transfer.

use std::fmt;

use serde::{Deserialize, Serialize};
use x811_protocol::did::Did;
use x811_protocol::id::InteractionId;
use x811_protocol::money::MicroUsdc;
use x811_protocol::time::TimestampMs;

/// For how long a commitment counts: a day, in milliseconds.
pub(crate) const DAY_MS: u64 = 86_400_000;

/// The most an initiator commits itself to, fees included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// In one interaction.
    pub per_interaction: MicroUsdc,
    /// In any 24 hours.
    pub per_day: MicroUsdc,
    /// To one provider in any 24 hours.
    pub per_counterparty: MicroUsdc,
    /// On one network in any 24 hours.
    pub per_network: MicroUsdc,
}

/// An ACCEPT and what it costs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commitment {
    /// Of which interaction.
    pub interaction: InteractionId,
    /// The provider that it is promised to.
    pub counterparty: Did,
    /// Paid on which network.
    pub network: String,
    /// Price and fee.
    pub total: MicroUsdc,
    /// When it was made.
    pub at_ms: TimestampMs,
}

/// Which cap an ACCEPT would break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cap {
    /// That of one interaction.
    Interaction,
    /// That of a day.
    Day,
    /// That of a provider.
    Counterparty,
    /// That of a network.
    Network,
}

impl fmt::Display for Cap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cap::Interaction => "the cap for one interaction",
            Cap::Day => "the cap for 24 hours",
            Cap::Counterparty => "the cap for this provider in 24 hours",
            Cap::Network => "the cap for this network in 24 hours",
        })
    }
}

impl Caps {
    /// The first cap that `next` would break, after what the journal has of the last 24 hours.
    pub fn broken_by(&self, next: &Commitment, journal: &[Commitment]) -> Option<Cap> {
        if next.total > self.per_interaction {
            return Some(Cap::Interaction);
        }
        let recent = |counts: &dyn Fn(&Commitment) -> bool| {
            let others = journal
                .iter()
                .filter(|made| made.interaction != next.interaction)
                .filter(|made| is_recent(made, next.at_ms) && counts(made));
            let mut totals = others.map(|made| made.total);
            totals.try_fold(next.total, MicroUsdc::checked_add)
        };
        // A sum beyond all amounts is beyond every cap.
        let exceeds = |sum: Option<MicroUsdc>, cap| sum.is_none_or(|sum| sum > cap);
        if exceeds(recent(&|_| true), self.per_day) {
            Some(Cap::Day)
        } else if exceeds(
            recent(&|made| made.counterparty == next.counterparty),
            self.per_counterparty,
        ) {
            Some(Cap::Counterparty)
        } else if exceeds(
            recent(&|made| made.network == next.network),
            self.per_network,
        ) {
            Some(Cap::Network)
        } else {
            None
        }
    }
}

/// Whether a commitment still counts.
pub(crate) fn is_recent(made: &Commitment, now: TimestampMs) -> bool {
    now.since(made.at_ms) < DAY_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 10 * DAY_MS;

    fn usdc(micro_usdc: u64) -> MicroUsdc {
        MicroUsdc::from_micro_usdc(micro_usdc).unwrap()
    }

    fn made(last: u8, provider: u8, network: &str, total: u64, at_ms: u64) -> Commitment {
        let interaction = format!("0190a1b2-c3d4-7e5f-8901-2345678900{last:02}");
        let counterparty = format!("did:x811:019c8c61-8129-7511-9f31-aa5142e654{provider:02}");
        Commitment {
            interaction: interaction.parse().unwrap(),
            counterparty: counterparty.parse().unwrap(),
            network: network.to_owned(),
            total: usdc(total),
            at_ms: TimestampMs::new(at_ms),
        }
    }

    #[test]
    fn ae_109_caps_hold_to_the_micro_usdc() {
        let caps = Caps {
            per_interaction: usdc(40),
            per_day: usdc(100),
            per_counterparty: usdc(70),
            per_network: usdc(90),
        };
        let journal = [
            made(1, 1, "base", 30, NOW - 1),
            made(2, 2, "base", 40, NOW - DAY_MS + 1),
            made(3, 1, "base", 99, NOW - DAY_MS),
        ];
        // provider, network, total, broken
        let table = [
            (3, "base", 20, None),
            (3, "base", 21, Some(Cap::Network)),
            (3, "other", 30, None),
            (3, "other", 31, Some(Cap::Day)),
            (1, "other", 30, None),
            (2, "other", 30, None),
            (3, "other", 40, Some(Cap::Day)),
            (3, "other", 41, Some(Cap::Interaction)),
        ];
        for (provider, network, total, broken) in table {
            let next = made(9, provider, network, total, NOW);
            assert_eq!(
                caps.broken_by(&next, &journal),
                broken,
                "{provider} {network} {total}"
            );
        }
        let tight = Caps {
            per_counterparty: usdc(59),
            ..caps
        };
        let next = made(9, 1, "other", 30, NOW);
        assert_eq!(tight.broken_by(&next, &journal), Some(Cap::Counterparty));
        // The same ACCEPT, journalled before a crash, does not count against itself.
        let again = made(1, 1, "base", 30, NOW);
        assert_eq!(caps.broken_by(&again, &journal), None);
    }
}
