//! A command that does the work: without a shell, with an empty environment and an empty folder, in a
//! process group that is ended as a whole.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use x811_client::agent::{Job, Product, WorkFault, Worker, Working};
use x811_client::clock::Clock;
use x811_client::compose::ResultContent;
use x811_protocol::time::TimestampMs;

use super::config::RunFile;
use super::guard::Guard;
use crate::failure::Failure;

/// The only variable that a command gets.
const INTERACTION: &str = "X811_INTERACTION_ID";

/// Where a program without a slash in its name is looked for.
const SEARCHED: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];

/// Runs one command for each job.
pub(super) struct CommandWorker {
    run: RunFile,
    clock: Arc<dyn Clock>,
    /// Ends commands after a `kill -9` of the loop.
    guard: Option<Guard>,
}

impl CommandWorker {
    pub(super) fn new(mut run: RunFile, clock: Arc<dyn Clock>) -> Result<CommandWorker, Failure> {
        if let Some(program) = run.command.first_mut()
            && !program.contains('/')
        {
            let mut folders = SEARCHED
                .into_iter()
                .map(|folder| Path::new(folder).join(&program));
            let found = folders.find(|path| path.is_file());
            let found = found.ok_or_else(|| {
                Failure::usage(&format!("there is no program {program}"))
                    .hint("name it by its whole path")
            })?;
            *program = found.to_string_lossy().into_owned();
        }
        Ok(CommandWorker {
            run,
            clock,
            guard: None,
        })
    }

    /// The same, with its commands ended by `guard` once the loop is gone.
    pub(super) fn guarded_by(self, guard: Guard) -> CommandWorker {
        CommandWorker {
            guard: Some(guard),
            ..self
        }
    }

    /// What an owner should know before it runs.
    pub(super) fn warnings(&self) -> Vec<String> {
        if self.run.user_id.is_some() {
            return Vec::new();
        }
        vec![
            "the command runs as the same user as this loop and can read the agent's keys; start \
             the loop as root and set run.user_id and run.group_id to keep them apart"
                .to_owned(),
        ]
    }
}

impl CommandWorker {
    /// What the command prints when it is given that; `variable` is the only one that it gets.
    pub(super) async fn answer(
        &self,
        variable: (&str, String),
        input: &Value,
        left_ms: u64,
    ) -> Result<String, WorkFault> {
        ask(&self.run, self.guard.clone(), variable, input, left_ms).await
    }
}

impl Worker for CommandWorker {
    fn work(&self, job: Job) -> Working {
        let now = self.clock.now();
        Box::pin(work(self.run.clone(), self.guard.clone(), job, now))
    }
}

async fn work(
    run: RunFile,
    guard: Option<Guard>,
    job: Job,
    now: TimestampMs,
) -> Result<Product, WorkFault> {
    let task = json!({
        "interaction_id": job.interaction,
        "task_type": job.task_type,
        "initiator": job.initiator,
        "end_by": job.end_by_ms.map(TimestampMs::to_rfc3339),
        "parameters": job.parameters,
    });
    let left_ms = job.end_by_ms.map_or(u64::MAX / 2, |end| end.since(now));
    let variable = (INTERACTION, job.interaction.to_string());
    let output = ask(&run, guard, variable, &task, left_ms).await?;
    Ok(Product {
        content: ResultContent::Inline(output),
        content_type: run.content_type,
        model_used: None,
        methodology: None,
    })
}

/// Runs the command once: what it is given on standard input, and what it prints.
async fn ask(
    run: &RunFile,
    guard: Option<Guard>,
    variable: (&str, String),
    input: &Value,
    left_ms: u64,
) -> Result<String, WorkFault> {
    let folder = folder(run).map_err(|error| fault(format!("no folder for the work: {error}")))?;
    let mut child = start(run, variable, folder.path())
        .map_err(|error| fault(format!("the command did not start: {error}")))?;
    let group = Group::of(&child, guard);
    group.limit_memory(run.max_memory_mib);
    let exchange = exchange(&mut child, format!("{input}\n"), run.max_output_bytes);
    let ended = tokio::time::timeout(Duration::from_millis(left_ms), exchange).await;
    // Whatever it left behind ends with it.
    drop(group);
    ended.map_err(|_| fault("the command was ended: the time was over".to_owned()))?
}

/// An empty folder, the command's own.
fn folder(run: &RunFile) -> std::io::Result<TempDir> {
    let folder = tempfile::tempdir()?;
    if run.user_id.is_some() || run.group_id.is_some() {
        std::os::unix::fs::chown(folder.path(), run.user_id, run.group_id)?;
    }
    Ok(folder)
}

fn start(run: &RunFile, (name, value): (&str, String), folder: &Path) -> std::io::Result<Child> {
    let (program, arguments) = run.command.split_first().ok_or_else(|| {
        std::io::Error::new(std::io::ErrorKind::InvalidInput, "no program is named")
    })?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .env(name, value)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true);
    if let Some(user_id) = run.user_id {
        command.uid(user_id);
    }
    if let Some(group_id) = run.group_id {
        command.gid(group_id);
    }
    command.spawn()
}

