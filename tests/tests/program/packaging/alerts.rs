//! The rules for Prometheus.

use super::packaged;
use std::fs;
use x811_tests::anvil::checkout;

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
