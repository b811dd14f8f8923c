//! Negotiations of contracts, from the first offer to the interaction that they open (contract.md).

use super::bundles::{audited, bundle, bundle_of};
use super::deal::Deal;
use super::ledgerbox::Ledgerbox;
use super::talks::{LIFE_MS, Talks, talking};
use serde_json::{Value, json};
use x811_audit::{Unchecked, audit_export};
use x811_ledger::port::LedgerStore as _;
use x811_protocol::canonical::to_canonical;
use x811_protocol::code::Code;
use x811_protocol::contract::table::{Sender, transition};
use x811_protocol::contract::{Engagement, StateName};
use x811_protocol::digest::Digest;
use x811_protocol::event::Event;
use x811_protocol::facts::NegotiationVerb;
use x811_protocol::id::ContractId;
use x811_protocol::parameters::Contracts;
use x811_protocol::refusal::Kind;
use x811_protocol::stream::Subject;

/// A ledger that takes contracts.
async fn opened() -> Ledgerbox {
    talking(Contracts::DEFAULT).await
}

async fn types(ledgerbox: &Ledgerbox, talks: &Talks) -> Vec<&'static str> {
    let stream = format!("contract:{}", talks.id.unwrap());
    let events = ledgerbox.events().await;
    let of_it = events
        .iter()
        .filter(|(record, _)| record.stream() == stream);
    of_it.map(|(_, event)| event.type_name()).collect()
}

#[tokio::test]
async fn xn_9_three_turns_an_agreement_and_its_interaction() {
    let mut ledgerbox = opened().await;
    let mut talks = Talks::new(&ledgerbox).await;
    talks.agree(&ledgerbox).await;
    assert_eq!(talks.state(&ledgerbox), "accepted");
    let (request_id, request) = talks.request(&ledgerbox, |_| {});
    let opened = ledgerbox.accept(&request).await;
    let told = [
        "envelope_accepted",
        "envelope_accepted",
        "envelope_accepted",
        "envelope_accepted",
        "engaged",
    ];
    assert_eq!(types(&ledgerbox, &talks).await, told);
    let records = ledgerbox.events().await;
    let engaged = &records[usize::try_from(opened.position).unwrap() + 1].1;
    assert_eq!(engaged.type_name(), "engaged", "directly behind its cause");
    let row = ledgerbox.rows.rows().subjects[&talks.id.unwrap().into()].clone();
    assert_eq!(row.detail["engagement"]["state"], "engaged");
    assert_eq!(
        row.detail["engagement"]["interaction_id"],
        request_id.to_string()
    );
    // The OFFER carries what was agreed on, and nothing else is taken.
    let dear = talks.offer(
        &ledgerbox,
        request_id,
        ["1.1", "0.0275", "1.1275"],
        "the text in German",
    );
    let refusal = ledgerbox.refuse(&dear).await;
    assert!(refusal.message.contains("total_cost"), "{refusal:?}");
    let other = talks.offer(
        &ledgerbox,
        request_id,
        ["1", "0.025", "1.025"],
        "something else",
    );
    let refusal = ledgerbox.refuse(&other).await;
    assert!(refusal.message.contains("deliverables"), "{refusal:?}");
    let right = talks.offer(
        &ledgerbox,
        request_id,
        ["1", "0.025", "1.025"],
        "the text in German",
    );
    ledgerbox.accept(&right).await;
    ledgerbox.assert_log_adds_up().await;
    let report = audited(&ledgerbox).await;
    assert_eq!(report.findings, []);
    assert_eq!(
        report.read_model.unwrap().subjects,
        1,
        "its row is compared"
    );
    let bytes = bundle(&ledgerbox, request_id.into()).await;
    let report = audit_export(&bytes[..], None).unwrap();
    assert_eq!(report.findings, [], "its bundle brings its contract");
    let named = format!("contract:{}", talks.id.unwrap());
    assert!(String::from_utf8(bytes).unwrap().contains(&named));
    ledgerbox.restart().await;
    ledgerbox.assert_log_adds_up().await;
}

