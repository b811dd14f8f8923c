//! Contracts in the members of the published page: what is rendered verifies, what was changed does
//! not, and its place is named.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, and says where"
)]

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use x811_protocol::contract_page::{
    CHAIN_PROFILE, Contract, EntryFault, MAX_PAGE_BYTES, PageAction, PageEntry, PageError,
    PageStatus, chain_hash, render, verify,
};
use x811_protocol::did::Did;
use x811_protocol::id::EnvelopeId;
use x811_protocol::time::TimestampMs;

/// 2026-01-01T00:00:00Z.
const START_MS: u64 = 1_767_225_600_000;
const ADA: &str = "did:x811:019b76da-a800-7000-8000-00000000000a";
const BERT: &str = "did:x811:019b76da-a800-7000-8000-00000000000b";
const EVE: &str = "did:x811:019b76da-a800-7000-8000-00000000000e";

use PageAction::{Accept, Counter, Offer, Reject};

fn did(text: &str) -> Did {
    text.parse().unwrap()
}

fn object(value: Value) -> Map<String, Value> {
    serde_json::from_value(value).unwrap()
}

fn terms(value: &str) -> Map<String, Value> {
    object(json!({
        "payer": ADA, "payee": BERT, "amount_of": "price",
        "amount": { "value": value, "currency": "USDC" }, "description": "a résumé",
    }))
}

/// A contract of these turns, one second apart, each with terms of its own where it has any.
fn contract(turns: &[(PageAction, &str)], status: PageStatus) -> Contract {
    let history = turns.iter().enumerate().map(|(index, (action, agent))| {
        let has_terms = matches!(action, Offer | Counter);
        PageEntry {
            action: *action,
            agent: did(agent),
            terms: has_terms.then(|| terms(&format!("{}.5", index + 1))),
            message: (index == 1).then(|| "our \"volume\" agreement".to_owned()),
            at: TimestampMs::new(START_MS + 1_000 * index as u64),
        }
    });
    Contract {
        id: "019b76da-a800-7000-8000-000000000001".parse().unwrap(),
        initiator: did(ADA),
        responder: did(BERT),
        status,
        history: history.collect(),
        expires_at: TimestampMs::new(START_MS + 3_600_000),
    }
}

/// Three turns and agreement.
fn agreed() -> Contract {
    let turns = [
        (Offer, ADA),
        (Counter, BERT),
        (Counter, ADA),
        (Accept, BERT),
    ];
    contract(&turns, PageStatus::Accepted)
}

fn page(contract: &Contract) -> Value {
    serde_json::to_value(render(contract).unwrap()).unwrap()
}

fn judge(page: &Value) -> Result<Contract, PageError> {
    verify(page.to_string().as_bytes())
}

/// Computes every hash anew, as anybody who has the file can.
fn rehash(page: &mut Value) {
    let mut last: Option<String> = None;
    for entry in page["history"].as_array_mut().unwrap() {
        let hash = chain_hash(entry.as_object().unwrap(), last.as_deref());
        entry["hash"] = json!(hash);
        last = Some(hash);
    }
    page["hashChain"] = json!(last.unwrap_or_default());
}

#[test]
fn xn_6_xx_1_the_chain_has_the_digests_of_the_vectors() {
    let offer = object(json!({
        "action": "offer", "agent": "agent-a1b2c3d4", "at": "2024-03-01T12:00:00Z",
        "terms": { "amount": { "value": 5000, "currency": "USD" }, "description": "Original terms" },
    }));
    let counter = object(json!({
        "action": "counter", "agent": "agent-e5f6g7h8",
        "terms": { "amount": { "value": 4000, "currency": "USD" }, "description": "Revised terms" },
        "message": "Lowered price per our volume agreement",
        "hash": "0x8a7b...3f2e",
        "at": "2024-03-01T12:05:00Z",
    }));
    let first = chain_hash(&offer, None);
    assert_eq!(
        first,
        "0x48b12d38c50b3bf0d819a224424fc0a6f123306b8de8f4e5f80da1dd89805feb"
    );
    assert_eq!(
        chain_hash(&counter, Some(&first)),
        "0xe2112e2f031dd03b22b9130ac5c8a7ce26818a90990b04d45b4b20f76caf4a49"
    );
}

