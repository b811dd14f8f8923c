//! Signed notices on their way into the log. One that breaks the rules costs nobody else theirs.

use crate::draft::BatchDraft;
use crate::notice::SignedNotice;
use crate::watch::isolated;
use x811_protocol::event::{Event, NoticeIssued};
use x811_protocol::stream::Stream;
use x811_protocol::time::TimestampMs;
use x811_world::Fault;

/// Records those that are still owed. A faulty one stays owed, and the next start signs it anew.
pub(super) fn record(draft: &mut BatchDraft, notices: Vec<SignedNotice>, now: TimestampMs) {
    for notice in notices {
        isolated(draft, notice.subject, |draft| {
            record_one(draft, &notice, now)
        });
    }
}

fn record_one(
    draft: &mut BatchDraft,
    notice: &SignedNotice,
    now: TimestampMs,
) -> Result<(), Fault> {
    let to = notice.envelope.to;
    if !draft.world().is_owed(notice.cause, to) {
        return Ok(());
    }
    let stream = Stream::Of(notice.subject);
    let event = Event::NoticeIssued(NoticeIssued {
        to,
        code: notice.code,
        cause: notice.cause,
        envelope: notice.envelope.clone(),
    });
    draft
        .append(&stream, event, Some(&notice.body), now)
        .map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::Entropy;
    use crate::notice::Notary;
    use crate::sequencer::owed;
    use crate::turn::tests::{NOW, key, lapsed};
    use x811_protocol::id::{EnvelopeId, InteractionId};
    use x811_world::World;
    use x811_world::notice::Owed;

    struct Same;

    impl Entropy for Same {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(7);
        }
    }

    fn signed(world: &World) -> Vec<SignedNotice> {
        let ledger = world.identity().unwrap().did;
        let notary = Notary::new(ledger, key(9));
        let owed: Vec<Owed> = world.owed().map(owed).collect();
        owed.iter()
            .map(|owed| notary.sign(owed, NOW, &Same))
            .collect()
    }

    #[test]
    fn lc_1_6_a_faulty_notice_costs_nobody_else_theirs() {
        let world = lapsed();
        let due = signed(&world);
        assert_eq!(due.len(), 2, "both parties are owed one");
        for faulty in 0..due.len() {
            let mut notices = due.clone();
            // Of another interaction than the one it is owed for.
            let other = EnvelopeId::from_parts(NOW.as_ms(), &[99; 10]);
            notices[faulty].subject = InteractionId::from(other).into();
            let mut draft = BatchDraft::on(&world, None);
            let at = TimestampMs::new(world.head().recorded_at_ms);
            record(&mut draft, notices, at);
            let spoilt = &due[faulty];
            assert!(draft.world().is_owed(spoilt.cause, spoilt.envelope.to));
            assert_eq!(draft.world().owed().count(), 1, "the other one is told");
            assert_eq!(draft.finish().unwrap().commit.records.len(), 1);
        }
    }
}
