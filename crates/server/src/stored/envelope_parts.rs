//! A long envelope, in parts: its canonical body from the store, with the signature in its place.

use crate::app::App;
use crate::error::ApiError;
use crate::streamed::WHOLE_BYTES;
use axum::body::Bytes;
use x811_ledger::clock::Clock;
use x811_ledger::port::LedgerStore as _;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::signature_member;
use x811_protocol::signature::Signature;

/// How far an envelope was sent.
pub(crate) struct EnvelopeParts {
    position: u64,
    /// Bytes of the body that were sent.
    sent: usize,
    /// Bytes of the body.
    size: usize,
    /// Before which byte the signature stands, until it was sent.
    signature: Option<(usize, String)>,
}

impl EnvelopeParts {
    /// The envelope at `position` whose body has that digest; `None` where it is absent or erased.
    pub(crate) async fn begin<C: Clock>(
        app: &App<C>,
        position: u64,
        (digest, signature): (Digest, &Signature),
    ) -> Result<Option<EnvelopeParts>, ApiError> {
        let body = app.ledger.store().bodies(&[position]).await?;
        let Some(body) = body.get(&position) else {
            return Ok(None);
        };
        body.check(digest)?;
        Ok(Some(EnvelopeParts {
            position,
            sent: 0,
            size: body.bytes.len(),
            signature: Some(signature_member(&body.bytes, signature)),
        }))
    }

    /// The next part; `None` behind the last. One that is erased meanwhile has no end.
    pub(crate) async fn next<C: Clock>(&mut self, app: &App<C>) -> Result<Option<Bytes>, ApiError> {
        let until = match &self.signature {
            Some((at, _)) if *at > self.sent => *at,
            Some(_) => {
                let member = self.signature.take().map(|(_, member)| member);
                return Ok(member.map(Bytes::from));
            }
            None => self.size,
        };
        if self.sent >= until {
            return Ok(None);
        }
        let most = (until - self.sent).min(WHOLE_BYTES);
        let part = app.ledger.store().body_part(self.position, self.sent, most);
        let part = part.await?.filter(|part| part.len() == most);
        let part = part.ok_or_else(|| ApiError::damaged(self.position))?;
        self.sent += most;
        Ok(Some(part.into()))
    }
}
