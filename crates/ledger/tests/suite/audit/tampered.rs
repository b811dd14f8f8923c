//! What is done to a bundle of one interaction is named where it was done.

use serde_json::json;
use x811_audit::export::{
    Header, Item, LastRecord, PathLine, Reader, Scope, SignedEnd, StreamEnd, Trailer,
};
use x811_audit::standing::Settling;
use x811_audit::{Cause, Report};
use x811_eventlog::{Checkpoint, Hash, InclusionProof, Record, root_of};
use x811_protocol::canonical::to_canonical;
use x811_protocol::event::{Event, LedgerOpened};
use x811_protocol::id::InteractionId;
use x811_protocol::key::SecretKey;
use x811_protocol::stream::{Stream, Subject};
use x811_protocol::time::TimestampMs;
use x811_world::keys_statement::{KeysStatement, SignedKeys};

use super::bundles::{bundle, interactions, note};
use super::ledgerbox::Ledgerbox;
use super::party::{Party, SeededEntropy};
use super::scene::{Kept, Parts, audit, causes_at, exported, found, settled_and_disputed};

/// The ledger's checkpoint key.
fn checkpoint_key() -> SecretKey {
    server_key(1)
}

/// The ledger's receipt key.
fn receipt_key() -> SecretKey {
    server_key(2)
}

/// As the ledger in the box has it.
fn server_key(seed: u64) -> SecretKey {
    Party::new(&SeededEntropy::new(seed), TimestampMs::new(0)).key
}

/// A bundle taken apart.
#[derive(Debug, Clone)]
struct Bundle {
    header: Header,
    note: String,
    keys: SignedKeys,
    records: Vec<Piece>,
    ends: Vec<SignedEnd>,
    trailer: Trailer,
}

#[derive(Debug, Clone, PartialEq)]
struct Piece {
    leaf: Vec<u8>,
    body: Option<Vec<u8>>,
    path: Vec<Hash>,
}

impl Piece {
    fn record(&self) -> Record {
        Record::parse(self.leaf.clone()).unwrap()
    }
}

impl Bundle {
    fn of(bytes: &[u8]) -> Bundle {
        let (mut header, mut trailer, mut signed, mut keys) = (None, None, None, None);
        let (mut records, mut ends) = (Vec::new(), Vec::new());
        for item in Reader::new(bytes) {
            match item.unwrap() {
                Item::Header(found) => header = Some(*found),
                Item::Checkpoint(line) => signed = Some(line.note),
                Item::Keys(line) => keys = Some(*line.signed),
                Item::Record(line) => records.push(Piece {
                    leaf: line.leaf,
                    body: line.body.map(|body| body.bytes),
                    path: line.path.map(|PathLine { hashes, .. }| hashes).unwrap(),
                }),
                Item::End(line) => ends.push(line.signed),
                Item::Trailer { trailer: found, .. } => trailer = Some(found),
            }
        }
        Bundle {
            header: header.unwrap(),
            note: signed.unwrap(),
            keys: keys.unwrap(),
            records,
            ends,
            trailer: trailer.unwrap(),
        }
    }

    /// What the writer should make of a log, by another way: every hash from the leaves.
    fn by_hand(records: &[Kept], opened: LedgerOpened, id: InteractionId) -> Bundle {
        let hashes: Vec<Hash> = records
            .iter()
            .map(|kept| Hash::of_leaf(&kept.leaf))
            .collect();
        let size = hashes.len() as u64;
        let checkpoint = Checkpoint {
            origin: opened.origin.clone(),
            size,
            root: root_of(&hashes),
        };
        let stream = Stream::interaction(id).to_string();
        let request = records.iter().find(|kept| kept.draft.stream == stream);
        let envelope = &request.unwrap().draft.event["envelope"];
        let agent = |member: &str| format!("agent:{}", envelope[member].as_str().unwrap());
        let mut streams = [
            stream,
            "ledger".to_owned(),
            agent("from"),
            agent("to"),
            format!("network:{}", super::base::BASE),
        ];
        streams.sort();
        let in_it = |kept: &Kept| streams.contains(&kept.draft.stream);
        let pieces: Vec<Piece> = (0..)
            .zip(records)
            .filter(|(_, kept)| in_it(kept))
            .map(|(position, kept)| Piece {
                leaf: kept.leaf.clone(),
                body: kept.body.clone(),
                path: path(&hashes, position),
            })
            .collect();
        let end = |stream: &String| {
            let of_it = pieces.iter().map(Piece::record);
            let mut of_it = of_it.filter(|record| record.stream() == stream);
            let mut settling = Settling::default();
            let events = of_it
                .clone()
                .map(|record| Event::from_json(record.event_json()));
            events.for_each(|event| settling.take(&event.unwrap()));
            let last = of_it.next_back();
            let is_interaction = stream.starts_with("interaction:");
            StreamEnd {
                standing: is_interaction.then(|| settling.standing()),
                stream: stream.clone(),
                last: last.map(|record| LastRecord {
                    seq: record.stream_seq(),
                    hash: record.hash(),
                }),
                tree_size: size,
            }
            .sign(&checkpoint_key())
        };
        let statement = KeysStatement {
            keys: opened.keys,
            log_id: opened.log_id,
            origin: opened.origin.clone(),
            root: checkpoint.root,
            rotations: Vec::new(),
            size,
        };
        Bundle {
            keys: statement.sign(&checkpoint_key()),
            header: Header {
                opened,
                scope: Scope::Of(Subject::Interaction(id)),
            },
            note: note(&checkpoint, &checkpoint_key()),
            ends: streams.iter().map(end).collect(),
            trailer: Trailer {
                head: pieces.last().unwrap().record().hash(),
                records: Some(pieces.len() as u64),
                root: checkpoint.root,
                size,
            },
            records: pieces,
        }
    }

