//! The systemd unit.

use super::installed::{Installed, NOBODY, environment};
use super::packaged;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::Command;
use std::time::Duration;
use x811_tests::anvil::{Anvil, BASE_CHAIN_ID, BASE_USDC};
use x811_tests::binary::{Server, run};

/// How often the ledger's status is read, and the pause between two readings.
const LOOKS: u32 = 300;
const STEP: Duration = Duration::from_millis(100);

#[test]
fn the_unit_is_hardened_and_stops_in_time() {
    let text = packaged("x811.service");
    for line in [
        "ExecStart=/usr/local/bin/x811 serve --config /etc/x811/x811.toml",
        "DynamicUser=yes",
        "StateDirectory=x811 x811-checkpoint",
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        "Restart=on-failure",
        "TimeoutStopSec=30",
        "StandardInput=file:/etc/x811/rpc_url",
        "RuntimeDirectory=x811",
        "RuntimeDirectoryMode=0700",
        "UMask=0077",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}");
    }
    let settings = text
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with(['#', '[']));
    for setting in settings {
        let (key, _) = setting.split_once('=').unwrap();
        assert!(key.chars().all(|c| c.is_ascii_alphanumeric()), "{setting}");
    }
}

#[test]
fn the_unit_starts_where_only_its_own_directories_can_be_written() {
    let installed = Installed::new();
    let service = Service::of(&installed);
    assert!(service.settings.len() >= 4, "{:?}", service.settings);
    service.run("ExecStartPre=", None).unwrap();
    installed.gets_ready(&service.settings);
}

/// No chain is at the first address, so the ledger sees one only after it has taken the second address.
#[tokio::test]
async fn a_reload_of_the_unit_takes_the_address_that_the_operator_changed() {
    let installed = Installed::new();
    let service = Service::of(&installed);
    service.run("ExecStartPre=", None).unwrap();
    let server = installed.serve(&service.settings);
    assert_ne!(sight(&server), "fresh");

    let chain = Anvil::start(BASE_CHAIN_ID, Some(1));
    chain.deploy_usdc(BASE_USDC).await;
    chain.mine(20).await;
    installed.write_rpc_url(&chain.rpc_url());
    service.run("ExecReload=", Some(server.id())).unwrap();
    for _ in 0..LOOKS {
        if sight(&server) == "fresh" {
            break;
        }
        tokio::time::sleep(STEP).await;
    }
    assert_eq!(sight(&server), "fresh");
    assert_eq!(service.copy(), chain.rpc_url());
    server.stop();
}

#[test]
fn a_reload_of_the_unit_that_fails_replaces_nothing() {
    let installed = Installed::new();
    let service = Service::of(&installed);
    service.run("ExecStartPre=", None).unwrap();
    let reload_fails = |word: &str| {
        let error = service.run("ExecReload=", None).unwrap_err();
        assert!(error.contains(word), "{error}");
        assert_eq!(service.copy(), NOBODY);
        service.is_alone_to_read("rpc_url");
        service.is_alone_to_read("rpc_url.new");
    };
    installed.write_rpc_url("");
    reload_fails("does not hold one line");
    // An address that an earlier reload left, where the next one cannot write.
    let left = installed.path("run/x811/rpc_url.new");
    fs::write(&left, "http://127.0.0.1:2").unwrap();
    fs::set_permissions(&left, fs::Permissions::from_mode(0o400)).unwrap();
    installed.write_rpc_url("http://127.0.0.1:3");
    reload_fails("rpc_url.new");
    fs::remove_file(installed.path("rpc_url")).unwrap();
    reload_fails("No such file");
}

#[test]
fn the_unit_keeps_free_memory_for_a_minute() {
    let text = packaged("x811.service");
    let settings = environment(values(&text, "Environment="), &[]);
    let said = Installed::new().allocator(settings);
    assert!(said.contains("'purge_delay': 60000"), "{said}");
}

