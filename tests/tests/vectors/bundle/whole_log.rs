//! A whole log, changed: 13 records, the first 12 under a checkpoint.

use serde_json::Value;
use x811_eventlog::Hash;
use x811_protocol::key::SecretKey;

use super::lines::{Lines, checkpoint, checkpoint_key};

/// Name and bytes.
pub(super) type Changed = Vec<(&'static str, Vec<u8>)>;

/// Position of the OFFER.
const OFFER: u64 = 5;
/// Position of the RESULT, whose body may be erased.
const RESULT: u64 = 7;
const LAST: u64 = 12;

pub(super) fn files() -> Changed {
    let good = Lines::of("log-v2");
    let mut files = order(&good);
    files.extend(bytes(&good));
    files.extend(ends(&good));
    files.extend(rehashed(&good));
    files.extend(forms(&good));
    files
}

/// Records that are not there, too often, or elsewhere.
fn order(good: &Lines) -> Changed {
    vec![
        (
            "record-dropped",
            good.with(|log| drop(log.drop_record(OFFER))),
        ),
        (
            "record-duplicated",
            good.with(|log| {
                let lines = log.0[log.record(OFFER)].to_vec();
                log.insert(OFFER + 1, lines);
            }),
        ),
        (
            "records-swapped",
            good.with(|log| {
                let lines = log.drop_record(OFFER);
                log.insert(OFFER + 2, lines);
            }),
        ),
        (
            "record-inserted",
            good.with(|log| {
                let mut lines = log.0[log.record(OFFER)].to_vec();
                let position = format!("\"position\":{}", OFFER + 1);
                lines[0] = lines[0].replace("\"position\":5", &position);
                log.insert(OFFER + 1, lines);
            }),
        ),
        (
            "body-dropped",
            good.with(|log| drop(log.0.remove(log.record(OFFER).start + 1))),
        ),
        (
            "erasable-body-dropped",
            good.with(|log| drop(log.0.remove(log.record(RESULT).start + 1))),
        ),
        (
            "bodies-swapped",
            good.with(|log| {
                let [one, other] = [OFFER, RESULT].map(|position| log.record(position).start + 1);
                log.0.swap(one, other);
            }),
        ),
    ]
}

/// One thing that is another.
fn bytes(good: &Lines) -> Changed {
    let (offer, checkpoint) = (good.record(OFFER).start, good.find("c "));
    let (header, trailer) = (0, good.0.len() - 1);
    let changes = [
        (
            "leaf-changed",
            offer,
            "\"estimated_time_s\":10",
            "\"estimated_time_s\":11",
        ),
        ("signature-changed", offer, "\"kj9L5WwZ", "\"kj9L5WwA"),
        ("prev-changed", offer, "\"prev\":\"79", "\"prev\":\"78"),
        (
            "time-ran-back",
            offer,
            "_at_ms\":1767312000000,\"stream",
            "_at_ms\":1767311999999,\"stream",
        ),
        (
            "stream-seq-changed",
            offer,
            "\"stream_seq\":1",
            "\"stream_seq\":2",
        ),
        ("not-canonical", offer, "\"position\":5", "\"position\": 5"),
        (
            "body-changed",
            offer + 1,
            "\"price\":\"1\"",
            "\"price\":\"2\"",
        ),
        ("checkpoint-root-changed", checkpoint, "MN16", "MN17"),
        (
            "checkpoint-signature-changed",
            checkpoint,
            "SKQPE5OG",
            "SKQPE5OH",
        ),
        (
            "checkpoint-of-another-name",
            checkpoint,
            "\u{2014} ledger.example",
            "\u{2014} other.example",
        ),
        (
            "trailer-head-changed",
            trailer,
            "\"head\":\"62",
            "\"head\":\"63",
        ),
        (
            "trailer-root-changed",
            trailer,
            "\"root\":\"93",
            "\"root\":\"94",
        ),
        (
            "trailer-size-changed",
            trailer,
            "\"size\":13",
            "\"size\":14",
        ),
        (
            "header-changed",
            header,
            "\"rules_version\":1",
            "\"rules_version\":2",
        ),
    ];
    let changed = changes.into_iter().map(|(name, at, from, to)| {
        let bytes = good.with(|log| log.replace(at, from, to));
        (name, bytes)
    });
    changed.collect()
}

/// Something is cut off, or signed otherwise.
fn ends(good: &Lines) -> Changed {
    let signed = |key: &SecretKey, root: Hash| {
        good.with(|log| {
            let at = log.find("c ");
            log.0[at] = checkpoint(key, LAST, root);
        })
    };
    let root = "30dd7a7bfa8bdb7eac2cf9ff1181c0a58eab8f7de258954468b912b4c4c26373";
    let without_last = good.with(|log| {
        log.drop_record(LAST);
    });
    vec![
        ("end-cut", without_last),
        (
            "end-cut-trailer-new",
            good.with(|log| {
                log.drop_record(LAST);
                log.rehash();
            }),
        ),
        (
            "end-cut-below-checkpoint",
            good.with(|log| {
                let note = log.0[log.find("c ")].clone();
                log.drop_record(LAST);
                log.drop_record(LAST - 1);
                log.rehash();
                let at = log.find("c ");
                log.0[at] = note;
            }),
        ),
        (
            "checkpoint-of-another-key",
            signed(&SecretKey::from_seed([2; 32]), root.parse().unwrap()),
        ),
        (
            "checkpoint-over-other-records",
            signed(&checkpoint_key(), Hash::of_leaf(b"")),
        ),
        (
            "checkpoint-elsewhere",
            good.with(|log| {
                let note = log.0.remove(log.find("c "));
                log.insert(LAST - 1, vec![note]);
            }),
        ),
    ]
}

/// By somebody who has the database and the ledger's checkpoint key: bytes, hashes, checkpoint and
/// trailer all agree.
fn rehashed(good: &Lines) -> Changed {
    let with = |change: &dyn Fn(&mut Lines)| {
        good.with(|log| {
            change(log);
            log.rehash();
        })
    };
    let leaf = |position: u64, pointer: &'static str, value: Value| {
        with(&move |log| {
            let at = log.record(position).start;
            log.edit(at, "r ", |leaf| {
                *leaf.pointer_mut(pointer).unwrap() = value.clone();
            });
        })
    };
    vec![
        (
            "fact-changed-all-rehashed",
            leaf(OFFER, "/event/facts/estimated_time_s", 11.into()),
        ),
        (
            "payee-changed-all-rehashed",
            leaf(
                OFFER,
                "/event/derived/payee",
                "0xc3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3".into(),
            ),
        ),
        (
            "record-dropped-all-rehashed",
            with(&|log| drop(log.drop_record(10))),
        ),
        (
            "confirmed-dropped-all-rehashed",
            with(&|log| drop(log.drop_record(11))),
        ),
        (
            "record-repeated-all-rehashed",
            with(&|log| {
                let lines = log.0[log.record(LAST)].to_vec();
                let trailer = log.0.len() - 1;
                log.0.splice(trailer..trailer, lines);
            }),
        ),
    ]
}

