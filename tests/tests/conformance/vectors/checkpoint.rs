//! `checkpoint/`: signed checkpoints.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use x811_eventlog::note::Note;
use x811_eventlog::{Checkpoint, Hash};
use x811_tests::verifiers::Job;

use super::generate::Files;
use super::keys::{self, ORIGIN, line, named, signed};
use super::log::{Log, sign};
use super::{Case, Named, folder, hold_others_to, hold_us_to, strict, table};

/// 2026-01-01, when the witness has seen it.
const COSIGNED_AT_S: u64 = 1_767_225_600;
const SIZE: u64 = 19;

pub(crate) fn files() -> Files {
    let log = Log::new();
    let checkpoint = log.checkpoint(SIZE);
    let parts = Parts {
        text: checkpoint.to_text(),
        root: checkpoint.root,
    };
    let mut files = Vec::new();
    files.extend(parts.good(&log));
    files.extend(parts.cosigned());
    files.extend(parts.signed_by_others());
    files.extend(parts.other_texts());
    files.extend(parts.other_forms());
    files.extend(parts.strict_only());
    let named = files.into_iter();
    named
        .map(|(name, bytes)| (format!("checkpoint/{name}"), bytes))
        .collect()
}

/// What the mutations are made from.
struct Parts {
    text: String,
    root: Hash,
}

/// Signed by the log, whatever it says.
fn resigned(text: &str) -> Vec<u8> {
    format!("{text}\n{}", signed(text, &keys::log())).into_bytes()
}

impl Parts {
    fn note(&self, lines: &str) -> Vec<u8> {
        format!("{}\n{lines}", self.text).into_bytes()
    }

    fn by_log(&self) -> String {
        signed(&self.text, &keys::log())
    }

    fn good(&self, log: &Log) -> Named {
        let largest = Checkpoint {
            origin: ORIGIN.to_owned(),
            size: 1 << 53,
            root: self.root,
        };
        let unknown = |number| line(&format!("unknown.example/{number}"), [7; 4], &[number; 64]);
        let sixteen: String = (1..=16).map(unknown).collect();
        vec![
            ("good", self.note(&self.by_log())),
            ("empty-tree", log.signed(0).into_bytes()),
            ("one-record", log.signed(1).into_bytes()),
            ("largest-size", sign(&largest).into_bytes()),
            ("unknown-line", self.note(&(self.by_log() + &unknown(1)))),
            ("unknown-lines-16", self.note(&(sixteen + &self.by_log()))),
            (
                "unknown-key-of-same-name",
                self.note(&(signed(&self.text, &keys::other()) + &self.by_log())),
            ),
            (
                "unknown-type",
                self.note(&(self.by_log() + &line("ml-dsa.example", [6; 4], &[6; 2_428]))),
            ),
        ]
    }

    fn cosigned(&self) -> Named {
        let sign = |message: &[u8]| *keys::witness().sign(message).as_bytes();
        let mut note = Note::parse(&(self.text.clone() + "\n" + &self.by_log())).unwrap();
        note.cosign(&keys::cosigner(), COSIGNED_AT_S, sign).unwrap();
        let cosigned = note.encode();
        let (lines, last) = cosigned.trim_end().rsplit_once(' ').unwrap();
        let good = STANDARD.decode(last).unwrap();
        let with = |at: usize| {
            let mut bytes = good.clone();
            bytes[at] ^= 1;
            format!("{lines} {}\n", STANDARD.encode(bytes)).into_bytes()
        };
        vec![
            ("cosigned", cosigned.clone().into_bytes()),
            ("cosigned-forged", with(good.len() - 1)),
            ("cosigned-other-time", with(11)),
        ]
    }

    fn signed_by_others(&self) -> Named {
        let (log, other) = (keys::log(), keys::other());
        let id = named(ORIGIN, &log).id();
        let signature = log.sign(self.text.as_bytes());
        let signature = signature.as_bytes();
        let mut flipped = *signature;
        flipped[40] ^= 1;
        let changed = |from: &str, to: &str| {
            let text = self.text.replacen(from, to, 1);
            format!("{text}\n{}", self.by_log()).into_bytes()
        };
        let root = STANDARD.encode(Hash::of_leaf(b"").as_bytes());
        vec![
            ("other-key", self.note(&signed(&self.text, &other))),
            (
                "other-key-same-id",
                self.note(&line(
                    ORIGIN,
                    id,
                    other.sign(self.text.as_bytes()).as_bytes(),
                )),
            ),
            ("other-key-id", self.note(&line(ORIGIN, [9; 4], signature))),
            (
                "other-name",
                self.note(&line("other.example/log", id, signature)),
            ),
            (
                "other-origin",
                resigned(&self.text.replace(ORIGIN, "other.example/log")),
            ),
            ("signature-changed", self.note(&line(ORIGIN, id, &flipped))),
            (
                "signature-short",
                self.note(&line(ORIGIN, id, &signature[..63])),
            ),
            ("signature-empty", self.note(&line(ORIGIN, id, &[]))),
            (
                "root-changed",
                changed(&STANDARD.encode(self.root.as_bytes()), &root),
            ),
            ("size-changed", changed("\n19\n", "\n20\n")),
            (
                "one-good-one-forged",
                self.note(&(self.by_log() + &line(ORIGIN, id, &flipped))),
            ),
        ]
    }

