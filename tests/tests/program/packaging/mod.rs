//! What an operator installs: the container file, the unit and the alerts. No container engine runs
//! here and no systemd, so their words are checked, what they copy is built, and the binary is
//! started as they would start it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod alerts;
mod compose;
mod container;
mod installed;
mod unit;

use std::fs;
use x811_tests::anvil::checkout;

fn packaged(name: &str) -> String {
    fs::read_to_string(checkout().join("packaging").join(name)).unwrap()
}
