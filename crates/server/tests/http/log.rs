//! The log in tiles, its checkpoint and proofs: who may read them, and that they hold together.

use crate::readers::readers;
use crate::signing::{Claim, both};
use crate::world::{Agent, Deal, PATIENCE, Reply, World};
use reqwest::header::{CACHE_CONTROL, CONTENT_TYPE};
use serde_json::Value;
use x811_audit::checkpoint_note::verifies;
use x811_eventlog::note::NoteKey;
use x811_eventlog::tile::{TILE_WIDTH, TileContent, read_entries};
use x811_eventlog::{Checkpoint, Hash, HashTile, Policy, Tile, TlogProof, root_of};
use x811_server::LogReaders;

const FOR_EVERYBODY: &str = "public, max-age=31536000, immutable";
const FOR_ONE: &str = "private, max-age=31536000, immutable";

/// An answer that is no text.
struct Fetched {
    status: u16,
    content_type: String,
    cached: String,
    bytes: Vec<u8>,
}

async fn fetch(world: &World, path: &str, reader: Option<&Agent>) -> Fetched {
    let mut request = world.http.get(format!("{}{path}", world.base));
    if let Some(reader) = reader {
        let fields = Claim::of(world, reader, path).sign();
        for (name, value) in both(&fields) {
            request = request.header(name, value);
        }
    }
    let answer = request.send().await.unwrap();
    let field = |name| {
        let value = answer.headers().get(name);
        value.map_or("", |value| value.to_str().unwrap()).to_owned()
    };
    Fetched {
        status: answer.status().as_u16(),
        content_type: field(CONTENT_TYPE),
        cached: field(CACHE_CONTROL),
        bytes: answer.bytes().await.unwrap().to_vec(),
    }
}

/// What a verifier needs, from the ledger's own page.
async fn policy(world: &World) -> Policy {
    let shown = world.get("/.well-known/x811.json").await.expect(200);
    let vkey = shown["checkpoint_vkey"].as_str().unwrap();
    Policy::of_log(NoteKey::from_vkey(vkey).unwrap())
}

/// How often a checkpoint is looked for before the clock is moved again. Each look lets the one that signs go
/// on; a clock that runs away meanwhile would end windows of what the test is about.
const LOOKS_A_SECOND: usize = 100;

/// The checkpoint over everything that is in the log now.
pub(crate) async fn checkpoint(world: &World) -> Checkpoint {
    let policy = policy(world).await;
    let size = world.get("/ready").await.json()["size"].as_u64().unwrap();
    let signed = async {
        loop {
            world.clock.advance_ms(1_000);
            for _ in 0..LOOKS_A_SECOND {
                let checkpoint = last_checkpoint(world, &policy).await;
                if let Some(checkpoint) = checkpoint.filter(|last| last.size >= size) {
                    return checkpoint;
                }
                tokio::task::yield_now().await;
            }
        }
    };
    tokio::time::timeout(PATIENCE, signed).await.unwrap()
}

/// The last checkpoint; `None` where none is signed yet.
async fn last_checkpoint(world: &World, policy: &Policy) -> Option<Checkpoint> {
    let answer = fetch(world, "/log/checkpoint", None).await;
    if answer.status == 503 {
        return None;
    }
    assert_eq!(answer.status, 200);
    assert_eq!(answer.content_type, "text/plain; charset=utf-8");
    assert_eq!(answer.cached, "public, max-age=1");
    let note = String::from_utf8(answer.bytes).unwrap();
    Some(policy.check(&note, verifies).unwrap().checkpoint)
}

async fn public() -> World {
    World::start_with(|config| {
        config.open_reads = false;
        config.log_readers = LogReaders::Public;
    })
    .await
}