#[test]
fn xn_1_xn_5_a_rendering_has_the_ten_members_and_the_profile() {
    let page = page(&agreed());
    let names: Vec<&str> = page
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        names,
        [
            "acceptedAt",
            "chainProfile",
            "createdAt",
            "expiresAt",
            "hashChain",
            "history",
            "id",
            "initiator",
            "responder",
            "status",
            "terms",
        ]
    );
    assert_eq!(page["chainProfile"], CHAIN_PROFILE);
    assert_eq!(page["id"], "neg-019b76da-a800-7000-8000-000000000001");
    assert_eq!(page["initiator"], ADA);
    assert_eq!(page["status"], "accepted");
    assert_eq!(page["createdAt"], "2026-01-01T00:00:00.000Z");
    assert_eq!(page["acceptedAt"], "2026-01-01T00:00:03.000Z");
    assert_eq!(page["expiresAt"], "2026-01-01T01:00:00.000Z");
    assert_eq!(page["terms"], Value::Object(terms("3.5")));
    assert_eq!(page["hashChain"], page["history"][3]["hash"]);
    let entry = object(page["history"][1].clone());
    let names: Vec<&str> = entry.keys().map(String::as_str).collect();
    assert_eq!(names, ["action", "agent", "at", "hash", "message", "terms"]);
    let accept = object(page["history"][3].clone());
    assert_eq!(accept.len(), 4, "{accept:?}");
    let pending = self::page(&contract(&[(Offer, ADA)], PageStatus::Pending));
    assert_eq!(pending["acceptedAt"], Value::Null);
}

