//! Compose files and drop-ins of ledgers over a database. No container engine runs here: what they set
//! is compared with what the binary reads.

use super::packaged;
use x811_tests::binary::run;

/// Names of settings in `text`, as `NAME: value` or `Environment=NAME=value`.
fn settings(text: &str) -> Vec<&str> {
    let lines = text.lines().map(str::trim_start);
    let lines = lines.map(|line| line.strip_prefix("Environment=").unwrap_or(line));
    let names = lines.filter(|line| line.starts_with("X811_"));
    names
        .map(|line| line.split([':', '=']).next().unwrap())
        .collect()
}

#[test]
fn every_setting_for_several_processes_is_one_that_the_binary_reads() {
    let help = run(&["serve", "--help"]).stdout;
    for (file, fewest) in [
        ("compose/postgres.yml", 7),
        ("compose/eventstore.yml", 3),
        ("x811-store.conf", 4),
        ("x811-standby.conf", 3),
    ] {
        let text = packaged(file);
        let names = settings(&text);
        assert!(names.len() >= fewest, "{file}: {names:?}");
        for name in names {
            let is_read = ['=', ']'].map(|end| help.contains(&format!("[env: {name}{end}")));
            assert!(is_read.contains(&true), "{file}: {name}");
        }
    }
}

#[test]
fn both_ledgers_of_the_compose_file_are_alike_and_know_each_other() {
    let text = packaged("compose/postgres.yml");
    for (own, other) in [("ledger1", "ledger2"), ("ledger2", "ledger1")] {
        let service = text.split(&format!("\n  {own}:\n")).nth(1).unwrap();
        let service = service.split("\n  ledger2:\n").next().unwrap();
        let peer = format!("X811_STORE_PEERS: http://{other}:8811");
        assert!(service.contains(&peer), "{own}: {service}");
    }
    let names = "synchronous_standby_names = 'ANY 1 (s2, s3)'";
    assert!(text.contains(names) && text.contains("X811_STORE_STANDBYS: s2,s3"));
}