/// XN-9: one interaction, whatever becomes of it; who lets its time pass negotiates anew.
#[tokio::test]
async fn xn_9_a_contract_opens_one_interaction() {
    let ledgerbox = opened().await;
    let mut talks = Talks::new(&ledgerbox).await;
    talks.agree(&ledgerbox).await;
    let (_, request) = talks.request(&ledgerbox, |_| {});
    ledgerbox.accept(&request).await;
    let (_, second) = talks.request(&ledgerbox, |_| {});
    let refusal = ledgerbox.refuse(&second).await;
    assert_eq!(refusal.kind.clone(), Kind::Guard, "{refusal:?}");
    ledgerbox.advance_ms(61_000).await;
    let (_, third) = talks.request(&ledgerbox, |_| {});
    assert_eq!(
        ledgerbox.code(&third).await,
        Code::InvalidStateTransition,
        "the interaction expired, and the contract stays used"
    );
    ledgerbox.assert_log_adds_up().await;
}

/// XX-6: each guard of a REQUEST that names a contract.
#[tokio::test]
async fn xx_6_a_request_is_held_to_its_contract() {
    type Change = fn(&mut Value);
    let ledgerbox = opened().await;
    let mut talks = Talks::new(&ledgerbox).await;
    talks.agree(&ledgerbox).await;
    let changes: [(Change, &str); 3] = [
        (|payload| payload["deadline"] = 61.into(), "deadline"),
        (|payload| payload["max_budget"] = 1.into(), "max_budget"),
        (
            |payload| payload["parameters"]["negotiation_id"] = "neg-1".into(),
            "negotiation_id",
        ),
    ];
    for (change, named) in changes {
        let (_, request) = talks.request(&ledgerbox, change);
        let refusal = ledgerbox.refuse(&request).await;
        assert!(refusal.message.contains(named), "{named}: {refusal:?}");
    }
    // Not by its payee, and not for somebody else's contract.
    let mut letter = ledgerbox.letter("x811/request", &talks.stranger, json!({}));
    letter.payload = Deal::request_payload("elsewhere");
    letter.payload["parameters"]["negotiation_id"] = talks.id.unwrap().to_public().into();
    let refusal = ledgerbox.refuse(&talks.payer.seal(&letter)).await;
    assert!(refusal.message.contains("payee"), "{refusal:?}");
    // Refused REQUESTs use nothing up.
    let (_, request) = talks.request(&ledgerbox, |_| {});
    ledgerbox.accept(&request).await;
    ledgerbox.assert_log_adds_up().await;
}

/// XX-6: where a price was agreed on, the budget has to hold its fee as well.
#[tokio::test]
async fn xx_6_a_budget_holds_the_fee_of_an_agreed_price() {
    let ledgerbox = opened().await;
    let mut talks = Talks::new(&ledgerbox).await;
    let mut payload = talks.payload(&ledgerbox, NegotiationVerb::Offer, "1");
    payload["terms"]["amount_of"] = "price".into();
    let terms_hash = Digest::of(&to_canonical(&payload["terms"]));
    let offer = talks.seal(&ledgerbox, &talks.payer, NegotiationVerb::Offer, payload);
    let accepted = ledgerbox.accept(&offer).await;
    talks.id = Some(ContractId::from(accepted.envelope_id));
    talks.step = Some((accepted.envelope_id, terms_hash));
    let payee = talks.payee.clone();
    talks
        .say(&ledgerbox, &payee, NegotiationVerb::Accept, "")
        .await;
    let within = |usdc: f64| {
        let (_, request) = talks.request(&ledgerbox, |it| it["max_budget"] = usdc.into());
        request
    };
    let refusal = ledgerbox.refuse(&within(1.024_999)).await;
    assert!(refusal.message.contains("max_budget"), "{refusal:?}");
    ledgerbox.accept(&within(1.025)).await;
}

