//! A bundle of one interaction, changed: of one that was rejected, 7 records of 8.

use serde_json::{Value, json};
use x811_eventlog::Hash;
use x811_protocol::key::SecretKey;

use super::super::Named;
use super::super::keys::{checkpoint_key, receipt_key};
use super::lines::{Lines, checkpoint, resigned, resigned_end};

/// Positions of its OFFER and its REJECT.
const OFFER: u64 = 6;
const REJECT: u64 = 7;
/// Records under the checkpoint.
const SIZE: u64 = 8;

pub(super) fn files() -> Named {
    let good = Lines::of("rejected");
    let mut files = records(&good);
    files.extend(paths(&good));
    files.extend(ends(&good));
    files.extend(erasures());
    files.extend(of_the_checkpoint_key());
    files.extend(of_a_contract());
    files
}

/// Of a negotiation alone, and of the interaction that it opened, which brings it.
fn of_a_contract() -> Named {
    let negotiation = Lines::of("negotiation");
    let engaged = Lines::of("contract");
    let of = |file: &Lines, text: &str| {
        let places = file.0.iter().enumerate();
        let mut places = places.filter(|(_, line)| line.contains(text));
        places.next().unwrap().0
    };
    let changed = |name, file: &Lines, old: &str, new: &str| {
        let at = of(file, old);
        file.but(name, |file| file.0[at] = file.0[at].replacen(old, new, 1))
    };
    let without = |name, file: &Lines, text: &str| {
        let at = of(file, text);
        file.but(name, |file| drop(file.0.remove(at)))
    };
    let engagement = "\"type\":\"engaged\"";
    vec![
        changed(
            "negotiation-amount-changed",
            &negotiation,
            "\"2.05\"",
            "\"2.06\"",
        ),
        without("negotiation-engagement-dropped", &negotiation, engagement),
        without("contract-engagement-dropped", &engaged, engagement),
        changed("contract-amount-changed", &engaged, "\"2.05\"", "\"2.06\""),
    ]
}

/// The keys statement and the ends, which the checkpoint key signs.
fn of_the_checkpoint_key() -> Named {
    let good = Lines::of("rejected");
    let (keys, end) = (good.find("k "), good.find("e "));
    let own = end + 2;
    let of_end = |name, change: &dyn Fn(&mut Value), key: &SecretKey| {
        good.but(name, |file| {
            file.edit(own, "e ", |end| {
                change(end);
                resigned_end(end, key);
            });
        })
    };
    let none = |_: &mut Value| ();
    let of_version = |name, version: u64| {
        good.but(name, |file| {
            file.edit(0, "", |header| header["x811_export"] = version.into())
        })
    };
    vec![
        good.but("three-keys-dropped", |file| drop(file.0.remove(keys))),
        good.but("three-keys-behind-records", |file| {
            let line = file.0.remove(keys);
            file.0.insert(end - 1, line);
        }),
        good.but("three-keys-by-the-receipt-key", |file| {
            file.edit(keys, "k ", |keys| {
                resigned("x811 keys v1\n", keys, &receipt_key());
            });
        }),
        good.but("three-keys-with-another-rotation", |file| {
            file.edit(keys, "k ", |keys| {
                let new = keys["keys"]["receipt"].clone();
                let old = SecretKey::from_seed([2; 32]).public().to_string();
                let rotation = json!({"new": new, "old": old, "position": 3, "role": "receipt"});
                keys["rotations"] = json!([rotation]);
                resigned("x811 keys v1\n", keys, &checkpoint_key());
            });
        }),
        of_end("three-end-by-the-receipt-key", &none, &receipt_key()),
        of_end(
            "three-standing-by-the-ledger",
            &|end| end["standing"] = "paid".into(),
            &checkpoint_key(),
        ),
        of_end(
            "three-without-standing",
            &|end| drop(end.as_object_mut().unwrap().remove("standing")),
            &checkpoint_key(),
        ),
        of_version("three-version-2", 2),
        of_version("three-version-4", 4),
    ]
}

