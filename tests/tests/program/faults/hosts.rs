//! Two ledger processes over one database, each with a directory of its own: one writes, the other one
//! stands by, and each knows where the other one listens.

use super::client::get;
use super::ledger::{Ledger, Place};
use serde_json::Value;
use std::process::Command;
use std::time::{Duration, Instant};
use x811_tests::ports::free_ports;

/// The longest that is waited for a process to become what it should be.
const PATIENCE: Duration = Duration::from_secs(40);

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A process and its place.
pub(crate) struct Host {
    pub(crate) place: Place,
    pub(crate) ledger: Option<Ledger>,
}

impl Host {
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.place.listen)
    }

    pub(crate) fn start(&mut self) {
        self.ledger = Some(self.place.start());
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.ledger.as_ref().unwrap().id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status();
        assert!(sent.unwrap().success());
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.ledger.take().unwrap().kill();
    }

    /// What it says of itself; nothing where it does not answer.
    pub(crate) async fn ready(&self) -> Value {
        get(&self.url(), "/ready")
            .await
            .map_or(Value::Null, |(_, ready)| ready)
    }

    /// Waits until it has that role, and is ready.
    pub(crate) async fn becomes(&mut self, role: &str) -> Value {
        let begun = Instant::now();
        loop {
            let ready = self.ready().await;
            if ready["role"] == role && ready["ready"] == true {
                return ready;
            }
            let ledger = self.ledger.as_mut().unwrap();
            assert!(ledger.is_running(), "{}", ledger.said());
            assert!(
                begun.elapsed() < PATIENCE,
                "{role}: {ready} {}",
                ledger.said()
            );
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// It must still run.
    pub(crate) fn runs(&mut self) {
        let ledger = self.ledger.as_mut().unwrap();
        assert!(ledger.is_running(), "{}", ledger.said());
    }
}

/// Two hosts over the database at `url`, with further options each; nothing runs there yet.
pub(crate) fn hosts(url: &str, options: &[&str]) -> [Host; 2] {
    let listen = free_ports::<2>().map(|port| format!("127.0.0.1:{port}"));
    [0, 1].map(|own| {
        let peer = format!("http://{}", listen[1 - own]);
        let words = ["--store-url", url, "--store-wait", "--store-peer", &peer];
        let words = words.iter().chain(options);
        let place = Place {
            options: words.map(ToString::to_string).collect(),
            listen: listen[own].clone(),
            ..Place::new()
        };
        Host {
            place,
            ledger: None,
        }
    })
}

/// The operator gives the second host the keys of the first one.
pub(crate) fn give_keys(from: &Place, to: &Place) {
    let [from, to] = [from, to].map(|place| place.data_dir.to_str().unwrap());
    let copied = format!("mkdir -m 700 {to} && cp -a {from}/keys {to}/");
    assert!(
        Command::new("sh")
            .args(["-c", &copied])
            .status()
            .unwrap()
            .success()
    );
}

/// The first one writes, the second one stands by.
pub(crate) async fn both(hosts: &mut [Host; 2]) {
    hosts[0].start();
    hosts[0].becomes("writer").await;
    let [first, second] = &*hosts;
    give_keys(&first.place, &second.place);
    hosts[1].start();
    hosts[1].becomes("standby").await;
}
