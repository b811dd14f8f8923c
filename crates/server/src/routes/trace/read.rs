//! Which records a trace is made of, who may have it, and its nodes.

use super::super::subject::may_read;
use crate::app::App;
use crate::error::ApiError;
use crate::signed_read::{ReadRefusal, Reader};
use crate::stored;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use x811_eventlog::Record;
use x811_ledger::clock::Clock;
use x811_ledger::port::{LedgerStore as _, ReadModel as _};
use x811_protocol::digest::Digest;
use x811_protocol::envelope::ParsedEnvelope;
use x811_protocol::event::Event;
use x811_protocol::id::{AgreementId, RoundId, SessionId};
use x811_protocol::stream::{Stream, Subject};
use x811_protocol::time::TimestampMs;
use x811_protocol::trace::{
    self, MOST_PARTS, Node, Recorded, SHOWN_MEMBERS, Wid, sessions_of, shown_message,
};
use x811_world::row::SubjectRow;

/// Positions that are read together.
const PAGE: usize = 200;

/// A record of what is traced.
struct TracedRecord {
    subject: Subject,
    record: Record,
    event: Event,
    payload: Option<Map<String, Value>>,
}

/// The nodes of the trace of that name, and its name; 404 also for those who take no part in it.
pub(super) async fn traced<C: Clock>(
    app: &App<C>,
    reader: &Reader,
    wid: &str,
) -> Result<(Wid, Vec<Node>), ReadRefusal> {
    let not_found = || {
        ApiError::not_found(
            "no trace of that id that you may read is here: it is named by the first proposal of a round, by \
             a session, an agreement or a negotiation, and its members read it",
        )
    };
    let wid: Wid = wid.parse().map_err(|_| not_found())?;
    let subjects = match wid {
        Wid::Contract(id) => vec![Subject::Contract(id)],
        Wid::Envelope(id) => vec![
            Subject::Round(RoundId::from(id)),
            Subject::Agreement(AgreementId::from(SessionId::from(id))),
            Subject::Session(SessionId::from(id)),
        ],
    };
    for subject in subjects {
        let Some(row) = app.ledger.read_model().subject(subject).await? else {
            continue;
        };
        if may_read(app, reader, &row) {
            let nodes = nodes(app, reader, row).await?;
            return Ok((wid, nodes));
        }
    }
    Err(not_found().into())
}

async fn nodes<C: Clock>(
    app: &App<C>,
    reader: &Reader,
    row: SubjectRow,
) -> Result<Vec<Node>, ApiError> {
    let subject = row.subject;
    let rows = if let Subject::Round(_) = subject {
        attempts(app, reader, row).await?
    } else if let Subject::Agreement(_) = subject {
        sessions(app, row).await?
    } else {
        vec![row]
    };
    let kept = records(app, &rows).await?;
    let recorded = kept.iter().map(|kept| Recorded {
        event: &kept.event,
        hash: Digest::from_bytes(*kept.record.hash().as_bytes()),
        payload: kept.payload.as_ref(),
        position: kept.record.position(),
        recorded_at_ms: TimestampMs::new(kept.record.recorded_at_ms()),
        subject: kept.subject,
    });
    Ok(trace::nodes(subject, recorded))
}

/// A round and those that retry it.
async fn attempts<C: Clock>(
    app: &App<C>,
    reader: &Reader,
    first: SubjectRow,
) -> Result<Vec<SubjectRow>, ApiError> {
    if let Some(before) = first.detail.get("resubmission_of") {
        let message = format!("the round is a retry: its trace begins with {before}");
        return Err(ApiError::not_found(message));
    }
    let mut attempts = vec![first];
    while attempts.len() < MOST_PARTS {
        let last = attempts.last().map(|row| &row.detail["retried_by"]);
        let next = last.and_then(|id| RoundId::lenient(id.as_str()?).ok());
        let Some(next) = next else {
            break;
        };
        let row = app
            .ledger
            .read_model()
            .subject(Subject::Round(next))
            .await?;
        // A retry may be led by somebody else, and is for its own members.
        let row = row.filter(|row| may_read(app, reader, row));
        let Some(row) = row else {
            break;
        };
        attempts.push(row);
    }
    Ok(attempts)
}

/// An agreement and the sessions that made its revisions, which are between the same two.
async fn sessions<C: Clock>(app: &App<C>, row: SubjectRow) -> Result<Vec<SubjectRow>, ApiError> {
    let own = records(app, std::slice::from_ref(&row)).await?;
    let mut rows = vec![row];
    for session in sessions_of(own.iter().map(|kept| &kept.event))
        .into_iter()
        .take(MOST_PARTS)
    {
        let session = app.ledger.read_model().subject(Subject::Session(session));
        rows.extend(session.await?);
    }
    Ok(rows)
}

/// All records of these, in order of position.
async fn records<C: Clock>(
    app: &App<C>,
    rows: &[SubjectRow],
) -> Result<Vec<TracedRecord>, ApiError> {
    let mut all = Vec::new();
    let mut seen = BTreeSet::new();
    for row in rows {
        let stream = Stream::Of(row.subject).to_string();
        let mut from_seq = 0;
        loop {
            let read_model = app.ledger.read_model();
            let positions = read_model.stream_positions(&stream, from_seq, PAGE).await?;
            let (found, is_last) = (positions.len() as u64, positions.len() < PAGE);
            // What came after the row was read is left to the next.
            let within: Vec<u64> = positions
                .into_iter()
                .filter(|at| *at <= row.last_position)
                .collect();
            let page = stored::records_of(app, &stream, from_seq, &within).await?;
            for record in page {
                if !seen.insert(record.position()) {
                    return Err(ApiError::damaged(record.position()));
                }
                let event = stored::event(&record)?;
                all.push(TracedRecord {
                    payload: None,
                    subject: row.subject,
                    record,
                    event,
                });
            }
            from_seq += found;
            if is_last {
                break;
            }
        }
    }
    all.sort_unstable_by_key(|kept| kept.record.position());
    for page in all.chunks_mut(PAGE) {
        read_payloads(app, page).await?;
    }
    Ok(all)
}

/// Puts what the messages say beside their records, as far as it is there.
async fn read_payloads<C: Clock>(app: &App<C>, page: &mut [TracedRecord]) -> Result<(), ApiError> {
    let wanted = |kept: &&mut TracedRecord| shown_message(&kept.event).is_some();
    let positions: Vec<u64> = page
        .iter_mut()
        .filter(wanted)
        .map(|kept| kept.record.position())
        .collect();
    let mut bodies = app.ledger.store().bodies(&positions).await?;
    for kept in page {
        let position = kept.record.position();
        let (Some(header), Some(body)) = (shown_message(&kept.event), bodies.remove(&position))
        else {
            continue;
        };
        body.check(header.digest)?;
        let parsed = ParsedEnvelope::from_body(&body.bytes, header.signature);
        let mut payload = parsed.map_err(|_| ApiError::damaged(position))?.payload;
        payload.retain(|name, _| SHOWN_MEMBERS.contains(&name.as_str()));
        kept.payload = Some(payload);
    }
    Ok(())
}
