//! Waiting on a thread of its own. A commit is a dozen questions to SQLite's thread, one after the
//! other: a task that asks them waits after each answer behind the tasks that keep the cores busy,
//! and everybody who is to be answered waits with it. A thread that sleeps is woken at once.

use sqlx::error::Error;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task;

/// Does `work` on a thread that does nothing else meanwhile; it is dropped where it stands when
/// nobody waits for it any more.
///
/// # Errors
/// The work ended in a panic, or the program is ending.
pub(super) async fn run<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, Error> {
    let (_waiting, given_up) = oneshot::channel::<()>();
    let runtime = Handle::current();
    let done = task::spawn_blocking(move || {
        runtime.block_on(async move {
            tokio::select! {
                biased;
                done = work => Some(done),
                _ = given_up => None,
            }
        })
    });
    match done.await {
        Ok(Some(done)) => Ok(done),
        Ok(None) | Err(_) => Err(Error::WorkerCrashed),
    }
}
