//! The unit and the container file name what is there. No container engine and no systemd runs
//! here, so their words are checked: paths, packages, features and the commands of the binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;

use cargo_metadata::MetadataCommand;
use x811_tests::anvil::checkout;

fn packaged(name: &str) -> String {
    fs::read_to_string(checkout().join("packaging").join(name)).unwrap()
}

/// The lines of one instruction, continued ones joined.
fn instructions(text: &str, instruction: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    let lines = joined
        .lines()
        .filter_map(|line| line.strip_prefix(instruction));
    lines.map(|line| line.trim().to_owned()).collect()
}

#[test]
fn everything_the_container_copies_is_in_the_checkout() {
    let text = packaged("Containerfile");
    let mut copied = Vec::new();
    for line in instructions(&text, "COPY ") {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        if words[0].starts_with("--from=") {
            continue;
        }
        words.pop();
        copied.extend(words.into_iter().map(str::to_owned));
    }
    assert!(copied.len() >= 4, "{copied:?}");
    for path in &copied {
        assert!(checkout().join(path).exists(), "COPY {path}");
    }
    // A workspace with a member or an included folder missing does not build.
    let manifest = fs::read_to_string(checkout().join("Cargo.toml")).unwrap();
    let members = manifest.lines().find(|line| line.starts_with("members = "));
    for member in members.unwrap().split('"').skip(1).step_by(2) {
        let folder = member.trim_end_matches("/*");
        assert!(copied.iter().any(|path| path == folder), "{folder}");
    }
    assert!(copied.iter().any(|path| path == "migrations"));
}

#[test]
fn the_container_builds_a_package_and_binary_that_exist() {
    let text = packaged("Containerfile");
    let runs = instructions(&text, "RUN ");
    let build = runs.iter().find(|line| line.starts_with("cargo build"));
    let words: Vec<&str> = build.unwrap().split_whitespace().collect();
    let after = |flag: &str| words[words.iter().position(|word| *word == flag).unwrap() + 1];
    let metadata = MetadataCommand::new()
        .manifest_path(checkout().join("Cargo.toml"))
        .no_deps()
        .exec()
        .unwrap();
    let packages = &metadata.packages;
    let package = packages
        .iter()
        .find(|p| p.name.as_str() == after("--package"));
    let targets = &package.unwrap().targets;
    assert!(
        targets
            .iter()
            .any(|t| t.is_bin() && t.name == after("--bin"))
    );
    assert!(words.contains(&"--locked") && words.contains(&"--release"));
    let copied = format!("/src/target/release/{}", after("--bin"));
    assert!(text.contains(&copied), "{copied}");
    let version = metadata.packages[0].rust_version.clone().unwrap();
    let image = format!("rust:{}.{}-", version.major, version.minor);
    assert!(text.contains(&image), "{image}");
}

#[test]
fn the_container_is_not_root_and_asks_for_its_health() {
    let text = packaged("Containerfile");
    assert_eq!(instructions(&text, "USER "), ["x811"]);
    assert!(text.contains("CMD [\"x811\", \"status\"]"));
    assert!(!text.contains("OPEN_READS"));
}

#[test]
fn the_unit_is_hardened_and_stops_in_time() {
    let text = packaged("x811.service");
    for line in [
        "ExecStart=/usr/local/bin/x811 serve --config /etc/x811/x811.toml",
        "DynamicUser=yes",
        "StateDirectory=x811",
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
fn every_figure_that_an_alert_asks_for_is_shown() {
    let rules = packaged("x811.rules.yml");
    let mut shown = String::new();
    for entry in fs::read_dir(checkout().join("crates/server/src/metrics")).unwrap() {
        shown.push_str(&fs::read_to_string(entry.unwrap().path()).unwrap());
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let exprs = rules
        .lines()
        .filter(|line| line.trim().starts_with("expr:"));
    let mut asked = 0;
    for name in exprs.flat_map(|line| line.split(|c| !is_name(c))) {
        if name.starts_with("x811_") {
            let quoted = format!("\"{}\"", name.trim_end_matches("_total"));
            assert!(shown.contains(&quoted), "{name} is not shown");
            asked += 1;
        }
    }
    assert!(asked >= 5, "{asked}");
}
