//! The CPU pool, for what would hold up the tasks that share a core with it.

use tokio::sync::oneshot;

/// Does `work` on the CPU pool; `None` without a pool.
pub(super) async fn on_the_pool<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (done, result) = oneshot::channel();
    // Whoever asked may be gone; then nobody waits for the result.
    rayon::spawn(move || drop(done.send(work())));
    result.await.ok()
}
