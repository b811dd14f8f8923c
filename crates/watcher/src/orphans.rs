//! Headers that reorganisations took from the held branch: of a head that the ledger recorded they say
//! where it stands (ledger-contract.md section 5, "Age").

use std::collections::BTreeMap;

use x811_protocol::evm::BlockHash;
use x811_protocol::observation::{ForkPoint, RecordedBranch};

use crate::source::Header;
use crate::window::Window;

/// Most that are kept, some 400 kB; the lowest go first.
const MOST_KEPT: usize = 4_096;

/// Headers that are on no held branch any more, by height and hash.
#[derive(Debug, Default)]
pub(crate) struct Orphans {
    headers: BTreeMap<(u64, BlockHash), Orphan>,
    /// Heights below this may have been forgotten.
    complete_from: u64,
}

/// A header of another branch.
#[derive(Debug, Clone, Copy)]
struct Orphan {
    header: Header,
    /// Where its branch parts from the held one; `None` where the headers between are not known.
    fork: Option<ForkPoint>,
}

impl Orphans {
    /// Takes in what a reorganisation dropped; `window` holds the branch that came in its place,
    /// `linked` says whether it follows from what was held before.
    pub(crate) fn dropped(&mut self, dropped: &[Header], window: &Window, linked: bool) {
        for header in dropped {
            let orphan = Orphan {
                header: *header,
                fork: None,
            };
            self.headers.insert((header.number, header.hash), orphan);
        }
        self.headers
            .retain(|(number, hash), _| !window.contains(*number, hash));
        let known: Vec<(u64, BlockHash)> = self.headers.keys().copied().collect();
        // From below, so that each finds the fork of its parent.
        for key in known {
            let fork = self.fork_of(key, window, linked);
            if let Some(orphan) = self.headers.get_mut(&key) {
                orphan.fork = fork;
            }
        }
        while self.headers.len() > MOST_KEPT
            && let Some(((number, _), _)) = self.headers.pop_first()
        {
            self.complete_from = number + 1;
        }
    }

    fn fork_of(&self, key: (u64, BlockHash), window: &Window, linked: bool) -> Option<ForkPoint> {
        let Orphan { header, fork } = self.headers.get(&key)?;
        let number = header.number.checked_sub(1)?;
        let hash = header.parent;
        if window.contains(number, &hash) {
            return Some(ForkPoint { hash, number });
        }
        if let Some(parent) = self.headers.get(&(number, hash)) {
            return parent.fork;
        }
        // Below all that is held the branch is the one it was, where it was not started anew.
        let base = window.base()?.number;
        fork.filter(|fork| linked && fork.number < base)
    }

    /// Where the block of this height and hash stands, if it was dropped.
    pub(crate) fn told(&self) -> impl Iterator<Item = (BlockHash, RecordedBranch)> {
        self.headers.values().map(|orphan| {
            let branch = orphan
                .fork
                .map_or(RecordedBranch::Lost, RecordedBranch::Forked);
            (orphan.header.hash, branch)
        })
    }

    /// From this height on nothing that was dropped has been forgotten.
    pub(crate) const fn complete_from(&self) -> u64 {
        self.complete_from
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::Extension;

    fn hash(branch: u8, number: u64) -> BlockHash {
        let mut bytes = [branch; 32];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        BlockHash::from_bytes(bytes)
    }

    /// A header of `branch` that parts from branch 0 behind `fork`.
    fn header(branch: u8, fork: u64, number: u64) -> Header {
        let on = |number| if number <= fork { 0 } else { branch };
        Header {
            number,
            hash: hash(on(number), number),
            parent: hash(on(number - 1), number - 1),
            timestamp_s: number,
        }
    }

    fn follow(window: &mut Window, orphans: &mut Orphans, headers: &[Header]) {
        let mut extension = window.extend(*headers.last().unwrap());
        for parent in headers.iter().rev().skip(1) {
            if let Extension::Needs(branch) = extension {
                extension = window.resume(branch, *parent).unwrap();
            }
        }
        let Extension::Ready(splice) = extension else {
            panic!("it links: {extension:?}");
        };
        let dropped = window.dropped_by(&splice).to_vec();
        let linked = !splice.is_restart();
        window.accept(splice);
        orphans.dropped(&dropped, window, linked);
    }

    fn at(orphans: &Orphans, wanted: BlockHash) -> Option<RecordedBranch> {
        let mut told = orphans.told();
        told.find_map(|(hash, branch)| (hash == wanted).then_some(branch))
    }

    fn forked(number: u64) -> RecordedBranch {
        let hash = hash(0, number);
        RecordedBranch::Forked(ForkPoint { hash, number })
    }

    #[test]
    fn lc_5_a_dropped_head_names_the_last_block_that_both_branches_have() {
        let (mut window, mut orphans) = (Window::new(1), Orphans::default());
        let first: Vec<Header> = (1..=20).map(|number| header(0, 99, number)).collect();
        for header in &first {
            follow(&mut window, &mut orphans, &[*header]);
        }
        assert_eq!(orphans.told().count(), 0);
        let second: Vec<Header> = (16..=21).map(|number| header(1, 15, number)).collect();
        follow(&mut window, &mut orphans, &second);
        for number in 16..=20 {
            assert_eq!(at(&orphans, hash(0, number)), Some(forked(15)), "{number}");
        }
        assert_eq!(at(&orphans, hash(0, 15)), None);
        // A deeper one takes the fork of those that were dropped before along.
        let third: Vec<Header> = (11..=22).map(|number| header(2, 10, number)).collect();
        follow(&mut window, &mut orphans, &third);
        assert_eq!(at(&orphans, hash(0, 20)), Some(forked(10)));
        assert_eq!(at(&orphans, hash(1, 20)), Some(forked(10)));
        // Back on the first branch, to its block 18: from there up it parts, below it does not.
        let mut back: Vec<Header> = first[10..18].to_vec();
        back.extend((19..=23).map(|number| header(3, 18, number)));
        follow(&mut window, &mut orphans, &back);
        assert_eq!(at(&orphans, hash(0, 17)), None);
        assert_eq!(at(&orphans, hash(0, 20)), Some(forked(18)));
        assert_eq!(at(&orphans, hash(2, 20)), Some(forked(10)));
    }

    #[test]
    fn lc_5_a_branch_that_follows_from_nothing_leaves_every_fork_unknown() {
        let (mut window, mut orphans) = (Window::new(1), Orphans::default());
        for number in 1..=20 {
            follow(&mut window, &mut orphans, &[header(0, 99, number)]);
        }
        let far = header(9, 0, 2_000);
        follow(&mut window, &mut orphans, &[far]);
        assert_eq!(at(&orphans, hash(0, 20)), Some(RecordedBranch::Lost));
    }

    #[test]
    fn lc_5_what_is_kept_of_dropped_branches_is_bounded() {
        let mut orphans = Orphans::default();
        let window = Window::new(1);
        let many: Vec<Header> = (1..=5_000).map(|number| header(0, 9_999, number)).collect();
        orphans.dropped(&many, &window, false);
        assert_eq!(orphans.told().count(), MOST_KEPT);
        assert_eq!(orphans.complete_from(), 5_000 - 4_096 + 1);
    }
}
