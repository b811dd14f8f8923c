//! Headers held by hash: one unbroken branch that ends at the last accepted head.
//!
//! Depth, reorgs and gaps are all questions about this branch. The window is pure: it says which
//! header it lacks, the caller fetches it. Growing by one head takes
//! [`Window::extend`] → any number of [`Window::resume`] → [`Window::accept`]; nothing changes
//! before `accept`, so a fetch that fails on the way costs nothing.

use x811_protocol::evm::BlockHash;
use x811_protocol::observation::Block;

use crate::source::Header;

/// Fewest headers a window can hold: about 8.5 minutes of Base.
pub const MIN_CAPACITY_BLOCKS: usize = 256;

/// One linked branch of headers, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    headers: Vec<Header>,
    fill_blocks: usize,
    capacity_blocks: usize,
}

/// What a new head means for the window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extension {
    /// It is the head we have.
    Unchanged,
    /// It is an older block of our own branch, or older than all we hold: the endpoint lags, or the
    /// chain has shrunk and will show another branch when it grows again. Neither is a reason to
    /// forget what was seen; a head that stays old makes the ledger blind.
    Behind,
    /// The header [`Branch::missing`] is needed to link it to what we hold.
    Needs(Branch),
    /// It can be accepted.
    Ready(Splice),
}

/// A new head with its ancestors so far, not yet linked to the window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    lowest: Header,
    /// What is above the lowest, head first.
    above: Vec<Header>,
}

impl Branch {
    /// The hash of the header to fetch next.
    pub fn missing(&self) -> BlockHash {
        self.lowest.parent
    }

    fn len(&self) -> usize {
        self.above.len() + 1
    }
}

/// A branch and the place where it is to be linked. Valid for the window that made it, until that
/// window changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    branch: Branch,
    /// How many held headers stay.
    kept: usize,
    dropped: usize,
}

impl Splice {
    /// Held headers that are replaced: 0 when the branch only grows.
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// The new headers, oldest first.
    pub fn headers(&self) -> impl Iterator<Item = &Header> {
        std::iter::once(&self.branch.lowest).chain(self.branch.above.iter().rev())
    }

    /// Height of the lowest new header.
    pub fn first_number(&self) -> u64 {
        self.branch.lowest.number
    }

    /// Whether nothing held is an ancestor of the new head, although something was held.
    pub fn is_restart(&self) -> bool {
        self.kept == 0 && self.dropped > 0
    }
}

/// What [`Window::accept`] changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advance {
    /// Headers that are new in the window's branch.
    pub added: usize,
    /// Headers that were replaced by a reorg.
    pub dropped: usize,
}

impl Window {
    /// An empty window that starts with `fill_blocks` headers (as many as *confirmed* needs) and
    /// holds at least [`MIN_CAPACITY_BLOCKS`].
    pub fn new(fill_blocks: usize) -> Window {
        let fill_blocks = fill_blocks.max(1);
        Window {
            headers: Vec::new(),
            fill_blocks,
            capacity_blocks: fill_blocks.max(MIN_CAPACITY_BLOCKS),
        }
    }

    /// A window over stored `headers`, oldest first.
    ///
    /// # Errors
    /// [`BrokenBranch`] when they are not one branch. Start with [`Window::new`] then.
    pub fn restore(headers: Vec<Header>, fill_blocks: usize) -> Result<Window, BrokenBranch> {
        for pair in headers.windows(2) {
            if !links(&pair[0], &pair[1]) {
                return Err(BrokenBranch {
                    number: pair[1].number,
                });
            }
        }
        let mut window = Window {
            headers,
            ..Window::new(fill_blocks)
        };
        window.trim();
        Ok(window)
    }

    /// The last accepted head.
    pub fn tip(&self) -> Option<&Header> {
        self.headers.last()
    }

    /// The oldest held header.
    pub fn base(&self) -> Option<&Header> {
        self.headers.first()
    }

    /// All held headers, oldest first.
    pub fn headers(&self) -> &[Header] {
        &self.headers
    }

    /// The held header at this height.
    pub fn at(&self, number: u64) -> Option<&Header> {
        let offset = number.checked_sub(self.base()?.number)?;
        self.headers.get(usize::try_from(offset).ok()?)
    }

