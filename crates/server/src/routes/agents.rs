//! `GET /api/v1/agents`: who is registered and may act, page by page, in order of registration, which
//! never changes (agents.md section 3).

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Asked, Bounded, MAX_INTEGER};
use crate::openapi::Refused;
use crate::openapi::schema::AgentUuid;
use axum::Json;
use axum::extract::State;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;
use x811_ledger::clock::Clock;
use x811_ledger::port::{LedgerStore as _, ReadModel as _};
use x811_protocol::answer::{AgentStatus, Availability, FoundAgent as Shown, TrustShown};
use x811_protocol::capability::version::Version;
use x811_protocol::did::Did;
use x811_protocol::json::{Limits, parse_strict};
use x811_protocol::time::TimestampMs;
use x811_world::World;
use x811_world::agent::Status;
use x811_world::row::FoundAgent;

/// Most agents in one answer.
const MAX_AGENTS: u64 = 100;

/// How many without a limit.
const DEFAULT_AGENTS: u64 = 20;

/// Most agents that are looked at for one answer: behind those it ends, with what it has found.
const MAX_LOOKED_AT: usize = 1_000;

/// What may be asked.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Question {
    /// Who offers this task type
    capability: Option<String>,
    /// Whose descriptor has a capability of this type, such as tool.api
    #[serde(rename = "type")]
    advertised: Option<String>,
    /// Whose descriptor supports this version; with `type`, of that type
    #[param(value_type = Option<String>, pattern = r"^(0|[1-9][0-9]{0,4})\.(0|[1-9][0-9]{0,4})\.(0|[1-9][0-9]{0,4})$")]
    version: Option<Version>,
    /// Whose score is at least this; 0.5 is a new agent's
    #[param(value_type = Option<String>, pattern = r"^(0(\.[0-9]{1,2})?|1(\.0{1,2})?)$")]
    trust_min: Option<Hundredths>,
    /// Who is so now, as far as this server knows
    #[param(value_type = Option<String>, pattern = "^(online|busy|offline|unknown)$")]
    availability: Option<Availability>,
    /// The `next` of the page before
    #[param(value_type = Option<u64>, maximum = 9_007_199_254_740_991_u64)]
    after: Option<Bounded<0, MAX_INTEGER>>,
    /// How many at most; 20 without it
    #[param(value_type = Option<u64>, minimum = 1, maximum = 100)]
    limit: Option<Bounded<1, MAX_AGENTS>>,
    /// `active`: nobody else is listed
    #[param(value_type = Option<String>, pattern = "^active$")]
    #[serde(rename = "status")]
    _status: Option<ActiveAlone>,
    /// How many to step over; `after` is stable, this is not
    #[param(value_type = Option<u64>, maximum = 1_000)]
    offset: Option<Bounded<0, MAX_OFFSET>>,
}

/// The one status that is listed.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ActiveAlone {
    Active,
}

/// Most agents that are stepped over; `after` goes further.
const MAX_OFFSET: u64 = 1_000;

/// A score from 0 to 1 with at most two digits behind the point, in hundredths.
struct Hundredths(u8);

impl<'de> Deserialize<'de> for Hundredths {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Hundredths, D::Error> {
        let text = String::deserialize(deserializer)?;
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, "0"));
        let is_fraction =
            matches!(fraction.len(), 1 | 2) && fraction.bytes().all(|byte| byte.is_ascii_digit());
        let hundredths = format!("{whole}{fraction:0<2}").parse();
        match hundredths {
            Ok(hundredths @ 0..=100) if is_fraction && matches!(whole, "0" | "1") => {
                Ok(Hundredths(hundredths))
            }
            _ => Err(D::Error::custom(
                "write a number from 0 to 1 with at most two digits behind the point",
            )),
        }
    }
}

/// A page of agents.
#[derive(Serialize, ToSchema)]
pub(super) struct AgentsAnswer {
    /// In order of registration.
    #[schema(max_items = 100)]
    agents: Vec<AgentFound>,
    /// Position of the last record that the page reflects.
    as_of: u64,
    /// For `after`; absent when there are no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
    /// How many the answer holds at most.
    limit: u64,
    /// How many it stepped over.
    offset: u64,
    /// How many there are, on the last page alone: the rows are not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
}

