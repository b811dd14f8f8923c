//! Rendered contracts before two verifiers: ours, and one in Python that was written from
//! `docs/negotiation.md` alone. Whatever is changed, and by whom, both say the same of it.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, and says where"
)]

use serde_json::{Map, Value, json};
use x811_protocol::contract_page::{
    Contract, PageAction, PageEntry, PageStatus, chain_hash, render, verify,
};
use x811_protocol::time::TimestampMs;
use x811_tests::verifiers::{Job, Verifier};

const ADA: &str = "did:x811:019b76da-a800-7000-8000-00000000000a";
const BERT: &str = "did:x811:019b76da-a800-7000-8000-00000000000b";
const EVE: &str = "did:x811:019b76da-a800-7000-8000-00000000000e";

/// 2026-01-01T00:00:00Z.
const START_MS: u64 = 1_767_225_600_000;

/// A file, what it is, and whether it holds; `None` where the two verifiers decide.
type Case = (String, Vec<u8>, Option<bool>);

/// An offer, `counters` of them, and an end.
fn page(counters: usize, status: PageStatus) -> Value {
    let end = match status {
        PageStatus::Accepted => Some(PageAction::Accept),
        PageStatus::Rejected => Some(PageAction::Reject),
        PageStatus::Pending | PageStatus::Countered | PageStatus::Expired => None,
    };
    let turns = std::iter::once(PageAction::Offer)
        .chain(std::iter::repeat_n(PageAction::Counter, counters))
        .chain(end);
    let history = turns.enumerate().map(|(index, action)| PageEntry {
        action,
        agent: [ADA, BERT][index % 2].parse().unwrap(),
        terms: end.is_none_or(|end| end != action).then(|| {
            let terms = json!({
                "amount": {"value": format!("{index}.5"), "currency": "USDC"},
                "description": "résumé \u{1f600} \u{2028} \u{7f} <\"\\>\n",
                "parameters": {"\u{e9}": 1e-9, "a": -0.000_001, "b": [null, true, 9_007_199_254_740_991_u64]},
            });
            serde_json::from_value(terms).unwrap()
        }),
        message: (index == 1).then(|| "our \"volume\" agreement".to_owned()),
        at: TimestampMs::new(START_MS + 1_000 * index as u64),
    });
    let contract = Contract {
        id: "019b76da-a800-7000-8000-000000000001".parse().unwrap(),
        initiator: ADA.parse().unwrap(),
        responder: BERT.parse().unwrap(),
        status,
        history: history.collect(),
        expires_at: TimestampMs::new(START_MS + 3_600_000),
    };
    serde_json::to_value(render(&contract).unwrap()).unwrap()
}

/// Computes every hash anew, as whoever has the file can.
fn hashed_anew(page: &mut Value) {
    let mut last: Option<String> = None;
    let history = page["history"].as_array_mut();
    let entries = history.into_iter().flatten();
    for members in entries.filter_map(Value::as_object_mut) {
        let hash = chain_hash(members, last.as_deref());
        members.insert("hash".to_owned(), Value::from(hash.as_str()));
        last = Some(hash);
    }
    page["hashChain"] = json!(last);
}

/// Values that a member may be given in place of its own.
fn others() -> Vec<Value> {
    let texts = [
        "",
        "offer",
        "counter",
        "accept",
        "reject",
        "pending",
        "countered",
        "accepted",
        "rejected",
        "expired",
        ADA,
        BERT,
        EVE,
        "2026-01-01T00:00:02.000Z",
        "2026-01-01T00:00:02Z",
        "2026-13-01T00:00:02.000Z",
        "2025-01-01T00:00:00.000Z",
        "x811-jcs-2",
    ];
    let mut others: Vec<Value> = texts.map(Value::from).to_vec();
    others.extend([
        json!(null),
        json!(0),
        json!([]),
        json!({}),
        json!({"amount": "1"}),
    ]);
    others
}