/// XN-3, XN-4, XX-2: 5 states × 4 messages × 3 senders; what the table does not have is refused.
#[tokio::test]
async fn xn_3_every_cell_of_the_table() {
    let verbs = [
        NegotiationVerb::Counter,
        NegotiationVerb::Accept,
        NegotiationVerb::Reject,
        NegotiationVerb::Withdraw,
    ];
    let mut accepting = 0;
    for state in StateName::ALL {
        for verb in verbs {
            for sender in [Sender::Author, Sender::Other, Sender::Stranger] {
                let ledgerbox = opened().await;
                let talks = talks_in(&ledgerbox, state).await;
                // The last terms are the payer's in every state.
                let from = match sender {
                    Sender::Author => &talks.payer,
                    Sender::Other => &talks.payee,
                    Sender::Stranger => &talks.stranger,
                };
                let payload = talks.payload(&ledgerbox, verb, "0.41");
                let envelope = talks.seal(&ledgerbox, from, verb, payload);
                let Some(row) = transition(state, verb, sender) else {
                    let code = ledgerbox.code(&envelope).await;
                    assert_eq!(
                        code,
                        Code::InvalidStateTransition,
                        "{state} {verb} {sender:?}"
                    );
                    continue;
                };
                accepting += 1;
                let accepted = ledgerbox.accept(&envelope).await;
                assert_eq!(accepted.state, Some(row.to.as_str()));
                assert_eq!(talks.state(&ledgerbox), row.to.as_str());
            }
        }
    }
    assert_eq!(accepting, 8);
}

/// A negotiation in that state whose last terms are the payer's.
async fn talks_in(ledgerbox: &Ledgerbox, state: StateName) -> Talks {
    let mut talks = Talks::new(ledgerbox).await;
    let (payer, payee) = (talks.payer.clone(), talks.payee.clone());
    if state == StateName::Countered {
        talks
            .say(ledgerbox, &payee, NegotiationVerb::Offer, "0.41")
            .await;
        talks
            .say(ledgerbox, &payer, NegotiationVerb::Counter, "0.82")
            .await;
    } else {
        talks
            .say(ledgerbox, &payer, NegotiationVerb::Offer, "0.41")
            .await;
    }
    match state {
        StateName::Pending | StateName::Countered => {}
        StateName::Accepted => {
            talks
                .say(ledgerbox, &payee, NegotiationVerb::Accept, "")
                .await;
        }
        StateName::Rejected => {
            talks
                .say(ledgerbox, &payee, NegotiationVerb::Reject, "")
                .await;
        }
        StateName::Expired => ledgerbox.advance_ms(LIFE_MS + 1).await,
    }
    talks
}

/// XX-3: valid while now < expires_at; the first moment after is too late.
#[tokio::test]
async fn xx_3_terms_are_good_up_to_the_moment_before_they_expire() {
    for (wait_ms, is_good) in [(LIFE_MS - 1, true), (LIFE_MS, false)] {
        let ledgerbox = opened().await;
        let mut talks = Talks::new(&ledgerbox).await;
        let (payer, payee) = (talks.payer.clone(), talks.payee.clone());
        talks
            .say(&ledgerbox, &payer, NegotiationVerb::Offer, "0.41")
            .await;
        let payload = talks.payload(&ledgerbox, NegotiationVerb::Accept, "");
        ledgerbox.clock.advance_ms(wait_ms);
        let accept = talks.seal(&ledgerbox, &payee, NegotiationVerb::Accept, payload);
        if is_good {
            ledgerbox.accept(&accept).await;
        } else {
            assert_eq!(ledgerbox.code(&accept).await, Code::OfferExpired);
            assert_eq!(talks.state(&ledgerbox), "expired");
        }
        ledgerbox.settle().await;
        ledgerbox.assert_log_adds_up().await;
    }
}

/// Both are told of each lapse, with the id of the negotiation.
#[tokio::test]
async fn xn_8_an_expired_negotiation_is_told_to_both() {
    let ledgerbox = opened().await;
    let mut talks = Talks::new(&ledgerbox).await;
    let payer = talks.payer.clone();
    talks
        .say(&ledgerbox, &payer, NegotiationVerb::Offer, "0.41")
        .await;
    ledgerbox.advance_ms(LIFE_MS + 1).await;
    let told = [
        "envelope_accepted",
        "lapsed",
        "notice_issued",
        "notice_issued",
    ];
    assert_eq!(types(&ledgerbox, &talks).await, told);
    let notices: Vec<u64> = ledgerbox
        .events()
        .await
        .iter()
        .filter(|(_, event)| matches!(event, Event::NoticeIssued(_)))
        .map(|(record, _)| record.position())
        .collect();
    let bodies = ledgerbox.store.bodies(&notices).await.unwrap();
    assert_eq!(bodies.len(), 2);
    for body in bodies.values() {
        let body: Value = serde_json::from_slice(&body.bytes).unwrap();
        let payload = &body["payload"];
        assert_eq!(payload["code"], "X811-4021", "{payload}");
        assert_eq!(payload["negotiation_id"], talks.id.unwrap().to_public());
        assert_eq!(payload.get("interaction_id"), None);
    }
    ledgerbox.assert_log_adds_up().await;
}

