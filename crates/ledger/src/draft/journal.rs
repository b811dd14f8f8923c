//! One subject's stream in a draft: what its machine decides is sealed, applied and kept.

use super::BatchDraft;
use std::sync::Arc;
use x811_protocol::event::Event;
use x811_protocol::machine::Journal;
use x811_protocol::stream::Stream;
use x811_protocol::time::TimestampMs;
use x811_world::{Fault, Findable};

/// One subject's stream in a draft.
pub(crate) struct SubjectJournal<'a, M: Findable> {
    draft: &'a mut BatchDraft,
    id: M::Id,
    now: TimestampMs,
    /// Body of the envelope being decided.
    body: Option<&'a Arc<[u8]>>,
    /// True once it has recorded something: then the last record may have ended the subject.
    has_recorded: bool,
}

impl<'a, M: Findable> SubjectJournal<'a, M> {
    pub(crate) fn open(
        draft: &'a mut BatchDraft,
        id: M::Id,
        body: Option<&'a Arc<[u8]>>,
        now: TimestampMs,
    ) -> SubjectJournal<'a, M> {
        SubjectJournal {
            draft,
            id,
            now,
            body,
            has_recorded: false,
        }
    }
}

impl<M: Findable> Journal<M> for SubjectJournal<'_, M> {
    type Fault = Fault;

    fn state(&self) -> Option<&M::State> {
        let world = self.draft.world();
        if self.has_recorded {
            M::latest(world, self.id)
        } else {
            M::state(world, self.id)
        }
    }

    fn record(&mut self, event: Event) -> Result<u64, Fault> {
        let body = self.body.filter(|_| event.envelope().is_some());
        let stream = Stream::Of(M::subject(self.id));
        let appended = self.draft.append(&stream, event, body, self.now)?;
        self.has_recorded = true;
        Ok(appended.position)
    }
}
