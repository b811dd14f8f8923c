//! The ledger's own keys are replaced, and everything that was signed before still counts.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use super::place::Place;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use x811_audit::checkpoint_note::verifies;
use x811_eventlog::Policy;
use x811_eventlog::note::NoteKey;
use x811_eventlog::policy::Trusted;
use x811_tests::binary::{Finished, Server};

const ROLES: [&str; 3] = ["envelope", "checkpoint", "receipt"];

impl Place {
    fn rotate(&self, role: &str) -> Finished {
        self.over(&["ledger", "rotate-key", role], &["ledger"])
    }

    fn seed(&self, role: &str) -> PathBuf {
        self.data_dir().join("keys").join(format!("{role}.seed"))
    }

    fn next(&self, role: &str) -> PathBuf {
        self.seed(role).with_extension("seed.next")
    }

    /// The last signed checkpoint.
    fn note(&self) -> PathBuf {
        self.path("ledger-checkpoint").join("checkpoint")
    }

    /// How often the log says that a key was replaced.
    fn rotations(&self) -> usize {
        let log = self.path("log.x811");
        let _ = fs::remove_file(&log);
        let _ = self.over(&["export", "-o"], &["log.x811", "ledger"]).ok();
        let log = fs::read_to_string(log).unwrap();
        log.matches("\"type\":\"ledger_key_rotated\"").count()
    }

    /// What is signed is by the keys in force, and so found good.
    fn assert_exported(&self, role: &str, interaction: &str) {
        let (tiles, bundle) = (format!("{role}.tiles"), format!("{role}.bundle"));
        let exported = self.over(&["export", "--tiles"], &[&tiles, "ledger"]);
        let exported = exported.ok().json();
        assert!(exported["vkey"].is_string(), "{exported}");
        let export = ["export", "--interaction", interaction, "-o"];
        let _ = self.over(&export, &[&bundle, "ledger"]).ok();
        let report = self.over(&["audit"], &[&bundle]).unverified().json();
        assert_eq!(report["verdict"], "clean", "{report}");
    }

    fn assert_well(&self) {
        let report = self.over(&["audit"], &["ledger"]).unverified().json();
        assert_eq!(report["verdict"], "clean", "{report}");
        let _ = self.over(&["doctor"], &["ledger"]).ok();
    }
}

async fn get(server: &Server, path: &str) -> String {
    // The second time it is there already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let answer = reqwest::get(format!("{}{path}", server.url())).await;
    answer.unwrap().text().await.unwrap()
}

/// The checkpoint that the ledger shows, by the key that it shows.
async fn checkpoint(place: &Place, server: &Server) -> Trusted {
    let about: Value = serde_json::from_str(&get(server, "/.well-known/x811.json").await).unwrap();
    let vkey = about["checkpoint_vkey"].as_str().unwrap();
    let policy = Policy::of_log(NoteKey::from_vkey(vkey).unwrap());
    let note = fs::read_to_string(place.note()).unwrap();
    policy.check(&note, verifies).unwrap()
}