/// The engagement window is the ledger's: downtime moves it, and not what a party signed.
#[tokio::test]
async fn mach_3_downtime_moves_the_engagement_window_alone() {
    let mut ledgerbox = opened().await;
    let mut agreed = Talks::new(&ledgerbox).await;
    agreed.agree(&ledgerbox).await;
    let mut open = Talks::new(&ledgerbox).await;
    let payer = open.payer.clone();
    open.say(&ledgerbox, &payer, NegotiationVerb::Offer, "0.41")
        .await;
    let deadline = |ledgerbox: &Ledgerbox, talks: &Talks| {
        let rows = ledgerbox.rows.rows();
        rows.subjects[&talks.id.unwrap().into()].deadline_at_ms
    };
    let before = deadline(&ledgerbox, &agreed).unwrap();
    ledgerbox.stop().await.unwrap();
    ledgerbox.clock.advance_ms(3_600_000);
    ledgerbox.start().await.unwrap();
    ledgerbox.advance_ms(100).await;
    let after = deadline(&ledgerbox, &agreed).unwrap();
    assert!(after.since(before) >= 3_590_000, "{before} {after}");
    assert_eq!(open.state(&ledgerbox), "expired");
    ledgerbox.assert_log_adds_up().await;
}

/// A REQUEST that comes when the engagement window has just passed finds its lapse.
#[tokio::test]
async fn mach_3_what_is_due_of_a_named_contract_lapses_first() {
    let ledgerbox = talking(Contracts {
        engagement_ms: 10_000,
        ..Contracts::DEFAULT
    })
    .await;
    let mut talks = Talks::new(&ledgerbox).await;
    talks.agree(&ledgerbox).await;
    ledgerbox.clock.advance_ms(10_001);
    let (_, request) = talks.request(&ledgerbox, |_| {});
    assert_eq!(ledgerbox.code(&request).await, Code::InvalidStateTransition);
    ledgerbox.settle().await;
    let row = ledgerbox.rows.rows().subjects[&talks.id.unwrap().into()].clone();
    assert_eq!(row.detail["engagement"]["state"], "lapsed");
    assert_eq!(row.state, "accepted", "the page knows no other word");
    ledgerbox.assert_log_adds_up().await;
}

/// XX-4: the offer is the first turn; the last one is not followed by another.
#[tokio::test]
async fn xx_4_turns_are_counted_from_the_offer() {
    let ledgerbox = talking(Contracts {
        max_turns: 3,
        ..Contracts::DEFAULT
    })
    .await;
    let mut talks = Talks::new(&ledgerbox).await;
    let (payer, payee) = (talks.payer.clone(), talks.payee.clone());
    talks
        .say(&ledgerbox, &payer, NegotiationVerb::Offer, "0.41")
        .await;
    talks
        .say(&ledgerbox, &payee, NegotiationVerb::Counter, "2.05")
        .await;
    talks
        .say(&ledgerbox, &payer, NegotiationVerb::Counter, "0.82")
        .await;
    let payload = talks.payload(&ledgerbox, NegotiationVerb::Counter, "1.025");
    let fourth = talks.seal(&ledgerbox, &payee, NegotiationVerb::Counter, payload);
    assert_eq!(ledgerbox.code(&fourth).await, Code::InvalidStateTransition);
    assert_eq!(talks.state(&ledgerbox), "countered", "nothing changes");
    talks
        .say(&ledgerbox, &payee, NegotiationVerb::Accept, "")
        .await;
    ledgerbox.assert_log_adds_up().await;
}

