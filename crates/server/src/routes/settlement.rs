//! `GET /api/v1/interactions/{id}/settlement`: where the money of an interaction is, what happens
//! next and when.

use super::subject::{Question, readable};
use super::subjects::INTERACTION;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Asked, Named};
use crate::openapi::Refused;
use crate::signed_read::{ReadRefusal, Reader};
use crate::stored;
use axum::Json;
use axum::extract::State;
use std::sync::Arc;
use x811_eventlog::Record;
use x811_ledger::clock::Clock;
use x811_ledger::port::ReadModel as _;
use x811_protocol::event::{Event, NetworkEvent};
use x811_protocol::id::InteractionId;
use x811_protocol::observation::BlindCause;
use x811_protocol::settlement_view::SettlementView;
use x811_protocol::stream::{Stream, Subject};
use x811_world::World;
use x811_world::settlement_view::{SettlementSources, network_of, settlement_view};

/// Places of records asked for at once.
const PAGE_RECORDS: usize = 200;

/// 200, or 404, also to those who are no party to it.
#[utoipa::path(
    get,
    path = "/api/v1/interactions/{id}/settlement",
    operation_id = "readSettlement",
    tag = "interactions",
    params(("id" = InteractionId, Path, description = "Envelope id of its REQUEST"), Question),
    responses(
        (status = 200, description = "Where the money is", body = SettlementView),
        Refused,
    ),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn handle<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Named(id): Named<InteractionId>,
    Asked(question): Asked<Question>,
) -> Result<Json<SettlementView>, ReadRefusal> {
    question.await_rows(&app).await?;
    let world = app.ledger.world();
    let subject = Some(Subject::Interaction(id));
    let row = readable(&app, &reader, &INTERACTION, subject).await?;
    Ok(Json(view(&app, &world, id, row.last_position).await?))
}

async fn view<C: Clock>(
    app: &App<C>,
    world: &World,
    id: InteractionId,
    last_position: u64,
) -> Result<SettlementView, ApiError> {
    let stream = Stream::interaction(id).to_string();
    let mut records = Vec::new();
    loop {
        let page = read(app, &stream, records.len() as u64).await?;
        let is_last = page.len() < PAGE_RECORDS;
        if is_last {
            let last = page.last().or(records.last());
            let position = last.map(|(record, _)| record.position());
            if position.is_none_or(|position| position < last_position) {
                // The rows have lost what lies between.
                return Err(ApiError::damaged(last_position));
            }
        }
        // What became durable since belongs to a newer world than the one at hand.
        let known = page.into_iter();
        records.extend(known.filter(|(record, _)| record.position() < world.head().size));
        if is_last {
            break;
        }
    }
    let blind_cause = match network_of(records.iter().map(|(_, event)| event)) {
        Some(network) => blind_cause(app, world, network).await?,
        None => None,
    };
    let watching = app.watching.borrow().clone();
    let silent = match watching.is_agreed {
        true => Vec::new(),
        false => watching.silent().into_iter().map(str::to_owned).collect(),
    };
    let around = SettlementSources {
        world,
        now: app.ledger.now(),
        blind_cause,
        blind_page_after_ms: app.blindness.page_after_ms,
        silent: &silent,
        contested: &watching.contested,
    };
    Ok(settlement_view(id, &records, around))
}

async fn read<C: Clock>(
    app: &App<C>,
    stream: &str,
    from_seq: u64,
) -> Result<Vec<(Record, Event)>, ApiError> {
    let rows = app.ledger.read_model();
    let positions = rows.stream_positions(stream, from_seq, PAGE_RECORDS);
    let mut records = Vec::new();
    for record in stored::records_of(app, stream, from_seq, &positions.await?).await? {
        let event = stored::event(&record)?;
        records.push((record, event));
    }
    Ok(records)
}

/// Why a network is blind: its last record says it.
async fn blind_cause<C: Clock>(
    app: &App<C>,
    world: &World,
    network: &str,
) -> Result<Option<BlindCause>, ApiError> {
    let sight = world.sight(network);
    let last_seq = sight
        .filter(|sight| sight.blind_since.is_some())
        .and_then(|sight| sight.next_seq.checked_sub(1));
    let Some(last_seq) = last_seq else {
        return Ok(None);
    };
    let stream = Stream::Network(network.to_owned()).to_string();
    let last = read(app, &stream, last_seq).await?.into_iter().next();
    let Some((_, Event::Network(NetworkEvent::Blind(blind)))) = last else {
        return Ok(None);
    };
    Ok(Some(blind.cause))
}
