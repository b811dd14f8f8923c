//! A verdict held to itself, by whoever has neither the proposal nor the parameters: a trace shows no more.

use super::tally::{Hindrance, Outcome, Reason, Tally, TallyVerdict, WeightTally};
use crate::facts::MAX_SAFE_INTEGER;
use crate::facts::consensus::{MOST_PARTICIPANTS, Mechanism};

/// Everything that can decide before votes are counted, and nothing.
const HINDRANCES: [Option<Hindrance>; 6] = [
    None,
    Some(Hindrance::LedgerDown),
    Some(Hindrance::Suspended),
    Some(Hindrance::NotOpened),
    Some(Hindrance::WeightsUnacknowledged),
    Some(Hindrance::Withdrawn),
];

impl TallyVerdict {
    /// Returns the first rule that no proposal, parameters and other rounds can reconcile it with.
    pub fn contradiction(&self) -> Option<&'static str> {
        if let Some(why) = self.tally.contradiction() {
            return Some(why);
        }
        let other_rounds = matches!(self.reason, Reason::Superseded | Reason::Deadlock);
        let follows = if other_rounds {
            self.outcome == Outcome::Abort
        } else {
            self.follows()
        };
        (!follows).then_some("its outcome or reason is not the one that its tally leads to")
    }

    /// True if some hindrance, and something that a leader says, leads from the tally to the verdict.
    fn follows(&self) -> bool {
        let leaders = match self.tally.mechanism {
            Mechanism::Leader => &[None, Some(Outcome::Commit), Some(Outcome::Abort)][..],
            Mechanism::Majority | Mechanism::Weighted | Mechanism::Optimistic => &[None],
        };
        let possible = |hindrance: &&Option<Hindrance>| {
            hindrance.is_none_or(|hindrance| self.tally.allows(hindrance))
        };
        HINDRANCES.iter().filter(possible).any(|hindrance| {
            leaders.iter().any(|leader| {
                let reason = self.tally.reason(*hindrance, *leader);
                (reason, reason.outcome(*leader)) == (self.reason, self.outcome)
            })
        })
    }
}

impl Tally {
    fn contradiction(&self) -> Option<&'static str> {
        let counts = [self.abstain, self.approve, self.reject, self.invalid];
        let seats = 1..=MOST_PARTICIPANTS as u64;
        if !seats.contains(&self.eligible) || counts.iter().any(|count| *count > self.eligible) {
            return Some("its tally has no, or too many, participants");
        }
        let is_counted = matches!(self.mechanism, Mechanism::Majority | Mechanism::Weighted);
        let received = self.abstain + self.approve + self.reject;
        let faults = [
            (
                self.received != received,
                "received is not the sum of approve, reject and abstain",
            ),
            (
                received + self.invalid > self.eligible || self.connected > self.eligible,
                "it counts more participants than are eligible",
            ),
            (
                self.invalid > 0 && !is_counted,
                "its mechanism takes no sealed votes",
            ),
            (
                self.weights.is_some() != (self.mechanism == Mechanism::Weighted),
                "weights are of the mechanism weighted alone",
            ),
            (
                !self.weights.is_none_or(|weights| weights.fits(self)),
                "its weights do not add up",
            ),
            (
                !self.quorum_fits(),
                "quorum_met or quorum_required is not what its votes come to",
            ),
        ];
        let mut faults = faults.into_iter();
        faults.find_map(|(is_there, why)| is_there.then_some(why))
    }

    /// True if some quorum, some `f` and either rule of abstentions lead to what it says of the quorum.
    fn quorum_fits(&self) -> bool {
        let decisive = self.approve + self.reject;
        let least = match self.mechanism {
            Mechanism::Majority => self.eligible.div_ceil(2),
            Mechanism::Weighted => 0,
            Mechanism::Leader | Mechanism::Optimistic => {
                return self.quorum_met && self.quorum_required == 0;
            }
        };
        let half_takes_part = self.weights.is_none_or(WeightTally::is_half);
        let may_be = match self.quorum_met {
            true => self.received >= self.quorum_required && half_takes_part,
            false => decisive < self.quorum_required || !half_takes_part,
        };
        may_be && (least..=self.eligible).contains(&self.quorum_required)
    }

    /// True if that can have hindered a round with these counts.
    const fn allows(&self, hindrance: Hindrance) -> bool {
        let nobody_voted = self.received == 0 && self.invalid == 0;
        match hindrance {
            Hindrance::LedgerDown => matches!(self.mechanism, Mechanism::Optimistic),
            Hindrance::Suspended => true,
            Hindrance::NotOpened | Hindrance::Withdrawn => nobody_voted,
            Hindrance::WeightsUnacknowledged => {
                nobody_voted && matches!(self.mechanism, Mechanism::Weighted)
            }
        }
    }
}

impl WeightTally {
    /// True if weights of the voters in `tally` can come to these sums. A participant may have the weight 0.
    fn fits(self, tally: &Tally) -> bool {
        let WeightTally {
            approve,
            participating,
            threshold,
            total,
        } = self;
        let others = participating.checked_sub(approve);
        let silent = total.checked_sub(participating);
        let is_of = |weight: Option<u64>, voters: u64| match voters {
            0 => weight == Some(0),
            _ => weight.is_some(),
        };
        threshold.is_a_part()
            && is_of(Some(approve), tally.approve)
            && is_of(others, tally.reject + tally.abstain)
            && is_of(silent, tally.eligible.saturating_sub(tally.received))
            && (1..=MAX_SAFE_INTEGER).contains(&total)
    }
}
