//! Inclusion and consistency proofs: built from stored nodes, held against another's tree
//! (ct-merkle), and refused after every change.

#![expect(clippy::unwrap_used, reason = "test helpers outside #[test] functions")]

use std::convert::Infallible;

use ct_merkle::mem_backed_tree::MemoryBackedTree;
use ct_merkle::{ConsistencyProof as TheirConsistency, InclusionProof as TheirInclusion, RootHash};
use proptest::prelude::*;
use sha2::Sha256;
use x811_eventlog::consistency::ConsistencyError;
use x811_eventlog::inclusion::InclusionError;
use x811_eventlog::tile::{HashTile, Tile, TileContent};
use x811_eventlog::{ConsistencyProof, Hash, InclusionProof, Node, TileEdge, root_of};

fn entry(n: u64) -> Vec<u8> {
    format!("entry {n}").into_bytes()
}

fn leaves(size: u64) -> Vec<Hash> {
    (0..size).map(|n| Hash::of_leaf(&entry(n))).collect()
}

/// Straight from the definition.
fn node_of(leaves: &[Hash]) -> impl FnMut(Node) -> Result<Hash, Infallible> {
    |node| {
        let from = (node.index() << node.level()) as usize;
        Ok(root_of(&leaves[from..from + (1 << node.level())]))
    }
}

fn inclusion(leaves: &[Hash], position: u64) -> InclusionProof {
    let size = leaves.len() as u64;
    let Ok(proof) = InclusionProof::build(position, size, node_of(leaves));
    proof.unwrap()
}

fn consistency(leaves: &[Hash], old_size: u64) -> ConsistencyProof {
    let size = leaves.len() as u64;
    let Ok(proof) = ConsistencyProof::build(old_size, size, node_of(leaves));
    proof.unwrap()
}

fn their_tree(size: u64) -> MemoryBackedTree<Sha256, Vec<u8>> {
    let mut tree = MemoryBackedTree::new();
    (0..size).for_each(|n| tree.push(entry(n)));
    tree
}

fn bytes(path: &[Hash]) -> Vec<u8> {
    path.iter().flat_map(|hash| *hash.as_bytes()).collect()
}

fn agrees_on_inclusion(theirs: &MemoryBackedTree<Sha256, Vec<u8>>, leaves: &[Hash], position: u64) {
    let (size, root) = (leaves.len() as u64, root_of(leaves));
    let proof = inclusion(leaves, position);
    let case = format!("{position} of {size}");
    assert_eq!(
        proof.verify(leaves[position as usize], root),
        Ok(()),
        "{case}"
    );
    let their_proof = theirs.prove_inclusion(position as usize);
    assert_eq!(their_proof.as_bytes(), bytes(&proof.path), "{case}");
    let ours = TheirInclusion::<Sha256>::from_bytes(bytes(&proof.path));
    let their_root = RootHash::<Sha256>::new((*root.as_bytes()).into(), size);
    let verdict = their_root.verify_inclusion(&entry(position), position, &ours);
    assert!(verdict.is_ok(), "{case}: {verdict:?}");
}

fn agrees_on_consistency(theirs: &MemoryBackedTree<Sha256, Vec<u8>>, leaves: &[Hash], old: u64) {
    let size = leaves.len() as u64;
    let (old_root, root) = (root_of(&leaves[..old as usize]), root_of(leaves));
    let proof = consistency(leaves, old);
    let case = format!("{old} to {size}");
    assert_eq!(proof.verify(old_root, root), Ok(()), "{case}");
    let their_proof = theirs.prove_consistency((size - old) as usize);
    assert_eq!(their_proof.as_bytes(), bytes(&proof.path), "{case}");
    let ours = TheirConsistency::<Sha256>::try_from_bytes(bytes(&proof.path)).unwrap();
    let [their_old, their_new] = [(old_root, old), (root, size)]
        .map(|(root, size)| RootHash::<Sha256>::new((*root.as_bytes()).into(), size));
    let verdict = their_new.verify_consistency(&their_old, &ours);
    assert!(verdict.is_ok(), "{case}: {verdict:?}");
}

#[test]
fn every_inclusion_and_consistency_pair_up_to_130_agrees_with_another_tree() {
    for size in 1..=130 {
        let (theirs, leaves) = (their_tree(size), leaves(size));
        for n in 0..size {
            agrees_on_inclusion(&theirs, &leaves, n);
            if n > 0 {
                agrees_on_consistency(&theirs, &leaves, n);
            }
        }
    }
}

