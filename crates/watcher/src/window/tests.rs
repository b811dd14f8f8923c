//! Branches are scripted as trees: a header's hash spells its branch and height, so that equal
//! heights on two branches differ.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// All blocks ever mined, by hash.
#[derive(Default)]
struct Tree {
    blocks: BTreeMap<[u8; 32], Header>,
}

impl Tree {
    /// Mines `blocks` blocks of branch `branch` on `parent` and answers with the last.
    fn mine(&mut self, parent: Option<Header>, branch: u8, blocks: u64) -> Header {
        let mut tip = parent;
        for _ in 0..blocks {
            let number = tip.map_or(0, |parent| parent.number + 1);
            let header = Header {
                number,
                hash: hash(branch, number),
                parent: tip.map_or(BlockHash::from_bytes([0; 32]), |parent| parent.hash),
                timestamp_s: 1_000 + 2 * number,
            };
            self.blocks.insert(*header.hash.as_bytes(), header);
            tip = Some(header);
        }
        tip.unwrap()
    }

    fn get(&self, hash: BlockHash) -> Header {
        self.blocks[hash.as_bytes()]
    }

    /// The ancestor of `header` at `number`.
    fn ancestor(&self, header: Header, number: u64) -> Header {
        let mut header = header;
        while header.number > number {
            header = self.get(header.parent);
        }
        header
    }

    /// Feeds `head` to `window`, filling gaps; `None` when it was not accepted. And the fetches.
    fn feed(&self, window: &mut Window, head: Header) -> (Option<Advance>, usize) {
        let mut fetches = 0;
        let mut extension = window.extend(head);
        loop {
            extension = match extension {
                Extension::Unchanged | Extension::Behind => return (None, fetches),
                Extension::Ready(splice) => return (Some(window.accept(splice)), fetches),
                Extension::Needs(branch) => {
                    fetches += 1;
                    let parent = self.get(branch.missing());
                    window.resume(branch, parent).unwrap()
                }
            };
        }
    }
}

fn hash(branch: u8, number: u64) -> BlockHash {
    let mut bytes = [branch; 32];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    BlockHash::from_bytes(bytes)
}

fn assert_linked(window: &Window) {
    for pair in window.headers().windows(2) {
        assert!(links(&pair[0], &pair[1]), "{pair:?}");
    }
}

#[test]
fn starts_with_as_many_headers_as_confirmed_needs() {
    let mut tree = Tree::default();
    let mut window = Window::new(12);
    let head = tree.mine(None, 1, 1_000);
    assert_eq!(
        tree.feed(&mut window, head),
        (
            Some(Advance {
                added: 12,
                dropped: 0
            }),
            11
        )
    );
    assert_eq!(window.base().unwrap().number, head.number - 11);
    assert_eq!(window.extend(head), Extension::Unchanged);
}

#[test]
fn starts_on_a_chain_shorter_than_that() {
    let mut tree = Tree::default();
    let mut window = Window::new(12);
    let head = tree.mine(None, 1, 3);
    assert_eq!(
        tree.feed(&mut window, head),
        (
            Some(Advance {
                added: 3,
                dropped: 0
            }),
            2
        )
    );
}

#[test]
fn a_gap_is_filled_before_the_head_is_accepted() {
    let mut tree = Tree::default();
    let mut window = Window::new(1);
    let first = tree.mine(None, 1, 10);
    tree.feed(&mut window, first);
    let head = tree.mine(Some(first), 1, 200);
    assert_eq!(
        tree.feed(&mut window, head),
        (
            Some(Advance {
                added: 200,
                dropped: 0
            }),
            199
        )
    );
    assert_linked(&window);
    for number in first.number..=head.number {
        assert_eq!(window.at(number), Some(&tree.ancestor(head, number)));
    }
}

#[test]
fn a_gap_longer_than_the_window_starts_anew() {
    let mut tree = Tree::default();
    let mut window = Window::new(12);
    let first = tree.mine(None, 1, 10);
    tree.feed(&mut window, first);
    let head = tree.mine(Some(first), 1, 5_000);
    let (advance, fetches) = tree.feed(&mut window, head);
    assert_eq!(
        (advance, fetches),
        (
            Some(Advance {
                added: 12,
                dropped: 10
            }),
            11
        )
    );
    assert_linked(&window);
}

#[test]
fn rule_23_reorgs_of_every_depth_are_noticed() {
    for depth in 1..=200u64 {
        let mut tree = Tree::default();
        let mut window = Window::new(1);
        let root = tree.mine(None, 1, 1);
        tree.feed(&mut window, root);
        let old = tree.mine(Some(root), 1, 250);
        tree.feed(&mut window, old);
        let fork = tree.ancestor(old, old.number - depth);
        let new = tree.mine(Some(fork), 2, depth + 1);
        let (advance, _) = tree.feed(&mut window, new);
        let depth_blocks = usize::try_from(depth).unwrap();
        assert_eq!(
            advance,
            Some(Advance {
                added: depth_blocks + 1,
                dropped: depth_blocks
            })
        );
        assert!(!window.contains(old.number, &old.hash));
        assert!(window.contains(fork.number, &fork.hash));
        assert_linked(&window);
    }
}

#[test]
fn rule_23_another_hash_at_the_same_height_is_a_reorg() {
    let mut tree = Tree::default();
    let mut window = Window::new(12);
    let old = tree.mine(None, 1, 40);
    tree.feed(&mut window, old);
    let new = tree.mine(Some(tree.get(old.parent)), 2, 1);
    assert_eq!(new.number, old.number);
    assert_eq!(
        tree.feed(&mut window, new),
        (
            Some(Advance {
                added: 1,
                dropped: 1
            }),
            0
        )
    );
    assert_eq!(window.tip(), Some(&new));
    assert_eq!(window.depth_of(&old.block()), None);
}

