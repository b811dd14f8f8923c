//! What a record about payments is held against.

use x811_protocol::interaction::Deal;
use x811_protocol::observation::Transfer;
use x811_protocol::settlement::{Bill, Declared};

use crate::replay::decided::Decided;

/// Fewer transfers than this in evidence are all there are that fit: 64 shared among at most eight
/// declared transactions.
pub(crate) const TRANSFERS_QUOTED_EACH: usize = 8;

/// Most transfers that a record quotes, shared among the declared transactions.
const TRANSFERS_QUOTED: usize = 64;

/// Whether `transfers` are all that fit, where so many transactions were declared.
pub(crate) fn are_all_quoted(transfers: &[Transfer], declared: usize) -> bool {
    let share = TRANSFERS_QUOTED / declared.max(1);
    transfers.len() < share.min(TRANSFERS_QUOTED_EACH)
}

/// What a record about payments must fit.
#[derive(Clone, Copy)]
pub(crate) struct Grounds<'a> {
    pub(crate) decided: &'a Decided<'a>,
    pub(crate) deal: &'a Deal,
    pub(crate) bill: Bill<'a>,
    /// Every declared transaction, in order of declaration.
    pub(crate) declared: &'a [Declared],
}
