//! Rivals and cycles on a running ledger (round.md, "When it is decided", rules 8 and 9): what restarts,
//! audits and bundles make of rounds that other rounds hold, end or draw.

use super::base::{BASE, Base};
use super::bundles::{audited, bundle_of};
use super::council::{Council, running};
use super::ledgerbox::Ledgerbox;
use super::sessions::types_but_notices as types;
use serde_json::{Value, json};
use x811_audit::{Options, audit_export};
use x811_protocol::digest::Digest;
use x811_protocol::facts::ConsensusVerb as Verb;
use x811_protocol::id::RoundId;
use x811_protocol::observation::Observation;
use x811_protocol::parameters::{CycleRule, Rounds};
use x811_protocol::round::StateName;
use x811_protocol::stream::Subject;

/// How long votes are taken.
const LIFE_MS: u64 = 200_000;

/// A round, as messages about it name it.
type Named = (RoundId, Digest);

async fn propose(
    ledgerbox: &Ledgerbox,
    council: &mut Council,
    change: impl FnOnce(&mut Value),
) -> Named {
    let to = format!("link {}", ledgerbox.records().await.len());
    let proposal = council.proposal(ledgerbox, LIFE_MS, |it| {
        it["action"]["to"] = json!(to);
        change(it);
    });
    ledgerbox.accept(&proposal).await;
    (council.round.unwrap(), council.proposal_hash)
}

async fn vote(
    ledgerbox: &Ledgerbox,
    council: &mut Council,
    (round, hash): Named,
    from: usize,
    vote: Value,
) {
    (council.round, council.proposal_hash) = (Some(round), hash);
    council.say(ledgerbox, from, Verb::Vote, vote).await;
}

async fn all_approve(ledgerbox: &Ledgerbox, council: &mut Council, of: Named) {
    for from in 0..council.members.len() {
        ledgerbox.watch_ms(100).await;
        vote(
            ledgerbox,
            council,
            of,
            from,
            json!({ "decision": "approve" }),
        )
        .await;
    }
}

fn row(ledgerbox: &Ledgerbox, of: Named) -> (String, Value) {
    let rows = ledgerbox.rows.rows();
    let row = &rows.subjects[&Subject::Round(of.0)];
    (row.state.clone(), row.detail.clone())
}

fn reason(ledgerbox: &Ledgerbox, of: Named) -> Value {
    row(ledgerbox, of).1["outcome"]["reason"].clone()
}

