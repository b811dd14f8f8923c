//! Blocks that records name.

use crate::observation::Block;

/// A block that a record names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedBlock<'a> {
    /// The block that an event names.
    pub block: Block,
    /// The member of the event that names it.
    pub member: String,
    /// Name of its network.
    pub network: &'a str,
}
