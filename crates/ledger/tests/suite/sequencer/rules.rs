//! Which rules are in force, and what a program does with a log of others (machines.md section 1).

use super::begun::{of_rules_1, stored};
use super::ledgerbox::Ledgerbox;
use serde_json::{Value, json};
use x811_ledger::sequencer::OpenError;
use x811_protocol::event::{Event, LedgerEvent};
use x811_protocol::rules::Rules;
use x811_world::Fault;

fn changed(version: u64) -> Value {
    json!({ "type": "rules_changed", "rules_version": version, "reader": version })
}

async fn types(ledgerbox: &Ledgerbox) -> Vec<&'static str> {
    let events = ledgerbox.events().await.into_iter();
    events.map(|(_, event)| event.type_name()).collect()
}

#[tokio::test]
async fn mach_1_a_log_of_rules_1_goes_on_under_the_latest_once() {
    let mut ledgerbox = Ledgerbox::open().await;
    let log = of_rules_1(&ledgerbox);
    stored(&mut ledgerbox, &log).await;
    ledgerbox.parameters.looks_ms = [6_000; 4];
    ledgerbox.start().await.unwrap();
    let begun = [
        "ledger_opened",
        "parameters_set",
        "ledger_resumed",
        "rules_changed",
        "parameters_set",
    ];
    assert_eq!(types(&ledgerbox).await, begun);
    assert_eq!(ledgerbox.ledger().world().rules(), Rules::LATEST);
    ledgerbox.restart().await;
    assert_eq!(types(&ledgerbox).await[5..], ["ledger_resumed"]);
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn mach_1_a_new_log_begins_under_the_latest_rules() {
    let ledgerbox = Ledgerbox::open().await;
    let events = ledgerbox.events().await;
    let Event::Ledger(LedgerEvent::Opened(opened)) = &events[0].1 else {
        panic!("the log begins with it");
    };
    assert_eq!((opened.rules_version, opened.reader), (2, Some(2)));
    assert!(!types(&ledgerbox).await.contains(&"rules_changed"));
}

/// A program that does not know the rules in force does not start, whatever else the record holds, and
/// says which version of it does.
#[tokio::test]
async fn mach_1_a_log_of_later_rules_is_refused_by_name() {
    let mut later = changed(3);
    later["members_of_rules_3"] = json!(true);
    for last in [changed(3), later] {
        let mut ledgerbox = Ledgerbox::open().await;
        let mut log = of_rules_1(&ledgerbox).to_vec();
        log.extend([changed(2), last]);
        stored(&mut ledgerbox, &log).await;
        let refused = ledgerbox.start().await.unwrap_err();
        let OpenError::UnknownRules(fault) = &refused else {
            panic!("{refused:?}");
        };
        let (position, rules_version) = (3, 3);
        assert!(
            matches!(fault, Fault::UnknownRules { position: at, rules_version: of }
                if (*at, *of) == (position, rules_version)),
            "{fault:?}"
        );
        let said = refused.to_string();
        assert!(
            said.contains("use the version of x811 that wrote"),
            "{said}"
        );
    }
}

/// Rules change to later ones alone, with the reader that belongs to them.
#[tokio::test]
async fn mach_1_rules_go_forward_only() {
    let wrong_reader = json!({ "type": "rules_changed", "rules_version": 2, "reader": 1 });
    let no_reader = json!({ "type": "rules_changed", "rules_version": 2 });
    let back = json!({ "type": "rules_changed", "rules_version": 1 });
    for wrong in [
        vec![wrong_reader],
        vec![no_reader],
        vec![back.clone()],
        vec![changed(2), changed(2)],
        vec![changed(2), back],
    ] {
        let mut ledgerbox = Ledgerbox::open().await;
        let log = [of_rules_1(&ledgerbox).to_vec(), wrong.clone()].concat();
        stored(&mut ledgerbox, &log).await;
        let refused = ledgerbox.start().await.unwrap_err();
        assert!(
            matches!(refused, OpenError::Fault(Fault::Misplaced { .. })),
            "{wrong:?}"
        );
    }
}

/// The namespaces of machines are no mail any more; they were under rules 1.
#[tokio::test]
async fn mach_1_the_namespaces_of_machines_are_closed_to_mail() {
    let ledgerbox = Ledgerbox::open().await;
    let (from, to) = (ledgerbox.provider().await, ledgerbox.provider().await);
    for (name, status) in [
        ("x811.negotiation/propose", 400),
        ("x811.capability/propose", 400),
        ("x811.consensus/offer", 400),
        ("x811.dispute/open", 422),
        ("x811.trace/node", 400),
    ] {
        let letter = ledgerbox.seal(&from, name, &to, json!({}));
        let refusal = ledgerbox.submit(&letter).await.unwrap_err();
        assert_eq!(refusal.code.as_str(), "X811-4001", "{name}");
        assert_eq!(refusal.http_status(), status, "{name}");
    }
    let letter = ledgerbox.seal(&from, "x811.negotiations/offer", &to, json!({}));
    ledgerbox.accept(&letter).await;
}

/// What opens business may name the ledger that it is for, and another does not take it; what is no DID
/// names none.
#[tokio::test]
async fn mach_1_a_message_for_another_ledger_is_refused() {
    let ledgerbox = Ledgerbox::open().await;
    let (from, to) = (ledgerbox.provider().await, ledgerbox.provider().await);
    let own = ledgerbox.identity.did.to_string();
    let other = to.did.to_string();
    let letter = |named: &str| {
        let payload = json!({ "ledger": named });
        ledgerbox.seal(&from, "x811.greetings/hello", &to, payload)
    };
    for named in [&*own, "somewhere"] {
        ledgerbox.accept(&letter(named)).await;
    }
    let refusal = ledgerbox.submit(&letter(&other)).await.unwrap_err();
    assert_eq!(
        (refusal.code.as_str(), refusal.http_status()),
        ("X811-4001", 422)
    );
    assert!(refusal.message.contains(&other), "{}", refusal.message);
}
