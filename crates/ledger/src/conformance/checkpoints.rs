//! The last signed checkpoint is replaced only by who knows it.

use super::{CheckpointPlace, Places};
use crate::checkpoint::{CheckpointStore, CheckpointStoreError};

async fn swap(
    store: &impl CheckpointStore,
    previous: Option<&str>,
    next: &str,
) -> Result<(), CheckpointStoreError> {
    let previous = previous.map(str::to_owned);
    store.compare_and_swap(previous, next.to_owned()).await
}

/// Who thinks that something else is stored replaces nothing.
pub async fn a_swap_needs_what_is_stored<P: CheckpointPlace>(places: &impl Places<Place = P>) {
    let place = places.open().await;
    let store = place.checkpoint();
    assert_eq!(store.load().await.unwrap(), None);
    let early = swap(store, Some("none"), "fork").await;
    assert!(matches!(early, Err(CheckpointStoreError::Conflict)));
    swap(store, None, "one\n\nsigned é\n").await.unwrap();
    let again = swap(store, None, "fork").await;
    assert!(matches!(again, Err(CheckpointStoreError::Conflict)));
    swap(store, Some("one\n\nsigned é\n"), "two").await.unwrap();
    let stale = swap(store, Some("one\n\nsigned é\n"), "fork").await;
    assert!(matches!(stale, Err(CheckpointStoreError::Conflict)));
    assert_eq!(store.load().await.unwrap().as_deref(), Some("two"));
}

/// Of two that know the same one, one goes on; the other is told.
pub async fn of_two_swaps_one_is_done<P: CheckpointPlace>(places: &impl Places<Place = P>) {
    let place = places.open().await;
    let store = place.checkpoint();
    for round in 0..20 {
        let before = store.load().await.unwrap();
        let next = ["left", "right"].map(|side| format!("{side} {round}"));
        let [left, right] = &next;
        let swaps = tokio::join!(
            swap(store, before.as_deref(), left),
            swap(store, before.as_deref(), right)
        );
        let due = match swaps {
            (Ok(()), Err(CheckpointStoreError::Conflict)) => left,
            (Err(CheckpointStoreError::Conflict), Ok(())) => right,
            swaps => panic!("round {round}: {swaps:?}"),
        };
        assert_eq!(store.load().await.unwrap().as_ref(), Some(due));
    }
}

/// What was swapped is there after the process.
pub async fn a_checkpoint_survives_reopening<P: CheckpointPlace>(places: &impl Places<Place = P>) {
    let place = places.open().await;
    swap(place.checkpoint(), None, "one").await.unwrap();
    if let Some(place) = places.reopen(place).await {
        let stored = place.checkpoint().load().await.unwrap();
        assert_eq!(stored.as_deref(), Some("one"));
    }
}
