//! The end of a ledger whose store can never be written again: no commit can succeed, and none is waited
//! for.

use std::time::Duration;
use x811_store::{Backend, StoreFault};

/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Returns the sentence for the operator once the store is lost.
pub(super) async fn noticed(store: &Backend) -> String {
    loop {
        if let Some(sentence) = found(store) {
            return sentence;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Returns the sentence for the operator if the store is lost.
pub(super) fn found(store: &Backend) -> Option<String> {
    lost(store.fault())
}

fn lost(fault: Option<StoreFault>) -> Option<String> {
    match fault {
        Some(StoreFault::Lost(sentence)) => Some(sentence),
        Some(StoreFault::Suspended(_)) | None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_somebody_can_repair_is_no_reason_to_end() {
        let sentence = || "the stream was deleted".to_owned();
        assert_eq!(lost(None), None);
        assert_eq!(lost(Some(StoreFault::Suspended(sentence()))), None);
        assert_eq!(lost(Some(StoreFault::Lost(sentence()))), Some(sentence()));
    }
}
