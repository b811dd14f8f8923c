//! The USDC transfer on Base (feature `pay`).
//!
//! A transfer is made in two steps, so that an interrupted payer never pays twice: it is signed,
//! which fixes its hash, and kept by the caller; then it is sent, as often as needed, always the
//! same bytes. Whether it is confirmed is the ledger's business, which looks for itself.
//!
//! Where the token takes them, a transfer is made under an EIP-3009 [`Authorization`]: its nonce
//! says what is paid, and the token takes a nonce once.

mod authorization;
mod error;
mod fees;
mod inspect;
mod log_search;
mod nonce_use;
mod outcome;

pub use authorization::{Authorization, TokenDomain};
pub use error::PayError;
pub use inspect::{Declaration, Inspection, Movements, TokenTransfer};
pub use nonce_use::NonceUse;
pub use outcome::Outcome;

use std::time::Duration;

use alloy::consensus::transaction::SignerRecoverable;
use alloy::consensus::{Transaction as _, TxEnvelope};
use alloy::eips::BlockId;
use alloy::eips::eip2718::{Decodable2718, Encodable2718};
use alloy::network::{EthereumWallet, NetworkTransactionBuilder, TransactionBuilder};
use alloy::primitives::{Address, B256, Bytes, U256};
use alloy::providers::{Provider, RootProvider};
use alloy::rpc::client::RpcClient;
use alloy::rpc::types::{Block, TransactionInput, TransactionRequest};
use alloy::signers::local::PrivateKeySigner;
use alloy::sol;
use alloy::sol_types::SolCall;
use alloy::transports::http::Http;
use alloy::transports::{RpcError, TransportErrorKind};
use serde::{Deserialize, Serialize};
use x811_protocol::evm::{ChainId, EvmAddress, TxHash};
use x811_protocol::loopback::is_loopback_host;
use x811_protocol::money::MicroUsdc;

use authorization::transferWithAuthorizationCall;

use crate::clock::Clock;
use crate::outgoing::client_to;
use crate::wallet::WalletKey;

sol! {
    function transfer(address to, uint256 value) external returns (bool);
    function balanceOf(address owner) external view returns (uint256);
}

/// Base, and its one USDC contract: whatever a ledger may say, nothing else is paid with there.
const BASE_CHAIN_ID: ChainId = ChainId::new(8_453);
const BASE_USDC: &str = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";

/// Blocks after which every node behind an endpoint is taken to have a block.
const SETTLED_BLOCKS: u64 = 5;

/// How long one call to the endpoint may take.
const CALL_LIMIT: Duration = Duration::from_secs(15);

/// Between one look for a receipt and the next, in milliseconds.
const RECEIPT_POLL_MS: u64 = 1_000;

/// An endpoint of a network, and the token to pay with.
#[derive(Debug, Clone)]
pub struct PayClient {
    provider: RootProvider,
    endpoint: String,
    chain_id: ChainId,
    token: EvmAddress,
}

/// What to pay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transfer {
    /// The account that is paid.
    pub payee: EvmAddress,
    /// How much is paid.
    pub amount: MicroUsdc,
}

/// A transfer that is signed, and so has its hash, and may or may not have been sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedTransfer {
    /// Hash of the transaction.
    pub tx_hash: TxHash,
    /// On which chain it is good.
    pub chain_id: ChainId,
    /// The token's contract.
    pub token: EvmAddress,
    /// The account that pays.
    pub payer: EvmAddress,
    /// What is paid.
    pub transfer: Transfer,
    /// Under which authorization; `None` for a plain transfer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization: Option<Authorization>,
    /// The signed transaction (EIP-2718), `0x` hex.
    pub raw: String,
    /// Hashes of the transactions with lower fees that this one replaces; each of them may be the one
    /// that pays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<TxHash>,
}

/// How a transaction stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receipt {
    /// In a block, and it did what it said.
    Succeeded {
        /// Height of the block.
        block_number: u64,
    },
    /// In a block, and it did nothing.
    Reverted {
        /// Height of the block.
        block_number: u64,
    },
}

impl Receipt {
    /// Height of the block.
    #[must_use]
    pub fn block_number(self) -> u64 {
        match self {
            Receipt::Succeeded { block_number } | Receipt::Reverted { block_number } => {
                block_number
            }
        }
    }
}

