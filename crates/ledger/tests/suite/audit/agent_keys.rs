//! Keys of agents that an auditor knows. An operator who replaces the key of an agent from its registration on, and
//! signs everything anew, writes a log that is clean by itself: it is the log of an agent with another key.

use serde_json::json;
use x811_audit::{AgentKeysReport, Cause, Options, Outcome, Report, Unchecked, audit_export};
use x811_protocol::document::DidDocument;
use x811_protocol::key::{AgentKey, KeyId, Profile, SecretKey};

use super::bundles::bundle;
use super::deal::{Deal, Until};
use super::ledgerbox::Ledgerbox;
use super::party::Party;
use super::registry::rotated;
use super::scene::{exported, found};

fn key_of(party: &Party) -> KeyId {
    KeyId {
        did: party.did,
        key: party.key.public(),
    }
}

/// A key of the same agent that the log does not have.
fn other_key_of(party: &Party) -> KeyId {
    KeyId {
        did: party.did,
        key: SecretKey::from_seed([77; 32]).public(),
    }
}

fn audit_knowing(bytes: &[u8], keys: impl IntoIterator<Item = KeyId>) -> Report {
    let options = Options {
        agent_keys: keys.into_iter().collect(),
        ..Options::default()
    };
    audit_export(bytes, options).unwrap()
}

fn counts(report: &Report) -> [u64; 3] {
    let AgentKeysReport {
        proven,
        asserted,
        broken,
        ..
    } = report.agent_keys;
    [proven, asserted, broken]
}

/// A log in which an agent replaced its key; gives the agent with each key.
async fn with_a_rotation() -> (Vec<u8>, Party, Party) {
    let ledgerbox = Ledgerbox::open().await;
    let party = ledgerbox.provider().await;
    let (rotation, renewed) = rotated(&ledgerbox, &party);
    let message = ledgerbox.seal(
        &party,
        "x811.registry/rotate",
        &ledgerbox.identity,
        rotation,
    );
    ledgerbox.accept(&message).await;
    (exported(&ledgerbox).await, party, renewed)
}

#[tokio::test]
async fn lc_9_the_keys_of_agents_are_attested_by_the_ledger_until_they_are_known() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    let bytes = exported(&ledgerbox).await;
    let [initiator, provider] = [&deal.initiator, &deal.provider].map(key_of);
    let report = audit_knowing(&bytes, []);
    assert_eq!(counts(&report), [0, 2, 0]);
    let mut named = report.agent_keys.asserted_agents;
    named.sort_unstable();
    let mut due = vec![initiator.did, provider.did];
    due.sort_unstable();
    assert_eq!(named, due);

    let report = audit_knowing(&bytes, [initiator]);
    assert_eq!((counts(&report), found(&report)), ([1, 1, 0], vec![]));
    assert_eq!(report.agent_keys.asserted_agents, [provider.did]);
    let report = audit_knowing(&bytes, [initiator, provider]);
    assert_eq!(
        (counts(&report), report.verdict),
        ([2, 0, 0], Outcome::Clean)
    );
}

#[tokio::test]
async fn lc_9_an_agent_that_was_given_another_key_is_found() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    let bytes = exported(&ledgerbox).await;
    for party in [&deal.initiator, &deal.provider] {
        let report = audit_knowing(&bytes, [other_key_of(party)]);
        assert_eq!(report.verdict, Outcome::Broken);
        assert_eq!(counts(&report), [0, 1, 1]);
        let [finding] = &report.findings[..] else {
            panic!("{:?}", found(&report));
        };
        let stream = format!("agent:{}", party.did);
        assert_eq!(finding.cause, Cause::AgentKeyDiffers);
        assert_eq!(finding.stream.as_deref(), Some(&*stream));
        let key = party.key.public().to_string();
        assert!(finding.sentence.contains(&key), "{}", finding.sentence);
        // A key that was never used does not make up for the one that was.
        let both = [other_key_of(party), key_of(party)];
        assert_eq!(audit_knowing(&bytes, both).findings, []);
    }
}

#[tokio::test]
async fn lc_9_one_key_proves_every_key_that_rotations_connect_to_it() {
    let (bytes, before, after) = with_a_rotation().await;
    for known in [key_of(&before), key_of(&after)] {
        let report = audit_knowing(&bytes, [known]);
        assert_eq!((counts(&report), found(&report)), ([1, 0, 0], vec![]));
    }
    let report = audit_knowing(&bytes, [other_key_of(&before)]);
    assert_eq!(counts(&report), [0, 0, 1]);
}

/// The operator lists a key of its own in the registration.
#[tokio::test]
async fn lc_9_a_second_key_of_an_agent_has_to_be_known_too() {
    let ledgerbox = Ledgerbox::open().await;
    let party = ledgerbox.party();
    let second = Party {
        did: party.did,
        key: SecretKey::from_seed([78; 32]),
    };
    let keys = [&party, &second].map(|party| AgentKey {
        key: party.key.public(),
        profile: Profile::Digest,
    });
    let mut payload = party.registration(&[], &[]);
    payload["document"] = json!(DidDocument::build(party.did, &keys, None));
    let message = ledgerbox.seal(
        &party,
        "x811.registry/register",
        &ledgerbox.identity,
        payload,
    );
    ledgerbox.accept(&message).await;
    let bytes = exported(&ledgerbox).await;
    for (known, due) in [
        (vec![key_of(&party), key_of(&second)], [1, 0, 0]),
        (vec![key_of(&party)], [0, 0, 1]),
        (vec![key_of(&second)], [0, 0, 1]),
    ] {
        let report = audit_knowing(&bytes, known);
        assert_eq!(counts(&report), due, "{:?}", found(&report));
        assert_eq!(report.findings.is_empty(), due[2] == 0);
    }
}

/// A whole log without the agent contradicts; a bundle of others says nothing of it.
#[tokio::test]
async fn lc_9_an_agent_that_is_left_out_is_found_in_a_log_and_not_checked_in_a_bundle() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    let stranger = ledgerbox.party();
    let report = audit_knowing(&exported(&ledgerbox).await, [key_of(&stranger)]);
    let end = report.records - 1;
    assert_eq!(found(&report), [(end, "keys", Cause::AgentKeyDiffers)]);

    let elsewhere = ledgerbox.provider().await;
    let bytes = bundle(&ledgerbox, deal.id()).await;
    let report = audit_knowing(&bytes, [key_of(&elsewhere), key_of(&deal.provider)]);
    assert_eq!((counts(&report), found(&report)), ([1, 1, 0], vec![]));
    let not_checked = report.extract.unwrap().not_checked;
    assert_eq!(not_checked.get(&Unchecked::AgentKeys), Some(&1));
    let report = audit_knowing(&bytes, [other_key_of(&deal.provider)]);
    assert_eq!(report.verdict, Outcome::Broken);
}
