//! FORMAT.md is the contract with whoever reads a log without this code: its golden bytes, which
//! were made without this code, are held against it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of a test are test code"
)]

use sha2::Digest as _;
use x811_eventlog::tile::write_entries;
use x811_eventlog::{
    ChainVerifier, ConsistencyProof, Draft, Frontier, Hash, Head, InclusionProof, Record, Tile,
    root_of,
};

const FORMAT: &str = include_str!("../../FORMAT.md");

/// The lines inside the fenced blocks under the heading `title`.
fn blocks(title: &str) -> Vec<&'static str> {
    let (_, section) = FORMAT.split_once(&format!("\n### {title}\n")).expect(title);
    let section = section.split("\n### ").next().expect(title);
    section
        .split("```")
        .skip(1)
        .step_by(2)
        .filter_map(|block| block.lines().nth(1))
        .collect()
}

fn golden(position: u64) -> (&'static str, Hash) {
    let blocks = blocks(&format!("Position {position}"));
    let [leaf, hash] = blocks[..] else {
        panic!("a leaf and its hash: {blocks:?}")
    };
    (leaf, hash.parse().unwrap())
}

#[test]
fn rec_1_golden_leaves_are_read_and_hashed_as_published() {
    let mut verifier = ChainVerifier::new();
    for (position, event_type) in [(0, "ledger_opened"), (1, "parameters_set")] {
        let (leaf, hash) = golden(position);
        let record = Record::parse(leaf.as_bytes().to_vec()).unwrap();
        assert_eq!(record.hash(), hash);
        assert_eq!(record.bytes(), leaf.as_bytes());
        assert_eq!(
            (record.position(), record.stream_seq()),
            (position, position)
        );
        assert_eq!(
            (record.stream(), record.event()["type"].as_str()),
            ("ledger", Some(event_type))
        );
        assert_eq!(verifier.push(&record), []);
    }
    let (_, hash) = golden(1);
    assert_eq!(
        verifier.head(),
        Head {
            size: 2,
            hash,
            recorded_at_ms: 1_767_225_600_007
        }
    );
}

#[test]
fn rec_1_golden_leaves_are_sealed_from_their_members() {
    let mut prev = Hash::ZERO;
    for position in [0, 1] {
        let (leaf, hash) = golden(position);
        let members: serde_json::Value = serde_json::from_str(leaf).unwrap();
        let draft = Draft {
            recorded_at_ms: members["recorded_at_ms"].as_u64().unwrap(),
            stream: members["stream"].as_str().unwrap().to_owned(),
            stream_seq: members["stream_seq"].as_u64().unwrap(),
            event: members["event"].clone(),
        };
        let record = Record::seal(position, prev, draft).unwrap();
        assert_eq!(str::from_utf8(record.bytes()), Ok(leaf));
        assert_eq!(record.hash(), hash);
        prev = hash;
    }
}

/// Records far from the beginning: what stands at a thousandth place, and what erased bodies.
#[test]
fn rec_4_golden_roots_and_erasures_are_read_and_sealed_as_published() {
    let table = [
        (999, "roots", 0, "state_root"),
        (1_000, "ledger", 2, "bodies_erased"),
        (1_001, "ledger", 3, "ledger_key_rotated"),
        (1_002, "ledger", 4, "ledger_resumed"),
    ];
    let mut last = None;
    for (position, stream, stream_seq, event_type) in table {
        let (leaf, hash) = golden(position);
        let record = Record::parse(leaf.as_bytes().to_vec()).unwrap();
        assert_eq!(record.hash(), hash);
        assert_eq!((record.stream(), record.stream_seq()), (stream, stream_seq));
        assert_eq!(record.event_type(), event_type.as_bytes());
        assert!(last.is_none_or(|before| before == record.prev()));
        let draft = Draft {
            recorded_at_ms: record.recorded_at_ms(),
            stream: stream.to_owned(),
            stream_seq,
            event: record.event(),
        };
        let sealed = Record::seal(position, record.prev(), draft).unwrap();
        assert_eq!(sealed.bytes(), leaf.as_bytes());
        let section = FORMAT.split_once(&format!("### Position {position}\n"));
        let (introduction, _) = section.unwrap().1.split_once("```").unwrap();
        assert!(introduction.contains(&format!(" {} bytes", leaf.len())));
        last = Some(hash);
    }
}

#[test]
fn c2sp_golden_proofs_and_tiles_are_over_the_two_records() {
    let (leaves, hashes) = (
        [golden(0).0, golden(1).0].map(str::as_bytes),
        [golden(0).1, golden(1).1],
    );
    let root = root_of(&hashes);
    for (position, beside) in [(0, 1), (1, 0)] {
        let proof = InclusionProof {
            position,
            size: 2,
            path: vec![hashes[beside]],
        };
        assert_eq!(proof.verify(hashes[1 - beside], root), Ok(()));
    }
    let proof = ConsistencyProof {
        old_size: 1,
        new_size: 2,
        path: vec![hashes[1]],
    };
    assert_eq!(proof.verify(hashes[0], root), Ok(()));

    let names: Vec<String> = Tile::all(2).map(|tile| tile.to_string()).collect();
    assert_eq!(names, ["tile/entries/000.p/2", "tile/0/000.p/2"]);
    let entries = write_entries(leaves).unwrap();
    assert_eq!((&entries[..2], entries.len()), (&b"\x02\x50"[..], 1_374));
    let digest: [u8; 32] = sha2::Sha256::digest(&entries).into();
    let published = blocks("Proofs and tiles over both")[0];
    assert_eq!(Hash::from_bytes(digest).to_string(), published);
}

#[test]
fn rec_1_golden_tree_is_over_the_record_hashes() {
    let leaves = [golden(0).1, golden(1).1];
    let mut frontier = Frontier::new();
    leaves.iter().for_each(|leaf| frontier.push(*leaf));
    let root = blocks("Tree over both")[0].parse();
    assert_eq!(Ok(root_of(&leaves)), root);
    assert_eq!(Ok(frontier.root()), root);
}

#[test]
fn rec_1_published_limits_are_those_of_the_code() {
    let bytes = x811_eventlog::MAX_LEAF_BYTES;
    let limits = [
        format!(
            "| bytes of a leaf | at most {},{} |",
            bytes / 1_000,
            bytes % 1_000
        ),
        format!("| at most {} |", x811_eventlog::record::MAX_DEPTH),
        format!(
            "1 to {} characters",
            x811_eventlog::record::MAX_STREAM_CHARS
        ),
        format!("# The record, format {}\n", x811_eventlog::FORMAT_VERSION),
    ];
    for limit in limits {
        assert!(FORMAT.contains(&limit), "{limit}");
    }
}
