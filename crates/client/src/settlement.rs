//! Was the provider paid? Read from the records of one interaction, never from a summary.
//!
//! The ledger says where the money is and what only it knows: how high the network is, whether it is
//! seen, what is due next. The rest follows from the interaction's records, so it is worked out here
//! again from records that were checked, and has to come out the same.

use x811_protocol::id::InteractionId;
use x811_protocol::machine::Recorded;
use x811_protocol::settlement_view::{Live, SettlementView};

use crate::http::{ClientError, LedgerClient};
use crate::transcript::Transcript;

/// How often records and answer are read anew when something happened between the two.
const TRIES: usize = 4;

impl Transcript {
    /// Where the money is by these records; `live` is what they do not tell.
    pub fn settlement(&self, live: Live) -> SettlementView {
        let records = self.entries.iter().map(|entry| Recorded {
            event: &entry.event,
            position: entry.record.position,
            hash: entry.record.record_hash,
            recorded_at_ms: entry.record.recorded_at_ms,
            parameters: None,
        });
        SettlementView::of(self.id(), records, live)
    }
}

/// Where the money of an interaction is, with the records that show it.
///
/// # Errors
/// [`ClientError::Untrusted`] when the ledger says something else than its records, or one of them
/// does not hold; else as [`ClientError`] says.
pub async fn settlement(
    client: &LedgerClient,
    id: InteractionId,
) -> Result<(Transcript, SettlementView), ClientError> {
    for _ in 0..TRIES {
        let transcript = Transcript::fetch(client, id).await?;
        let last_position = transcript.entries.last().map(|last| last.record.position);
        let told = client.settlement(id, last_position).await?;
        if Some(told.last_position) != last_position {
            continue;
        }
        let shown = transcript.settlement(told.live.clone());
        if shown == told {
            return Ok((transcript, shown));
        }
        return Err(ClientError::Untrusted {
            cause: format!(
                "the ledger says of interaction {id} `{}`, but its records show `{}`",
                told.sentence, shown.sentence
            ),
        });
    }
    Err(ClientError::Untrusted {
        cause: format!("the ledger never says of interaction {id} what its records show by then"),
    })
}

#[cfg(test)]
mod tests;