    fn joined(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut line = |letter: &[u8], text: &[u8]| {
            bytes.extend([letter, text, b"\n"].concat());
        };
        line(b"", &self.header.to_line().unwrap());
        line(b"c ", &to_canonical(&self.note));
        line(b"k ", &self.keys.to_json());
        for piece in &self.records {
            line(b"r ", &piece.leaf);
            if let Some(body) = &piece.body {
                line(b"b ", body);
            }
            line(b"p ", &to_canonical(&piece.path));
        }
        for end in &self.ends {
            line(b"e ", &end.to_line());
        }
        line(b"", &self.trailer.to_line().unwrap());
        bytes
    }

    /// With a trailer that fits the records.
    fn with_new_trailer(mut self) -> Bundle {
        self.trailer.records = Some(self.records.len() as u64);
        self.trailer.head = self.records.last().unwrap().record().hash();
        self
    }

    /// Under another checkpoint, and a keys statement that fits it.
    fn under(mut self, checkpoint: &Checkpoint) -> Bundle {
        self.note = note(checkpoint, &checkpoint_key());
        let mut statement = self.keys.statement;
        (statement.size, statement.root) = (checkpoint.size, checkpoint.root);
        self.keys = statement.sign(&checkpoint_key());
        (self.trailer.size, self.trailer.root) = (checkpoint.size, checkpoint.root);
        self
    }

    fn audit(&self) -> Report {
        audit(&self.joined())
    }

    fn position(&self, index: usize) -> u64 {
        self.records[index].record().position()
    }
}

/// The inclusion path of a position, from all leaves.
fn path(hashes: &[Hash], position: u64) -> Vec<Hash> {
    let proof = InclusionProof::build(position, hashes.len() as u64, |node| {
        let each = 1 << node.level();
        let from = usize::try_from(node.index()).unwrap() * each;
        Ok::<_, ()>(root_of(&hashes[from..from + each]))
    });
    proof.unwrap().unwrap().path
}

/// A log, and the bundle of its second interaction: there are records of others between.
async fn scene() -> (Ledgerbox, Bundle) {
    let ledgerbox = settled_and_disputed().await;
    let ids = interactions(&ledgerbox).await;
    let bundle = Bundle::of(&bundle(&ledgerbox, ids[1]).await);
    (ledgerbox, bundle)
}

#[tokio::test]
async fn lc_7_a_bundle_is_what_the_log_adds_up_to() {
    let ledgerbox = settled_and_disputed().await;
    let parts = Parts::of(&exported(&ledgerbox).await);
    for id in interactions(&ledgerbox).await {
        let by_hand = Bundle::by_hand(&parts.records, ledgerbox.opened(), id);
        let written = bundle(&ledgerbox, id).await;
        assert_eq!(by_hand.joined(), written);
        assert_eq!(bundle(&ledgerbox, id).await, written, "each time the same");
        assert!(by_hand.audit().is_clean());
    }
}