#[test]
fn every_foreign_pair_is_refused() {
    let leaves = leaves(40);
    let roots: Vec<Hash> = (0..=40).map(|size| root_of(&leaves[..size])).collect();
    for size in 1..=40_usize {
        for position in 0..size {
            let proof = inclusion(&leaves[..size], position as u64);
            for other in (0..40).filter(|other| *other != position) {
                assert!(proof.verify(leaves[other], roots[size]).is_err());
            }
            for other in (0..=40).filter(|other| *other != size) {
                assert!(proof.verify(leaves[position], roots[other]).is_err());
                let moved = InclusionProof {
                    size: other as u64,
                    ..proof.clone()
                };
                let verdict = moved.verify(leaves[position], roots[other]);
                assert!(verdict.is_err(), "{position} of {size} as of {other}");
            }
        }
        for old in 1..size {
            let proof = consistency(&leaves[..size], old as u64);
            for other in (0..=40).filter(|other| *other != old) {
                assert_eq!(
                    proof.verify(roots[other], roots[size]),
                    Err(ConsistencyError::Roots)
                );
            }
            for other in (0..=40).filter(|other| *other != size) {
                assert!(proof.verify(roots[old], roots[other]).is_err());
            }
        }
    }
}

#[test]
fn what_is_outside_a_tree_has_no_proof() {
    let leaves = leaves(7);
    for (position, size) in [(0, 0), (7, 7), (8, 7), (u64::MAX, 7)] {
        assert_eq!(InclusionProof::subtrees(position, size), None);
        let forged = InclusionProof {
            position,
            size,
            path: Vec::new(),
        };
        let outside = InclusionError::Outside { position, size };
        assert_eq!(forged.root(leaves[0]), Err(outside));
    }
    assert_eq!(ConsistencyProof::subtrees(8, 7), None);
    let shrunk = ConsistencyProof {
        old_size: 8,
        new_size: 7,
        path: Vec::new(),
    };
    assert!(matches!(
        shrunk.verify(root_of(&leaves), root_of(&leaves)),
        Err(ConsistencyError::Shrunk { .. })
    ));
}

#[test]
fn an_empty_tree_and_an_equal_one_need_no_hashes_and_take_none() {
    let leaves = leaves(5);
    let (empty, root) = (root_of(&[]), root_of(&leaves));
    let nothing = consistency(&leaves, 0);
    assert_eq!(nothing.path, []);
    assert_eq!(nothing.verify(empty, root), Ok(()));
    assert_eq!(nothing.verify(root, root), Err(ConsistencyError::Roots));
    let equal = consistency(&leaves, 5);
    assert_eq!(equal.path, []);
    assert_eq!(equal.verify(root, root), Ok(()));
    assert_eq!(equal.verify(empty, root), Err(ConsistencyError::Roots));
    for proof in [nothing, equal] {
        let mut longer = proof.clone();
        longer.path.push(root);
        let old_root = if proof.old_size == 0 { empty } else { root };
        assert!(matches!(
            longer.verify(old_root, root),
            Err(ConsistencyError::Length { found: 1, .. })
        ));
    }
}

/// A tree's tiles by their names, made as a log grows.
fn tiles(leaves: &[Hash]) -> Vec<HashTile> {
    let (mut edge, mut full) = (TileEdge::new(), Vec::new());
    for leaf in leaves {
        edge.push(*leaf, |tile| full.push(tile));
    }
    full.extend(edge.tiles());
    full
}

