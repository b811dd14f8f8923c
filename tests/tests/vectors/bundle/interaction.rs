//! A bundle of one interaction, changed: of one that was rejected, 7 records of 8.

use serde_json::{Value, json};
use x811_eventlog::Hash;
use x811_protocol::key::SecretKey;

use super::lines::{Lines, checkpoint, resigned, resigned_as};
use super::whole_log::Changed;
use crate::keys::{checkpoint_key, receipt_key};

/// Positions of its OFFER and its REJECT.
const OFFER: u64 = 6;
const REJECT: u64 = 7;
/// Records under the checkpoint.
const SIZE: u64 = 8;

pub(super) fn files() -> Changed {
    let good = Lines::of("rejected");
    let mut files = records(&good);
    files.extend(paths(&good));
    files.extend(ends(&good));
    files.extend(erasures());
    files.extend(of_version_3());
    files.extend(of_a_contract());
    files
}

/// Of a negotiation alone, and of the interaction that it opened, which brings it.
fn of_a_contract() -> Changed {
    let negotiation = Lines::of("negotiation-v3-r2");
    let engaged = Lines::of("contract-v3-r2");
    let of = |file: &Lines, text: &str| {
        let places = file.0.iter().enumerate();
        let mut places = places.filter(|(_, line)| line.contains(text));
        places.next().unwrap().0
    };
    let changed = |file: &Lines, old: &str, new: &str| {
        let at = of(file, old);
        file.with(|file| file.0[at] = file.0[at].replacen(old, new, 1))
    };
    let without = |file: &Lines, text: &str| {
        let at = of(file, text);
        file.with(|file| drop(file.0.remove(at)))
    };
    let engagement = "\"type\":\"engaged\"";
    vec![
        (
            "negotiation-amount-changed",
            changed(&negotiation, "\"2.05\"", "\"2.06\""),
        ),
        (
            "negotiation-engagement-dropped",
            without(&negotiation, engagement),
        ),
        ("contract-engagement-dropped", without(&engaged, engagement)),
        (
            "contract-amount-changed",
            changed(&engaged, "\"2.05\"", "\"2.06\""),
        ),
    ]
}

/// What the checkpoint key says in a bundle of version 3.
fn of_version_3() -> Changed {
    let good = Lines::of("rejected-v3");
    let (keys, end) = (good.find("k "), good.find("e "));
    let own = end + 2;
    let of_end = |change: &dyn Fn(&mut Value), key: &SecretKey| {
        good.with(|file| {
            file.edit(own, "e ", |end| {
                change(end);
                resigned_as("x811 stream end v2\n", end, key);
            });
        })
    };
    let none = |_: &mut Value| ();
    vec![
        (
            "three-keys-dropped",
            good.with(|file| drop(file.0.remove(keys))),
        ),
        (
            "three-keys-behind-records",
            good.with(|file| {
                let line = file.0.remove(keys);
                file.0.insert(end - 1, line);
            }),
        ),
        (
            "three-keys-by-the-receipt-key",
            good.with(|file| {
                file.edit(keys, "k ", |keys| {
                    resigned_as("x811 keys v1\n", keys, &receipt_key());
                });
            }),
        ),
        (
            "three-keys-with-another-rotation",
            good.with(|file| {
                file.edit(keys, "k ", |keys| {
                    let new = keys["keys"]["receipt"].clone();
                    let old = SecretKey::from_seed([2; 32]).public().to_string();
                    let rotation =
                        json!({"new": new, "old": old, "position": 3, "role": "receipt"});
                    keys["rotations"] = json!([rotation]);
                    resigned_as("x811 keys v1\n", keys, &checkpoint_key());
                });
            }),
        ),
        (
            "three-end-by-the-receipt-key",
            of_end(&none, &receipt_key()),
        ),
        (
            "three-standing-by-the-ledger",
            of_end(&|end| end["standing"] = "paid".into(), &checkpoint_key()),
        ),
        (
            "three-without-standing",
            of_end(
                &|end| drop(end.as_object_mut().unwrap().remove("standing")),
                &checkpoint_key(),
            ),
        ),
        (
            "three-as-version-2",
            good.with(|file| {
                file.edit(0, "", |header| header["x811_export"] = 2.into());
                file.0.remove(keys);
                for at in end - 1..file.0.len() - 1 {
                    file.edit(at, "e ", |end| {
                        end.as_object_mut().unwrap().remove("standing");
                        resigned(end, &receipt_key());
                    });
                }
            }),
        ),
    ]
}

