//! Why a transfer was not made, or nobody knows.

use x811_protocol::digest::Digest;
use x811_protocol::evm::{ChainId, EvmAddress, TxHash};
use x811_protocol::money::MicroUsdc;

/// Why nothing was paid, or nobody knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PayError {
    /// The endpoint's address is none.
    #[error("the RPC address is not one; write one such as https://mainnet.base.org")]
    Endpoint,
    /// No answer. A transfer that was being sent may have arrived: send the same one again.
    #[error("{endpoint} does not answer ({cause}); check the RPC address and try again")]
    Unreachable {
        /// Host of the endpoint.
        endpoint: String,
        /// What the network said.
        cause: String,
    },
    /// The endpoint said no.
    #[error("{endpoint} refused: {cause}")]
    Refused {
        /// Host of the endpoint.
        endpoint: String,
        /// What the endpoint said, in its own words.
        cause: String,
    },
    /// The endpoint serves another chain.
    #[error(
        "the endpoint serves chain {served}, the ledger settles on chain {wanted}; use another"
    )]
    OtherChain {
        /// The chain that the ledger settles on.
        wanted: ChainId,
        /// The chain that the endpoint serves.
        served: ChainId,
    },
    /// Nothing is at the token's address, or no token.
    #[error("there is no token at {}; check network and RPC address", token.to_checksum())]
    NoToken {
        /// The address that should be a token.
        token: EvmAddress,
    },
    /// The ledger names another token than USDC on Base.
    #[error(
        "the ledger wants payment in {}, which is not USDC on Base; do not pay, ask its operator",
        token.to_checksum()
    )]
    NotUsdc {
        /// Address of the token that the ledger names.
        token: EvmAddress,
    },
    /// Too little in the account.
    #[error(
        "{} has {} USDC and needs {}; send it USDC and try again",
        payer.to_checksum(), has.to_usdc_decimal(), needs.to_usdc_decimal()
    )]
    TooPoor {
        /// The account that was to pay.
        payer: EvmAddress,
        /// What it has.
        has: MicroUsdc,
        /// What has to be paid.
        needs: MicroUsdc,
    },
    /// The transaction could not be signed.
    #[error("the transaction could not be signed; nothing was sent")]
    Unsigned,
    /// A kept transfer is not what it says.
    #[error("the kept transfer is damaged or for another network; nothing was sent")]
    Damaged,
    /// Its nonce went to another transaction, so it will never be mined.
    #[error(
        "transaction {tx_hash} is not known to the endpoint, and its account nonce is used: it is in a \
         block that the endpoint does not show, or another transaction took its place. Look for it in a \
         block explorer before anything else"
    )]
    Replaced {
        /// Hash of the transaction that will never be mined.
        tx_hash: TxHash,
    },
    /// The token takes no EIP-3009 authorizations, or not the standard ones.
    #[error("the token at {} takes no EIP-3009 authorizations: {why}", token.to_checksum())]
    NoAuthorizations {
        /// Address of the token.
        token: EvmAddress,
        /// How that is known.
        why: &'static str,
    },
    /// The authorization was cancelled before it was used.
    #[error(
        "the authorization under nonce {nonce} was cancelled, so nothing can be paid under it any \
         more; if nothing else paid, make a plain transfer"
    )]
    Cancelled {
        /// The nonce of that authorization.
        nonce: Digest,
    },
    /// The token says that the nonce is used up, and no log that was found says how.
    #[error(
        "the token says that nonce {nonce} is used, so this was paid or cancelled; the logs of the \
         last {searched_blocks} blocks do not name the transaction. Do not pay again: find the \
         transaction in a block explorer and declare it"
    )]
    SpentUnseen {
        /// The nonce that the token calls used up.
        nonce: Digest,
        /// How far back was looked.
        searched_blocks: u64,
    },
    /// The gas of a transfer with raised fees would cost too much.
    #[error(
        "the network asks for more than {} ETH of gas for this transfer; wait until fees are lower and \
         try again",
        eth(*limit_wei)
    )]
    FeesTooHigh {
        /// The greatest cost of the gas, in wei.
        cost_wei: u128,
        /// The limit of that cost, in wei.
        limit_wei: u128,
    },
}

/// Wei as ETH with six decimals, rounded up.
fn eth(wei: u128) -> String {
    let micro_eth = wei.div_ceil(1_000_000_000_000);
    format!("{}.{:06}", micro_eth / 1_000_000, micro_eth % 1_000_000)
}
