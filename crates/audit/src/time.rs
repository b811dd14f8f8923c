//! What time should have caused, and how late it did.

pub(crate) mod downtime;
pub(crate) mod late_lapse;
pub(crate) mod lateness;
pub(crate) mod overdue;
pub(crate) mod signing_order;