/// Every member of every object of the page's own two kinds: left out, null, added, another value.
fn changed(good: &Value) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    let entries = good["history"].as_array().unwrap().len();
    let places =
        std::iter::once(String::new()).chain((0..entries).map(|n| format!("/history/{n}")));
    for place in places {
        let members: Map<String, Value> =
            serde_json::from_value(good.pointer(&place).unwrap().clone()).unwrap();
        let names = members.keys().map(String::as_str);
        for name in names.chain(["message", "unknown"]) {
            let mut change = |what: String, value: Option<Value>| {
                let mut page = good.clone();
                let object = page.pointer_mut(&place).unwrap().as_object_mut().unwrap();
                match value {
                    Some(value) => object.insert(name.to_owned(), value),
                    None => object.remove(name),
                };
                all.push((format!("{place}/{name} {what}"), page));
            };
            change("left out".to_owned(), None);
            for other in others() {
                change(format!("= {other}"), Some(other));
            }
        }
    }
    for index in 0..entries {
        let history = |what: &str, change: &dyn Fn(&mut Vec<Value>)| {
            let mut page = good.clone();
            change(page["history"].as_array_mut().unwrap());
            (format!("entry {index} {what}"), page)
        };
        all.push(history("dropped", &|all| drop(all.remove(index))));
        all.push(history("twice", &|all| {
            all.insert(index, all[index].clone())
        }));
        all.push(history("moved to the end", &|all| {
            let entry = all.remove(index);
            all.push(entry);
        }));
        all.push(history("no object", &|all| all[index] = json!("entry")));
    }
    all
}

/// All files: good ones, each change of them, and the same by somebody who computes the hashes anew.
fn cases() -> Vec<Case> {
    use PageStatus::{Accepted, Countered, Expired, Pending, Rejected};
    let mut cases = Vec::new();
    for (counters, status) in [
        (0, Pending),
        (0, Expired),
        (1, Countered),
        (2, Accepted),
        (3, Rejected),
        (19, Expired),
    ] {
        let good = page(counters, status);
        let name = format!("{status:?} after {counters}");
        cases.push((name.clone(), good.to_string().into_bytes(), Some(true)));
        if counters == 19 {
            continue;
        }
        for (what, mut page) in changed(&good) {
            cases.push((
                format!("{name}: {what}"),
                page.to_string().into_bytes(),
                None,
            ));
            hashed_anew(&mut page);
            let bytes = page.to_string().into_bytes();
            cases.push((format!("{name}: {what}, hashed anew"), bytes, None));
        }
        let text = good.to_string();
        let twice = text.replacen('{', "{\"status\":\"pending\",", 1);
        cases.push((format!("{name}: a member twice"), twice.into(), Some(false)));
        let longer = format!("{text}{{}}");
        cases.push((
            format!("{name}: more behind it"),
            longer.into(),
            Some(false),
        ));
        let cut = text[..text.len() - 1].to_owned();
        cases.push((format!("{name}: cut"), cut.into(), Some(false)));
    }
    cases
}

#[test]
fn xx_1_a_verifier_written_from_the_documents_agrees_on_every_rendered_contract() {
    let folder = tempfile::tempdir().unwrap();
    let cases = cases();
    let jobs: Vec<Job> = (0..)
        .zip(&cases)
        .map(|(number, (_, bytes, _))| {
            let file = folder.path().join(format!("{number}.json"));
            std::fs::write(&file, bytes).unwrap();
            Job::rendered(&file)
        })
        .collect();
    let verdicts = Verifier::Reader.judge_all(&jobs);
    let mut faults = Vec::new();
    let (mut held, mut refused) = (0, 0);
    for ((what, bytes, due), theirs) in cases.iter().zip(verdicts) {
        let ours = verify(bytes);
        if ours.is_ok() != theirs.is_ok() || due.is_some_and(|due| due != ours.is_ok()) {
            faults.push(format!("{what}: {:?}, {theirs:?}", ours.map(drop)));
        } else if theirs.is_ok() {
            held += 1;
        } else {
            refused += 1;
        }
    }
    assert!(faults.is_empty(), "{}: {faults:#?}", faults.len());
    // Both verdicts are met, each often enough to mean something.
    assert!(
        held > 100 && refused > 2_000,
        "{held} held, {refused} refused"
    );
}
