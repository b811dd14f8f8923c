//! A commit is durable whole or not at all, and everything in it is read back.

use super::sample::{self, CHAIN, body, claim, digest, envelope_id, full, nonce};
use super::{Places, StorePlace};
use crate::port::{Commit, LedgerStore, NonceOutcome};
use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use x811_eventlog::{AppendError, EventLog, Head};
use x811_protocol::code::Code;
use x811_protocol::evm::{ChainId, TxHash};
use x811_protocol::time::TimestampMs;

/// Beginning of time: all nonces are since then.
const EVER: TimestampMs = TimestampMs::new(0);

/// Everything of a commit is found where the port says, and nowhere else.
pub async fn a_commit_is_read_back_whole<P: StorePlace>(places: &impl Places<Place = P>) {
    let place = places.open().await;
    let store = place.store();
    assert_eq!(store.frontier().await.unwrap(), None);
    let commit = full();
    let head = store.commit(commit.clone()).await.unwrap();
    assert_eq!(head, Head::after(&commit.records[1]));
    is_stored(store, &commit).await;
    let nonces = store.spent_nonces(TimestampMs::new(2)).await.unwrap();
    assert_eq!(nonces, commit.nonces[1..]);
    let first = [TxHash::from_bytes([1; 32])];
    let elsewhere = store.claims(ChainId::new(1), &first).await;
    assert_eq!(elsewhere.unwrap(), []);
    let (records, bodies) = store.records_with_bodies(&[1, 7]).await.unwrap();
    assert_eq!(records, commit.records[1..]);
    assert_eq!(bodies, HashMap::from([(1, commit.bodies[1].clone())]));
    for (from, most, due) in [(0, 1, Some(1)), (69_999, 9, Some(1)), (70_000, 9, Some(0))] {
        let part = store.body_part(1, from, most).await.unwrap();
        assert_eq!(part.map(|part| part.len()), due, "from {from}");
    }
    assert_eq!(store.body_part(9, 0, 1).await.unwrap(), None);
}

async fn is_stored(store: &impl LedgerStore, commit: &Commit) {
    assert_eq!(store.log().read(0, 9).await.unwrap(), commit.records);
    let tree = store.frontier().await.unwrap();
    assert_eq!(tree, Some((2, commit.frontier.clone())));
    let bodies = store.bodies(&[1, 0, 5]).await.unwrap();
    let [first, second] = [commit.bodies[0].clone(), commit.bodies[1].clone()];
    assert_eq!(bodies, HashMap::from([(0, first), (1, second)]));
    let tags = [digest(2), digest(1), digest(9)];
    let requests = store.idempotency(&tags).await.unwrap();
    assert_eq!(requests, commit.idempotency.iter().copied().collect());
    let ids = [envelope_id(9), envelope_id(2), envelope_id(1)];
    let positions = store.envelope_positions(&ids).await.unwrap();
    assert_eq!(positions, commit.envelope_ids.iter().copied().collect());
    assert_eq!(store.spent_nonces(EVER).await.unwrap(), commit.nonces);
    let transactions = [1, 3].map(|n| TxHash::from_bytes([n; 32]));
    let mut claims = store.claims(CHAIN, &transactions).await.unwrap();
    claims.sort_unstable();
    assert_eq!(claims, commit.claims[..2]);
}

/// Records are given in the order of the question; unknown positions are left out.
pub async fn records_come_in_the_order_they_are_asked_for<P: StorePlace>(
    places: &impl Places<Place = P>,
) {
    let place = places.open().await;
    let commit = sample::commit(Head::EMPTY, 5);
    place.store().commit(commit.clone()).await.unwrap();
    let found = place.store().records(&[4, 9, 0, u64::MAX, 2]).await;
    let expected = [4, 0, 2].map(|at: usize| commit.records[at].clone());
    assert_eq!(found.unwrap(), expected);
}

/// An empty question has an empty answer.
pub async fn asking_for_nothing_finds_nothing<P: StorePlace>(places: &impl Places<Place = P>) {
    let place = places.open().await;
    let store = place.store();
    store.commit(full()).await.unwrap();
    assert_eq!(store.records(&[]).await.unwrap(), []);
    assert!(store.bodies(&[]).await.unwrap().is_empty());
    assert!(store.erased(&[]).await.unwrap().is_empty());
    assert!(store.idempotency(&[]).await.unwrap().is_empty());
    assert!(store.envelope_positions(&[]).await.unwrap().is_empty());
    assert_eq!(store.claims(CHAIN, &[]).await.unwrap(), []);
}