#[tokio::test]
async fn c2sp_the_tiles_of_a_log_are_its_records_and_lead_to_its_checkpoint() {
    let world = public().await;
    let mut agents = Vec::new();
    while agents.len() < 270 {
        agents.push(world.agent().await);
    }
    let checkpoint = checkpoint(&world).await;
    assert!(checkpoint.size > u64::from(TILE_WIDTH));
    let (mut leaves, mut hashes) = (Vec::new(), Vec::new());
    for tile in Tile::all(checkpoint.size) {
        let answer = fetch(&world, &format!("/log/{tile}"), None).await;
        assert_eq!(answer.status, 200, "{tile}");
        assert_eq!(answer.content_type, "application/octet-stream");
        assert_eq!(answer.cached, FOR_EVERYBODY);
        match tile.content {
            TileContent::Entries => {
                let entries = read_entries(&answer.bytes, tile.width).unwrap();
                leaves.extend(entries.into_iter().map(Hash::of_leaf));
            }
            TileContent::Hashes(0) => {
                let tile = HashTile::from_bytes(tile, &answer.bytes).unwrap();
                hashes.extend_from_slice(tile.hashes());
            }
            TileContent::Hashes(1) => {
                let tile = HashTile::from_bytes(tile, &answer.bytes).unwrap();
                assert_eq!(tile.hashes(), [root_of(&leaves[..256])]);
            }
            TileContent::Hashes(_) => panic!("{tile}"),
        }
    }
    assert_eq!(leaves, hashes);
    assert_eq!(root_of(&leaves), checkpoint.root);

    // A narrower one belongs to an earlier tree, and begins with the same bytes.
    let full = fetch(&world, "/log/tile/0/000", None).await.bytes;
    for width in [1, 2, 255] {
        let path = format!("/log/tile/0/000.p/{width}");
        let narrow = fetch(&world, &path, None).await;
        assert_eq!((narrow.status, &*narrow.bytes), (200, &full[..32 * width]));
    }
}

