//! A disk that is full, and one that may not be written: on a small tmpfs of the test's own.

use super::client::{Acknowledged, Agent, Told, get, ledger_did, post};
use super::ledger::{Ledger, Place};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;
use x811_protocol::did::Did;

/// Room of the disk, in KiB: enough to start, soon full.
const DISK_KIB: u64 = 4_096;

const LOOK_EVERY: Duration = Duration::from_millis(50);
const LOOKS: usize = 200;

/// A tmpfs. Unmounted when dropped.
struct Disk(PathBuf);

impl Disk {
    fn mount(at: &Path) -> Disk {
        std::fs::create_dir(at).unwrap();
        let options = format!("size={DISK_KIB}k,mode=700");
        mount(&["-t", "tmpfs", "-o", &options, "tmpfs", at.to_str().unwrap()]);
        Disk(at.to_owned())
    }

    fn remount(&self, mode: &str) {
        let options = format!("remount,{mode},size={DISK_KIB}k");
        mount(&["-o", &options, self.0.to_str().unwrap()]);
    }

    /// Takes all room but `left_kib`.
    fn fill(&self, left_kib: u64) {
        let filler = self.filler();
        // Grows until the disk is full, then gives the rest back.
        let full = Command::new("dd")
            .args(["if=/dev/zero", "bs=4k", "status=none"])
            .arg(format!("of={}", filler.display()))
            .stderr(std::process::Stdio::null())
            .status()
            .unwrap();
        assert!(!full.success(), "the disk is not full");
        let file = std::fs::OpenOptions::new()
            .write(true)
            .open(&filler)
            .unwrap();
        let kept = file
            .metadata()
            .unwrap()
            .len()
            .saturating_sub(left_kib * 1_024);
        file.set_len(kept).unwrap();
    }

    fn free(&self) {
        std::fs::remove_file(self.filler()).unwrap();
    }

    fn filler(&self) -> PathBuf {
        self.0.join("filler")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily: a ledger may still be ending.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Calls that write.
const WRITES: &str = "pwrite64,ftruncate,rename,unlink";

/// Calls that write, and those that read back what became of it.
const ALL: &str = "pwrite64,ftruncate,rename,unlink,fdatasync,fsync,pread64,openat";

/// Some calls of a running process fail until this is dropped.
struct FailingCalls {
    strace: Child,
    /// Kept open: strace names every new thread there, and would end if nobody could read it.
    _said: BufReader<ChildStderr>,
}

impl FailingCalls {
    fn of(ledger: &Ledger, calls: &str, error: &str) -> FailingCalls {
        let mut strace = Command::new("strace")
            .args(["-f", "-p", &ledger.id().to_string(), "-o", "/dev/null"])
            .arg("-e")
            .arg(format!("trace={calls}"))
            .arg("-e")
            .arg(format!("inject={calls}:error={error}"))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("strace does not start ({error}): install it"));
        // It says so once it holds the process.
        let mut line = String::new();
        let mut said = BufReader::new(strace.stderr.take().unwrap());
        said.read_line(&mut line).unwrap();
        assert!(line.contains("attached"), "{line}");
        FailingCalls {
            strace,
            _said: said,
        }
    }
}

impl Drop for FailingCalls {
    fn drop(&mut self) {
        // Asked politely it lets go of the process.
        let id = self.strace.id().to_string();
        let _ = Command::new("kill").args(["-INT", &id]).status();
        let _ = self.strace.wait();
    }
}

fn mount(arguments: &[&str]) {
    let mounted = Command::new("mount").args(arguments).output().unwrap();
    assert!(
        mounted.status.success(),
        "mount {arguments:?} failed; this test needs to be root: {}",
        String::from_utf8_lossy(&mounted.stderr)
    );
}

/// A place whose data directory lies on a disk of its own; the checkpoint lies elsewhere.
fn on_a_disk() -> (Place, Disk) {
    let mut place = Place::new();
    let disk = Disk::mount(&place.folder.path().join("disk"));
    place.data_dir = place.folder.path().join("disk/data");
    (place, disk)
}

/// A ledger that somebody uses.
struct Used {
    ledger: Ledger,
    did: Did,
    agent: Agent,
    acknowledged: Acknowledged,
}

impl Used {
    async fn begin(place: &Place) -> Used {
        let ledger = place.start();
        let did = ledger_did(&ledger.url).await.unwrap();
        let agent = Agent::new("anna");
        let registration = agent.registration(did);
        let mut used = Used {
            ledger,
            did,
            agent,
            acknowledged: Acknowledged::default(),
        };
        used.accepted(post(&used.ledger.url, &registration).await);
        used
    }

    #[track_caller]
    fn accepted(&mut self, told: Told) {
        match told {
            Told::Accepted(answer) => self.acknowledged.note(&answer),
            other @ (Told::Refused(..) | Told::Nothing) => {
                panic!("{other:?}: {}", self.ledger.said());
            }
        }
    }

