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

/// A folder with `x811`, `x811.toml`, `credentials/rpc_url` and `lib`, where state lies.
pub(crate) struct Installed {
    folder: TempDir,
    is_root: bool,
}

impl Installed {
    pub(crate) fn new() -> Installed {
        let folder = tempfile::tempdir().unwrap();
        let is_root = fs::metadata(folder.path()).unwrap().uid() == 0;
        let installed = Installed { folder, is_root };
        for name in ["lib", "private", "credentials"] {
            fs::create_dir(installed.path(name)).unwrap();
        }
        fs::write(installed.path("credentials/rpc_url"), NOBODY).unwrap();
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

    /// A directory that was made for the service, behind a link, as that of a dynamic user is.
    pub(crate) fn state_directory(&self, name: &str) {
        let directory = self.path(&format!("private/{name}"));
        fs::create_dir(&directory).unwrap();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).unwrap();
        if self.is_root {
            chown(&directory, Some(UNPRIVILEGED), Some(UNPRIVILEGED)).unwrap();
        }
        symlink(&directory, self.path(&format!("lib/{name}"))).unwrap();
    }

    /// Starts it with these settings and nothing else, waits until it is ready, and stops it.
    pub(crate) fn gets_ready(&self, settings: &[(String, String)]) {
        for (name, mode) in [("", 0o755), ("lib", 0o555), ("private", 0o555)] {
            let mode = fs::Permissions::from_mode(mode);
            fs::set_permissions(self.path(name), mode).unwrap();
        }
        let mut serve = Command::new(self.path("x811"));
        serve
            .args(["serve", "--config", &self.path("x811.toml")])
            .args(["--listen", "127.0.0.1:0"])
            .current_dir("/")
            .env_clear()
            .envs(settings.iter().cloned());
        if self.is_root {
            serve.uid(UNPRIVILEGED).gid(UNPRIVILEGED);
        }
        let server = Server::start_by(&mut serve).unwrap();
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
        for name in ["lib", "private"] {
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
