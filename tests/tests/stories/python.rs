//! The client in Python, made of docs/connect.md, with what its own list of dependencies installs.

use crate::loops::{CAPS, initiator, said_to};
use crate::stage::Stage;
use std::fs::{self, File};
use std::path::PathBuf;
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

/// An interpreter with the packages of `examples/python/requirements.txt`, made once.
fn python() -> PathBuf {
    let list = checkout().join("examples/python/requirements.txt");
    let folder = x811().parent().unwrap().join("examples-python");
    let installed = folder.join("installed.txt");
    if fs::read(&installed).ok() != fs::read(&list).ok() {
        let done = |command: &mut Command| assert!(command.status().unwrap().success());
        done(
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(&folder),
        );
        let pip = folder.join("bin/pip");
        done(
            Command::new(pip)
                .args(["install", "--quiet", "--requirement"])
                .arg(&list),
        );
        fs::copy(&list, &installed).unwrap();
    }
    folder.join("bin/python")
}

#[tokio::test]
async fn ae_084_a_client_in_python_registers_provides_is_paid_and_proves_it() {
    let stage = Stage::set(&[]).await;
    let _ = stage.cast().await;
    let log = stage.folder.path().join("python.log");
    let lines = File::create(&log).unwrap();
    let mut command = Command::new(python());
    command.arg(checkout().join("examples/python/provider.py"));
    command.arg(stage.server.as_ref().map(Server::url).unwrap());
    command.arg("0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F");
    command
        .stdin(Stdio::null())
        .stderr(lines.try_clone().unwrap());
    let _script = Script(command.stdout(lines).spawn().unwrap());
    let until = async |word: &str| {
        for _ in 0..60 {
            let told = fs::read_to_string(&log).unwrap();
            let line = told.lines().find(|line| line.starts_with(word));
            if let Some(line) = line {
                return line.rsplit(' ').map(str::to_owned).collect::<Vec<_>>();
            }
            stage.anvil.next_block().await;
        }
        panic!("{word} was not said: {}", fs::read_to_string(&log).unwrap());
    };
    let did = until("registered").await.swap_remove(0);
    let order = format!(
        "[[order]]\nkey = 'one'\nprovider = '{did}'\ntask = 'upper'\nbudget = '0.05'\n\
         deadline_s = 60\npolicy = 'auto'\nparameters = {{ text = 'hello' }}\n"
    );
    let _initiator = initiator(&stage, &[CAPS, &order].concat());
    let proven = until("paid and proven").await;
    assert_eq!(said_to("ada", &stage, &proven[2]).len(), 6);
    let inbox = stage.x811("ada", &["inbox"]).ok();
    assert!(inbox.stdout.contains("HELLO"), "{inbox:?}");
}
