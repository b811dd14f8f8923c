//! Rows of subjects, and the index of their members: how they are written and read back.

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use uuid::Uuid;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;
use x811_world::row::{MemberRow, SubjectRow};

use crate::sqlite::error::{StoreError, UniqueKey};
use crate::sqlite::insert::{Row, Statements, Table, insert};
use crate::sqlite::row_name::named;

static SUBJECTS: Table<SubjectRow<String>> = Table {
    into: "subjects (kind, id, state, members, deadline_at_ms, opened_at_ms, updated_at_ms, \
           last_position, detail, sum)",
    columns: 10,
    on_conflict: " ON CONFLICT (kind, id) DO UPDATE SET state = excluded.state, \
                  members = excluded.members, deadline_at_ms = excluded.deadline_at_ms, \
                  opened_at_ms = excluded.opened_at_ms, updated_at_ms = excluded.updated_at_ms, \
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

const SELECT_ONE: &str = "SELECT kind, id, state, members, deadline_at_ms, opened_at_ms, updated_at_ms, \
     last_position, detail, sum FROM subjects WHERE kind = ? AND id = ?";

const SELECT_ALL: &str = "SELECT kind, id, state, members, deadline_at_ms, opened_at_ms, updated_at_ms, \
     last_position, detail, sum FROM subjects \
     WHERE kind = ? AND id > ? ORDER BY id LIMIT +?";

const SELECT_OF_MEMBER: &str = "SELECT s.kind, s.id, s.state, s.members, s.deadline_at_ms, \
     s.opened_at_ms, s.updated_at_ms, s.last_position, s.detail, s.sum \
     FROM subject_members m CROSS JOIN subjects s ON s.kind = m.kind AND s.id = m.id \
     WHERE m.kind = ? AND m.member = ? AND m.id > ? ORDER BY m.id LIMIT +?";

const SELECT_MEMBERS: &str = "SELECT kind, member, id FROM subject_members \
     WHERE (kind, member, id) > (?, ?, ?) ORDER BY kind, member, id LIMIT +?";

/// A subject as its row has it.
struct Columns<'a> {
    kind: &'a str,
    /// The bytes of a UUID.
    id: &'a [u8],
    state: &'a str,
    /// The bytes of the UUIDs of DIDs, one after the other.
    members: &'a [u8],
    deadline_at_ms: Option<i64>,
    /// When it was opened and updated, and its last position.
    numbers: [i64; 3],
    detail: &'a str,
}

impl Columns<'_> {
    /// Sixteen bytes of SHA-256 over all of them, each of a fixed length or after its length.
    fn sum(&self) -> [u8; 16] {
        let number = |number: i64| number.to_be_bytes();
        let texts = [self.kind.len(), self.state.len(), self.members.len()];
        let digest = Digest::of_parts(&[
            &texts.map(usize::to_be_bytes).concat(),
            self.kind.as_bytes(),
            self.state.as_bytes(),
            self.members,
            self.id,
            &number(i64::from(self.deadline_at_ms.is_some())),
            &number(self.deadline_at_ms.unwrap_or_default()),
            &self.numbers.map(number).concat(),
            self.detail.as_bytes(),
        ]);
        let bytes = digest.as_bytes();
        std::array::from_fn(|at| bytes[at])
    }
}

