//! The newest log that fits, searched backwards through endpoints that bound the blocks of a call.

use alloy::providers::Provider;
use alloy::rpc::types::{Filter, Log};
use alloy::transports::RpcError;

use super::{PayClient, PayError};

/// How far back is searched, in blocks: more than five hours of Base.
const MAX_SEARCHED_BLOCKS: u64 = 10_000;

/// Blocks asked for in one call. An endpoint that refuses so many is asked for the next number.
const BLOCKS_PER_CALL: [u64; 6] = [2_000, 500, 100, 10, 5, 1];

/// Calls of one search.
const MAX_CALLS: usize = 400;

/// The outcome of a search.
pub(super) enum Searched {
    /// The newest log.
    Found(Box<Log>),
    /// No log in that many of the newest blocks.
    Nothing {
        /// Number of blocks.
        blocks: u64,
    },
}

impl PayClient {
    /// Searches backwards from the newest block.
    pub(super) async fn newest_log(&self, filter: &Filter) -> Result<Searched, PayError> {
        let head = self.provider.get_block_number().await;
        let head = head.map_err(|error| self.failed(&error))?;
        let oldest = head.saturating_sub(MAX_SEARCHED_BLOCKS);
        let mut sizes = BLOCKS_PER_CALL.into_iter();
        let mut size = sizes.next().unwrap_or(1);
        let mut end = head.saturating_add(1);
        for _ in 0..MAX_CALLS {
            if end <= oldest {
                break;
            }
            let begin = oldest.max(end.saturating_sub(size));
            let part = filter.clone().from_block(begin).to_block(end - 1);
            match self.provider.get_logs(&part).await {
                Ok(mut logs) => {
                    // What the filter excludes is not believed.
                    logs.retain(|log| filter.matches(&log.inner));
                    if let Some(newest) = logs.pop() {
                        return Ok(Searched::Found(Box::new(newest)));
                    }
                    end = begin;
                }
                Err(error) => match sizes.next() {
                    Some(smaller) if matches!(error, RpcError::ErrorResp(_)) => size = smaller,
                    Some(_) | None => return Err(self.failed(&error)),
                },
            }
        }
        Ok(Searched::Nothing {
            blocks: head.saturating_add(1) - end,
        })
    }
}
