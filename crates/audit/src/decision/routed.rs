//! Whether a message stands in the stream that its turn puts it into: decided by the same function as
//! the turn's (ledger-contract.md section 6). So no message of the eight core types hides in
//! somebody's mail, where nothing follows from it.

use x811_protocol::envelope::MessageType;
use x811_protocol::event::{Derived, EnvelopeAccepted};
use x811_protocol::facts::Facts;
use x811_protocol::id::EnvelopeId;
use x811_protocol::payload::registry::Verb;

use crate::finding::findings::{Cause, Findings};
use crate::record::body::agree;
use crate::replay::decided::Decided;
use x811_protocol::stream::Stream;
use x811_world::route::{Reference, Route, route};

impl Decided<'_> {
    /// Names a stream where the message does not belong.
    pub(crate) fn routed(&self, accepted: &EnvelopeAccepted, findings: &mut Findings) {
        let message_type = &accepted.envelope.message_type;
        if let Stream::Mail(_) = self.stream
            && !matches!(Verb::of(message_type), Ok(None))
        {
            let sentence = "a message to the registry is acted on or refused, never mail";
            self.differs("stream", sentence, findings);
            return;
        }
        let known = |reference| self.referred(reference);
        let due = route(self.before, &accepted.envelope, &accepted.facts, known);
        match (self.stream, due) {
            (Stream::Mail(_), Route::Subject(subject)) => {
                let sentence = format!(
                    "it is of {} {}, and is not in its stream",
                    subject.kind(),
                    subject.id()
                );
                self.differs("stream", sentence, findings);
            }
            (Stream::Mail(_), Route::Finished | Route::Nowhere) => {
                self.differs("stream", refused(message_type, due), findings);
            }
            (Stream::Of(subject), due) if due != Route::Subject(*subject) => {
                // What else is wrong there, the rules of the interaction say.
                match (subject.interaction(), &accepted.facts) {
                    (Some(_), Facts::Error(_)) => {
                        let sentence = "the error names no envelope of this interaction";
                        self.differs("facts.related_message_id", sentence, findings);
                    }
                    (Some(_), _) => {}
                    (None, _) => {
                        let sentence = "the message is not about this subject";
                        self.differs("stream", sentence, findings);
                    }
                }
            }
            (Stream::Mail(_) | Stream::Of(_), _)
            | (Stream::Ledger | Stream::Network(_) | Stream::Agent(_) | Stream::Roots, _) => {}
        }
    }

    /// Mail is addressed to whose it is, and nothing is decided about it.
    pub(crate) fn mailed(&self, accepted: &EnvelopeAccepted, findings: &mut Findings) {
        let Stream::Mail(did) = self.stream else {
            return;
        };
        if *did != accepted.envelope.to {
            let sentence = "it is in the mail of somebody it is not addressed to";
            self.differs("stream", sentence, findings);
        }
        let (cause, found) = (Cause::ReDecisionDiffers, &accepted.derived);
        let none = Derived::default();
        agree(self.spot, "derived", cause, found, &none, findings);
    }

    /// What the log before the record says of an envelope.
    fn referred(&self, reference: EnvelopeId) -> Reference {
        if let Some(id) = self.before.route(reference) {
            return Reference::Open(id);
        }
        match self.used.envelope(reference) {
            None => Reference::Unknown,
            Some(position) if self.rows.is_of_interaction(position) => Reference::Closed,
            Some(_) => Reference::Outside,
        }
    }
}

/// Why the turn refuses a message that is recorded as mail.
fn refused(message_type: &MessageType, due: Route) -> String {
    let why = match due {
        Route::Finished => "that is about an interaction which takes no more messages",
        Route::Subject(_) | Route::Mail | Route::Nowhere => "that refers to no open interaction",
    };
    format!("a message of type {message_type} {why} is refused, never mail")
}
