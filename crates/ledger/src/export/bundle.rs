//! One interaction or contract and everything that its replay rests on, as lines.

use std::collections::{BTreeSet, VecDeque};

use x811_eventlog::{Checkpoint, CheckpointError, EventLog as _, Hash, ReadError, Record};
use x811_protocol::canonical::to_canonical;
use x811_protocol::event::{Event, LedgerEvent};
use x811_protocol::key::SecretKey;

use crate::port::{DamagedBody, LedgerStore, ReadModel};
use crate::proof::{self, ProofError};
use x811_audit::export::{
    Header, LastRecord, Scope, SignedEnd, StreamEnd, Trailer, has_links, links, opening,
};
use x811_audit::standing::Settling;
use x811_protocol::stream::{Stream, Subject};
use x811_world::keys_statement::SignedKeys;

/// Positions of a stream that are read at a time.
const POSITIONS: usize = 256;

/// Records of a piece, and bytes behind which no further record is put in.
const PIECE_RECORDS: usize = 32;
const PIECE_BYTES: usize = 1 << 16;

/// Why there is no bundle.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// It has no record under the checkpoint.
    #[error(
        "no {} {} is among the {size} records under the last checkpoint: look at its id, and ask \
         again in a second if it is new",
        subject.kind(), subject.public_id()
    )]
    NoSubject {
        /// The subject that was asked for.
        subject: Subject,
        /// Records that the checkpoint covers.
        size: u64,
    },
    /// The checkpoint is none.
    #[error("the checkpoint cannot be read: {0}")]
    Checkpoint(#[from] CheckpointError),
    /// The rows for readers have not come so far.
    #[error(
        "the rows for readers reflect {rows} records, the checkpoint covers {size}: ask again when \
         the ledger has caught up, or see what x811 doctor says"
    )]
    RowsBehind {
        /// Records the rows reflect.
        rows: u64,
        /// Records that the checkpoint covers.
        size: u64,
    },
    /// A record is not what it has to be.
    #[error("the record at position {position} is missing or no {expected}: audit the ledger")]
    Damaged {
        /// Position of the record.
        position: u64,
        /// What it has to be.
        expected: &'static str,
    },
    /// A body is not the one that was signed.
    #[error(transparent)]
    Body(#[from] DamagedBody),
    /// A body with a line end in it was not written by this ledger.
    #[error("the body at position {position} holds a line end: it was altered, audit the ledger")]
    BodyLine {
        /// Position of its record.
        position: u64,
    },
    /// Another key than the log names.
    #[error(
        "the checkpoint key at hand is not the one in force after {size} records: it was replaced \
         just now, ask again in a second"
    )]
    OtherKey {
        /// Records that the checkpoint covers.
        size: u64,
    },
    /// Checkpoint and keys statement are of different moments.
    #[error("the keys statement is not of the checkpoint over {size} records: ask again")]
    OtherStatement {
        /// Records that the checkpoint covers.
        size: u64,
    },
    /// The rows for readers lack the end of a stream, which would be signed as such.
    #[error(
        "the rows for readers end {stream} before the log does: rebuild them, x811 doctor --repair"
    )]
    Cut {
        /// Name of the stream.
        stream: String,
    },
    /// A proof could not be made from the log.
    #[error(transparent)]
    Proof(#[from] ProofError),
    /// The store cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A line cannot be written as JSON.
    #[error("header or trailer cannot be written: {0}")]
    Json(#[from] serde_json::Error),
}

/// A bundle on its way out, piece by piece: what is in memory does not depend on how long it gets.
/// The same log, checkpoint and key give the same bytes.
#[derive(Debug)]
pub struct SubjectBundle {
    header: Header,
    checkpoint: Checkpoint,
    note: String,
    keys: SignedKeys,
    /// In order of name.
    streams: Vec<Cursor>,
    stage: Stage,
    records: u64,
    last_hash: Hash,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Begin,
    Records,
    Over,
}

/// How far a stream was written.
#[derive(Debug)]
struct Cursor {
    stream: String,
    /// Positions read ahead, all under the checkpoint.
    ahead: VecDeque<u64>,
    /// Place in the stream behind those.
    next_seq: u64,
    /// Nothing of it follows under the checkpoint.
    is_read: bool,
    /// What the rows have of it next, which is not under the checkpoint.
    beyond: Option<u64>,
    /// Records that it has at least, whatever the rows say.
    at_least: u64,
    /// Records of it that were written.
    written: u64,
    last: Option<LastRecord>,
    /// What became of the payment, where this is an interaction's.
    settling: Option<Settling>,
}

impl SubjectBundle {
    /// Begins the bundle of `subject` under the checkpoint in `note`, which the caller has from
    /// the ledger itself, with the keys statement of the same records.
    ///
    /// # Errors
    /// [`BundleError`].
    pub async fn open<S: LedgerStore, R: ReadModel>(
        store: &S,
        rows: &R,
        subject: Subject,
        note: String,
        keys: SignedKeys,
    ) -> Result<SubjectBundle, BundleError> {
        let checkpoint = Checkpoint::claimed(&note)?;
        let size = checkpoint.size;
        if !keys.statement.is_of(&checkpoint) {
            return Err(BundleError::OtherStatement { size });
        }
        let applied = rows.applied_size().await?;
        if applied < size {
            return Err(BundleError::RowsBehind {
                rows: applied,
                size,
            });
        }
        let Event::Ledger(LedgerEvent::Opened(opened)) = event(&record_at(store, 0).await?)? else {
            return Err(damaged(0, "ledger_opened"));
        };
        let stream = Stream::Of(subject).to_string();
        let first = rows.stream_positions(&stream, 0, 1).await?;
        let first = first.first().filter(|position| **position < size);
        let first = *first.ok_or(BundleError::NoSubject { subject, size })?;
        let mut streams = vec![Stream::Ledger.to_string(), stream];
        streams.extend(beside(store, subject, first).await?);
        streams.extend(linked(store, rows, subject, size).await?);
        streams.sort_unstable();
        streams.dedup();
        let last = rows.subject(subject).await?.map(|row| row.last_position);
        let last = last.ok_or(damaged(first, "record of a subject that has a row"))?;
        let records = record_at(store, last).await?.stream_seq() + 1;
        let bundle = SubjectBundle {
            header: Header {
                opened,
                scope: Scope::Of(subject),
            },
            checkpoint,
            note,
            keys,
            streams: streams.into_iter().map(Cursor::new).collect(),
            stage: Stage::Begin,
            records: 0,
            last_hash: Hash::ZERO,
        };
        let own = Stream::Of(subject);
        Ok(bundle.reaching(|stream| (*stream == own).then_some(records)))
    }

    /// The same, refused when it is written unless every stream has as many records as `next_seq` says,
    /// as of a place in the log that the rows reflect. Of the subject itself it is held to its row.
    #[must_use]
    pub fn reaching(mut self, next_seq: impl Fn(&Stream) -> Option<u64>) -> SubjectBundle {
        for cursor in &mut self.streams {
            let known = cursor.stream.parse().ok();
            let known = known.and_then(|stream| next_seq(&stream));
            cursor.at_least = cursor.at_least.max(known.unwrap_or_default());
        }
        self
    }

    /// Rounds that it brings because its subject, another round, names them.
    pub fn named_rounds(&self) -> impl Iterator<Item = Subject> {
        let own = self.header.scope.subject();
        let streams = self
            .streams
            .iter()
            .filter_map(|cursor| cursor.stream.parse().ok());
        streams.filter_map(move |stream| {
            let Stream::Of(subject @ Subject::Round(_)) = stream else {
                return None;
            };
            Some(subject).filter(|subject| Some(*subject) != own)
        })
    }

    /// Records written so far.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The checkpoint that everything stands under.
    #[must_use]
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// The next piece, some whole lines; `None` behind the last. `store` and `rows` are those that
    /// it was opened with, and `key` is the ledger's checkpoint key.
    ///
    /// # Errors
    /// [`BundleError`]; what was given out before is then no bundle, for it has no trailer.
    pub async fn next_piece<S: LedgerStore, R: ReadModel>(
        &mut self,
        store: &S,
        rows: &R,
        key: &SecretKey,
    ) -> Result<Option<Vec<u8>>, BundleError> {
        match self.stage {
            Stage::Begin => {
                self.stage = Stage::Records;
                let mut piece = Vec::new();
                put_line(&mut piece, b"", &self.header.to_line()?);
                put_line(&mut piece, b"c ", &to_canonical(&self.note));
                put_line(&mut piece, b"k ", &self.keys.to_json());
                Ok(Some(piece))
            }
            Stage::Records => {
                let mut piece = Vec::new();
                let mut records = 0;
                while records < PIECE_RECORDS && piece.len() < PIECE_BYTES {
                    let Some(index) = self.next_stream(rows).await? else {
                        self.stage = Stage::Over;
                        self.check_ends(store).await?;
                        self.close(&mut piece, key)?;
                        break;
                    };
                    self.put_record(store, rows, index, &mut piece).await?;
                    records += 1;
                }
                Ok(Some(piece))
            }
            Stage::Over => Ok(None),
        }
    }

    /// The stream whose next record comes first.
    async fn next_stream<R: ReadModel>(&mut self, rows: &R) -> Result<Option<usize>, ReadError> {
        let mut first: Option<(u64, usize)> = None;
        for (index, cursor) in self.streams.iter_mut().enumerate() {
            if let Some(position) = cursor.next(rows, self.checkpoint.size).await?
                && first.is_none_or(|(known, _)| position < known)
            {
                first = Some((position, index));
            }
        }
        Ok(first.map(|(_, index)| index))
    }

    /// Writes the next record of a stream, its body and its path.
    async fn put_record<S: LedgerStore, R: ReadModel>(
        &mut self,
        store: &S,
        rows: &R,
        index: usize,
        piece: &mut Vec<u8>,
    ) -> Result<(), BundleError> {
        let Some((cursor, position)) = self
            .streams
            .get_mut(index)
            .and_then(|cursor| cursor.ahead.pop_front().map(|position| (cursor, position)))
        else {
            return Ok(());
        };
        let record = record_at(store, position).await?;
        cursor.check_place(&record)?;
        cursor.written += 1;
        if let Some(settling) = &mut cursor.settling {
            settling.take(&event(&record)?);
        }
        cursor.last = Some(LastRecord {
            seq: record.stream_seq(),
            hash: record.hash(),
        });
        put_line(piece, b"r ", record.bytes());
        if let Some(body) = store.bodies(&[position]).await?.remove(&position) {
            if let Some(header) = event(&record)?.envelope() {
                body.check(header.digest)?;
            }
            if body.bytes.contains(&b'\n') {
                return Err(BundleError::BodyLine { position });
            }
            put_line(piece, b"b ", &body.bytes);
        }
        let proof = proof::inclusion(rows, &record, &self.checkpoint).await?;
        put_line(piece, b"p ", &to_canonical(&proof.path));
        self.records += 1;
        self.last_hash = record.hash();
        Ok(())
    }

    /// Compares where each stream ends with what follows in it, or with what is known of it.
    async fn check_ends<S: LedgerStore>(&self, store: &S) -> Result<(), BundleError> {
        for cursor in &self.streams {
            match cursor.beyond {
                Some(position) => cursor.check_place(&record_at(store, position).await?)?,
                None if cursor.written < cursor.at_least => {
                    let stream = cursor.stream.clone();
                    return Err(BundleError::Cut { stream });
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Writes where each stream ends, and the trailer.
    fn close(&self, piece: &mut Vec<u8>, key: &SecretKey) -> Result<(), BundleError> {
        if key.public() != self.keys.statement.keys.checkpoint {
            let size = self.checkpoint.size;
            return Err(BundleError::OtherKey { size });
        }
        for cursor in &self.streams {
            put_line(
                piece,
                b"e ",
                &cursor.end(self.checkpoint.size, key).to_line(),
            );
        }
        let trailer = Trailer {
            head: self.last_hash,
            records: Some(self.records),
            root: self.checkpoint.root,
            size: self.checkpoint.size,
        };
        put_line(piece, b"", &trailer.to_line()?);
        Ok(())
    }
}

impl Cursor {
    fn new(stream: String) -> Cursor {
        let is_interaction = matches!(stream.parse(), Ok(Stream::Of(Subject::Interaction(_))));
        Cursor {
            settling: is_interaction.then(Settling::default),
            stream,
            ahead: VecDeque::new(),
            next_seq: 0,
            is_read: false,
            beyond: None,
            at_least: 0,
            written: 0,
            last: None,
        }
    }

    /// Position of the next record below `size`.
    async fn next<R: ReadModel>(&mut self, rows: &R, size: u64) -> Result<Option<u64>, ReadError> {
        if self.ahead.is_empty() && !self.is_read {
            let page = rows
                .stream_positions(&self.stream, self.next_seq, POSITIONS)
                .await?;
            let covered = page.iter().take_while(|position| **position < size);
            self.ahead.extend(covered);
            self.is_read = self.ahead.len() < POSITIONS;
            self.beyond = page.get(self.ahead.len()).copied();
            self.next_seq += self.ahead.len() as u64;
        }
        Ok(self.ahead.front().copied())
    }

    /// Whether the rows list `record` where it belongs: they are not believed.
    fn check_place(&self, record: &Record) -> Result<(), BundleError> {
        if record.stream() == self.stream && record.stream_seq() == self.written {
            Ok(())
        } else {
            Err(damaged(
                record.position(),
                "record of the place it is listed at",
            ))
        }
    }

    fn end(&self, tree_size: u64, key: &SecretKey) -> SignedEnd {
        let end = StreamEnd {
            stream: self.stream.clone(),
            last: self.last,
            standing: self.settling.as_ref().map(Settling::standing),
            tree_size,
        };
        end.sign(key)
    }
}

/// The streams of parties and networks that the replay rests on; `first` is the position of the first record
/// of the subject.
async fn beside<S: LedgerStore>(
    store: &S,
    subject: Subject,
    first: u64,
) -> Result<Vec<String>, BundleError> {
    let begun = event(&record_at(store, first).await?)?;
    let opening = opening(subject, &begun).ok_or(damaged(first, "first record of a subject"))?;
    let Some(position) = opening.parameters else {
        return Ok(opening.streams(None));
    };
    let Event::Ledger(LedgerEvent::ParametersSet(parameters)) =
        event(&record_at(store, position).await?)?
    else {
        return Err(damaged(position, "parameters_set"));
    };
    Ok(opening.streams(Some(&parameters)))
}

/// The streams that records of the subject's stream link to, and so on, among the first `size` records.
async fn linked<S: LedgerStore, R: ReadModel>(
    store: &S,
    rows: &R,
    subject: Subject,
    size: u64,
) -> Result<BTreeSet<String>, BundleError> {
    let (mut found, mut open) = (BTreeSet::new(), vec![Stream::Of(subject)]);
    while let Some(stream) = open.pop() {
        if !has_links(&stream) {
            continue;
        }
        let name = stream.to_string();
        let mut from_seq = 0;
        loop {
            let positions = rows.stream_positions(&name, from_seq, POSITIONS).await?;
            for position in positions.iter().filter(|position| **position < size) {
                let event = event(&record_at(store, *position).await?)?;
                let new = links(&stream, &event).into_iter();
                open.extend(new.filter(|linked| found.insert(linked.to_string())));
            }
            from_seq += positions.len() as u64;
            if positions.len() < POSITIONS {
                break;
            }
        }
    }
    Ok(found)
}

async fn record_at<S: LedgerStore>(store: &S, position: u64) -> Result<Record, BundleError> {
    let page = store.log().read(position, 1).await?;
    let record = page.into_iter().next();
    record.ok_or(damaged(position, "record"))
}

fn event(record: &Record) -> Result<Event, BundleError> {
    Event::from_json(record.event_json()).map_err(|_| damaged(record.position(), "readable event"))
}

fn damaged(position: u64, expected: &'static str) -> BundleError {
    BundleError::Damaged { position, expected }
}

fn put_line(piece: &mut Vec<u8>, letter: &[u8], bytes: &[u8]) {
    piece.extend_from_slice(letter);
    piece.extend_from_slice(bytes);
    piece.push(b'\n');
}
