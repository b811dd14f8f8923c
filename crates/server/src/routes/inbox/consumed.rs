//! The poll of the published TypeScript SDK, `?did=`: bare envelopes, oldest first, each once. Whoever
//! knows a DID could read and use up what is sent to it, so it is answered on loopback alone, where
//! reads are open, and where the ledger has recorded that leniency (decision 0190).

use super::super::sdk::takes_reference_sdk;
use super::page::messages;
use crate::app::App;
use crate::error::ApiError;
use crate::signed_read::Reader;
use crate::streamed::JSON;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_ledger::port::{LedgerStore as _, ReadModel as _};
use x811_protocol::did::Did;
use x811_protocol::envelope::wire_json;
use x811_store::FeedAck;

/// Most bytes of envelopes in one answer; at least one message is in it.
const MAX_BYTES: u64 = 1_048_576;

/// Refuses a read that names its reader in the query where that is not taken, and one that names
/// another agent.
pub(in super::super) fn check_named<C: Clock>(
    app: &App<C>,
    reader: &Reader,
    recipient: Did,
    named: Did,
) -> Result<(), ApiError> {
    if *reader != Reader::Anyone || !takes_reference_sdk(app) {
        return Err(ApiError::malformed(
            "`did` is for the published SDK, which this ledger does not take here: sign the read instead",
        ));
    }
    if named != recipient {
        return Err(ApiError::other_inbox());
    }
    Ok(())
}

/// 200 with what was not fetched before; it is acknowledged with that.
pub(super) async fn answer<C: Clock>(
    app: &Arc<App<C>>,
    reader: &Reader,
    recipient: Did,
    named: Did,
    limit: usize,
) -> Result<Response, ApiError> {
    check_named(app, reader, recipient, named)?;
    // One poll at a time, so that none gives out what another has.
    let _alone = app.feeds.consuming.lock().await;
    let behind = app.feeds.acks.through(recipient).await;
    let from_position = behind.map_or(0, |through| through + 1);
    app.rows_as_they_come().await;
    let rows = app
        .ledger
        .read_model()
        .deliveries(recipient, from_position, limit)
        .await?;
    let messages = messages(app, &rows, MAX_BYTES).await?;
    let positions: Vec<u64> = messages.iter().map(|it| it.place.position).collect();
    let bodies = app.ledger.store().bodies(&positions).await?;
    let mut envelopes = Vec::with_capacity(positions.len());
    for message in &messages {
        // One that was erased is stepped over.
        if let Some(body) = bodies.get(&message.place.position) {
            body.check(message.digest)?;
            envelopes.push(wire_json(&body.bytes, &message.signature));
        }
    }
    if let Some(through_position) = positions.last().copied() {
        let at = app.ledger.now();
        let ack = FeedAck {
            recipient,
            through_position,
            at,
        };
        app.feeds.acks.acknowledge(ack).await;
    }
    let head = format!(
        r#"{{"agent_id":"{}","count":{},"messages":["#,
        recipient.uuid(),
        envelopes.len()
    );
    let text = [head.as_bytes(), &envelopes.join(&b','), b"]}"].concat();
    Ok(([(CONTENT_TYPE, JSON)], text).into_response())
}
