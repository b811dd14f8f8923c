//! What several endpoints say of one transaction, put together (settlement-watcher.md rules 10, 11,
//! 26 and 27). Pure: where a receipt's block stands was found out before.
//!
//! - It is there when as many endpoints as must agree have it in one block, and say the same of it.
//! - It is absent when as many do not have it, and nobody has a receipt of it on any branch.
//! - An endpoint that does not carry the agreed head, or was not heard, is no witness of what is
//!   missing.
//! - What fewer have than must agree, while another does not, is *contested*: neither there nor absent.
//! - Answers that exclude each other settle nothing.

use std::collections::{BTreeMap, BTreeSet};

use x811_protocol::digest::Digest;
use x811_protocol::observation::{Block, Transfer};

/// Place of an endpoint in the configuration.
pub(crate) type EndpointId = usize;

/// A transaction in a block of the held branch, and who says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundTransaction {
    pub(crate) block: Block,
    pub(crate) succeeded: bool,
    pub(crate) transfers: Vec<Transfer>,
    pub(crate) authorizations: BTreeMap<u64, Digest>,
    pub(crate) by: BTreeSet<EndpointId>,
}

impl FoundTransaction {
    /// Whether the two say the same of it.
    pub(crate) fn agrees_with(&self, other: &FoundTransaction) -> bool {
        (self.block, self.succeeded) == (other.block, other.succeeded)
            && self.transfers == other.transfers
            && self.authorizations == other.authorizations
    }
}

/// One endpoint's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Testimony {
    /// It has it in a block of the held branch.
    Held(FoundTransaction),
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
    /// It carries the agreed head: what it does not have is missing there.
    pub(crate) carries_head: bool,
    pub(crate) testimony: Testimony,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TransactionVerdict {
    /// It is there; as many as must agree say so.
    Found(FoundTransaction),
    /// It is nowhere.
    Absent,
    /// Nothing can be concluded now.
    Unsettled {
        /// Endpoints that exclude each other.
        contradiction: BTreeSet<EndpointId>,
    },
}

/// The verdict on one transaction, of which `quorum` endpoints must say the same.
pub(crate) fn judge(witnesses: Vec<Witness>, quorum: usize) -> TransactionVerdict {
    let mut found: Option<FoundTransaction> = None;
    let (mut contradiction, mut missing) = (BTreeSet::new(), BTreeSet::new());
    let mut is_open = false;
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
            Testimony::Missing if witness.carries_head => drop(missing.insert(witness.endpoint)),
            Testimony::Missing => {}
            Testimony::Above | Testimony::Elsewhere | Testimony::Silent => is_open = true,
        }
    }
    match found {
        Some(found) if contradiction.is_empty() && found.by.len() >= quorum => {
            TransactionVerdict::Found(found)
        }
        Some(found) => {
            if !missing.is_empty() {
                contradiction.extend(found.by);
                contradiction.extend(missing);
            }
            TransactionVerdict::Unsettled { contradiction }
        }
        None if missing.len() >= quorum && !is_open => TransactionVerdict::Absent,
        None => TransactionVerdict::Unsettled { contradiction },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use x811_protocol::evm::BlockHash;

    fn held(endpoint: EndpointId, succeeded: bool) -> Testimony {
        Testimony::Held(FoundTransaction {
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
            carries_head: true,
            testimony,
        }
    }

    fn elsewhere(endpoint: EndpointId, testimony: Testimony) -> Witness {
        Witness {
            carries_head: false,
            ..witness(endpoint, testimony)
        }
    }

    fn unsettled() -> TransactionVerdict {
        TransactionVerdict::Unsettled {
            contradiction: BTreeSet::new(),
        }
    }

    #[test]
    fn sw_26_a_negative_takes_as_many_endpoints_at_the_agreed_head_as_must_agree() {
        use Testimony::{Above, Elsewhere, Missing, Silent};
        let table = [
            (1, vec![witness(0, Missing)], TransactionVerdict::Absent),
            (2, vec![witness(0, Missing)], unsettled()),
            (
                2,
                vec![witness(0, Missing), witness(1, Missing)],
                TransactionVerdict::Absent,
            ),
            (
                2,
                vec![witness(0, Missing), elsewhere(1, Missing)],
                unsettled(),
            ),
            (
                2,
                vec![
                    witness(0, Missing),
                    witness(1, Missing),
                    elsewhere(2, Missing),
                ],
                TransactionVerdict::Absent,
            ),
            (
                2,
                vec![witness(0, Missing), witness(1, Silent)],
                unsettled(),
            ),
            (
                2,
                vec![witness(0, Missing), witness(1, Missing), witness(2, Silent)],
                unsettled(),
            ),
            (
                2,
                vec![witness(0, Missing), witness(1, Elsewhere)],
                unsettled(),
            ),
            (2, vec![witness(0, Missing), witness(1, Above)], unsettled()),
            (1, vec![witness(0, Elsewhere)], unsettled()),
            (1, vec![witness(0, Above)], unsettled()),
            (1, vec![], unsettled()),
        ];
        for (quorum, witnesses, expected) in table {
            assert_eq!(judge(witnesses.clone(), quorum), expected, "{witnesses:?}");
        }
    }

    #[test]
    fn sw_26_what_one_endpoint_alone_has_is_contested() {
        let alone = |rest| judge(vec![witness(0, rest), witness(1, held(1, true))], 2);
        for rest in [Testimony::Silent, Testimony::Above, Testimony::Elsewhere] {
            assert_eq!(alone(rest), unsettled());
        }
        let contested = TransactionVerdict::Unsettled {
            contradiction: BTreeSet::from([0, 1]),
        };
        assert_eq!(alone(Testimony::Missing), contested);
        let enough = judge(vec![witness(0, held(0, true))], 1);
        assert!(matches!(enough, TransactionVerdict::Found(found) if found.by.len() == 1));
        let both = judge(
            vec![witness(0, held(0, true)), witness(1, held(1, true))],
            2,
        );
        assert!(matches!(both, TransactionVerdict::Found(found) if found.by.len() == 2));
    }

    #[test]
    fn sw_26_answers_that_exclude_each_other_settle_nothing() {
        let witnesses = vec![
            witness(0, held(0, true)),
            witness(1, held(1, false)),
            witness(2, held(2, true)),
        ];
        let contradiction = BTreeSet::from([0, 1, 2]);
        let TransactionVerdict::Unsettled { contradiction: who } = judge(witnesses, 2) else {
            panic!("it is not settled")
        };
        assert!(who.is_superset(&BTreeSet::from([0, 1])) && who.is_subset(&contradiction));
    }
}