fn records(good: &Lines) -> Named {
    let offer = good.record(OFFER).start;
    let other = Lines::of("open");
    let (_, foreign) = other.first_of_interaction();
    vec![
        good.but("one-record-dropped", |file| drop(file.drop_record(OFFER))),
        good.but("one-last-record-dropped", |file| {
            drop(file.drop_record(REJECT))
        }),
        good.but("one-record-duplicated", |file| {
            let lines = file.0[file.record(OFFER)].to_vec();
            file.insert(REJECT, lines);
        }),
        good.but("one-records-swapped", |file| {
            let lines = file.drop_record(REJECT);
            file.insert(OFFER, lines);
        }),
        good.but("one-record-of-another-interaction", |file| {
            file.insert(OFFER, foreign)
        }),
        good.but("one-leaf-changed", |file| {
            file.replace(offer, "\"estimated_time_s\":10", "\"estimated_time_s\":11")
        }),
        good.but("one-body-changed", |file| {
            file.replace(offer + 1, "\"price\":\"1\"", "\"price\":\"2\"")
        }),
        good.but("one-body-dropped", |file| drop(file.0.remove(offer + 1))),
        good.but("one-scope-changed", |file| {
            let (id, _) = other.first_of_interaction();
            file.edit(0, "", |header| header["scope"]["interaction"] = id.into());
        }),
        good.but("one-no-scope", |file| {
            file.edit(0, "", |header| {
                header["scope"] = "log".into();
                header["x811_export"] = 2.into();
            });
        }),
    ]
}

fn paths(good: &Lines) -> Named {
    let path = good.record(OFFER).end - 1;
    vec![
        good.but("one-path-changed", |file| {
            file.edit(path, "p ", |hashes| hashes[1] = "00".repeat(32).into())
        }),
        good.but("one-path-cut", |file| {
            file.edit(path, "p ", |hashes| {
                drop(hashes.as_array_mut().unwrap().pop())
            });
        }),
        good.but("one-path-dropped", |file| drop(file.0.remove(path))),
        good.but("one-paths-swapped", |file| file.0.swap(path, path + 3)),
        good.but("one-checkpoint-dropped", |file| drop(file.0.remove(1))),
        good.but("one-checkpoint-of-another-key", |file| {
            let key = SecretKey::from_seed([2; 32]);
            file.0[1] = checkpoint(&key, SIZE, file.covered().1);
        }),
        good.but("one-checkpoint-over-other-records", |file| {
            let root = Hash::of_leaf(b"");
            file.0[1] = checkpoint(&checkpoint_key(), SIZE, root);
            let at = file.find("k ");
            file.edit(at, "k ", |keys| {
                keys["root"] = root.to_string().into();
                resigned("x811 keys v1\n", keys, &checkpoint_key());
            });
        }),
        good.but("one-checkpoint-signature-changed", |file| {
            file.flip(1, "x811 SKQPE")
        }),
    ]
}

fn ends(good: &Lines) -> Named {
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
            resigned_end(end, key);
        });
        file.drop_record(REJECT);
        file.edit(last - 3, "", |trailer| {
            trailer["records"] = 6.into();
            trailer["head"] = hash.to_string().into();
        });
    };
    vec![
        good.but("one-end-dropped", |file| drop(file.0.remove(network))),
        good.but("one-end-of-another-key", |file| {
            earlier(file, &SecretKey::from_seed([2; 32]))
        }),
        good.but("one-end-moved-by-the-ledger", |file| {
            earlier(file, &checkpoint_key())
        }),
        good.but("one-end-of-a-smaller-tree", |file| {
            file.edit(network, "e ", |end| {
                end["tree_size"] = 7.into();
                resigned_end(end, &checkpoint_key());
            });
        }),
        good.but("one-ends-swapped", |file| file.0.swap(end, end + 1)),
        good.but("one-trailer-records-changed", |file| {
            file.edit(last, "", |trailer| trailer["records"] = 8.into())
        }),
        good.but("one-trailer-root-changed", |file| {
            file.edit(last, "", |trailer| trailer["root"] = "00".repeat(32).into());
        }),
        good.but("one-cut-behind-records", |file| file.0.truncate(end)),
    ]
}

/// In place of a body that was erased stands another.
fn erasures() -> Named {
    let good = Lines::of("erased-bodies");
    let body = good.0.iter().find(|line| line.starts_with("b ")).unwrap();
    let request = good.record(4).start;
    vec![good.but("one-other-body-for-an-erased-one", |file| {
        file.0.insert(request + 1, body.clone());
    })]
}
