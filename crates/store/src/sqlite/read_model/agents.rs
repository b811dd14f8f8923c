//! Rows of agents: who is registered, what they offer, what they have earned and who paid them.

use std::collections::BTreeMap;

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use uuid::Uuid;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::evm::EvmAddress;
use x811_protocol::time::TimestampMs;
use x811_protocol::trust::TrustCounters;
use x811_world::agent::Status;
use x811_world::row::{AgentRow, FoundAgent, MAX_PAYERS, TrustAsOf, TrustRow};

use crate::sqlite::error::{StoreError, UniqueKey};
use crate::sqlite::insert::{MAX_IN, Row, Statements, Table, insert};
use crate::sqlite::row_name::named;

static AGENTS: Table<AgentRow> = Table {
    into: "agents (registered_position, did, status, expires_at_ms, contested, d, f, s, sum)",
    columns: 9,
    on_conflict: " ON CONFLICT (registered_position) DO UPDATE SET status = excluded.status, \
                  expires_at_ms = excluded.expires_at_ms, contested = excluded.contested, \
                  d = excluded.d, f = excluded.f, s = excluded.s, sum = excluded.sum",
    key: UniqueKey::Agent,
    bind: bind_agent,
    statements: Statements::new(),
};

static CAPABILITIES: Table<(String, u64)> = Table {
    into: "agent_capabilities (name, registered_position)",
    columns: 2,
    on_conflict: " ON CONFLICT (name, registered_position) DO NOTHING",
    key: UniqueKey::Agent,
    bind: |row, (name, position)| {
        row.push_bind(name.clone())
            .push_bind(position.cast_signed());
    },
    statements: Statements::new(),
};

static TRUST: Table<TrustRow> = Table {
    into: "trust (did, position, contested, d, f, s, sum)",
    columns: 7,
    on_conflict: "",
    key: UniqueKey::Trust,
    bind: bind_trust,
    statements: Statements::new(),
};

static PAYERS: Table<(Did, EvmAddress, u64)> = Table {
    into: "trust_payers (did, account, position)",
    columns: 3,
    on_conflict: " ON CONFLICT (did, account) DO NOTHING",
    key: UniqueKey::Trust,
    bind: |row, (did, account, position)| {
        row.push_bind(did.uuid().as_bytes().as_slice())
            .push_bind(account.as_bytes().as_slice())
            .push_bind(position.cast_signed());
    },
    statements: Statements::new(),
};

/// The members of an agent on a page; its table is `a`.
macro_rules! found {
    ($from:literal) => {
        concat!(
            "SELECT a.registered_position, a.did, a.status, a.expires_at_ms, a.contested, a.d, a.f, \
             a.s, a.sum, \
             (SELECT json_group_array(name ORDER BY name) FROM agent_capabilities \
              WHERE registered_position = a.registered_position), \
             (SELECT count(*) FROM (SELECT 1 FROM trust_payers p WHERE p.did = a.did LIMIT ?1)) ",
            $from,
        )
    };
}

const SELECT_ALL: &str = found!(
    "FROM agents a WHERE a.registered_position > ?2 ORDER BY a.registered_position LIMIT ?3"
);

const SELECT_OFFERING: &str = found!(
    "FROM agent_capabilities c CROSS JOIN agents a \
     ON a.registered_position = c.registered_position \
     WHERE c.name = ?4 AND c.registered_position > ?2 ORDER BY c.registered_position LIMIT ?3"
);

const SELECT_TRUST: &str = "SELECT position, contested, d, f, s, sum FROM trust \
     WHERE did = ? AND position <= ? ORDER BY position DESC LIMIT 1";

const COUNT_PAYERS: &str = "SELECT count(*) FROM \
     (SELECT 1 FROM trust_payers WHERE did = ? AND position <= ? LIMIT ?)";

/// Changes of a batch. Of an agent only what it is at the end is written.
#[derive(Debug, Default)]
pub(super) struct Batch<'a> {
    pub(super) rows: BTreeMap<u64, &'a AgentRow>,
    pub(super) capabilities: BTreeMap<u64, &'a [String]>,
    pub(super) trust: Vec<&'a TrustRow>,
    pub(super) payers: Vec<(Did, EvmAddress, u64)>,
}