#[tokio::test]
async fn rec_2_every_key_of_a_ledger_is_replaced() {
    let place = Place::new();
    let mut server = place.serve();
    let interaction = place.fill(&server);
    for (done, role) in ROLES.into_iter().enumerate() {
        let did_before = get(&server, "/.well-known/did.json").await;
        let about_before = get(&server, "/.well-known/x811.json").await;
        let seed_before = fs::read(place.seed(role)).unwrap();
        let prepared = place.rotate(role).ok().json();
        assert_ne!(prepared["old_key"], prepared["new_key"]);
        let mode = fs::metadata(place.next(role)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let again = place.rotate(role);
        assert_eq!(again.code, Some(4), "{again:?}");
        assert!(
            again.stdout.contains("waits for the next start"),
            "{again:?}"
        );
        assert_eq!(place.rotations(), done, "nothing has changed yet");

        server.stop();
        server = place.serve();
        assert!(!place.next(role).exists());
        assert_ne!(fs::read(place.seed(role)).unwrap(), seed_before);
        assert_eq!(place.rotations(), done + 1);
        let did = get(&server, "/.well-known/did.json").await;
        let new_key = prepared["new_key"].as_str().unwrap();
        assert_eq!(did.contains(new_key), role == "envelope");
        assert_eq!(did == did_before, role != "envelope");
        let about = get(&server, "/.well-known/x811.json").await;
        assert_eq!(about == about_before, role != "checkpoint");
        place.request(&server);
        checkpoint(&place, &server).await;
        place.assert_well();
        place.assert_exported(role, &interaction);
    }
    let history = place.x811(&server, &["--agent", "ada", "history", &interaction]);
    assert_eq!(history["state"], "pending", "{history}");
    server.kill();
    place.serve().stop();
    place.assert_well();
}

/// A paper from before holds by the newest key once the ledger was asked for the proof.
#[tokio::test]
async fn lc_8_a_bundle_from_before_holds_by_the_newest_key_after_refresh() {
    let (place, interaction) = Place::filled();
    let export = ["export", "--interaction", &interaction, "-o"];
    let _ = place.over(&export, &["before.bundle", "ledger"]).ok();
    let _ = place.rotate("checkpoint").ok();
    let server = place.serve();
    let about: Value = serde_json::from_str(&get(&server, "/.well-known/x811.json").await).unwrap();
    let vkey = about["checkpoint_vkey"].as_str().unwrap();
    let audit = || place.over(&["audit", "--key", vkey], &["before.bundle"]);

    let rotated = audit();
    assert_eq!(rotated.code, Some(21), "{rotated:?}");
    let report = rotated.json();
    assert_eq!(report["trust"]["verdict"], "asserted", "{report}");
    assert_eq!(report["findings"], json!([]), "never broken");

    let paper = place.path("before.bundle");
    let paper = paper.to_str().unwrap();
    let refreshed = place.x811(&server, &["receipt", "refresh", paper]);
    assert_eq!(refreshed["vkey"], vkey, "{refreshed}");
    let report = audit().ok().json();
    assert_eq!(report["trust"]["verdict"], "proven", "{report}");

    // A proof that does not lead there is found.
    let side = place.path("before.bundle.refresh");
    let good = fs::read_to_string(&side).unwrap();
    let mut bad: Value = serde_json::from_str(&good).unwrap();
    bad["hashes"].as_array_mut().unwrap().pop();
    fs::write(&side, format!("{bad}\n")).unwrap();
    let found = audit();
    assert_eq!(found.code, Some(20), "{found:?}");
}

/// What the ledger said before its key changed is still believed, and so is what it says after.
#[tokio::test]
async fn incident_notices_unverifiable_after_key_change_ccf_3343() {
    let place = Place::new();
    let soon = [&super::place::SERVE[..], &["--offer-ms", "2000"]].concat();
    let server = Server::start(&place.data_dir(), &soon).unwrap();
    let interaction = place.fill(&server);
    let inbox = |server: &Server, more: &[&str]| {
        let inbox = [&["--agent", "ada", "inbox", "--wait", "30"][..], more].concat();
        place.x811(server, &inbox)
    };
    let told = inbox(&server, &[]);
    let notice = &told["messages"][0]["envelope"];
    assert_eq!(notice["type"], "x811/error", "{told}");
    assert_eq!(told["unverified"], json!([]), "{told}");
    server.stop();
    for role in ["checkpoint", "envelope"] {
        let _ = place.rotate(role).ok();
    }

    let server = Server::start(&place.data_dir(), &soon).unwrap();
    let did = get(&server, "/.well-known/did.json").await;
    let signed_by = notice["from"].as_str().unwrap();
    assert!(did.contains(signed_by), "{did}");
    let again = inbox(&server, &[]);
    assert_eq!(again["unverified"], json!([]), "{again}");
    assert_eq!(again["messages"][0]["envelope"], *notice, "{again}");

    let next = place.request(&server);
    assert_ne!(next, interaction);
    let position = again["messages"][0]["position"].as_u64().unwrap();
    let after = again["next"].as_str().unwrap_or_default().to_owned();
    let later = inbox(&server, &["--after", &after]);
    assert_eq!(later["unverified"], json!([]), "{later}");
    let news = &later["messages"][0];
    assert_eq!(news["envelope"]["type"], "x811/error", "{later}");
    assert!(news["position"].as_u64().unwrap() > position, "{later}");
    server.stop();
    place.assert_well();
}

/// The process dies between the record, the checkpoint and the files.
#[test]
fn rec_2_a_rotation_that_was_cut_off_is_finished_by_the_next_start() {
    for is_signed in [false, true] {
        let (place, _) = Place::filled();
        let old_note = fs::read(place.note()).unwrap();
        let mut seeds = Vec::new();
        for role in ROLES {
            let _ = place.rotate(role).ok();
            let (old, new) = (place.seed(role), place.next(role));
            seeds.push((role, fs::read(old).unwrap(), fs::read(new).unwrap()));
        }
        place.serve().kill();
        for (role, old, new) in &seeds {
            fs::copy(place.seed(role), place.next(role)).unwrap();
            fs::write(place.seed(role), old).unwrap();
            assert_eq!(&fs::read(place.next(role)).unwrap(), new);
        }
        if !is_signed {
            fs::write(place.note(), &old_note).unwrap();
        }
        let server = place.serve();
        for (role, _, new) in &seeds {
            assert!(!place.next(role).exists());
            assert_eq!(&fs::read(place.seed(role)).unwrap(), new);
        }
        assert_eq!(place.rotations(), 3, "once each");
        server.stop();
        place.assert_well();
    }
}

/// Keys from an older copy do not fit the log any more, and that is said.
#[test]
fn rec_2_keys_of_an_older_copy_do_not_start() {
    for role in ROLES {
        let place = Place::new();
        place.serve().stop();
        let old = fs::read(place.seed(role)).unwrap();
        let _ = place.rotate(role).ok();
        place.serve().stop();
        let new = fs::read(place.seed(role)).unwrap();
        fs::write(place.seed(role), old).unwrap();
        let refused = Server::start(&place.data_dir(), &super::place::SERVE).unwrap_err();
        assert_eq!(refused.code, Some(4), "{refused:?}");
        let said = match role {
            "checkpoint" => "is no checkpoint by the keys in the data directory",
            _ => "put the file with the key in force back",
        };
        assert!(refused.stderr.contains(said), "{refused:?}");
        fs::write(place.seed(role), new).unwrap();
        place.serve().stop();
    }
}
