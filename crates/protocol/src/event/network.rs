//! Events of the `network:<name>` streams: whether the ledger sees the chain.

use super::group::event_group;
use crate::observation::{BlindCause, Block};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

event_group! {
    /// Whether the ledger sees a network.
    NetworkEvent {
        /// No fresh head of this network.
        "network_blind" => Blind(NetworkBlind),
        /// A fresh head again.
        "network_sighted" => Sighted(NetworkSighted),
    }
}

/// `network_blind`: nothing is seen of the network, and the clocks of its payments stand still.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkBlind {
    /// Why nothing can be seen.
    pub cause: BlindCause,
    /// The last head that was seen.
    pub head: Option<Block>,
    /// Configured labels of the endpoints that gave no usable answer last, in order.
    pub silent: Vec<String>,
}

/// `network_sighted`: the network is seen again, and the clocks run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkSighted {
    /// The fresh head.
    pub head: Block,
    /// How long nothing was seen, net of downtime.
    pub blind_ms: u64,
}
