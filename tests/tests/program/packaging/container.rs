//! The container file.

use super::installed::{Installed, NOBODY, environment};
use super::packaged;
use cargo_metadata::MetadataCommand;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use x811_tests::anvil::checkout;

#[test]
fn everything_the_container_copies_is_in_the_checkout() {
    let text = packaged("Containerfile");
    let copied = copied(&text);
    for path in &copied {
        assert!(checkout().join(path).exists(), "COPY {path}");
    }
}

/// Nothing but what is copied, compiled as far as finding out that nothing is missing. The folder
/// stays the same and files keep their times, so that the next run compiles only what changed. It is
/// gone behind the test: what cargo keeps has the same names as that of the checkout, which would be
/// taken for compiled as long as the copy is there unchanged.
#[test]
#[ignore = "compiles the program once more: part container of scripts/test.sh --full"]
fn the_container_has_all_that_its_build_reads() {
    let text = packaged("Containerfile");
    let context = Path::new(env!("CARGO_TARGET_TMPDIR")).join("container");
    let _ = fs::remove_dir_all(&context);
    for path in copied(&text) {
        let to = context.join(&path);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        let mut copy = Command::new("cp");
        let copied = copy.arg("-a").arg(checkout().join(&path)).arg(to).status();
        assert!(copied.unwrap().success(), "{path}");
    }
    let build = build(&text).replace("cargo build", "check --offline --quiet");
    let words = build.split_whitespace().filter(|word| *word != "--release");
    let mut check = Command::new(env!("CARGO"));
    let checked = check
        .args(words)
        .env("CARGO_TARGET_DIR", target_dir())
        .current_dir(&context)
        .output()
        .unwrap();
    fs::remove_dir_all(&context).unwrap();
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{said}");
}

#[test]
fn the_container_builds_a_package_and_binary_that_exist() {
    let text = packaged("Containerfile");
    let build = build(&text);
    let words: Vec<&str> = build.split_whitespace().collect();
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
fn the_container_keeps_the_checkpoint_apart_from_the_data() {
    let text = packaged("Containerfile");
    let volumes = mounted(&text);
    let volume_of = |setting: &str| {
        let given = instructions(&text, "ENV ").join(" ");
        let mut given = given.split_whitespace();
        let path = given.find_map(|word| word.strip_prefix(setting)?.strip_prefix('='));
        let path = path.unwrap_or_else(|| panic!("no {setting}")).to_owned();
        let lies_in = |volume: &&String| Path::new(&path).starts_with(volume);
        volumes.iter().find(lies_in).cloned()
    };
    let data = volume_of("X811_DATA_DIR").unwrap();
    let checkpoint = volume_of("X811_CHECKPOINT_DIR").unwrap();
    assert_ne!(data, checkpoint, "one volume is restored as one");
    // An anonymous volume would hold it, and be lost with its container.
    let anonymous = instructions(&text, "VOLUME ").join(" ");
    let mut anonymous = anonymous.split_whitespace();
    assert!(anonymous.all(|volume| volume != checkpoint), "{checkpoint}");
}

/// The paths that the command at the head of the file mounts volumes at.
fn mounted(text: &str) -> Vec<String> {
    let words = text.split_whitespace();
    let paths = words.filter_map(|word| word.split_once(":/var/lib/"));
    paths.map(|(_, path)| format!("/var/lib/{path}")).collect()
}

#[test]
fn the_container_starts_where_only_its_volumes_can_be_written() {
    let text = packaged("Containerfile");
    let installed = Installed::new();
    let made = instructions(&text, "RUN ").join(" ");
    for volume in &mounted(&text) {
        // A new volume is filled with what the image has there, and with its owner.
        let home = format!("--home-dir {volume} --create-home");
        let other = format!("--owner=x811 --group=x811 --mode=0700 {volume}");
        assert!(made.contains(&home) || made.contains(&other), "{volume}");
        installed.state_directory(volume.strip_prefix("/var/lib/").unwrap());
    }
    let given = instructions(&text, "ENV ");
    let of_image = [("/var/lib", installed.path("lib"))];
    let mut settings = environment(given.iter().flat_map(|line| line.split(' ')), &of_image);
    let endpoint = ("X811_RPC_URL".to_owned(), NOBODY.to_owned());
    settings.push(endpoint);
    installed.gets_ready(&settings);
}

#[test]
fn the_container_keeps_free_memory_for_a_minute() {
    let given = instructions(&packaged("Containerfile"), "ENV ");
    let settings = environment(given.iter().flat_map(|line| line.split(' ')), &[]);
    let said = Installed::new().allocator(settings);
    assert!(said.contains("'purge_delay': 60000"), "{said}");
}

/// The command that compiles.
fn build(text: &str) -> String {
    let mut runs = instructions(text, "RUN ").into_iter();
    runs.find(|line| line.starts_with("cargo build")).unwrap()
}

/// The paths that are copied from the checkout.
fn copied(text: &str) -> Vec<String> {
    let mut copied = Vec::new();
    for line in instructions(text, "COPY ") {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        if words[0].starts_with("--from=") {
            continue;
        }
        words.pop();
        copied.extend(words.into_iter().map(str::to_owned));
    }
    assert!(copied.len() >= 4, "{copied:?}");
    copied
}

/// The lines of one instruction, continued ones joined.
fn instructions(text: &str, instruction: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    let lines = joined
        .lines()
        .filter_map(|line| line.strip_prefix(instruction));
    lines.map(|line| line.trim().to_owned()).collect()
}

/// Where this test was built.
fn target_dir() -> PathBuf {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    tmp.parent().unwrap().to_owned()
}
