//! From lines to records, one at a time, with every deviation named and none of them final: an
//! auditor wants to see what follows.

use std::collections::VecDeque;
use std::io::{BufRead, Read};

use x811_eventlog::Hash;

use super::end::SignedEnd;
use super::foreign::foreign_file;
use super::header::Header;
use super::line::{read_note, read_path};
use super::trailer::{self, Trailer};
use x811_world::keys_statement::SignedKeys;

/// Most bytes of a line, its end not counted. Bodies are bounded by the ledger's limits, which are
/// in the log; this only bounds memory before anything is known.
pub const MAX_LINE_BYTES: usize = 16 << 20;

/// What a line, or a record and its body, says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// The first line.
    Header(Box<Header>),
    /// A line that holds a record.
    Record(RecordLine),
    /// A signed checkpoint.
    Checkpoint(CheckpointLine),
    /// The ledger's keys, in a bundle of one interaction.
    Keys(KeysLine),
    /// Where a stream ends, in a bundle of one interaction.
    End(EndLine),
    /// The last line.
    Trailer {
        /// Its line, from 1.
        line: u64,
        /// What it says.
        trailer: Trailer,
    },
}

/// A record and its body, as they stand in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordLine {
    /// Its line, from 1.
    pub line: u64,
    /// The leaf bytes; not checked yet.
    pub leaf: Vec<u8>,
    /// The body, if one follows.
    pub body: Option<Body>,
    /// The inclusion path, if one follows.
    pub path: Option<PathLine>,
}

/// A body, as it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// Its line, from 1.
    pub line: u64,
    /// The bytes; not checked yet.
    pub bytes: Vec<u8>,
}

/// An inclusion path, as it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathLine {
    /// Its line, from 1.
    pub line: u64,
    /// The hashes beside the way from the record to the root, the record's sibling first.
    pub hashes: Vec<Hash>,
}

/// A checkpoint, as it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointLine {
    /// Its line, from 1.
    pub line: u64,
    /// The signed note; not checked yet.
    pub note: String,
}

/// A keys statement, as it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeysLine {
    /// Its line, from 1.
    pub line: u64,
    /// What it says; the signature is not checked yet.
    pub signed: Box<SignedKeys>,
}

/// Where a stream ends, as it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndLine {
    /// Its line, from 1.
    pub line: u64,
    /// What it says; the signature is not checked yet.
    pub signed: SignedEnd,
}

/// A deviation from the format, and where.
#[derive(Debug, thiserror::Error)]
#[error("line {line} (behind {position} records): {kind}")]
pub struct Fault {
    /// The line, from 1.
    pub line: u64,
    /// Records before it; in a whole log the position that the next one has.
    pub position: u64,
    /// What is wrong.
    pub kind: FaultKind,
}

