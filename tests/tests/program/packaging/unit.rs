//! The systemd unit.

use super::installed::{Installed, environment};
use super::packaged;
use std::process::Command;

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
        "LoadCredential=rpc_url:/etc/x811/rpc_url",
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
    let text = packaged("x811.service");
    let installed = Installed::new();
    // What systemd makes for it, as it makes it where the user is dynamic; nothing lies beside.
    for name in values(&text, "StateDirectory=").flat_map(str::split_whitespace) {
        installed.state_directory(name);
    }
    let of_systemd = [
        ("%S", installed.path("lib")),
        ("%d", installed.path("credentials")),
    ];
    let settings = environment(values(&text, "Environment="), &of_systemd);
    assert!(settings.len() >= 4, "{settings:?}");
    installed.gets_ready(&settings);
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

/// What is given to one setting of the unit, in order.
fn values<'t>(text: &'t str, setting: &'t str) -> impl Iterator<Item = &'t str> {
    text.lines()
        .filter_map(move |line| line.strip_prefix(setting))
}
