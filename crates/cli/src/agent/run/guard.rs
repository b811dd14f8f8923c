//! Commands whose loop was killed with -9 end too: a process of its own is told of every group that
//! is started and ended, and ends those that are left when the loop's end of the pipe is closed.
//!
//! Between the start of a command and its line in the pipe lie some microseconds in which a kill of
//! the loop leaves the command alone. Whoever kills both leaves it alone too.

use std::collections::HashSet;
use std::io::{BufRead, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::exit::Exit;
use crate::failure::Failure;

/// The loop's end of the pipe.
#[derive(Clone)]
pub(super) struct Guard(Arc<Mutex<ChildStdin>>);

impl Guard {
    /// Starts the process, in a group of its own: what is typed at the loop does not reach it.
    pub(super) fn start() -> Result<Guard, Failure> {
        let failed = |error| Failure::internal(&format!("no process to guard commands: {error}"));
        let program = std::env::current_exe().map_err(failed)?;
        let mut process = Command::new(program)
            .args(["agent", "guard"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let stdin = process.stdin.take();
        let stdin = stdin.ok_or_else(|| Failure::internal("the guard of commands has no pipe"))?;
        Ok(Guard(Arc::new(Mutex::new(stdin))))
    }

    pub(super) fn started(&self, group: Pid) {
        self.tell('+', group);
    }

    pub(super) fn ended(&self, group: Pid) {
        self.tell('-', group);
    }

    fn tell(&self, sign: char, group: Pid) {
        let mut pipe = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A guard that was killed guards nothing; the loop goes on.
        let _ = pipe.write_all(format!("{sign}{}\n", group.as_raw_nonzero()).as_bytes());
    }
}

/// `x811 agent guard`: what the process does.
pub(crate) fn watch() -> Exit {
    for group in left(std::io::stdin().lock()) {
        // Nobody is left of it: as good.
        let _ = kill_process_group(group, Signal::KILL);
    }
    Exit::Ok
}

/// The groups that were started and did not end before the pipe did.
fn left(pipe: impl BufRead) -> HashSet<Pid> {
    let mut groups = HashSet::new();
    for line in pipe.lines().map_while(Result::ok) {
        let (sign, number) = line.split_at(line.len().min(1));
        let number = number.parse().ok().filter(|number| *number > 1);
        let Some(group) = number.and_then(Pid::from_raw) else {
            continue;
        };
        match sign {
            "+" => groups.insert(group),
            _ => groups.remove(&group),
        };
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ae_059_groups_that_did_not_end_are_left_and_no_other() {
        let told = "+12\n+13\n-12\n+1\n+0\n+-5\nnothing\n\n-99\n+14\n";
        let left = left(told.as_bytes()).into_iter();
        let mut left: Vec<i32> = left.map(|group| group.as_raw_nonzero().get()).collect();
        left.sort_unstable();
        // 1, 0 and negative numbers would reach processes of others.
        assert_eq!(left, [13, 14]);
    }
}