impl Batch<'_> {
    pub(super) async fn write(self, connection: &mut SqliteConnection) -> Result<(), StoreError> {
        let rows: Vec<_> = self.rows.into_values().collect();
        insert(connection, &AGENTS, &rows).await?;
        let positions: Vec<u64> = self.capabilities.keys().copied().collect();
        for some in positions.chunks(MAX_IN) {
            forget_capabilities(connection, some).await?;
        }
        let offered = self.capabilities.into_iter();
        let offered: Vec<(String, u64)> = offered
            .flat_map(|(position, names)| names.iter().map(move |name| (name.clone(), position)))
            .collect();
        insert(connection, &CAPABILITIES, &offered).await?;
        insert(connection, &TRUST, &self.trust).await?;
        insert(connection, &PAYERS, &self.payers).await
    }
}

async fn forget_capabilities(
    connection: &mut SqliteConnection,
    positions: &[u64],
) -> Result<(), StoreError> {
    let positions = serde_json::json!(positions).to_string();
    let statement = "DELETE FROM agent_capabilities \
                     WHERE registered_position IN (SELECT value FROM json_each(?))";
    sqlx::query(statement)
        .bind(positions)
        .execute(connection)
        .await?;
    Ok(())
}

/// Sixteen bytes of SHA-256 over the columns of a row, each of its own length.
fn sum(did: &[u8], status: &str, numbers: &[i64], expires_at_ms: Option<i64>) -> [u8; 16] {
    let numbers: Vec<u8> = numbers.iter().flat_map(|n| n.to_be_bytes()).collect();
    let expires = expires_at_ms.map(i64::to_be_bytes);
    let expires = expires.as_ref().map_or(&[][..], |bytes| bytes);
    let digest = Digest::of_parts(&[did, &numbers, expires, b"|", status.as_bytes()]);
    let bytes = digest.as_bytes();
    std::array::from_fn(|at| bytes[at])
}

fn numbers(position: u64, trust: TrustCounters) -> [i64; 5] {
    let TrustCounters { contested, d, f, s } = trust;
    let [contested, d, f, s] = [contested, d, f, s].map(i64::from);
    [position.cast_signed(), contested, d, f, s]
}

fn bind_agent(row: &mut Row, agent: &AgentRow) {
    let uuid = agent.did.uuid();
    let status = agent.status.as_str();
    let expires_at_ms = agent.expires_at_ms.map(|at| at.as_ms().cast_signed());
    let numbers = numbers(agent.registered_position, agent.trust);
    let sum = sum(uuid.as_bytes(), status, &numbers, expires_at_ms);
    row.push_bind(numbers[0])
        .push_bind(uuid.as_bytes().as_slice())
        .push_bind(status)
        .push_bind(expires_at_ms);
    for number in &numbers[1..] {
        row.push_bind(*number);
    }
    row.push_bind(&sum[..]);
}

fn bind_trust(row: &mut Row, trust: &TrustRow) {
    let uuid = trust.did.uuid();
    let numbers = numbers(trust.position, trust.trust);
    row.push_bind(uuid.as_bytes().as_slice());
    for number in &numbers {
        row.push_bind(*number);
    }
    let sum = sum(uuid.as_bytes(), "", &numbers, None);
    row.push_bind(&sum[..]);
}

/// Agents in order of registration behind `after`; only those that offer `capability`, if it is
/// named.
pub(super) async fn page(
    connection: &mut SqliteConnection,
    capability: Option<&str>,
    after: Option<u64>,
    limit: i64,
) -> Result<Vec<FoundAgent>, StoreError> {
    let Ok(after) = after.map_or(Ok(-1), i64::try_from) else {
        return Ok(Vec::new());
    };
    let query = sqlx::query(match capability {
        None => SELECT_ALL,
        Some(_) => SELECT_OFFERING,
    });
    let query = query.bind(MAX_PAYERS.cast_signed()).bind(after).bind(limit);
    let query = match capability {
        None => query,
        Some(name) => query.bind(name.to_owned()),
    };
    let rows = query.fetch_all(connection).await?;
    rows.iter().map(read_found).collect()
}