    async fn say(&mut self) -> Told {
        let message = self.agent.message(self.did, 30_000);
        post(&self.ledger.url, &message).await
    }

    /// Sends until a message is refused, and sees that the refusal is one to try again after.
    async fn say_until_refused(&mut self) {
        for _ in 0..400 {
            match self.say().await {
                Told::Accepted(answer) => self.acknowledged.note(&answer),
                Told::Refused(status, body) => {
                    let code = body["code"].as_str().unwrap();
                    let is_expected = matches!(
                        (status.as_u16(), code),
                        (503, "X811-9002") | (429 | 503, "X811-9001")
                    );
                    assert!(is_expected, "{status} {body}");
                    return;
                }
                Told::Nothing => panic!("no answer: {}", self.ledger.said()),
            }
        }
        panic!("nothing was refused");
    }

    /// What was acknowledged can be read, and `/ready` says that and why nothing is written.
    async fn assert_reads_only(&mut self) {
        self.acknowledged
            .assert_found(&self.ledger.url, || true)
            .await;
        let (status, ready) = get(&self.ledger.url, "/ready").await.unwrap();
        assert_eq!(status, 503, "{ready}");
        assert!(ready["why"].to_string().contains("disk"), "{ready}");
        let did = self.agent.identity.did.uuid();
        for path in [
            format!("/api/v1/messages/{did}"),
            format!("/api/v1/agents/{did}"),
            format!("/api/v1/agents/{did}/keys"),
        ] {
            let (status, answer) = get(&self.ledger.url, &path).await.unwrap();
            assert_eq!(status, 200, "{path}: {answer}");
        }
        assert!(self.ledger.is_running(), "{}", self.ledger.said());
    }

