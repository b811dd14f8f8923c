//! The clients in Python and TypeScript, made of docs/connect.md, with what their own lists of
//! dependencies install.

use super::loops::{CAPS, initiator, said_to};
use super::stage::Stage;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use x811_tests::anvil::checkout;
use x811_tests::binary::{Server, x811};

struct Script(Child);

impl Drop for Script {
    fn drop(&mut self) {
        // Already gone is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn example(language: &str) -> PathBuf {
    checkout().join("examples").join(language)
}

fn done(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
}

fn python() -> PathBuf {
    let list = example("python").join("requirements.txt");
    python_with(&list, "examples-python")
}

/// An interpreter with the packages of a list, made once for each in a folder beside what is built.
/// Tests run in processes of their own: the lock lets one of them make it while the others wait.
pub(crate) fn python_with(list: &Path, name: &str) -> PathBuf {
    let folder = x811().parent().unwrap().join(name);
    let lock = File::create(folder.with_extension("lock")).unwrap();
    lock.lock().unwrap();
    let installed = folder.join("installed.txt");
    if fs::read(&installed).ok() != fs::read(list).ok() {
        done(
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(&folder),
        );
        let pip = folder.join("bin/pip");
        done(
            Command::new(pip)
                .args(["install", "--quiet", "--requirement"])
                .arg(list),
        );
        fs::copy(list, &installed).unwrap();
    }
    folder.join("bin/python")
}

/// The program that `tsc` makes, with the packages of `package-lock.json`.
fn typescript() -> PathBuf {
    let folder = x811().parent().unwrap().join("examples-typescript");
    fs::create_dir_all(&folder).unwrap();
    let copy = |name: &str| fs::copy(example("typescript").join(name), folder.join(name)).unwrap();
    for name in [
        "package.json",
        "package-lock.json",
        "tsconfig.json",
        "provider.ts",
    ] {
        copy(name);
    }
    let npm = |arguments: &[&str]| {
        done(Command::new("npm").args(arguments).current_dir(&folder));
    };
    npm(&["ci", "--no-audit", "--no-fund"]);
    npm(&["run", "build"]);
    folder.join("dist/provider.js")
}

/// A provider of `upper` in another language settles with a loop of ours.
async fn settles(program: &Path, script: &Path) {
    let stage = Stage::set(&[]).await;
    let _ = stage.cast().await;
    let log = stage.folder.path().join("script.log");
    let lines = File::create(&log).unwrap();
    let mut command = Command::new(program);
    command.arg(script);
    command.arg(stage.server.as_ref().map(Server::url).unwrap());
    command.arg("0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F");
    command
        .stdin(Stdio::null())
        .stderr(lines.try_clone().unwrap());
    let _script = Script(command.stdout(lines).spawn().unwrap());
    let until = async |word: &str| {
        for _ in 0..60 {
            let told = fs::read_to_string(&log).unwrap();
            let line = told.lines().find_map(|line| line.strip_prefix(word));
            if let Some(rest) = line {
                return rest.split_whitespace().next().unwrap().to_owned();
            }
            stage.anvil.next_block().await;
        }
        panic!("{word} was not said: {}", fs::read_to_string(&log).unwrap());
    };
    let did = until("registered ").await;
    let order = format!(
        "[[order]]\nkey = 'one'\nprovider = '{did}'\ntask = 'upper'\nbudget = '0.05'\n\
         deadline_s = 60\npolicy = 'auto'\nparameters = {{ text = 'hello' }}\n"
    );
    let _initiator = initiator(&stage, &[CAPS, &order].concat());
    let interaction = until("paid and proven ").await;
    assert_eq!(said_to("ada", &stage, &interaction).len(), 6);
    let inbox = stage.x811("ada", &["inbox"]).ok();
    assert!(inbox.stdout.contains("HELLO"), "{inbox:?}");
}

#[tokio::test]
async fn ae_084_a_client_in_python_registers_provides_is_paid_and_proves_it() {
    settles(&python(), &example("python").join("provider.py")).await;
}

#[tokio::test]
async fn ae_084_a_client_in_typescript_registers_provides_is_paid_and_proves_it() {
    settles(Path::new("node"), &typescript()).await;
}
