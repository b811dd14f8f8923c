//! Pages of a log on their way: each is examined on one core, several at the same time, and they are
//! settled in their order on the thread that runs the audit, which examines too while it waits. No
//! core waits for the end of a page that another one works at.
//!
//! In memory are a page for each core and two more, and what the source has read ahead.

use std::collections::VecDeque;
use std::sync::mpsc;

use x811_protocol::payload::PayloadRules;

use crate::record::examine::Whole;
use crate::record::signature;

/// Most items of a page: many, as a signature is cheaper to verify the more there are beside it.
pub const ITEMS: usize = 1_024;

/// Bytes at which a page is full, so that large bodies do not add up.
pub const BYTES: usize = 4 << 20;

/// Pages examined, or waiting for that or to be settled, besides one for each core.
const MORE_THAN_CORES: usize = 2;

/// What audits a log item by item.
pub trait Audit {
    /// As the source has it.
    type Item: Send + 'static;
    /// With what was found of it alone.
    type Examined: Item + 'static;

    /// Rules that are likely to be in force for what comes next.
    fn rules(&self) -> Option<PayloadRules>;

    /// Examines a page, all but its signatures, on any thread.
    fn examine(page: Vec<Self::Item>, rules: Option<PayloadRules>) -> Vec<Self::Examined>;

    /// Takes the next item.
    fn settle(&mut self, item: Self::Examined);

    /// Everything of a page has been taken.
    fn page_settled(&mut self) {}
}

/// An item that has been examined.
pub trait Item: Send {
    /// The readable record in it, if it is one.
    fn whole_mut(&mut self) -> Option<&mut Whole>;
}

/// What a source has.
pub enum Next<I> {
    /// The next page.
    Page(Vec<I>),
    /// It has not been read yet.
    Later,
    /// There is nothing more.
    End,
}

/// Audits everything that `next` gives, which may wait where it is told so.
pub fn run<A: Audit, E>(
    audit: &mut A,
    mut next: impl FnMut(bool) -> Result<Next<A::Item>, E>,
) -> Result<(), E> {
    let most = rayon::current_num_threads() + MORE_THAN_CORES;
    let (mut on_their_way, mut is_over) = (VecDeque::new(), false);
    loop {
        while !is_over && on_their_way.len() < most {
            match next(on_their_way.is_empty())? {
                Next::Page(page) => on_their_way.push_back(begin::<A>(page, audit.rules())),
                Next::Later => break,
                Next::End => is_over = true,
            }
        }
        match on_their_way.pop_front() {
            Some(first) => {
                let page = finished(&first);
                page.into_iter().for_each(|item| audit.settle(item));
                audit.page_settled();
            }
            None if is_over => return Ok(()),
            None => {}
        }
    }
}

/// Has a page examined, the oldest before the others.
fn begin<A: Audit>(
    page: Vec<A::Item>,
    rules: Option<PayloadRules>,
) -> mpsc::Receiver<Vec<A::Examined>> {
    let (done, examined) = mpsc::sync_channel(1);
    rayon::spawn_fifo(move || {
        let mut page = A::examine(page, rules);
        check_signatures(&mut page);
        // Nobody waits for it where reading failed.
        let _ = done.send(page);
    });
    examined
}

/// Checks the signatures of items that have been examined.
pub(crate) fn check_signatures<E: Item>(examined: &mut [E]) {
    let wholes = examined.iter_mut().filter_map(Item::whole_mut);
    signature::check_all(wholes.collect());
}

/// A page once it is examined; what else waits for a core is done meanwhile.
fn finished<E>(examined: &mpsc::Receiver<Vec<E>>) -> Vec<E> {
    loop {
        if let Ok(page) = examined.try_recv() {
            return page;
        }
        if rayon::yield_now() != Some(rayon::Yield::Executed) {
            #[expect(
                clippy::expect_used,
                reason = "a defect, which must not pass for a page"
            )]
            return examined.recv().expect("a page is only lost by a panic");
        }
    }
}
