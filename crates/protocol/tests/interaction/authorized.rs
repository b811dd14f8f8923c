//! A payer that is no bound wallet is proven by the EIP-3009 nonce that stands for the
//! interaction's payment (ledger-contract.md section 4, settlement-watcher.md rule 18).

use std::collections::BTreeMap;

use x811_protocol::authorization::{fee_nonce, payment_nonce};
use x811_protocol::code::Code;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::CoreType;
use x811_protocol::event::{Event, RefutedCause};
use x811_protocol::evm::EvmAddress;
use x811_protocol::interaction::StateName;

use crate::chain::{DEPTH, PAYEE, TREASURY, transfers, tx};
use crate::messages::{FEE, PRICE, TOTAL};
use crate::world::{LEDGER, World};

/// An account that is bound to nobody.
const ANYBODY: EvmAddress = EvmAddress::from_bytes([0x5a; 20]);

/// The nonces of the payment and of a separate fee.
fn nonces(world: &World) -> [Digest; 2] {
    let state = world.state(0);
    let (ledger, id) = (LEDGER.parse().unwrap(), state.opening().id);
    let offer_hash = state.offer().unwrap().offer_hash;
    [payment_nonce, fee_nonce].map(|nonce| nonce(ledger, id, offer_hash))
}

/// Declares transaction 1 as paid by [`ANYBODY`] under that nonce.
fn declare(world: &mut World, nonce: Option<Digest>) -> Option<Code> {
    let mut message = world.draft(0, CoreType::Payment);
    let payment = message.payment();
    payment.payer_address = ANYBODY;
    payment.authorization_nonce = nonce;
    world.send(0, &message).code()
}

/// Mines transaction 1 with transfers under these nonces and lets it become deep.
fn settle(world: &mut World, rows: &[(EvmAddress, u64)], nonces: &[(u64, Digest)]) -> Vec<Event> {
    let block = world.next_block();
    let rows: Vec<_> = rows
        .iter()
        .map(|(to, amount)| (ANYBODY, *to, *amount))
        .collect();
    world.chain.mine(tx(1), block, transfers(&rows));
    world
        .chain
        .authorize(tx(1), BTreeMap::from_iter(nonces.iter().copied()));
    world.until_block(block + DEPTH - 1);
    world.sweep(0).events
}

#[test]
fn rule_18_an_unbound_payer_needs_the_interactions_own_nonce() {
    let mut world = World::at(StateName::Verified);
    let [own, fee] = nonces(&world);
    let refused = Some(Code::InvalidPaymentAddress);
    assert_eq!(declare(&mut world, None), refused);
    assert_eq!(declare(&mut world, Some(fee)), refused);
    assert_eq!(declare(&mut world, Some(Digest::of(b"another"))), refused);
    assert_eq!(declare(&mut world, Some(own)), None);
}

#[test]
fn rule_18_only_transfers_under_the_nonce_count() {
    let mut world = World::at(StateName::Verified);
    let [own, fee] = nonces(&world);
    declare(&mut world, Some(own));
    let events = settle(
        &mut world,
        &[(PAYEE, PRICE), (PAYEE, PRICE), (TREASURY, FEE)],
        &[(0, fee), (1, own), (2, fee)],
    );
    let Some(Event::Confirmed(confirmed)) = events.last() else {
        panic!("{events:?}")
    };
    let ordinals: Vec<u64> = confirmed.claims.iter().map(|claim| claim.ordinal).collect();
    assert_eq!(
        ordinals,
        [1, 2],
        "the first was authorised for something else"
    );
    assert_eq!(confirmed.evidence[0].authorization_nonce, Some(own));
}

#[test]
fn rule_18_a_strangers_plain_transfer_cannot_be_claimed() {
    for nonce in [None, Some(Digest::of(b"another interaction"))] {
        let mut world = World::at(StateName::Verified);
        let [own, _] = nonces(&world);
        declare(&mut world, Some(own));
        let nonces: Vec<_> = nonce.map(|nonce| (0, nonce)).into_iter().collect();
        let events = settle(&mut world, &[(PAYEE, TOTAL)], &nonces);
        let Some(Event::Refuted(refuted)) = events.last() else {
            panic!("{events:?}")
        };
        let told = (refuted.cause, refuted.code);
        let expected = (RefutedCause::Unauthorized, Code::InvalidPaymentAddress);
        assert_eq!(told, expected);
    }
}
