//! The kinds of subjects that have routes of their own, and these routes: `/{kind}`, `/{kind}/{id}` and below it
//! `/history`, `/bundle` and `/erasure`. Descriptors and conduct are served below their agent.

use super::list_queries::{OfAgreements, OfNegotiations, OfRounds, OfSessions};
use super::lists::{self, List};
use super::subject::{self, Id, Kind};
use super::{bundle, erasure, history, negotiation};
use crate::app::App;
use crate::openapi::Routes;
use crate::openapi::capability::{AgreementsAnswer, CapabilityHistoryAnswer, SessionsAnswer};
use crate::openapi::negotiation::{NegotiationHistoryAnswer, NegotiationsAnswer};
use crate::openapi::of_kind::{OfKind, form, id_parameter, reference};
use crate::openapi::round::{RoundHistoryAnswer, RoundsAnswer};
use crate::openapi::schema::HistoryAnswer;
use crate::signed_read::ReadRefusal;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Extension, Json};
use serde::Deserialize as _;
use serde_json::{Value, json};
use std::sync::Arc;
use utoipa::PartialSchema as _;
use x811_ledger::clock::Clock;
use x811_protocol::answer::{AgreementView, InteractionView, RoundView, SessionView};
use x811_protocol::contract_page::ContractPage;
use x811_protocol::id::{AgreementId, ContractId, InteractionId, SessionId};
use x811_protocol::money::MicroUsdc;
use x811_protocol::stream::Subject;
use x811_world::row::SubjectRow;

/// Every kind.
static KINDS: [&Kind; 5] = [&INTERACTION, &NEGOTIATION, &SESSION, &AGREEMENT, &ROUND];

pub(super) static INTERACTION: Kind = Kind {
    machine: "interaction",
    path: "interactions",
    name: "interaction",
    tag: "interactions",
    subject: |id| id.parse().map(Subject::Interaction),
    refuses_malformed_ids: true,
    not_found: "no interaction that you may read has this id: it is the envelope id of its REQUEST, and \
                its two parties read it",
    id: REQUEST,
    read: ("readInteraction", "How it stands", form::<InteractionView>),
    history: ("readHistory", form::<HistoryAnswer>),
    bundle: "readBundle",
    summaries: [
        Some("200, or 404, also to those who are no party to it."),
        Some("200, or 404, also to those who are no party to it."),
        Some(
            "200, or 404, also to those who are no party to it. Waits a moment for a checkpoint that covers\n\
             its last record. It is made while it is sent: one that was cut off has no trailer.",
        ),
    ],
    erasure: Some(("eraseBodies", REQUEST)),
};

static NEGOTIATION: Kind = Kind {
    machine: "contract",
    path: "negotiations",
    name: "negotiation",
    tag: "negotiations",
    subject: |id| ContractId::from_public(id).map(Subject::Contract),
    refuses_malformed_ids: false,
    not_found: "no negotiation that you may read has this id: it is neg- and the envelope id of its offer, \
                and its two parties read it",
    id: OFFER,
    read: ("readNegotiation", "The contract", form::<ContractPage>),
    history: ("readNegotiationHistory", form::<NegotiationHistoryAnswer>),
    bundle: "readNegotiationBundle",
    summaries: [None; 3],
    erasure: Some(("eraseNegotiation", OFFER)),
};

static SESSION: Kind = Kind {
    machine: "session",
    path: "sessions",
    name: "session",
    tag: "capabilities",
    subject: |id| id.parse().map(Subject::Session),
    refuses_malformed_ids: false,
    not_found: AGREEMENT.not_found,
    id: ("The envelope id of its request", String::schema),
    read: ("readSession", "As it stands", form::<SessionView>),
    history: ("readSessionHistory", form::<CapabilityHistoryAnswer>),
    bundle: "readSessionBundle",
    summaries: [None; 3],
    erasure: Some((
        "eraseSession",
        ("The envelope id of its request", reference::<SessionId>),
    )),
};

pub(super) static AGREEMENT: Kind = Kind {
    machine: "agreement",
    path: "agreements",
    name: "agreement",
    tag: "capabilities",
    subject: |id| id.parse().map(Subject::Agreement),
    refuses_malformed_ids: false,
    not_found: "nothing of that id that you may read is here: a session is named by the envelope id of its \
                request, an agreement by that of its first session, and their two parties read them",
    id: (
        "The envelope id of the request of its first session",
        String::schema,
    ),
    read: ("readAgreement", "As it stands", form::<AgreementView>),
    history: ("readAgreementHistory", form::<CapabilityHistoryAnswer>),
    bundle: "readAgreementBundle",
    summaries: [None; 3],
    erasure: Some(("eraseAgreement", FIRST_SESSION)),
};

pub(super) static ROUND: Kind = Kind {
    machine: "round",
    path: "rounds",
    name: "round",
    tag: "rounds",
    subject: |id| id.parse().map(Subject::Round),
    refuses_malformed_ids: false,
    not_found: "no round of that id that you may read is here: it is named by the envelope id of its \
                proposal, and its members read it",
    id: ("The envelope id of its proposal", String::schema),
    read: ("readRound", "As it stands", form::<RoundView>),
    history: ("readRoundHistory", form::<RoundHistoryAnswer>),
    bundle: "readRoundBundle",
    summaries: [
        None,
        Some(
            "200, or 404, also to those who take no part in it. Votes are left out until the round is \
             decided, to all\nbut a leader of open ones.",
        ),
        Some(
            "200, or 404, also to those who take no part in it; 422 CCN-4012 before the round and all \
             that it names are\ndecided, as it holds all votes. Waits a moment for a checkpoint that covers \
             its last record. It is made\nwhile it is sent: one that was cut off has no trailer.",
        ),
    ],
    erasure: None,
};

