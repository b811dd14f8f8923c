//! What agents can do, as they say it themselves (capability.md).
//!
//! | file | what it decides |
//! |---|---|
//! | [`kinds`] | categories, types, availability |
//! | [`version`] | versions, ranges of them, and which version two sides use |
//! | [`schema`] | which JSON Schemas are taken |
//! | [`descriptor`] | the machine of one agent's descriptor: revision by revision |
//! | [`session`] | the machine of a negotiation about a capability |
//! | [`agreement`] | the machine of what both signed |
//! | [`conduct`] | the machine of breaches, and of exclusion from new sessions and rounds |
//!
//! Sources: capability.md, machines.md, CC-63 to CC-92.

pub mod agreement;
pub mod conduct;
pub mod descriptor;
pub mod kinds;
pub mod schema;
pub mod session;
pub mod version;
