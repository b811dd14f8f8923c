//! A PostgreSQL server of its own for a test: in a temporary directory, on a Unix socket, gone with
//! the test. It refuses to run as root, so there it runs as the user `postgres`.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _};
use tempfile::TempDir;

/// A running server.
#[derive(Debug)]
pub struct Node {
    directory: TempDir,
    server: Option<Child>,
    schemas: AtomicU32,
}

impl Node {
    /// A new, empty primary.
    pub async fn start(settings: &[&str]) -> Node {
        let directory = must(TempDir::new());
        give_away(directory.path());
        let data = directory.path().join("data");
        run(as_postgres("initdb")
            .arg("-D")
            .arg(&data)
            .args(["-A", "trust", "-U", "postgres", "-E", "UTF8"])
            .args(["--locale=C", "--no-sync"]));
        Node::over(directory, settings).await
    }

    /// A standby of this one, which calls itself `name`.
    pub async fn standby(&self, name: &str) -> Node {
        self.standby_with(name, &[]).await
    }

    /// The same, with settings of its own.
    pub async fn standby_with(&self, name: &str, settings: &[&str]) -> Node {
        let directory = must(TempDir::new());
        give_away(directory.path());
        let data = directory.path().join("data");
        let socket = self.directory.path().display();
        let primary = format!("host={socket} user=postgres application_name={name}");
        run(as_postgres("pg_basebackup")
            .args(["-R", "-X", "stream", "-c", "fast", "--no-sync", "-D"])
            .arg(&data)
            .args(["-d", &primary]));
        Node::over(directory, settings).await
    }

    /// A copy of what it has now, as its administrator makes one; see [`Node::restored`].
    pub fn copy(&self) -> TempDir {
        let directory = must(TempDir::new());
        give_away(directory.path());
        let socket = self.directory.path().display();
        run(as_postgres("pg_basebackup")
            .args(["-X", "stream", "-c", "fast", "--no-sync", "-D"])
            .arg(directory.path().join("data"))
            .args(["-d", &format!("host={socket} user=postgres")]));
        directory
    }

    /// A server over such a copy.
    pub async fn restored(copy: TempDir) -> Node {
        Node::over(copy, &[]).await
    }

    /// Makes it the primary.
    pub async fn promote(&self) {
        let promotion = sqlx::query_scalar("SELECT pg_promote()");
        let promoted: bool = must(promotion.fetch_one(&mut self.stranger().await).await);
        assert!(promoted);
    }

    /// Runs a statement of an operator.
    pub async fn run_sql(&self, statement: &str) {
        let statement = sqlx::raw_sql(AssertSqlSafe(statement.to_owned()));
        must(statement.execute(&mut self.stranger().await).await);
    }

    /// Sends the server and all its sessions a signal: STOP, CONT or KILL.
    pub fn signal(&self, name: &str) {
        let Some(server) = &self.server else {
            return;
        };
        let postmaster = server.id().to_string();
        let children = Command::new("pgrep").args(["-P", &postmaster]).output();
        let children = must(String::from_utf8(must(children).stdout));
        // A session may have ended meanwhile.
        let _ = Command::new("kill")
            .args(["-s", name, &postmaster])
            .args(children.split_whitespace())
            .output();
    }

    /// The directory of its socket.
    #[must_use]
    pub fn socket(&self) -> &Path {
        self.directory.path()
    }