fn records(good: &Lines) -> Changed {
    let offer = good.record(OFFER).start;
    let other = Lines::of("open");
    let (_, foreign) = other.first_of_interaction();
    vec![
        (
            "one-record-dropped",
            good.with(|file| drop(file.drop_record(OFFER))),
        ),
        (
            "one-last-record-dropped",
            good.with(|file| drop(file.drop_record(REJECT))),
        ),
        (
            "one-record-duplicated",
            good.with(|file| {
                let lines = file.0[file.record(OFFER)].to_vec();
                file.insert(REJECT, lines);
            }),
        ),
        (
            "one-records-swapped",
            good.with(|file| {
                let lines = file.drop_record(REJECT);
                file.insert(OFFER, lines);
            }),
        ),
        (
            "one-record-of-another-interaction",
            good.with(|file| file.insert(OFFER, foreign)),
        ),
        (
            "one-leaf-changed",
            good.with(|file| {
                file.replace(offer, "\"estimated_time_s\":10", "\"estimated_time_s\":11")
            }),
        ),
        (
            "one-body-changed",
            good.with(|file| file.replace(offer + 1, "\"price\":\"1\"", "\"price\":\"2\"")),
        ),
        (
            "one-body-dropped",
            good.with(|file| drop(file.0.remove(offer + 1))),
        ),
        (
            "one-scope-changed",
            good.with(|file| {
                let (id, _) = other.first_of_interaction();
                file.edit(0, "", |header| header["scope"]["interaction"] = id.into());
            }),
        ),
        (
            "one-no-scope",
            good.with(|file| file.edit(0, "", |header| header["scope"] = "log".into())),
        ),
    ]
}

fn paths(good: &Lines) -> Changed {
    let path = good.record(OFFER).end - 1;
    vec![
        (
            "one-path-changed",
            good.with(|file| file.edit(path, "p ", |hashes| hashes[1] = "00".repeat(32).into())),
        ),
        (
            "one-path-cut",
            good.with(|file| {
                file.edit(path, "p ", |hashes| {
                    drop(hashes.as_array_mut().unwrap().pop())
                });
            }),
        ),
        (
            "one-path-dropped",
            good.with(|file| drop(file.0.remove(path))),
        ),
        (
            "one-paths-swapped",
            good.with(|file| file.0.swap(path, path + 3)),
        ),
        (
            "one-checkpoint-dropped",
            good.with(|file| drop(file.0.remove(1))),
        ),
        (
            "one-checkpoint-of-another-key",
            good.with(|file| {
                let key = SecretKey::from_seed([2; 32]);
                file.0[1] = checkpoint(&key, SIZE, file.covered().1);
            }),
        ),
        (
            "one-checkpoint-over-other-records",
            good.with(|file| file.0[1] = checkpoint(&checkpoint_key(), SIZE, Hash::of_leaf(b""))),
        ),
        (
            "one-checkpoint-signature-changed",
            good.with(|file| file.flip(1, "x811 SKQPE")),
        ),
    ]
}

fn ends(good: &Lines) -> Changed {
    let end = good.find("e ");
    let of_interaction = end + 2;
    let network = end + 4;
    let last = good.0.len() - 1;
    let earlier = |file: &mut Lines, key: &SecretKey| {
        let record = file.record(OFFER).start;
        let hash = Hash::of_leaf(&file.0[record].as_bytes()[2..]);
        file.edit(of_interaction, "e ", |end| {
            end["last_seq"] = 1.into();
            end["last_hash"] = hash.to_string().into();
            resigned(end, key);
        });
        file.drop_record(REJECT);
        file.edit(last - 3, "", |trailer| {
            trailer["records"] = 6.into();
            trailer["head"] = hash.to_string().into();
        });
    };
    vec![
        (
            "one-end-dropped",
            good.with(|file| drop(file.0.remove(network))),
        ),
        (
            "one-end-of-another-key",
            good.with(|file| earlier(file, &SecretKey::from_seed([2; 32]))),
        ),
        (
            "one-end-moved-by-the-ledger",
            good.with(|file| earlier(file, &receipt_key())),
        ),
        (
            "one-end-of-a-smaller-tree",
            good.with(|file| {
                file.edit(network, "e ", |end| {
                    end["tree_size"] = 7.into();
                    resigned(end, &receipt_key());
                });
            }),
        ),
        (
            "one-ends-swapped",
            good.with(|file| file.0.swap(end, end + 1)),
        ),
        (
            "one-trailer-records-changed",
            good.with(|file| file.edit(last, "", |trailer| trailer["records"] = 8.into())),
        ),
        (
            "one-trailer-root-changed",
            good.with(|file| {
                file.edit(last, "", |trailer| trailer["root"] = "00".repeat(32).into());
            }),
        ),
        (
            "one-cut-behind-records",
            good.with(|file| file.0.truncate(end)),
        ),
    ]
}

/// In place of a body that was erased stands another.
fn erasures() -> Changed {
    let good = Lines::of("erased-bodies");
    let body = good.0.iter().find(|line| line.starts_with("b ")).unwrap();
    let request = good.record(4).start;
    let put_back = good.with(|file| file.0.insert(request + 1, body.clone()));
    vec![("one-other-body-for-an-erased-one", put_back)]
}
