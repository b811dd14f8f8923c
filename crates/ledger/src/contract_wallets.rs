//! Contract wallets (ERC-1271) before their message takes its turn: only a node of the chain can say
//! whether a contract takes a signature for its own, and no node is asked while others wait for
//! their turn.
//!
//! Replaying the log asks nobody: what is recorded was accepted. So an audit calls such a binding
//! *asserted* (record.md section 3).

use crate::port::{ContractProof, ContractVerdict, ContractWallets, ContractsNotAsked};
use crate::sequencer::busy;
use crate::submission::{MessageContent, Submission};
use x811_protocol::code::Code;
use x811_protocol::payload::registry::wallet_refused;
use x811_protocol::refusal::{Kind, Refusal};
use x811_protocol::time::TimestampMs;
use x811_protocol::wallet::{Wallet, WalletKind, binding_hash};
use x811_world::World;
use x811_world::registry;

/// Has every contract wallet that `message` brings judged. One that is not accepted makes the
/// content a refused one, as other proofs that do not hold do. A message that the registry would not
/// take as of `world` is refused without anybody being asked.
///
/// # Errors
/// X811-9001 or X811-9002 when a contract could not be asked. The nonce stays unspent.
pub(crate) async fn judge(
    mut message: Box<Submission>,
    world: &World,
    contracts: &impl ContractWallets,
    now: TimestampMs,
) -> Result<Box<Submission>, Refusal> {
    let Ok(MessageContent::Registry(operation)) = &message.content else {
        return Ok(message);
    };
    let wallets = operation.entry().map_or(&[][..], |entry| &entry.wallets);
    let is_contract = |wallet: &Wallet| wallet.kind == WalletKind::Erc1271;
    if !wallets.iter().any(is_contract) {
        return Ok(message);
    }
    let from = message.header.from;
    let agent = world.agent(from).map(|agent| &**agent);
    let taken = registry::decide(agent, &message.header, operation, now).map(drop);
    let refusal = match taken {
        Err(refusal) => Some(refusal),
        Ok(()) => {
            let proofs = proofs(wallets, &message, world);
            // Boxed, so that all other messages do not carry the room for it along.
            let judged = Box::pin(contracts.judge(&proofs)).await;
            let verdicts = judged.map_err(not_asked)?;
            if verdicts.len() != proofs.len() {
                return Err(not_asked(ContractsNotAsked::NotConfigured));
            }
            let indices = (0..).zip(wallets).filter(|(_, wallet)| is_contract(wallet));
            first_rejected(indices.map(|(index, _)| index), verdicts)
        }
    };
    if let Some(refusal) = refusal {
        message.content = Err(refusal);
    }
    Ok(message)
}

fn proofs(wallets: &[Wallet], message: &Submission, world: &World) -> Vec<ContractProof> {
    let Some(ledger) = world.identity().map(|identity| identity.did) else {
        return Vec::new();
    };
    let proofs = wallets.iter().filter_map(|wallet| {
        Some(ContractProof {
            wallet: wallet.address,
            hash: binding_hash(message.header.from, ledger, wallet.address),
            signature: wallet.contract_proof().ok()?,
        })
    });
    proofs.collect()
}

/// The first wallet whose contract says no.
fn first_rejected(
    indices: impl Iterator<Item = usize>,
    verdicts: Vec<ContractVerdict>,
) -> Option<Refusal> {
    indices
        .zip(verdicts)
        .find_map(|(index, verdict)| match verdict {
            ContractVerdict::Accepted => None,
            ContractVerdict::Rejected { network } => {
                let fault = format!(
                    "on the network {network} no contract at that address takes the proof for its \
                     signature; deploy the wallet on every network of this ledger and sign the \
                     text that names this agent, this ledger and this address, per EIP-191 (an \
                     account with a key is of kind eoa)"
                );
                Some(wallet_refused(index, fault))
            }
        })
}

fn not_asked(why: ContractsNotAsked) -> Refusal {
    match why {
        ContractsNotAsked::Busy => busy(&why.to_string()),
        ContractsNotAsked::Silent { .. } => Refusal::not_now(why.to_string()),
        ContractsNotAsked::NotConfigured => {
            Refusal::new(Code::InternalError, Kind::Internal, why.to_string())
        }
    }
}
