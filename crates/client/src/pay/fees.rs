//! Raising the fees of a transfer that the network no longer includes.

use alloy::consensus::{Transaction as _, TxEnvelope};
use alloy::eips::eip2718::{Decodable2718, Encodable2718};
use alloy::network::TransactionBuilder;
use alloy::primitives::U256;
use alloy::providers::Provider;
use alloy::rpc::types::TransactionRequest;
use x811_protocol::evm::TxHash;

use super::{PayClient, PayError, SignedTransfer, address, sign_transaction, to_token};
use crate::wallet::WalletKey;

/// The most that the gas of a transfer with raised fees may cost, in wei: 0.001 ETH.
const MAX_GAS_COST_WEI: u128 = 1_000_000_000_000_000;

/// The fees of a transaction (EIP-1559), in wei for each unit of gas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fees {
    max_fee_wei: u128,
    priority_fee_wei: u128,
}

impl PayClient {
    /// The same transfer with higher fees, if the network asks for more than the signed fees and the
    /// payer can afford them; `None` otherwise. Both have the same account nonce and the same
    /// authorization, so at most one of them pays. Nothing is sent.
    ///
    /// # Errors
    /// [`PayError::FeesTooHigh`] when its gas could cost more than 0.001 ETH; [`PayError`].
    pub async fn raise_fees(
        &self,
        key: &WalletKey,
        signed: &SignedTransfer,
    ) -> Result<Option<SignedTransfer>, PayError> {
        if key.address() != signed.payer {
            return Ok(None);
        }
        let raw = signed.checked_raw()?;
        let transaction =
            TxEnvelope::decode_2718(&mut raw.as_slice()).map_err(|_| PayError::Damaged)?;
        let signed_fees = Fees {
            max_fee_wei: transaction.max_fee_per_gas(),
            priority_fee_wei: transaction.max_priority_fee_per_gas().unwrap_or_default(),
        };
        let base_fee_wei = self.base_fee_wei().await?;
        let Some(fees) = raised(signed_fees, base_fee_wei, self.fees().await?) else {
            return Ok(None);
        };
        let gas_limit = transaction.gas_limit();
        let cost_wei = fees.max_fee_wei.saturating_mul(u128::from(gas_limit));
        if cost_wei > MAX_GAS_COST_WEI {
            return Err(PayError::FeesTooHigh {
                cost_wei,
                limit_wei: MAX_GAS_COST_WEI,
            });
        }
        let has = self.provider.get_balance(address(signed.payer)).await;
        if has.map_err(|error| self.failed(&error))? < U256::from(cost_wei) {
            // It could not be sent, and would be kept in place of one that can.
            return Ok(None);
        }
        let request = to_token(self.token, transaction.input().clone())
            .with_chain_id(self.chain_id.as_u64())
            .with_nonce(transaction.nonce())
            .with_gas_limit(gas_limit);
        let replacement = sign_transaction(key, with_fees(request, fees)).await?;
        let mut replaced = signed.replaced.clone();
        replaced.push(signed.tx_hash);
        Ok(Some(SignedTransfer {
            tx_hash: TxHash::from_bytes(replacement.tx_hash().0),
            raw: format!("0x{}", hex::encode(replacement.encoded_2718())),
            replaced,
            ..signed.clone()
        }))
    }

    /// Adds the fees that the network asks for to a request.
    pub(super) async fn with_fees_of_now(
        &self,
        request: TransactionRequest,
    ) -> Result<TransactionRequest, PayError> {
        Ok(with_fees(request, self.fees().await?))
    }

    async fn fees(&self) -> Result<Fees, PayError> {
        let fees = self.provider.estimate_eip1559_fees().await;
        let fees = fees.map_err(|error| self.failed(&error))?;
        Ok(Fees {
            max_fee_wei: fees.max_fee_per_gas,
            priority_fee_wei: fees.max_priority_fee_per_gas,
        })
    }

    async fn base_fee_wei(&self) -> Result<u128, PayError> {
        let base_fee_wei = self.latest_block().await?.header.base_fee_per_gas;
        Ok(base_fee_wei.unwrap_or_default().into())
    }
}

fn with_fees(request: TransactionRequest, fees: Fees) -> TransactionRequest {
    request
        .with_max_fee_per_gas(fees.max_fee_wei)
        .with_max_priority_fee_per_gas(fees.priority_fee_wei)
}

/// The fees of a replacement; `None` where the signed ones are enough. Nodes take a replacement whose
/// fees are both at least a tenth higher.
fn raised(signed: Fees, base_fee_wei: u128, asked: Fees) -> Option<Fees> {
    let needed_wei = base_fee_wei.saturating_add(asked.priority_fee_wei);
    let is_enough = signed.max_fee_wei >= needed_wei
        && signed.priority_fee_wei.saturating_mul(2) >= asked.priority_fee_wei;
    let an_eighth_more = |fee_wei: u128| fee_wei.saturating_add(fee_wei / 8).saturating_add(1);
    (!is_enough).then(|| Fees {
        max_fee_wei: asked.max_fee_wei.max(an_eighth_more(signed.max_fee_wei)),
        priority_fee_wei: asked
            .priority_fee_wei
            .max(an_eighth_more(signed.priority_fee_wei)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fees(max_fee_wei: u128, priority_fee_wei: u128) -> Fees {
        Fees {
            max_fee_wei,
            priority_fee_wei,
        }
    }

    #[test]
    fn ae_064_fees_are_raised_where_the_network_asks_for_more_and_always_by_an_eighth() {
        // signed, base fee, asked, raised
        let table = [
            (fees(201, 1), 100, fees(201, 1), None),
            (fees(201, 1), 200, fees(401, 1), None),
            (fees(201, 1), 201, fees(403, 1), Some(fees(403, 2))),
            (fees(201, 1), 199, fees(401, 2), None),
            (fees(201, 1), 100, fees(203, 3), Some(fees(227, 3))),
            (fees(800, 80), 100, fees(361, 161), Some(fees(901, 161))),
            (fees(0, 0), 7, fees(15, 1), Some(fees(15, 1))),
            (fees(u128::MAX, 1), u128::MAX, fees(u128::MAX, 1), None),
        ];
        for (signed, base_fee_wei, asked, expected) in table {
            let found = raised(signed, base_fee_wei, asked);
            assert_eq!(found, expected, "{signed:?} {base_fee_wei} {asked:?}");
        }
    }
}
