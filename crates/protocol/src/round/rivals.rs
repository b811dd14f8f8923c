//! Rounds that compete, and rounds that block each other (round.md, "When it is decided", rules 8 and 9):
//! the pure questions. Whoever runs rounds asks them of all that are open, and holds or ends them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::state::State;
use crate::did::Did;
use crate::digest::Digest;
use crate::facts::consensus::Decision;
use crate::id::RoundId;

/// The most rounds that are looked at for a cycle.
const MOST_WALKED: usize = 64;

/// Where a round stands among its rivals: the greater comes first. The draft's urgency is the
/// proposer's own word, so that it counts no more than what the proposer has earned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    urgency: u64,
    authority: u64,
    specificity: u64,
    earlier: Reverse<u64>,
}

impl State {
    /// Its rank. No two rounds of one log have the same: no two have one position.
    pub fn rank(&self) -> Rank {
        let (opening, proposal) = (&self.opening, &self.opening.proposal);
        Rank {
            urgency: proposal.urgency.min(opening.authority),
            authority: opening.authority,
            specificity: proposal.specificity,
            earlier: Reverse(opening.record.position),
        }
    }

    /// Whether the two compete: both open, about a common resource by another action, under one mechanism,
    /// and most of the participants of each are in the other, so that only the same electorate
    /// supersedes itself.
    pub fn is_rival_of(&self, other: &State) -> bool {
        let (mine, theirs) = (&self.opening.proposal, &other.opening.proposal);
        let share_a_tag = mine
            .resource_tags
            .iter()
            .any(|tag| theirs.resource_tags.contains(tag));
        let members: BTreeSet<&Did> = mine.participants.iter().collect();
        let shared = theirs.participants.iter().filter(|it| members.contains(it));
        let twice_shared = 2 * shared.count();
        self.is_open()
            && other.is_open()
            && mine.proposal_id != theirs.proposal_id
            && share_a_tag
            && mine.action_hash != theirs.action_hash
            && mine.mechanism == theirs.mechanism
            && twice_shared > mine.participants.len()
            && twice_shared > theirs.participants.len()
    }

    /// The rounds that stand in its way: those that the proposal names, and those that at least half of the
    /// participants name in their rejections.
    pub fn blocked_by(&self) -> BTreeSet<RoundId> {
        let mut named: BTreeMap<RoundId, usize> = BTreeMap::new();
        for vote in self.seats.iter().filter_map(|seat| seat.vote.as_ref()) {
            let rejects = |decision| decision == Decision::Reject;
            if vote.choice.is_some_and(|choice| rejects(choice.decision)) {
                let distinct: BTreeSet<RoundId> = vote.blocked_by.iter().copied().collect();
                for round in distinct {
                    *named.entry(round).or_default() += 1;
                }
            }
        }
        let half = self.seats.len().div_ceil(2);
        let by_votes = named.into_iter().filter(|(_, votes)| *votes >= half);
        let proposal = &self.opening.proposal;
        let by_proposal = proposal.blocked_by.iter().copied();
        by_proposal
            .chain(by_votes.map(|(round, _)| round))
            .collect()
    }
}

/// What a walk along the rounds that block each other finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Walk {
    /// It does not come back.
    Ends,
    /// It comes back over these, the first being where it began.
    Comes(Vec<RoundId>),
    /// More rounds than are looked at.
    TooLong,
}

/// Walks from a round along what blocks it. `blocking` names what blocks a round; of one that is not open,
/// or waits already, nothing. Of several ways back the shortest is found.
pub fn walk(from: RoundId, blocking: impl Fn(RoundId) -> BTreeSet<RoundId>) -> Walk {
    let mut came_from: BTreeMap<RoundId, RoundId> = BTreeMap::new();
    let mut next = VecDeque::from([from]);
    while let Some(round) = next.pop_front() {
        for blocks in blocking(round) {
            if blocks == from {
                return Walk::Comes(way_to(round, from, &came_from));
            }
            if came_from.contains_key(&blocks) {
                continue;
            }
            if came_from.len() + 1 == MOST_WALKED {
                return Walk::TooLong;
            }
            came_from.insert(blocks, round);
            next.push_back(blocks);
        }
    }
    Walk::Ends
}

fn way_to(last: RoundId, from: RoundId, came_from: &BTreeMap<RoundId, RoundId>) -> Vec<RoundId> {
    let mut way = vec![last];
    let mut at = last;
    while at != from
        && let Some(before) = came_from.get(&at)
    {
        at = *before;
        way.push(at);
    }
    way.reverse();
    way
}

/// The round that a seed draws: the one with the least SHA-256 of the seed's 32 bytes and the id as text
/// (rule 9). The seed is the hash of a block at a height that was fixed before it was known.
pub fn drawn(seed: Digest, rounds: impl IntoIterator<Item = RoundId>) -> Option<RoundId> {
    let ticket = |round: &RoundId| {
        let id = round.to_string();
        Digest::of_parts(&[seed.as_bytes(), id.as_bytes()])
    };
    rounds.into_iter().min_by_key(ticket)
}