fn bind_subject(row: &mut Row, subject: &SubjectRow<String>) {
    let id = subject.subject.uuid();
    let members: Vec<[u8; 16]> = subject
        .members
        .iter()
        .map(|did| did.uuid().into_bytes())
        .collect();
    let columns = Columns {
        kind: subject.subject.kind(),
        id: id.as_bytes(),
        state: &subject.state,
        members: members.as_flattened(),
        deadline_at_ms: subject.deadline_at_ms.map(|at| at.as_ms().cast_signed()),
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
        .push_bind(columns.deadline_at_ms);
    for number in columns.numbers {
        row.push_bind(number);
    }
    row.push_bind(columns.detail).push_bind(&sum[..]);
}

fn bind_member(row: &mut Row, entry: &MemberRow) {
    row.push_bind(entry.kind.clone())
        .push_bind(entry.member.uuid().as_bytes().as_slice())
        .push_bind(entry.id.as_bytes().as_slice());
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
        .bind(subject.uuid().into_bytes().to_vec())
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(read).transpose()
}

/// Rows of a machine in order of id, behind `after`; only those of `member`, if it is named.
pub(super) async fn page(
    connection: &mut SqliteConnection,
    kind: &str,
    member: Option<Did>,
    after: Option<Subject>,
    limit: i64,
) -> Result<Vec<SubjectRow>, StoreError> {
    // No id is an empty blob, and every id is greater than one.
    let after = after.map(|after| after.uuid().into_bytes().to_vec());
    let query = match member {
        None => sqlx::query(SELECT_ALL).bind(kind.to_owned()),
        Some(member) => sqlx::query(SELECT_OF_MEMBER)
            .bind(kind.to_owned())
            .bind(member.uuid().as_bytes().to_vec()),
    };
    let rows = query
        .bind(after.unwrap_or_default())
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
    let member = after.map(|after| after.member.uuid().into_bytes().to_vec());
    let id = after.map(|after| after.id.into_bytes().to_vec());
    let rows = sqlx::query(SELECT_MEMBERS)
        .bind(after.map(|after| after.kind.clone()).unwrap_or_default())
        .bind(member.unwrap_or_default())
        .bind(id.unwrap_or_default())
        .bind(limit)
        .fetch_all(connection)
        .await?;
    let table = "subject_members";
    let each = rows.iter();
    each.map(|row| read_member(row).map_err(|error| error.of_row(table, || named(row, 0..3))))
        .collect()
}

fn read_member(row: &SqliteRow) -> Result<MemberRow, StoreError> {
    let bad = |what: &str| StoreError::BadValue {
        table: "subject_members",
        what: what.to_owned(),
    };
    let [member, id] = [row.try_get(1)?, row.try_get(2)?].map(|bytes| Uuid::from_slice(bytes).ok());
    let member = member.and_then(|member| Did::from_uuid(member).ok());
    Ok(MemberRow {
        kind: row.try_get(0)?,
        member: member.ok_or_else(|| bad("a member that is no DID"))?,
        id: id.ok_or_else(|| bad("an id that is none"))?,
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
    let columns = columns(row)?;
    if row.try_get::<&[u8], _>(9)? != columns.sum() {
        return Err(bad("a row that is not as it was written"));
    }
    let at = |at_ms: i64| TimestampMs::new(at_ms.cast_unsigned());
    let [opened_at_ms, updated_at_ms, last_position] = columns.numbers;
    let id = Uuid::from_slice(columns.id).ok();
    let subject = id.and_then(|id| Subject::from_uuid(columns.kind, id));
    let members = columns.members.chunks(16).map(|bytes| {
        let uuid = Uuid::from_slice(bytes).ok()?;
        Did::from_uuid(uuid).ok()
    });
    let members: Option<Vec<Did>> = members.collect();
    Ok(SubjectRow {
        subject: subject.ok_or_else(|| bad("a subject that is none"))?,
        state: columns.state.to_owned(),
        members: members.ok_or_else(|| bad("a member that is no DID"))?,
        deadline_at_ms: columns.deadline_at_ms.map(at),
        opened_at_ms: at(opened_at_ms),
        updated_at_ms: at(updated_at_ms),
        last_position: last_position.cast_unsigned(),
        detail: serde_json::from_str(columns.detail)
            .map_err(|_| bad("a detail that is no JSON"))?,
    })
}

fn columns(row: &SqliteRow) -> Result<Columns<'_>, StoreError> {
    Ok(Columns {
        kind: row.try_get(0)?,
        id: row.try_get(1)?,
        state: row.try_get(2)?,
        members: row.try_get(3)?,
        deadline_at_ms: row.try_get(4)?,
        numbers: [row.try_get(5)?, row.try_get(6)?, row.try_get(7)?],
        detail: row.try_get(8)?,
    })
}
