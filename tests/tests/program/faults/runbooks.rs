//! The runbooks of docs/incidents, played: each test reads a page and types its commands into bash, with the
//! settings that docs/incidents/README.md has the operator make.
//!
//! A block whose fence has a name after `sh` is typed; `postgres:` before the name has the database's system
//! user type it. A block without a name (systemctl, journalctl, timedatectl) is not: there is no systemd here,
//! and a test does the same to processes of its own, where a comment says so. Every named block is typed once
//! at least.

use super::client::{Acknowledged, Agent, Told, ledger_did, post};
use super::hosts::{Host, both, hosts};
use super::ledger::Place;
use super::takeovers::wrong_clock;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use x811_protocol::did::Did;
use x811_protocol::envelope::SealedEnvelope;
use x811_tests::anvil::checkout;
use x811_tests::binary::{Finished, run, without_our_variables, x811};
use x811_tests::postgres::Node;

const QUORUM: [&str; 4] = ["--store-quorum", "1", "--store-standby", "s2,s3"];

/// The value of `synchronous_standby_names` in the pages.
const NAMES: &str = "ANY 1 (s2, s3)";

/// How long a page may take to show what it promises. The lease is 3 s; a machine that runs other tests
/// meanwhile is slow.
const PATIENCE: Duration = Duration::from_secs(40);

/// Puts PostgreSQL's programs in the path, the newest first.
const PROGRAMS: &str = "for bin in /usr/lib/postgresql/*/bin; do PATH=\"$bin:$PATH\"; done";

/// A page, and the operator who reads it.
struct Page {
    name: &'static str,
    /// The named blocks.
    blocks: BTreeMap<String, String>,
    typed: BTreeSet<String>,
    settings: BTreeMap<&'static str, OsString>,
    /// Working directory of the operator.
    folder: TempDir,
}

impl Page {
    fn open(name: &'static str) -> Page {
        let folder = checkout().join("docs/incidents");
        let index = std::fs::read_to_string(folder.join("README.md")).unwrap();
        let file = format!("{name}.md");
        assert!(index.contains(&format!("({file})")), "no link to {file}");
        let text = std::fs::read_to_string(folder.join(&file)).unwrap();
        let mut blocks = BTreeMap::new();
        for block in text.split("\n```sh ").skip(1) {
            let (fence, rest) = block.split_once('\n').unwrap();
            let (text, _) = rest.split_once("\n```").unwrap();
            let twice = blocks.insert(fence.to_owned(), text.to_owned());
            assert!(twice.is_none(), "{file} has two blocks {fence}");
        }
        let mut page = Page {
            name,
            blocks,
            typed: BTreeSet::new(),
            settings: BTreeMap::new(),
            folder: TempDir::new().unwrap(),
        };
        page.set("PGUSER", "postgres");
        page.set("PGDATABASE", "postgres");
        page
    }

    /// A page about two processes over these servers.
    fn about(name: &'static str, hosts: &[Host; 2], servers: &[Node]) -> Page {
        let mut page = Page::open(name);
        page.set("A", hosts[0].url());
        page.set("B", hosts[1].url());
        for (server, variable) in servers.iter().zip(["S1", "S2", "S3"]) {
            page.set(variable, server.socket());
        }
        page.at(&hosts[0].place);
        page
    }

    fn set(&mut self, variable: &'static str, value: impl Into<OsString>) {
        self.settings.insert(variable, value.into());
    }

    /// The operator goes to another host.
    fn at(&mut self, place: &Place) {
        self.set("DATA", &place.data_dir);
        self.set("CHECKPOINT", &place.checkpoint_dir);
    }

    /// Types a block.
    fn types(&mut self, name: &str) -> Finished {
        let block = self.blocks.get(name);
        let block = block.unwrap_or_else(|| panic!("{} has no block {name}", self.name));
        let mut command = shell(Command::new("bash"), block);
        command.current_dir(self.folder.path());
        if name.starts_with("postgres:") {
            command = shell_of_postgres(block);
        }
        let typed = command.envs(&self.settings).output().unwrap();
        self.typed.insert(name.to_owned());
        Finished::from(typed)
    }