async fn holds(ledgerbox: &mut Ledgerbox, rounds: &[Named]) {
    ledgerbox.assert_log_adds_up().await;
    let report = audited(ledgerbox).await;
    assert_eq!(report.findings, []);
    for (round, _) in rounds {
        let bundle = bundle_of(ledgerbox, Subject::Round(*round)).await;
        let report = audit_export(bundle.as_slice(), Options::default()).unwrap();
        assert_eq!(report.findings, []);
    }
    ledgerbox.restart().await;
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn cx_26_a_round_is_held_for_its_rival_and_superseded() {
    let mut ledgerbox = running(Rounds::DEFAULT).await;
    let mut council = Council::new(&ledgerbox, 3).await;
    let low = propose(&ledgerbox, &mut council, |_| {}).await;
    let high = propose(&ledgerbox, &mut council, |it| it["specificity"] = json!(9)).await;
    all_approve(&ledgerbox, &mut council, low).await;
    assert_eq!(row(&ledgerbox, low).0, "held");
    holds(&mut ledgerbox, &[low, high]).await;
    all_approve(&ledgerbox, &mut council, high).await;
    assert_eq!(reason(&ledgerbox, high), "accepted");
    ledgerbox.watch_ms(1_000).await;
    assert_eq!(reason(&ledgerbox, low), "superseded");
    assert_eq!(row(&ledgerbox, low).1["superseded_by"], json!(high.0));
    let of_low = types(&ledgerbox, Subject::Round(low.0)).await;
    assert_eq!(of_low[of_low.len() - 2..], ["lapsed", "round_decided"]);
    holds(&mut ledgerbox, &[low, high]).await;
}

#[tokio::test]
async fn cx_26_a_round_is_held_no_longer_than_that() {
    let mut ledgerbox = running(Rounds {
        hold_ms: 5_000,
        ..Rounds::DEFAULT
    })
    .await;
    let mut council = Council::new(&ledgerbox, 3).await;
    let low = propose(&ledgerbox, &mut council, |_| {}).await;
    let high = propose(&ledgerbox, &mut council, |it| it["specificity"] = json!(9)).await;
    all_approve(&ledgerbox, &mut council, low).await;
    // Downtime moves what the ledger holds.
    ledgerbox.down_ms(4_000).await;
    ledgerbox.watch_ms(4_000).await;
    assert_eq!(row(&ledgerbox, low).0, "held");
    ledgerbox.watch_ms(2_000).await;
    assert_eq!(reason(&ledgerbox, low), "accepted");
    all_approve(&ledgerbox, &mut council, high).await;
    assert_eq!(reason(&ledgerbox, high), "superseded");
    holds(&mut ledgerbox, &[low, high]).await;
}

async fn cycle(ledgerbox: &Ledgerbox, council: &mut Council) -> [Named; 2] {
    let early = propose(ledgerbox, council, |_| {}).await;
    ledgerbox.watch_ms(1_000).await;
    let late = propose(ledgerbox, council, |_| {}).await;
    for (of, by) in [(early, late), (late, early)] {
        for from in [0, 1] {
            ledgerbox.watch_ms(100).await;
            let blocked = json!({
                "decision": "reject", "rationale": format!("seat {from}"), "blocked_by": [by.0],
            });
            vote(ledgerbox, council, of, from, blocked).await;
        }
    }
    [early, late]
}

#[tokio::test]
async fn cc_060_the_oldest_of_a_cycle_stays() {
    let mut ledgerbox = running(Rounds::DEFAULT).await;
    let mut council = Council::new(&ledgerbox, 4).await;
    let [early, late] = cycle(&ledgerbox, &mut council).await;
    assert_eq!(reason(&ledgerbox, late), "superseded");
    assert_eq!(row(&ledgerbox, early).0, "open");
    ledgerbox.watch_ms(LIFE_MS).await;
    holds(&mut ledgerbox, &[early, late]).await;
}

#[tokio::test]
async fn cc_062_a_cycle_is_put_to_humans() {
    let mut ledgerbox = running(Rounds {
        cycle: CycleRule::Escalate,
        ..Rounds::DEFAULT
    })
    .await;
    let mut council = Council::new(&ledgerbox, 4).await;
    let human = council.members[3].did;
    ledgerbox.crash().await;
    ledgerbox.parameters.rounds = Some(std::sync::Arc::new(Rounds {
        cycle: CycleRule::Escalate,
        humans: vec![human],
        ..Rounds::DEFAULT
    }));
    ledgerbox.start().await.unwrap();
    let both = cycle(&ledgerbox, &mut council).await;
    for one in both {
        assert_eq!(reason(&ledgerbox, one), "deadlock");
        assert_eq!(row(&ledgerbox, one).0, "escalated");
    }
    holds(&mut ledgerbox, &both).await;
}

fn random() -> Rounds {
    Rounds {
        cycle: CycleRule::Random,
        cycle_network: Some(BASE.to_owned()),
        ..Rounds::DEFAULT
    }
}

#[tokio::test]
async fn cc_061_a_block_draws_in_a_cycle() {
    let mut ledgerbox = running(random()).await;
    ledgerbox.sweep().await;
    let mut council = Council::new(&ledgerbox, 4).await;
    let both = cycle(&ledgerbox, &mut council).await;
    let heights = |ledgerbox: &Ledgerbox| ledgerbox.ledger().world().heights_awaited(BASE);
    let height = *heights(&ledgerbox).first().unwrap();
    holds(&mut ledgerbox, &both).await;
    assert_eq!(heights(&ledgerbox).len(), 1, "it is known after a restart");
    ledgerbox.watch_ms(90_000).await;
    for number in [height - 1, height, height] {
        ledgerbox
            .observe(Observation::Header {
                network: BASE.to_owned(),
                block: Base::block(number),
            })
            .await;
    }
    assert!(heights(&ledgerbox).is_empty());
    let open = both.iter().filter(|it| row(&ledgerbox, **it).0 == "open");
    assert_eq!(open.count(), 1);
    let superseded = both
        .iter()
        .filter(|it| reason(&ledgerbox, **it) == "superseded");
    assert_eq!(superseded.count(), 1);
    let drawn = types(&ledgerbox, Subject::Round(both[1].0)).await;
    assert_eq!(drawn.iter().filter(|it| **it == "cycle_drawn").count(), 1);
    ledgerbox.watch_ms(LIFE_MS).await;
    holds(&mut ledgerbox, &both).await;
}

#[tokio::test]
async fn cc_061_without_its_block_in_time_the_oldest_stays() {
    let mut ledgerbox = running(Rounds {
        draw_ms: 10_000,
        ..random()
    })
    .await;
    ledgerbox.sweep().await;
    let mut council = Council::new(&ledgerbox, 4).await;
    let [early, late] = cycle(&ledgerbox, &mut council).await;
    ledgerbox.watch_ms(11_000).await;
    assert_eq!(reason(&ledgerbox, late), "superseded");
    let world = ledgerbox.ledger().world();
    assert_eq!(world.round(early.0).unwrap().state.name(), StateName::Open);
    holds(&mut ledgerbox, &[early, late]).await;
}
