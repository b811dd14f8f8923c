//! Who reads the log as a whole: its auditors, or everybody where the operator said so.

use super::{ReadRefusal, Reader};
use crate::app::App;
use crate::config::LogReaders;
use crate::error::ApiError;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use std::sync::Arc;
use x811_ledger::clock::Clock;

/// Somebody who may read the log as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogReader {
    /// Who this is does not matter, so what is answered may be kept for others.
    Anyone,
    /// An auditor, or whoever is on this machine where reads are open.
    Auditor,
}

impl<C: Clock> FromRequestParts<Arc<App<C>>> for LogReader {
    type Rejection = ReadRefusal;

    async fn from_request_parts(
        parts: &mut Parts,
        app: &Arc<App<C>>,
    ) -> Result<LogReader, ReadRefusal> {
        if app.log_readers == LogReaders::Public {
            return Ok(LogReader::Anyone);
        }
        match Reader::from_request_parts(parts, app).await? {
            Reader::Anyone
            | Reader::Agent {
                is_auditor: true, ..
            } => Ok(LogReader::Auditor),
            Reader::Agent {
                is_auditor: false, ..
            } => Err(ApiError::not_an_auditor().into()),
        }
    }
}
