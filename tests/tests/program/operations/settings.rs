//! `x811 serve --check`: what would be in force, of the real binary's file, environment and options.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use super::place::Place;
use serde_json::{Value, json};
use std::process::Command;
use x811_tests::binary::{Finished, x811};

const AUDITOR: &str = "did:x811:0197c3a0-0000-7000-8000-000000000001";

const FILE: &str = r#"
[server]
listen = "127.0.0.1:7001"
public_authority = "ledger.example:8443"
[network]
rpc_url = "https://user:SECRET@rpc.example/v2/SECRET"
[rules]
lenient = ["addresses"]
[limits]
open_per_pair = 5
body_bytes_per_day = 1000000
[rates]
burst_per_did = 7
trusted_proxies = ["10.0.0.0/8"]
[telemetry]
otlp_endpoint = "https://SECRET@collector.example"
"#;

fn check(place: &Place, environment: &[(&str, &str)], options: &[&str]) -> Finished {
    let file = place.path("x811.toml");
    std::fs::write(&file, FILE).unwrap();
    let mut command = Command::new(x811());
    command
        .args(["--json", "serve", "--check", "--config"])
        .arg(&file)
        .args(options)
        .env_clear()
        .envs(environment.iter().copied());
    Finished::from(command.output().unwrap())
}

#[test]
fn the_file_holds_where_nothing_else_is_said() {
    let place = Place::new();
    let checked = check(&place, &[], &[]).ok();
    assert!(!checked.stdout.contains("SECRET"), "{checked:?}");
    let shown = checked.json();
    assert_all(
        &shown,
        &[
            ("/server/listen", json!("127.0.0.1:7001")),
            ("/server/public_authority", json!(["ledger.example:8443"])),
            ("/server/auditors", json!([])),
            ("/network/rpc_url", json!("(hidden)")),
            ("/rules/lenient", json!(["addresses"])),
            ("/limits/open_per_pair", json!(5)),
            ("/limits/open_per_initiator", json!(1_000)),
            ("/limits/body_bytes_per_day", json!(1_000_000)),
            ("/rates/burst_per_did", json!(7)),
            ("/rates/trusted_proxies", json!(["10.0.0.0/8"])),
            ("/rates/limit_loopback", json!(false)),
            ("/telemetry/otlp_endpoint", json!("(hidden)")),
        ],
    );
}

#[test]
fn the_environment_wins_over_the_file_and_options_over_both() {
    let place = Place::new();
    let environment = [
        ("X811_LISTEN", "127.0.0.1:7002"),
        ("X811_AUDITORS", AUDITOR),
        ("X811_PUBLIC_AUTHORITY", "ledger.example,127.0.0.1:7003"),
        ("X811_LENIENT", "uuids,addresses"),
        ("X811_TRUSTED_PROXIES", "192.0.2.1,2001:db8::/32"),
        ("X811_LIMIT_LOOPBACK", "true"),
        ("X811_STREAMS", "250"),
    ];
    let options = ["--listen", "127.0.0.1:7003", "--trusted-proxy", "192.0.2.7"];
    let shown = check(&place, &environment, &options).ok().json();
    assert_all(
        &shown,
        &[
            ("/server/listen", json!("127.0.0.1:7003")),
            ("/server/auditors", json!([AUDITOR])),
            (
                "/server/public_authority",
                json!(["ledger.example", "127.0.0.1:7003"]),
            ),
            ("/rules/lenient", json!(["uuids", "addresses"])),
            ("/rates/trusted_proxies", json!(["192.0.2.7/32"])),
            ("/rates/limit_loopback", json!(true)),
            ("/rates/streams", json!(250)),
            ("/rates/streams_per_did", json!(3)),
            ("/rates/burst_per_did", json!(7)),
        ],
    );
}

#[test]
fn what_makes_no_sense_is_named() {
    let place = Place::new();
    for (options, word) in [
        (
            ["--lenient", "everything"],
            "`uuids`, `addresses` and `reference_sdk`",
        ),
        (["--trusted-proxy", "10.0.0.0/99"], "10.0.0.0/99"),
        (["--auditor", "ada"], "ada"),
        (["--listen", "nowhere"], "nowhere"),
    ] {
        let refused = check(&place, &[], &options);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stdout.contains(word), "{refused:?}");
    }
}

#[track_caller]
fn assert_all(shown: &Value, expected: &[(&str, Value)]) {
    for (pointer, value) in expected {
        assert_eq!(shown.pointer(pointer), Some(value), "{pointer} in {shown}");
    }
}