const REQUEST: Id = ("Envelope id of its REQUEST", reference::<InteractionId>);
const OFFER: Id = ("`neg-` and the envelope id of its offer", String::schema);
const FIRST_SESSION: Id = (
    "The id of the session that made its first revision",
    reference::<AgreementId>,
);

/// The lists, by the forms of their queries; of interactions there is none.
static LISTS: [List; 4] = [
    List::of::<OfNegotiations>(
        &NEGOTIATION,
        "listNegotiations",
        form::<NegotiationsAnswer>,
        "negotiation",
    ),
    List::of::<OfSessions>(&SESSION, "listSessions", form::<SessionsAnswer>, "id"),
    List::of::<OfAgreements>(&AGREEMENT, "listAgreements", form::<AgreementsAnswer>, "id"),
    List::of::<OfRounds>(&ROUND, "listRounds", form::<RoundsAnswer>, "round"),
];

/// Adds the routes of every kind.
pub(super) fn add<C: Clock>(mut routes: Routes<Arc<App<C>>>) -> Routes<Arc<App<C>>> {
    for kind in KINDS {
        let of_kind = |operation_id, summary, (description, schema): Id, answer| OfKind {
            path: kind.path,
            tag: kind.tag,
            operation_id,
            summary,
            parameters: vec![id_parameter(description, schema())],
            answer,
        };
        let (read, stands, form) = kind.read;
        let (history, records) = kind.history;
        let records = Some(("Its records", records));
        let [of_read, of_history, of_bundle] = kind.summaries;
        routes = routes
            .add_for::<subject::__path_handle>(
                of_kind(read, of_read, kind.id, Some((stands, form))),
                get(subject::handle::<C>).layer(Extension(kind)),
            )
            .add_for::<history::__path_handle>(
                of_kind(history, of_history, kind.id, records),
                get(history::handle::<C>).layer(Extension(kind)),
            )
            .add_for::<bundle::__path_handle>(
                of_kind(kind.bundle, of_bundle, kind.id, None),
                get(bundle::handle::<C>).layer(Extension(kind)),
            );
        if let Some((erasure, id)) = kind.erasure {
            routes = routes.add_for::<erasure::__path_handle>(
                of_kind(erasure, None, id, None),
                post(erasure::handle::<C>).layer(Extension(kind)),
            );
        }
    }
    for list in &LISTS {
        let of_kind = OfKind {
            path: list.kind.path,
            tag: list.kind.tag,
            operation_id: list.operation_id,
            summary: None,
            parameters: (list.parameters)(),
            answer: Some(("In order of id", list.form)),
        };
        let handler = get(lists::handle::<C>).layer(Extension(list));
        routes = routes.add_for::<lists::__path_handle>(of_kind, handler);
    }
    routes
}

/// The answer of a row. That of a negotiation has its terms too.
pub(super) async fn answer<C: Clock>(
    app: &App<C>,
    row: &SubjectRow,
) -> Result<Response, ReadRefusal> {
    Ok(match row.subject {
        Subject::Contract(id) => Json(negotiation::page(app, id, row).await?).into_response(),
        Subject::Interaction(_)
        | Subject::Descriptor(_)
        | Subject::Session(_)
        | Subject::Agreement(_)
        | Subject::Round(_)
        | Subject::Conduct(_) => Json(subject::shown(row)).into_response(),
    })
}

/// The name under which an answer has the state of a row, and its members that are no columns.
pub(super) fn form_of(row: &SubjectRow) -> (&'static str, Value) {
    match row.subject {
        Subject::Interaction(_) => ("state", interaction(row)),
        Subject::Contract(_)
        | Subject::Descriptor(_)
        | Subject::Session(_)
        | Subject::Agreement(_)
        | Subject::Round(_)
        | Subject::Conduct(_) => ("status", row.detail.clone()),
    }
}

/// The members of an interaction's answer that are no columns. Its detail stays a member of its own.
fn interaction(row: &SubjectRow) -> Value {
    let (initiator, provider) = (row.members.first(), row.members.get(1));
    let mut shown = json!({ "initiator": initiator, "provider": provider, "detail": row.detail });
    if let Ok(total) = MicroUsdc::deserialize(&row.detail["offer"]["total"]) {
        shown["total"] = json!(total);
        shown["total_usdc"] = json!(total.to_usdc_decimal());
    }
    shown
}

/// The detail of a round, which hides its votes while it is open, and which the humans read who were asked.
pub(super) fn round_of(row: &SubjectRow) -> Option<&Value> {
    match row.subject {
        Subject::Round(_) => Some(&row.detail),
        Subject::Interaction(_)
        | Subject::Contract(_)
        | Subject::Descriptor(_)
        | Subject::Session(_)
        | Subject::Agreement(_)
        | Subject::Conduct(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use x811_world::erasure::is_ever_erased;

    #[test]
    fn every_kind_says_of_its_subjects_what_they_say_of_themselves() {
        const ID: &str = "0190a1b2-c3d4-7e5f-8901-234567890abc";
        for kind in KINDS {
            let written = [ID.to_owned(), format!("neg-{ID}")];
            let subject = written.iter().find_map(|id| (kind.subject)(id).ok());
            let subject = subject.unwrap();
            let path = format!("{}/{}", kind.path, subject.public_id());
            assert_eq!((subject.kind(), subject.path()), (kind.machine, path));
            assert_eq!(subject.noun(), kind.name);
            assert_eq!(kind.erasure.is_some(), is_ever_erased(subject));
            let is_listed = LISTS.iter().any(|list| list.kind.machine == kind.machine);
            assert_eq!(is_listed, subject.has_list());
        }
    }
}
