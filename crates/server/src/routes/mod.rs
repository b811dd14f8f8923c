//! The HTTP interface (ledger-contract.md section 6). Where subjects of several kinds have the same endpoint
//! (`bundle`, `history`, `erasure`, `lists`), one file has all of them, and so it is with what there is of an agent,
//! of the log and for the published SDK.
//!
//! | method and path | what |
//! |---|---|
//! | `POST /api/v1/messages` | submit an envelope; registration is one too |
//! | `POST /api/v1/agents` | registration of the published SDK, where that is taken |
//! | `GET /api/v1/agents` | who there is: `capability`, `trust_min`, `availability`, `after`, `limit` |
//! | `GET /api/v1/agents/{uuid}` | a registered agent |
//! | `DELETE /api/v1/agents/{uuid}` | ¶it takes part no more, in the form of the published SDK |
//! | `GET /api/v1/agents/{uuid}/agent-card.json` | its A2A card, as this ledger sees it |
//! | `GET /api/v1/agents/{uuid}/card` | its card for the published SDK, where that is taken |
//! | `GET /api/v1/agents/{uuid}/status` | whether it may act and is there |
//! | `GET /api/v1/agents/{uuid}/trust` | what it has earned: `as_of` |
//! | `POST /api/v1/agents/{uuid}/heartbeat` | ¶that it is there: `ttl_s`, `availability` |
//! | `GET /api/v1/agents/{uuid}/did` | its DID document |
//! | `GET /api/v1/agents/{uuid}/capabilities` | what it says that it can do, signed: `min_position` |
//! | `GET /api/v1/agents/{uuid}/capabilities/bundle` | every revision of it, and what this rests on |
//! | `GET /api/v1/agents/{uuid}/keys` | the records that gave it its keys: `after_seq`, `limit` |
//! | `GET /api/v1/messages/{uuid}` | *its inbox: `after`, `limit`, `wait_ms`, `instance` |
//! | `GET /api/v1/messages/{uuid}/stream` | §the same as it comes: `after`, `instance`, `token` |
//! | `POST /api/v1/messages/{uuid}/ack` | ¶how far it has dealt with them: `through` |
//! | `POST /api/v1/tokens` | ¶a short-lived token: `scope`, `ttl_s` |
//! | `GET /api/v1/messages/by-id/{id}` | *an accepted envelope and its first answer |
//! | `GET /api/v1/interactions/{id}` | *an interaction: `min_position` |
//! | `GET /api/v1/interactions/{id}/settlement` | *where its money is: `min_position` |
//! | `GET /api/v1/interactions/{id}/history` | *its records: `after_seq`, `limit`, `min_position` |
//! | `GET /api/v1/interactions/{id}/bundle` | *it and what it rests on, to be audited offline |
//! | `GET /api/v1/interactions/{id}/receipt` | *proof of its payment, for anybody |
//! | `POST /api/v1/interactions/{id}/erasure` | ‡have bodies erased: `reason_code` |
//! | `GET /api/v1/negotiations` | *an agent's: `party`, `after`, `limit`, `min_position` |
//! | `GET /api/v1/negotiations/{id}` | *a negotiation as a contract: `min_position` |
//! | `GET /api/v1/negotiations/{id}/history` | *its records: `after_seq`, `limit`, `min_position` |
//! | `GET /api/v1/negotiations/{id}/bundle` | *it and what it rests on, to be audited offline |
//! | `POST /api/v1/negotiations/{id}/erasure` | ‡have its bodies erased: `reason_code` |
//! | `GET /api/v1/sessions` | *an agent's: `party`, `after`, `limit`, `min_position` |
//! | `GET /api/v1/sessions/{id}` | *a session about a capability: `min_position` |
//! | `GET /api/v1/sessions/{id}/history` | *its records: `after_seq`, `limit`, `min_position` |
//! | `GET /api/v1/sessions/{id}/bundle` | *it and what it rests on, to be audited offline |
//! | `POST /api/v1/sessions/{id}/erasure` | ‡have its bodies erased: `reason_code` |
//! | `GET /api/v1/agents/{uuid}/conduct` | *breaches that it answers for: `min_position` |
//! | `POST /api/v1/agents/{uuid}/conduct/lift` | ‡lift its exclusion from sessions: `excluded` |
//! | `GET /api/v1/agreements` | *an agent's: `party`, `consumer`, `provider`, `type`, `as_of`, `after`, `limit`, `min_position` |
//! | `GET /api/v1/agreements/{id}` | *an agreement: `min_position` |
//! | `GET /api/v1/agreements/{id}/history` | *its records: `after_seq`, `limit`, `min_position` |
//! | `GET /api/v1/agreements/{id}/bundle` | *it and what it rests on, to be audited offline |
//! | `GET /api/v1/agreements/{id}/jws` | *what both signed, for strangers' tools: `revision` |
//! | `POST /api/v1/agreements/{id}/erasure` | ‡have its bodies erased: `reason_code` |
//! | `GET /api/v1/rounds` | *an agent's: `member`, `after`, `limit`, `min_position` |
//! | `GET /api/v1/rounds/{id}` | *a round: `min_position` |
//! | `GET /api/v1/rounds/{id}/history` | *its records: `after_seq`, `limit`, `min_position` |
//! | `GET /api/v1/rounds/{id}/bundle` | *it and what it rests on, once it is decided, to be audited offline |
//! | `GET /api/v1/escalations` | *rounds that wait for a human: `after`, `limit`, `min_position` |
//! | `GET /api/v1/escalations/{id}` | *what a human decides on: `min_position` |
//! | `GET /api/v1/traces/{wid}` | *what a round and its retries rest on, signed: `format`, `min_position` |
//! | `GET /api/v1/records/{position}/proof` | *that a record is in the log, as a file |
//! | `GET /log/checkpoint` | the last signed checkpoint |
//! | `GET /log/refresh/{size}` | that it goes on where one over so many records ended, and by which keys |
//! | `GET /log/tile/{level}/{index}`, `/log/tile/entries/{index}` | †the log in tiles |
//! | `GET /.well-known/did.json`, `/.well-known/x811.json` | who this ledger is |
//! | `GET /.well-known/agent-card.json` | the same as an A2A card |
//! | `GET /.well-known/x811-keys` | which keys it has and had, signed |
//! | `GET /health`, `GET /ready` | whether it runs, whether it takes messages |
//! | `GET /openapi.json`, `/docs` | all of this for programs, and rendered |
//!
//! Messages come past the router: see `front`.
//!
//! The starred ones are others' business: see `signed_read`. † is for auditors, or for everybody
//! where the operator said so. ‡ is for operators, signed like a read. § is read by a signature or by
//! a token in the query. ¶ is signed by the agent itself.

