//! `x811 anvil storm` against a running ledger with its settings for Base.

use x811_tests::anvil::Anvil;
use x811_tests::ports::free_ports;

use super::playground::Playground;
use super::stage::Stage;

#[tokio::test]
async fn a_short_storm_loses_nothing_and_nothing_is_paid_twice() {
    let playground = Playground::start();
    let ports = free_ports::<2>();
    let [first, second] = ports.map(|port| format!("http://127.0.0.1:{port}"));
    let options = ["--rpc", &first, "--second-rpc", &second].map(str::to_owned);
    let anvil = Anvil::attach(&playground.rpc_url());
    let stage = Stage::on(anvil, options.to_vec());

    let ports = ports.map(|port| port.to_string()).join(",");
    let rpc_url = playground.rpc_url();
    let storm = [
        "anvil",
        "storm",
        "--seed",
        "7",
        "--minutes",
        "12",
        "--interactions",
        "4",
    ];
    let storm = [&storm[..], &["--ports", &ports, "--rpc", &rpc_url]].concat();
    let reckoning = stage.x811("", &storm).ok().json();
    assert_eq!(reckoning["seed"], 7, "{reckoning}");
    assert_eq!(reckoning["lost"], 0, "{reckoning}");
    assert_eq!(reckoning["paid_twice"], 0, "{reckoning}");
    assert!(reckoning["reorgs"].as_u64() > Some(0), "{reckoning}");
    let rows = reckoning["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4, "{reckoning}");
    assert!(rows.iter().all(|row| row["transfers"] == 1), "{reckoning}");

    let report = stage.audit();
    assert_eq!(report["verdict"], "clean", "{report}");
    assert_eq!(report["interactions"]["completed"], 4, "{report}");
}
