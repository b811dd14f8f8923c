//! Signed reads under a clock that is off, and refusals that name what must not be believed.

use super::*;
use crate::testing::NOW_MS;
use x811_protocol::signed_read::ReadProof;

fn out_of_time(details: Value) -> Step {
    Step::json(401, refusal(Code::TimestampInvalid, details))
}

fn off_by(offset_ms: i64) -> Step {
    out_of_time(json!({ "offset_ms": offset_ms }))
}

fn empty_page() -> Step {
    Step::json(200, json!({"messages": [], "next": "n"}))
}

/// What a client reads of alice's inbox, so many times, and the requests that it sends.
async fn reads(
    times: usize,
    steps: Vec<Step>,
) -> (Vec<Result<InboxPage, ClientError>>, Vec<ReadProof>) {
    let world = World::new();
    let (base, ledger) = scripted_ledger(steps).await;
    let client = world.client(&base).reading_as(&world.alice);
    let mut pages = Vec::new();
    for _ in 0..times {
        let request = InboxRequest::default();
        pages.push(client.inbox(world.alice.did, &request).await);
    }
    let requests = ledger.await.unwrap();
    let proofs = requests.iter().map(|it| proof_holds(&base, it).unwrap());
    (pages, proofs.collect())
}

fn created_s(proofs: &[ReadProof]) -> Vec<u64> {
    proofs.iter().map(|proof| proof.created_s).collect()
}

#[tokio::test]
async fn promise_7_a_read_is_signed_again_by_the_ledgers_clock_and_so_are_later_ones() {
    for offset_ms in [-6_000, 62_000, 300_000, -300_000] {
        let steps = vec![off_by(offset_ms), empty_page(), empty_page()];
        let (pages, proofs) = reads(2, steps).await;
        assert!(pages.iter().all(Result::is_ok), "{pages:?}");
        let corrected_s = NOW_MS.saturating_add_signed(offset_ms) / 1_000;
        let expected = [NOW_MS / 1_000, corrected_s, corrected_s];
        assert_eq!(created_s(&proofs), expected, "{offset_ms}");
        assert_ne!(proofs[0].nonce, proofs[1].nonce);
    }
}

/// The clock is set while the client runs: the offset that it remembers is wrong from then on.
#[tokio::test]
async fn promise_7_an_offset_that_is_over_is_corrected_too() {
    let steps = vec![off_by(-6_000), empty_page(), off_by(6_000), empty_page()];
    let (pages, proofs) = reads(2, steps).await;
    assert!(pages.iter().all(Result::is_ok), "{pages:?}");
    let now_s = NOW_MS / 1_000;
    assert_eq!(created_s(&proofs), [now_s, now_s - 6, now_s - 6, now_s]);
}

#[tokio::test]
async fn promise_7_a_read_is_signed_again_once() {
    let (pages, proofs) = reads(1, vec![off_by(-6_000), off_by(-6_000)]).await;
    assert_eq!(proofs.len(), 2);
    assert!(
        matches!(&pages[0], Err(ClientError::Refused(_))),
        "{pages:?}"
    );
}

/// Attack: a refusal that has a read dated to a time that its sender chooses.
#[tokio::test]
async fn promise_7_an_offset_over_five_minutes_corrects_nothing() {
    for details in [
        json!({ "offset_ms": 300_001 }),
        json!({ "offset_ms": -300_001 }),
        json!({ "offset_ms": i64::MIN }),
        json!({ "offset_ms": i64::MAX }),
        json!({ "offset_ms": 6_000.5 }),
        json!({ "offset_ms": "6000" }),
        json!({}),
        Value::Null,
    ] {
        let (pages, proofs) = reads(1, vec![out_of_time(details.clone())]).await;
        assert_eq!(proofs.len(), 1, "{details}");
        let Err(ClientError::Refused(refused)) = &pages[0] else {
            panic!("{details}: {pages:?}");
        };
        assert_eq!(refused.code, Code::TimestampInvalid, "{details}");
    }
    // Not in steps either.
    let steps = vec![off_by(200_000), empty_page(), off_by(200_000)];
    let (pages, proofs) = reads(2, steps).await;
    assert!(pages[0].is_ok() && pages[1].is_err(), "{pages:?}");
    assert_eq!(proofs.len(), 3);
}

/// Attack: a ledger names another ledger as its authority, and sends the signature on to it.
#[tokio::test]
async fn promise_7_no_refusal_has_a_read_signed_for_another_authority() {
    let details = json!({ "authorities": ["ledger.example.org"], "offset_ms": 6_000 });
    let refused = Step::json(401, refusal(Code::SignatureInvalid, details));
    let (pages, proofs) = reads(1, vec![refused]).await;
    assert_eq!(proofs.len(), 1);
    assert!(pages[0].is_err(), "{pages:?}");
}

#[tokio::test]
async fn promise_7_a_stream_is_signed_again_by_the_ledgers_clock() {
    let world = World::new();
    let open = Step::Answer {
        status: 200,
        headers: "content-type: text/event-stream\r\n",
        body: ": begun\n\n".to_owned(),
    };
    let (base, ledger) = scripted_ledger(vec![off_by(-6_000), open]).await;
    let client = world.client(&base).reading_as(&world.alice);
    let request = StreamRequest {
        instance: Some("one".to_owned()),
        ..StreamRequest::default()
    };
    let stream = client.stream(world.alice.did, &request).await;
    assert!(stream.is_ok(), "{stream:?}");
    let requests = ledger.await.unwrap();
    let proofs = requests.iter().map(|it| proof_holds(&base, it).unwrap());
    let proofs: Vec<ReadProof> = proofs.collect();
    let now_s = NOW_MS / 1_000;
    assert_eq!(created_s(&proofs), [now_s, now_s - 6]);
}