/// How a file deviates from the format.
#[derive(Debug, thiserror::Error)]
pub enum FaultKind {
    /// The first line is no header.
    #[error("the file does not begin with an export's header: {0}")]
    Header(String),
    /// The first bytes are those of another kind of file, which is not read on.
    #[error("{0}")]
    Foreign(&'static str),
    /// A header that is not the first line.
    #[error("a second header: two exports were joined")]
    SecondHeader,
    /// The line begins with nothing known.
    #[error(
        "the line begins with no letter that a file of this version and scope has, nor a trailer"
    )]
    UnknownPrefix,
    /// A body that does not follow its record.
    #[error("a body without the record it belongs to just above")]
    BodyWithoutRecord,
    /// A path that does not follow its record.
    #[error("an inclusion path without the record it belongs to just above")]
    PathWithoutRecord,
    /// A path, a checkpoint, a keys statement or an end of a stream that cannot be read.
    #[error("the {what} cannot be read: {why}")]
    Unreadable {
        /// Which of them.
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// A line of a known letter where none of that letter may be.
    #[error("{0}")]
    OutOfPlace(&'static str),
    /// The line ends with CR LF.
    #[error("the line ends with CR LF: the file was converted; export it again")]
    CarriageReturn,
    /// The last line has no line end.
    #[error("the last line has no line end: the file was cut off")]
    NoFinalLineFeed,
    /// The line is longer than [`MAX_LINE_BYTES`].
    #[error("the line has more than {MAX_LINE_BYTES} bytes")]
    LineTooLong,
    /// The trailer cannot be read.
    #[error("the trailer cannot be read: {0}")]
    Trailer(String),
    /// The file ends without a trailer.
    #[error("the file ends without a trailer: it was cut off")]
    NoTrailer,
    /// Something follows the trailer.
    #[error("there is more behind the trailer")]
    BehindTrailer,
    /// The file cannot be read.
    #[error("the file cannot be read: {0}")]
    Io(#[from] std::io::Error),
}

impl FaultKind {
    /// Bytes of the text that it holds.
    pub(crate) fn text_bytes(&self) -> usize {
        match self {
            FaultKind::Header(why) | FaultKind::Trailer(why) => why.len(),
            FaultKind::Unreadable { why, .. } => why.len(),
            FaultKind::Foreign(_)
            | FaultKind::SecondHeader
            | FaultKind::UnknownPrefix
            | FaultKind::BodyWithoutRecord
            | FaultKind::PathWithoutRecord
            | FaultKind::OutOfPlace(_)
            | FaultKind::CarriageReturn
            | FaultKind::NoFinalLineFeed
            | FaultKind::LineTooLong
            | FaultKind::NoTrailer
            | FaultKind::BehindTrailer
            | FaultKind::Io(_) => 0,
        }
    }
}

/// Reads an export. Yields every [`Item`] it can make out and every [`Fault`] in between; it ends
/// after the trailer, at the end of the file, or when the file cannot be read.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    line: u64,
    records: u64,
    /// A record whose body and path may follow.
    pending: Option<RecordLine>,
    ready: VecDeque<Result<Item, Fault>>,
    place: ReaderPlace,
    letters: Letters,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReaderPlace {
    Begin,
    Records,
    /// Behind the end of a stream.
    Ends,
    AfterTrailer,
    End,
}

/// Which letters a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Letters {
    /// `r`, `b` and `c`.
    Log,
    /// The lines `r`, `b`, `c`, `k`, `p` and `e`.
    Bundle,
    /// All of them: the header cannot be read.
    Unknown,
}

impl Letters {
    fn of(header: &Header) -> Letters {
        match header.scope.subject() {
            None => Letters::Log,
            Some(_) => Letters::Bundle,
        }
    }

    fn has(self, letter: u8) -> bool {
        match letter {
            b'r' | b'b' | b'c' => true,
            b'k' | b'p' | b'e' => self != Letters::Log,
            _ => false,
        }
    }
}

/// What a line was read as.
enum Line {
    Whole(Vec<u8>),
    Unended(Vec<u8>),
    /// The first bytes of it.
    TooLong([u8; 16]),
    End,
}

impl Line {
    fn first_bytes(&self) -> Option<&[u8]> {
        match self {
            Line::Whole(bytes) | Line::Unended(bytes) => Some(bytes),
            Line::TooLong(first) => Some(first),
            Line::End => None,
        }
    }
}

impl<R: BufRead> Reader<R> {
    /// Reads `input` from its first line.
    pub fn new(input: R) -> Reader<R> {
        Reader {
            input,
            line: 0,
            records: 0,
            pending: None,
            ready: VecDeque::new(),
            place: ReaderPlace::Begin,
            letters: Letters::Unknown,
        }
    }

    /// Reads on behind `header`, `lines` lines and `records` records of an export, where `input`
    /// begins with the line of a record, a checkpoint, an end or the trailer: for an audit that goes
    /// on where it stopped.
    pub fn resume(input: R, header: &Header, lines: u64, records: u64) -> Reader<R> {
        Reader {
            line: lines,
            records,
            place: ReaderPlace::Records,
            letters: Letters::of(header),
            ..Reader::new(input)
        }
    }

    fn step(&mut self) {
        let line = match self.read_line() {
            Ok(line) => line,
            Err(error) => {
                self.flush();
                self.fault(FaultKind::Io(error));
                self.place = ReaderPlace::End;
                return;
            }
        };
        let foreign = line.first_bytes().and_then(foreign_file);
        if let Some(what) = foreign.filter(|_| self.place == ReaderPlace::Begin) {
            self.fault(FaultKind::Foreign(what));
            self.place = ReaderPlace::End;
            return;
        }
        match line {
            Line::End => self.end(),
            Line::TooLong(_) => {
                self.flush();
                self.fault(FaultKind::LineTooLong);
            }
            Line::Whole(bytes) => self.take(bytes),
            Line::Unended(bytes) => {
                self.take(bytes);
                self.flush();
                self.fault(FaultKind::NoFinalLineFeed);
            }
        }
    }

    fn read_line(&mut self) -> std::io::Result<Line> {
        let mut bytes = Vec::new();
        let limit = MAX_LINE_BYTES as u64 + 1;
        let read = self
            .input
            .by_ref()
            .take(limit)
            .read_until(b'\n', &mut bytes)?;
        if read == 0 {
            return Ok(Line::End);
        }
        self.line += 1;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
            return Ok(Line::Whole(bytes));
        }
        if bytes.len() <= MAX_LINE_BYTES {
            return Ok(Line::Unended(bytes));
        }
        self.skip_line()?;
        let mut first = [0; 16];
        first.copy_from_slice(&bytes[..16]);
        Ok(Line::TooLong(first))
    }

    fn skip_line(&mut self) -> std::io::Result<()> {
        loop {
            let buffer = self.input.fill_buf()?;
            if buffer.is_empty() {
                return Ok(());
            }
            match buffer.iter().position(|byte| *byte == b'\n') {
                Some(at) => {
                    self.input.consume(at + 1);
                    return Ok(());
                }
                None => {
                    let length = buffer.len();
                    self.input.consume(length);
                }
            }
        }
    }

    fn take(&mut self, mut bytes: Vec<u8>) {
        if self.place == ReaderPlace::AfterTrailer {
            self.fault(FaultKind::BehindTrailer);
            self.place = ReaderPlace::End;
            return;
        }
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
            self.flush();
            self.fault(FaultKind::CarriageReturn);
        }
        if self.place == ReaderPlace::Begin {
            self.place = ReaderPlace::Records;
            match Header::parse(&bytes) {
                Ok(header) => {
                    self.letters = Letters::of(&header);
                    self.ready.push_back(Ok(Item::Header(Box::new(header))));
                }
                Err(why) => {
                    self.fault(FaultKind::Header(why));
                    if bytes.starts_with(b"r ") {
                        self.record(&bytes[2..]);
                    }
                }
            }
            return;
        }
        match bytes.as_slice() {
            [letter, b' ', text @ ..] if self.letters.has(*letter) => match letter {
                b'r' => self.record(text),
                b'b' => self.body(text),
                b'p' => self.path(text),
                b'c' => self.checkpoint(text),
                b'k' => self.keys(text),
                _ => self.stream_end(text),
            },
            [b'{', ..] => self.mark(&bytes),
            _ => {
                self.flush();
                self.fault(FaultKind::UnknownPrefix);
            }
        }
    }

    fn record(&mut self, leaf: &[u8]) {
        self.flush();
        if self.place == ReaderPlace::Ends {
            let why = "a record behind the ends of the streams";
            self.fault(FaultKind::OutOfPlace(why));
        }
        self.records += 1;
        self.pending = Some(RecordLine {
            line: self.line,
            leaf: leaf.to_vec(),
            body: None,
            path: None,
        });
    }

    fn body(&mut self, bytes: &[u8]) {
        let body = Body {
            line: self.line,
            bytes: bytes.to_vec(),
        };
        match &mut self.pending {
            Some(record) if record.body.is_none() && record.path.is_none() => {
                record.body = Some(body);
            }
            Some(_) | None => {
                self.flush();
                self.fault(FaultKind::BodyWithoutRecord);
            }
        }
    }

    fn path(&mut self, text: &[u8]) {
        let hashes = match read_path(text) {
            Ok(hashes) => hashes,
            Err(why) => {
                let what = "inclusion path";
                self.flush();
                self.fault(FaultKind::Unreadable { what, why });
                return;
            }
        };
        let line = self.line;
        match &mut self.pending {
            Some(record) if record.path.is_none() => record.path = Some(PathLine { line, hashes }),
            Some(_) | None => {
                self.flush();
                self.fault(FaultKind::PathWithoutRecord);
            }
        }
    }

    fn checkpoint(&mut self, text: &[u8]) {
        self.flush();
        let is_first = self.records == 0 && self.place == ReaderPlace::Records;
        if self.letters == Letters::Bundle && !is_first {
            let why = "a bundle has one checkpoint, just behind its header";
            self.fault(FaultKind::OutOfPlace(why));
        }
        let (line, what) = (self.line, "checkpoint");
        match read_note(text) {
            Ok(note) => {
                let item = Item::Checkpoint(CheckpointLine { line, note });
                self.ready.push_back(Ok(item));
            }
            Err(why) => self.fault(FaultKind::Unreadable { what, why }),
        }
    }

    fn keys(&mut self, text: &[u8]) {
        self.flush();
        if self.records > 0 || self.place != ReaderPlace::Records {
            let why = "a keys statement stands just behind the checkpoint";
            self.fault(FaultKind::OutOfPlace(why));
        }
        let (line, what) = (self.line, "keys statement");
        match SignedKeys::from_json(text) {
            Ok(signed) => {
                let signed = Box::new(signed);
                self.ready
                    .push_back(Ok(Item::Keys(KeysLine { line, signed })));
            }
            Err(why) => self.fault(FaultKind::Unreadable { what, why }),
        }
    }

    fn stream_end(&mut self, text: &[u8]) {
        self.flush();
        self.place = ReaderPlace::Ends;
        let (line, what) = (self.line, "end of a stream");
        match SignedEnd::parse(text) {
            Ok(signed) => self
                .ready
                .push_back(Ok(Item::End(EndLine { line, signed }))),
            Err(why) => self.fault(FaultKind::Unreadable { what, why }),
        }
    }

    /// A line of JSON that is not the first: the trailer, or a fault.
    fn mark(&mut self, bytes: &[u8]) {
        self.flush();
        if Header::parse(bytes).is_ok() {
            self.fault(FaultKind::SecondHeader);
            return;
        }
        let line = self.line;
        match Trailer::parse(bytes) {
            Ok(trailer) => {
                self.ready.push_back(Ok(Item::Trailer { line, trailer }));
                self.place = ReaderPlace::AfterTrailer;
            }
            Err(why) => {
                let is_meant = bytes
                    .windows(trailer::MARK.len())
                    .any(|w| w == trailer::MARK.as_bytes());
                self.fault(FaultKind::Trailer(why));
                if is_meant {
                    self.place = ReaderPlace::AfterTrailer;
                }
            }
        }
    }

    fn end(&mut self) {
        self.flush();
        let missing = match self.place {
            ReaderPlace::Begin => Some(FaultKind::Header("the file is empty".to_owned())),
            ReaderPlace::Records | ReaderPlace::Ends => Some(FaultKind::NoTrailer),
            ReaderPlace::AfterTrailer | ReaderPlace::End => None,
        };
        if let Some(kind) = missing {
            self.line += 1;
            self.fault(kind);
        }
        self.place = ReaderPlace::End;
    }

    fn flush(&mut self) {
        if let Some(record) = self.pending.take() {
            self.ready.push_back(Ok(Item::Record(record)));
        }
    }

    fn fault(&mut self, kind: FaultKind) {
        self.ready.push_back(Err(Fault {
            line: self.line,
            position: self.records,
            kind,
        }));
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Item, Fault>;

    fn next(&mut self) -> Option<Result<Item, Fault>> {
        while self.ready.is_empty() && self.place != ReaderPlace::End {
            self.step();
        }
        self.ready.pop_front()
    }
}

#[cfg(test)]
mod tests;
