//! An agreement from its sessions to its end, or one session that came to nothing else.

use std::collections::BTreeSet;

use serde_json::Value;
use uuid::Uuid;

use super::{Counts, NotShown, TraceNode};
use crate::event::CloseReason;
use crate::id::SessionId;
use crate::trace::content::{Content, Revision, Revocation, SessionClose};
use crate::trace::{Act, MOST_PARTS, TraceFault, Wid};

#[derive(Default)]
struct Walk<'a> {
    /// A close whose agreement is to follow.
    close: Option<(&'a TraceNode<'a>, &'a SessionClose)>,
    last: Option<(&'a TraceNode<'a>, &'a Revision)>,
    is_revoked: bool,
    sessions: BTreeSet<SessionId>,
}

pub(super) fn verify(
    wid: Wid,
    nodes: &[TraceNode<'_>],
    counts: &mut Counts,
) -> Result<(), TraceFault> {
    let mut walk = Walk::default();
    for node in nodes {
        match &node.content {
            Content::SessionClose(close) => walk.close(wid, node, close, counts)?,
            Content::Revision(revision) => walk.revision(wid, node, revision, counts)?,
            Content::Revocation(revocation) => walk.revoke(wid, node, revocation, counts)?,
            Content::Propose(_)
            | Content::Vote(_)
            | Content::Votes(_)
            | Content::Commit(_)
            | Content::Escalation(_)
            | Content::HumanDecision(_)
            | Content::ContractStep(_)
            | Content::ContractLapse(_)
            | Content::ContractEngage(_) => {
                return Err(node.fault("it is of no session and no agreement"));
            }
        }
    }
    match (walk.close, walk.last) {
        (Some((node, _)), Some(_)) => Err(node.fault("no revision follows from this session")),
        (_, _) => Ok(()),
    }
}

impl<'a> Walk<'a> {
    fn close(
        &mut self,
        wid: Wid,
        node: &'a TraceNode<'a>,
        close: &'a SessionClose,
        counts: &mut Counts,
    ) -> Result<(), TraceFault> {
        node.hold(
            self.close.is_none() && !self.is_revoked,
            "it follows a session that came to nothing, or a revocation",
        )?;
        node.hold(
            node.claims.pred.is_empty(),
            "the close of a session rests on nothing",
        )?;
        let is_first = self.sessions.is_empty();
        node.hold(
            !is_first || wid.to_string() == close.session_id.to_string(),
            "a trace begins with the session that it is named by",
        )?;
        let is_new = self.sessions.insert(close.session_id);
        node.hold(is_new, "its session is in the trace already")?;
        node.hold(
            self.sessions.len() <= MOST_PARTS,
            "it has too many sessions",
        )?;
        let is_by_agent = match close.outcome {
            CloseReason::Agreed | CloseReason::Rejected | CloseReason::Abandoned => Some(true),
            CloseReason::Timeout => Some(false),
            CloseReason::Declined => None,
        };
        node.hold(
            is_by_agent.is_none_or(|is_by_agent| close.closed_by.is_some() == is_by_agent),
            "closed_by does not fit the outcome",
        )?;
        node.hold(close.capability_type.is_some(), "it names no capability")?;
        node.hold(
            close.rationale.is_none() || close.outcome == CloseReason::Rejected,
            "only a rejection has a rationale",
        )?;
        node.text_alone(close.rationale.as_ref(), counts)?;
        let is_gone = close.outcome == CloseReason::Rejected && close.rationale.is_none();
        counts.add(NotShown::Texts, usize::from(is_gone));
        self.close = Some((node, close));
        Ok(())
    }

    fn revision(
        &mut self,
        wid: Wid,
        node: &'a TraceNode<'a>,
        revision: &'a Revision,
        counts: &mut Counts,
    ) -> Result<(), TraceFault> {
        let Some((closed, close)) = self.close.take() else {
            return Err(node.fault("it follows no session"));
        };
        node.hold(
            revision.agreement_id.to_string() == wid.to_string(),
            "it is of another agreement",
        )?;
        let by = [revision.consumer, revision.provider];
        node.hold(
            (close.session_id, close.outcome) == (revision.session_id, CloseReason::Agreed)
                && revision.outcome == CloseReason::Agreed
                && close.capability_type.as_ref() == Some(&revision.capability_type)
                && close.closed_by.is_some_and(|closer| by.contains(&closer)),
            "it is not what the session before it came to",
        )?;
        node.hold(
            revision.consumer != revision.provider,
            "consumer and provider are one",
        )?;
        let last = self.last.map(|(last, _)| last.claims.jti);
        let due: Vec<Uuid> = last.into_iter().chain([closed.claims.jti]).collect();
        node.hold(
            node.claims.pred == due,
            "it does not rest on its session and the revision before",
        )?;
        self.succeeds(node, revision)?;
        node.terms(revision.terms.as_ref(), revision.terms_hash, counts)?;
        node.hold(
            revision.starts_at_ms == node.claims.recorded_at_ms
                && revision.ends_at_ms > revision.starts_at_ms,
            "it does not begin when it was recorded",
        )?;
        if let Some(terms) = &revision.terms {
            let duration_s = terms.get("duration_s").and_then(Value::as_u64);
            let duration_ms = duration_s.map(|seconds| seconds.saturating_mul(1_000));
            let ends = duration_ms.map(|ms| revision.starts_at_ms.saturating_add_ms(ms));
            node.hold(
                ends == Some(revision.ends_at_ms),
                "it does not end after the duration in its terms",
            )?;
        }
        self.last = Some((node, revision));
        Ok(())
    }

    /// Holds a revision to the one before it.
    fn succeeds(&self, node: &TraceNode<'_>, revision: &Revision) -> Result<(), TraceFault> {
        let Some((_, before)) = self.last else {
            return node.hold(
                (node.act, revision.revision) == (Act::AgreementCreate, 1)
                    && revision.previous_terms_hash.is_none()
                    && revision.previous_terms.is_none()
                    && revision.reason.is_none(),
                "a trace begins with the first revision, which follows none",
            );
        };
        node.hold(
            node.act == Act::Renegotiate
                && before.revision.checked_add(1) == Some(revision.revision)
                && revision.reason.is_some(),
            "it is not the next revision",
        )?;
        node.hold(
            revision.previous_terms_hash == Some(before.terms_hash)
                && revision.previous_terms == before.terms,
            "its previous terms are not those of the revision before",
        )?;
        node.hold(
            (revision.consumer, revision.provider) == (before.consumer, before.provider)
                && revision.capability_type == before.capability_type
                && revision.version == before.version,
            "parties, capability or version are not those of the revision before",
        )?;
        node.hold(
            revision.starts_at_ms < before.ends_at_ms,
            "the revision before was over",
        )
    }

    fn revoke(
        &mut self,
        wid: Wid,
        node: &TraceNode<'_>,
        revocation: &Revocation,
        counts: &mut Counts,
    ) -> Result<(), TraceFault> {
        let before = self
            .last
            .filter(|_| self.close.is_none() && !self.is_revoked);
        let Some((last, before)) = before else {
            return Err(node.fault("it revokes nothing that is in force"));
        };
        // Of more sessions than a trace has, the last ones are left out.
        let is_cut = self.sessions.len() == MOST_PARTS;
        node.hold(
            revocation.agreement_id.to_string() == wid.to_string()
                && [before.consumer, before.provider].contains(&revocation.revoked_by)
                && (revocation.revision == before.revision || is_cut),
            "it revokes another agreement or revision, or is by a stranger",
        )?;
        node.hold(
            node.claims.pred == [last.claims.jti],
            "it does not rest on the revision in force",
        )?;
        node.hold(
            node.claims.recorded_at_ms < before.ends_at_ms || is_cut,
            "the agreement was over",
        )?;
        let hash = Some(revocation.reason_hash);
        node.text(revocation.reason.as_ref(), hash, counts)?;
        self.is_revoked = true;
        Ok(())
    }
}