    /// Messages are still taken, and `/ready` calls for attention with these words.
    async fn attention(&self, words: &str) {
        for _ in 0..LOOKS {
            let (status, ready) = get(&self.ledger.url, "/ready").await.unwrap();
            assert_eq!(status, 200, "{ready}");
            if ready["attention"].to_string().contains(words) {
                return;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        panic!("no attention: {}", self.ledger.said());
    }

    /// Writes again without a restart.
    async fn recovers(&mut self) {
        for _ in 0..LOOKS {
            if let Told::Accepted(answer) = self.say().await {
                self.acknowledged.note(&answer);
                let (status, ready) = get(&self.ledger.url, "/ready").await.unwrap();
                assert_eq!(status, 200, "{ready}");
                return;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        panic!("it does not write again: {}", self.ledger.said());
    }

    async fn ends_whole(self, place: &Place) {
        self.acknowledged
            .assert_found(&self.ledger.url, || true)
            .await;
        let ended = self.ledger.stop();
        assert!(ended.status.success(), "{ended:?}");
        place.clean(self.acknowledged.head());
    }
}

#[tokio::test]
async fn reliability_a_full_disk_refuses_writes_keeps_reads_and_recovers() {
    let (place, disk) = on_a_disk();
    let mut used = Used::begin(&place).await;
    disk.fill(200);
    used.say_until_refused().await;
    used.assert_reads_only().await;
    disk.free();
    used.recovers().await;
    used.ends_whole(&place).await;
}

#[tokio::test]
async fn incident_disk_full_then_restart_kurrentdb_3642() {
    let (place, disk) = on_a_disk();
    let mut used = Used::begin(&place).await;
    disk.fill(200);
    used.say_until_refused().await;
    let Used {
        ledger,
        acknowledged,
        ..
    } = used;
    ledger.kill();
    // It starts, or says why not; what it must not do is harm.
    match place.try_start() {
        Ok(ledger) => {
            acknowledged.assert_found(&ledger.url, || true).await;
            ledger.stop();
        }
        Err(ended) => assert!(ended.said.contains("disk is full"), "{ended:?}"),
    }
    disk.free();
    let ledger = place.start();
    acknowledged.assert_found(&ledger.url, || true).await;
    assert!(ledger.stop().status.success());
    place.clean(acknowledged.head());
}

#[tokio::test]
async fn reliability_a_disk_full_from_the_beginning_is_said_and_harms_nothing() {
    for left_kib in [0, 8, 40, 100] {
        let (place, disk) = on_a_disk();
        disk.fill(left_kib);
        match place.try_start() {
            Ok(ledger) => {
                ledger.stop();
            }
            Err(ended) => {
                let said = &ended.said;
                let says_why = said.contains("disk is full") || said.contains("No space left");
                assert!(says_why, "{left_kib} KiB left: {ended:?}");
            }
        }
        disk.free();
        let used = Used::begin(&place).await;
        used.ends_whole(&place).await;
    }
}

#[tokio::test]
async fn reliability_a_read_only_disk_refuses_writes_keeps_reads_and_recovers() {
    let (place, disk) = on_a_disk();
    let mut used = Used::begin(&place).await;
    // Files that are open for writing keep a mount writable, so whoever asks is refused; what the
    // kernel does to a file system with errors is done to the process instead.
    let failing = FailingCalls::of(&used.ledger, WRITES, "EROFS");
    used.say_until_refused().await;
    used.assert_reads_only().await;
    drop(failing);
    used.recovers().await;
    used.ends_whole(&place).await;
    drop(disk);
}

#[tokio::test]
async fn reliability_a_disk_that_fails_for_a_while_refuses_writes_keeps_reads_and_recovers() {
    let place = Place::new();
    let mut used = Used::begin(&place).await;
    for _ in 0..3 {
        let failing = FailingCalls::of(&used.ledger, WRITES, "EIO");
        used.say_until_refused().await;
        used.assert_reads_only().await;
        drop(failing);
        used.recovers().await;
    }
    used.ends_whole(&place).await;
}

#[tokio::test]
async fn reliability_a_start_on_a_read_only_disk_is_refused_and_harms_nothing() {
    let (place, disk) = on_a_disk();
    let used = Used::begin(&place).await;
    let acknowledged = used.acknowledged.clone();
    used.ledger.kill();
    disk.remount("ro");
    place.refused(&["LOCK", "Read-only file system", "mount it for writing"]);
    disk.remount("rw");
    let ledger = place.start();
    acknowledged.assert_found(&ledger.url, || true).await;
    ledger.stop();
    place.clean(acknowledged.head());
}

/// What an auditor does with a copy on a read-only medium, with and without what a killed ledger leaves.
#[tokio::test]
async fn reliability_a_ledger_on_a_read_only_disk_is_audited_examined_and_exported() {
    for left_behind in [&[][..], &["ledger.db-shm", "read.db-shm"]] {
        let (place, disk) = on_a_disk();
        let mut used = Used::begin(&place).await;
        let told = used.say().await;
        used.accepted(told);
        let acknowledged = used.acknowledged.clone();
        if left_behind.is_empty() {
            assert!(used.ledger.stop().status.success());
        } else {
            used.ledger.kill();
            for name in left_behind {
                std::fs::remove_file(place.data_dir.join(name)).unwrap();
            }
            let log = place.data_dir.join("ledger.db-wal").metadata().unwrap();
            assert!(log.len() > 0, "the newest commits are there alone");
        }
        disk.remount("ro");
        place.clean(acknowledged.head());
        let (code, said) = place.doctor_says();
        assert_eq!(code, Some(0), "{said}");
        let export = place.folder.path().join("log.x811l");
        let [data_dir, export] = [&place.data_dir, &export].map(|path| path.to_str().unwrap());
        let words = ["export", data_dir, "--tail", "--output", export];
        let _ = x811_tests::binary::run(&words).ok();
        let words = [
            "audit",
            export,
            "--expect-head",
            acknowledged.head().unwrap(),
        ];
        let audit = x811_tests::binary::run(&words);
        assert!(matches!(audit.code, Some(21 | 22)), "{audit:?}");
        place.refused(&["LOCK", "Read-only file system"]);
    }
}

/// The file system of the checkpoint is full, and that of the log is not.
#[tokio::test]
async fn lc_1_5_a_checkpoint_on_a_full_disk_needs_attention_at_once() {
    let mut place = Place::new();
    let disk = Disk::mount(&place.folder.path().join("disk"));
    place.checkpoint_dir = place.folder.path().join("disk/checkpoint");
    let mut used = Used::begin(&place).await;
    disk.fill(0);
    let told = used.say().await;
    used.accepted(told);
    used.attention("no checkpoint could be stored").await;
    disk.free();
    let told = used.say().await;
    used.accepted(told);
    used.ends_whole(&place).await;
}

/// The disk fails to write, and then to read what became of it. The process goes on or ends, and
/// tells nobody of success; what it could not tell, the next one can.
#[tokio::test]
async fn incident_write_fails_and_the_reload_fails_too_raio() {
    let place = Place::new();
    let mut used = Used::begin(&place).await;
    for _ in 0..3 {
        let failing = FailingCalls::of(&used.ledger, ALL, "EIO");
        let message = used.agent.message(used.did, 30_000);
        let told = post(&used.ledger.url, &message).await;
        assert!(!matches!(told, Told::Accepted(_)), "{told:?}");
        // Killed before it is let go: whoever dies while strace lets go may be left stopped.
        let ended = used.ledger.killed();
        drop(failing);
        if ended.status.code().is_some() {
            for words in ["cannot be read", "look at the system's log"] {
                assert!(ended.said.contains(words), "{ended:?}");
            }
        }
        used.ledger = place.start();
        // Recorded by now or never: the first outcome, or a first time.
        let url = used.ledger.url.clone();
        used.accepted(post(&url, &message).await);
    }
    used.ends_whole(&place).await;
}
