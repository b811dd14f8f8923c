//! A whole log, changed: 13 records, the first 12 under a checkpoint.

use serde_json::Value;
use x811_eventlog::Hash;
use x811_protocol::key::SecretKey;

use super::lines::{Lines, checkpoint};
use crate::keys::checkpoint_key;

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
    let short = short(&good);
    files.extend(marks(&short));
    files.extend(forms(&short));
    files.push(("log-short", short.to_bytes()));
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

/// One thing of a record that is another.
fn bytes(good: &Lines) -> Changed {
    let offer = good.record(OFFER).start;
    let changed = |at: usize, from: &str, to: &str| good.with(|log| log.replace(at, from, to));
    let time = |ms: &str| format!("\"recorded_at_ms\":{ms},\"stream");
    vec![
        (
            "leaf-changed",
            changed(offer, "\"estimated_time_s\":10", "\"estimated_time_s\":11"),
        ),
        (
            "signature-changed",
            good.with(|log| log.flip(offer, "\"signature\":\"")),
        ),
        (
            "prev-changed",
            good.with(|log| log.flip(offer, "\"prev\":\"")),
        ),
        (
            "time-ran-back",
            changed(offer, &time("1767312000000"), &time("1767311999999")),
        ),
        (
            "stream-seq-changed",
            changed(offer, "\"stream_seq\":1", "\"stream_seq\":2"),
        ),
        (
            "not-canonical",
            changed(offer, "\"position\":5", "\"position\": 5"),
        ),
        (
            "body-changed",
            changed(offer + 1, "\"price\":\"1\"", "\"price\":\"2\""),
        ),
    ]
}

/// The first two records, under a checkpoint.
fn short(good: &Lines) -> Lines {
    let mut short = good.clone();
    let lines = short.record(1).end..short.find("c ");
    short.0.drain(lines);
    let lines = short.find("c ") + 1..short.0.len() - 1;
    short.0.drain(lines);
    short.rehash();
    short
}

/// One thing of header, checkpoint or trailer that is another.
fn marks(short: &Lines) -> Changed {
    let (header, checkpoint, trailer) = (0, short.find("c "), short.0.len() - 1);
    let flipped = |at: usize, after: &str| short.with(|log| log.flip(at, after));
    let changed = |at: usize, from: &str, to: &str| short.with(|log| log.replace(at, from, to));
    vec![
        ("checkpoint-root-changed", flipped(checkpoint, "\\n2\\n")),
        // Behind the key id.
        (
            "checkpoint-signature-changed",
            flipped(checkpoint, "x811 SKQPE"),
        ),
        (
            "checkpoint-of-another-name",
            changed(checkpoint, "\u{2014} ledger.", "\u{2014} other."),
        ),
        ("trailer-head-changed", flipped(trailer, "\"head\":\"")),
        ("trailer-root-changed", flipped(trailer, "\"root\":\"")),
        (
            "trailer-size-changed",
            changed(trailer, "\"size\":2", "\"size\":3"),
        ),
        (
            "header-changed",
            changed(header, "\"rules_version\":1", "\"rules_version\":2"),
        ),
    ]
}

/// Something is cut off, or signed otherwise.
fn ends(good: &Lines) -> Changed {
    let signed = |key: &SecretKey, root: Hash| {
        good.with(|log| {
            let at = log.find("c ");
            log.0[at] = checkpoint(key, LAST, root);
        })
    };
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
            signed(&SecretKey::from_seed([2; 32]), good.covered().1),
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
fn forms(short: &Lines) -> Changed {
    let text = String::from_utf8(short.to_bytes()).unwrap();
    let at = |line: usize, new: &str| short.with(|log| log.0.insert(line, new.to_owned()));
    vec![
        ("carriage-returns", text.replace('\n', "\r\n").into_bytes()),
        ("empty-line", at(3, "")),
        ("unknown-line", at(3, "x {}")),
        ("path-in-a-log", at(2, "p []")),
        ("no-trailer", short.with(|log| drop(log.0.pop()))),
        ("no-header", short.with(|log| drop(log.0.remove(0)))),
        ("no-last-line-end", text.trim_end().as_bytes().to_vec()),
        (
            "behind-the-trailer",
            short.with(|log| log.0.push("{}".to_owned())),
        ),
        (
            "version-3",
            short.with(|log| log.replace(0, "\"x811_export\":2", "\"x811_export\":3")),
        ),
        (
            "version-1-with-checkpoint",
            short.with(|log| {
                log.replace(0, "\"x811_export\":2", "\"x811_export\":1");
                log.replace(0, "\"scope\":\"log\",", "");
            }),
        ),
        ("cut-in-a-line", text.as_bytes()[..text.len() / 2].to_vec()),
        ("empty", Vec::new()),
    ]
}
