//! The messages of `x811.registry/` (ledger-contract.md section 4). One file per payload.
//!
//! All of them go to the ledger's DID, so that none is good for another ledger.

mod register;
mod rotate;
mod status;
mod update;

pub use register::Registration;
pub use rotate::Rotation;
pub use status::StatusChange;
pub use update::{Entry, Update};

use serde_json::{Value, json};
use x811_protocol::did::Did;
use x811_protocol::wallet::Wallet;

use super::ComposeError;
use crate::identity::Identity;

/// The type of a service that [`DidDocument::build`] writes.
///
/// [`DidDocument::build`]: x811_protocol::document::DidDocument::build
const SERVICE_TYPE: &str = "X811AgentService";

/// Where a DID document says that its agent can be reached.
pub fn service_endpoint(document: &Value) -> Option<&str> {
    let services = document.get("service")?.as_array()?;
    let is_agents = |service: &&Value| service["type"] == SERVICE_TYPE;
    services.iter().find(is_agents)?["serviceEndpoint"].as_str()
}

/// The identity's own account, if it has one, bound to its DID on that ledger.
fn bound_wallets(identity: &Identity, ledger: Did) -> Result<Vec<Wallet>, ComposeError> {
    let wallet = identity.wallet_key.as_ref();
    let wallet = wallet
        .map(|key| key.bind(identity.did, ledger))
        .transpose()?;
    Ok(wallet.into_iter().collect())
}

/// On the wire an address carries its checksum (AX-15).
fn wallet_members(wallets: &[Wallet]) -> Vec<Value> {
    let member = |wallet: &Wallet| {
        json!({
            "address": wallet.address.to_checksum(),
            "kind": wallet.kind,
            "proof": wallet.proof,
        })
    };
    wallets.iter().map(member).collect()
}

#[cfg(test)]
mod tests;
