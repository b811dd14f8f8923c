//! What a record or message about a capability says: descriptors, sessions, agreements.

use crate::event::{Agreed, BreachKind, BreachRecorded, CloseReason, Excluded, SessionClosed};
use crate::facts::{AdvertiseFacts, CapabilityFacts, SessionRequest, SessionTerms};

use super::short_hash;

/// What a message says.
pub(super) fn message(facts: &CapabilityFacts) -> String {
    match facts {
        CapabilityFacts::Advertise(advert) => self::advert(advert),
        CapabilityFacts::Request(request) => self::request(request),
        CapabilityFacts::Response(response) if response.willing => {
            "willing to negotiate".to_owned()
        }
        CapabilityFacts::Response(_) => "not willing to negotiate".to_owned(),
        CapabilityFacts::Offer(offer) => format!("terms: {}", terms(&offer.terms)),
        CapabilityFacts::Counter(counter) => format!("other terms: {}", terms(&counter.terms)),
        CapabilityFacts::Accept(_) => "the terms are accepted: both sign the agreement".to_owned(),
        CapabilityFacts::Reject(_) => "the terms are rejected".to_owned(),
        CapabilityFacts::Close(_) => "leaves the session".to_owned(),
        CapabilityFacts::Agree(agree) => format!(
            "signs revision {} of the agreement {}",
            agree.revision, agree.agreement_id
        ),
        CapabilityFacts::Revoke(revoke) => format!(
            "revokes the agreement {}, revision {}",
            revoke.agreement_id, revoke.revision
        ),
    }
}

fn advert(facts: &AdvertiseFacts) -> String {
    let each: Vec<String> = facts
        .capabilities
        .iter()
        .map(|known| {
            format!(
                "{} {} ({})",
                known.capability, known.version, known.availability
            )
        })
        .collect();
    let what = if each.is_empty() {
        "nothing".to_owned()
    } else {
        each.join(", ")
    };
    format!("descriptor, revision {}: {what}", facts.revision)
}

fn request(facts: &SessionRequest) -> String {
    let what = &facts.capability;
    match (facts.agreement_id, facts.revision, facts.reason) {
        (Some(agreement), Some(revision), Some(reason)) => format!(
            "asks to negotiate the agreement {agreement} about {what} again, revision {revision}: \
             {reason}"
        ),
        _ => format!("asks for an agreement about {what}"),
    }
}

/// The terms that decide, in words.
fn terms(terms: &SessionTerms) -> String {
    let mut said = vec![format!("{} s", terms.duration_s)];
    said.extend(
        terms
            .max_requests
            .map(|most| format!("at most {most} requests")),
    );
    said.extend(
        terms
            .requests_per_minute
            .map(|most| format!("at most {most} a minute")),
    );
    said.extend(
        terms
            .max_request_bytes
            .map(|most| format!("at most {most} bytes each")),
    );
    said.join(", ")
}

/// How a session ended.
pub(super) fn session_closed(closed: &SessionClosed) -> String {
    let by = closed.closed_by.map(|did| format!(" by {did}"));
    let how = match closed.reason {
        CloseReason::Agreed => "both have signed",
        CloseReason::Rejected => "the terms were rejected",
        CloseReason::Abandoned => "it was left",
        CloseReason::Timeout => "its time passed",
        CloseReason::Declined => "the target is not willing or cannot",
    };
    format!("the session is closed{}: {how}", by.unwrap_or_default())
}

/// What came into force.
pub(super) fn agreed(agreed: &Agreed) -> String {
    format!(
        "the agreement is in force, revision {}: {} {} from {} to {}, terms {}",
        agreed.revision,
        agreed.capability,
        agreed.version,
        agreed.starts_at_ms.to_rfc3339(),
        agreed.ends_at_ms.to_rfc3339(),
        short_hash(agreed.terms_hash)
    )
}

/// What was broken.
pub(super) fn breached(breach: &BreachRecorded) -> String {
    let what = match breach.kind {
        BreachKind::ResultLapsed => "no result came in time",
        BreachKind::DisputeUpheld => "a dispute was resolved against the provider",
    };
    format!(
        "{} broke the agreement {} with {}: {what}",
        breach.provider, breach.agreement, breach.consumer
    )
}

/// What follows from that.
pub(super) fn excluded(excluded: &Excluded) -> String {
    format!(
        "{} breaches: no new sessions until {}",
        excluded.causes.len(),
        excluded.until_ms.to_rfc3339()
    )
}
