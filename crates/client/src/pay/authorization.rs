//! Paying under an EIP-3009 authorization, so that nobody else can claim the transfer and nothing
//! is paid twice.
//!
//! The wallet signs the authorization and, in this client, also sends it. The token remembers the
//! nonce: asked first, it says whether the interaction has been paid, and its log says by which
//! transaction, even where the file that kept the transfer is lost.

use alloy::eips::BlockId;
use alloy::primitives::{B256, Bytes, U256};
use alloy::providers::Provider;
use alloy::sol;
use alloy::sol_types::{Eip712Domain, SolCall, SolStruct};
use alloy::transports::RpcError;
use serde::{Deserialize, Serialize};
use x811_protocol::digest::Digest;
use x811_protocol::evm::EvmAddress;
use x811_protocol::time::TimestampMs;

use super::{PayClient, PayError, SignedTransfer, Transfer, address, to_token};
use crate::wallet::WalletKey;

sol! {
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
    event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce);

    function name() external view returns (string);
    function version() external view returns (string);
    function DOMAIN_SEPARATOR() external view returns (bytes32);
    function authorizationState(address authorizer, bytes32 nonce) external view returns (bool);
    function transferWithAuthorization(
        address from, address to, uint256 value, uint256 validAfter, uint256 validBefore,
        bytes32 nonce, uint8 v, bytes32 r, bytes32 s
    ) external;

    struct TransferWithAuthorization {
        address from;
        address to;
        uint256 value;
        uint256 validAfter;
        uint256 validBefore;
        bytes32 nonce;
    }
}

/// How long an authorization is good: the money leaves while the ledger still looks for it (410 s
/// after the PAYMENT at most), or it does not leave at all.
const VALID_FOR_S: u64 = 900;

/// The code that JSON-RPC endpoints give a reverted call.
const REVERTED: i64 = 3;

/// What a transfer was authorised with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authorization {
    /// What it pays (see [`x811_protocol::authorization`]).
    pub nonce: Digest,
    /// The token takes it in blocks before this time, in seconds since 1970.
    pub valid_before_s: u64,
}

/// The EIP-712 domain of a token, which its own separator has confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenDomain(Eip712Domain);

impl PayClient {
    /// The domain that authorizations for this token are signed for, made of what the token says
    /// and held against its own separator.
    ///
    /// # Errors
    /// [`PayError::NoAuthorizations`] when the token has no such thing; [`PayError`].
    pub async fn token_domain(&self) -> Result<TokenDomain, PayError> {
        let no = |why| PayError::NoAuthorizations {
            token: self.token,
            why,
        };
        let unused = self.is_spent(EvmAddress::ZERO, Digest::ZERO, BlockId::latest());
        let known = unused.await?;
        known.ok_or(no("it has no authorizationState"))?;
        let name = self.ask(&nameCall {}).await?.ok_or(no("it has no name"))?;
        let version = self.ask(&versionCall {}).await?;
        let version = version.ok_or(no("it has no version"))?;
        let separator = self.ask(&DOMAIN_SEPARATORCall {}).await?;
        let separator = separator.ok_or(no("it has no DOMAIN_SEPARATOR"))?;
        let domain = Eip712Domain::new(
            Some(name.into()),
            Some(version.into()),
            Some(U256::from(self.chain_id.as_u64())),
            Some(address(self.token)),
            None,
        );
        if domain.separator() == separator {
            Ok(TokenDomain(domain))
        } else {
            Err(no("its DOMAIN_SEPARATOR is not the standard one"))
        }
    }

    /// Signs a transfer under an authorization with this nonce, and the transaction that makes it.
    /// It is good for a quarter of an hour. Nothing is sent.
    ///
    /// # Errors
    /// As [`PayClient::sign`].
    pub async fn sign_authorized(
        &self,
        key: &WalletKey,
        transfer: Transfer,
        domain: &TokenDomain,
        nonce: Digest,
        now: TimestampMs,
    ) -> Result<SignedTransfer, PayError> {
        let authorization = Authorization {
            nonce,
            valid_before_s: self.latest_time_s(now).await?.saturating_add(VALID_FOR_S),
        };
        let call = authorized_call(key, transfer, domain, authorization)?;
        let input = Bytes::from(call.abi_encode());
        self.sign_call(key, transfer, Some(authorization), input)
            .await
    }

    /// The later of the newest block's time and ours: a chain that stood still goes on at our time.
    async fn latest_time_s(&self, now: TimestampMs) -> Result<u64, PayError> {
        let block_time_s = self.latest_block().await?.header.timestamp;
        Ok(block_time_s.max(now.as_ms() / 1_000))
    }

    /// Whether a nonce is used or cancelled as of `block`; `None` when the token knows no nonces.
    pub(super) async fn is_spent(
        &self,
        payer: EvmAddress,
        nonce: Digest,
        block: BlockId,
    ) -> Result<Option<bool>, PayError> {
        let call = authorizationStateCall {
            authorizer: address(payer),
            nonce: B256::from(*nonce.as_bytes()),
        };
        self.ask_at(&call, block).await
    }

    /// The token's answer to a read-only call in the newest block; `None` when the token has no such
    /// function, or another one of that name.
    pub(super) async fn ask<C: SolCall>(&self, call: &C) -> Result<Option<C::Return>, PayError> {
        self.ask_at(call, BlockId::latest()).await
    }

    async fn ask_at<C: SolCall>(
        &self,
        call: &C,
        block: BlockId,
    ) -> Result<Option<C::Return>, PayError> {
        let request = to_token(self.token, Bytes::from(call.abi_encode()));
        match self.provider.call(request).block(block).await {
            // A contract is there: a node that lags or does not read the call answers so.
            Ok(answer) if answer.is_empty() => Err(PayError::Refused {
                endpoint: self.endpoint.clone(),
                cause: "an empty answer to a call of the token".to_owned(),
            }),
            Ok(answer) => Ok(C::abi_decode_returns(&answer).ok()),
            Err(RpcError::ErrorResp(payload))
                if payload.code == REVERTED || payload.message.contains("revert") =>
            {
                Ok(None)
            }
            Err(error) => Err(self.failed(&error)),
        }
    }
}

fn authorized_call(
    key: &WalletKey,
    transfer: Transfer,
    domain: &TokenDomain,
    authorization: Authorization,
) -> Result<transferWithAuthorizationCall, PayError> {
    let message = TransferWithAuthorization {
        from: address(key.address()),
        to: address(transfer.payee),
        value: U256::from(transfer.amount.as_micro_usdc()),
        validAfter: U256::ZERO,
        validBefore: U256::from(authorization.valid_before_s),
        nonce: B256::from(*authorization.nonce.as_bytes()),
    };
    let digest = message.eip712_signing_hash(&domain.0);
    let signature = key.sign_hash(&digest.0).map_err(|_| PayError::Unsigned)?;
    Ok(transferWithAuthorizationCall {
        from: message.from,
        to: message.to,
        value: message.value,
        validAfter: message.validAfter,
        validBefore: message.validBefore,
        nonce: message.nonce,
        v: signature[64],
        r: B256::from_slice(&signature[..32]),
        s: B256::from_slice(&signature[32..64]),
    })
}

#[cfg(test)]
mod tests;
