//! A recorded session: what a ledger answers to some hundreds of requests of every kind. Clock, chance, keys and chain
//! come from the test, so two checkouts that answer alike record the same bytes; `scripts/freeze.sh` keeps them.
//!
//! Not recorded: streams of events and polls that wait, which follow the moment at which they are asked.

mod dealing;
mod recorder;
mod rounds;
mod sdk;
mod strangers;
mod talking;

use crate::world::{Agent, draw_repeatably};
use recorder::{AUTHORITY, Answer, Recorder};
use std::path::{Path, PathBuf};
use x811_protocol::parameters::{Exclusion, Rounds, Windows};

/// Every window. A message is in time up to the last millisecond, so it lapses with a block, 20 s later.
const WINDOW_MS: u64 = 19_999;

/// The agents of the session.
struct Cast {
    /// The initiator, who pays.
    ada: Agent,
    /// A provider.
    bert: Agent,
    /// A provider, and a participant of rounds.
    cleo: Agent,
    /// An agent that is party to nothing.
    eve: Agent,
    auditor: Agent,
    operator: Agent,
    /// The human who decides escalated rounds.
    human: Agent,
}

impl Cast {
    fn new() -> Cast {
        Cast {
            ada: Agent::new(),
            bert: Agent::new(),
            cleo: Agent::new(),
            eve: Agent::new(),
            auditor: Agent::new(),
            operator: Agent::new(),
            human: Agent::new(),
        }
    }

    /// The agents that try to read an interaction of Ada and Bert, by name.
    fn readers(&self) -> [(&'static str, Option<&Agent>); 5] {
        [
            ("ada", Some(&self.ada)),
            ("bert", Some(&self.bert)),
            ("eve", Some(&self.eve)),
            ("auditor", Some(&self.auditor)),
            ("nobody", None),
        ]
    }
}

impl Recorder {
    /// Reads each of the parts of `base`, as everybody who may try.
    async fn shown_to_all(&mut self, cast: &Cast, what: &str, base: &str, parts: &[&str]) {
        for part in parts {
            for (who, reader) in cast.readers() {
                let name = format!("{what}{} by {who}", part.replace(['/', '?', '='], " "));
                self.get(&name, reader, &format!("{base}{part}")).await;
            }
        }
    }
}

async fn session() -> Vec<Answer> {
    draw_repeatably();
    let cast = Cast::new();
    let mut recorder = Recorder::start(|config| {
        config.open_reads = false;
        config.public_authorities = vec![AUTHORITY.to_owned()];
        config.auditors = vec![cast.auditor.did];
        config.operators = vec![cast.operator.did];
        config.windows = Windows {
            offer_ms: WINDOW_MS,
            accept_ms: WINDOW_MS,
            result_ms: WINDOW_MS,
            verify_ms: WINDOW_MS,
            payment_ms: WINDOW_MS,
            confirmation_ms: WINDOW_MS,
        };
        config.looks_ms = [3_999; 4];
        config.rounds = Some(Rounds {
            humans: vec![cast.human.did],
            ..Rounds::DEFAULT
        });
        config.capabilities.as_mut().unwrap().exclusion = Some(Exclusion {
            breaches: 2,
            ..Exclusion::DEFAULT
        });
    })
    .await;
    strangers::session(&mut recorder, &cast).await;
    dealing::session(&mut recorder, &cast).await;
    talking::session(&mut recorder, &cast).await;
    rounds::session(&mut recorder, &cast).await;
    strangers::afterwards(&mut recorder, &cast).await;
    let mut answers = recorder.answers;
    answers.extend(sdk::session().await);
    answers
}

/// The folder that `X811_FREEZE` names.
#[expect(
    clippy::disallowed_methods,
    reason = "a test has no command line of its own"
)]
fn frozen() -> Option<PathBuf> {
    std::env::var_os("X811_FREEZE").map(PathBuf::from)
}

fn write(folder: &Path, answers: &[Answer]) {
    let session = folder.join("session");
    std::fs::create_dir_all(&session).unwrap();
    for (number, answer) in answers.iter().enumerate() {
        let name = answer.name.replace(' ', "-");
        let path = session.join(format!("{number:03}-{name}.http"));
        std::fs::write(path, &answer.text).unwrap();
        if answer.name == "openapi" {
            let (_, body) = answer.text.split_once("\n\n").unwrap();
            let description: serde_json::Value = serde_json::from_str(body).unwrap();
            let lines = serde_json::to_string_pretty(&description).unwrap();
            std::fs::write(folder.join("openapi.json"), lines).unwrap();
        }
    }
}

/// Nothing that is answered depends on anything but the requests, and what comes from the test.
#[tokio::test]
async fn the_recorded_session_is_answered_alike_twice() {
    let first = session().await;
    if let Some(folder) = frozen() {
        write(&folder, &first);
    }
    let second = session().await;
    for (one, other) in first.iter().zip(&second) {
        assert_eq!(one.text, other.text, "{}", one.name);
    }
    assert_eq!(first.len(), second.len());
    assert!(first.len() >= 300, "{}", first.len());
    let has = |status: u16| {
        first
            .iter()
            .any(|it| it.text.contains(&format!("\n{status}\n")))
    };
    for status in [
        200, 202, 400, 401, 402, 403, 404, 405, 409, 410, 413, 415, 422, 503,
    ] {
        assert!(has(status), "nothing was answered by {status}");
    }
}
