//! The write-ahead log as a file. SQLite takes it up to the first frame that does not hold what was
//! written, and says nothing of those behind it: a bit that changed in the middle takes along every
//! commit that followed. So the file is read here before SQLite opens it.
//!
//! A frame that does not hold may also be left over from a commit that failed, and then means
//! nothing. So only what holds again with one bit turned is called damage; of more bits the
//! checkpoint tells that records are missing.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

const HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;

/// The first word of a log; the last bit says how its sums are made.
const MAGIC: u32 = 0x377f_0682;

/// A frame in which one bit is not what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Broken {
    /// Its place, from 1; 0 is the head of the file.
    pub(super) frame: u64,
    /// Commits that end at it or behind it, as far as can be told.
    pub(super) commits: u64,
}

/// Reads a log that nobody writes; `None` when nothing in it is damaged.
pub(super) fn broken(file: &Path) -> io::Result<Option<Broken>> {
    let file = match File::open(file) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut header = [0; HEADER_BYTES];
    if !fill(&mut reader, &mut header)? {
        return Ok(None);
    }
    match Sums::begin(&header) {
        Some(sums) => Frames::new(reader, &header, sums).broken(),
        None => {
            let is_damaged = turns(&mut header, |header| Sums::begin(header).is_some());
            let mut next = [0];
            let has_more = is_damaged && fill(&mut reader, &mut next)?;
            Ok(has_more.then_some(Broken {
                frame: 0,
                commits: 1,
            }))
        }
    }
}

/// Whether one of these bits, turned, makes `bytes` hold; they are as they were then.
fn turns<const BYTES: usize>(
    bytes: &mut [u8; BYTES],
    holds: impl Fn(&[u8; BYTES]) -> bool,
) -> bool {
    (0..8 * BYTES).any(|bit| {
        bytes[bit / 8] ^= 1 << (bit % 8);
        let is_found = holds(bytes);
        bytes[bit / 8] ^= 1 << (bit % 8);
        is_found
    })
}

/// The running sums of a log.
#[derive(Debug, Clone, Copy)]
struct Sums {
    first: u32,
    second: u32,
    is_big_endian: bool,
}

impl Sums {
    /// Those of the header; `None` when it does not hold.
    fn begin(header: &[u8; HEADER_BYTES]) -> Option<Sums> {
        let magic = word(header, 0);
        if magic & !1 != MAGIC {
            return None;
        }
        let sums = Sums {
            first: 0,
            second: 0,
            is_big_endian: magic & 1 == 1,
        };
        let sums = sums.over(header.get(..24)?);
        ((sums.first, sums.second) == (word(header, 24), word(header, 28))).then_some(sums)
    }

    fn over(mut self, bytes: &[u8]) -> Sums {
        let (pairs, _) = bytes.as_chunks::<8>();
        for pair in pairs {
            let [left, right] = self.words(pair);
            self.first = self.first.wrapping_add(left).wrapping_add(self.second);
            self.second = self.second.wrapping_add(right).wrapping_add(self.first);
        }
        self
    }

    /// A pair of words as this log's sums read them.
    fn words(self, [a, b, c, d, e, f, g, h]: &[u8; 8]) -> [u32; 2] {
        let words = [[*a, *b, *c, *d], [*e, *f, *g, *h]];
        if self.is_big_endian {
            words.map(u32::from_be_bytes)
        } else {
            words.map(u32::from_le_bytes)
        }
    }
}

/// The frames of a log, one after the other.
struct Frames<R> {
    reader: R,
    salts: [u32; 2],
    /// Up to the frame before.
    sums: Sums,
    head: [u8; FRAME_HEADER_BYTES],
    page: Vec<u8>,
}

impl<R: Read> Frames<R> {
    fn new(reader: R, header: &[u8; HEADER_BYTES], sums: Sums) -> Frames<R> {
        let page_bytes = usize::try_from(word(header, 8)).unwrap_or_default();
        Frames {
            reader,
            salts: [word(header, 16), word(header, 20)],
            sums,
            head: [0; FRAME_HEADER_BYTES],
            page: vec![0; page_bytes.min(1 << 16)],
        }
    }