#[test]
fn rule_23_a_shorter_branch_is_a_reorg() {
    let mut tree = Tree::default();
    let mut window = Window::new(30);
    let old = tree.mine(None, 1, 40);
    tree.feed(&mut window, old);
    let fork = tree.ancestor(old, 20);
    let new = tree.mine(Some(fork), 2, 2);
    assert_eq!(
        tree.feed(&mut window, new),
        (
            Some(Advance {
                added: 2,
                dropped: 19
            }),
            1
        )
    );
    assert_eq!(window.tip(), Some(&new));
}

#[test]
fn a_reorg_below_the_window_replaces_it() {
    let mut tree = Tree::default();
    let mut window = Window::new(4);
    let old = tree.mine(None, 1, 40);
    tree.feed(&mut window, old);
    let new = tree.mine(Some(tree.ancestor(old, 5)), 2, 40);
    let Extension::Needs(_) = window.extend(new) else {
        panic!("links to nothing held")
    };
    let (advance, _) = tree.feed(&mut window, new);
    assert_eq!(advance.unwrap().dropped, 4);
    assert_eq!(window.tip(), Some(&new));
    assert!(window.headers().len() >= 4);
    assert_linked(&window);
}

#[test]
fn rule_25_a_head_going_backwards_takes_nothing_away() {
    let mut tree = Tree::default();
    let mut window = Window::new(30);
    let head = tree.mine(None, 1, 40);
    tree.feed(&mut window, head);
    let before = window.clone();
    for number in 1..head.number {
        assert_eq!(
            window.extend(tree.ancestor(head, number)),
            Extension::Behind
        );
    }
    assert_eq!(window, before);
}

#[test]
fn a_header_that_was_not_asked_for_is_refused() {
    let mut tree = Tree::default();
    let mut window = Window::new(4);
    let first = tree.mine(None, 1, 10);
    tree.feed(&mut window, first);
    let head = tree.mine(Some(first), 1, 3);
    let Extension::Needs(branch) = window.extend(head) else {
        panic!("a gap of two")
    };
    let wrong_number = Header {
        number: 3,
        ..tree.get(branch.missing())
    };
    for stray in [head, first, wrong_number] {
        let refused = window.resume(branch.clone(), stray);
        assert_eq!(
            refused,
            Err(StrayHeader {
                number: stray.number
            })
        );
    }
}

#[test]
fn depth_counts_both_ends_and_only_held_blocks() {
    let mut tree = Tree::default();
    let mut window = Window::new(12);
    let head = tree.mine(None, 1, 40);
    tree.feed(&mut window, head);
    assert_eq!(window.depth_of(&head.block()), Some(1));
    assert_eq!(window.depth_of(&tree.ancestor(head, 28).block()), Some(12));
    assert_eq!(window.depth_of(&tree.ancestor(head, 27).block()), None);
    let above = tree.mine(Some(head), 1, 1);
    assert_eq!(window.depth_of(&above.block()), None);
}

#[test]
fn stored_headers_are_distrusted() {
    let mut tree = Tree::default();
    let mut window = Window::new(30);
    let head = tree.mine(None, 1, 40);
    tree.feed(&mut window, head);
    let stored = window.headers().to_vec();
    assert_eq!(Window::restore(stored.clone(), 30), Ok(window));
    for broken in 1..stored.len() {
        let mut forged = stored.clone();
        forged[broken].parent = hash(9, 9);
        let number = forged[broken].number;
        assert_eq!(Window::restore(forged, 30), Err(BrokenBranch { number }));
        let mut short = stored.clone();
        short.remove(broken);
        let whole = broken == stored.len() - 1;
        assert_eq!(Window::restore(short, 30).is_ok(), whole);
    }
}

proptest! {
    /// Whatever forks, gaps and lagging heads come: the window is one linked branch of bounded
    /// length, and its tip is the last accepted head.
    #[test]
    fn window_is_one_linked_branch(
        fill in 1usize..20,
        steps in prop::collection::vec((0u64..40, 1u64..30, any::<bool>()), 1..60),
    ) {
        let mut tree = Tree::default();
        let mut window = Window::new(fill);
        let mut head = tree.mine(None, 0, 50);
        tree.feed(&mut window, head);
        for (step, (back, blocks, lag)) in (1u8..).zip(steps) {
            let fork = tree.ancestor(head, head.number.saturating_sub(back));
            let seen = if lag { fork } else { tree.mine(Some(fork), step, blocks) };
            let tip_before = *window.tip().unwrap();
            let (advance, _) = tree.feed(&mut window, seen);
            prop_assert_eq!(advance.is_some(), *window.tip().unwrap() != tip_before);
            if advance.is_some() {
                prop_assert_eq!(window.tip(), Some(&seen));
                head = seen;
            }
            for pair in window.headers().windows(2) {
                prop_assert!(links(&pair[0], &pair[1]));
            }
            prop_assert!(window.headers().len() <= MIN_CAPACITY_BLOCKS);
            for header in window.headers() {
                prop_assert_eq!(*header, tree.ancestor(head, header.number));
                let depth = head.number - header.number + 1;
                prop_assert_eq!(window.depth_of(&header.block()), Some(depth));
            }
        }
    }
}
