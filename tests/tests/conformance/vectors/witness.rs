//! A witness by another author, `aics-witness`, takes our checkpoints and consistency proofs,
//! cosigns them so that our policies and its verifiers are content, and refuses a fork.

#![expect(
    clippy::expect_used,
    reason = "a harness stops the test at once, and the message names what was missing"
)]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;
use x811_tests::verifiers::{Job, Verifier, installed};

use super::consistency::Request;
use super::keys::{self, ORIGIN};
use super::log::Log;

/// A running witness that knows our log.
struct Witness {
    process: Child,
    url: String,
    vkey: String,
    _folder: TempDir,
}

impl Witness {
    fn start() -> Witness {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("witness.json");
        let listen = "127.0.0.1:0";
        let init = ["init", "--name", keys::WITNESS, "--listen", listen];
        let vkey = of_config(&config, &init).output().unwrap();
        let vkey = String::from_utf8(vkey.stdout).unwrap().trim().to_owned();
        let log = keys::named(ORIGIN, &keys::log()).to_vkey();
        let add_log = ["add-log", "--origin", ORIGIN, "--vkey", &log];
        let added = of_config(&config, &add_log).output().unwrap();
        assert!(added.status.success(), "{added:?}");
        let mut process = of_config(&config, &["serve"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(process.stderr.take().unwrap()).lines();
        let url = said
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| Some(line.split_once("listening on ")?.1.to_owned()))
            .expect("the witness says where it listens");
        // Nobody reads on, and it must not wait for that.
        std::thread::spawn(move || said.map_while(Result::ok).for_each(drop));
        Witness {
            process,
            url: url.split(' ').next().unwrap().to_owned(),
            vkey,
            _folder: folder,
        }
    }

    /// Its answer: status and body.
    async fn ask(&self, request: &Request) -> (u16, String) {
        let url = format!("{}/add-checkpoint", self.url);
        let client = reqwest::Client::new();
        let answer = client.post(url).body(request.to_text()).send().await;
        let answer = answer.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        // Already ended: nothing is left to end.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn of_config(config: &Path, arguments: &[&str]) -> Command {
    let mut command = installed("aics-witness");
    let (verb, more) = arguments.split_first().unwrap();
    command.arg(verb).arg("--config").arg(config).args(more);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[tokio::test]
async fn c2sp_a_witness_of_another_author_cosigns_what_only_grows() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (log, witness) = (Log::new(), Witness::start());
    let policy = format!(
        "log {}\nwitness w {}\nquorum w\n",
        keys::named(ORIGIN, &keys::log()).to_vkey(),
        witness.vkey
    );
    let folder = tempfile::tempdir().unwrap();
    for (old_size, new_size) in [(0, 7), (7, 8), (8, 19), (19, 256), (256, 270)] {
        let request = Request::of(&log, old_size, new_size);
        assert!(keys::check(request.checkpoint.as_bytes(), &policy).is_err());
        let (status, line) = witness.ask(&request).await;
        assert_eq!(status, 200, "{line}");
        let cosigned = request.checkpoint + &line;
        let trusted = keys::check(cosigned.as_bytes(), &policy).unwrap();
        assert_eq!(trusted.checkpoint, log.checkpoint(new_size));
        assert_eq!(trusted.cosignatures.len(), 1);
        let file = folder.path().join(new_size.to_string());
        fs::write(&file, cosigned).unwrap();
        let (vkey, _) = keys::vkeys(&policy);
        let job = Job::checkpoint(&file, &vkey, &[&witness.vkey]);
        for verifier in Verifier::ALL {
            let verdict = verifier.judge(job.clone());
            assert!(verdict.is_ok(), "{verifier:?}: {verdict:?}");
        }
    }
}

#[tokio::test]
async fn c2sp_a_witness_of_another_author_refuses_a_fork() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (log, forked) = (Log::new(), Log::forked_at(4));
    let witness = Witness::start();
    assert_eq!(witness.ask(&Request::of(&log, 0, 19)).await.0, 200);
    let conflict = (409, "19\n".to_owned());
    assert_eq!(witness.ask(&Request::of(&log, 7, 30)).await, conflict);
    let by_other = log.checkpoint(30).to_text();
    let by_other = format!("{by_other}\n{}", keys::signed(&by_other, &keys::other()));
    let mut stranger = Request::of(&log, 19, 30);
    stranger.checkpoint = by_other;
    let mut shrunk = Request::of(&log, 19, 30);
    shrunk.checkpoint = log.signed(18);
    let refused = [
        (422, Request::of(&forked, 19, 30)),
        (422, Request::of(&forked, 19, 19)),
        (403, stranger),
        (400, shrunk),
    ];
    for (status, request) in refused {
        let answer = witness.ask(&request).await;
        assert_eq!(answer.0, status, "{answer:?}");
    }
    assert_eq!(witness.ask(&Request::of(&log, 19, 30)).await.0, 200);
}