    /// Types a block until its last command succeeds.
    fn succeeds(&mut self, name: &str) -> String {
        self.types_until(name, |typed| typed.code == Some(0))
    }

    /// Types a block until it shows all of `words`.
    fn shows(&mut self, name: &str, words: &[&str]) -> String {
        self.types_until(name, |typed| {
            let shown = |word: &&str| typed.stdout.contains(word) || typed.stderr.contains(word);
            words.iter().all(shown)
        })
    }

    fn types_until(&mut self, name: &str, is_enough: impl Fn(&Finished) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let typed = self.types(name);
            if is_enough(&typed) {
                return format!("{}{}", typed.stdout, typed.stderr);
            }
            assert!(
                begun.elapsed() < PATIENCE,
                "{}, {name}: {typed:?}",
                self.name
            );
        }
    }

    /// Nothing was lost, by the page's own check.
    fn is_well(&mut self, place: &Place) {
        self.at(place);
        self.shows("check", &["clean: nothing is wrong", "well: nothing to do"]);
    }

    /// Nothing was lost on either host, and the page is played.
    fn ends_well(mut self, hosts: &[Host; 2]) {
        for host in hosts {
            self.is_well(&host.place);
        }
        self.finish();
    }

    /// All that a test can type was typed.
    fn finish(self) {
        let all: BTreeSet<String> = self.blocks.into_keys().collect();
        assert_eq!(self.typed, all, "{}", self.name);
    }
}

/// `bash` that runs `text`.
fn shell(mut bash: Command, text: &str) -> Command {
    let binaries = x811().parent().unwrap().display().to_string();
    let script = format!("PATH=\"{binaries}:$PATH\"; {PROGRAMS}\n{text}");
    without_our_variables(&mut bash);
    bash.args(["-uc", &script]);
    bash
}

/// The same, by the database's system user.
fn shell_of_postgres(text: &str) -> Command {
    if !run_as_root() {
        return shell(Command::new("bash"), text);
    }
    let mut bash = Command::new("setpriv");
    bash.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
    bash.arg("bash").current_dir("/");
    shell(bash, text)
}

fn run_as_root() -> bool {
    let user = Command::new("id").arg("-u").output().unwrap();
    user.stdout == b"0\n"
}

/// Runs a command of the test's own; `$AT` is the path.
fn run_at(text: &str, at: &Path) -> Finished {
    let done = shell(Command::new("bash"), text).env("AT", at).output();
    Finished::from(done.unwrap())
}

/// A directory that the database's system user may fill.
fn folder_of_postgres() -> TempDir {
    let folder = TempDir::new().unwrap();
    if run_as_root() {
        let _ = run_at("chown postgres: \"$AT\"", folder.path()).ok();
    }
    folder
}

/// A client that remembers what was acknowledged.
struct Client {
    agent: Agent,
    ledger: Did,
    acknowledged: Acknowledged,
}

impl Client {
    async fn begin(url: &str) -> Client {
        let ledger = ledger_did(url).await.unwrap();
        let agent = Agent::new("anna");
        let registration = agent.registration(ledger);
        let mut client = Client {
            agent,
            ledger,
            acknowledged: Acknowledged::default(),
        };
        client.is_accepted(url, &registration).await;
        client
    }

    async fn sends(&mut self, url: &str) {
        let message = self.agent.message(self.ledger, 100);
        self.is_accepted(url, &message).await;
    }

    /// Sends the same bytes until they are acknowledged.
    async fn is_accepted(&mut self, url: &str, envelope: &SealedEnvelope) {
        let begun = Instant::now();
        loop {
            match post(url, envelope).await {
                Told::Accepted(answer) => return self.acknowledged.note(&answer),
                told @ (Told::Refused(..) | Told::Nothing) => {
                    assert!(begun.elapsed() < PATIENCE, "{told:?}");
                }
            }
            tokio::task::yield_now().await;
        }
    }

    /// Sends until a message is not acknowledged.
    async fn is_refused(&mut self, url: &str) {
        for _ in 0..400 {
            let message = self.agent.message(self.ledger, 30_000);
            match post(url, &message).await {
                Told::Accepted(answer) => self.acknowledged.note(&answer),
                Told::Refused(..) | Told::Nothing => return,
            }
        }
        panic!("nothing is refused");
    }