mod acknowledge;
mod agent;
mod agent_card;
mod agents;
mod agreement_jws;
mod agreement_list;
mod bundle;
mod conduct;
mod did_document;
mod erasure;
mod escalation;
mod front;
mod health;
mod heartbeat;
mod history;
mod inbox;
mod interaction;
mod listing;
mod lists;
mod log;
mod message_by_id;
mod negotiation;
mod post_message;
mod ready;
mod receipt;
mod round_readers;
mod sdk;
mod settlement;
mod stream;
mod stream_page;
mod subject;
mod tokens;
mod trace;
mod well_known;

pub(crate) use front::Front;
pub(crate) use ready::{sight_word, unready};

use crate::app::App;
use crate::error::ApiError;
use crate::openapi::Routes;
use crate::request_log;
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{delete, get, post};
use std::sync::Arc;
use x811_ledger::clock::Clock;

/// What is served.
pub(crate) fn router<C: Clock>(app: &Arc<App<C>>) -> Router {
    all()
        .described()
        .fallback(nothing_here)
        .method_not_allowed_fallback(other_method)
        .layer(from_fn_with_state(app.clone(), request_log::layer::<C>))
        .with_state(app.clone())
}

pub(crate) fn all<C: Clock>() -> Routes<Arc<App<C>>> {
    Routes::new()
        .add::<post_message::__path_handle>(post(post_message::handle::<C>))
        .add::<agents::__path_handle>(get(agents::handle::<C>))
        .add::<sdk::__path_register>(post(sdk::register::<C>))
        .add::<agent::__path_registered>(get(agent::registered::<C>))
        .add::<sdk::__path_deactivate>(delete(sdk::deactivate::<C>))
        .add::<agent_card::__path_handle>(get(agent_card::handle::<C>))
        .add::<agent_card::__path_ledger>(get(agent_card::ledger::<C>))
        .add::<sdk::__path_card>(get(sdk::card::<C>))
        .add::<agent::__path_status>(get(agent::status::<C>))
        .add::<agent::__path_trust>(get(agent::trust::<C>))
        .add::<heartbeat::__path_handle>(post(heartbeat::handle::<C>))
        .add::<did_document::__path_handle>(get(did_document::handle::<C>))
        .add::<agent::__path_keys>(get(agent::keys::<C>))
        .add::<well_known::__path_did>(get(well_known::did::<C>))
        .add::<well_known::__path_ledger>(get(well_known::ledger::<C>))
        .add::<well_known::__path_keys>(get(well_known::keys::<C>))
        .add::<health::__path_handle>(get(health::handle))
        .add::<ready::__path_handle>(get(ready::handle::<C>))
        .add::<inbox::__path_handle>(get(inbox::handle::<C>))
        .add::<stream::__path_handle>(get(stream::handle::<C>))
        .add::<acknowledge::__path_handle>(post(acknowledge::handle::<C>))
        .add::<tokens::__path_handle>(post(tokens::handle::<C>))
        .add::<message_by_id::__path_handle>(get(message_by_id::handle::<C>))
        .add::<interaction::__path_handle>(get(interaction::handle::<C>))
        .add::<settlement::__path_handle>(get(settlement::handle::<C>))
        .add::<history::__path_of_interaction>(get(history::of_interaction::<C>))
        .add::<bundle::__path_of_interaction>(get(bundle::of_interaction::<C>))
        .add::<agent::__path_capabilities>(get(agent::capabilities::<C>))
        .add::<bundle::__path_of_capabilities>(get(bundle::of_capabilities::<C>))
        .add::<lists::__path_negotiations>(get(lists::negotiations::<C>))
        .add::<negotiation::__path_handle>(get(negotiation::handle::<C>))
        .add::<history::__path_of_negotiation>(get(history::of_negotiation::<C>))
        .add::<bundle::__path_of_negotiation>(get(bundle::of_negotiation::<C>))
        .add::<erasure::__path_of_negotiation>(post(erasure::of_negotiation::<C>))
        .add::<lists::__path_sessions>(get(lists::sessions::<C>))
        .add::<agreement_list::__path_handle>(get(agreement_list::handle::<C>))
        .add::<subject::__path_session>(get(subject::session::<C>))
        .add::<history::__path_of_session>(get(history::of_session::<C>))
        .add::<bundle::__path_of_session>(get(bundle::of_session::<C>))
        .add::<erasure::__path_of_session>(post(erasure::of_session::<C>))
        .add::<erasure::__path_of_agreement>(post(erasure::of_agreement::<C>))
        .add::<bundle::__path_of_agreement>(get(bundle::of_agreement::<C>))
        .add::<agreement_jws::__path_handle>(get(agreement_jws::handle::<C>))
        .add::<subject::__path_agreement>(get(subject::agreement::<C>))
        .add::<history::__path_of_agreement>(get(history::of_agreement::<C>))
        .add::<lists::__path_rounds>(get(lists::rounds::<C>))
        .add::<subject::__path_round>(get(subject::round::<C>))
        .add::<history::__path_of_round>(get(history::of_round::<C>))
        .add::<bundle::__path_of_round>(get(bundle::of_round::<C>))
        .add::<lists::__path_escalations>(get(lists::escalations::<C>))
        .add::<escalation::__path_handle>(get(escalation::handle::<C>))
        .add::<trace::__path_handle>(get(trace::handle::<C>))
        .add::<receipt::__path_handle>(get(receipt::handle::<C>))
        .add::<conduct::__path_read>(get(conduct::read::<C>))
        .add::<conduct::__path_lift>(post(conduct::lift::<C>))
        .add::<erasure::__path_of_interaction>(post(erasure::of_interaction::<C>))
        .add::<log::__path_proof>(get(log::proof::<C>))
        .add::<log::__path_checkpoint>(get(log::checkpoint::<C>))
        .add::<log::__path_refreshed>(get(log::refreshed::<C>))
        .add_below::<log::__path_entries>(get(log::entries::<C>))
        .add_below::<log::__path_hashes>(get(log::hashes::<C>))
}

async fn nothing_here() -> ApiError {
    ApiError::not_found(
        "nothing is served at this path: GET /.well-known/x811.json says who we are",
    )
}

async fn other_method() -> ApiError {
    ApiError::method_not_allowed()
}