#[tokio::test]
async fn promise_4_a_record_dropped_from_a_bundle_is_named() {
    let (_, bundle) = scene().await;
    for index in 0..bundle.records.len() {
        let mut changed = bundle.clone();
        let dropped = changed.records.remove(index).record();
        let report = changed.with_new_trailer().audit();
        let follower = bundle.records[index + 1..]
            .iter()
            .map(Piece::record)
            .find(|record| record.stream() == dropped.stream());
        let (at, field, cause) = match &follower {
            Some(next) => (next.position(), "stream_seq", Cause::StreamGap),
            None => {
                let before = bundle.records[..index].iter().map(Piece::record);
                let before = before
                    .rev()
                    .find(|record| record.stream() == dropped.stream());
                let end = bundle.records.last().unwrap().record().position();
                let at = before.map_or(end, |record| record.position());
                (at, "end.last_seq", Cause::Missing)
            }
        };
        assert!(
            found(&report).contains(&(at, field, cause)),
            "{index}: {:?}",
            found(&report)
        );
    }
}

#[tokio::test]
async fn promise_4_a_tail_cut_off_a_bundle_shows_in_the_signed_end() {
    let (_, bundle) = scene().await;
    let Scope::Of(Subject::Interaction(id)) = bundle.header.scope else {
        panic!("it is of an interaction");
    };
    let stream = Stream::interaction(id).to_string();
    let own: Vec<usize> = (0..bundle.records.len())
        .filter(|index| bundle.records[*index].record().stream() == stream)
        .collect();
    for left in 1..own.len() {
        let mut cut = bundle.clone();
        for index in own[left..].iter().rev() {
            cut.records.remove(*index);
        }
        let mut cut = cut.with_new_trailer();
        let at = bundle.position(own[left - 1]);
        let report = cut.audit();
        assert_eq!(found(&report), [(at, "end.last_seq", Cause::Missing)]);
        // Without that end it is open, which is said and is no bundle.
        cut.ends.retain(|end| end.end.stream != stream);
        let report = cut.audit();
        assert_eq!(found(&report), [(at, "end", Cause::Missing)]);
        assert_eq!(report.extract.unwrap().open_ended, 1);
    }
}

#[tokio::test]
async fn promise_4_records_twice_swapped_and_put_in_are_named() {
    let (ledgerbox, bundle) = scene().await;
    for index in 0..bundle.records.len() {
        let at = bundle.position(index);
        let mut twice = bundle.clone();
        twice.records.insert(index, bundle.records[index].clone());
        let report = twice.with_new_trailer().audit();
        let found = found(&report);
        assert!(found.contains(&(at, "position", Cause::Duplicated)));
        assert!(found.iter().all(|(named, _, _)| *named == at), "{found:?}");

        if index + 1 < bundle.records.len() {
            let mut swapped = bundle.clone();
            swapped.records.swap(index, index + 1);
            let causes = causes_at(&swapped.with_new_trailer().audit(), at);
            assert!(causes.contains(&Cause::Reordered), "{at}: {causes:?}");
        }

        // What never was in the log, at a place that is free or taken.
        let mut put_in = bundle.clone();
        let mut draft = Parts::of(&exported(&ledgerbox).await).records[2]
            .draft
            .clone();
        draft.stream_seq += 7;
        let forged = Record::seal(at + 1, bundle.records[index].record().hash(), draft).unwrap();
        let piece = Piece {
            leaf: forged.bytes().to_vec(),
            body: None,
            path: bundle.records[index].path.clone(),
        };
        put_in.records.insert(index + 1, piece);
        let causes = causes_at(&put_in.with_new_trailer().audit(), at + 1);
        assert!(causes.contains(&Cause::NotIncluded), "{at}: {causes:?}");
    }
}

#[tokio::test]
async fn promise_4_a_stream_that_does_not_belong_is_named_although_it_is_in_the_log() {
    let (ledgerbox, bundle) = scene().await;
    let parts = Parts::of(&exported(&ledgerbox).await);
    let hashes: Vec<Hash> = parts
        .records
        .iter()
        .map(|kept| Hash::of_leaf(&kept.leaf))
        .collect();
    let of_others = |kept: &Kept| {
        let is_here = |end: &SignedEnd| end.end.stream == kept.draft.stream;
        !bundle.ends.iter().any(is_here)
    };
    let foreign = parts.find(of_others);
    let kept = &parts.records[foreign];
    let mut put_in = bundle.clone();
    let place = put_in
        .records
        .iter()
        .position(|piece| piece.record().position() > foreign as u64);
    let piece = Piece {
        leaf: kept.leaf.clone(),
        body: kept.body.clone(),
        path: path(&hashes, foreign as u64),
    };
    put_in.records.insert(place.unwrap(), piece);
    let report = put_in.with_new_trailer().audit();
    assert_eq!(found(&report), [(foreign as u64, "stream", Cause::Foreign)]);
}

