//! What strangers may send: every hostile message is refused in JSON with a code, never with a 5xx,
//! and leaves the ledger as it was, but for the nonce of an authentic one.

mod keys;
mod members;
mod money;
mod races;
mod replays;
mod settling;
mod terminal;
mod text;
mod times;
mod transport;

use crate::world::{Agent, World};
use serde_json::{Value, json};

/// A name, the bytes to send, and the status and code they are refused with.
pub(crate) type Case = (String, Vec<u8>, (u16, &'static str));

/// The message is malformed.
const MALFORMED: (u16, &str) = (400, "X811-4001");
/// Nothing shows that the sender sent it.
const UNSIGNED: (u16, &str) = (401, "X811-2003");
/// It is not of now.
const UNTIMELY: (u16, &str) = (401, "X811-2002");
/// Something that shows who sent it is absent.
const MISSING: (u16, &str) = (401, "X811-2004");

/// A ledger with two agents, before anything hostile came.
struct Stage {
    world: World,
    a: Agent,
    b: Agent,
}

impl Stage {
    async fn open() -> Stage {
        let (world, [a, b]) = World::peopled().await;
        // That no block comes any more is a record of its own.
        world.clock.advance_ms(30_001);
        while world.get("/ready").await.expect(200)["networks"][0]["sight"] != "blind" {
            tokio::task::yield_now().await;
        }
        Stage { world, a, b }
    }

    /// A message of `a` to `b` that is taken.
    fn ping(&self) -> Vec<u8> {
        self.a
            .say(&self.world, self.b.did, "x811.test/ping", json!({ "n": 1 }))
            .json
    }

    /// The same as members, unsigned.
    fn ping_members(&self) -> Value {
        let mut members: Value = serde_json::from_slice(&self.ping()).unwrap();
        members.as_object_mut().unwrap().remove("signature");
        members
    }

    /// Size and head of the log, and everything that was delivered.
    async fn look(&self) -> Value {
        let ready = self.world.get("/ready").await.expect(200);
        let inbox = async |agent: &Agent| {
            let path = format!("/api/v1/messages/{}", agent.uuid());
            self.world.get(&path).await.text
        };
        let inboxes = [inbox(&self.a).await, inbox(&self.b).await];
        json!([ready["size"], ready["head_hash"], inboxes])
    }

    /// Every case is refused as it says, twice, and nothing has changed.
    async fn refuse_unspent(&self, cases: Vec<Case>) {
        let before = self.look().await;
        for (name, body, (status, code)) in cases {
            for attempt in ["first", "second"] {
                let answer = self.world.post(body.clone()).await;
                let found = (answer.status, answer.json()["code"].clone());
                let text = &answer.text;
                assert_eq!(found, (status, json!(code)), "{name}, {attempt}: {text}");
                is_safe_answer(&name, &answer);
            }
        }
        assert_eq!(self.look().await, before, "nothing was recorded");
        self.world.post(self.ping()).await.expect(202);
    }

    /// Every case is refused as it says, by a message that is authentic: its nonce is spent.
    async fn refuse_spent(&self, cases: Vec<Case>) {
        let before = self.look().await;
        for (name, body, (status, code)) in cases {
            let answer = self.world.post(body.clone()).await;
            let found = (answer.status, answer.json()["code"].clone());
            let text = &answer.text;
            assert_eq!(found, (status, json!(code)), "{name}: {text}");
            is_safe_answer(&name, &answer);
            let again = self.world.post(body).await.refused(409, "X811-2001");
            assert_eq!(again["details"]["first"], json!({ "code": code }), "{name}");
        }
        assert_eq!(self.look().await, before, "nothing was recorded");
        self.world.post(self.ping()).await.expect(202);
    }
}

/// JSON, bounded, printable, by nobody taken for a page.
fn is_safe_answer(name: &str, answer: &crate::world::Reply) {
    assert_eq!(answer.headers["content-type"], "application/json", "{name}");
    assert_eq!(
        answer.headers["x-content-type-options"], "nosniff",
        "{name}"
    );
    assert!(answer.text.len() < 4_096, "{name}: {}", answer.text);
    let is_plain = |text: &str| !text.chars().any(char::is_control);
    assert!(is_plain(&answer.text), "{name}: {:?}", answer.text);
    let message = answer.json()["message"].as_str().unwrap().to_owned();
    assert!(is_plain(&message), "{name}: {message:?}");
}

fn case(name: impl Into<String>, body: impl Into<Vec<u8>>, refused: (u16, &'static str)) -> Case {
    (name.into(), body.into(), refused)
}
