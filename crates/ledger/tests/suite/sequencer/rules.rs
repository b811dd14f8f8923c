//! Which rules are in force, and what a program does with a log of others (machines.md section 1).

use super::begun::{first_events, stored};
use super::ledgerbox::Ledgerbox;
use serde_json::{Value, json};
use x811_ledger::sequencer::OpenError;
use x811_protocol::event::{Event, LedgerEvent};
use x811_world::Fault;

fn changed(version: u64) -> Value {
    json!({ "type": "rules_changed", "rules_version": version, "reader": version })
}

async fn types(ledgerbox: &Ledgerbox) -> Vec<&'static str> {
    let events = ledgerbox.events().await.into_iter();
    events.map(|(_, event)| event.type_name()).collect()
}

#[tokio::test]
async fn mach_1_a_new_log_begins_under_the_latest_rules() {
    let ledgerbox = Ledgerbox::open().await;
    let events = ledgerbox.events().await;
    let Event::Ledger(LedgerEvent::Opened(opened)) = &events[0].1 else {
        panic!("the log begins with it");
    };
    assert_eq!((opened.rules_version, opened.reader), (2, 2));
    assert!(!types(&ledgerbox).await.contains(&"rules_changed"));
}

/// A program that does not know the rules in force does not start, whatever else the record holds, and
/// says which version of it does: of a log of earlier rules, and of later ones.
#[tokio::test]
async fn mach_1_a_log_of_other_rules_is_refused_by_name() {
    let ledgerbox = Ledgerbox::open().await;
    let begun = first_events(&ledgerbox);
    let opened_under = |version: u64| {
        let mut opened = begun[0].clone();
        (opened["rules_version"], opened["reader"]) = (json!(version), json!(version));
        opened
    };
    let mut without_reader = opened_under(1);
    without_reader.as_object_mut().unwrap().remove("reader");
    let mut with_more = changed(3);
    with_more["members_of_rules_3"] = json!(true);
    let [opened, parameters] = begun.clone();
    for (log, position, version) in [
        (vec![without_reader], 0, 1),
        (vec![opened_under(1), parameters.clone()], 0, 1),
        (vec![opened_under(3), parameters.clone()], 0, 3),
        (vec![opened.clone(), parameters.clone(), changed(3)], 2, 3),
        (vec![opened, parameters, with_more], 2, 3),
    ] {
        let mut ledgerbox = Ledgerbox::open().await;
        stored(&mut ledgerbox, &log).await;
        let refused = ledgerbox.start().await.unwrap_err();
        let OpenError::UnknownRules(fault) = &refused else {
            panic!("{refused:?}");
        };
        assert!(
            matches!(fault, Fault::UnknownRules { position: at, rules_version: of }
                if (*at, *of) == (position, version)),
            "{fault:?}"
        );
        let said = refused.to_string();
        assert!(
            said.contains("use the version of x811 that wrote"),
            "{said}"
        );
    }
}

type Change = fn(&mut Vec<Value>);

/// Rules change to later ones alone, with the reader that belongs to them.
#[tokio::test]
async fn mach_1_rules_go_forward_only() {
    let of_reader = "`reader` is not the one of these rules";
    let wrong: [(Change, &str); 3] = [
        (
            |log| log.push(json!({ "type": "rules_changed", "rules_version": 2, "reader": 1 })),
            of_reader,
        ),
        (
            |log| log.push(changed(2)),
            "rules change to a later version only",
        ),
        (|log| log[0]["reader"] = json!(3), of_reader),
    ];
    for (change, due) in wrong {
        let mut ledgerbox = Ledgerbox::open().await;
        let mut log = first_events(&ledgerbox).to_vec();
        change(&mut log);
        stored(&mut ledgerbox, &log).await;
        let refused = ledgerbox.start().await.unwrap_err();
        let OpenError::Fault(Fault::Misplaced { why, .. }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(why, due);
    }
}

/// The namespaces of machines are no mail.
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