    /// Signed by the log, and no checkpoints for all that.
    fn other_texts(&self) -> Named {
        let size = |digits: &str| resigned(&self.text.replace("\n19\n", &format!("\n{digits}\n")));
        let root = STANDARD.encode(self.root.as_bytes());
        let other = |text: &str| resigned(&self.text.replace(&root, text));
        // The last character before the padding has two bits that mean nothing.
        let (before, last) = root[..43].split_at(42);
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let value = alphabet
            .iter()
            .position(|letter| last.as_bytes() == [*letter]);
        let spare = char::from(alphabet[value.unwrap() + 1]);
        vec![
            ("size-leading-zero", size("019")),
            ("size-plus", size("+19")),
            ("size-space", size(" 19")),
            ("size-hex", size("0x13")),
            ("size-negative", size("-19")),
            ("size-empty", size("")),
            ("size-beyond", size("9007199254740993")),
            ("size-beyond-64-bits", size("18446744073709551616")),
            (
                "root-short",
                other(&STANDARD.encode(&self.root.as_bytes()[..31])),
            ),
            (
                "root-no-padding",
                other(&STANDARD_NO_PAD.encode(self.root.as_bytes())),
            ),
            ("root-spare-bits", other(&format!("{before}{spare}="))),
            ("root-hex", other(&self.root.to_string())),
            ("root-missing", resigned(&format!("{ORIGIN}\n19\n"))),
            (
                "extension-line",
                resigned(&format!("{}extension\n", self.text)),
            ),
        ]
    }

    fn other_forms(&self) -> Named {
        let good = self.note(&self.by_log());
        let text = String::from_utf8(good.clone()).unwrap();
        let crlf = self.text.replace('\n', "\r\n");
        let encoded = text.trim_end().rsplit_once(' ').unwrap().1;
        let mut not_utf8 = good.clone();
        not_utf8[0] = 0xff;
        vec![
            ("carriage-returns", resigned(&crlf)),
            ("tab", resigned(&self.text.replace("log\n", "log\t\n"))),
            ("no-empty-line", text.replace("\n\n", "\n").into_bytes()),
            ("no-signatures", self.note("")),
            ("no-last-line-end", good[..good.len() - 1].to_vec()),
            ("hyphen", text.replace('\u{2014}', "-").into_bytes()),
            ("line-no-base64", text.replace(encoded, "*").into_bytes()),
            (
                "line-without-key-id",
                text.replace(encoded, "AAA=").into_bytes(),
            ),
            ("not-utf-8", not_utf8),
            ("empty", Vec::new()),
        ]
    }

    fn strict_only(&self) -> Named {
        let id = named(ORIGIN, &keys::log()).id();
        let by_log = |signature: [u8; 64]| self.note(&line(ORIGIN, id, &signature));
        let by_nobody = |key| {
            let key = x811_eventlog::note::NoteKey::new(ORIGIN, key).unwrap();
            self.note(&line(ORIGIN, key.id(), &strict::of_nobody()))
        };
        let message = self.text.as_bytes();
        vec![
            (
                "strict-s-not-reduced",
                by_log(strict::with_s_not_reduced(&keys::log(), message)),
            ),
            (
                "strict-small-order-r",
                by_log(strict::with_small_r(&keys::log(), message)),
            ),
            ("strict-small-order-key", by_nobody(strict::IDENTITY)),
            (
                "strict-non-canonical-key",
                by_nobody(strict::IDENTITY_NOT_REDUCED),
            ),
        ]
    }
}

/// | file | policy | what it is | verdict | taken by |
fn cases() -> Vec<(String, String, Case)> {
    let rows = table::rows("checkpoint", 5).into_iter();
    rows.map(|row| {
        let [file, policy, what, verdict, taken_by] = row.try_into().unwrap();
        let path = folder().join("checkpoint").join(&file);
        let policy = fs::read_to_string(folder().join("policy").join(policy)).unwrap();
        let (log, witnesses) = keys::vkeys(&policy);
        let witnesses: Vec<&str> = witnesses.iter().map(|vkey| &**vkey).collect();
        let job = Job::checkpoint(&path, &log, &witnesses);
        let case = Case::new(job, &file, &what, verdict, &taken_by);
        (file, policy, case)
    })
    .collect()
}

#[test]
fn c2sp_we_say_of_every_checkpoint_what_the_table_says() {
    let cases = cases();
    let files = cases.iter().map(|(file, ..)| file.clone());
    table::assert_complete("checkpoint", files);
    hold_us_to(cases.iter().map(|(file, policy, case)| {
        let note = fs::read(folder().join("checkpoint").join(file)).unwrap();
        let verdict = keys::check(&note, policy).map_or_else(|cause| cause, |_| "good".to_owned());
        (case, verdict)
    }));
}

#[test]
fn c2sp_others_say_of_every_checkpoint_what_the_table_says() {
    let cases: Vec<Case> = cases().into_iter().map(|(.., case)| case).collect();
    hold_others_to(&cases);
}
