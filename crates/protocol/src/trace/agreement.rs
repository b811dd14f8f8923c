//! Traces of sessions and agreements (CC-98 to CC-100, CX-44 to CX-46): how each session closed, and what an
//! agreement came to be: made, negotiated again, revoked.

use std::collections::BTreeMap;

use serde_json::Value;
use uuid::Uuid;

use super::content::{Revision, Revocation, Revoked, SessionClose, ShownText};
use super::{Act, Node, Own, Recorded, shown_terms};
use crate::event::{Agreed, CloseReason, Effect, EnvelopeAccepted, Event, SessionClosed};
use crate::facts::{CapabilityFacts, Facts};
use crate::id::{AgreementId, SessionId};
use crate::stream::Subject;

/// What is known of one session on the way.
#[derive(Debug, Default)]
struct Talk {
    capability: Option<String>,
    /// Of its signatures, and of what ended it otherwise.
    signed: Vec<Own>,
    ended: Option<Own>,
    terms: Option<Value>,
    rationale: Option<ShownText>,
}

#[derive(Default)]
struct Walk<'a> {
    talks: BTreeMap<SessionId, Talk>,
    /// The newest node of the agreement.
    last: Option<Uuid>,
    terms: Option<Value>,
    /// Both have signed: its node stands behind that of the session's close, which is recorded next.
    made: Option<(AgreementId, Recorded<'a>, &'a Agreed)>,
}

/// The nodes of an agreement and of the sessions that made its revisions, or of one session, whose `records`
/// come in order of position.
pub(super) fn agreement_nodes<'a>(records: impl IntoIterator<Item = Recorded<'a>>) -> Vec<Node> {
    let mut walk = Walk::default();
    let mut nodes = Vec::new();
    for recorded in records {
        if let Subject::Session(id) = recorded.subject {
            nodes.extend(walk.of_session(id, &recorded));
        } else if let Subject::Agreement(id) = recorded.subject {
            nodes.extend(walk.of_agreement(id, recorded));
        }
    }
    nodes
}

/// Sessions that made the revisions of an agreement, by its own records.
pub fn sessions_of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<SessionId> {
    let each = events.into_iter().filter_map(|event| {
        let Event::Effect(Effect::Agreed(agreed)) = event else {
            return None;
        };
        Some(agreed.session)
    });
    each.collect()
}

impl Talk {
    fn said(&mut self, recorded: &Recorded<'_>, accepted: &EnvelopeAccepted) {
        let Facts::Capability(facts) = &accepted.facts else {
            return;
        };
        let own = recorded.own(accepted.envelope.from);
        if let CapabilityFacts::Request(request) = facts {
            self.capability = Some(request.capability.clone());
        } else if let CapabilityFacts::Agree(_) = facts {
            self.signed.extend(own);
            let agreement = recorded
                .payload
                .and_then(|payload| payload.get("agreement"));
            self.terms = agreement.and_then(|agreement| agreement.get("terms").cloned());
        } else if let CapabilityFacts::Reject(_) = facts {
            self.ended = own;
            self.rationale = recorded.text("rationale");
        } else if let CapabilityFacts::Close(_) = facts {
            self.ended = own;
        }
    }
}

impl<'a> Walk<'a> {
    fn of_session(&mut self, id: SessionId, recorded: &Recorded<'a>) -> Vec<Node> {
        if let Event::EnvelopeAccepted(accepted) = recorded.event {
            self.talks.entry(id).or_default().said(recorded, accepted);
        } else if let Event::Effect(Effect::SessionClosed(closed)) = recorded.event {
            return self.closed(id, recorded, closed);
        }
        Vec::new()
    }

    fn of_agreement(&mut self, id: AgreementId, recorded: Recorded<'a>) -> Option<Node> {
        if let Event::Effect(Effect::Agreed(agreed)) = recorded.event {
            self.made = Some((id, recorded, agreed));
        } else if let Event::EnvelopeAccepted(accepted) = recorded.event {
            return self.revoked(&recorded, accepted);
        }
        None
    }

    /// The node of a close, and behind it that of the agreement that both have signed in it.
    fn closed(
        &mut self,
        id: SessionId,
        recorded: &Recorded<'_>,
        closed: &SessionClosed,
    ) -> Vec<Node> {
        let mut talk = self.talks.remove(&id).unwrap_or_default();
        let content = SessionClose {
            capability_type: talk.capability.clone(),
            closed_by: closed.closed_by,
            outcome: closed.reason,
            rationale: talk.rationale.clone(),
            session_id: id,
        };
        let ended = talk.ended.take();
        let ended = ended.filter(|_| closed.reason != CloseReason::Agreed);
        let close = recorded.node(Act::SessionClose, Vec::new(), &content);
        let close = close.with_own(ended);
        let made = self.made.take_if(|(_, _, agreed)| agreed.session == id);
        let made = made.map(|(of, at, agreed)| self.agreed(of, &at, agreed, close.jti, talk));
        std::iter::once(close).chain(made).collect()
    }

    fn agreed(
        &mut self,
        of: AgreementId,
        at: &Recorded<'a>,
        agreed: &Agreed,
        close: Uuid,
        talk: Talk,
    ) -> Node {
        let before = agreed.previous_terms_hash;
        let content = Revision {
            agreement_hash: agreed.agreement_hash,
            agreement_id: of,
            capability_type: agreed.capability.clone(),
            consumer: agreed.consumer,
            ends_at_ms: agreed.ends_at_ms,
            outcome: CloseReason::Agreed,
            previous_terms: before.and_then(|hash| shown_terms(self.terms.as_ref(), hash)),
            previous_terms_hash: before,
            provider: agreed.provider,
            reason: agreed.reason,
            revision: agreed.revision,
            session_id: agreed.session,
            starts_at_ms: agreed.starts_at_ms,
            terms: shown_terms(talk.terms.as_ref(), agreed.terms_hash),
            terms_hash: agreed.terms_hash,
            version: agreed.version,
        };
        let act = if before.is_some() {
            Act::Renegotiate
        } else {
            Act::AgreementCreate
        };
        let pred = self.last.into_iter().chain([close]).collect();
        let node = at.node(act, pred, &content).with_own(talk.signed);
        self.last = Some(node.jti);
        self.terms = talk.terms;
        node
    }

    fn revoked(&mut self, recorded: &Recorded<'_>, accepted: &EnvelopeAccepted) -> Option<Node> {
        let Facts::Capability(CapabilityFacts::Revoke(revoke)) = &accepted.facts else {
            return None;
        };
        let from = accepted.envelope.from;
        let content = Revocation {
            agreement_id: revoke.agreement_id,
            outcome: Revoked::Revoked,
            reason: recorded.text("reason"),
            reason_hash: revoke.reason_hash,
            revision: revoke.revision,
            revoked_by: from,
        };
        let pred = self.last.into_iter().collect();
        let node = recorded.node(Act::AgreementRevoke, pred, &content);
        self.last = Some(node.jti);
        Some(node.with_own(recorded.own(from)))
    }
}
