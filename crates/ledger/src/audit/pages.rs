//! Pages of a log on their way: while one is settled in order, the next is examined on all other
//! cores, and the source reads those behind it. Four pages are in memory, never more.

use rayon::prelude::*;

/// Most items of a page.
pub(super) const ITEMS: usize = 512;

/// Bytes at which a page is full, so that large bodies do not add up.
pub(super) const BYTES: usize = 4 << 20;

/// Items that one core takes at a time: few, or the others wait for it at the end of a page.
const AT_A_TIME: usize = 8;

/// Examines the items of a page, in any order, while `settle` takes those of the page before, in
/// their order.
pub(super) fn overlapped<I: Send, E: Send>(
    page: Vec<I>,
    before: Vec<E>,
    examine: impl Fn(I) -> E + Sync + Send,
    settle: impl FnMut(E) + Send,
) -> Vec<E> {
    let (examined, ()) = rayon::join(
        || {
            let items = page.into_par_iter().with_max_len(AT_A_TIME);
            items.map(examine).collect()
        },
        || before.into_iter().for_each(settle),
    );
    examined
}