#[tokio::test]
async fn promise_4_a_forged_checkpoint_is_named() {
    let (_, bundle) = scene().await;
    let good = Checkpoint::claimed(&bundle.note).unwrap();
    let last = good.size - 1;

    let mut another_key = bundle.clone();
    another_key.note = note(&good, &receipt_key());
    let report = another_key.audit();
    assert_eq!(
        found(&report),
        [(last, "checkpoint", Cause::CheckpointInvalid)]
    );
    assert_eq!(report.checkpoints, []);

    let another = Checkpoint {
        root: Hash::from_bytes([7; 32]),
        ..good.clone()
    };
    let report = bundle.clone().under(&another).audit();
    let causes = report.findings.iter().map(|finding| finding.cause);
    assert!(causes.clone().all(|cause| cause == Cause::NotIncluded));
    assert_eq!(causes.count(), bundle.records.len());

    // Of a tree that is one record longer, which nobody has.
    let longer = Checkpoint {
        size: good.size + 1,
        ..good
    };
    let report = bundle.clone().under(&longer).audit();
    for cause in [Cause::NotIncluded, Cause::StreamEndDiffers] {
        assert!(report.findings.iter().any(|finding| finding.cause == cause));
    }
}

/// Somebody who has the ledger's database and all of its keys.
#[tokio::test]
async fn promise_4_a_fact_changed_with_everything_hashed_and_signed_anew_is_found() {
    let ledgerbox = settled_and_disputed().await;
    let id = interactions(&ledgerbox).await[0];
    let table = [
        (
            "x811/offer",
            "/facts/estimated_time_s",
            json!(11),
            Cause::FactsDiffer,
        ),
        (
            "x811/verify",
            "/envelope/size",
            json!(7),
            Cause::EnvelopeDiffers,
        ),
        (
            "x811/accept",
            "/derived/deadline_at_ms",
            json!(1),
            Cause::ReDecisionDiffers,
        ),
    ];
    for (message, member, value, cause) in table {
        let mut parts = Parts::of(&exported(&ledgerbox).await);
        let at = parts.find_message(message);
        *parts.records[at].member(member) = value;
        let parts = Parts::of(&parts.rehashed());
        let report = Bundle::by_hand(&parts.records, ledgerbox.opened(), id).audit();
        let causes = causes_at(&report, at as u64);
        assert!(causes.contains(&cause), "{message}: {:?}", found(&report));
    }
}

#[tokio::test]
async fn promise_4_paths_and_ends_that_were_changed_are_named() {
    let (_, bundle) = scene().await;
    let mut swapped = bundle.clone();
    let (first, second) = (
        swapped.records[3].path.clone(),
        swapped.records[4].path.clone(),
    );
    assert_ne!(first, second);
    (swapped.records[3].path, swapped.records[4].path) = (second, first);
    let here = [3, 4].map(|index| (bundle.position(index), "path", Cause::NotIncluded));
    assert_eq!(found(&swapped.audit()), here);

    for (index, end) in bundle.ends.iter().enumerate() {
        let mut smaller = bundle.clone();
        smaller.ends[index].end.tree_size -= 1;
        smaller.ends[index] = smaller.ends[index].end.clone().sign(&checkpoint_key());
        let mut by_another = bundle.clone();
        by_another.ends[index] = end.end.clone().sign(&receipt_key());
        for (changed, field) in [(smaller, "end.tree_size"), (by_another, "end.signature")] {
            let report = changed.audit();
            let found: Vec<_> = found(&report).into_iter().map(|(_, f, c)| (f, c)).collect();
            assert_eq!(found, [(field, Cause::StreamEndDiffers)], "{index}");
            let line = bundle.joined().split(|byte| *byte == b'\n').count() - 1;
            let line = line - bundle.ends.len() + index;
            assert_eq!(report.findings[0].line, Some(line as u64));
        }
    }
}

/// A header that cannot be read does not make the rest look worse than it is.
#[tokio::test]
async fn a_bundle_without_a_readable_header_is_still_one() {
    let (_, bundle) = scene().await;
    let mut bytes = bundle.joined();
    bytes[3] = b'\\';
    let report = audit(&bytes);
    assert_eq!(found(&report), [(0, "line", Cause::FormatBroken)]);
    assert_eq!(report.extract.unwrap().open_ended, 0);
}