/// What `did` had earned as of the record at `as_of`.
pub(super) async fn trust(
    connection: &mut SqliteConnection,
    did: Did,
    as_of: u64,
) -> Result<TrustAsOf, StoreError> {
    let as_of = i64::try_from(as_of).unwrap_or(i64::MAX);
    let uuid = did.uuid().as_bytes().to_vec();
    let row = sqlx::query(SELECT_TRUST)
        .bind(uuid.clone())
        .bind(as_of)
        .fetch_optional(&mut *connection)
        .await?;
    let payers: i64 = sqlx::query_scalar(COUNT_PAYERS)
        .bind(uuid)
        .bind(as_of)
        .bind(MAX_PAYERS.cast_signed())
        .fetch_one(connection)
        .await?;
    Ok(TrustAsOf {
        row: row.as_ref().map(|row| read_trust(did, row)).transpose()?,
        distinct_payers: payers.cast_unsigned(),
    })
}

fn bad(table: &'static str, what: &str) -> StoreError {
    StoreError::BadValue {
        table,
        what: what.to_owned(),
    }
}

fn counters(
    table: &'static str,
    [contested, d, f, s]: [i64; 4],
) -> Result<TrustCounters, StoreError> {
    let counter =
        |number: i64| u32::try_from(number).map_err(|_| bad(table, "an impossible counter"));
    Ok(TrustCounters {
        contested: counter(contested)?,
        d: counter(d)?,
        f: counter(f)?,
        s: counter(s)?,
    })
}

fn read_trust(did: Did, row: &SqliteRow) -> Result<TrustRow, StoreError> {
    let read = read_counters(did, row);
    read.map_err(|error| error.of_row("trust", || format!("{did} {}", named(row, 0..1))))
}

fn read_counters(did: Did, row: &SqliteRow) -> Result<TrustRow, StoreError> {
    let numbers: [i64; 5] = [
        row.try_get(0)?,
        row.try_get(1)?,
        row.try_get(2)?,
        row.try_get(3)?,
        row.try_get(4)?,
    ];
    if row.try_get::<&[u8], _>(5)? != sum(did.uuid().as_bytes(), "", &numbers, None) {
        return Err(bad("trust", "a row that is not as it was written"));
    }
    let [position, counts @ ..] = numbers;
    Ok(TrustRow {
        did,
        position: position.cast_unsigned(),
        trust: counters("trust", counts)?,
    })
}

fn read_found(row: &SqliteRow) -> Result<FoundAgent, StoreError> {
    read_columns(row).map_err(|error| error.of_row("agents", || named(row, 0..1)))
}

fn read_columns(row: &SqliteRow) -> Result<FoundAgent, StoreError> {
    let bad = |what| bad("agents", what);
    let numbers: [i64; 5] = [
        row.try_get(0)?,
        row.try_get(4)?,
        row.try_get(5)?,
        row.try_get(6)?,
        row.try_get(7)?,
    ];
    let (uuid, status): (&[u8], &str) = (row.try_get(1)?, row.try_get(2)?);
    let expires_at_ms: Option<i64> = row.try_get(3)?;
    if row.try_get::<&[u8], _>(8)? != sum(uuid, status, &numbers, expires_at_ms) {
        return Err(bad("a row that is not as it was written"));
    }
    let did = Uuid::from_slice(uuid).ok().map(Did::from_uuid);
    let did = did.and_then(Result::ok);
    let known = [Status::Active, Status::Deactivated, Status::Revoked];
    let status = known.into_iter().find(|known| known.as_str() == status);
    let capabilities: &str = row.try_get(9)?;
    let [position, counts @ ..] = numbers;
    Ok(FoundAgent {
        row: AgentRow {
            registered_position: position.cast_unsigned(),
            did: did.ok_or_else(|| bad("a DID that is none"))?,
            status: status.ok_or_else(|| bad("a status that is none"))?,
            expires_at_ms: expires_at_ms.map(|at| TimestampMs::new(at.cast_unsigned())),
            trust: counters("agents", counts)?,
        },
        capabilities: serde_json::from_str(capabilities)
            .map_err(|_| bad("capabilities that are no list"))?,
        distinct_payers: row.try_get::<i64, _>(10)?.cast_unsigned(),
    })
}