impl PayClient {
    /// Connects, and makes sure that the endpoint serves `chain_id` and that `token` is a contract
    /// there.
    ///
    /// # Errors
    /// [`PayError`].
    pub async fn connect(
        rpc_url: &str,
        chain_id: ChainId,
        token: EvmAddress,
    ) -> Result<PayClient, PayError> {
        if chain_id == BASE_CHAIN_ID && EvmAddress::parse_checksummed(BASE_USDC) != Ok(token) {
            return Err(PayError::NotUsdc { token });
        }
        let url: reqwest::Url = rpc_url.parse().map_err(|_| PayError::Endpoint)?;
        let http = client_to(rpc_url)
            .connect_timeout(Duration::from_secs(5))
            .timeout(CALL_LIMIT)
            .build()
            .map_err(|error| PayError::Unreachable {
                endpoint: "the endpoint".to_owned(),
                cause: error.to_string(),
            })?;
        // The path of an endpoint often holds its key: only the host is ever shown.
        let endpoint = url.host_str().unwrap_or("the endpoint").to_owned();
        let is_local = is_loopback_host(&endpoint);
        let rpc = RpcClient::new(Http::with_client(http, url), is_local);
        let client = PayClient {
            provider: RootProvider::new(rpc),
            endpoint,
            chain_id,
            token,
        };
        client.check_chain().await?;
        Ok(client)
    }

    /// Signs a plain transfer of the token: next nonce, fees of now, gas as estimated and a quarter more.
    /// Nothing is sent.
    ///
    /// # Errors
    /// [`PayError::TooPoor`] when the account has too little of the token; [`PayError`].
    pub async fn sign(
        &self,
        key: &WalletKey,
        transfer: Transfer,
    ) -> Result<SignedTransfer, PayError> {
        let call = transferCall {
            to: address(transfer.payee),
            value: U256::from(transfer.amount.as_micro_usdc()),
        };
        let input = Bytes::from(call.abi_encode());
        self.sign_call(key, transfer, None, input).await
    }

    /// Sends a signed transfer. Sending one that is already known or mined is no error: the same
    /// bytes pay once.
    ///
    /// # Errors
    /// [`PayError::Damaged`] when the bytes are not the transfer they say, [`PayError::Replaced`]
    /// when another transaction took its nonce, [`PayError`].
    pub async fn send(&self, signed: &SignedTransfer) -> Result<(), PayError> {
        let raw = signed.checked_raw()?;
        if !self.serves(signed) {
            return Err(PayError::Damaged);
        }
        let Err(error) = self.provider.send_raw_transaction(&raw).await else {
            return Ok(());
        };
        // The answer does not say whether the network has it: "already known" and "nonce too low"
        // have no standard form. So ask for the transaction itself.
        let known = self
            .provider
            .get_transaction_by_hash(B256::from(*signed.tx_hash.as_bytes()));
        match known.await {
            Ok(Some(_)) => Ok(()),
            Ok(None) if self.is_nonce_spent(signed, BlockId::latest()).await? => {
                self.check_replaced(signed).await
            }
            Ok(None) | Err(_) => Err(self.failed(&error)),
        }
    }

    /// Refuses a transfer whose account nonce is used if another transaction has used it. It may be one of
    /// its own, in a block that not every node behind the endpoint has.
    async fn check_replaced(&self, signed: &SignedTransfer) -> Result<(), PayError> {
        let head = self.latest_block().await?.header.number;
        let settled = BlockId::number(head.saturating_sub(SETTLED_BLOCKS));
        let is_replaced = self.is_nonce_spent(signed, settled).await?
            && self.mined(signed).await?.is_none()
            && !matches!(self.outcome(signed).await?, Outcome::Paid { .. });
        match is_replaced {
            true => Err(PayError::Replaced {
                tx_hash: signed.tx_hash,
            }),
            false => Ok(()),
        }
    }

    /// The receipt, if the transaction is in a block.
    ///
    /// # Errors
    /// [`PayError::Unreachable`].
    pub async fn receipt(&self, tx_hash: TxHash) -> Result<Option<Receipt>, PayError> {
        let hash = B256::from(*tx_hash.as_bytes());
        let receipt = self.provider.get_transaction_receipt(hash).await;
        let Some(receipt) = receipt.map_err(|error| self.failed(&error))? else {
            return Ok(None);
        };
        let Some(block_number) = receipt.block_number else {
            return Ok(None);
        };
        Ok(Some(if receipt.status() {
            Receipt::Succeeded { block_number }
        } else {
            Receipt::Reverted { block_number }
        }))
    }