/// The lines themselves.
fn forms(good: &Lines) -> Changed {
    let text = String::from_utf8(good.to_bytes()).unwrap();
    let at = |line: usize, new: &str| good.with(|log| log.0.insert(line, new.to_owned()));
    vec![
        ("carriage-returns", text.replace('\n', "\r\n").into_bytes()),
        ("empty-line", at(3, "")),
        ("unknown-line", at(3, "x {}")),
        ("path-in-a-log", at(2, "p []")),
        ("no-trailer", good.with(|log| drop(log.0.pop()))),
        ("no-header", good.with(|log| drop(log.0.remove(0)))),
        ("no-last-line-end", text.trim_end().as_bytes().to_vec()),
        (
            "behind-the-trailer",
            good.with(|log| log.0.push("{}".to_owned())),
        ),
        (
            "version-3",
            good.with(|log| log.replace(0, "\"x811_export\":2", "\"x811_export\":3")),
        ),
        (
            "version-1-with-checkpoint",
            good.with(|log| {
                log.replace(0, "\"x811_export\":2", "\"x811_export\":1");
                log.replace(0, "\"scope\":\"log\",", "");
            }),
        ),
        ("cut-in-a-line", text.as_bytes()[..text.len() / 2].to_vec()),
        ("empty", Vec::new()),
    ]
}