/// XX-5: an accept names the terms it takes; a step that is not the last is no turn.
#[tokio::test]
async fn xx_5_an_accept_names_the_terms_it_takes() {
    let ledgerbox = opened().await;
    let mut talks = Talks::new(&ledgerbox).await;
    let (payer, payee) = (talks.payer.clone(), talks.payee.clone());
    talks
        .say(&ledgerbox, &payer, NegotiationVerb::Offer, "0.41")
        .await;
    let stale = talks.payload(&ledgerbox, NegotiationVerb::Accept, "");
    let mut wrong = stale.clone();
    wrong["terms_hash"] = json!(Digest::ZERO);
    let wrong = talks.seal(&ledgerbox, &payee, NegotiationVerb::Accept, wrong);
    assert_eq!(ledgerbox.code(&wrong).await, Code::OfferHashMismatch);
    talks
        .say(&ledgerbox, &payee, NegotiationVerb::Counter, "2.05")
        .await;
    let stale = talks.seal(&ledgerbox, &payer, NegotiationVerb::Accept, stale);
    let refusal = ledgerbox.refuse(&stale).await;
    assert!(refusal.message.contains("step_id"), "{refusal:?}");
    ledgerbox.assert_log_adds_up().await;
}

/// A ledger without the block takes no negotiation.
#[tokio::test]
async fn mach_1_a_machine_is_off_without_its_parameters() {
    let ledgerbox = Ledgerbox::open().await;
    let talks = Talks::new(&ledgerbox).await;
    let payload = talks.payload(&ledgerbox, NegotiationVerb::Offer, "0.41");
    let offer = talks.seal(&ledgerbox, &talks.payer, NegotiationVerb::Offer, payload);
    let refusal = ledgerbox.refuse(&offer).await;
    assert_eq!(
        (refusal.code, refusal.kind),
        (Code::InvalidStateTransition, Kind::Guard)
    );
}

/// 20 open between two are enough by default; the nonce of the next is not spent.
#[tokio::test]
async fn mach_10_open_negotiations_are_limited() {
    let ledgerbox = talking(Contracts {
        open_per_pair: 2,
        ..Contracts::DEFAULT
    })
    .await;
    let mut talks = Talks::new(&ledgerbox).await;
    let (payer, payee) = (talks.payer.clone(), talks.payee.clone());
    for _ in 0..2 {
        talks
            .say(&ledgerbox, &payer, NegotiationVerb::Offer, "0.41")
            .await;
    }
    let payload = talks.payload(&ledgerbox, NegotiationVerb::Offer, "0.41");
    let third = talks.seal(&ledgerbox, &payer, NegotiationVerb::Offer, payload);
    assert_eq!(ledgerbox.code(&third).await, Code::RateLimitExceeded);
    talks
        .say(&ledgerbox, &payee, NegotiationVerb::Reject, "")
        .await;
    ledgerbox.accept(&third).await;
    ledgerbox.assert_log_adds_up().await;
}

/// The ledger tells both parties of a lapse, and cannot tell itself.
#[tokio::test]
async fn xn_4_the_ledger_is_no_party() {
    let ledgerbox = opened().await;
    let mut talks = Talks::new(&ledgerbox).await;
    talks.payee = ledgerbox.identity.clone();
    let payload = talks.payload(&ledgerbox, NegotiationVerb::Offer, "0.41");
    let offer = talks.seal(&ledgerbox, &talks.payer, NegotiationVerb::Offer, payload);
    let refusal = ledgerbox.refuse(&offer).await;
    assert_eq!(refusal.kind, Kind::Sender, "{refusal:?}");
    ledgerbox.advance_ms(LIFE_MS + 1).await;
    ledgerbox.assert_log_adds_up().await;
}

/// An agreed contract that waits for its REQUEST counts as open: two who agree with themselves for ever
/// fill no memory.
#[tokio::test]
async fn mach_10_agreed_contracts_count_until_they_are_engaged() {
    let ledgerbox = talking(Contracts {
        open_per_pair: 1,
        ..Contracts::DEFAULT
    })
    .await;
    let mut talks = Talks::new(&ledgerbox).await;
    talks.agree(&ledgerbox).await;
    let payload = talks.payload(&ledgerbox, NegotiationVerb::Offer, "0.41");
    let next = talks.seal(&ledgerbox, &talks.payer, NegotiationVerb::Offer, payload);
    assert_eq!(ledgerbox.code(&next).await, Code::RateLimitExceeded);
    let (_, request) = talks.request(&ledgerbox, |_| {});
    ledgerbox.accept(&request).await;
    ledgerbox.accept(&next).await;
    ledgerbox.assert_log_adds_up().await;
}

