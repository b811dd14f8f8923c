//! The answer of `GET /api/v1/negotiations/{id}`: a negotiation in the members of the published page (contract.md,
//! "Rendered contract, XAP").

use crate::app::App;
use crate::error::ApiError;
use crate::stored;
use x811_ledger::clock::Clock;
use x811_ledger::port::{LedgerStore as _, ReadModel as _};
use x811_protocol::contract_page::{
    self, Contract, ContractPage, PageAction, PageEntry, PageStatus,
};
use x811_protocol::did::Did;
use x811_protocol::envelope::ParsedEnvelope;
use x811_protocol::event::Event;
use x811_protocol::facts::{Facts, NegotiationFacts, NegotiationVerb};
use x811_protocol::id::ContractId;
use x811_protocol::stream::{Stream, Subject};
use x811_protocol::time::TimestampMs;
use x811_world::row::SubjectRow;

/// More turns than any negotiation has records that say something.
const MAX_ENTRIES: usize = 1_000;

/// The page, from the records and their bodies.
pub(super) async fn page<C: Clock>(
    app: &App<C>,
    id: ContractId,
    row: &SubjectRow,
) -> Result<ContractPage, ApiError> {
    let stream = Stream::Of(Subject::Contract(id)).to_string();
    let mut positions = app
        .ledger
        .read_model()
        .stream_positions(&stream, 0, MAX_ENTRIES)
        .await?;
    // What came after the row was read is not in its status.
    positions.retain(|position| *position <= row.last_position);
    let mut bodies = app.ledger.store().bodies(&positions).await?;
    let mut history = Vec::new();
    let (mut parties, mut expires_at) = (None, None);
    for position in positions {
        let record = stored::record(app, position).await?;
        let Event::EnvelopeAccepted(accepted) = stored::event(&record)? else {
            continue;
        };
        let Facts::Negotiation(facts) = &accepted.facts else {
            return Err(ApiError::damaged(position));
        };
        parties.get_or_insert((accepted.envelope.from, accepted.envelope.to));
        expires_at = expiry(facts).or(expires_at);
        let body = bodies.remove(&position).ok_or_else(erased)?;
        body.check(accepted.envelope.digest)
            .map_err(|_| ApiError::damaged(position))?;
        let parsed = ParsedEnvelope::from_body(&body.bytes, accepted.envelope.signature)
            .map_err(|_| ApiError::damaged(position))?;
        let at = TimestampMs::new(record.recorded_at_ms());
        history.push(entry(facts.verb(), accepted.envelope.from, &parsed, at));
    }
    let (Some((initiator, responder)), Some(expires_at)) = (parties, expires_at) else {
        return Err(ApiError::damaged(row.last_position));
    };
    let contract = Contract {
        id: id.offer_id(),
        initiator,
        responder,
        status: status(&row.state).ok_or_else(|| ApiError::damaged(row.last_position))?,
        history,
        expires_at,
    };
    contract_page::render(&contract).map_err(|_| ApiError::damaged(row.last_position))
}

fn expiry(facts: &NegotiationFacts) -> Option<TimestampMs> {
    match facts {
        NegotiationFacts::Offer(offer) => Some(offer.expires_at_ms),
        NegotiationFacts::Counter(counter) => counter.expires_at_ms,
        NegotiationFacts::Accept(_)
        | NegotiationFacts::Reject(_)
        | NegotiationFacts::Withdraw(_) => None,
    }
}

fn entry(verb: NegotiationVerb, agent: Did, parsed: &ParsedEnvelope, at: TimestampMs) -> PageEntry {
    let action = match verb {
        NegotiationVerb::Offer => PageAction::Offer,
        NegotiationVerb::Counter => PageAction::Counter,
        NegotiationVerb::Accept => PageAction::Accept,
        // The page has no word for a withdrawal (XX-2).
        NegotiationVerb::Reject | NegotiationVerb::Withdraw => PageAction::Reject,
    };
    let terms = parsed
        .payload
        .get("terms")
        .and_then(|terms| terms.as_object());
    let message = parsed.payload.get("message").and_then(|text| text.as_str());
    PageEntry {
        action,
        agent,
        terms: terms.cloned(),
        message: message.map(str::to_owned),
        at,
    }
}

fn status(state: &str) -> Option<PageStatus> {
    Some(match state {
        "pending" => PageStatus::Pending,
        "countered" => PageStatus::Countered,
        "accepted" => PageStatus::Accepted,
        "rejected" => PageStatus::Rejected,
        "expired" => PageStatus::Expired,
        _ => return None,
    })
}

fn erased() -> ApiError {
    ApiError::not_found("bodies of this negotiation were erased: its history is what is left of it")
}
