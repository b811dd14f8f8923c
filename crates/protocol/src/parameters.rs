//! The configuration that decisions depend on. It is an event, so that replay reads nothing but the
//! log; an interaction keeps the parameters it was opened under.
//!
//! Source: record.md section 2; defaults from AE-98, AE-104, ledger-contract.md sections 3 and 5.

mod block_version;
mod capabilities;
mod rounds;

pub use block_version::BlockVersion;
pub use capabilities::{Capabilities, Exclusion};
pub use rounds::{Anomalies, CycleRule, LeaderPolicy, Leaders, Rounds};

use crate::evm::{ChainId, EvmAddress};
use crate::money::MicroUsdc;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::sync::Arc;

/// Everything that decides, at one moment.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// How long each message may be waited for.
    pub windows: Windows,
    /// Time between one look for a payment and the next, after the confirmation window.
    pub looks_ms: [u64; 4],
    /// Where payments may be made.
    pub networks: Vec<Network>,
    /// Whether a payer must be a wallet bound to the initiator.
    pub payer_binding: PayerBindingRule,
    /// Limits that decide.
    pub limits: Limits,
    /// Checks that are relaxed, by name.
    pub lenient: Vec<Leniency>,
    /// Negotiations of contracts; absent: none are opened.
    pub contracts: Option<Contracts>,
    /// Descriptors of capabilities, sessions and agreements; absent: none are taken.
    pub capabilities: Option<Capabilities>,
    /// Rounds in which agents decide together; absent: none are opened.
    #[serde(default, with = "rounds::block")]
    pub rounds: Option<Arc<Rounds>>,
}

/// What negotiations of contracts are held to (contract.md, "Parameters").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ContractsInForce))]
pub struct Contracts {
    /// How long an agreed contract waits for its REQUEST.
    pub engagement_ms: u64,
    /// The longest time from now to `expires_at`.
    pub max_life_ms: u64,
    /// The most turns; the offer is the first.
    pub max_turns: u64,
    /// The shortest time from now to `expires_at`.
    pub min_life_ms: u64,
    /// Most negotiations one initiator may have open with one responder.
    #[serde(default = "no_limit")]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub open_per_pair: u64,
    /// Most negotiations an initiator may have open.
    #[serde(default = "no_limit")]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub open_per_initiator: u64,
}

impl Contracts {
    /// The defaults of contract.md.
    pub const DEFAULT: Contracts = Contracts {
        engagement_ms: 86_400_000,
        max_life_ms: 86_400_000,
        max_turns: 20,
        min_life_ms: 5_000,
        open_per_pair: 20,
        open_per_initiator: 200,
    };
}

impl Parameters {
    /// The network of that name, if payments may be made there.
    pub fn network(&self, name: &str) -> Option<&Network> {
        self.networks.iter().find(|network| network.name == name)
    }

    /// What of the networks must not be so: all of it, in their order. Logs of older versions may
    /// have it, so that this is asked when parameters are set and never when they are read.
    pub fn unfit(&self) -> Vec<UnfitNetwork> {
        let mut unfit = Vec::new();
        for (index, network) in self.networks.iter().enumerate() {
            let earlier = &self.networks[..index];
            if earlier.iter().any(|known| known.name == network.name) {
                let name = network.name.clone();
                unfit.push(UnfitNetwork::SameName { name });
            } else if earlier
                .iter()
                .any(|known| known.chain_id == network.chain_id)
            {
                let chain_id = network.chain_id;
                unfit.push(UnfitNetwork::SameChain { chain_id });
            }
            if network.confirmed_depth == 0 {
                let name = network.name.clone();
                unfit.push(UnfitNetwork::NoDepth { name });
            }
            if network
                .endpoint_quorum
                .is_some_and(|quorum| !(1..=2).contains(&quorum))
            {
                let name = network.name.clone();
                unfit.push(UnfitNetwork::Quorum { name });
            }
            if network.final_by == Some(FinalBy::Depth) && network.chain_id.is_base() {
                let name = network.name.clone();
                unfit.push(UnfitNetwork::FinalByDepth { name });
            }
        }
        unfit
    }

