//! How much of a damaged log can be read from its beginning.

use crate::port::LedgerStore;
use x811_eventlog::{Cause, ChainVerifier, EventLog as _, Head, Record};

/// Records read at a time, before anything was unreadable.
const PAGE: usize = 1_024;

/// The records that can be read and follow each other, from the first on.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Readable {
    /// How many records were read.
    pub records: u64,
    /// Hash of the last of them.
    pub head: x811_eventlog::Hash,
    /// Why the one behind them cannot be taken; absent where the log just ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Reads from the first record on, record by record where a page cannot be read, until one cannot be
/// read or does not follow. A body that cannot be read ends it too: an export has both.
pub async fn readable<S: LedgerStore>(store: &S) -> Readable {
    let (mut chain, mut limit) = (ChainVerifier::new(), PAGE);
    // After the last record that was taken, and after the one before it.
    let mut heads = [Head::EMPTY; 2];
    let why = loop {
        match page(store, heads[1].size, limit).await {
            Ok(page) if page.is_empty() => break None,
            Ok(page) => {
                if let Some(why) = follow(&mut chain, &mut heads, &page) {
                    break Some(why);
                }
            }
            Err(_) if limit > 1 => limit /= 2,
            Err(why) => break Some(why),
        }
    };
    let [_, head] = heads;
    Readable {
        records: head.size,
        head: head.hash,
        why,
    }
}

/// Takes the records that follow; why the next one does not.
fn follow(
    chain: &mut ChainVerifier,
    [before, head]: &mut [Head; 2],
    page: &[Record],
) -> Option<String> {
    for record in page {
        if let Some(broken) = chain.push(record).into_iter().next() {
            // One of the two is not what was written, and who knows which.
            if matches!(broken.cause, Cause::LinkBroken { .. }) {
                *head = *before;
            }
            return Some(broken.to_string());
        }
        (*before, *head) = (*head, Head::after(record));
    }
    None
}

async fn page<S: LedgerStore>(store: &S, from: u64, limit: usize) -> Result<Vec<Record>, String> {
    let page = store.log().read(from, limit).await;
    let page = page.map_err(|error| error.to_string())?;
    let positions: Vec<u64> = page.iter().map(Record::position).collect();
    let bodies = store.bodies(&positions).await;
    bodies.map_err(|error| error.to_string())?;
    Ok(page)
}
