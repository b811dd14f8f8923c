//! What a store shares with the commit that it is making.

use std::sync::Arc;

/// Takes it back once nobody else has it: a commit that was given up is ending.
pub(crate) async fn sole<T>(mut shared: Arc<T>) -> T {
    loop {
        match Arc::try_unwrap(shared) {
            Ok(sole) => return sole,
            Err(still_shared) => shared = still_shared,
        }
        tokio::task::yield_now().await;
    }
}
