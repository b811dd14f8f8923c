//! Notices: everything in them follows from the record that they tell of, but for the moment of
//! signing, an id and a nonce (ledger-contract.md section 1.6). How late one may be recorded follows
//! from nothing: it is signed beside the sequencer, and again after a failed commit or a restart.

use serde_json::{Map, Value};
use x811_protocol::code::Code;
use x811_protocol::envelope::{AcceptedHeader, ParsedEnvelope};
use x811_protocol::event::{Event, NoticeIssued};
use x811_protocol::jws::{self, DetachedJws};
use x811_protocol::machine::News;
use x811_protocol::round::Phase;
use x811_protocol::stream::{Stream, Subject};

use crate::finding::findings::{Cause, Findings};
use crate::record::body::agree;
use crate::replay::decided::Decided;
use x811_world::OwedNotice;
use x811_world::notice::{self, Owed};

impl Decided<'_> {
    /// Holds a notice to the one that is owed. One that nobody is owed the world refuses.
    pub(crate) fn notice(&self, notice: &NoticeIssued, findings: &mut Findings) {
        if notice.to != notice.envelope.to {
            let sentence = "its envelope is addressed to somebody else";
            self.differs("to", sentence, findings);
        }
        let Some(owed) = self.before.owed_to(notice.cause, notice.to) else {
            return;
        };
        let owed = Owed {
            cause: notice.cause,
            to: notice.to,
            notice: owed.clone(),
        };
        let due = notice::recorded_code(&owed.notice);
        if notice.code != due {
            let sentence = format!(
                "the record at position {} is told as {}",
                notice.cause,
                due.map_or("news without a code", Code::as_str)
            );
            self.differs("code", sentence, findings);
        }
        self.notice_envelope(&notice.envelope, &owed.notice, findings);
        self.notice_time(notice, findings);
        self.notice_text(&notice.envelope, &owed, findings);
    }

    /// A sentence about the notice of an escalation that was recorded when its window had ended; `None` for any
    /// other record.
    pub(crate) fn late_escalation(&self) -> Option<String> {
        let (Event::NoticeIssued(notice), Stream::Of(Subject::Round(id))) =
            (self.event, self.stream)
        else {
            return None;
        };
        let owed = self.before.owed_to(notice.cause, notice.to)?;
        let state = &self.before.latest_round(*id)?.state;
        let has_window =
            owed.news == Some(News::RoundEscalated) && !state.opening.rounds.humans.is_empty();
        let is_late = state.phase == Phase::Undecided {}
            || matches!(state.phase, Phase::Escalated { deadline, .. } if self.at > deadline);
        (has_window && is_late).then(|| {
            format!(
                "the notice of the escalation at position {} was recorded after the window of the humans \
                 had ended",
                notice.cause
            )
        })
    }

    fn notice_envelope(
        &self,
        envelope: &AcceptedHeader,
        owed: &OwedNotice,
        findings: &mut Findings,
    ) {
        let due = notice::message_type(owed);
        if envelope.message_type != due {
            let sentence = format!("this notice is an {due}, and nothing else");
            self.differs("envelope.type", sentence, findings);
        }
        if envelope.version != notice::VERSION {
            let sentence = format!("notices are of version {}", notice::VERSION);
            self.differs("envelope.version", sentence, findings);
        }
        if envelope.expires_ms.is_some() {
            let sentence = "a notice does not expire";
            self.differs("envelope.expires_ms", sentence, findings);
        }
        if envelope.id.unix_ms() != Some(envelope.created_ms.as_ms()) {
            let sentence = "the time inside the id of a notice is when it was signed";
            self.differs("envelope.id", sentence, findings);
        }
    }

    fn notice_time(&self, notice: &NoticeIssued, findings: &mut Findings) {
        let created = notice.envelope.created_ms;
        let cause_at = self.owing.since(notice.cause);
        let sentence = if created > self.at {
            "it was signed after it was recorded".to_owned()
        } else if cause_at.is_some_and(|cause_at| created < cause_at) {
            format!(
                "it was signed before the record at position {} that it tells of",
                notice.cause
            )
        } else {
            return;
        };
        self.differs("envelope.created_ms", sentence, findings);
    }

    /// What it says, where its body is here and the one that was signed.
    fn notice_text(&self, envelope: &AcceptedHeader, owed: &Owed, findings: &mut Findings) {
        let Some(body) = self.body else {
            return;
        };
        let parsed = ParsedEnvelope::from_body(body, envelope.signature);
        let Some(parsed) = parsed
            .ok()
            .filter(|parsed| parsed.digest == envelope.digest)
        else {
            // Another body than the signed one has been named.
            return;
        };
        let mut found = parsed.payload;
        self.inner_signature(envelope, owed, &mut found, findings);
        let (found, due) = (Value::Object(found), notice::payload(owed).into());
        let cause = Cause::ReDecisionDiffers;
        agree(self.spot, "body.payload", cause, &found, &due, findings);
    }

    /// Takes the signature out that the notice of an outcome holds: it is by the key that signed the
    /// envelope.
    fn inner_signature(
        &self,
        envelope: &AcceptedHeader,
        owed: &Owed,
        payload: &mut Map<String, Value>,
        findings: &mut Findings,
    ) {
        let Some(typ) = notice::signed_inside(&owed.notice) else {
            return;
        };
        let signature = payload.remove(jws::MEMBER);
        let text = signature.as_ref().and_then(Value::as_str);
        let signed = text.and_then(|text| DetachedJws::parse(text, typ).ok());
        let holds =
            signed.is_some_and(|signed| signed.kid == envelope.key && signed.verify(payload));
        if !holds {
            let sentence = "the ledger's signal is not signed by the key of its envelope";
            self.differs("body.payload.signature", sentence, findings);
        }
    }
}
