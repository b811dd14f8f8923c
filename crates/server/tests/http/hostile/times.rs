//! Envelopes of another time (AE-89, AE-75, AX-21, ledger-contract.md section 3).

use super::{Case, MALFORMED, Stage, UNTIMELY, case};
use serde_json::json;
use x811_ledger::clock::Clock as _;
use x811_protocol::envelope::Header;
use x811_protocol::id::EnvelopeId;
use x811_protocol::time::TimestampMs;

fn shifted(moment: TimestampMs, by_ms: i64) -> TimestampMs {
    TimestampMs::new(moment.as_ms().checked_add_signed(by_ms).unwrap())
}

/// A header made `created_ms` from now, whose id is `id_ms` from that.
fn header(stage: &Stage, created_ms: i64, id_ms: i64, random: u8) -> Header {
    let mut header = stage.a.header(&stage.world, stage.b.did, "x811.test/ping");
    header.created_ms = shifted(header.created_ms, created_ms);
    let id_time = shifted(header.created_ms, id_ms);
    header.id = EnvelopeId::from_parts(id_time.as_ms(), &[random; 10]);
    header
}

#[tokio::test]
async fn ae_089_five_minutes_either_way_and_not_a_millisecond_more() {
    let stage = Stage::open().await;
    let mut cases: Vec<Case> = Vec::new();
    for (created_ms, id_ms, refused) in [
        (-300_001, 0, UNTIMELY),
        (300_001, 0, UNTIMELY),
        (-301_000, 0, UNTIMELY),
        (301_000, 0, UNTIMELY),
        (-86_400_000, 0, UNTIMELY),
        (86_400_000 * 365, 0, UNTIMELY),
        (0, 300_001, MALFORMED),
        (0, -300_001, MALFORMED),
        (300_000, 300_001, MALFORMED),
    ] {
        let body = stage
            .a
            .say_as(header(&stage, created_ms, id_ms, 1), json!({}));
        let name = format!("created {created_ms} ms from now, id {id_ms} ms from it");
        cases.push(case(name, body.json, refused));
    }
    stage.refuse_unspent(cases).await;
    for (random, (created_ms, id_ms)) in (10..).zip([
        (-300_000, 0),
        (300_000, 0),
        (0, 300_000),
        (0, -300_000),
        (300_000, 300_000),
        (-300_000, -300_000),
    ]) {
        let good = stage
            .a
            .say_as(header(&stage, created_ms, id_ms, random), json!({}));
        stage.world.accept(&good).await;
    }
}

#[tokio::test]
async fn ae_075_whoever_expires_has_expired_at_that_moment() {
    let stage = Stage::open().await;
    let with = |created_ms: i64, expires_ms: i64, random| {
        let mut header = header(&stage, created_ms, 0, random);
        header.expires_ms = Some(shifted(stage.world.clock.wall(), expires_ms));
        stage.a.say_as(header, json!({}))
    };
    let cases = vec![
        case("now", with(0, 0, 1).json, UNTIMELY),
        case("a millisecond ago", with(-10, -1, 2).json, UNTIMELY),
        case("before it was made", with(1_000, 999, 3).json, UNTIMELY),
    ];
    stage.refuse_unspent(cases).await;
    for good in [
        with(0, 1, 4),
        with(1_000, 1_000, 5),
        with(0, 86_400_000 * 365, 6),
    ] {
        stage.world.accept(&good).await;
    }
}
