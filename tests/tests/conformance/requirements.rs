//! What `scripts/requirements.sh` takes for a test of a requirement, in a checkout made for it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Output};
use tempfile::TempDir;
use x811_tests::anvil::checkout;

/// The requirement that is named in one way only.
const SEVEN: &str = "AE-7 is named by no test";

/// What the script excuses.
const EXCUSED: [u32; 6] = [90, 137, 138, 142, 143, 144];
const EXCUSED_OF_ROUNDS: [u32; 6] = [93, 106, 107, 108, 110, 111];

/// Runs the script where every requirement but AE-7 and the excused ones has a test, and this.
fn run(more: &str) -> Output {
    let made = TempDir::new().unwrap();
    for folder in ["scripts", "crates/a/tests", "crates/a/src", "tests/tests"] {
        fs::create_dir_all(made.path().join(folder)).unwrap();
    }
    let script = "scripts/requirements.sh";
    fs::copy(checkout().join(script), made.path().join(script)).unwrap();
    let mut tests = String::new();
    for requirement in (1..=144).filter(|it| *it != 7 && !EXCUSED.contains(it)) {
        write!(tests, "#[test]\nfn ae_{requirement:03}_holds() {{}}\n").unwrap();
    }
    let consensus = (1..=117).filter(|it| !EXCUSED_OF_ROUNDS.contains(it));
    let lists = [
        ("ax", (1..=46).collect::<Vec<u32>>()),
        ("cc", consensus.collect()),
        ("cx", (1..=51).collect()),
        ("xn", (1..=9).collect()),
        ("xx", (1..=9).collect()),
    ];
    for (list, numbers) in lists {
        for number in numbers {
            write!(tests, "#[test]\nfn {list}_{number}_holds() {{}}\n").unwrap();
        }
    }
    fs::write(made.path().join("crates/a/tests/all.rs"), tests).unwrap();
    fs::write(made.path().join("tests/tests/more.rs"), more).unwrap();
    Command::new(made.path().join(script)).output().unwrap()
}

#[test]
fn a_requirement_is_named_by_the_name_of_a_test() {
    for more in [
        "#[test]\nfn ae_007_holds() {}\n",
        "#[tokio::test]\nasync fn ae_006_and_ae_007_hold() {}\n",
        "    /// It holds.\n    #[tokio::test(flavor = \"multi_thread\")]\n    #[cfg(unix)]\n    // Here.\n    \
         async fn lc_1_and_ae_007_hold() {}\n",
    ] {
        let said = run(more);
        let said_text = String::from_utf8_lossy(&said.stdout);
        assert!(said.status.success(), "{more}: {said_text}");
    }
}

#[test]
fn a_requirement_that_only_the_full_depth_tests_is_counted_apart() {
    for (more, summary) in [
        (
            "#[test]\n#[ignore = \"part histories\"]\nfn ae_007_holds() {}\n",
            "1 by --full only (AE-7)",
        ),
        (
            "#[test]\n#[ignore = \"part histories\"]\nfn ae_007_holds() {}\n#[test]\nfn ae_007_again() {}\n",
            "0 by --full only (none)",
        ),
    ] {
        let output = run(more);
        let output_text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{more}: {output_text}");
        assert!(output_text.contains(summary), "{more}: {output_text}");
    }
}

#[test]
fn a_requirement_is_not_named_by_what_does_not_run() {
    for more in [
        "",
        "// AE-7\n",
        "//! AE-7\n",
        "const ROWS: [&str; 1] = [\"AE-7\"];\n",
        "fn ae_007_holds() {}\n",
        "#[test]\nfn it_holds() {}\nfn ae_007_holds() {}\n",
        "// #[test]\nfn ae_007_holds() {}\n",
        "#[test]\nfn it_holds() { let ae_007 = 1; }\n",
    ] {
        let said = run(more);
        let said_text = String::from_utf8_lossy(&said.stdout);
        assert!(
            !said.status.success() && said_text.contains(SEVEN),
            "{more}: {said_text}"
        );
    }
}
