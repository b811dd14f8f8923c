//! What several endpoints say of one transaction, put together (settlement-watcher.md rules 10, 11,
//! 26 and 27). Pure: where a receipt's block stands was found out before.
//!
//! - Nothing is missing because one endpoint does not have it: a single receipt on any branch keeps
//!   a transaction from being *absent*.
//! - An endpoint that lags, or was not heard, is no witness of what is missing.
//! - Answers that exclude each other settle nothing.

use std::collections::{BTreeMap, BTreeSet};

use x811_protocol::digest::Digest;
use x811_protocol::observation::{Block, Transfer};

/// Place of an endpoint in the configuration.
pub(crate) type EndpointId = usize;

/// A transaction in a block of the held branch, and who says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) block: Block,
    pub(crate) succeeded: bool,
    pub(crate) transfers: Vec<Transfer>,
    pub(crate) authorizations: BTreeMap<u64, Digest>,
    pub(crate) by: BTreeSet<EndpointId>,
}

impl Found {
    /// Whether the two say the same of it.
    pub(crate) fn agrees_with(&self, other: &Found) -> bool {
        (self.block, self.succeeded) == (other.block, other.succeeded)
            && self.transfers == other.transfers
            && self.authorizations == other.authorizations
    }
}

/// One endpoint's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Testimony {
    /// It has it in a block of the held branch.
    Held(Found),
    /// It has it in a block that the held branch has not reached.
    Above,
    /// It has it in a block of another branch.
    Elsewhere,
    /// It does not have it.
    Missing,
    /// It gave no answer.
    Silent,
}

/// Who answered what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Witness {
    pub(crate) endpoint: EndpointId,
    /// Its head is behind the others'.
    pub(crate) lags: bool,
    /// The held branch is this endpoint's.
    pub(crate) leads: bool,
    pub(crate) testimony: Testimony,
}

/// What follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is there. How many must say so is decided at confirmed depth.
    Found(Found),
    /// It is nowhere.
    Absent,
    /// Nothing can be concluded now.
    Unsettled {
        /// Endpoints that exclude each other.
        contradiction: BTreeSet<EndpointId>,
    },
}

/// The verdict on one transaction.
pub(crate) fn judge(witnesses: Vec<Witness>) -> Verdict {
    let mut found: Option<Found> = None;
    let mut contradiction = BTreeSet::new();
    let (mut is_missing, mut is_open) = (false, false);
    for witness in witnesses {
        match witness.testimony {
            Testimony::Held(said) => match &mut found {
                None => found = Some(said),
                Some(known) if known.agrees_with(&said) => known.by.extend(said.by),
                Some(known) => {
                    contradiction.extend(&known.by);
                    contradiction.extend(said.by);
                }
            },
            // The leader's own branch contradicts its receipt: the branch decides (rule 11).
            Testimony::Elsewhere if witness.leads => is_missing = true,
            Testimony::Above | Testimony::Elsewhere | Testimony::Silent => is_open = true,
            Testimony::Missing => is_missing |= !witness.lags,
        }
    }
    if !contradiction.is_empty() {
        return Verdict::Unsettled { contradiction };
    }
    match found {
        Some(found) => Verdict::Found(found),
        None if is_missing && !is_open => Verdict::Absent,
        None => Verdict::Unsettled { contradiction },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use x811_protocol::evm::BlockHash;

    fn held(endpoint: EndpointId, succeeded: bool) -> Testimony {
        Testimony::Held(Found {
            block: Block {
                number: 7,
                hash: BlockHash::from_bytes([7; 32]),
                timestamp_s: 1,
            },
            succeeded,
            transfers: Vec::new(),
            authorizations: BTreeMap::new(),
            by: BTreeSet::from([endpoint]),
        })
    }

    fn witness(endpoint: EndpointId, testimony: Testimony) -> Witness {
        Witness {
            endpoint,
            lags: false,
            leads: endpoint == 0,
            testimony,
        }
    }

    fn lagging(endpoint: EndpointId, testimony: Testimony) -> Witness {
        Witness {
            lags: true,
            ..witness(endpoint, testimony)
        }
    }

    fn unsettled() -> Verdict {
        Verdict::Unsettled {
            contradiction: BTreeSet::new(),
        }
    }

    #[test]
    fn sw_26_a_negative_takes_every_endpoint_that_does_not_lag() {
        use Testimony::{Above, Elsewhere, Missing, Silent};
        let table = [
            (vec![witness(0, Missing)], Verdict::Absent),
            (
                vec![witness(0, Missing), witness(1, Missing)],
                Verdict::Absent,
            ),
            (
                vec![witness(0, Missing), lagging(1, Missing)],
                Verdict::Absent,
            ),
            (vec![lagging(0, Missing), lagging(1, Missing)], unsettled()),
            (
                vec![lagging(0, Missing), witness(1, Missing)],
                Verdict::Absent,
            ),
            (vec![witness(0, Missing), witness(1, Silent)], unsettled()),
            (
                vec![witness(0, Missing), witness(1, Elsewhere)],
                unsettled(),
            ),
            (
                vec![witness(0, Missing), lagging(1, Elsewhere)],
                unsettled(),
            ),
            (vec![witness(0, Missing), witness(1, Above)], unsettled()),
            (vec![witness(0, Elsewhere)], Verdict::Absent),
            (vec![witness(0, Above)], unsettled()),
            (
                vec![witness(0, Elsewhere), witness(1, Elsewhere)],
                unsettled(),
            ),
            (vec![], unsettled()),
        ];
        for (witnesses, expected) in table {
            assert_eq!(judge(witnesses.clone()), expected, "{witnesses:?}");
        }
    }

    #[test]
    fn sw_10_one_receipt_outweighs_any_number_that_do_not_have_it() {
        for rest in [Testimony::Missing, Testimony::Silent, Testimony::Above] {
            let witnesses = vec![witness(0, rest.clone()), witness(1, held(1, true))];
            let Verdict::Found(found) = judge(witnesses) else {
                panic!("{rest:?}")
            };
            assert_eq!(found.by, BTreeSet::from([1]));
        }
        let both = judge(vec![witness(0, held(0, true)), witness(1, held(1, true))]);
        assert!(matches!(both, Verdict::Found(found) if found.by.len() == 2));
    }

    #[test]
    fn sw_26_answers_that_exclude_each_other_settle_nothing() {
        let witnesses = vec![
            witness(0, held(0, true)),
            witness(1, held(1, false)),
            witness(2, held(2, true)),
        ];
        let contradiction = BTreeSet::from([0, 1, 2]);
        let Verdict::Unsettled { contradiction: who } = judge(witnesses) else {
            panic!("it is not settled")
        };
        assert!(who.is_superset(&BTreeSet::from([0, 1])) && who.is_subset(&contradiction));
    }
}