/// No transfer pays twice, and no id or tag is used twice: nothing of such a commit stays.
pub async fn a_taken_key_leaves_nothing<P: StorePlace>(places: &impl Places<Place = P>) {
    let place = places.open().await;
    let store = place.store();
    let head = store.commit(full()).await.unwrap();
    let next = || sample::commit(head, 1);
    let cases = [
        Commit {
            claims: vec![(claim(3, 0), 2), (claim(1, 2), 2)],
            ..next()
        },
        Commit {
            idempotency: vec![(digest(2), 2)],
            ..next()
        },
        Commit {
            envelope_ids: vec![(envelope_id(3), 2), (envelope_id(1), 2)],
            ..next()
        },
    ];
    for (case, commit) in cases.into_iter().enumerate() {
        let commit = Commit {
            bodies: vec![body(2, b"{}")],
            nonces: vec![nonce(3, NonceOutcome::Refused(Code::NonceReplay))],
            ..commit
        };
        let error = store.commit(commit).await.unwrap_err();
        assert!(
            matches!(error, AppendError::Backend(_)),
            "{case}: {error:?}"
        );
        is_stored(store, &full()).await;
        assert!(store.bodies(&[2]).await.unwrap().is_empty(), "{case}");
        let three = store.claims(CHAIN, &[TxHash::from_bytes([3; 32])]).await;
        assert_eq!(three.unwrap(), [], "{case}");
        let three = store.envelope_positions(&[envelope_id(3)]).await;
        assert!(three.unwrap().is_empty(), "{case}");
    }
    assert_eq!(store.commit(next()).await.unwrap().size, 3);
}

/// A writer whose acknowledgement was lost, and which writes again, is told that somebody was there;
/// so is one with other records for the same place.
pub async fn a_commit_twice_is_a_conflict_that_leaves_nothing<P: StorePlace>(
    places: &impl Places<Place = P>,
) {
    let place = places.open().await;
    let store = place.store();
    store.commit(full()).await.unwrap();
    let other = Commit {
        bodies: vec![body(0, b"other")],
        envelope_ids: vec![(envelope_id(8), 0)],
        nonces: vec![nonce(8, NonceOutcome::Refused(Code::NonceReplay))],
        ..sample::commit(Head::EMPTY, 1)
    };
    for commit in [full(), other] {
        let error = store.commit(commit).await.unwrap_err();
        let is_conflict = matches!(
            error,
            AppendError::Conflict {
                expected: 0,
                actual: 2
            }
        );
        assert!(is_conflict, "{error:?}");
        is_stored(store, &full()).await;
        let eight = store.envelope_positions(&[envelope_id(8)]).await.unwrap();
        assert!(eight.is_empty());
    }
}

/// What is given for a position has the digest of what was committed with its record, whatever else
/// was tried for that place: before its record, or after it by a writer that came too late.
pub async fn a_position_has_the_body_of_its_record<P: StorePlace>(places: &impl Places<Place = P>) {
    let place = places.open().await;
    let store = place.store();
    let early = Commit {
        bodies: vec![body(0, b"early")],
        ..sample::commit(Head::EMPTY, 1)
    };
    let early = Commit {
        expected_size: 1,
        ..early
    };
    store.commit(early).await.unwrap_err();
    assert!(store.bodies(&[0]).await.unwrap().is_empty());
    store.commit(full()).await.unwrap();
    let late = Commit {
        bodies: vec![body(0, b"late")],
        ..sample::commit(Head::EMPTY, 1)
    };
    store.commit(late).await.unwrap_err();
    let bodies = store.bodies(&[0]).await.unwrap();
    assert_eq!(bodies[&0], full().bodies[0]);
}

/// However far a commit has come when its caller loses patience, it is stored whole or not at all,
/// and the store goes on.
pub async fn a_commit_that_was_given_up_holds_whole_or_not_at_all<P: StorePlace>(
    places: &impl Places<Place = P>,
) {
    for polls in 0..12 {
        let place = places.open().await;
        let store = place.store();
        give_up(store.commit(full()), polls).await;
        // One that is still being made ends before this one is let in.
        let after = Commit {
            expected_size: 2,
            ..Commit::default()
        };
        match store.commit(after).await {
            Ok(_) => is_stored(store, &full()).await,
            Err(AppendError::Conflict { actual: 0, .. }) => {
                assert_eq!(store.log().read(0, 9).await.unwrap(), [], "{polls}");
                assert_eq!(store.frontier().await.unwrap(), None, "{polls}");
                assert_eq!(store.spent_nonces(EVER).await.unwrap(), [], "{polls}");
                store.commit(full()).await.unwrap();
            }
            Err(error) => panic!("{polls}: {error:?}"),
        }
    }
}

