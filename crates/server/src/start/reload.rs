//! RPC endpoints are exchanged while the ledger runs (ledger-contract.md section 5: the way out of a
//! blindness that lasts is the operator's).
//!
//! Nothing else is: what a decision depends on stands in the log, and is read when the ledger starts.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;
use x811_watcher::rpc::EndpointError;

use super::lookout::Eyes;
use super::{Running, StartError, check_endpoints, sources_of};
use crate::config::{EndpointConfig, NetworkConfig, ServerConfig};
use crate::contract_wallets::AskedContracts;
use crate::entropy::{NoEntropy, SystemEntropy};

/// What exchanges the endpoints of a running server.
#[derive(Debug, Clone)]
pub(super) struct Exchange {
    pub(super) network: NetworkConfig,
    /// Endpoints in use.
    pub(super) endpoints: Arc<Mutex<Vec<EndpointConfig>>>,
    pub(super) contracts: Arc<AskedContracts>,
    pub(super) eyes: mpsc::Sender<Eyes>,
}

/// Why the endpoints were not exchanged. The ledger goes on with those that it has.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// More was changed than can be while the ledger runs.
    #[error(
        "only rpc_url, ws_url and label of the network's RPC endpoints can be exchanged while the \
         ledger runs: restart it for the rest"
    )]
    NotEndpointsAlone,
    /// The settings resolve to the endpoints in use.
    #[error(
        "the RPC endpoints are those that the ledger has: an option or a setting in the environment \
         (X811_RPC_URL, X811_RPC_URL_FILE, X811_SECOND_RPC_URL, X811_SECOND_RPC_URL_FILE) wins over the \
         file of --config. Change the address where it is set: a file that a setting names is read \
         again, an option and a variable take a restart"
    )]
    SameEndpoints,
    /// It watches nothing.
    #[error("this process stands by and watches no network: restart it with the new settings")]
    StandsBy,
    /// Nothing could be concluded with so few.
    #[error(
        "{quorum} RPC endpoints must agree, as the log says: keep as many, or set endpoint_quorum = 1 \
         and restart the ledger"
    )]
    TooFew {
        /// How many must agree.
        quorum: usize,
    },
    /// An address cannot be asked.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// No endpoint fits.
    #[error(transparent)]
    Misfit(StartError),
    /// No random numbers.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// The server ends.
    #[error("the ledger is about to end")]
    Ending,
}

impl Running {
    /// Watches through the endpoints of `config` from now on, and asks them for contract wallets. What
    /// is open goes on; nothing is recorded of it.
    ///
    /// # Errors
    /// See [`ReloadError`].
    pub async fn reload(&self, config: &ServerConfig) -> Result<(), ReloadError> {
        let exchange = self.exchange.borrow().clone();
        let exchange = &exchange.ok_or(ReloadError::StandsBy)?;
        let network = &config.network;
        let same = NetworkConfig {
            endpoints: exchange.network.endpoints.clone(),
            ..network.clone()
        };
        if same != exchange.network {
            return Err(ReloadError::NotEndpointsAlone);
        }
        if *exchange
            .endpoints
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            == network.endpoints
        {
            return Err(ReloadError::SameEndpoints);
        }
        let quorum = exchange.network.quorum();
        if network.endpoints.len() < quorum {
            return Err(ReloadError::TooFew { quorum });
        }
        let sources = sources_of(network)?;
        let checked = check_endpoints(&sources, network).await;
        checked.map_err(ReloadError::Misfit)?;
        let eyes = Eyes::of(network, sources, &SystemEntropy::open()?)?;
        exchange.contracts.exchange(&[network])?;
        let sent = exchange.eyes.send(eyes).await;
        sent.map_err(|_| ReloadError::Ending)?;
        let mut current = exchange
            .endpoints
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        current.clone_from(&network.endpoints);
        drop(current);
        let labels: Vec<&str> = network.endpoints.iter().map(|it| &*it.label).collect();
        tracing::info!(network = network.name, endpoints = ?labels, "RPC endpoints were exchanged");
        Ok(())
    }
}