    /// All that was acknowledged is at its place.
    async fn finds_all(&self, url: &str) {
        self.acknowledged.assert_found(url, || true).await;
    }
}

/// A primary and its standbys `s2` and `s3`, set up as docs/scale.md says.
async fn servers() -> [Node; 3] {
    let primary = Node::start(&["wal_log_hints=on"]).await;
    for setting in ["wal_log_hints = on", "wal_keep_size = '128MB'"] {
        primary
            .run_sql(&format!("ALTER SYSTEM SET {setting}"))
            .await;
    }
    let standbys = [primary.standby("s2").await, primary.standby("s3").await];
    let names = format!("ALTER SYSTEM SET synchronous_standby_names = '{NAMES}'");
    primary.run_sql(&names).await;
    primary.run_sql("SELECT pg_reload_conf()").await;
    let begun = Instant::now();
    loop {
        let mut session = primary.stranger().await;
        let shown = sqlx::query_scalar::<_, String>("SHOW synchronous_standby_names");
        if shown.fetch_one(&mut session).await.unwrap() == NAMES {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "the server reads no settings");
    }
    let [second, third] = standbys;
    [primary, second, third]
}

/// Three servers with two processes over them, of which the first one writes.
async fn cluster() -> ([Node; 3], [Host; 2]) {
    let servers = servers().await;
    let mut hosts = hosts(&servers[0].url().await, &QUORUM);
    both(&mut hosts).await;
    (servers, hosts)
}

/// Waits until `/ready` of a process is as it should be.
async fn is_shown(host: &Host, is_enough: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let ready = host.ready().await;
        if is_enough(&ready) {
            return ready;
        }
        assert!(begun.elapsed() < PATIENCE, "{ready}");
        tokio::task::yield_now().await;
    }
}

/// Waits until one process writes and the other one stands by.
async fn one_writes(hosts: &mut [Host; 2]) {
    let begun = Instant::now();
    loop {
        let ready = [hosts[0].ready().await, hosts[1].ready().await];
        let has = |role: &str| {
            let is_so = |it: &Value| it["ready"] == true && it["role"] == role;
            ready.iter().any(is_so)
        };
        if has("writer") && has("standby") {
            return;
        }
        hosts.iter_mut().for_each(Host::runs);
        assert!(begun.elapsed() < PATIENCE, "{ready:?}");
        tokio::task::yield_now().await;
    }
}

/// The operator writes another address into the settings of a process.
fn point_at(host: &mut Host, old: &str, new: &str) {
    for word in &mut host.place.options {
        if word == old {
            new.clone_into(word);
        }
    }
}

