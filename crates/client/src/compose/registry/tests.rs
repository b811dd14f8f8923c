//! Every message is sealed, which reads it by the ledger's rules, and looked at.

use x811_protocol::code::Code;
use x811_protocol::envelope::{EnvelopeRules, ParsedEnvelope, verify};
use x811_protocol::evm::EvmAddress;
use x811_protocol::key::{AgentKey, Profile, SecretKey};
use x811_protocol::payload::registry::{Operation, Verb};
use x811_protocol::time::TimestampMs;
use x811_protocol::wallet::WalletKind;

use super::super::{Composer, Payload};
use super::*;
use crate::testing::{CountingEntropy, ManualClock, NOW_MS, identity, ledger_did};

fn alice(profile: Profile) -> Identity {
    let mut alice = identity("alice", &CountingEntropy::default());
    alice.profile = profile;
    alice
}

/// Seals, verifies and reads as the ledger does.
fn read(identity: &Identity, payload: &dyn Payload) -> Operation {
    let (entropy, clock) = (CountingEntropy::default(), ManualClock::default());
    let composer = Composer::new(identity, &entropy, &clock);
    let sealed = composer.seal(ledger_did(), payload).unwrap();
    let parsed = ParsedEnvelope::parse(&sealed.json, &EnvelopeRules::default()).unwrap();
    let verb = Verb::of(&parsed.header.message_type).unwrap().unwrap();
    let key = identity.signing_key.public();
    let read = Operation::parse(verb, identity.did, ledger_did(), key, &parsed.payload);
    verify(parsed, &[identity.agent_key()]).unwrap();
    read.unwrap()
}

fn entry() -> Entry {
    Entry {
        capabilities: vec!["echo".to_owned()],
        service_endpoint: Some("https://agent.example/inbox".to_owned()),
        expires_at_ms: Some(TimestampMs::new(NOW_MS + 1)),
    }
}

#[test]
fn lc_4_registration_reads_back_with_every_proof() {
    for profile in [Profile::Digest, Profile::Direct] {
        let alice = alice(profile);
        let capabilities = vec!["echo".to_owned()];
        let registration =
            Registration::new(&alice, ledger_did(), capabilities.clone(), None).unwrap();
        let Operation::Register(read) = read(&alice, &registration) else {
            panic!("another verb");
        };
        assert_eq!(read.keys, [alice.agent_key()]);
        assert_eq!(read.entry.capabilities, capabilities);
        let wallet_address = alice.wallet_key.as_ref().unwrap().address();
        assert_eq!(read.entry.wallets.len(), 1);
        assert_eq!(read.entry.wallets[0].address, wallet_address);
        assert_eq!(read.entry.expires_at_ms, None);
    }
}

#[test]
fn ax_031_a_registration_says_when_the_did_expires() {
    let alice = alice(Profile::Digest);
    let registration = Registration::new(&alice, ledger_did(), Vec::new(), None).unwrap();
    let at = Some(TimestampMs::new(NOW_MS + 1));
    let Operation::Register(read) = read(&alice, &registration.expiring(at)) else {
        panic!("another verb");
    };
    assert_eq!(read.entry.expires_at_ms, at);
}

#[test]
fn lc_4_update_replaces_everything_but_the_keys() {
    let alice = alice(Profile::Digest);
    let other = AgentKey {
        key: SecretKey::from_seed([7; 32]).public(),
        profile: Profile::Direct,
    };
    let keys = vec![other, alice.agent_key()];
    let update = Update::new(&alice, ledger_did(), keys.clone(), entry()).unwrap();
    let members = update.members().unwrap();
    assert_eq!(
        service_endpoint(&members["document"]),
        entry().service_endpoint.as_deref()
    );
    let Operation::Update(read) = read(&alice, &update) else {
        panic!("another verb");
    };
    read.keeps(&keys).unwrap();
    assert_eq!(read.entry.capabilities, entry().capabilities);
    assert_eq!(read.entry.expires_at_ms, entry().expires_at_ms);
    assert_eq!(read.entry.wallets.len(), 1);
}

#[test]
fn rule_18_contract_wallets_follow_the_own_account() {
    let alice = alice(Profile::Digest);
    let contract = Wallet {
        address: EvmAddress::from_bytes([0x5a; 20]),
        kind: WalletKind::Erc1271,
        proof: "0x0102".to_owned(),
    };
    let own = alice.wallet_key.as_ref().unwrap().address();
    let registration = Registration::new(&alice, ledger_did(), Vec::new(), None).unwrap();
    let registration = registration.with_wallets([contract.clone()]);
    let keys = vec![alice.agent_key()];
    let update = Update::new(&alice, ledger_did(), keys, entry()).unwrap();
    let update = update.with_wallets([contract.clone()]);
    for payload in [&registration as &dyn Payload, &update] {
        let read = read(&alice, payload);
        let wallets = &read.entry().unwrap().wallets;
        assert_eq!((wallets.len(), wallets[0].address), (2, own));
        assert_eq!(wallets[1], contract);
    }
}

#[test]
fn ax_031_without_an_expiry_there_is_no_member() {
    let alice = alice(Profile::Digest);
    let keys = vec![alice.agent_key()];
    let update = Update::new(&alice, ledger_did(), keys, Entry::default()).unwrap();
    assert_eq!(update.members().unwrap().get("expires_at_ms"), None);
    let document = &update.members().unwrap()["document"];
    assert_eq!(service_endpoint(document), None);
}

#[test]
fn lc_4_rotation_replaces_the_signing_key_and_keeps_its_profile() {
    let new_key = SecretKey::from_seed([9; 32]);
    let other = AgentKey {
        key: SecretKey::from_seed([7; 32]).public(),
        profile: Profile::Direct,
    };
    for profile in [Profile::Digest, Profile::Direct] {
        let alice = alice(profile);
        let registered = [other, alice.agent_key()];
        let rotation = Rotation::new(&alice, ledger_did(), &registered, &new_key, None);
        let Operation::Rotate(read) = read(&alice, &rotation) else {
            panic!("another verb");
        };
        read.replaces_one_of(&registered).unwrap();
        assert_eq!(read.old_key, alice.signing_key.public());
        let expected = AgentKey {
            key: new_key.public(),
            profile,
        };
        assert_eq!(read.new_key, expected);
    }
}

#[test]
fn lc_4_a_change_of_status_says_nothing_but_its_verb() {
    for (change, verb) in [
        (StatusChange::Deactivate, Verb::Deactivate),
        (StatusChange::Reactivate, Verb::Reactivate),
        (StatusChange::Revoke, Verb::Revoke),
    ] {
        assert_eq!(change.members().unwrap(), serde_json::Map::new());
        assert_eq!(read(&alice(Profile::Digest), &change).verb(), verb);
    }
}

#[test]
fn ae_036_a_message_the_registry_would_refuse_is_not_signed() {
    let (entropy, clock) = (CountingEntropy::default(), ManualClock::default());
    let alice = alice(Profile::Digest);
    let composer = Composer::new(&alice, &entropy, &clock);
    // Proofs name the ledger; another one reads them as false.
    let (elsewhere, keys) = (alice.did, vec![alice.agent_key()]);
    let update = Update::new(&alice, ledger_did(), keys, entry()).unwrap();
    let error = composer.seal(elsewhere, &update).unwrap_err();
    let ComposeError::Refused(refusal) = error else {
        panic!("{error}");
    };
    assert_eq!(refusal.code, Code::DidDocumentInvalid);
}