#[test]
fn the_unit_is_one_that_systemd_reads() {
    let installed = Installed::new();
    let binary = installed.path("x811");
    let text = packaged("x811.service").replace("/usr/local/bin/x811", &binary);
    let unit = installed.path("x811.service");
    std::fs::write(&unit, text).unwrap();
    let mut verify = Command::new("systemd-analyze");
    let verified = verify.args(["verify", "--man=no", &unit]).output();
    let verified = verified.expect(
        "systemd-analyze is missing: nothing else reads the unit as systemd does; install systemd \
         (Debian: apt-get install systemd), it need not run",
    );
    let said = String::from_utf8_lossy(&verified.stderr);
    // What it has to say of units of the machine is not ours.
    let ours: Vec<&str> = said.lines().filter(|line| line.contains("x811")).collect();
    assert!(verified.status.success() && ours.is_empty(), "{said}");
}

/// The unit as systemd runs it, in the folder of `installed` and without root's rights.
struct Service<'i> {
    installed: &'i Installed,
    /// The unit, with the paths of that folder.
    unit: String,
    settings: Vec<(String, String)>,
}

impl Service<'_> {
    fn of(installed: &Installed) -> Service<'_> {
        let unit = packaged("x811.service")
            .replace("/usr/local/bin/x811", &installed.path("x811"))
            .replace("/etc/x811/", &installed.path(""))
            .replace("%S", &installed.path("lib"))
            .replace("%t", &installed.path("run"));
        // Nothing lies beside the directories that systemd makes for it.
        for name in values(&unit, "StateDirectory=").flat_map(str::split_whitespace) {
            installed.state_directory(name);
        }
        for name in values(&unit, "RuntimeDirectory=").flat_map(str::split_whitespace) {
            installed.runtime_directory(name);
        }
        let settings = environment(values(&unit, "Environment="), &[]);
        Service {
            installed,
            unit,
            settings,
        }
    }

    /// Runs the commands of `setting` in order until one fails, and returns what that one wrote.
    fn run(&self, setting: &str, main_process: Option<u32>) -> Result<(), String> {
        let [umask, input] = ["UMask=", "StandardInput=file:"].map(|setting| self.value(setting));
        // As x811-store.conf sets it. systemd makes the credentials of a unit for its main process alone.
        let credential = self.installed.path("credentials/store_url");
        let main_process = main_process.map(|id| id.to_string()).unwrap_or_default();
        let lines: Vec<&str> = values(&self.unit, setting).collect();
        assert!(!lines.is_empty(), "{setting}");
        for line in lines {
            // A character before the path gives root's rights, or lets the command fail unnoticed.
            assert!(line.starts_with('/'), "{line}");
            let line = line.replace("$MAINPID", &main_process);
            let mut command = Command::new("/bin/sh");
            command
                .args(["-c", &format!("umask {umask}; exec \"$@\""), "sh"])
                .args(words(&line));
            self.installed.as_service(&mut command, &self.settings);
            // systemd opens the file as root, before it becomes the service's user.
            let input = File::open(input).map_err(|error| error.to_string())?;
            let ended = command
                .env("PATH", "/usr/local/bin:/usr/bin:/bin")
                .env("X811_STORE_URL_FILE", &credential)
                .stdin(input)
                .output()
                .unwrap();
            if !ended.status.success() {
                return Err(String::from_utf8(ended.stderr).unwrap());
            }
        }
        Ok(())
    }

    fn value<'s>(&'s self, setting: &'s str) -> &'s str {
        values(&self.unit, setting).next().unwrap()
    }

    /// Checks that the service owns this copy of the address, and that nobody else can read it.
    fn is_alone_to_read(&self, name: &str) {
        let directory = self.installed.path("run/x811");
        let copy = fs::metadata(format!("{directory}/{name}")).unwrap();
        assert_eq!(copy.permissions().mode() & 0o077, 0, "{name}");
        assert_eq!(copy.uid(), fs::metadata(directory).unwrap().uid(), "{name}");
    }

    /// The address that the ledger reads.
    fn copy(&self) -> String {
        fs::read_to_string(self.installed.path("run/x811/rpc_url")).unwrap()
    }
}

/// How well the ledger sees its chain.
fn sight(server: &Server) -> String {
    let status = run(&["--json", "--ledger", server.url(), "status"]);
    let status = status.ok().json();
    let sight = status["networks"][0]["sight"].as_str().unwrap();
    sight.to_owned()
}

/// The words of a command line, of which single quotes enclose some.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// What is given to one setting of the unit, in order.
fn values<'t>(text: &'t str, setting: &'t str) -> impl Iterator<Item = &'t str> {
    text.lines()
        .filter_map(move |line| line.strip_prefix(setting))
}
