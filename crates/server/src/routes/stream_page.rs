//! A page of one stream's records, for the routes that show a stream part by part.

use super::subject::await_rows;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Bounded, MAX_INTEGER};
use crate::stored::{self, HistoryRecord};
use crate::streamed::{self, Items, JSON, JsonList};
use axum::body::Bytes;
use axum::response::Response;
use serde::Deserialize;
use std::collections::VecDeque;
use std::sync::Arc;
use utoipa::IntoParams;
use x811_ledger::clock::Clock;
use x811_ledger::port::ReadModel as _;
use x811_protocol::event::Event;
use x811_protocol::stream::Stream;

/// Most records of a page: 13 MiB of the largest leaves, of which one at a time is in memory.
const MAX_RECORDS: u64 = 200;

/// What may be asked.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Question {
    /// Records behind this place in the stream; from the first without it
    #[param(value_type = Option<u64>, maximum = 9_007_199_254_740_991_u64)]
    after_seq: Option<Bounded<0, MAX_INTEGER>>,
    /// How many at most; 200 without it
    #[param(value_type = Option<u64>, minimum = 1, maximum = 200)]
    limit: Option<Bounded<1, { MAX_RECORDS }>>,
    /// The answer reflects at least this record
    #[param(value_type = Option<u64>, maximum = 9_007_199_254_740_991_u64)]
    min_position: Option<Bounded<0, MAX_INTEGER>>,
}

impl Question {
    /// Waits until the rows for readers are as new as was asked for.
    pub(super) async fn await_rows<C: Clock>(&self, app: &App<C>) -> Result<(), ApiError> {
        await_rows(app, self.min_position).await
    }

    fn first_seq(&self) -> u64 {
        self.after_seq.map_or(0, |seq| seq.0 + 1)
    }

    fn limit(&self) -> usize {
        let limit = self.limit.map_or(MAX_RECORDS, |limit| limit.0);
        usize::try_from(limit).unwrap_or(usize::MAX)
    }
}

/// Which records, in order.
pub(super) struct StreamPage {
    /// Position and place in the stream of each.
    wanted: VecDeque<(u64, u64)>,
    /// Which stream, where they are of one by the rows.
    stream: Option<String>,
    /// The `after_seq` to go on with, while there are more.
    next: Option<u64>,
}

impl StreamPage {
    /// The part of `stream` that was asked for, as far as the rows for readers know it.
    pub(super) async fn read<C: Clock>(
        app: &App<C>,
        stream: &Stream,
        question: &Question,
    ) -> Result<StreamPage, ApiError> {
        let (from_seq, limit) = (question.first_seq(), question.limit());
        let rows = app.ledger.read_model();
        let stream = stream.to_string();
        let mut positions = rows.stream_positions(&stream, from_seq, limit + 1).await?;
        let has_more = positions.len() > limit;
        positions.truncate(limit);
        let seqs = positions.into_iter().zip(from_seq..);
        let wanted: VecDeque<(u64, u64)> = seqs.collect();
        Ok(StreamPage {
            next: wanted.back().map(|(_, seq)| *seq).filter(|_| has_more),
            wanted,
            stream: Some(stream),
        })
    }

    /// The part that was asked for of the records at these positions, all of one stream and few.
    pub(super) async fn of<C: Clock>(
        app: &App<C>,
        positions: Vec<u64>,
        question: &Question,
    ) -> Result<StreamPage, ApiError> {
        let mut wanted = Vec::with_capacity(positions.len());
        for position in positions {
            let stream_seq = stored::record(app, position).await?.stream_seq();
            if stream_seq >= question.first_seq() {
                wanted.push((position, stream_seq));
            }
        }
        let has_more = wanted.len() > question.limit();
        wanted.truncate(question.limit());
        Ok(StreamPage {
            next: wanted.last().map(|(_, seq)| *seq).filter(|_| has_more),
            wanted: wanted.into(),
            stream: None,
        })
    }

    /// Refuses a page that ends before the record at `last_position`, which is the last of the stream or
    /// one before it: the rows have lost what lies between.
    pub(super) async fn check_end<C: Clock>(
        &self,
        app: &App<C>,
        question: &Question,
        last_position: u64,
    ) -> Result<(), ApiError> {
        let is_whole = match self.wanted.back() {
            _ if self.next.is_some() => true,
            Some((position, _)) => *position >= last_position,
            // Asked from behind the end.
            None => {
                let last = stored::record(app, last_position).await?;
                last.stream_seq() < question.first_seq()
            }
        };
        if is_whole {
            Ok(())
        } else {
            Err(ApiError::damaged(last_position))
        }
    }

    /// The page as an answer: `{"<name>":<of>,"records":[…],"next":…}`. Of the records those are shown
    /// whose events are `wanted`; one at a time is read.
    pub(super) async fn answer<C: Clock>(
        self,
        app: Arc<App<C>>,
        (name, of): (&str, String),
        wanted: fn(&Event) -> bool,
    ) -> Result<Response, ApiError> {
        let before = format!(r#"{{"{name}":"{of}","records":["#);
        let after = match self.next {
            Some(next) => format!(r#"],"next":{next}}}"#),
            None => "]}".to_owned(),
        };
        let records = Records {
            app,
            due: self.wanted,
            stream: self.stream,
            wanted,
        };
        let list = JsonList::new(before.into_bytes(), records, after.into_bytes());
        streamed::answer(JSON, list).await
    }
}

struct Records<C> {
    app: Arc<App<C>>,
    /// Position and place in the stream of those that were not sent.
    due: VecDeque<(u64, u64)>,
    stream: Option<String>,
    wanted: fn(&Event) -> bool,
}

impl<C: Clock> Items for Records<C> {
    async fn next(&mut self) -> Result<Option<(bool, Bytes)>, ApiError> {
        while let Some((position, seq)) = self.due.pop_front() {
            let record = stored::record(&self.app, position).await?;
            // The rows are not believed: one that lost a record would pass for a shorter history.
            let is_of = |stream: &String| record.stream() == stream;
            if record.stream_seq() != seq || !self.stream.as_ref().is_none_or(is_of) {
                return Err(ApiError::damaged(position));
            }
            if (self.wanted)(&stored::event(&record)?) {
                let shown = streamed::json(&HistoryRecord::of(&record)?)?;
                return Ok(Some((true, shown.into())));
            }
        }
        Ok(None)
    }
}
