//! Does an endpoint serve the chain and the token we were configured for? Asked at start, where a
//! *proven* misfit stops the server and silence only makes it start blind (ledger-contract.md
//! section 5), and by the watcher when it first gets through (settlement-watcher.md rule 9).

use x811_protocol::evm::{ChainId, EvmAddress};

use crate::source::{ChainSource, SourceError};

/// Decimal places of USDC, on which all amounts depend.
const USDC_DECIMALS: u8 = 6;

/// Asks the endpoint for its chain id, the code at `token` and the token's decimals.
///
/// # Errors
/// [`CheckFailure::Misfit`] when an answer proves that the configuration does not fit;
/// [`CheckFailure::Unreachable`] when there was no answer to judge.
pub async fn verify_endpoint(
    source: &impl ChainSource,
    chain_id: ChainId,
    token: EvmAddress,
) -> Result<(), CheckFailure> {
    verify_chain(source, chain_id, token).await?;
    match source.token_decimals(token).await? {
        Some(USDC_DECIMALS) => Ok(()),
        actual => Err(Misfit::Decimals { token, actual }.into()),
    }
}

/// Asks the endpoint for its chain id and the code at `token`: every minute.
pub(crate) async fn verify_chain(
    source: &impl ChainSource,
    expected: ChainId,
    token: EvmAddress,
) -> Result<(), CheckFailure> {
    let actual = source.chain_id().await?;
    if actual != expected {
        return Err(Misfit::ChainId { expected, actual }.into());
    }
    if !source.code_at(token).await? {
        let chain_id = expected;
        return Err(Misfit::NoTokenCode { token, chain_id }.into());
    }
    Ok(())
}

/// Why an endpoint did not pass.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckFailure {
    /// It answered, and the answer rules it out.
    #[error(transparent)]
    Misfit(#[from] Misfit),
    /// It gave no answer that could be judged.
    #[error(transparent)]
    Unreachable(#[from] SourceError),
}

/// An answer that proves that endpoint and configuration do not belong together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// The endpoint serves another chain than the configured one.
    #[error(
        "the RPC endpoint serves chain {actual}, but the network is configured as chain \
         {expected}; give the RPC URL of chain {expected}, or configure the network as chain \
         {actual}"
    )]
    ChainId {
        /// The configured chain.
        expected: ChainId,
        /// The endpoint's chain.
        actual: ChainId,
    },
    /// No contract where the token should be.
    #[error(
        "there is no contract at the token address {} on chain {chain_id}; configure the USDC \
         address of that chain (on a local chain, deploy the token first)", token.to_checksum()
    )]
    NoTokenCode {
        /// The configured token.
        token: EvmAddress,
        /// The chain that was asked.
        chain_id: ChainId,
    },
    /// A contract that does not count in micro-USDC.
    #[error(
        "the contract at {} {}, but USDC has 6 decimals; configure the USDC address of that chain",
        token.to_checksum(), stated(*actual)
    )]
    Decimals {
        /// The configured token.
        token: EvmAddress,
        /// What it answered; `None` when it has no `decimals()`.
        actual: Option<u8>,
    },
}

fn stated(decimals: Option<u8>) -> String {
    decimals.map_or("states no decimals".to_owned(), |count| {
        format!("has {count} decimals")
    })
}
