//! Incidents of other logs, told against the proofs and tiles of this one (tests/INCIDENTS.md).

use proptest::prelude::*;
use x811_eventlog::tile::Tile;
use x811_eventlog::{ConsistencyProof, Hash, InclusionProof, Node, root_of};

/// Trees of up to this many records; every shape of a proof occurs among them.
const MAX_SIZE: usize = 17;

fn leaves() -> Vec<Hash> {
    let leaf = |n: usize| Hash::of_leaf(format!("entry {n}").as_bytes());
    (0..MAX_SIZE).map(leaf).collect()
}

/// The hash over the records below `node`.
fn below(leaves: &[Hash], node: Node) -> Hash {
    let from = (node.index() << node.level()) as usize;
    root_of(&leaves[from..from + (1 << node.level())])
}

/// A server showed proofs of another shape than the sizes that they name, and clients took them
/// (GHSA-672p-m5jq-mrh8): history that was not in the tree.
#[test]
fn incident_forged_proof_shape_immudb_ghsa() {
    let leaves = leaves();
    let roots: Vec<Hash> = (0..=MAX_SIZE)
        .map(|size| root_of(&leaves[..size]))
        .collect();
    let node = |node| Ok::<_, std::convert::Infallible>(below(&leaves, node));
    for size in 1..=MAX_SIZE {
        for at in 0..size {
            let Ok(Some(good)) = InclusionProof::build(at as u64, size as u64, node) else {
                panic!("{at} is in {size}");
            };
            assert_eq!(good.verify(leaves[at], roots[size]), Ok(()));
            // Every other number of hashes, in front and behind, and no record but a node.
            for path in shapes(&good.path, &leaves) {
                let forged = InclusionProof {
                    path,
                    ..good.clone()
                };
                assert!(
                    forged.verify(leaves[at], roots[size]).is_err(),
                    "{forged:?}"
                );
            }
            for (skipped, _) in good.path.iter().enumerate() {
                let inner = inner_nodes(&leaves, at, skipped + 1);
                let path = good.path[skipped + 1..].to_vec();
                let forged = InclusionProof {
                    path,
                    ..good.clone()
                };
                for node in inner {
                    assert!(forged.verify(node, roots[size]).is_err(), "{forged:?}");
                }
            }
            let old = at + 1;
            let Ok(Some(good)) = ConsistencyProof::build(old as u64, size as u64, node) else {
                panic!("{old} leads to {size}");
            };
            assert_eq!(good.verify(roots[old], roots[size]), Ok(()));
            for path in shapes(&good.path, &leaves) {
                let forged = ConsistencyProof {
                    path,
                    ..good.clone()
                };
                assert!(
                    forged.verify(roots[old], roots[size]).is_err(),
                    "{forged:?}"
                );
            }
            // The same hashes, said to lead from and to other sizes.
            for other in (1..=MAX_SIZE).filter(|other| *other != old) {
                let sizes = (good.old_size, good.new_size);
                let moved = ConsistencyProof {
                    old_size: other as u64,
                    ..good.clone()
                };
                assert!(
                    moved.verify(roots[other], roots[size]).is_err(),
                    "{sizes:?}"
                );
                let kept = moved.verify(roots[old], roots[size]);
                assert!(kept.is_err() || other == old, "{sizes:?} as {other}");
            }
        }
    }
}

/// The path with a hash too many or too few, wherever it may be.
fn shapes(good: &[Hash], leaves: &[Hash]) -> Vec<Vec<Hash>> {
    let mut shapes = Vec::new();
    for at in 0..=good.len() {
        for more in [leaves[0], Hash::ZERO] {
            let mut longer = good.to_vec();
            longer.insert(at, more);
            shapes.push(longer);
        }
        if at < good.len() {
            let mut shorter = good.to_vec();
            shorter.remove(at);
            shapes.push(shorter);
            shapes.push(good[..at].to_vec());
        }
    }
    shapes
}

/// The hashes of whole subtrees up to that level which hold the record: nothing that was logged.
fn inner_nodes(leaves: &[Hash], at: usize, levels: usize) -> Vec<Hash> {
    let whole = (1..=levels).map(|level| (at >> level << level, 1 << level));
    let whole = whole.filter(|(from, width)| from + width <= leaves.len());
    whole
        .map(|(from, width)| root_of(&leaves[from..from + width]))
        .collect()
}

proptest! {
    /// A path that somebody made up brought the server down.
    #[test]
    fn incident_path_parser_panic_tlog_tiles(
        path in prop_oneof![
            "\\PC{0,80}",
            "tile/(entries|[0-9]{0,25})/(x?[0-9]{0,25}/){0,9}x?[0-9]{0,25}(\\.p/?[0-9]{0,25}){0,2}",
            "[tile/x0-9.pé٠]{0,60}",
        ],
        cut in any::<prop::sample::Index>(),
    ) {
        let end = path.char_indices().map(|(at, _)| at).chain([path.len()]);
        let ends: Vec<usize> = end.collect();
        for path in [&path[..], &path[..ends[cut.index(ends.len())]]] {
            if let Ok(tile) = path.parse::<Tile>() {
                prop_assert_eq!(tile.to_string(), path);
                // What the server asks of it next.
                for size in [0, 1, 257, u64::MAX] {
                    prop_assert!(!tile.is_in(size) || size > 0);
                }
            }
        }
    }
}