    /// The transaction of a transfer that is in a block, and its receipt: the newest one, or one that it
    /// replaces.
    ///
    /// # Errors
    /// [`PayError::Unreachable`].
    pub async fn mined(
        &self,
        signed: &SignedTransfer,
    ) -> Result<Option<(TxHash, Receipt)>, PayError> {
        for tx_hash in signed.replaced.iter().chain([&signed.tx_hash]).rev() {
            if let Some(receipt) = self.receipt(*tx_hash).await? {
                return Ok(Some((*tx_hash, receipt)));
            }
        }
        Ok(None)
    }

    /// Asks once a second for the receipt, at most `limit_ms` long; `None` when it did not come.
    ///
    /// # Errors
    /// [`PayError::Unreachable`].
    pub async fn await_mined(
        &self,
        signed: &SignedTransfer,
        clock: &dyn Clock,
        limit_ms: u64,
    ) -> Result<Option<(TxHash, Receipt)>, PayError> {
        let until = clock.now().saturating_add_ms(limit_ms);
        loop {
            let mined = self.mined(signed).await?;
            if mined.is_some() || clock.now() >= until {
                return Ok(mined);
            }
            clock.pause(RECEIPT_POLL_MS).await;
        }
    }

    async fn sign_call(
        &self,
        key: &WalletKey,
        transfer: Transfer,
        authorization: Option<Authorization>,
        input: Bytes,
    ) -> Result<SignedTransfer, PayError> {
        let payer = key.address();
        self.check_balance(payer, transfer.amount).await?;
        let nonce = self
            .provider
            .get_transaction_count(address(payer))
            .pending();
        let nonce = nonce.await.map_err(|error| self.failed(&error))?;
        let request = to_token(self.token, input)
            .with_from(address(payer))
            .with_chain_id(self.chain_id.as_u64())
            .with_nonce(nonce);
        let request = self.with_fees_of_now(request).await?;
        let gas = self.provider.estimate_gas(request.clone());
        let gas = gas.await.map_err(|error| self.failed(&error))?;
        let request = request.with_gas_limit(gas.saturating_add(gas / 4));
        let signed = sign_transaction(key, request).await?;
        Ok(SignedTransfer {
            tx_hash: TxHash::from_bytes(signed.tx_hash().0),
            chain_id: self.chain_id,
            token: self.token,
            payer,
            transfer,
            authorization,
            raw: format!("0x{}", hex::encode(signed.encoded_2718())),
            replaced: Vec::new(),
        })
    }

    async fn latest_block(&self) -> Result<Block, PayError> {
        let block = self.provider.get_block_by_number(Default::default()).await;
        let block = block.map_err(|error| self.failed(&error))?;
        block.ok_or_else(|| self.failed(&RpcError::NullResp))
    }

    async fn check_chain(&self) -> Result<(), PayError> {
        let served = self.provider.get_chain_id().await;
        let served = ChainId::new(served.map_err(|error| self.failed(&error))?);
        if served != self.chain_id {
            return Err(PayError::OtherChain {
                wanted: self.chain_id,
                served,
            });
        }
        let code = self.provider.get_code_at(address(self.token)).await;
        if code.map_err(|error| self.failed(&error))?.is_empty() {
            return Err(PayError::NoToken { token: self.token });
        }
        Ok(())
    }

    async fn check_balance(&self, payer: EvmAddress, amount: MicroUsdc) -> Result<(), PayError> {
        let call = balanceOfCall {
            owner: address(payer),
        };
        let balance = self.ask(&call).await?;
        let balance = balance.ok_or(PayError::NoToken { token: self.token })?;
        if balance >= U256::from(amount.as_micro_usdc()) {
            return Ok(());
        }
        let micro_usdc = u64::try_from(balance).unwrap_or(u64::MAX);
        Err(PayError::TooPoor {
            payer,
            has: MicroUsdc::from_micro_usdc(micro_usdc).unwrap_or(MicroUsdc::MAX),
            needs: amount,
        })
    }

