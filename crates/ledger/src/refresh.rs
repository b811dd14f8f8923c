//! A refresh from what the running ledger keeps.

use crate::checkpoint::Signed;
use crate::port::ReadModel;
use crate::proof::{self, ProofError};
use x811_audit::refresh::{Link, Refresh};

/// Why a paper was not refreshed.
#[derive(Debug, thiserror::Error)]
pub enum RefreshError {
    /// The ledger has no keys statement to give.
    #[error("no keys statement was signed since the ledger was started: ask again")]
    NoStatement,
    /// The log gives no proof between the two sizes.
    #[error(transparent)]
    Proof(#[from] ProofError),
}

/// Proves that `signed` goes on where a checkpoint over `size` records ended. The rows must reflect
/// what `signed` covers.
///
/// # Errors
/// [`RefreshError`].
pub async fn build<R: ReadModel>(
    rows: &R,
    size: u64,
    signed: &Signed,
) -> Result<Refresh, RefreshError> {
    let keys = signed.keys.clone().ok_or(RefreshError::NoStatement)?;
    let proof = proof::consistency(rows, size, &signed.checkpoint).await?;
    Ok(Refresh {
        keys,
        link: Some(Link {
            checkpoint: signed.note.clone(),
            hashes: proof.path,
            size,
        }),
    })
}