/// Polls `work` so many times, each once it was woken, and drops it.
async fn give_up(work: impl Future, polls: usize) {
    let mut work = pin!(work);
    let mut polled = 0;
    poll_fn(|context| {
        if polled == polls {
            return Poll::Ready(());
        }
        polled += 1;
        work.as_mut().poll(context).map(|_| ())
    })
    .await;
}

/// Whoever lost the log to a later writer writes nothing any more: no record, no nonce, no tick. What
/// it held is as it was.
pub async fn a_later_writer_fences_every_write<P: StorePlace>(places: &impl Places<Place = P>) {
    let place = places.open().await;
    let store = place.store();
    let head = store.commit(full()).await.unwrap();
    store.tick(TimestampMs::new(5)).await.unwrap();
    let Some(later) = places.take_over(&place).await else {
        return;
    };
    let nonces = Commit {
        expected_size: 2,
        nonces: vec![nonce(9, NonceOutcome::Refused(Code::NonceReplay))],
        ..Commit::default()
    };
    let now = TimestampMs::new(9);
    for error in [
        store.commit(sample::commit(head, 1)).await.err(),
        store.commit(nonces.clone()).await.err(),
        store.purge_nonces(now).await.err(),
        store.tick(now).await.err(),
    ] {
        assert!(
            matches!(error, Some(AppendError::Fenced { .. })),
            "{error:?}"
        );
    }
    is_stored(later.store(), &full()).await;
    let tick = later.store().last_tick().await.unwrap();
    assert_eq!(tick, Some(TimestampMs::new(5)));
    later.store().commit(nonces).await.unwrap();
    later.store().commit(sample::commit(head, 1)).await.unwrap();
    // What the earlier one reads is the same log.
    assert_eq!(store.log().head().await.unwrap().size, 3);
}

/// More rows than one statement holds, in every table.
pub async fn many_rows_are_one_commit<P: StorePlace>(places: &impl Places<Place = P>) {
    const COUNT: u64 = 3_000;
    let place = places.open().await;
    let store = place.store();
    let commit = Commit {
        bodies: (0..COUNT)
            .map(|n| body(n, &(n + 1).to_be_bytes()))
            .collect(),
        nonces: (0..COUNT * 4)
            .map(|n| nonce(n, NonceOutcome::Repeated { position: n }))
            .collect(),
        envelope_ids: (0..COUNT).map(|n| (envelope_id(n), n)).collect(),
        idempotency: (0..COUNT).map(|n| (digest(n), n)).collect(),
        claims: (0..COUNT * 2).map(|n| (claim(1, n), 0)).collect(),
        ..sample::commit(Head::EMPTY, COUNT)
    };
    assert_eq!(store.commit(commit.clone()).await.unwrap().size, COUNT);
    let mut read = Vec::new();
    while read.len() < commit.records.len() {
        let page = store.log().read(read.len() as u64, usize::MAX).await;
        read.extend(page.unwrap());
    }
    assert_eq!(read, commit.records);
    let positions: Vec<_> = (0..COUNT).collect();
    let bodies = store.bodies(&positions).await.unwrap();
    assert_eq!(bodies.len(), commit.bodies.len());
    let tags: Vec<_> = positions.iter().map(|n| digest(*n)).collect();
    let tags = store.idempotency(&tags).await.unwrap();
    assert_eq!(tags, commit.idempotency.into_iter().collect());
    let ids: Vec<_> = positions.iter().map(|n| envelope_id(*n)).collect();
    let ids = store.envelope_positions(&ids).await.unwrap();
    assert_eq!(ids, commit.envelope_ids.into_iter().collect());
    assert_eq!(store.spent_nonces(EVER).await.unwrap(), commit.nonces);
    let mut claims = store
        .claims(CHAIN, &[TxHash::from_bytes([1; 32])])
        .await
        .unwrap();
    claims.sort_unstable();
    assert_eq!(claims, commit.claims);
}

/// A store that was closed has everything when it is opened again.
pub async fn everything_survives_reopening<P: StorePlace>(places: &impl Places<Place = P>) {
    let place = places.open().await;
    let head = place.store().commit(full()).await.unwrap();
    place.store().tick(TimestampMs::new(9)).await.unwrap();
    let Some(place) = places.reopen(place).await else {
        return;
    };
    let store = place.store();
    assert_eq!(store.log().head().await.unwrap(), head);
    is_stored(store, &full()).await;
    let tick = store.last_tick().await.unwrap();
    assert_eq!(tick, Some(TimestampMs::new(9)));
    assert_eq!(store.log().follow(1).await.unwrap(), 2);
    store.commit(sample::commit(head, 1)).await.unwrap();
}
