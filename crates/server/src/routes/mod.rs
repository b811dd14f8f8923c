//! The HTTP interface (ledger-contract.md section 6). One file has all that there is of an agent, of the log and for the
//! published SDK. Subjects of every kind have the same routes (`subjects`): `{kind}` is `interactions`,
//! `negotiations`, `sessions`, `agreements` or `rounds`; interactions have no list, and of rounds nothing is erased.
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
//! | `GET /api/v1/{kind}` | *an agent's subjects of a kind: `party`, of rounds `member`, `after`, `limit`, `min_position`; of agreements also `consumer`, `provider`, `type`, `as_of` |
//! | `GET /api/v1/{kind}/{id}` | *a subject as it stands: `min_position` |
//! | `GET /api/v1/{kind}/{id}/history` | *its records: `after_seq`, `limit`, `min_position` |
//! | `GET /api/v1/{kind}/{id}/bundle` | *it and what it rests on, to be audited offline; of a round once it is decided |
//! | `POST /api/v1/{kind}/{id}/erasure` | ‡have bodies erased: `reason_code` |
//! | `GET /api/v1/interactions/{id}/settlement` | *where its money is: `min_position` |
//! | `GET /api/v1/interactions/{id}/receipt` | *proof of its payment, for anybody |
//! | `GET /api/v1/agreements/{id}/jws` | *what both signed, for strangers' tools: `revision` |
//! | `GET /api/v1/agents/{uuid}/conduct` | *breaches that it answers for: `min_position` |
//! | `POST /api/v1/agents/{uuid}/conduct/lift` | ‡lift its exclusion from sessions: `excluded` |
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
mod list_queries;
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
mod subjects;
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
    subjects::add(Routes::new())
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
        .add::<settlement::__path_handle>(get(settlement::handle::<C>))
        .add::<agent::__path_capabilities>(get(agent::capabilities::<C>))
        .add::<bundle::__path_of_capabilities>(get(bundle::of_capabilities::<C>))
        .add::<agreement_jws::__path_handle>(get(agreement_jws::handle::<C>))
        .add::<escalation::__path_list>(get(escalation::list::<C>))
        .add::<escalation::__path_handle>(get(escalation::handle::<C>))
        .add::<trace::__path_handle>(get(trace::handle::<C>))
        .add::<receipt::__path_handle>(get(receipt::handle::<C>))
        .add::<conduct::__path_read>(get(conduct::read::<C>))
        .add::<conduct::__path_lift>(post(conduct::lift::<C>))
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
