//! What a decision of each machine may look at, taken from the world and held so that the machine's `Context`
//! can borrow it. A turn and an audit of the log ask for the same.

pub mod contract;
pub mod descriptor;
pub mod interaction;
pub mod round;
pub mod session;
