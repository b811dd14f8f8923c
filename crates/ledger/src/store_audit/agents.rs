//! Rows of agents: who is registered, what they offer and what they have earned (agents.md sections 3 and 4).
//! No rule reads them, and readers choose by them whom to deal with: whoever gains by a better name need not
//! touch the log.
//!
//! Trust and payers are compared as of the last record that was read, however far the rows are; the rest only
//! where they stand there too. What the rows say of earlier records is not compared.

use std::collections::BTreeSet;

use x811_audit::rows::AgentRows;
use x811_eventlog::ReadError;
use x811_protocol::did::Did;
use x811_protocol::trust::TrustCounters;
use x811_world::World;
use x811_world::agent::Agent;
use x811_world::row::{AgentRow, FoundAgent};

use crate::port::ReadModel;

/// Rows read at a time.
const PAGE: usize = 1_000;

/// A row that is not what the log adds up to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WrongAgent {
    pub(super) did: Did,
    /// Of its registration.
    pub(super) position: u64,
    pub(super) field: &'static str,
    pub(super) sentence: String,
}

/// Compares rows that reflect at least the `size` records which led to `world`: how many agents, and
/// what is wrong.
///
/// # Errors
/// When the rows cannot be read.
pub(super) async fn compare<R: ReadModel>(
    due_rows: &AgentRows,
    world: &World,
    size: u64,
    rows: &R,
) -> Result<(u64, Vec<WrongAgent>), ReadError> {
    let (mut listed, mut wrong) = (BTreeSet::new(), Vec::new());
    let mut after = None;
    loop {
        let page = rows.agents(None, after, PAGE).await?;
        let Some(last) = page.last() else {
            break;
        };
        after = Some(last.row.registered_position);
        let is_ahead = rows.applied_size().await? > size;
        for found in page.iter().filter(|it| it.row.registered_position < size) {
            listed.insert(found.row.did);
            if !is_ahead && !is_due(world, found) {
                let sentence = "the row of the agent says what the log does not say";
                wrong.push(wrong_row(&found.row, "agents", sentence.to_owned()));
            }
        }
    }
    let mut compared = 0;
    for (did, agent) in world.registered() {
        compared += 1;
        let due = due_row(world, did, agent);
        if !listed.contains(&did) {
            let sentence = "the log knows this agent, but it has no row";
            wrong.push(wrong_row(&due, "agents", sentence.to_owned()));
        }
        let found = rows.trust(did, size.saturating_sub(1)).await?;
        let earned = found.row.map_or(TrustCounters::NONE, |row| row.trust);
        let payers = due_rows.payers(did);
        if earned != due.trust || found.distinct_payers != payers {
            let sentence = format!(
                "the rows say that it earned {earned:?} from {} accounts, the log says {:?} from {payers}",
                found.distinct_payers, due.trust
            );
            wrong.push(wrong_row(&due, "trust", sentence));
        }
    }
    Ok((compared, wrong))
}

fn wrong_row(row: &AgentRow, field: &'static str, sentence: String) -> WrongAgent {
    WrongAgent {
        did: row.did,
        position: row.registered_position,
        field,
        sentence,
    }
}

fn due_row(world: &World, did: Did, agent: &Agent) -> AgentRow {
    AgentRow {
        registered_position: agent.position,
        did,
        status: agent.status,
        expires_at_ms: agent.expires_at_ms,
        trust: world.trust(did),
    }
}

/// Whether a row is what the log says. Payers are compared by the rows of trust.
fn is_due(world: &World, found: &FoundAgent) -> bool {
    let did = found.row.did;
    world.agent(did).is_some_and(|agent| {
        let offered: BTreeSet<&String> = agent.capabilities.iter().collect();
        found.row == due_row(world, did, agent)
            && offered == found.capabilities.iter().collect::<BTreeSet<_>>()
    })
}
