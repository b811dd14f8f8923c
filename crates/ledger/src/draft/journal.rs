//! One subject's stream in a draft: what its machine decides is sealed, applied and kept.

use super::BatchDraft;
use std::sync::Arc;
use x811_protocol::event::Event;
use x811_protocol::machine::Journal;
use x811_protocol::refusal::Refusal;
use x811_protocol::stream::Stream;
use x811_protocol::time::TimestampMs;
use x811_world::reading::not_open;
use x811_world::schemas::Schemas;
use x811_world::{AsOf, Fault, HeldMachine};

/// The body of the message that is decided, and the schemas that it may be held to.
#[derive(Clone, Copy)]
pub(crate) struct MessageBody<'a> {
    pub(crate) bytes: &'a Arc<[u8]>,
    pub(crate) schemas: &'a Schemas,
}

/// One subject's stream in a draft.
pub(crate) struct SubjectJournal<'a, M: HeldMachine> {
    draft: &'a mut BatchDraft,
    id: M::Id,
    now: TimestampMs,
    /// The body of the envelope being decided, where there is one.
    body: Option<MessageBody<'a>>,
    /// True once it has recorded something: then the last record may have ended the subject.
    has_recorded: bool,
}

impl<'a, M: HeldMachine> SubjectJournal<'a, M> {
    pub(crate) fn open(
        draft: &'a mut BatchDraft,
        id: M::Id,
        body: Option<MessageBody<'a>>,
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

impl<M: HeldMachine> Journal<M> for SubjectJournal<'_, M> {
    type Fault = Fault;
    type View<'v>
        = AsOf<'v>
    where
        Self: 'v;

    fn state(&self) -> Option<&M::State> {
        let world = self.draft.world();
        if self.has_recorded {
            M::latest(world, self.id)
        } else {
            M::state(world, self.id)
        }
    }

    fn view(&self) -> Result<AsOf<'_>, Refusal> {
        let view = AsOf::at(self.draft.world(), self.now).ok_or_else(not_open)?;
        Ok(match self.body {
            Some(MessageBody { bytes, schemas }) => view.holding(bytes, schemas),
            None => view,
        })
    }

    fn record(&mut self, event: Event) -> Result<u64, Fault> {
        let body = self.body.filter(|_| event.envelope().is_some());
        let body = body.map(|body| body.bytes);
        let stream = Stream::Of(M::subject(self.id));
        let appended = self.draft.append(&stream, event, body, self.now)?;
        self.has_recorded = true;
        Ok(appended.position)
    }
}