    /// Names that stand for another chain or token than in `former`. An interaction that was opened
    /// under those has its payments looked for where they are not.
    pub fn moved_since<'a>(&'a self, former: &'a Parameters) -> impl Iterator<Item = &'a str> {
        let networks = self.networks.iter();
        let moved = networks.filter(|network| {
            let former = former.network(&network.name);
            former.is_some_and(|former| {
                (former.chain_id, former.token) != (network.chain_id, network.token)
            })
        });
        moved.map(|network| network.name.as_str())
    }

    /// Whether `leniency` is switched on.
    pub fn is_lenient(&self, leniency: Leniency) -> bool {
        self.lenient.contains(&leniency)
    }
}

/// A network that no payment should be decided by (ledger-contract.md section 9).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnfitNetwork {
    /// A PAYMENT could not say which it means.
    #[error("two networks are called {name}: give each a name of its own")]
    SameName {
        /// The name that both networks have.
        name: String,
    },
    /// A claim is bound by chain id, transaction and ordinal: with two tokens of one chain, a
    /// transfer of the one would use up one of the other.
    #[error("two networks have the chain id {chain_id}: leave one of them out")]
    SameChain {
        /// The chain id.
        chain_id: ChainId,
    },
    /// What is in no block yet would be confirmed.
    #[error(
        "the confirmed depth of {name} is 0; a transfer counts from its own block on: give 1 or more"
    )]
    NoDepth {
        /// The network's name.
        name: String,
    },
    /// No endpoint at all would have to say so, or more than are ever asked.
    #[error("the endpoint quorum of {name} is neither 1 nor 2: give one of them")]
    Quorum {
        /// The network's name.
        name: String,
    },
    /// Nodes of Base name final heads, so depth would only be a guess.
    #[error(
        "blocks of {name} are final by depth, and nodes of Base name `finalized` heads: write final_by = \
         \"tag\""
    )]
    FinalByDepth {
        /// The network's name.
        name: String,
    },
}

/// The six windows of AE-98, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = WindowsInForce))]
pub struct Windows {
    /// REQUEST to OFFER.
    pub offer_ms: u64,
    /// OFFER to ACCEPT or REJECT.
    pub accept_ms: u64,
    /// ACCEPT to RESULT.
    pub result_ms: u64,
    /// RESULT to VERIFY.
    pub verify_ms: u64,
    /// VERIFY to PAYMENT.
    pub payment_ms: u64,
    /// PAYMENT to confirmation on Base.
    pub confirmation_ms: u64,
}

impl Windows {
    /// The windows of the specification (AE-98).
    pub const AEEP: Windows = Windows {
        offer_ms: 60_000,
        accept_ms: 300_000,
        result_ms: 3_600_000,
        verify_ms: 30_000,
        payment_ms: 60_000,
        confirmation_ms: 30_000,
    };
}

/// The looks of the specification (AE-104): 5, 15, 60 and 300 s apart.
pub const AEEP_LOOKS_MS: [u64; 4] = [5_000, 15_000, 60_000, 300_000];

/// A network that payments may be made on.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// The name a PAYMENT uses, at most 32 characters.
    pub name: String,
    /// EIP-155 chain id.
    pub chain_id: ChainId,
    /// The USDC contract.
    pub token: EvmAddress,
    /// Where protocol fees may go; absent when fees go to the payee.
    pub treasury: Option<EvmAddress>,
    /// Blocks, the transfer's own included, at which a transfer counts as confirmed.
    pub confirmed_depth: u64,
    /// Endpoints, 1 or 2, that must agree before anything is concluded; absent where
    /// the log does not say how many had to.
    pub endpoint_quorum: Option<u64>,
    /// Totals above this wait for level *safe*.
    pub safe_above: Option<MicroUsdc>,
    /// Condition for *safe* and *final* blocks. Absent in earlier logs: there named heads counted, or depth while no
    /// endpoint named a head, which a temporary refusal could bring about.
    pub final_by: Option<FinalBy>,
    /// A head younger than this is fresh.
    pub fresh_ms: u64,
    /// Without a head younger than this the ledger is blind.
    pub blind_after_ms: u64,
    /// How long after a dispute a late transfer is still recorded.
    pub late_ms: u64,
}

