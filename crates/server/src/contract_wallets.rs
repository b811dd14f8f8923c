//! Asks contract wallets over the RPC endpoints that payments are watched through.
//!
//! A wallet must be taken on every configured network, because a payment may come on any of them.
//! Any stranger can cause these calls with a registration: each has a time limit, and few messages
//! are checked at a time. Those beyond are told to come again; nobody waits in line.

use std::sync::{Arc, PoisonError, RwLock};

use futures_util::future::{join_all, try_join_all};
use tokio::sync::Semaphore;
use x811_ledger::port::{ContractProof, ContractVerdict, ContractWallets, ContractsNotAsked};
use x811_protocol::evm::ChainId;
use x811_watcher::contract_wallet::is_valid_signature;
use x811_watcher::{EndpointError, RpcLimits, RpcSource};

use crate::config::NetworkConfig;

/// Messages whose contract wallets are checked at the same time.
const MOST_CHECKED: usize = 8;

/// What one request may cost. A wallet takes three, one after the other.
const LIMITS: RpcLimits = RpcLimits {
    connect_timeout_ms: 2_000,
    total_timeout_ms: 3_000,
    answer_bytes: 4 * 1024 * 1024,
};

/// The networks that are asked.
#[derive(Debug)]
pub(crate) struct AskedContracts {
    networks: RwLock<Arc<[AskedNetwork]>>,
    places: Semaphore,
}

#[derive(Debug)]
struct AskedNetwork {
    name: String,
    chain_id: ChainId,
    sources: Vec<RpcSource>,
}

impl AskedContracts {
    /// Through the endpoints of `networks`. Nothing is asked yet.
    pub(crate) fn new(networks: &[&NetworkConfig]) -> Result<AskedContracts, EndpointError> {
        Ok(AskedContracts {
            networks: RwLock::new(asked(networks)?),
            places: Semaphore::new(MOST_CHECKED),
        })
    }

    /// Asks through the endpoints of these from now on.
    pub(crate) fn exchange(&self, networks: &[&NetworkConfig]) -> Result<(), EndpointError> {
        let asked = asked(networks)?;
        let networks = self.networks.write();
        *networks.unwrap_or_else(PoisonError::into_inner) = asked;
        Ok(())
    }

    fn networks(&self) -> Arc<[AskedNetwork]> {
        let networks = self.networks.read();
        networks.unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn verdict(
        networks: &[AskedNetwork],
        proof: &ContractProof,
    ) -> Result<ContractVerdict, ContractsNotAsked> {
        let ContractProof {
            wallet,
            hash,
            signature,
        } = proof;
        let asked = networks.iter().map(|network| async move {
            let (sources, chain_id) = (&network.sources, network.chain_id);
            let verdict = is_valid_signature(sources, chain_id, *wallet, *hash, signature).await;
            (&network.name, verdict)
        });
        let answers = join_all(asked).await;
        let no = answers.iter().find(|(_, verdict)| *verdict == Ok(false));
        if let Some((network, _)) = no {
            let network = (*network).clone();
            return Ok(ContractVerdict::Rejected { network });
        }
        for (network, verdict) in answers {
            verdict.map_err(|error| ContractsNotAsked::Silent {
                network: network.clone(),
                detail: error.to_string(),
            })?;
        }
        Ok(ContractVerdict::Accepted)
    }
}

fn asked(networks: &[&NetworkConfig]) -> Result<Arc<[AskedNetwork]>, EndpointError> {
    let networks = networks.iter().map(|network| {
        let endpoints = network.endpoints.iter();
        let sources = endpoints.map(|endpoint| RpcSource::new(endpoint.rpc_url.reveal(), LIMITS));
        Ok(AskedNetwork {
            name: network.name.clone(),
            chain_id: network.chain_id,
            sources: sources.collect::<Result<_, _>>()?,
        })
    });
    networks.collect()
}

impl ContractWallets for AskedContracts {
    async fn judge(
        &self,
        proofs: &[ContractProof],
    ) -> Result<Vec<ContractVerdict>, ContractsNotAsked> {
        let networks = self.networks();
        if networks.is_empty() {
            return Err(ContractsNotAsked::NotConfigured);
        }
        let place = self.places.try_acquire();
        let _place = place.map_err(|_| ContractsNotAsked::Busy)?;
        let judged = try_join_all(proofs.iter().map(|proof| Self::verdict(&networks, proof))).await;
        judged.inspect_err(|error| tracing::warn!(%error, "contract wallets not checked"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn rule_18_few_messages_are_checked_at_a_time_and_without_networks_none() {
        let full = AskedContracts {
            networks: RwLock::new(
                [AskedNetwork {
                    name: "base".to_owned(),
                    chain_id: ChainId::new(8453),
                    sources: Vec::new(),
                }]
                .into(),
            ),
            places: Semaphore::new(0),
        };
        assert_eq!(full.judge(&[]).await, Err(ContractsNotAsked::Busy));
        let none = AskedContracts::new(&[]).unwrap();
        assert_eq!(none.judge(&[]).await, Err(ContractsNotAsked::NotConfigured));
    }
}
