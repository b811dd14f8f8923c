//! Payments, from their evidence.

pub(crate) mod aftermath;
pub(crate) mod authorization;
pub(crate) mod evidence;
pub(crate) mod grounds;
pub(crate) mod listing;
pub(crate) mod looks;
pub(crate) mod payments;
pub(crate) mod settlement;
pub(crate) mod short;
