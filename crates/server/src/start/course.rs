//! The file `clock` of a data directory: the course of the machine's clock while it was believed, by which
//! the next start finds that it was set meanwhile (ledger-contract.md section 1.2).

use crate::app::{RunningLedger, stopped};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::watch;
use x811_ledger::clock::{Clock, Course};

/// Time between two notes.
const NOTE_MS: u64 = 10_000;

fn file(data_dir: &Path) -> PathBuf {
    data_dir.join("clock")
}

/// Notes a course, mode 0600. A note that is torn is none.
fn note(data_dir: &Path, course: &Course) -> io::Result<()> {
    let file = file(data_dir);
    let is_new = !file.exists();
    let mut options = OpenOptions::new();
    options.write(true).create(is_new).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
        .open(&file)?
        .write_all(course.to_string().as_bytes())?;
    match is_new {
        true => File::open(data_dir)?.sync_all(),
        false => Ok(()),
    }
}

/// The course that was noted last. A file that cannot be read is none: the clock is believed then.
pub(super) fn noted(data_dir: &Path) -> Option<Course> {
    let noted = std::fs::read_to_string(file(data_dir)).ok()?;
    noted.parse().ok()
}

/// Notes the course from now on, until the server is to stop. A log in a database has that one's clock.
pub(super) fn keep<C: Clock>(
    data_dir: &Path,
    ledger: &RunningLedger<C>,
    clock: &Arc<C>,
    stopping: &watch::Receiver<bool>,
) {
    let data_dir = data_dir.to_owned();
    let (ledger, clock) = (ledger.clone(), clock.clone());
    let stop = stopped(stopping.clone());
    let noting = async move {
        while let Some(now) = clock.since_boot() {
            // Recorded time, which a jump of the clock does not change before it is believed.
            if ledger.readiness().clock_settled {
                let (data_dir, course) = (data_dir.clone(), Course::at(now, ledger.now()));
                let writing = move || note(&data_dir, &course);
                if let Ok(Err(error)) = tokio::task::spawn_blocking(writing).await {
                    tracing::debug!(%error, "the course of the clock is not noted");
                }
            }
            clock.sleep_ms(NOTE_MS).await;
        }
    };
    tokio::spawn(async move {
        tokio::select! {
            () = noting => {}
            () = stop => {}
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use x811_ledger::clock::SinceBoot;
    use x811_protocol::time::TimestampMs;

    #[test]
    fn lc_1_2_a_course_is_read_back() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(noted(dir.path()), None);
        let boot = "b".to_owned();
        let course = Course::at(SinceBoot { boot, ms: 7 }, TimestampMs::new(11));
        for _ in 0..2 {
            note(dir.path(), &course).unwrap();
        }
        assert_eq!(noted(dir.path()), Some(course));
        std::fs::write(file(dir.path()), "torn").unwrap();
        assert_eq!(noted(dir.path()), None);
    }
}
