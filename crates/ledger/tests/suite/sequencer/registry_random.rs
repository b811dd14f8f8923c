//! Random messages to the registry by agents with several keys, present, past and foreign: revoked
//! is for ever, keys stay few, only a present key is heard, and the log adds up
//! (ledger-contract.md section 4, AX-30, AX-31).

use super::ledgerbox::{Ledgerbox, TASK};
use super::party::Party;
use super::random::runs;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use x811_protocol::did::Did;
use x811_protocol::document::DidDocument;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::key::{AgentKey, Profile, PublicKey, SecretKey};
use x811_protocol::payload::registry::rotation_message;
use x811_world::agent::{Agent, AgentStanding, Status};

const ACTORS: usize = 2;

#[derive(Debug, Clone)]
enum Message {
    /// With the first so many keys of the actor's own.
    Register(usize),
    /// With an expiry so long from now.
    Update(Option<u64>),
    Rotate(NewKey),
    Status(&'static str),
    Greet,
}

#[derive(Debug, Clone, Copy)]
enum NewKey {
    Fresh,
    /// The actor's key of that number, which may be registered, or was once.
    Own(usize),
}

#[derive(Debug, Clone)]
enum Act {
    /// The actor of that number says it, signed by its key of the second number.
    Say(usize, usize, Message),
    Pass(u64),
    Restart,
}

fn message() -> impl Strategy<Value = Message> {
    let expiry = prop_oneof![
        Just(None),
        Just(Some(0_u64)),
        Just(Some(30_000)),
        Just(Some(u64::MAX))
    ];
    let new_key = prop_oneof![
        3 => Just(NewKey::Fresh),
        1 => (0..10_usize).prop_map(NewKey::Own),
    ];
    prop_oneof![
        2 => (1..10_usize).prop_map(Message::Register),
        3 => expiry.prop_map(Message::Update),
        5 => new_key.prop_map(Message::Rotate),
        2 => Just(Message::Status("deactivate")),
        3 => Just(Message::Status("reactivate")),
        1 => Just(Message::Status("revoke")),
        3 => Just(Message::Greet),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    // A small number is more often the key that signs.
    let key = prop_oneof![4 => Just(0_usize), 1 => 0..12_usize];
    prop_oneof![
        12 => (0..ACTORS, key, message()).prop_map(|(actor, key, message)| Act::Say(actor, key, message)),
        1 => prop_oneof![Just(1_u64), Just(31_000)].prop_map(Act::Pass),
        1 => Just(Act::Restart),
    ]
}

/// An agent and every key it has ever had, the present ones first.
struct Actor {
    did: Did,
    keys: Vec<SecretKey>,
}

impl Actor {
    fn new(ledgerbox: &Ledgerbox) -> Actor {
        let party = ledgerbox.party();
        let others = (0..9).map(|_| ledgerbox.party().key);
        Actor {
            did: party.did,
            keys: std::iter::once(party.key.clone()).chain(others).collect(),
        }
    }

    fn signing_with(&self, key: usize) -> Party {
        Party {
            did: self.did,
            key: self.keys[key % self.keys.len()].clone(),
        }
    }

    /// Puts what is registered of its keys first.
    fn look_at(&mut self, agent: &Agent) {
        let is_present = |key: &SecretKey| agent.key(&key.public()).is_some();
        self.keys.sort_by_key(|key| !is_present(key));
    }
}

struct Story {
    ledgerbox: Ledgerbox,
    actors: Vec<Actor>,
}

impl Story {
    async fn begin() -> Story {
        let ledgerbox = Ledgerbox::open().await;
        let actors: Vec<Actor> = (0..ACTORS).map(|_| Actor::new(&ledgerbox)).collect();
        // One has its place already, so that short stories say something too.
        let [first, ..] = actors.as_slice() else {
            unreachable!("there are two");
        };
        let party = first.signing_with(0);
        let registration = ledgerbox.registration(&party, &[TASK], &[]);
        ledgerbox.accept(&registration).await;
        Story { ledgerbox, actors }
    }

    fn agent(&self, actor: usize) -> Option<Arc<Agent>> {
        let world = self.ledgerbox.ledger().world();
        world.agent(self.actors[actor].did).cloned()
    }

    async fn live(&mut self, act: &Act) {
        match act {
            Act::Say(actor, key, message) => self.say(*actor, *key, message).await,
            Act::Pass(ms) => self.ledgerbox.advance_ms(*ms).await,
            Act::Restart => {
                let before: Vec<_> = (0..ACTORS).map(|actor| self.agent(actor)).collect();
                self.ledgerbox.restart().await;
                let after: Vec<_> = (0..ACTORS).map(|actor| self.agent(actor)).collect();
                assert_eq!(before, after, "a restart changes nobody");
            }
        }
    }

    async fn say(&mut self, actor: usize, key: usize, message: &Message) {
        let before = self.agent(actor);
        let party = self.actors[actor].signing_with(key);
        let sealed = self.seal(actor, &party, message, before.as_deref());
        let now = self.ledgerbox.now();
        let is_accepted = self.ledgerbox.submit(&sealed).await.is_ok();
        let after = self.agent(actor);
        let context = format!("{message:?} by {before:?}");
        match (&before, &after) {
            (Some(before), _) if is_accepted => {
                assert!(before.key(&party.key.public()).is_some(), "{context}");
                let standing = before.standing(now);
                assert_ne!(standing, AgentStanding::Revoked, "{context}");
                if matches!(message, Message::Greet) {
                    assert_eq!(standing, AgentStanding::Active, "{context}");
                }
            }
            (None, Some(_)) => assert!(is_accepted, "{context}"),
            _ => assert_eq!(before, after, "a refusal changes nothing: {context}"),
        }
        if let Some(after) = after {
            assert_sound(before.as_deref(), &after, &context);
            self.actors[actor].look_at(&after);
        }
    }

    fn seal(
        &mut self,
        actor: usize,
        party: &Party,
        message: &Message,
        known: Option<&Agent>,
    ) -> SealedEnvelope {
        let (verb, payload) = match message {
            Message::Register(count) => {
                let own = self.actors[actor].keys.iter().take(*count);
                let keys: Vec<PublicKey> = own.map(SecretKey::public).collect();
                ("register", entry(party.did, &keys))
            }
            Message::Update(expiry_ms) => {
                let mut payload = entry(party.did, &present(party, known));
                if let Some(ms) = expiry_ms {
                    let expires_at = self.ledgerbox.now().saturating_add_ms(*ms);
                    payload["expires_at_ms"] = json!(expires_at);
                }
                ("update", payload)
            }
            Message::Rotate(new_key) => ("rotate", self.rotation(actor, party, *new_key, known)),
            Message::Status(verb) => (*verb, json!({})),
            Message::Greet => {
                let ledger = &self.ledgerbox.identity;
                return self
                    .ledgerbox
                    .seal(party, "x811.ext/greeting", ledger, json!({}));
            }
        };
        let kind = format!("x811.registry/{verb}");
        let ledger = &self.ledgerbox.identity;
        self.ledgerbox.seal(party, &kind, ledger, payload)
    }

    fn rotation(
        &mut self,
        actor: usize,
        party: &Party,
        new_key: NewKey,
        known: Option<&Agent>,
    ) -> Value {
        let actor = &mut self.actors[actor];
        let new_key = match new_key {
            NewKey::Own(number) => actor.keys[number % actor.keys.len()].clone(),
            NewKey::Fresh => {
                let fresh = self.ledgerbox.party().key;
                actor.keys.push(fresh.clone());
                fresh
            }
        };
        let (old, new) = (party.key.public(), new_key.public());
        let keys: Vec<PublicKey> = present(party, known)
            .into_iter()
            .map(|key| if key == old { new } else { key })
            .collect();
        let text = rotation_message(party.did, self.ledgerbox.identity.did, old, new);
        json!({
            "document": document(party.did, &keys),
            "new_key": new,
            "proof": new_key.sign(text.as_bytes()),
        })
    }
}

/// The keys that are registered; the signer's own while none are.
fn present(party: &Party, known: Option<&Agent>) -> Vec<PublicKey> {
    let registered = known.map(|agent| agent.keys.iter().map(|key| key.key).collect());
    registered.unwrap_or_else(|| vec![party.key.public()])
}

fn entry(did: Did, keys: &[PublicKey]) -> Value {
    json!({"document": document(did, keys), "capabilities": [TASK]})
}

fn document(did: Did, keys: &[PublicKey]) -> Value {
    let profile = Profile::Digest;
    let keys: Vec<AgentKey> = keys
        .iter()
        .map(|key| AgentKey { key: *key, profile })
        .collect();
    DidDocument::build(did, &keys, None)
}

/// What holds of every agent at any time.
fn assert_sound(before: Option<&Agent>, after: &Agent, context: &str) {
    let keys: BTreeSet<PublicKey> = after.keys.iter().map(|key| key.key).collect();
    assert_eq!(keys.len(), after.keys.len(), "all different: {context}");
    assert!(
        (1..=DidDocument::MAX_KEYS).contains(&keys.len()),
        "{context}"
    );
    let Some(before) = before else {
        return;
    };
    assert_eq!(before.keys.len(), after.keys.len(), "{context}");
    if before.status == Status::Revoked {
        assert_eq!(before, after, "revoked is for ever: {context}");
    }
}

proptest! {
    #![proptest_config(runs(48, 200))]

    #[test]
    fn lc_4_the_registry_holds_whatever_is_asked_of_it(
        acts in proptest::collection::vec(act(), 1..60),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut story = Story::begin().await;
            for act in &acts {
                story.live(act).await;
            }
            story.ledgerbox.assert_log_adds_up().await;
        });
    }
}