#[test]
fn xn_7_what_is_rendered_verifies_in_any_order_of_members() {
    let contract = agreed();
    let page = render(&contract).unwrap();
    let text = serde_json::to_string(&page).unwrap();
    assert!(
        text.starts_with(r#"{"chainProfile":"x811-jcs-1","id":"neg-"#),
        "{text}"
    );
    assert_eq!(verify(text.as_bytes()), Ok(contract.clone()));
    let sorted = serde_json::to_string_pretty(&serde_json::to_value(&page).unwrap()).unwrap();
    assert_eq!(verify(sorted.as_bytes()), Ok(contract));
}

/// XX-2: a withdrawal is a reject by the author of the last terms. An expiry has no entry.
#[test]
fn xn_2_xn_3_xx_2_every_way_to_end_can_be_rendered() {
    let table = [
        (vec![(Offer, ADA)], PageStatus::Pending),
        (vec![(Offer, ADA)], PageStatus::Expired),
        (vec![(Offer, ADA), (Counter, BERT)], PageStatus::Countered),
        (vec![(Offer, ADA), (Counter, BERT)], PageStatus::Expired),
        (vec![(Offer, ADA), (Accept, BERT)], PageStatus::Accepted),
        (vec![(Offer, ADA), (Reject, BERT)], PageStatus::Rejected),
        (vec![(Offer, ADA), (Reject, ADA)], PageStatus::Rejected),
        (
            vec![(Offer, ADA), (Counter, BERT), (Reject, BERT)],
            PageStatus::Rejected,
        ),
    ];
    let all = [
        PageStatus::Pending,
        PageStatus::Countered,
        PageStatus::Accepted,
        PageStatus::Rejected,
        PageStatus::Expired,
    ];
    for (turns, status) in &table {
        let good = contract(turns, *status);
        assert_eq!(judge(&page(&good)), Ok(good), "{turns:?}");
        for other in all {
            let may_be = table.iter().any(|row| row.0 == *turns && row.1 == other);
            let rendered = render(&contract(turns, other));
            assert_eq!(rendered.is_ok(), may_be, "{turns:?} {other:?}");
        }
    }
}

/// Who may do what behind what: 4 kinds of entry before, 4 behind, by 3 agents.
#[test]
fn xn_3_xn_4_xx_2_every_entry_is_held_against_the_one_before_it() {
    for before in [Offer, Counter, Accept, Reject] {
        // The last terms are always Bert's.
        let mut turns = match before {
            Offer => vec![],
            Counter => vec![(Offer, ADA), (Counter, BERT)],
            Accept => vec![(Offer, ADA), (Counter, BERT), (Accept, ADA)],
            Reject => vec![(Offer, ADA), (Counter, BERT), (Reject, ADA)],
        };
        let (author, other) = match before {
            Offer => (ADA, BERT),
            Counter | Accept | Reject => (BERT, ADA),
        };
        if before == Offer {
            turns.push((Offer, ADA));
        }
        for next in [Offer, Counter, Accept, Reject] {
            for agent in [author, other, EVE] {
                let expected = match (before, next) {
                    _ if agent == EVE => Err(EntryFault::Stranger),
                    (Accept | Reject, _) => Err(EntryFault::AfterTheEnd),
                    (_, Offer) => Err(EntryFault::SecondOffer),
                    (_, Reject) => Ok(()),
                    _ if agent == author => Err(EntryFault::OwnTerms),
                    _ => Ok(()),
                };
                let mut turns = turns.clone();
                turns.push((next, agent));
                let status = match next {
                    Offer | Counter => PageStatus::Countered,
                    Accept => PageStatus::Accepted,
                    Reject => PageStatus::Rejected,
                };
                let rendered = render(&contract(&turns, status)).map(|_| ());
                let index = turns.len() - 1;
                let expected = expected.map_err(|fault| PageError::Entry { index, fault });
                assert_eq!(rendered, expected, "{before:?} {next:?} {agent}");
            }
        }
    }
}

#[test]
fn xn_7_a_changed_dropped_added_or_moved_entry_is_named_by_its_index() {
    let good = page(&agreed());
    let count = good["history"].as_array().unwrap().len();
    let with = |change: &dyn Fn(&mut Vec<Value>)| {
        let mut bad = good.clone();
        change(bad["history"].as_array_mut().unwrap());
        judge(&bad).unwrap_err()
    };
    for index in 0..count {
        let changed = with(&|history| history[index]["at"] = json!("2026-01-01T00:00:09.000Z"));
        assert_eq!(changed, PageError::Hash { index });
        let added =
            with(&|history| history.insert(index, json!({ "action": "reject", "agent": ADA })));
        assert_eq!(added, PageError::Hash { index });
        let doubled = with(&|history| history.insert(index, history[index].clone()));
        let index_behind = index + 1;
        assert_eq!(
            doubled,
            PageError::Hash {
                index: index_behind
            }
        );
        let dropped = with(&|history| drop(history.remove(index)));
        let expected = match index + 1 == count {
            true => PageError::HashChain { entries: count - 1 },
            false => PageError::Hash { index },
        };
        assert_eq!(dropped, expected);
        for other in 0..index {
            let moved = with(&|history| history.swap(index, other));
            assert_eq!(moved, PageError::Hash { index: other });
        }
        let without = with(&|history| drop(history[index].as_object_mut().unwrap().remove("hash")));
        assert_eq!(without, PageError::Hash { index });
    }
    assert_eq!(with(&Vec::clear), PageError::Empty);
}

/// What a byte that was changed in a rendering comes to, by the member that it stands in.
#[test]
fn xn_7_only_id_and_expiry_are_outside_the_chain() {
    let page = render(&agreed()).unwrap();
    let text = serde_json::to_string(&page).unwrap();
    let member_of = |place: usize| {
        let names = [
            "chainProfile",
            "id",
            "initiator",
            "responder",
            "status",
            "terms",
            "history",
            "hashChain",
            "createdAt",
            "expiresAt",
            "acceptedAt",
        ];
        // Names of members of the page stand behind a value; `terms` stands in entries too.
        let starts = names.map(|name| match name {
            "terms" => text.find("\"terms\":").unwrap(),
            name => text.rfind(&format!("\"{name}\":")).unwrap(),
        });
        let before = starts.iter().filter(|start| **start <= place).max();
        before
            .and_then(|start| starts.iter().position(|s| s == start))
            .map(|at| names[at])
    };
    let mut outside = BTreeSet::new();
    for place in 0..text.len() {
        for bit in [0x01, 0x20] {
            let mut bytes = text.clone().into_bytes();
            bytes[place] ^= bit;
            if verify(&bytes).is_ok() {
                outside.insert(member_of(place).unwrap());
            }
        }
    }
    assert_eq!(outside, BTreeSet::from(["id", "expiresAt"]));
}

/// What somebody does to a page.
type Change = fn(&mut Value);

/// Whoever has the file can write it anew; what its members say of each other still has to fit.
#[test]
fn xn_1_xn_7_a_rehashed_page_must_still_fit_together() {
    let good = page(&agreed());
    let with = |change: Change| {
        let mut bad = good.clone();
        change(&mut bad);
        rehash(&mut bad);
        judge(&bad).map(|_| ()).unwrap_err()
    };
    let member = |member| PageError::Member { member };
    let entry = |index, fault| PageError::Entry { index, fault };
    let table: [(Change, PageError); 12] = [
        (
            |bad| bad["terms"]["amount"]["value"] = json!("1.5"),
            member("terms"),
        ),
        (
            |bad| bad["history"][2]["terms"]["amount"]["value"] = json!("1.5"),
            member("terms"),
        ),
        (|bad| bad["status"] = json!("rejected"), member("status")),
        (|bad| bad["status"] = json!("pending"), member("status")),
        (
            |bad| bad["createdAt"] = bad["acceptedAt"].clone(),
            member("createdAt"),
        ),
        (|bad| bad["acceptedAt"] = Value::Null, member("acceptedAt")),
        (
            |bad| bad["acceptedAt"] = bad["createdAt"].clone(),
            member("acceptedAt"),
        ),
        (
            |bad| bad["expiresAt"] = bad["acceptedAt"].clone(),
            entry(3, EntryFault::Late),
        ),
        (
            |bad| bad["history"][2]["at"] = json!("2026-01-01T00:00:00.999Z"),
            entry(2, EntryFault::Earlier),
        ),
        (
            |bad| bad["history"][3]["agent"] = json!(ADA),
            entry(3, EntryFault::OwnTerms),
        ),
        (
            |bad| bad["initiator"] = json!(EVE),
            entry(0, EntryFault::Stranger),
        ),
        (
            |bad| {
                let (one, other) = (bad["initiator"].clone(), bad["responder"].clone());
                (bad["initiator"], bad["responder"]) = (other, one);
            },
            entry(0, EntryFault::NotTheInitiator),
        ),
    ];
    for (change, expected) in table {
        assert_eq!(with(change), expected);
    }
    let swapped = |bad: &mut Value| bad["history"].as_array_mut().unwrap().swap(0, 1);
    assert_eq!(with(swapped), entry(0, EntryFault::NoOffer));
    let same = |bad: &mut Value| bad["responder"] = bad["initiator"].clone();
    assert_eq!(with(same), PageError::OneParty);
    let with_terms = |bad: &mut Value| bad["history"][3]["terms"] = bad["terms"].clone();
    assert_eq!(with(with_terms), entry(3, EntryFault::Terms));
}

#[test]
fn xx_1_another_profile_or_another_form_is_refused() {
    let good = page(&agreed());
    let with = |change: &dyn Fn(&mut Value)| {
        let mut bad = good.clone();
        change(&mut bad);
        judge(&bad).unwrap_err()
    };
    for profile in [json!("x811-jcs-2"), json!(1), Value::Null] {
        let error = with(&|bad| bad["chainProfile"] = profile.clone());
        assert!(matches!(error, PageError::Profile { .. }), "{error}");
        assert!(error.to_string().contains("x811-jcs-1"), "{error}");
    }
    let forms: [&dyn Fn(&mut Value); 6] = [
        &|bad| bad["currency"] = json!("USDC"),
        &|bad| drop(bad.as_object_mut().unwrap().remove("acceptedAt")),
        &|bad| bad["createdAt"] = json!("2026-01-01T00:00:00Z"),
        &|bad| bad["createdAt"] = json!("2026-01-01T01:00:00.000+01:00"),
        &|bad| bad["status"] = json!("offered"),
        &|bad| bad["initiator"] = json!("agent-a1b2c3d4"),
    ];
    for form in forms {
        let error = with(form);
        assert!(matches!(error, PageError::NotAPage { .. }), "{error}");
    }
    for id in [
        "019b76da-a800-7000-8000-000000000001",
        "neg-0a1b2c3d",
        "neg_0a1b2c3d",
    ] {
        let error = with(&|bad| bad["id"] = json!(id));
        assert!(matches!(error, PageError::Id { .. }), "{error}");
    }
    let odd = with(&|bad| {
        bad["history"][1]["step"] = json!(2);
        rehash(bad);
    });
    assert!(
        matches!(odd, PageError::NotAnEntry { index: 1, .. }),
        "{odd}"
    );
}

#[test]
fn xn_7_limits_and_ambiguous_json_are_refused() {
    let text = page(&agreed()).to_string();
    let doubled = text.replacen(
        "{\"acceptedAt\"",
        "{\"status\":\"accepted\",\"acceptedAt\"",
        1,
    );
    let deep = text.replacen("\"a résumé\"", &("[".repeat(200) + &"]".repeat(200)), 1);
    let mut long = text.clone().into_bytes();
    long.resize(MAX_PAGE_BYTES + 1, b' ');
    for bytes in [
        doubled.as_bytes(),
        deep.as_bytes(),
        &long,
        b"",
        b"[]",
        b"\xff",
        &[b'['; 1 << 20],
    ] {
        assert!(verify(bytes).is_err());
    }
    long.pop();
    assert!(verify(&long).is_ok(), "blanks behind it do no harm");
}

/// Any turns of two agents, legal or not.
fn any_turns() -> impl Strategy<Value = Vec<(PageAction, &'static str)>> {
    let action = prop_oneof![4 => Just(Counter), 1 => Just(Accept), 1 => Just(Reject)];
    let turn = (action, prop_oneof![Just(ADA), Just(BERT)]);
    proptest::collection::vec(turn, 0..24).prop_map(|mut turns| {
        turns.insert(0, (Offer, ADA));
        turns
    })
}

proptest! {
    /// A page says nothing that its contract does not, and back.
    #[test]
    fn xn_7_rendering_and_verifying_are_inverse(turns in any_turns(), expired in any::<bool>()) {
        let status = match turns.last().unwrap().0 {
            Offer | Counter if expired => PageStatus::Expired,
            Offer => PageStatus::Pending,
            Counter => PageStatus::Countered,
            Accept => PageStatus::Accepted,
            Reject => PageStatus::Rejected,
        };
        let contract = contract(&turns, status);
        let is_legal = turns.windows(2).enumerate().all(|(index, pair)| {
            let author = turns[..=index].iter().rev().find(|turn| matches!(turn.0, Offer | Counter));
            matches!(pair[0].0, Offer | Counter) && (pair[1].0 == Reject || author.unwrap().1 != pair[1].1)
        });
        let rendered = render(&contract);
        prop_assert_eq!(rendered.is_ok(), is_legal);
        if let Ok(page) = rendered {
            let text = serde_json::to_vec(&page).unwrap();
            prop_assert_eq!(verify(&text), Ok(contract));
        }
    }

    #[test]
    fn xn_7_no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
        let _ = verify(&bytes);
    }
}

#[test]
fn xn_1_ids_are_those_of_envelopes() {
    let lenient = EnvelopeId::lenient("a1b2c3d4-e5f6-4890-abcd-ef1234567890").unwrap();
    let contract = Contract {
        id: lenient,
        ..agreed()
    };
    assert_eq!(judge(&page(&contract)), Ok(contract));
}