#[test]
fn tiles_hold_every_node_that_a_proof_needs() {
    for size in [1, 2, 255, 256, 257, 511, 512, 513, 70_000_u64] {
        let leaves = leaves(size);
        let tiles = tiles(&leaves);
        let mut expected: Vec<Tile> = Tile::all(size).collect();
        expected.retain(|tile| tile.content != TileContent::Entries);
        let mut found: Vec<Tile> = tiles.iter().map(HashTile::tile).collect();
        found.sort_by_key(|tile| (tile.content, tile.index));
        assert_eq!(found, expected, "size {size}");

        let from_tiles = |node: Node| {
            let named = Tile::with_node(node, size).unwrap();
            let tile = tiles.iter().find(|tile| tile.tile() == named).unwrap();
            let tile = HashTile::from_bytes(named, &tile.to_bytes()).unwrap();
            Ok::<_, Infallible>(tile.node(node).unwrap())
        };
        let root = root_of(&leaves);
        for position in [0, size / 3, size / 2, size - 1] {
            let Ok(proof) = InclusionProof::build(position, size, from_tiles);
            let verdict = proof.unwrap().verify(leaves[position as usize], root);
            assert_eq!(verdict, Ok(()), "{position} of {size}");
            let Ok(proof) = ConsistencyProof::build(position, size, from_tiles);
            let old_root = root_of(&leaves[..position as usize]);
            assert_eq!(proof.unwrap().verify(old_root, root), Ok(()));
        }
    }
}

/// What a writer of tiles keeps is what the files at its right edge say.
#[test]
fn a_tree_goes_on_behind_its_tiles() {
    use x811_eventlog::tile::EdgeError;
    let leaves = leaves(1_200);
    let mut edge = TileEdge::new();
    for (size, leaf) in leaves.iter().enumerate() {
        let partial: Vec<HashTile> = edge.tiles().collect();
        let again = TileEdge::behind(size as u64, |tile| {
            let stored = partial.iter().find(|stored| stored.tile() == tile);
            Ok::<_, EdgeError>(stored.unwrap().hashes().to_vec())
        });
        assert_eq!(again.as_ref(), Ok(&edge), "{size}");
        let mut again = again.unwrap();
        again.push(*leaf, drop);
        edge.push(*leaf, drop);
        assert_eq!(again, edge);
    }
    assert_eq!(edge.size(), 1_200);
    let cut = TileEdge::behind(7, |_| Ok::<_, EdgeError>(leaves[..6].to_vec()));
    assert!(cut.is_err(), "{cut:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn large_trees_agree_with_another_tree(
        size in 1..=600_u64,
        at in any::<prop::sample::Index>(),
    ) {
        let (theirs, leaves) = (their_tree(size), leaves(size));
        let n = at.index(size as usize) as u64;
        agrees_on_inclusion(&theirs, &leaves, n);
        if n > 0 {
            agrees_on_consistency(&theirs, &leaves, n);
        }
    }

    #[test]
    fn every_change_of_a_proof_is_noticed(
        size in 2..=600_u64,
        at in any::<prop::sample::Index>(),
        hash in any::<prop::sample::Index>(),
        bit in 0..256_usize,
    ) {
        let leaves = leaves(size);
        let (n, root) = (at.index(size as usize - 1) as u64 + 1, root_of(&leaves));
        let flip = |path: &mut Vec<Hash>| {
            let at = hash.index(path.len());
            let mut bytes = *path[at].as_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            path[at] = Hash::from_bytes(bytes);
        };
        let shorter = |path: &mut Vec<Hash>| {
            path.remove(hash.index(path.len()));
        };
        let longer = |path: &mut Vec<Hash>| path.insert(hash.index(path.len() + 1), path[0]);

        let leaf = leaves[n as usize - 1];
        let (old_root, consistency) = (root_of(&leaves[..n as usize]), consistency(&leaves, n));
        for change in 0..3 {
            let change = |path: &mut Vec<Hash>| match change {
                0 => flip(path),
                1 => shorter(path),
                _ => longer(path),
            };
            let mut proof = inclusion(&leaves, n - 1);
            change(&mut proof.path);
            prop_assert!(proof.verify(leaf, root).is_err());
            if !consistency.path.is_empty() {
                let mut proof = consistency.clone();
                change(&mut proof.path);
                prop_assert!(proof.verify(old_root, root).is_err());
            }
        }
    }

    #[test]
    fn no_size_makes_a_verifier_panic(
        position in any::<u64>(),
        size in any::<u64>(),
        length in 0..70_usize,
    ) {
        let path = vec![Hash::ZERO; length];
        let inclusion = InclusionProof { position, size, path: path.clone() };
        prop_assert!(inclusion.verify(Hash::ZERO, Hash::ZERO).is_err());
        let consistency = ConsistencyProof { old_size: position, new_size: size, path };
        let is_plain = position == size && length == 0;
        prop_assert_eq!(consistency.verify(Hash::ZERO, Hash::ZERO).is_ok(), is_plain);
    }
}
