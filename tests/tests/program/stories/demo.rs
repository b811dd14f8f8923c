//! `x811 demo`, as scripts/demo.sh runs it.

use x811_tests::anvil::binary;
use x811_tests::binary::run;

#[test]
fn the_demo_ends_as_it_says_and_leaves_nothing_behind() {
    let anvil = binary();
    let folder = tempfile::TempDir::new().unwrap();
    let data_dir = folder.path().join("demo");
    let demo = run(&[
        "demo",
        "--json",
        "--anvil",
        anvil.to_str().unwrap(),
        "--data-dir",
        data_dir.to_str().unwrap(),
    ])
    .ok()
    .json();
    let states: Vec<_> = demo["interactions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| &i["state"])
        .collect();
    let expected = ["completed", "completed", "disputed", "disputed"];
    assert_eq!(states, expected, "{demo}");
    assert_eq!(demo["audit_is_clean"], true);
    let contracts: Vec<_> = demo["interactions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| {
            i["negotiation"]
                .as_str()
                .is_some_and(|id| id.starts_with("neg-"))
        })
        .collect();
    assert_eq!(contracts, [false, true, false, false], "{demo}");
    let left = std::fs::read_dir(folder.path()).unwrap();
    assert_eq!(left.count(), 0, "data directory and checkpoint are removed");
}