    fn broken(mut self) -> io::Result<Option<Broken>> {
        let mut frame = 0;
        while self.next()? {
            frame += 1;
            match self.sums_if_whole(&self.head) {
                Some(sums) => self.sums = sums,
                None if self.is_one_bit_off() => {
                    let commits = self.commits()?;
                    return Ok(Some(Broken { frame, commits }));
                }
                None => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Reads the next frame; `false` at the end, also in the middle of one.
    fn next(&mut self) -> io::Result<bool> {
        Ok(fill(&mut self.reader, &mut self.head)? && fill(&mut self.reader, &mut self.page)?)
    }

    /// The sums behind this frame with that head, if they and its salts are those that it names.
    fn sums_if_whole(&self, head: &[u8; FRAME_HEADER_BYTES]) -> Option<Sums> {
        let sums = self.sums.over(head.get(..8)?).over(&self.page);
        let is_of_this_log = [word(head, 8), word(head, 12)] == self.salts;
        let is_summed = (sums.first, sums.second) == (word(head, 16), word(head, 20));
        (is_of_this_log && is_summed).then_some(sums)
    }

    fn is_one_bit_off(&self) -> bool {
        let mut head = self.head;
        let is_of_this_log = [word(&head, 8), word(&head, 12)] == self.salts;
        (is_of_this_log && self.is_off_in_page())
            || turns(&mut head, |head| self.sums_if_whole(head).is_some())
    }

    /// Whether one bit of the page, turned, gives the sums that the head names. The sums are linear:
    /// what a word adds to them depends on how many words follow it, and on nothing else.
    fn is_off_in_page(&self) -> bool {
        let sums = self
            .sums
            .over(self.head.get(..8).unwrap_or_default())
            .over(&self.page);
        let due = [
            word(&self.head, 16).wrapping_sub(sums.first),
            word(&self.head, 20).wrapping_sub(sums.second),
        ];
        let (pairs, _) = self.page.as_chunks::<8>();
        // What one in the left and in the right word of a pair comes to at the end.
        let (mut left, mut right) = ([1_u32, 1_u32], [0_u32, 1_u32]);
        let step = |[a, b]: [u32; 2]| {
            let a = a.wrapping_add(b);
            [a, b.wrapping_add(a)]
        };
        for pair in pairs.iter().rev() {
            let [one, other] = self.sums.words(pair);
            if is_off_in_word(one, left, due) || is_off_in_word(other, right, due) {
                return true;
            }
            (left, right) = (step(left), step(right));
        }
        false
    }

    /// Commits at this frame and behind it, by their heads alone.
    fn commits(&mut self) -> io::Result<u64> {
        let mut commits = 0;
        loop {
            let is_of_this_log = [word(&self.head, 8), word(&self.head, 12)] == self.salts;
            commits += u64::from(is_of_this_log && word(&self.head, 4) != 0);
            if !self.next()? {
                // Also where the bit is in what says so.
                return Ok(commits.max(1));
            }
        }
    }
}

/// Whether one bit of `word`, turned, adds `due`; a one in it comes to `weight`.
fn is_off_in_word(word: u32, weight: [u32; 2], due: [u32; 2]) -> bool {
    (0..32).any(|bit| {
        let one = 1_u32 << bit;
        let by = if word & one == 0 {
            one
        } else {
            one.wrapping_neg()
        };
        weight.map(|weight| weight.wrapping_mul(by)) == due
    })
}

/// Fills `bytes`; `false` when the file ends before.
fn fill(reader: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match reader.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// The big-endian word at `at`; 0 beyond the end.
fn word(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..).and_then(|rest| rest.first_chunk());
    word.map_or(0, |word| u32::from_be_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlx::ConnectOptions as _;
    use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};

    /// A database with three commits in its log, as a process that was killed leaves it.
    async fn log() -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.db");
        let options = SqliteConnectOptions::new()
            .filename(&file)
            .create_if_missing(true)
            .page_size(512)
            .journal_mode(SqliteJournalMode::Wal);
        let mut connection = options.connect().await.unwrap();
        for statement in [
            "CREATE TABLE t (a BLOB)",
            "INSERT INTO t VALUES (randomblob(700))",
            "INSERT INTO t VALUES (randomblob(70))",
        ] {
            sqlx::query(statement)
                .execute(&mut connection)
                .await
                .unwrap();
        }
        std::fs::read(folder.path().join("a.db-wal")).unwrap()
    }

    fn looked_at(bytes: &[u8]) -> Option<Broken> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("wal");
        std::fs::write(&file, bytes).unwrap();
        broken(&file).unwrap()
    }

    #[tokio::test]
    async fn rest_3_every_single_bit_of_a_log_is_found_and_no_crash_is_taken_for_one() {
        let bytes = log().await;
        assert_eq!(looked_at(&bytes), None);
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            let found = looked_at(&damaged).unwrap_or_else(|| panic!("byte {at} is not found"));
            let frame = (at as u64).checked_sub(32).map_or(0, |at| at / 536 + 1);
            assert_eq!(found.frame, frame, "byte {at}");
            assert!(found.commits > 0, "byte {at}");
        }
        for length in (0..bytes.len()).step_by(37) {
            assert_eq!(looked_at(&bytes[..length]), None, "cut to {length}");
        }
        // Pages that were never written, of a power cut.
        let mut torn = bytes;
        let from = torn.len() - 512;
        torn[from..].fill(0);
        assert_eq!(looked_at(&torn), None);
    }
}
