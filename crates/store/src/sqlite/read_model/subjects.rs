//! Rows of subjects of machines beside interactions: how they are written and read back.

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use uuid::Uuid;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;
use x811_world::row::{DeadlineKind, MemberRow, SubjectRow};

use crate::sqlite::error::{StoreError, UniqueKey};
use crate::sqlite::insert::{Row, Statements, Table, insert};
use crate::sqlite::row_name::named;

static SUBJECTS: Table<SubjectRow<String>> = Table {
    into: "subjects (kind, id, state, members, deadline_at_ms, deadline_kind, opened_at_ms, \
           updated_at_ms, last_position, detail, sum)",
    columns: 11,
    on_conflict: " ON CONFLICT (kind, id) DO UPDATE SET state = excluded.state, \
                  members = excluded.members, deadline_at_ms = excluded.deadline_at_ms, \
                  deadline_kind = excluded.deadline_kind, opened_at_ms = excluded.opened_at_ms, \
                  updated_at_ms = excluded.updated_at_ms, \
                  last_position = excluded.last_position, detail = excluded.detail, \
                  sum = excluded.sum",
    key: UniqueKey::Subject,
    bind: bind_subject,
    statements: Statements::new(),
};

static MEMBERS: Table<MemberRow> = Table {
    into: "subject_members (kind, member, id)",
    columns: 3,
    on_conflict: " ON CONFLICT (kind, member, id) DO NOTHING",
    key: UniqueKey::Subject,
    bind: bind_member,
    statements: Statements::new(),
};

const SELECT_ONE: &str = "SELECT kind, id, state, members, deadline_at_ms, deadline_kind, \
     opened_at_ms, updated_at_ms, last_position, detail, sum FROM subjects \
     WHERE kind = ? AND id = ?";

const SELECT_ALL: &str = "SELECT kind, id, state, members, deadline_at_ms, deadline_kind, \
     opened_at_ms, updated_at_ms, last_position, detail, sum FROM subjects \
     WHERE kind = ? AND id > ? ORDER BY id LIMIT +?";

const SELECT_OF_MEMBER: &str = "SELECT s.kind, s.id, s.state, s.members, s.deadline_at_ms, \
     s.deadline_kind, s.opened_at_ms, s.updated_at_ms, s.last_position, s.detail, s.sum \
     FROM subject_members m CROSS JOIN subjects s ON s.kind = m.kind AND s.id = m.id \
     WHERE m.kind = ? AND m.member = ? AND m.id > ? ORDER BY m.id LIMIT +?";

const SELECT_MEMBERS: &str = "SELECT kind, member, id FROM subject_members \
     WHERE (kind, member, id) > (?, ?, ?) ORDER BY kind, member, id LIMIT +?";

/// A subject as its row has it.
struct Columns<'a> {
    kind: &'a str,
    id: &'a str,
    state: &'a str,
    /// DIDs, separated by spaces.
    members: &'a str,
    deadline_at_ms: Option<i64>,
    deadline_kind: Option<&'a str>,
    /// When it was opened and updated, and its last position.
    numbers: [i64; 3],
    detail: &'a str,
}

impl Columns<'_> {
    /// Sixteen bytes of SHA-256 over all of them as one JSON text.
    fn sum(&self) -> [u8; 16] {
        let all = serde_json::json!([
            self.kind,
            self.id,
            self.state,
            self.members,
            self.deadline_at_ms,
            self.deadline_kind,
            self.numbers,
            self.detail
        ]);
        let digest = Digest::of(all.to_string().as_bytes());
        let bytes = digest.as_bytes();
        std::array::from_fn(|at| bytes[at])
    }
}

fn bind_subject(row: &mut Row, subject: &SubjectRow<String>) {
    let id = subject.subject.id();
    let members: Vec<String> = subject.members.iter().map(Did::to_string).collect();
    let members = members.join(" ");
    let columns = Columns {
        kind: subject.subject.kind(),
        id: &id,
        state: &subject.state,
        members: &members,
        deadline_at_ms: subject.deadline_at_ms.map(|at| at.as_ms().cast_signed()),
        deadline_kind: subject.deadline_kind.map(DeadlineKind::as_str),
        numbers: [
            subject.opened_at_ms.as_ms().cast_signed(),
            subject.updated_at_ms.as_ms().cast_signed(),
            subject.last_position.cast_signed(),
        ],
        detail: &subject.detail,
    };
    let sum = columns.sum();
    row.push_bind(columns.kind)
        .push_bind(columns.id)
        .push_bind(columns.state)
        .push_bind(columns.members)
        .push_bind(columns.deadline_at_ms)
        .push_bind(columns.deadline_kind);
    for number in columns.numbers {
        row.push_bind(number);
    }
    row.push_bind(columns.detail).push_bind(&sum[..]);
}

fn bind_member(row: &mut Row, entry: &MemberRow) {
    row.push_bind(entry.kind.clone())
        .push_bind(entry.member.uuid().as_bytes().as_slice())
        .push_bind(entry.id.clone());
}