/// Terms that cannot be settled may be agreed on, and open nothing.
#[tokio::test]
async fn xx_7_other_currencies_are_agreed_on_and_not_settled() {
    let ledgerbox = opened().await;
    let mut talks = Talks::new(&ledgerbox).await;
    let mut payload = talks.payload(&ledgerbox, NegotiationVerb::Offer, "0.41");
    payload["terms"]["amount"] = json!({"value": "12.123456789012345678", "currency": "EUR"});
    let terms_hash = Digest::of(&to_canonical(&payload["terms"]));
    let offer = talks.seal(&ledgerbox, &talks.payer, NegotiationVerb::Offer, payload);
    let accepted = ledgerbox.accept(&offer).await;
    talks.id = Some(ContractId::from(accepted.envelope_id));
    talks.step = Some((accepted.envelope_id, terms_hash));
    let payee = talks.payee.clone();
    talks
        .say(&ledgerbox, &payee, NegotiationVerb::Accept, "")
        .await;
    let live = ledgerbox.ledger().world();
    let contract = live.contract(talks.id.unwrap()).unwrap();
    assert!(matches!(
        contract.state.engagement(),
        Some(Engagement::Open { .. })
    ));
    let (_, request) = talks.request(&ledgerbox, |_| {});
    let refusal = ledgerbox.refuse(&request).await;
    assert!(refusal.message.contains("EUR"), "{refusal:?}");
    ledgerbox.assert_log_adds_up().await;
}

/// A total that no price has could never be offered; the refusal names both neighbours.
#[tokio::test]
async fn xx_6_a_total_that_no_price_has_is_refused_with_its_neighbours() {
    let ledgerbox = opened().await;
    let talks = Talks::new(&ledgerbox).await;
    for (total, neighbours) in [
        ("0.00002", ["0.000019", "0.000021"]),
        ("0.000061", ["0.00006", "0.000062"]),
        ("0.000102", ["0.000101", "0.000103"]),
    ] {
        let payload = talks.payload(&ledgerbox, NegotiationVerb::Offer, total);
        let offer = talks.seal(&ledgerbox, &talks.payer, NegotiationVerb::Offer, payload);
        let refusal = ledgerbox.refuse(&offer).await;
        assert_eq!(refusal.kind, Kind::Shape);
        for neighbour in neighbours {
            assert!(refusal.message.contains(neighbour), "{total}: {refusal:?}");
        }
    }
}

/// The operator leaves `engaged` out of a bundle over a real log, so that the contract looks unused: the
/// cause is in the one of the interaction, and in both the ledger itself signed how long the stream is.
#[tokio::test]
async fn xn_9_engaged_that_is_left_out_of_a_bundle_is_missed() {
    let ledgerbox = opened().await;
    let mut talks = Talks::new(&ledgerbox).await;
    talks.agree(&ledgerbox).await;
    let (id, request) = talks.request(&ledgerbox, |_| {});
    ledgerbox.accept(&request).await;
    let contract = bundle_of(&ledgerbox, talks.id.unwrap().into()).await;
    let report = audit_export(&contract[..], None).unwrap();
    assert_eq!(report.findings, [], "a contract's bundle holds alone");
    assert_eq!(
        report.signatures_valid,
        4 + 2,
        "four steps, two registrations"
    );
    let elsewhere = &report.extract.as_ref().unwrap().not_checked;
    assert_eq!(elsewhere.get(&Unchecked::EffectsElsewhere), Some(&1));
    let of = report
        .extract
        .unwrap()
        .subject()
        .and_then(Subject::contract);
    assert_eq!(of, talks.id);

    let interaction = bundle(&ledgerbox, id.into()).await;
    // The cause is the last record of the one, and not in the other.
    for (whole, missing) in [(interaction, 1), (contract, 0)] {
        let text = String::from_utf8(whole).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        let is_it = |line: &&str| line.starts_with("r ") && line.contains("\"engaged\"");
        let place = lines.iter().position(is_it).unwrap();
        // The record, and its path.
        let _ = lines.drain(place..place + 2);
        let forged = lines.join("\n") + "\n";
        let report = audit_export(forged.as_bytes(), None).unwrap();
        let mut findings = report.findings.iter();
        let found = findings.any(|finding| finding.sentence.contains("number 4 is not here"));
        assert!(found, "{:?}", report.findings);
        let undecided = report.undecided.iter();
        let effects = undecided.filter(|it| it.sentence.contains("effects of the last record"));
        assert_eq!(effects.count(), missing);
    }
}
