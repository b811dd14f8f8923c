//! A store that asks another one for all that is neither the log nor a commit.

/// The methods of a [`LedgerStore`](x811_ledger::port::LedgerStore) that only hand on: `$ask!(self, store =>
/// answer)` says to which store.
macro_rules! asks_another {
    ($ask:ident) => {
        async fn records(&self, positions: &[u64]) -> Result<Vec<Record>, ReadError> {
            $ask!(self, store => store.records(positions).await)
        }

        async fn frontier(&self) -> Result<Option<(u64, Vec<u8>)>, ReadError> {
            $ask!(self, store => store.frontier().await)
        }

        async fn bodies(&self, positions: &[u64]) -> Result<HashMap<u64, Body>, ReadError> {
            $ask!(self, store => store.bodies(positions).await)
        }

        async fn body_part(
            &self,
            position: u64,
            from: usize,
            most: usize,
        ) -> Result<Option<Vec<u8>>, ReadError> {
            $ask!(self, store => store.body_part(position, from, most).await)
        }

        async fn erased(&self, positions: &[u64]) -> Result<HashMap<u64, u64>, ReadError> {
            $ask!(self, store => store.erased(positions).await)
        }

        async fn idempotency(&self, tags: &[Digest]) -> Result<HashMap<Digest, u64>, ReadError> {
            $ask!(self, store => store.idempotency(tags).await)
        }

        async fn envelope_positions(
            &self,
            ids: &[EnvelopeId],
        ) -> Result<HashMap<EnvelopeId, u64>, ReadError> {
            $ask!(self, store => store.envelope_positions(ids).await)
        }

        async fn claims(
            &self,
            chain_id: ChainId,
            tx_hashes: &[TxHash],
        ) -> Result<Vec<(Claim, u64)>, ReadError> {
            $ask!(self, store => store.claims(chain_id, tx_hashes).await)
        }

        async fn index_counts(&self, size: u64) -> Result<IndexCounts, ReadError> {
            $ask!(self, store => store.index_counts(size).await)
        }

        async fn spent_nonces(&self, since: TimestampMs) -> Result<Vec<SpentNonce>, ReadError> {
            $ask!(self, store => store.spent_nonces(since).await)
        }

        async fn purge_nonces(&self, before: TimestampMs) -> Result<(), AppendError> {
            $ask!(self, store => store.purge_nonces(before).await)
        }

        async fn last_tick(&self) -> Result<Option<TimestampMs>, ReadError> {
            $ask!(self, store => store.last_tick().await)
        }

        async fn tick(&self, at: TimestampMs) -> Result<(), AppendError> {
            $ask!(self, store => store.tick(at).await)
        }
    };
}

pub(crate) use asks_another;