#[tokio::test]
async fn c2sp_what_the_tree_does_not_have_is_404() {
    let world = public().await;
    let narrower = checkpoint(&world).await.size;
    // Time goes on while the checkpoint is waited for, and a record of it may follow.
    let wider = TILE_WIDTH - 1;
    for path in [
        "/log/tile/0/000".to_owned(),
        "/log/tile/entries/000".to_owned(),
        format!("/log/tile/0/000.p/{wider}"),
        format!("/log/tile/entries/000.p/{wider}"),
        "/log/tile/0/001.p/1".to_owned(),
        "/log/tile/1/000.p/1".to_owned(),
        "/log/tile/64/000.p/1".to_owned(),
        "/log/tile/00/000.p/1".to_owned(),
        "/log/tile/x/000.p/1".to_owned(),
        "/log/tile/0/000.p/01".to_owned(),
        "/log/tile/0/000.p/0".to_owned(),
        "/log/tile/0/0.p/1".to_owned(),
        "/log/tile/0/x000/000.p/1".to_owned(),
        "/log/tile/0/x018/x446/x744/x073/x709/x551/615.p/1".to_owned(),
        "/log/tile/0/%00".to_owned(),
        "/log/tile/0".to_owned(),
        "/log/tile".to_owned(),
        "/log".to_owned(),
    ] {
        let answer = fetch(&world, &path, None).await;
        assert_eq!(answer.status, 404, "{path}");
        let body: Value = serde_json::from_slice(&answer.bytes).unwrap();
        assert_eq!(body["code"], "X811-4001", "{path}");
        assert_ne!(answer.cached, FOR_EVERYBODY);
    }
    for path in ["0", "entries"].map(|what| format!("/log/tile/{what}/000.p/{narrower}")) {
        assert_eq!(fetch(&world, &path, None).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn promise_7_the_log_as_a_whole_is_for_auditors_unless_it_is_public() {
    let (world, [party, _, _, auditor]) = readers().await;
    checkpoint(&world).await;
    for path in ["/log/tile/0/000.p/1", "/log/tile/entries/000.p/1"] {
        let unsigned = fetch(&world, path, None).await;
        assert_eq!(unsigned.status, 401);
        let others = fetch(&world, path, Some(&party)).await;
        assert_eq!(others.status, 403);
        let read = fetch(&world, path, Some(&auditor)).await;
        assert_eq!((read.status, &*read.cached), (200, FOR_ONE));
        // Names are not even looked at for others.
        let nothing = path.replace("000.p/1", "999");
        assert_eq!(fetch(&world, &nothing, None).await.status, 401);
        assert_eq!(fetch(&world, &nothing, Some(&auditor)).await.status, 404);
    }
}

/// What is answered once a checkpoint is signed, for which the clock has to go on; not for so long
/// that the server gives up waiting for its own rows.
pub(crate) async fn covered(world: &World, path: &str) -> Reply {
    while_time_passes(world, world.get(path)).await
}

/// The same for a reader: a record that came after the checkpoint, a notice say, waits for the next one.
pub(crate) async fn covered_as(world: &World, reader: &Agent, path: &str) -> Reply {
    while_time_passes(world, world.get_as(reader, path)).await
}

/// Waits for an answer that waits for the ledger's clock, which goes on with every look at the server.
async fn while_time_passes(world: &World, answer: impl Future<Output = Reply>) -> Reply {
    const STEP_MS: u64 = 10;
    let time_passes = async {
        loop {
            world.get("/health").await;
            world.clock.advance_ms(STEP_MS);
        }
    };
    tokio::select! {
        biased;
        answer = answer => answer,
        () = time_passes => unreachable!("it never ends"),
    }
}

fn proof_path(position: u64) -> String {
    format!("/api/v1/records/{position}/proof")
}

#[tokio::test]
async fn c2sp_a_record_is_proven_to_its_parties_and_to_nobody_else() {
    let (world, [initiator, provider, stranger, auditor]) = readers().await;
    let deal = Deal::new(&world, &initiator, &provider);
    deal.verified().await;
    let size = checkpoint(&world).await.size;
    let history = format!("/api/v1/interactions/{}/history", deal.id());
    let history = world.get_as(&initiator, &history).await.expect(200);
    let records = history["records"].as_array().unwrap();
    assert!(records.len() >= 4);
    let policy = policy(&world).await;
    for record in records {
        let path = proof_path(record["position"].as_u64().unwrap());
        for reader in [&initiator, &provider, &auditor] {
            let answer = fetch(&world, &path, Some(reader)).await;
            assert_eq!(answer.status, 200);
            assert_eq!(answer.content_type, "text/plain; charset=utf-8");
            let proof = String::from_utf8(answer.bytes).unwrap();
            let proof = TlogProof::from_text(&proof).unwrap();
            let trusted = policy.check(&proof.checkpoint, verifies).unwrap();
            let leaf = Hash::of_leaf(proof.extra.as_deref().unwrap());
            assert_eq!(proof.verify(leaf, &trusted.checkpoint), Ok(()));
            assert_eq!(record["record_hash"], leaf.to_string());
        }
        let others = world.get_as(&stranger, &path).await;
        let nothing = world.get_as(&stranger, &proof_path(size + 1_000)).await;
        assert_eq!(
            others.refused(404, "X811-4001"),
            nothing.refused(404, "X811-4001")
        );
        world.get(&path).await.refused(401, "X811-2004");
    }
    // Who the ledger is and what keys agents have is no secret.
    for position in [0, 1, 2] {
        let answer = world.get_as(&stranger, &proof_path(position)).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    }
    for spelling in ["+1", "01", "-1", "1.0", "x", "18446744073709551616"] {
        let path = format!("/api/v1/records/{spelling}/proof");
        assert_eq!(world.get_as(&stranger, &path).await.status, 400, "{path}");
    }
}

#[tokio::test]
async fn a_proof_waits_for_the_checkpoint_that_covers_its_record() {
    let world = World::start().await;
    checkpoint(&world).await;
    let agent = world.agent().await;
    let shown = world.get(&format!("/api/v1/agents/{}", agent.uuid())).await;
    let position = shown.expect(200)["position"].as_u64().unwrap();
    let path = proof_path(position);
    let answer = covered(&world, &path).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let proof = TlogProof::from_text(&answer.text).unwrap();
    assert_eq!(proof.index, position);
}