/// Writes rows; of a subject only its last one is among them.
pub(super) async fn write(
    connection: &mut SqliteConnection,
    rows: &[&SubjectRow<String>],
) -> Result<(), StoreError> {
    insert(connection, &SUBJECTS, rows).await?;
    let each = rows.iter();
    let members: Vec<MemberRow> = each
        .flat_map(|row| MemberRow::of(row.subject, &row.members))
        .collect();
    insert(connection, &MEMBERS, &members).await
}

pub(super) async fn one(
    connection: &mut SqliteConnection,
    subject: Subject,
) -> Result<Option<SubjectRow>, StoreError> {
    let row = sqlx::query(SELECT_ONE)
        .bind(subject.kind())
        .bind(subject.id())
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(read).transpose()
}

/// Rows of a machine in order of id, behind `after`; only those of `member`, if it is named.
pub(super) async fn page(
    connection: &mut SqliteConnection,
    kind: &str,
    member: Option<Did>,
    after: Option<&str>,
    limit: i64,
) -> Result<Vec<SubjectRow>, StoreError> {
    let after = after.unwrap_or_default();
    let query = match member {
        None => sqlx::query(SELECT_ALL).bind(kind.to_owned()),
        Some(member) => sqlx::query(SELECT_OF_MEMBER)
            .bind(kind.to_owned())
            .bind(member.uuid().as_bytes().to_vec()),
    };
    let rows = query
        .bind(after.to_owned())
        .bind(limit)
        .fetch_all(connection)
        .await?;
    rows.iter().map(read).collect()
}

/// Entries of the index from members to subjects, behind `after`.
pub(super) async fn members(
    connection: &mut SqliteConnection,
    after: Option<&MemberRow>,
    limit: i64,
) -> Result<Vec<MemberRow>, StoreError> {
    // No machine has an empty name, and every name is greater than one.
    let member = after.map(|after| after.member.uuid().as_bytes().to_vec());
    let rows = sqlx::query(SELECT_MEMBERS)
        .bind(after.map(|after| after.kind.clone()).unwrap_or_default())
        .bind(member.unwrap_or_default())
        .bind(after.map(|after| after.id.clone()).unwrap_or_default())
        .bind(limit)
        .fetch_all(connection)
        .await?;
    let table = "subject_members";
    let each = rows.iter();
    each.map(|row| read_member(row).map_err(|error| error.of_row(table, || named(row, 0..3))))
        .collect()
}

fn read_member(row: &SqliteRow) -> Result<MemberRow, StoreError> {
    let member = Uuid::from_slice(row.try_get(1)?).ok().map(Did::from_uuid);
    let member = member.and_then(Result::ok);
    Ok(MemberRow {
        kind: row.try_get(0)?,
        member: member.ok_or_else(|| StoreError::BadValue {
            table: "subject_members",
            what: "a member that is no DID".to_owned(),
        })?,
        id: row.try_get(2)?,
    })
}

fn read(row: &SqliteRow) -> Result<SubjectRow, StoreError> {
    read_columns(row).map_err(|error| error.of_row("subjects", || named(row, 0..2)))
}

fn read_columns(row: &SqliteRow) -> Result<SubjectRow, StoreError> {
    let bad = |what: &str| StoreError::BadValue {
        table: "subjects",
        what: what.to_owned(),
    };
    let columns = Columns {
        kind: row.try_get(0)?,
        id: row.try_get(1)?,
        state: row.try_get(2)?,
        members: row.try_get(3)?,
        deadline_at_ms: row.try_get(4)?,
        deadline_kind: row.try_get(5)?,
        numbers: [row.try_get(6)?, row.try_get(7)?, row.try_get(8)?],
        detail: row.try_get(9)?,
    };
    if row.try_get::<&[u8], _>(10)? != columns.sum() {
        return Err(bad("a row that is not as it was written"));
    }
    let at = |at_ms: i64| TimestampMs::new(at_ms.cast_unsigned());
    let [opened_at_ms, updated_at_ms, last_position] = columns.numbers;
    let members: Result<Vec<Did>, _> = columns.members.split(' ').map(str::parse).collect();
    Ok(SubjectRow {
        subject: format!("{}:{}", columns.kind, columns.id)
            .parse()
            .map_err(|_| bad("a subject that is none"))?,
        state: columns.state.to_owned(),
        members: members.map_err(|_| bad("a member that is no DID"))?,
        deadline_at_ms: columns.deadline_at_ms.map(at),
        deadline_kind: match columns.deadline_kind {
            None => None,
            Some("ledger") => Some(DeadlineKind::Ledger),
            Some("signed") => Some(DeadlineKind::Signed),
            Some(_) => return Err(bad("a kind of deadline that is none")),
        },
        opened_at_ms: at(opened_at_ms),
        updated_at_ms: at(updated_at_ms),
        last_position: last_position.cast_unsigned(),
        detail: serde_json::from_str(columns.detail)
            .map_err(|_| bad("a detail that is no JSON"))?,
    })
}
