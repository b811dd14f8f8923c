//! Pages of a log that are read before they are asked for.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::JoinHandle;
use x811_eventlog::Record;

use super::stream::{KurrentReadError, MAX_PAGE, Stream};

/// The least number of records in a page of a reader that goes through the log.
const SEQUENTIAL: usize = 64;

type Page = Result<Vec<Record>, KurrentReadError>;

/// The page behind the last one, read while that one is worked on. Each call to the cluster costs some
/// 44 ms, however little it brings.
#[derive(Debug, Default)]
pub(super) struct ReadAhead {
    coming: Mutex<Option<Coming>>,
}

#[derive(Debug)]
struct Coming {
    from: u64,
    limit: usize,
    page: JoinHandle<Page>,
}

impl ReadAhead {
    /// Returns records from `from` on, at most `limit`; `at_least` are known to be stored.
    pub(super) async fn page(
        &self,
        stream: &Arc<Stream>,
        (from, limit): (u64, usize),
        at_least: u64,
    ) -> Page {
        let limit = limit.min(MAX_PAGE);
        let page = match self.taken(from, limit).await {
            Some(page) => page,
            None => stream.page(from, limit, at_least).await?,
        };
        if page.len() == limit && limit >= SEQUENTIAL {
            self.begin(stream.clone(), from + limit as u64, limit);
        }
        Ok(page)
    }

    /// Returns the page that was read ahead. One that failed is read again by whoever asks for it, and an
    /// empty one may have been read before its records were stored.
    async fn taken(&self, from: u64, limit: usize) -> Option<Vec<Record>> {
        let coming = self
            .coming()
            .take_if(|it| (it.from, it.limit) == (from, limit))?;
        let page = coming.page.await.ok()?.ok()?;
        (!page.is_empty()).then_some(page)
    }

    fn begin(&self, stream: Arc<Stream>, from: u64, limit: usize) {
        let page = tokio::spawn(async move { stream.page(from, limit, 0).await });
        let before = self.coming().replace(Coming { from, limit, page });
        if let Some(before) = before {
            before.page.abort();
        }
    }

    fn coming(&self) -> std::sync::MutexGuard<'_, Option<Coming>> {
        self.coming.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
