//! Where the streams of a bundle end, by the ledger's word, against what is here.

use x811_protocol::event::LedgerOpened;

use super::Extract;
use crate::export::{EndLine, SignedEnd};
use crate::finding::findings::{Cause, Findings};
use x811_protocol::stream::Stream;

impl Extract {
    /// What the ledger said of a stream's end, against what is here.
    pub(super) fn check_end(
        &self,
        line: &EndLine,
        ledger: Option<&LedgerOpened>,
        findings: &mut Findings,
    ) {
        let SignedEnd { end, .. } = &line.signed;
        let spot = self.end_of_stream(&end.stream, Some(line.line));
        let mut differs = |field: &str, cause: Cause, sentence: String| {
            findings.add(&spot, field, cause, sentence);
        };
        if let Some(sentence) = ledger.and_then(|ledger| not_signed(&line.signed, ledger)) {
            differs(
                "end.signature",
                Cause::StreamEndDiffers,
                sentence.to_owned(),
            );
        }
        if let Some(checkpoint) = &self.claimed
            && end.tree_size != checkpoint.size
        {
            let sentence = format!(
                "this end is of a tree of {} records, the checkpoint is over {}",
                end.tree_size, checkpoint.size
            );
            differs("end.tree_size", Cause::StreamEndDiffers, sentence);
        }
        let stretch = self.streams.get(&end.stream);
        let next_seq = stretch.map_or(0, |stretch| stretch.next_seq);
        let said = end.last.map_or(0, |last| last.seq.saturating_add(1));
        if said > next_seq {
            let sentence = match said - 1 {
                last if last == next_seq => {
                    format!("the stream has {said} records, number {last} is not here")
                }
                last => format!(
                    "the stream has {said} records, numbers {next_seq} to {last} are not here"
                ),
            };
            differs("end.last_seq", Cause::Missing, sentence);
        } else if said < next_seq {
            let sentence = format!("the stream has {said} records, here are {next_seq}");
            differs("end.last_seq", Cause::StreamEndDiffers, sentence);
        } else if let (Some(last), Some(stretch)) = (end.last, stretch)
            && last.hash != stretch.last_hash
        {
            let sentence = format!(
                "the stream's last record hashes to {}, its end names {}",
                stretch.last_hash, last.hash
            );
            differs("end.last_hash", Cause::StreamEndDiffers, sentence);
        } else if let Some(said) = end.standing
            && self.is_of_subject(&end.stream)
            && said != self.settling.standing()
        {
            let sentence = format!(
                "the ledger signed that the payment is `{}`, the records of the stream say `{}`",
                said.as_str(),
                self.settling.standing().as_str()
            );
            differs("end.standing", Cause::StreamEndDiffers, sentence);
        }
    }

    fn is_of_subject(&self, stream: &str) -> bool {
        let subject = self.subject.map(Stream::Of);
        subject.is_some_and(|subject| subject.to_string() == stream)
    }
}

/// What is wrong with an end's signature; `ledger` has the keys in force where the bundle ends.
fn not_signed(signed: &SignedEnd, ledger: &LedgerOpened) -> Option<&'static str> {
    let sentence = "the end of the stream is not signed by the ledger's checkpoint key";
    (!signed.is_by(&ledger.keys.checkpoint)).then_some(sentence)
}