/// Gives the task and takes the result.
async fn exchange(child: &mut Child, task: String, most: usize) -> Result<String, WorkFault> {
    let stdin = child.stdin.take();
    let give = async {
        if let Some(mut stdin) = stdin {
            // A command that does not read its task is not at fault.
            let _ = stdin.write_all(task.as_bytes()).await;
        }
    };
    let stdout = child.stdout.take();
    let take = async {
        let mut output = Vec::new();
        if let Some(stdout) = stdout {
            let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
            stdout.take(limit).read_to_end(&mut output).await?;
        }
        Ok::<_, std::io::Error>(output)
    };
    let ((), output) = tokio::join!(give, take);
    let output = output.map_err(|error| fault(format!("its result cannot be read: {error}")))?;
    if output.len() > most {
        return Err(fault(format!("the result has more than {most} bytes")));
    }
    let status = child.wait().await;
    let status = status.map_err(|error| fault(format!("how it ended is not known: {error}")))?;
    if !status.success() {
        return Err(fault(format!("the command failed: {status}")));
    }
    String::from_utf8(output).map_err(|_| fault("the result is no UTF-8 text".to_owned()))
}

fn fault(reason: String) -> WorkFault {
    WorkFault { reason }
}

/// A process group; all of it ends when this is dropped.
struct Group(Option<Pid>, Option<Guard>);

impl Group {
    fn of(child: &Child, guard: Option<Guard>) -> Group {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let group = Group(id.and_then(Pid::from_raw), guard);
        if let Group(Some(pid), Some(guard)) = &group {
            guard.started(*pid);
        }
        group
    }

    /// Set right after the start, so that what the command starts later has it too.
    #[cfg(target_os = "linux")]
    fn limit_memory(&self, mib: u64) {
        use rustix::process::{Resource, Rlimit, prlimit};
        let bytes = Some(mib.saturating_mul(1 << 20));
        let limit = Rlimit {
            current: bytes,
            maximum: bytes,
        };
        // A command that has ended already needs no limit.
        let _ = self.0.map(|pid| prlimit(Some(pid), Resource::As, limit));
    }

    #[cfg(not(target_os = "linux"))]
    fn limit_memory(&self, _: u64) {}
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(pid) = self.0 {
            // Nobody is left of it: as good.
            let _ = kill_process_group(pid, Signal::KILL);
            if let Some(guard) = &self.1 {
                guard.ended(pid);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use x811_client::clock::SystemClock;

    fn run_file(script: &str) -> RunFile {
        RunFile {
            command: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
            content_type: "text/plain".to_owned(),
            max_output_bytes: 64,
            max_memory_mib: 512,
            user_id: None,
            group_id: None,
        }
    }

    fn job(left_ms: u64) -> Job {
        Job {
            interaction: "0190a1b2-c3d4-7e5f-8901-234567890abc".parse().unwrap(),
            initiator: "did:x811:019c8c61-8129-7511-9f31-aa5142e65448"
                .parse()
                .unwrap(),
            task_type: "echo".to_owned(),
            parameters: [("text".to_owned(), json!("hello"))].into_iter().collect(),
            end_by_ms: Some(SystemClock.now().saturating_add_ms(left_ms)),
        }
    }

    async fn outcome(script: &str, left_ms: u64) -> Result<String, String> {
        let worker = CommandWorker::new(run_file(script), Arc::new(SystemClock)).unwrap();
        match worker.work(job(left_ms)).await {
            Ok(product) => match product.content {
                ResultContent::Inline(text) => Ok(text),
                ResultContent::Linked { url, .. } => Err(url),
            },
            Err(fault) => Err(fault.reason),
        }
    }

    #[tokio::test]
    async fn ae_059_the_task_comes_on_standard_input_and_nothing_else() {
        let task = outcome("head -c 60", 30_000).await.unwrap();
        assert!(task.starts_with("{\"end_by\":"), "{task}");
        let seen = outcome("env | grep -v ^PWD= | grep -v ^_=; ls -A", 30_000).await;
        let expected = "X811_INTERACTION_ID=0190a1b2-c3d4-7e5f-8901-234567890abc\n";
        assert_eq!(seen.as_deref(), Ok(expected), "no other variable, no file");
    }

    #[tokio::test]
    async fn ax_041_a_result_over_the_limit_fails() {
        let long = outcome("head -c 65 /dev/zero", 30_000).await.unwrap_err();
        assert!(long.contains("more than 64 bytes"), "{long}");
        let endless = outcome("yes", 30_000).await.unwrap_err();
        assert!(endless.contains("more than 64 bytes"), "{endless}");
        let binary = outcome("printf '\\377'", 30_000).await.unwrap_err();
        assert!(binary.contains("UTF-8"), "{binary}");
        let failed = outcome("echo half; exit 3", 30_000).await.unwrap_err();
        assert!(failed.contains("exit status: 3"), "{failed}");
    }

    /// A child that was left in the background would hold the pipe open, and the agent's time.
    #[tokio::test]
    async fn ae_059_the_whole_group_ends_in_time() {
        let late = outcome("sleep 1000 & sleep 1000", 300).await.unwrap_err();
        assert!(late.contains("time was over"), "{late}");
        let mark = tempfile::NamedTempFile::new().unwrap();
        let path = mark.path().display();
        let script = format!("(while :; do echo x >> {path}; done) & wait");
        let _ = outcome(&script, 300).await.unwrap_err();
        let length = || std::fs::metadata(mark.path()).unwrap().len();
        // Killed processes may still be on their way out.
        let mut last = length();
        for _ in 0..100 {
            tokio::task::yield_now().await;
            if length() == last {
                break;
            }
            last = length();
        }
        let then = length();
        let _ = outcome("true", 30_000).await;
        assert_eq!(length(), then, "nothing of the group goes on");
    }

    #[tokio::test]
    #[cfg(target_os = "linux")]
    async fn ae_059_memory_is_limited() {
        let seen = outcome("sleep 0.2; ulimit -v", 30_000).await;
        assert_eq!(seen.as_deref(), Ok("524288\n"));
    }
}
