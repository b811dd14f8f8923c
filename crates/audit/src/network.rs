//! What the log says of networks, held to one story.

pub(crate) mod draws;
pub(crate) mod heads;
pub(crate) mod known_heads;
pub(crate) mod observed;
pub(crate) mod on_chain;
pub(crate) mod story;
