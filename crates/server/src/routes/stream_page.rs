//! A page of one stream's records, for the routes that show a stream part by part.

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Bounded, MAX_INTEGER};
use crate::stored;
use serde::Deserialize;
use utoipa::IntoParams;
use x811_eventlog::Record;
use x811_ledger::clock::Clock;
use x811_ledger::port::ReadModel as _;
use x811_ledger::stream::Stream;

/// Most records of a page: 13 MiB of the largest leaves.
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
}

impl Question {
    fn first_seq(&self) -> u64 {
        self.after_seq.map_or(0, |seq| seq.0 + 1)
    }

    fn limit(&self) -> usize {
        let limit = self.limit.map_or(MAX_RECORDS, |limit| limit.0);
        usize::try_from(limit).unwrap_or(usize::MAX)
    }
}

/// Records in order.
pub(super) struct StreamPage {
    pub(super) records: Vec<Record>,
    /// The `after_seq` to go on with, while there are more.
    pub(super) next: Option<u64>,
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
        let records = stored::records_of(app, &stream, from_seq, &positions).await?;
        Ok(StreamPage::with(records, has_more))
    }

    /// The part that was asked for of the records at these positions, all of one stream and few.
    pub(super) async fn of<C: Clock>(
        app: &App<C>,
        positions: Vec<u64>,
        question: &Question,
    ) -> Result<StreamPage, ApiError> {
        let mut records = Vec::with_capacity(positions.len());
        for position in positions {
            records.push(stored::record(app, position).await?);
        }
        records.retain(|record| record.stream_seq() >= question.first_seq());
        let has_more = records.len() > question.limit();
        records.truncate(question.limit());
        Ok(StreamPage::with(records, has_more))
    }

    /// Refuses a page that ends before the record at `last_position`, which is the last of the stream or
    /// one before it: the rows have lost what lies between.
    pub(super) async fn check_end<C: Clock>(
        &self,
        app: &App<C>,
        question: &Question,
        last_position: u64,
    ) -> Result<(), ApiError> {
        let is_whole = match self.records.last() {
            _ if self.next.is_some() => true,
            Some(last) => last.position() >= last_position,
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

    fn with(records: Vec<Record>, has_more: bool) -> StreamPage {
        let last = records.last().map(Record::stream_seq);
        StreamPage {
            records,
            next: last.filter(|_| has_more),
        }
    }
}
