//! What agents can do, as they say it themselves (capability.md).
//!
//! | file | what it decides |
//! |---|---|
//! | [`kinds`] | categories, types, availability |
//! | [`version`] | versions, ranges of them, and which version two sides use |
//! | [`schema`] | which JSON Schemas are taken |
//! | [`descriptor`] | the machine of one agent's descriptor: revision by revision |
//!
//! Sources: capability.md, machines.md, CC-63 to CC-75, CC-89 to CC-92.

pub mod descriptor;
pub mod kinds;
pub mod schema;
pub mod version;
