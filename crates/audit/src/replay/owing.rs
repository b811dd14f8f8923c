//! Notices that parties are owed.

use std::collections::BTreeMap;

use x811_protocol::event::Event;
use x811_protocol::time::TimestampMs;
use x811_world::World;

/// When records were made whose notices are still owed, by their positions, and how many are.
#[derive(Debug, Clone, Default)]
pub(crate) struct Owing(BTreeMap<u64, (TimestampMs, u64)>);

impl Owing {
    /// Takes a record that was applied; `world` is the state after it.
    pub(crate) fn note(&mut self, world: &World, position: u64, at: TimestampMs, event: &Event) {
        let owed = world.owed_since(position).count() as u64;
        if owed > 0 {
            self.0.insert(position, (at, owed));
        }
        if let Event::NoticeIssued(notice) = event
            && let Some((_, left)) = self.0.get_mut(&notice.cause)
        {
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.0.remove(&notice.cause);
            }
        }
    }

    /// How many are owed for causes recorded before `moment`, and the position of the first.
    pub(crate) fn before(&self, moment: TimestampMs) -> (u64, u64) {
        let mut late = self.0.iter().filter(|(_, (at, _))| *at < moment);
        let (mut count, mut first) = (0, 0);
        if let Some((cause, (_, owed))) = late.next() {
            (count, first) = (*owed, *cause);
        }
        (
            late.fold(count, |count, (_, (_, owed))| count + owed),
            first,
        )
    }

    /// When the record at that position was made, where notices of it are owed.
    pub(crate) fn since(&self, cause: u64) -> Option<TimestampMs> {
        self.0.get(&cause).map(|(at, _)| *at)
    }
}
