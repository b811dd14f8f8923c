//! The binary as an operator installs it: another user's, in a place where that user can write to
//! nothing but what was made for it.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use tempfile::TempDir;
use x811_tests::anvil::checkout;
use x811_tests::binary::{Server, run, x811};

/// A JSON-RPC endpoint where nobody is.
pub(crate) const NOBODY: &str = "http://127.0.0.1:1";

/// Whom root becomes here.
const UNPRIVILEGED: u32 = 65_534;

/// Folders in which the directories of the service are.
const PARENTS: [&str; 3] = ["lib", "private", "run"];

/// A folder with `x811`, `x811.toml` and `rpc_url`, which the operator wrote, and with `lib` and `run` for the directories
/// of the service.
pub(crate) struct Installed {
    folder: TempDir,
    is_root: bool,
}

impl Installed {
    pub(crate) fn new() -> Installed {
        let folder = tempfile::tempdir().unwrap();
        let is_root = fs::metadata(folder.path()).unwrap().uid() == 0;
        let installed = Installed { folder, is_root };
        for name in PARENTS {
            fs::create_dir(installed.path(name)).unwrap();
        }
        let anybody_enters = fs::Permissions::from_mode(0o755);
        fs::set_permissions(installed.path(""), anybody_enters).unwrap();
        installed.write_rpc_url(NOBODY);
        let settings = checkout().join("packaging/x811.toml");
        fs::copy(settings, installed.path("x811.toml")).unwrap();
        // The checkout may lie where nobody else may look.
        let binary = installed.path("x811");
        fs::hard_link(x811(), &binary)
            .or_else(|_| fs::copy(x811(), &binary).map(|_| ()))
            .unwrap();
        installed
    }

    pub(crate) fn path(&self, name: &str) -> String {
        let path = self.folder.path().join(name);
        path.into_os_string().into_string().unwrap()
    }

    /// Replaces the file with the address of the endpoint. Only its owner, the operator, can read it.
    pub(crate) fn write_rpc_url(&self, address: &str) {
        let new = self.path("rpc_url.operator");
        fs::write(&new, address).unwrap();
        fs::set_permissions(&new, fs::Permissions::from_mode(0o600)).unwrap();
        fs::rename(&new, self.path("rpc_url")).unwrap();
    }

    /// A directory that was made for the service, behind a link, as that of a dynamic user is.
    pub(crate) fn state_directory(&self, name: &str) {
        let directory = self.service_directory(&format!("private/{name}"));
        symlink(directory, self.path(&format!("lib/{name}"))).unwrap();
    }

    /// A directory that was made for the service and is removed when it stops.
    pub(crate) fn runtime_directory(&self, name: &str) {
        self.service_directory(&format!("run/{name}"));
    }

    fn service_directory(&self, name: &str) -> String {
        let directory = self.path(name);
        fs::create_dir(&directory).unwrap();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).unwrap();
        if self.is_root {
            chown(&directory, Some(UNPRIVILEGED), Some(UNPRIVILEGED)).unwrap();
        }
        directory
    }

    /// Lets `command` run as the service's user, with these settings and nothing else.
    pub(crate) fn as_service(&self, command: &mut Command, settings: &[(String, String)]) {
        command
            .current_dir("/")
            .env_clear()
            .envs(settings.iter().cloned());
        if self.is_root {
            command.uid(UNPRIVILEGED).gid(UNPRIVILEGED);
        }
    }

    /// Starts it with these settings, where it can write to its own directories only.
    pub(crate) fn serve(&self, settings: &[(String, String)]) -> Server {
        for name in PARENTS {
            let mode = fs::Permissions::from_mode(0o555);
            fs::set_permissions(self.path(name), mode).unwrap();
        }
        let mut serve = Command::new(self.path("x811"));
        serve
            .args(["serve", "--config", &self.path("x811.toml")])
            .args(["--listen", "127.0.0.1:0"]);
        self.as_service(&mut serve, settings);
        Server::start_by(&mut serve).unwrap()
    }

    /// Starts it with these settings and nothing else, waits until it is ready, and stops it.
    pub(crate) fn gets_ready(&self, settings: &[(String, String)]) {
        let server = self.serve(settings);
        let ready = run(&["--json", "--ledger", server.url(), "status"]);
        assert_eq!(ready.ok().json()["ready"], true);
        server.stop();
    }

    /// What its allocator says of itself when it is started with these settings.
    pub(crate) fn allocator(&self, settings: Vec<(String, String)>) -> String {
        let started = Command::new(self.path("x811"))
            .arg("--version")
            .env_clear()
            .envs(settings)
            .env("MIMALLOC_VERBOSE", "1")
            .output()
            .unwrap();
        String::from_utf8(started.stderr).unwrap()
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        // Or whoever is not root could not remove it.
        for name in PARENTS {
            let mode = fs::Permissions::from_mode(0o755);
            let _ = fs::set_permissions(self.path(name), mode);
        }
    }
}

/// `NAME=value` words, with what stands for something else replaced.
pub(crate) fn environment<'t>(
    words: impl Iterator<Item = &'t str>,
    replaced: &[(&str, String)],
) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    for (name, value) in words.filter_map(|word| word.split_once('=')) {
        let mut value = value.to_owned();
        for (from, to) in replaced {
            value = value.replace(from, to);
        }
        settings.push((name.to_owned(), value));
    }
    settings
}