/// An agent that may act, with what the published SDK reads of it.
#[derive(Serialize, ToSchema)]
pub(super) struct AgentFound {
    #[serde(flatten)]
    shown: Shown,
    /// UUID of its DID.
    #[schema(value_type = AgentUuid)]
    id: Uuid,
    /// `active`: others are not found.
    status: AgentStatus,
    /// The score from 0 to 1.
    trust_score: f64,
    /// What it called itself; of agents that registered in the form of the published SDK.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

/// 200, also when nobody is found. `next` stands there while there may be more, on an empty page too.
#[utoipa::path(
    get,
    path = "/api/v1/agents",
    operation_id = "findAgents",
    tag = "agents",
    params(Question),
    responses((status = 200, description = "In order of registration", body = AgentsAnswer), Refused),
)]
pub(super) async fn handle<C: Clock>(
    State(app): State<Arc<App<C>>>,
    Asked(question): Asked<Question>,
) -> Result<Json<AgentsAnswer>, ApiError> {
    let as_of = app.rows_as_they_come().await.saturating_sub(1);
    let mut agents = Vec::new();
    let next = find(&app, &question, &mut agents).await?;
    let offset = question.offset.as_ref().map_or(0, |offset| offset.0);
    let stepped_over = agents
        .len()
        .min(usize::try_from(offset).unwrap_or(usize::MAX));
    agents.drain(..stepped_over);
    let limit = question
        .limit
        .as_ref()
        .map_or(DEFAULT_AGENTS, |limit| limit.0);
    let found = stepped_over + agents.len();
    name(&app, &mut agents).await?;
    let is_only_page = next.is_none() && question.after.is_none();
    Ok(Json(AgentsAnswer {
        agents,
        as_of,
        next,
        limit,
        offset,
        total: is_only_page.then_some(found),
    }))
}

/// Adds what agents that registered in the form of the published SDK call themselves (decision 0190).
async fn name<C: Clock>(app: &App<C>, agents: &mut [AgentFound]) -> Result<(), ApiError> {
    let world = app.ledger.world();
    let registered = |agent: &AgentFound| {
        let agent = world.agent(agent.shown.did)?;
        agent.reference_sdk.map(|_| agent.position)
    };
    let positions: Vec<u64> = agents.iter().filter_map(registered).collect();
    if positions.is_empty() {
        return Ok(());
    }
    let bodies = app.ledger.store().bodies(&positions).await?;
    for agent in agents {
        let body = registered(agent).and_then(|position| bodies.get(&position));
        let body = body.and_then(|body| parse_strict(&body.bytes, &Limits::bytes(usize::MAX)).ok());
        agent.name = body.and_then(|body| body["payload"]["name"].as_str().map(str::to_owned));
    }
    Ok(())
}

/// Looks through the rows until the page is full; returns behind which row there may be more.
async fn find<C: Clock>(
    app: &App<C>,
    question: &Question,
    agents: &mut Vec<AgentFound>,
) -> Result<Option<u64>, ApiError> {
    let limit = question
        .limit
        .as_ref()
        .map_or(DEFAULT_AGENTS, |limit| limit.0);
    let offset = question.offset.as_ref().map_or(0, |offset| offset.0);
    let limit = usize::try_from(limit + offset).unwrap_or(usize::MAX);
    let mut after = question.after.as_ref().map(|after| after.0);
    let mut looked_at = 0;
    while looked_at < MAX_LOOKED_AT {
        let capability = question.capability.as_deref();
        let rows = app.ledger.read_model().agents(capability, after, limit);
        let rows = rows.await?;
        looked_at += rows.len();
        let is_last = rows.len() < limit;
        for found in rows {
            after = Some(found.row.registered_position);
            agents.extend(shown(app, question, found));
            if agents.len() == limit {
                return Ok(after);
            }
        }
        if is_last {
            return Ok(None);
        }
    }
    Ok(after)
}

/// Whether the agent's descriptor has what is asked for, if anything is.
fn advertises(world: &World, question: &Question, agent: Did) -> bool {
    let (asked, version) = (question.advertised.as_deref(), question.version);
    if asked.is_none() && version.is_none() {
        return true;
    }
    let Some(live) = world.descriptor(agent) else {
        return false;
    };
    let descriptor = &live.state.descriptor;
    descriptor.capabilities.iter().any(|offered| {
        asked.is_none_or(|asked| asked == offered.capability)
            && version.is_none_or(|version| offered.range(&descriptor.protocol).supports(version))
    })
}

/// An agent as the page shows it; `None` for one that is not asked for.
fn shown<C: Clock>(app: &App<C>, question: &Question, found: FoundAgent) -> Option<AgentFound> {
    let row = found.row;
    let is_over = |expires: TimestampMs| app.ledger.now() > expires;
    let may_act = row.status == Status::Active && !row.expires_at_ms.is_some_and(is_over);
    let least = question.trust_min.as_ref().map_or(0, |least| least.0);
    let (availability, _) = app.presence.of(row.did, app.clock.monotonic_ms());
    let is_so = question
        .availability
        .is_none_or(|asked| asked == availability);
    let is_advertised = advertises(&app.ledger.world(), question, row.did);
    if !may_act || !is_advertised || row.trust.score_hundredths() < least || !is_so {
        return None;
    }
    Some(AgentFound {
        shown: Shown {
            did: row.did,
            position: row.registered_position,
            capabilities: found.capabilities,
            availability,
            trust: TrustShown::of(row.trust, found.distinct_payers),
        },
        id: row.did.uuid(),
        status: AgentStatus::Active,
        trust_score: f64::from(row.trust.score_hundredths()) / 100.0,
        name: None,
    })
}