const BOTH_STREAM: [&str; 3] = [NAMES, "s2|streaming", "s3|streaming"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reliability_runbook_writer_dead() {
    let (servers, mut hosts) = cluster().await;
    let mut page = Page::about("writer-dead", &hosts, &servers);
    let other = hosts[1].url();
    let mut client = Client::begin(&other).await;
    hosts[0].kill();
    hosts[1].becomes("writer").await;
    page.shows("look", &["does not answer", "role       writer"]);
    client.sends(&other).await;
    // systemctl restart x811
    hosts[0].start();
    hosts[0].becomes("standby").await;
    page.shows("look", &["role       writer", "role       standby"]);
    page.shows("names", &BOTH_STREAM);
    client.finds_all(&hosts[0].url()).await;
    page.ends_well(&hosts);
}

/// The row of `compare` that is ahead, once both standbys receive nothing any more: 1 for S2, 2 for S3.
fn ahead(page: &mut Page) -> usize {
    let detached = |typed: &Finished| typed.stdout.lines().all(|line| line.contains("|0|"));
    let compared = page.types_until("compare", detached);
    let has = |line: &str| {
        line.rsplit('|')
            .next()
            .and_then(|has| has.parse::<u64>().ok())
    };
    let has: Vec<u64> = compared.lines().filter_map(has).collect();
    assert_eq!(has.len(), 2, "{compared}");
    1 + usize::from(has[1] > has[0])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reliability_runbook_primary_dead() {
    let (mut servers, mut hosts) = cluster().await;
    let mut page = Page::about("primary-dead", &hosts, &servers);
    let mut client = Client::begin(&hosts[1].url()).await;
    servers[0].kill();
    for host in &hosts {
        is_shown(host, |ready| ready["ready"] == false).await;
    }
    page.succeeds("detach");
    let new = ahead(&mut page);
    let other = 3 - new;
    for (variable, name, server) in [("NEW", "NEW_NAME", new), ("OTHER", "OTHER_NAME", other)] {
        page.set(variable, servers[server].socket());
        page.set(name, ["s1", "s2", "s3"][server]);
    }
    let promoted = page.types("promote").ok();
    assert!(!promoted.stdout.contains('f'), "{promoted:?}");
    page.shows("names", &[NAMES]);
    // The address in /etc/x811/store_url, and systemctl restart x811.
    let old = servers[0].address_of("ledger0");
    let address = servers[new].address_of("ledger0");
    for host in &mut hosts {
        host.kill();
        point_at(host, &old, &address);
    }
    hosts.iter_mut().for_each(Host::start);
    one_writes(&mut hosts).await;
    client.sends(&hosts[0].url()).await;
    client.finds_all(&hosts[1].url()).await;

    page.set("PGDATA", servers[0].socket().join("data"));
    let _ = page.types("postgres:rewind").ok();
    // systemctl start postgresql
    servers[0].run(&[]).await;
    page.shows("names", &BOTH_STREAM);
    client.sends(&hosts[1].url()).await;
    page.ends_well(&hosts);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reliability_runbook_standby_dead() {
    let (mut servers, hosts) = cluster().await;
    let mut page = Page::about("standby-dead", &hosts, &servers);
    let writer = hosts[0].url();
    let mut client = Client::begin(&writer).await;
    servers[1].kill();
    client.sends(&writer).await;
    let left = page.shows("names", &[NAMES, "s3|streaming"]);
    assert!(!left.contains("s2|streaming"), "{left}");
    // systemctl start postgresql
    servers[1].run(&[]).await;
    page.shows("names", &BOTH_STREAM);

    // Its disk is lost.
    servers[1].kill();
    let anew = folder_of_postgres();
    page.set("NAME", "s2");
    page.set("PGDATA", anew.path().join("data"));
    let _ = page.types("postgres:replace").ok();
    servers[1] = Node::restored(anew).await;
    page.shows("names", &BOTH_STREAM);
    page.shows("look", &["role       writer", "s2 ", "s3 "]);

    // Both are gone, and nobody empties synchronous_standby_names.
    servers[1..]
        .iter()
        .for_each(|standby| standby.signal("STOP"));
    let ready = is_shown(&hosts[0], |ready| ready["ready"] == false).await;
    let why = ready["why"].to_string();
    assert!(
        why.contains("standbys confirmed nothing in the last 3 s"),
        "{why}"
    );
    servers[1..]
        .iter()
        .for_each(|standby| standby.signal("CONT"));
    is_shown(&hosts[0], |ready| ready["ready"] == true).await;
    client.sends(&hosts[1].url()).await;
    client.finds_all(&writer).await;
    page.ends_well(&hosts);
}

/// The case with a promotion (step 3) is in `left_behind.rs`, and its commands are those of primary-dead.md.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reliability_runbook_writer_cut_off() {
    let (servers, mut hosts) = cluster().await;
    let mut page = Page::about("writer-cut-off", &hosts, &servers);
    let other = hosts[1].url();
    let mut client = Client::begin(&other).await;
    hosts[0].signal("STOP");
    hosts[1].becomes("writer").await;
    page.shows("look", &["exit code 124", "role       writer"]);
    client.sends(&other).await;
    hosts[0].signal("CONT");
    hosts[0].becomes("standby").await;
    let said = hosts[0].ledger.as_ref().unwrap().said();
    assert!(said.contains("what was under way is dropped"), "{said}");
    page.shows("names", &BOTH_STREAM);
    client.finds_all(&hosts[0].url()).await;
    page.ends_well(&hosts);
}

/// A file system of 4 MiB, which only root may mount. Unmounted when dropped.
struct Disk(PathBuf);

impl Disk {
    fn mount(at: PathBuf) -> Disk {
        let mount = "mkdir \"$AT\" && mount -t tmpfs -o size=4096k,mode=700 tmpfs \"$AT\"";
        let _ = run_at(mount, &at).ok();
        Disk(at)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily: a ledger may still be ending.
        let _ = run_at("umount -l \"$AT\"", &self.0);
    }
}

#[tokio::test]
async fn reliability_runbook_disk_full() {
    let mut place = Place::new();
    let disk = Disk::mount(place.folder.path().join("disk"));
    place.data_dir = place.folder.path().join("disk/data");
    let ledger = place.start();
    let mut page = Page::open("disk-full");
    page.set("A", &ledger.url);
    page.at(&place);
    let mut client = Client::begin(&ledger.url).await;
    let full = run_at("dd if=/dev/zero of=\"$AT/filler\" bs=4k", &disk.0);
    assert!(full.stderr.contains("No space left"), "{full:?}");
    client.is_refused(&ledger.url).await;
    page.shows("look", &["not ready", "the last commit failed", "100%"]);
    client.finds_all(&ledger.url).await;
    std::fs::remove_file(disk.0.join("filler")).unwrap();
    page.succeeds("after");
    client.sends(&ledger.url).await;

    // The checkpoint's disk is not mounted, and is mounted again.
    let away = place.folder.path().join("away");
    std::fs::rename(&place.checkpoint_dir, &away).unwrap();
    client.sends(&ledger.url).await;
    page.shows("after", &["no checkpoint could be stored"]);
    std::fs::rename(&away, &place.checkpoint_dir).unwrap();
    client.sends(&ledger.url).await;
    page.is_well(&place);
    client.finds_all(&ledger.url).await;
    assert!(ledger.stop().status.success());
    page.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reliability_runbook_clock_wrong() {
    let servers = [Node::start(&[]).await];
    let mut hosts = hosts(&servers[0].url().await, &[]);
    hosts[1].place.under = wrong_clock("+3600s");
    both(&mut hosts).await;
    let mut page = Page::about("clock-wrong", &hosts, &servers);
    let wrong = hosts[1].url();
    let mut client = Client::begin(&wrong).await;
    page.shows(
        "look",
        &["s behind this machine's: records bear the database's time"],
    );
    // timedatectl set-ntp true. Here the clock of a process is wrong, and stays so until its end.
    hosts[1].kill();
    hosts[1].place.under.clear();
    hosts[1].start();
    hosts[1].becomes("standby").await;
    let compared = page.shows("look", &["role       writer", "role       standby"]);
    assert!(!compared.contains("this machine's"), "{compared}");
    page.succeeds("names");
    client.sends(&wrong).await;
    client.finds_all(&hosts[0].url()).await;
    page.ends_well(&hosts);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reliability_runbook_host_moved() {
    let mut page = Page::open("host-moved");

    // PostgreSQL: the second host is new.
    let node = Node::start(&[]).await;
    let mut hosts = hosts(&node.url().await, &[]);
    hosts[0].start();
    hosts[0].becomes("writer").await;
    let mut client = Client::begin(&hosts[0].url()).await;
    page.at(&hosts[0].place);
    let _ = page.types("keys").ok();
    page.at(&hosts[1].place);
    let _ = page.types("unpack-keys").ok();
    // systemctl enable --now x811
    hosts[1].start();
    hosts[1].becomes("standby").await;
    page.succeeds("has-checkpoint");
    // systemctl disable --now x811
    assert!(hosts[0].ledger.take().unwrap().stop().status.success());
    hosts[1].becomes("writer").await;
    client.sends(&hosts[1].url()).await;
    client.finds_all(&hosts[1].url()).await;
    page.is_well(&hosts[1].place);

    // SQLite
    let old = Place::new();
    let ledger = old.start();
    let mut client = Client::begin(&ledger.url).await;
    assert!(ledger.stop().status.success());
    page.at(&old);
    let _ = page.types("close").ok();
    old.refused(&["was moved to another place"]);
    let new = Place::new();
    page.at(&new);
    let unpacked = page.types("unpack").ok();
    assert!(
        unpacked.stdout.contains("well: nothing to do"),
        "{unpacked:?}"
    );
    let ledger = new.start();
    client.sends(&ledger.url).await;
    client.finds_all(&ledger.url).await;
    page.is_well(&new);
    assert!(ledger.stop().status.success());
    page.finish();
}

/// Starts a ledger, sends to it, and ends it in order.
async fn serves(place: &Place) -> Client {
    let ledger = place.start();
    let client = Client::begin(&ledger.url).await;
    assert!(ledger.stop().status.success());
    client
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reliability_runbook_restore() {
    let place = Place::new();
    let mut page = Page::open("restore");
    let mut client = serves(&place).await;
    let [backup, new] = ["backup", "new"].map(|name| place.folder.path().join(name));
    let [from, to] = [&place.data_dir, &backup].map(|path| path.to_str().unwrap());
    let _ = run(&["backup", from, to]).ok();
    page.at(&place);
    page.set("BACKUP", &backup);
    page.set("NEW", &new);

    // The data is lost, and nothing was acknowledged after the backup.
    std::fs::remove_dir_all(&place.data_dir).unwrap();
    page.shows("restore", &["well: nothing to do"]);
    // mv "$NEW" "$DATA" && systemctl start x811
    std::fs::rename(&new, &place.data_dir).unwrap();
    let ledger = place.start();
    client.finds_all(&ledger.url).await;
    client.sends(&ledger.url).await;
    assert!(ledger.stop().status.success());
    page.is_well(&place);

    // Lost again, after more was acknowledged; then with the checkpoint.
    std::fs::remove_dir_all(&place.data_dir).unwrap();
    for (block, name) in [("reopen", "first"), ("reopen-lost", "second")] {
        page.at(&place);
        let [new, next] =
            ["new", "next"].map(|it| place.folder.path().join(format!("{name}-{it}")));
        page.set("NEW", &new);
        page.set("NEXT", &next);
        page.shows("restore", &["were acknowledged and signed"]);
        let reopened = page.types(block).ok();
        assert!(
            reopened.stdout.contains("a new ledger waits in"),
            "{reopened:?}"
        );
        let next = Place {
            checkpoint_dir: place.folder.path().join(format!("{name}-next-checkpoint")),
            data_dir: next,
            ..Place::new()
        };
        serves(&next).await;
        page.is_well(&next);
    }
    restores_a_dump(&mut page).await;
    page.finish();
}

/// The part of the page for PostgreSQL.
async fn restores_a_dump(page: &mut Page) {
    let [lost, anew] = [Node::start(&[]).await, Node::start(&[]).await];
    let [mut host, _] = hosts(&lost.url().await, &[]);
    host.start();
    host.becomes("writer").await;
    let mut client = Client::begin(&host.url()).await;
    assert!(host.ledger.take().unwrap().stop().status.success());
    let dump = "pg_dump -h \"$AT\" -U postgres -Fc -f \"$AT/dump\" postgres";
    let _ = run_at(dump, lost.socket()).ok();
    page.set("S1", anew.socket());
    page.set("BACKUP", lost.socket().join("dump"));
    let _ = page.types("load").ok();
    let [old, new] = [&lost, &anew].map(|node| node.address_of("ledger0"));
    drop(lost);
    point_at(&mut host, &old, &new);
    // systemctl start x811
    host.start();
    host.becomes("writer").await;
    client.finds_all(&host.url()).await;
    client.sends(&host.url()).await;
    page.is_well(&host.place);
}

#[tokio::test]
async fn reliability_runbook_checkpoint_lost() {
    let place = Place::new();
    let mut page = Page::open("checkpoint-lost");
    let mut client = serves(&place).await;
    std::fs::remove_dir_all(&place.checkpoint_dir).unwrap();
    place.refused(&["the last signed checkpoint is not in", "adopt-checkpoint"]);
    page.at(&place);
    let adopted = page.types("adopt").ok();
    assert!(
        adopted
            .stdout
            .contains("goes on without its last checkpoint"),
        "{adopted:?}"
    );
    // systemctl start x811
    let ledger = place.start();
    client.finds_all(&ledger.url).await;
    client.sends(&ledger.url).await;
    assert!(ledger.stop().status.success());
    page.shows("check", &["remark", "the operator went on without it"]);
    page.is_well(&place);
    page.finish();
}