    /// Whether the block of this height and hash is held.
    pub fn contains(&self, number: u64, hash: &BlockHash) -> bool {
        self.at(number).is_some_and(|held| held.hash == *hash)
    }

    /// Blocks from `block` to the head, both included; `None` when the block is not held.
    pub fn depth_of(&self, block: &Block) -> Option<u64> {
        let tip = self.tip()?;
        self.contains(block.number, &block.hash)
            .then(|| tip.number - block.number + 1)
    }

    /// What `head` means.
    pub fn extend(&self, head: Header) -> Extension {
        let below_all = self.base().is_some_and(|base| head.number < base.number);
        if self.tip() == Some(&head) {
            Extension::Unchanged
        } else if below_all || self.contains(head.number, &head.hash) {
            Extension::Behind
        } else {
            self.link(Branch {
                lowest: head,
                above: Vec::new(),
            })
        }
    }

    /// Goes on with the header that `branch` was missing.
    ///
    /// # Errors
    /// [`StrayHeader`] when `parent` is not that header.
    pub fn resume(&self, mut branch: Branch, parent: Header) -> Result<Extension, StrayHeader> {
        if !links(&parent, &branch.lowest) {
            return Err(StrayHeader {
                number: parent.number,
            });
        }
        branch
            .above
            .push(std::mem::replace(&mut branch.lowest, parent));
        Ok(self.link(branch))
    }

    /// The held headers that the splice replaces.
    pub fn dropped_by(&self, splice: &Splice) -> &[Header] {
        self.headers.get(splice.kept..).unwrap_or_default()
    }

    /// Makes the splice's branch the held one.
    pub fn accept(&mut self, splice: Splice) -> Advance {
        let added = splice.branch.len();
        self.headers.truncate(splice.kept);
        self.headers.push(splice.branch.lowest);
        self.headers.extend(splice.branch.above.into_iter().rev());
        self.trim();
        Advance {
            added,
            dropped: splice.dropped,
        }
    }

    fn link(&self, branch: Branch) -> Extension {
        let lowest = &branch.lowest;
        let parent = lowest
            .number
            .checked_sub(1)
            .and_then(|number| self.at(number))
            .filter(|held| held.hash == lowest.parent);
        if let (Some(parent), Some(tip)) = (parent, self.tip()) {
            let dropped = count(tip.number - parent.number);
            return Extension::Ready(Splice {
                branch,
                kept: self.headers.len() - dropped,
                dropped,
            });
        }
        let complete = lowest.number == 0
            || (branch.len() >= self.fill_blocks && !self.may_hold_ancestor_of(&branch));
        if complete {
            return Extension::Ready(Splice {
                branch,
                kept: 0,
                dropped: self.headers.len(),
            });
        }
        Extension::Needs(branch)
    }

    /// Whether walking on may still reach a held header, within one window's length.
    fn may_hold_ancestor_of(&self, branch: &Branch) -> bool {
        let (Some(base), Some(tip)) = (self.base(), self.tip()) else {
            return false;
        };
        let head = branch.above.first().unwrap_or(&branch.lowest);
        let gap = head.number.saturating_sub(tip.number);
        branch.lowest.number > base.number && count(gap) < self.capacity_blocks
    }

    fn trim(&mut self) {
        let surplus = self.headers.len().saturating_sub(self.capacity_blocks);
        self.headers.drain(..surplus);
    }
}

fn links(parent: &Header, child: &Header) -> bool {
    child.parent == parent.hash && child.number.checked_sub(1) == Some(parent.number)
}

fn count(blocks: u64) -> usize {
    usize::try_from(blocks).unwrap_or(usize::MAX)
}

/// Stored headers that are not one branch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "stored header {number} does not follow the one before it; the stored headers are not used"
)]
pub struct BrokenBranch {
    /// Height of the header that does not link.
    pub number: u64,
}

/// A header that was not asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the endpoint answered with header {number}, which is not the one asked for")]
pub struct StrayHeader {
    /// Height of the header that it answered with.
    pub number: u64,
}

#[cfg(test)]
mod tests;