/// Condition for *safe* and *final* blocks (ledger-contract.md section 5, "Depth").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum FinalBy {
    /// `safe` and `finalized` heads that endpoints name. Without them no block is *safe* or *final*.
    Tag,
    /// Depth of [`STAND_IN_BLOCKS`] above level *confirmed*. Named heads do not count.
    ///
    /// [`STAND_IN_BLOCKS`]: crate::settlement::level::STAND_IN_BLOCKS
    Depth,
}

/// Whether a PAYMENT's payer must be bound to the initiator (ledger-contract.md section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum PayerBindingRule {
    /// The payer must be a wallet bound to the initiator's DID.
    Wallet,
    /// The payer is taken as stated. Anyone can then claim a stranger's transfer: tests only.
    Unchecked,
}

/// Limits that decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Largest envelope, in bytes (AX-41).
    pub envelope_bytes: u64,
    /// Largest inline result content, in bytes (AX-41).
    pub inline_content_bytes: u64,
    /// How far `created` may be from the ledger's clock (AE-89).
    pub clock_tolerance_ms: u64,
    /// How long a nonce stays spent (AX-27).
    pub nonce_window_ms: u64,
    /// Least life an OFFER must have left when it arrives (ledger-contract.md section 3).
    pub offer_min_live_ms: u64,
    /// Most transaction hashes an interaction may declare (ledger-contract.md section 5).
    pub hashes_per_interaction: u64,
    /// When a look finds a transfer that is not deep enough, the time until it looks again.
    pub pending_look_ms: u64,
    /// Most interactions an initiator may have open (ledger-contract.md section 3).
    #[serde(default = "no_limit")]
    pub open_per_initiator: u64,
    /// Most interactions one initiator may have open with one provider.
    #[serde(default = "no_limit")]
    pub open_per_pair: u64,
    /// Most bytes of bodies accepted from one DID in a day of UTC.
    #[serde(default = "no_limit")]
    pub body_bytes_per_day: u64,
    /// Most nonces of one DID's refused and repeated messages held in a nonce window; counted
    /// anew after a restart.
    #[serde(default = "no_limit")]
    pub refusals_per_window: u64,
}

/// What an absent limit means: a log from before it existed had none.
fn no_limit() -> u64 {
    (1 << 53) - 1
}

impl Limits {
    /// The defaults of the sources named above.
    pub const DEFAULT: Limits = Limits {
        envelope_bytes: 1_048_576,
        inline_content_bytes: 524_288,
        clock_tolerance_ms: 300_000,
        nonce_window_ms: 900_000,
        offer_min_live_ms: 5_000,
        hashes_per_interaction: 8,
        pending_look_ms: 60_000,
        open_per_initiator: 1_000,
        open_per_pair: 100,
        body_bytes_per_day: 1_073_741_824,
        refusals_per_window: 20_000,
    };
}

/// A check that an operator may relax for interoperability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leniency {
    /// Any RFC 9562 UUID as envelope id and nonce (AX-25).
    Uuids,
    /// Addresses without an EIP-55 checksum (AX-15).
    Addresses,
    /// What the published TypeScript SDK signs otherwise than AEEP has it: its registration, nonces of
    /// 32 hex digits, the REQUEST's id in place of the OFFER's, and amounts as it writes them
    /// (decision 0190).
    ReferenceSdk,
}
