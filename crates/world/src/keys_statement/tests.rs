use super::*;
use x811_protocol::event::LedgerKeyRotated;

const LEDGER: &str = "did:x811:019b76da-a800-7000-8000-0000000000d1";

fn key(seed: u8) -> SecretKey {
    SecretKey::from_seed([seed; 32])
}

fn opened() -> LedgerOpened {
    LedgerOpened {
        log_id: Uuid::from_u128(811),
        did: LEDGER.parse().unwrap(),
        origin: "ledger.example/x811".to_owned(),
        keys: LedgerKeys {
            envelope: key(1).public(),
            checkpoint: key(2).public(),
            receipt: key(3).public(),
        },
        format: 1,
        rules_version: x811_protocol::rules::Rules::LATEST.version(),
        continues: None,
        reader: x811_protocol::rules::Rules::LATEST.reader(),
    }
}

/// Checkpoint key 2 → 4 → 5 at 10 and 20, receipt key 3 → 6 at 21.
fn keyring() -> Keyring {
    let steps = [
        (LedgerRole::Checkpoint, 2, 4, 10),
        (LedgerRole::Checkpoint, 4, 5, 20),
        (LedgerRole::Receipt, 3, 6, 21),
    ];
    let first = Keyring::opened(opened().keys);
    steps
        .into_iter()
        .fold(first, |keyring, (role, old, new, at)| {
            let ledger = LEDGER.parse().unwrap();
            let rotated = LedgerKeyRotated::sign(ledger, role, &key(old), key(new).public());
            keyring.rotated(ledger, &rotated, at).unwrap()
        })
}

fn statement(size: u64) -> KeysStatement {
    let checkpoint = Checkpoint {
        origin: opened().origin,
        size,
        root: Hash::of_leaf(&size.to_be_bytes()),
    };
    KeysStatement::of(&opened(), &keyring(), &checkpoint)
}

#[test]
fn lc_8_a_statement_lists_every_rotation_below_its_size_and_the_keys_after_it() {
    let table = [
        (10, vec![], 2, 3),
        (11, vec![10], 4, 3),
        (20, vec![10], 4, 3),
        (21, vec![10, 20], 5, 3),
        (22, vec![10, 20, 21], 5, 6),
        (900, vec![10, 20, 21], 5, 6),
    ];
    for (size, positions, checkpoint, receipt) in table {
        let statement = statement(size);
        let listed = statement.rotations.iter().map(|rotation| rotation.position);
        assert_eq!(listed.collect::<Vec<_>>(), positions, "{size}");
        assert_eq!(
            statement.keys.checkpoint,
            key(checkpoint).public(),
            "{size}"
        );
        assert_eq!(statement.keys.receipt, key(receipt).public(), "{size}");
        assert_eq!(statement.keys_after(1), opened().keys, "{size}");
        assert!(statement.is_sound(), "{size}");
    }
    let last = statement(900);
    let pairs = last.rotations.iter().map(|it| (it.old, it.new));
    let expected =
        [(2, 4), (4, 5), (3, 6)].map(|(old, new)| (key(old).public(), key(new).public()));
    assert_eq!(pairs.collect::<Vec<_>>(), expected);
    assert_eq!(last.replaced_at(key(2).public()), Some(10));
    assert_eq!(last.replaced_at(key(5).public()), None);
    assert_eq!(last.replaced_at(key(3).public()), None, "no checkpoint key");
}

#[test]
fn lc_8_a_statement_is_signed_over_its_line_and_its_canonical_form() {
    let signed = statement(22).sign(&key(5));
    assert!(signed.is_its_own());
    let mut object: serde_json::Value = serde_json::from_slice(&signed.to_json()).unwrap();
    let signature = object.as_object_mut().unwrap().remove("signature").unwrap();
    assert_eq!(signature, signed.signature.to_string());
    let names: Vec<&String> = object.as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        ["keys", "log_id", "origin", "root", "rotations", "size"]
    );
    let names: Vec<&String> = object["rotations"][0].as_object().unwrap().keys().collect();
    assert_eq!(names, ["new", "old", "position", "role"]);
    let bytes = [b"x811 keys v1\n", &*to_canonical(&object)].concat();
    assert!(key(5).public().verify(&bytes, &signed.signature));
    assert_eq!(SignedKeys::from_json(&signed.to_json()), Ok(signed.clone()));

    for other in [2, 3, 4, 6] {
        assert!(!statement(22).sign(&key(other)).is_its_own(), "{other}");
    }
    let mut more = object.clone();
    more["signature"] = signature;
    more["note"] = "x".into();
    assert!(SignedKeys::from_json(&to_canonical(&more)).is_err());
    let spaced = [b" ", &*signed.to_json()].concat();
    assert!(SignedKeys::from_json(&spaced).is_err());
}

/// Signed by the right key, but no list that leads from position 0 to the keys in force.
#[test]
fn lc_8_a_list_that_leads_nowhere_is_not_sound() {
    let changes: [fn(&mut KeysStatement); 7] = [
        |it| {
            it.rotations.remove(0);
        },
        |it| {
            it.rotations.pop();
        },
        |it| it.rotations.swap(0, 1),
        |it| it.rotations[2].position = 22,
        |it| it.rotations[0].position = 0,
        |it| it.rotations[0].old = it.rotations[0].new,
        |it| it.keys.receipt = key(3).public(),
    ];
    for (place, change) in changes.into_iter().enumerate() {
        let mut statement = statement(22);
        change(&mut statement);
        // The first or the last of a key that is left out makes another beginning.
        let begins_so = statement.keys_after(0) == opened().keys;
        assert!(!(statement.is_sound() && begins_so), "{place}");
    }
    assert!(statement(22).is_sound() && statement(22).keys_after(0) == opened().keys);
}

#[test]
fn lc_8_two_statements_that_cannot_both_be_true_contradict_each_other() {
    for (one, other) in [(10, 10), (10, 22), (22, 10), (11, 21)] {
        assert_eq!(statement(one).contradicts(&statement(other)), None);
    }
    let changes: [fn(&mut KeysStatement); 4] = [
        |it| it.root = Hash::ZERO,
        |it| {
            it.rotations.pop();
        },
        |it| it.keys.receipt = key(9).public(),
        |it| it.rotations[0].position = 9,
    ];
    for (place, change) in changes.into_iter().enumerate() {
        let mut lie = statement(22);
        change(&mut lie);
        assert!(lie.contradicts(&statement(22)).is_some(), "{place}");
        assert!(statement(22).contradicts(&lie).is_some(), "{place}");
        // Of another size the roots are others, and rotations may follow.
        if place > 0 {
            assert!(lie.contradicts(&statement(30)).is_some(), "{place}");
        }
    }
    let mut elsewhere = statement(22);
    elsewhere.log_id = Uuid::from_u128(1);
    assert_eq!(elsewhere.contradicts(&statement(22)), None, "another log");
}

#[test]
fn it_stands_in_the_order_it_is_written_in() {
    let signed = statement(30).sign(&key(5));
    assert_eq!(serde_json::to_vec(&signed).unwrap(), signed.to_json());
}