    /// Takes it off its primary, and says how many bytes of that one's log it has: once its receiver has
    /// ended, since more may come before, and as far as it has replayed where it received nothing itself.
    pub async fn detach(&self) -> i64 {
        self.follow("").await;
        let mut session = self.stranger().await;
        let receivers = "SELECT count(*) FROM pg_stat_wal_receiver";
        loop {
            let receivers = sqlx::query_scalar::<_, i64>(receivers);
            if must(receivers.fetch_one(&mut session).await) == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let has = "SELECT greatest(coalesce(pg_last_wal_receive_lsn() - '0/0', 0), \
                   coalesce(pg_last_wal_replay_lsn() - '0/0', 0))::bigint";
        must(sqlx::query_scalar(has).fetch_one(&mut session).await)
    }

    /// Makes it a standby of `primary` under `name`.
    pub async fn attach(&self, primary: &Node, name: &str) {
        let socket = primary.socket().display();
        let follow = format!("host={socket} user=postgres application_name={name}");
        self.follow(&follow).await;
    }

    async fn follow(&self, primary: &str) {
        self.run_sql(&format!("ALTER SYSTEM SET primary_conninfo = '{primary}'"))
            .await;
        self.run_sql("SELECT pg_reload_conf()").await;
    }

    /// The address of the schema `name`, on whichever node.
    #[must_use]
    pub fn address_of(&self, schema: &str) -> String {
        format!("{}&options=-csearch_path%3D{schema}", self.address())
    }

    /// Over a directory that has its `data`.
    async fn over(directory: TempDir, settings: &[&str]) -> Node {
        let mut node = Node {
            directory,
            server: None,
            schemas: AtomicU32::new(0),
        };
        node.run(settings).await;
        node
    }

    /// Starts the server over what is there, and waits until it answers.
    pub async fn run(&mut self, settings: &[&str]) {
        let mut server = as_postgres("postgres");
        server.arg("-D").arg(self.directory.path().join("data"));
        server.arg("-k").arg(self.directory.path());
        server.args(["-c", "listen_addresses=", "-c", "fsync=off"]);
        for setting in settings {
            server.args(["-c", setting]);
        }
        server.stdout(Stdio::null()).stderr(Stdio::null());
        self.server = Some(must(server.spawn()));
        for _ in 0..600 {
            if PgConnection::connect(&self.address()).await.is_ok() {
                return;
            }
            let ended = self.server.as_mut().map(Child::try_wait);
            let ended = ended.and_then(must);
            assert!(ended.is_none(), "the server ended: {ended:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the server does not answer");
    }

    /// Ends it as a power cut would.
    pub fn kill(&mut self) {
        if self.server.is_some() {
            self.signal("KILL");
        }
        if let Some(mut server) = self.server.take() {
            must(server.wait());
        }
    }

    /// Where it is, without a schema.
    #[must_use]
    pub fn address(&self) -> String {
        let socket = self.directory.path().display();
        format!("postgres://postgres@localhost/postgres?host={socket}")
    }

    /// Somebody with a shell on the database.
    pub async fn stranger(&self) -> PgConnection {
        must(PgConnection::connect(&self.address()).await)
    }

    /// How many ledgers keep tables here, each in a schema that tests of the real binary made for it.
    pub async fn ledgers(&self) -> i64 {
        let kept =
            "SELECT count(DISTINCT schemaname) FROM pg_tables WHERE schemaname LIKE 'ledger\\_%'";
        must(
            sqlx::query_scalar(kept)
                .fetch_one(&mut self.stranger().await)
                .await,
        )
    }

    /// The address of a new and empty schema: `ledger0`, `ledger1` and so on.
    pub async fn url(&self) -> String {
        let name = format!("ledger{}", self.schemas.fetch_add(1, Ordering::SeqCst));
        self.run_sql(&format!("CREATE SCHEMA {name}")).await;
        self.address_of(&name)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A program of PostgreSQL's, as a user that it takes.
fn as_postgres(program: &str) -> Command {
    let program = programs().join(program);
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
    command.args(["--pdeathsig", "KILL"]).arg(program);
    command.current_dir("/");
    command
}

/// Where Debian puts them, the newest; elsewhere they are found by name.
fn programs() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let bins = versions.filter_map(|version| Some(version.ok()?.path().join("bin")));
    let newest = bins.filter(|bin| bin.join("postgres").exists()).max();
    newest.unwrap_or_default()
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0)
}

/// Lets the server's user have the directory.
fn give_away(directory: &Path) {
    if is_root() {
        run(Command::new("chown").arg("postgres:").arg(directory));
    }
}

/// A harness stops the test at once where something is missing.
fn must<T, E: std::fmt::Debug>(done: Result<T, E>) -> T {
    done.unwrap_or_else(|error| panic!("{error:?}"))
}

fn run(command: &mut Command) {
    let done = must(command.output());
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}: {said}");
}