    /// True if a transaction with the transfer's account nonce is in `block` or one before it.
    async fn is_nonce_spent(
        &self,
        signed: &SignedTransfer,
        block: BlockId,
    ) -> Result<bool, PayError> {
        let raw = signed.checked_raw()?;
        let transaction =
            TxEnvelope::decode_2718(&mut raw.as_slice()).map_err(|_| PayError::Damaged)?;
        let count = self
            .provider
            .get_transaction_count(address(signed.payer))
            .block_id(block);
        let count = count.await.map_err(|error| self.failed(&error))?;
        Ok(count > transaction.nonce())
    }

    /// True if the transfer is one of this client's chain and token.
    pub fn serves(&self, signed: &SignedTransfer) -> bool {
        (signed.chain_id, signed.token) == (self.chain_id, self.token)
    }

    fn failed(&self, error: &RpcError<TransportErrorKind>) -> PayError {
        let endpoint = self.endpoint.clone();
        match error {
            RpcError::ErrorResp(payload) => PayError::Refused {
                endpoint,
                cause: payload.message.to_string(),
            },
            RpcError::NullResp
            | RpcError::UnsupportedFeature(_)
            | RpcError::LocalUsageError(_)
            | RpcError::SerError(_)
            | RpcError::DeserError { .. }
            | RpcError::Transport(_) => PayError::Unreachable {
                endpoint,
                cause: without_urls(&innermost(error)),
            },
        }
    }
}

impl SignedTransfer {
    /// The bytes to send, if they are what the other members say.
    fn checked_raw(&self) -> Result<Vec<u8>, PayError> {
        let digits = self.raw.strip_prefix("0x").ok_or(PayError::Damaged)?;
        let raw = hex::decode(digits).map_err(|_| PayError::Damaged)?;
        let signed = TxEnvelope::decode_2718(&mut raw.as_slice()).map_err(|_| PayError::Damaged)?;
        let payer = signed.recover_signer().map_err(|_| PayError::Damaged)?;
        let is_as_said = signed.tx_hash().0 == *self.tx_hash.as_bytes()
            && signed.chain_id() == Some(self.chain_id.as_u64())
            && signed.to() == Some(address(self.token))
            && payer == address(self.payer)
            && self.is_call(signed.input());
        if is_as_said {
            Ok(raw)
        } else {
            Err(PayError::Damaged)
        }
    }

    /// Whether these bytes call the token for what the other members say.
    fn is_call(&self, input: &[u8]) -> bool {
        let payee = address(self.transfer.payee);
        let value = U256::from(self.transfer.amount.as_micro_usdc());
        match &self.authorization {
            None => transferCall::abi_decode(input)
                .is_ok_and(|call| call.to == payee && call.value == value),
            Some(authorization) => {
                transferWithAuthorizationCall::abi_decode(input).is_ok_and(|call| {
                    call.from == address(self.payer)
                        && call.to == payee
                        && call.value == value
                        && call.validBefore == U256::from(authorization.valid_before_s)
                        && call.nonce.0 == *authorization.nonce.as_bytes()
                })
            }
        }
    }
}

async fn sign_transaction(
    key: &WalletKey,
    request: TransactionRequest,
) -> Result<TxEnvelope, PayError> {
    let secret = B256::from(*key.secret_bytes());
    let signer = PrivateKeySigner::from_bytes(&secret).map_err(|_| PayError::Unsigned)?;
    let wallet = EthereumWallet::from(signer);
    request.build(&wallet).await.map_err(|_| PayError::Unsigned)
}

/// A call of the token; `input` is in the member `data` too, which is the only one that some nodes read.
fn to_token(token: EvmAddress, input: Bytes) -> TransactionRequest {
    TransactionRequest::default()
        .with_to(address(token))
        .input(TransactionInput::both(input))
}

fn address(address: EvmAddress) -> Address {
    Address::from(*address.as_bytes())
}

/// The innermost cause: reqwest's own text only says that a request failed.
fn innermost(error: &RpcError<TransportErrorKind>) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// Endpoints carry keys in their addresses; no error shows one.
fn without_urls(text: &str) -> String {
    let words = text.split(' ').map(|word| match word.contains("://") {
        true => "(endpoint)",
        false => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
