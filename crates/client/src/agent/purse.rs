//! Transfers of a loop: always under the EIP-3009 nonce of their interaction, so that whatever is
//! lost, signed again or sent again pays once.

use serde_json::Value;
use tokio::sync::OnceCell;
use x811_protocol::time::TimestampMs;

use super::money::Transfer;
use super::world::{Arrival, Due, PayFault};
use crate::http::NetworkInfo;
use crate::pay::{self, NonceUse, Outcome, PayClient, PayError, SignedTransfer};
use crate::wallet::WalletKey;

/// An endpoint of the network that is paid on, connected when it is first needed.
pub(crate) struct Purse {
    rpc_url: String,
    network: NetworkInfo,
    client: OnceCell<PayClient>,
}

impl Purse {
    pub(crate) fn new(rpc_url: String, network: NetworkInfo) -> Purse {
        Purse {
            rpc_url,
            network,
            client: OnceCell::new(),
        }
    }

    async fn client(&self) -> Result<&PayClient, PayError> {
        let connect = || {
            let (chain_id, token) = (self.network.chain_id, self.network.token);
            PayClient::connect(&self.rpc_url, chain_id, token)
        };
        self.client.get_or_try_init(connect).await
    }

    /// The transfer that was made under the nonce, if the token says that one was, else a new one.
    pub(crate) async fn sign(
        &self,
        key: &WalletKey,
        due: &Due,
        now: TimestampMs,
    ) -> Result<Transfer, PayFault> {
        let client = self.client().await.map_err(fault)?;
        let domain = client.token_domain().await.map_err(fault)?;
        let used = client.nonce_use(key.address(), due.nonce).await;
        let transfer = pay::Transfer {
            payee: due.payee,
            amount: due.total,
        };
        let (tx_hash, signed) = match used.map_err(fault)? {
            NonceUse::Used { tx_hash, .. } => (tx_hash, None),
            NonceUse::Unused => {
                let signed = client.sign_authorized(key, transfer, &domain, due.nonce, now);
                let signed = signed.await.map_err(fault)?;
                let value = written(&signed)?;
                (signed.tx_hash, Some(value))
            }
        };
        Ok(Transfer {
            tx_hash,
            nonce: due.nonce,
            signed,
            may_have_left: false,
            has_arrived: false,
        })
    }

    /// The outcome of a transfer; one that can still pay is sent again, always the same bytes.
    pub(crate) async fn broadcast(&self, transfer: &Transfer) -> Result<Arrival, PayFault> {
        let Some(signed) = read(transfer)? else {
            let tx_hash = transfer.tx_hash;
            return Ok(Arrival::Mined { tx_hash });
        };
        let client = self.client().await.map_err(fault)?;
        match client.outcome(&signed).await.map_err(fault)? {
            Outcome::Paid { tx_hash, .. } => Ok(Arrival::Mined { tx_hash }),
            Outcome::Lost => Ok(Arrival::Lost),
            Outcome::Open => match client.send(&signed).await {
                Err(PayError::Replaced { .. }) => Ok(Arrival::Lost),
                sent => sent.map_err(fault).map(|()| Arrival::Waiting),
            },
        }
    }

    /// The transfer under the same account nonce with the fees of now, where they are higher.
    pub(crate) async fn raise_fees(
        &self,
        key: &WalletKey,
        transfer: &Transfer,
    ) -> Result<Option<Transfer>, PayFault> {
        let Some(signed) = read(transfer)? else {
            return Ok(None);
        };
        let client = self.client().await.map_err(fault)?;
        let Some(raised) = client.raise_fees(key, &signed).await.map_err(fault)? else {
            return Ok(None);
        };
        Ok(Some(Transfer {
            tx_hash: raised.tx_hash,
            signed: Some(written(&raised)?),
            ..transfer.clone()
        }))
    }
}

/// The signed transfer in it; `None` where another one was found under the nonce.
fn read(transfer: &Transfer) -> Result<Option<SignedTransfer>, PayFault> {
    let signed = transfer.signed.clone().map(serde_json::from_value);
    signed.transpose().map_err(|_| fault(PayError::Damaged))
}

fn written(signed: &SignedTransfer) -> Result<Value, PayFault> {
    serde_json::to_value(signed).map_err(|error| PayFault {
        is_passing: false,
        text: error.to_string(),
    })
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "an error is given to be turned into another"
)]
fn fault(error: PayError) -> PayFault {
    // One node behind an address may lag: that it does not know the token, or how a nonce was used, need
    // not last.
    let is_passing = match error {
        PayError::Unreachable { .. }
        | PayError::Refused { .. }
        | PayError::TooPoor { .. }
        | PayError::NoToken { .. }
        | PayError::NoAuthorizations { .. }
        | PayError::SpentUnseen { .. }
        | PayError::FeesTooHigh { .. } => true,
        PayError::Endpoint
        | PayError::OtherChain { .. }
        | PayError::NotUsdc { .. }
        | PayError::Unsigned
        | PayError::Damaged
        | PayError::Replaced { .. }
        | PayError::Cancelled { .. } => false,
    };
    PayFault {
        is_passing,
        text: error.to_string(),
    }
}
