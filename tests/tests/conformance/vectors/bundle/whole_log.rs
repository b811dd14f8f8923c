//! A whole log, changed: 13 records, the first 12 under a checkpoint.

use serde_json::Value;
use x811_eventlog::Hash;
use x811_protocol::key::SecretKey;

use super::super::Named;
use super::super::keys::checkpoint_key;
use super::lines::{Lines, checkpoint};

/// Position of the OFFER.
const OFFER: u64 = 5;
/// Position of the RESULT, whose body may be erased.
const RESULT: u64 = 7;
const LAST: u64 = 12;

pub(super) fn files() -> Named {
    let good = Lines::of("log");
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
fn order(good: &Lines) -> Named {
    vec![
        good.but("record-dropped", |log| drop(log.drop_record(OFFER))),
        good.but("record-duplicated", |log| {
            let lines = log.0[log.record(OFFER)].to_vec();
            log.insert(OFFER + 1, lines);
        }),
        good.but("records-swapped", |log| {
            let lines = log.drop_record(OFFER);
            log.insert(OFFER + 2, lines);
        }),
        good.but("record-inserted", |log| {
            let mut lines = log.0[log.record(OFFER)].to_vec();
            let position = format!("\"position\":{}", OFFER + 1);
            lines[0] = lines[0].replace("\"position\":5", &position);
            log.insert(OFFER + 1, lines);
        }),
        good.but("body-dropped", |log| {
            drop(log.0.remove(log.record(OFFER).start + 1))
        }),
        good.but("erasable-body-dropped", |log| {
            drop(log.0.remove(log.record(RESULT).start + 1))
        }),
        good.but("bodies-swapped", |log| {
            let [one, other] = [OFFER, RESULT].map(|position| log.record(position).start + 1);
            log.0.swap(one, other);
        }),
    ]
}

/// One thing of a record that is another.
fn bytes(good: &Lines) -> Named {
    let offer = good.record(OFFER).start;
    let changed =
        |name, at: usize, from: &str, to: &str| good.but(name, |log| log.replace(at, from, to));
    let time = |ms: &str| format!("\"recorded_at_ms\":{ms},\"stream");
    vec![
        changed(
            "leaf-changed",
            offer,
            "\"estimated_time_s\":10",
            "\"estimated_time_s\":11",
        ),
        good.but("signature-changed", |log| {
            log.flip(offer, "\"signature\":\"")
        }),
        good.but("prev-changed", |log| log.flip(offer, "\"prev\":\"")),
        changed(
            "time-ran-back",
            offer,
            &time("1767312000000"),
            &time("1767311999999"),
        ),
        changed(
            "stream-seq-changed",
            offer,
            "\"stream_seq\":1",
            "\"stream_seq\":2",
        ),
        changed("not-canonical", offer, "\"position\":5", "\"position\": 5"),
        changed(
            "body-changed",
            offer + 1,
            "\"price\":\"1\"",
            "\"price\":\"2\"",
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
fn marks(short: &Lines) -> Named {
    let (header, checkpoint, trailer) = (0, short.find("c "), short.0.len() - 1);
    let flipped = |name, at: usize, after: &str| short.but(name, |log| log.flip(at, after));
    let changed =
        |name, at: usize, from: &str, to: &str| short.but(name, |log| log.replace(at, from, to));
    vec![
        flipped("checkpoint-root-changed", checkpoint, "\\n2\\n"),
        // Behind the key id.
        flipped("checkpoint-signature-changed", checkpoint, "x811 SKQPE"),
        changed(
            "checkpoint-of-another-name",
            checkpoint,
            "\u{2014} ledger.",
            "\u{2014} other.",
        ),
        flipped("trailer-head-changed", trailer, "\"head\":\""),
        flipped("trailer-root-changed", trailer, "\"root\":\""),
        changed("trailer-size-changed", trailer, "\"size\":2", "\"size\":3"),
        changed(
            "header-changed",
            header,
            "\"rules_version\":2",
            "\"rules_version\":3",
        ),
    ]
}

/// Something is cut off, or signed otherwise.
fn ends(good: &Lines) -> Named {
    let signed = |name, key: &SecretKey, root: Hash| {
        good.but(name, |log| {
            let at = log.find("c ");
            log.0[at] = checkpoint(key, LAST, root);
        })
    };
    vec![
        good.but("end-cut", |log| drop(log.drop_record(LAST))),
        good.but("end-cut-trailer-new", |log| {
            log.drop_record(LAST);
            log.rehash();
        }),
        good.but("end-cut-below-checkpoint", |log| {
            let note = log.0[log.find("c ")].clone();
            log.drop_record(LAST);
            log.drop_record(LAST - 1);
            log.rehash();
            let at = log.find("c ");
            log.0[at] = note;
        }),
        signed(
            "checkpoint-of-another-key",
            &SecretKey::from_seed([2; 32]),
            good.covered().1,
        ),
        signed(
            "checkpoint-over-other-records",
            &checkpoint_key(),
            Hash::of_leaf(b""),
        ),
        good.but("checkpoint-elsewhere", |log| {
            let note = log.0.remove(log.find("c "));
            log.insert(LAST - 1, vec![note]);
        }),
    ]
}

/// By somebody who has the database and the ledger's checkpoint key: bytes, hashes, checkpoint and
/// trailer all agree.
fn rehashed(good: &Lines) -> Named {
    let with = |name, change: &dyn Fn(&mut Lines)| {
        good.but(name, |log| {
            change(log);
            log.rehash();
        })
    };
    let leaf = |name, position: u64, pointer: &'static str, value: Value| {
        with(name, &move |log| {
            let at = log.record(position).start;
            log.edit(at, "r ", |leaf| {
                *leaf.pointer_mut(pointer).unwrap() = value.clone();
            });
        })
    };
    vec![
        leaf(
            "fact-changed-all-rehashed",
            OFFER,
            "/event/facts/estimated_time_s",
            11.into(),
        ),
        leaf(
            "payee-changed-all-rehashed",
            OFFER,
            "/event/derived/payee",
            "0xc3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3".into(),
        ),
        with("record-dropped-all-rehashed", &|log| {
            drop(log.drop_record(10))
        }),
        with("confirmed-dropped-all-rehashed", &|log| {
            drop(log.drop_record(11))
        }),
        with("record-repeated-all-rehashed", &|log| {
            let lines = log.0[log.record(LAST)].to_vec();
            let trailer = log.0.len() - 1;
            log.0.splice(trailer..trailer, lines);
        }),
    ]
}

/// The lines themselves.
fn forms(short: &Lines) -> Named {
    let text = String::from_utf8(short.to_bytes()).unwrap();
    let at =
        |name, line: usize, new: &str| short.but(name, |log| log.0.insert(line, new.to_owned()));
    let of_version = |name, version: u64| {
        let version = format!("\"x811_export\":{version}");
        short.but(name, |log| log.replace(0, "\"x811_export\":2", &version))
    };
    vec![
        ("carriage-returns", text.replace('\n', "\r\n").into_bytes()),
        at("empty-line", 3, ""),
        at("unknown-line", 3, "x {}"),
        at("path-in-a-log", 2, "p []"),
        short.but("no-trailer", |log| drop(log.0.pop())),
        short.but("no-header", |log| drop(log.0.remove(0))),
        ("no-last-line-end", text.trim_end().as_bytes().to_vec()),
        short.but("behind-the-trailer", |log| log.0.push("{}".to_owned())),
        of_version("version-1", 1),
        of_version("version-3", 3),
        of_version("version-4", 4),
        ("cut-in-a-line", text.as_bytes()[..text.len() / 2].to_vec()),
        ("empty", Vec::new()),
    ]
}
