//! Telling the ledger what is handled (agents.md section 1), again until it has it: what was handled
//! last may have no message behind it that would bring the next acknowledgement.

use std::sync::Arc;

use tokio::sync::watch;
use x811_protocol::did::Did;

use super::feed::reconnect_ms;
use crate::clock::Clock;
use crate::http::{ClientError, Cursor, LedgerClient};

/// Acknowledges what is in `handled`, always the newest place alone. A failure is followed by another
/// attempt after [`reconnect_ms`]. Ends when it is dropped, or when the ledger has everything and nobody
/// writes there any more.
pub(crate) async fn acknowledge(
    client: Arc<LedgerClient>,
    clock: Arc<dyn Clock>,
    me: Did,
    mut handled: watch::Receiver<Option<Cursor>>,
) {
    let mut failures = 0;
    loop {
        let through = handled.borrow_and_update().clone();
        let has_failed = match through {
            Some(through) => may_succeed_later(client.acknowledge(me, &through).await),
            None => false,
        };
        if has_failed {
            failures += 1;
            clock.pause(reconnect_ms(failures)).await;
        } else {
            failures = 0;
            if handled.changed().await.is_err() {
                return;
            }
        }
    }
}

/// A failure that the same request may not meet again; a refusal of the request itself stays one.
fn may_succeed_later(answer: Result<(), ClientError>) -> bool {
    match answer {
        Ok(()) => false,
        Err(ClientError::Refused(refused)) => refused.status == 429 || refused.status >= 500,
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Step, ledger_did, scripted_client};
    use serde_json::json;

    /// What is sent to a ledger that answers with `steps`, where everything up to `place` is handled: the
    /// places, and the pauses between them in milliseconds.
    async fn sent(steps: Vec<Step>, place: &str) -> (Vec<String>, Vec<u64>) {
        let (client, clock, ledger) = scripted_client(steps).await;
        let (handled, seen) = watch::channel(Some(Cursor::from(place.to_owned())));
        let ends = acknowledge(client, clock.clone(), ledger_did(), seen);
        let ends = tokio::spawn(ends);
        let requests = ledger.await.unwrap();
        drop(handled);
        ends.await.unwrap();
        let places = requests.iter().map(|request| {
            let line = request.lines().next().unwrap();
            let (_, place) = line.split_once("/ack?through=").unwrap();
            place.split(' ').next().unwrap().to_owned()
        });
        let pauses_ms = clock.pauses_ms.lock().unwrap().clone();
        (places.collect(), pauses_ms)
    }

    #[tokio::test]
    async fn ae_133_a_lost_acknowledgement_is_sent_again_though_no_message_follows() {
        let down = json!({"code": "X811-9002", "message": "no"});
        let steps = vec![
            Step::LoseAnswer,
            Step::json(503, &down),
            Step::json(204, ""),
        ];
        let (places, pauses_ms) = sent(steps, "c7").await;
        assert_eq!(places, ["c7", "c7", "c7"]);
        assert_eq!(pauses_ms, [1_000, 2_000]);
    }

    #[tokio::test]
    async fn ae_133_an_acknowledgement_that_is_refused_is_not_sent_again() {
        let unknown = json!({"code": "X811-1001", "message": "no such place"});
        let (places, pauses_ms) = sent(vec![Step::json(400, unknown)], "c7").await;
        assert_eq!(places, ["c7"]);
        assert!(pauses_ms.is_empty(), "{pauses_ms:?}");
    }
}
