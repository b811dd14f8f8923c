//! The CPU pool, for what would hold up the tasks that share a core with it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use tokio::sync::oneshot;

/// Does `work` on the CPU pool; `None` when it panicked. That costs whoever asked their answer, as it
/// would in a task of theirs: left to the pool, it would end the process.
pub(super) async fn on_the_pool<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (done, result) = oneshot::channel();
    rayon::spawn(move || {
        // What the work had in hand is dropped with it, so nobody sees it half done.
        if let Ok(worked) = catch_unwind(AssertUnwindSafe(work)) {
            // Whoever asked may be gone; then nobody waits for the result.
            let _ = done.send(worked);
        }
    });
    result.await.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_on_the_pool_costs_nobody_else_anything() {
        assert_eq!(on_the_pool(|| panic!("as it should")).await, None::<()>);
        assert_eq!(on_the_pool(|| 2 + 2).await, Some(4));
    }
}
