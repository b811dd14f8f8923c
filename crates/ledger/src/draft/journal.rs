//! One subject's stream in a draft: what its machine decides is sealed, applied and kept.

use super::{Appended, BatchDraft};
use std::sync::Arc;
use x811_protocol::event::Event;
use x811_protocol::kernel::{Illegal, Journal};
use x811_protocol::stream::Stream;
use x811_protocol::time::TimestampMs;
use x811_world::{Fault, Findable};

/// One subject's stream in a draft.
pub(crate) struct SubjectJournal<'a, M: Findable> {
    pub(crate) draft: &'a mut BatchDraft,
    name: M::Name,
    now: TimestampMs,
    /// Body of the envelope being decided.
    body: Option<&'a Arc<[u8]>>,
    /// The state after the last event, also when that ended the subject.
    state: Option<M::State>,
    /// Where the last accepted envelope was put.
    pub(crate) accepted: Option<Appended>,
    /// A fault that is none of the machine's: the draft must not be used any more.
    pub(crate) fault: Option<Fault>,
}

impl<'a, M: Findable> SubjectJournal<'a, M> {
    pub(crate) fn open(
        draft: &'a mut BatchDraft,
        name: M::Name,
        body: Option<&'a Arc<[u8]>>,
        now: TimestampMs,
    ) -> SubjectJournal<'a, M> {
        let state = M::state(draft.world(), name);
        SubjectJournal {
            draft,
            name,
            now,
            body,
            state,
            accepted: None,
            fault: None,
        }
    }
}

impl<M: Findable> Journal<M> for SubjectJournal<'_, M> {
    fn state(&self) -> Option<&M::State> {
        self.state.as_ref()
    }

    fn record(&mut self, event: Event) -> Result<(), Illegal> {
        if self.fault.is_some() {
            return Ok(());
        }
        let is_envelope = event.envelope().is_some();
        let body = if is_envelope { self.body } else { None };
        let stream = Stream::Of(M::subject(self.name));
        match self.draft.append(&stream, event, body, self.now) {
            Ok(appended) => {
                if is_envelope {
                    self.accepted = Some(appended);
                }
                self.state = M::latest(self.draft.world(), self.name);
                Ok(())
            }
            Err(Fault::Illegal(illegal)) => Err(illegal),
            Err(fault) => {
                self.fault = Some(fault);
                // Nothing more is due of it.
                self.state = None;
                Ok(())
            }
        }
    }
}
