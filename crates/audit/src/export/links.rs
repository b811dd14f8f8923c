//! Which streams a bundle brings: those that the first record of its subject names, and those that records link
//! to (machines.md section 10). Followed from the subject's own stream, the same way by who writes a bundle and
//! by who audits it.

use x811_protocol::event::Event;
use x811_protocol::machine::{BundleBasis, Machine as _};
use x811_protocol::stream::{Stream, Subject};
use x811_world::with_machine;

/// What the first record of a subject says of the streams that its replay rests on; `None` for one that is
/// none.
pub fn opening(subject: Subject, event: &Event) -> Option<BundleBasis> {
    with_machine!(subject, M(_) => M::opening(event))
}

/// True if records of `stream` may rest on other streams. Those of no other stream are read for links: an agent
/// may have advertised for years.
pub fn has_links(stream: &Stream) -> bool {
    let subject = stream.subject();
    subject.is_some_and(|subject| with_machine!(subject, M(_) => M::HAS_LINKS))
}

/// The streams that a record of `stream` rests on.
pub fn links(stream: &Stream, event: &Event) -> Vec<Stream> {
    let linked = |subject| {
        with_machine!(subject, M(_) => if M::HAS_LINKS {
            M::links(event)
        } else {
            Vec::new()
        })
    };
    stream.subject().map_or_else(Vec::new, linked)
}
