//! A record that is decided again, with what came before it.

use x811_protocol::event::Event;
use x811_protocol::stream::Stream;
use x811_protocol::time::TimestampMs;
use x811_world::World;
use x811_world::schemas::Schemas;

use crate::finding::findings::{Cause, Findings, Spot};
use crate::finding::unchecked::Unchecked;
use crate::record::uniqueness::Used;
use crate::replay::owing::Owing;
use crate::replay::rows::Rows;

/// A record to decide again.
pub(crate) struct Decided<'a> {
    pub(crate) spot: &'a Spot,
    /// The world before it.
    pub(crate) before: &'a World,
    /// When the record before it was recorded.
    pub(crate) last_at: TimestampMs,
    pub(crate) stream: &'a Stream,
    pub(crate) event: &'a Event,
    /// Its body, where that is here.
    pub(crate) body: Option<&'a [u8]>,
    pub(crate) at: TimestampMs,
    /// What was noted before it.
    pub(crate) rows: &'a Rows,
    /// Notices owed before it.
    pub(crate) owing: &'a Owing,
    /// What was used before it.
    pub(crate) used: &'a Used,
    /// Of the adverts before it whose bodies are here.
    pub(crate) schemas: &'a Schemas,
    /// The rest of the log is not here: what rests on it is left unchecked.
    pub(crate) is_extract: bool,
}

impl Decided<'_> {
    /// Counts what takes the rest of the log, where that is not here; whether it is not.
    pub(crate) fn leaves(&self, what: Unchecked, findings: &mut Findings) -> bool {
        findings.leave(what, u64::from(self.is_extract));
        self.is_extract
    }

    pub(crate) fn differs(
        &self,
        field: &str,
        sentence: impl Into<String>,
        findings: &mut Findings,
    ) {
        findings.add(self.spot, field, Cause::ReDecisionDiffers, sentence);
    }
}
