//! A payer that is no bound wallet is proven by the EIP-3009 nonce that stands for the
//! interaction's payment (ledger-contract.md section 4, settlement-watcher.md rule 18); and a
//! transfer under a nonce pays nothing else, whoever the payer is (section 5).

use std::collections::BTreeMap;
use std::sync::Arc;

use x811_protocol::authorization::{fee_nonce, payment_nonce};
use x811_protocol::code::Code;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::CoreType;
use x811_protocol::event::{Event, RefutedCause, SettlementEvent};
use x811_protocol::evm::EvmAddress;
use x811_protocol::interaction::StateName;
use x811_protocol::observation::{ForkPoint, RecordedBranch};
use x811_protocol::parameters::PayerBindingRule;

use super::chain::{Chain, DEPTH, PAYEE, PAYER, TREASURY, transfers, tx};
use super::messages::{FEE, PRICE, TOTAL};
use super::schedule::{answer_look, until_look};
use super::world::{LEDGER, World, parameters};

/// Another ledger, where the same two agents are registered.
const OTHER_LEDGER: &str = "did:x811:019c8c61-8129-7511-9f31-aa5142e65449";

/// An account that is bound to nobody.
const ANYBODY: EvmAddress = EvmAddress::from_bytes([0x5a; 20]);

/// The nonces of the payment and of a separate fee.
fn nonces(world: &World) -> [Digest; 2] {
    nonces_at(LEDGER, world)
}

/// Those that the same conversation has at a ledger.
fn nonces_at(ledger: &str, world: &World) -> [Digest; 2] {
    let state = world.state(0);
    let (ledger, id) = (ledger.parse().unwrap(), state.opening().id);
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
    settle_from(ANYBODY, world, rows, nonces)
}

/// The same from an account.
fn settle_from(
    payer: EvmAddress,
    world: &mut World,
    rows: &[(EvmAddress, u64)],
    nonces: &[(u64, Digest)],
) -> Vec<Event> {
    let block = world.next_block();
    let rows: Vec<_> = rows
        .iter()
        .map(|(to, amount)| (payer, *to, *amount))
        .collect();
    world.chain.mine(tx(1), block, transfers(&rows));
    world
        .chain
        .authorize(tx(1), BTreeMap::from_iter(nonces.iter().copied()));
    world.deep(0, block).events
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
    let Some(Event::Settlement(SettlementEvent::Confirmed(confirmed))) = events.last() else {
        panic!("{events:?}")
    };
    let ordinals: Vec<u64> = confirmed.claims.iter().map(|claim| claim.ordinal).collect();
    assert_eq!(
        ordinals,
        [1, 2],
        "the first was authorised for something else"
    );
    let transfers = confirmed.evidence[0].transfers.iter();
    let under: Vec<_> = transfers.map(|it| it.authorization_nonce).collect();
    assert_eq!(under, [Some(own), Some(fee)]);
}

#[test]
fn rule_18_a_strangers_plain_transfer_cannot_be_claimed() {
    for nonce in [None, Some(Digest::of(b"another interaction"))] {
        let mut world = World::at(StateName::Verified);
        let [own, _] = nonces(&world);
        declare(&mut world, Some(own));
        let nonces: Vec<_> = nonce.map(|nonce| (0, nonce)).into_iter().collect();
        let events = settle(&mut world, &[(PAYEE, TOTAL)], &nonces);
        let Some(Event::Settlement(SettlementEvent::Refuted(refuted))) = events.last() else {
            panic!("{events:?}")
        };
        let told = (refuted.cause, refuted.code);
        let expected = (RefutedCause::Unauthorized, Code::InvalidPaymentAddress);
        assert_eq!(told, expected);
    }
}

/// The ordinals that were claimed, and the nonce that the evidence names.
fn confirmed(events: &[Event]) -> (Vec<u64>, Option<Digest>) {
    let Some(Event::Settlement(SettlementEvent::Confirmed(confirmed))) = events.last() else {
        panic!("{events:?}")
    };
    let claims = confirmed.claims.iter();
    let ordinals = claims.map(|claim| claim.ordinal).collect();
    let evidence = &confirmed.evidence[0];
    let mut nonces = evidence.transfers.iter();
    (ordinals, nonces.find_map(|it| it.authorization_nonce))
}

/// What another ledger asked for, what a stranger to this protocol chose, and a fee's nonce on what
/// the payee got: none of it pays, though the wallet is the initiator's own.
#[test]
fn lc_5_a_bound_wallets_transfer_for_something_else_does_not_count() {
    let probe = World::at(StateName::Verified);
    let [elsewhere, _] = nonces_at(OTHER_LEDGER, &probe);
    let [own, fee] = nonces(&probe);
    assert_ne!(own, elsewhere, "the nonce names the ledger");
    for nonce in [elsewhere, fee, Digest::of(b"drawn at random")] {
        let mut world = World::at(StateName::Verified);
        world.pay(0, 1);
        let events = settle_from(PAYER, &mut world, &[(PAYEE, TOTAL)], &[(0, nonce)]);
        let Some(Event::Settlement(SettlementEvent::Refuted(refuted))) = events.last() else {
            panic!("{events:?}")
        };
        let told = (refuted.cause, refuted.code);
        let expected = (RefutedCause::Unauthorized, Code::InvalidPaymentAddress);
        assert_eq!(told, expected);
        let evidence = &refuted.evidence;
        assert_eq!(
            (&evidence.transfers[..], evidence.transfer_count),
            (&[][..], 1)
        );
        let Some(Event::Settlement(SettlementEvent::Seen(seen))) = events.first() else {
            panic!("{events:?}")
        };
        assert_eq!(seen.transfers, [], "nor is it quoted as if it did");
    }
}

#[test]
fn lc_5_a_bound_wallet_pays_under_the_interactions_own_nonces_and_under_none() {
    let mut world = World::at(StateName::Verified);
    let [own, fee] = nonces(&world);
    let [elsewhere, other_fee] = nonces_at(OTHER_LEDGER, &world);
    world.pay(0, 1);
    let rows = [
        (PAYEE, PRICE),
        (TREASURY, FEE),
        (PAYEE, PRICE),
        (TREASURY, FEE),
    ];
    let under = [(0, elsewhere), (1, other_fee), (2, own), (3, fee)];
    let events = settle_from(PAYER, &mut world, &rows, &under);
    assert_eq!(confirmed(&events), (vec![2, 3], Some(own)));

    let mut world = World::at(StateName::Verified);
    world.pay(0, 1);
    let events = settle_from(PAYER, &mut world, &rows, &[(0, elsewhere), (1, fee)]);
    assert_eq!(confirmed(&events), (vec![1, 2], Some(fee)), "a plain price");
}

/// Where the payer is taken as stated, a nonce still says what is paid.
#[test]
fn lc_5_a_payer_taken_as_stated_is_bound_by_its_authorization_too() {
    let mut unchecked = parameters();
    unchecked.payer_binding = PayerBindingRule::Unchecked;
    for (is_own, is_paid) in [(true, true), (false, false)] {
        let mut world = World::with(unchecked.clone());
        world.bring(StateName::Verified);
        let ledger = if is_own { LEDGER } else { OTHER_LEDGER };
        let [nonce, _] = nonces_at(ledger, &world);
        declare(&mut world, None);
        let events = settle(&mut world, &[(PAYEE, TOTAL)], &[(0, nonce)]);
        let is_confirmed = matches!(
            events.last(),
            Some(Event::Settlement(SettlementEvent::Confirmed(_)))
        );
        assert_eq!(is_confirmed, is_paid, "{events:?}");
    }
}

/// What comes after the dispute binds to no interaction that it was not made for either.
#[test]
fn lc_5_what_was_authorised_for_something_else_is_not_late() {
    for is_own in [true, false] {
        let mut world = World::looking();
        let ledger = if is_own { LEDGER } else { OTHER_LEDGER };
        let [nonce, _] = nonces_at(ledger, &world);
        for _ in 0..4 {
            until_look(&mut world);
            let _ = answer_look(&mut world);
        }
        assert_eq!(world.name(0), StateName::Disputed);
        let events = settle_from(PAYER, &mut world, &[(PAYEE, TOTAL)], &[(0, nonce)]);
        let is_late = events
            .iter()
            .any(|event| matches!(event, Event::Settlement(SettlementEvent::Late(_))));
        assert_eq!(is_late, is_own, "{events:?}");
    }
}

/// Height of the head that was recorded with the ACCEPT: the higher one, of the network of the deal.
fn accept_head(world: &World) -> u64 {
    let events = world.events(0).into_iter();
    let mut heads = events.filter_map(|event| match event {
        Event::EnvelopeAccepted(accepted) => accepted.derived.heads.clone(),
        _ => None,
    });
    let numbers = heads.next().unwrap().into_iter().map(|head| head.number);
    numbers.max().unwrap()
}

/// Transaction 1 with these transfers, in a block that was the head at the ACCEPT.
fn settle_in_an_old_block(
    world: &mut World,
    rows: &[(EvmAddress, u64)],
    nonces: &[(u64, Digest)],
) -> Vec<Event> {
    let rows: Vec<_> = rows
        .iter()
        .map(|(to, amount)| (PAYER, *to, *amount))
        .collect();
    let head = accept_head(world);
    world.chain.mine(tx(1), head, transfers(&rows));
    let nonces = BTreeMap::from_iter(nonces.iter().copied());
    world.chain.authorize(tx(1), nonces);
    world.until_block(world.next_block().max(head + DEPTH));
    world.sweep(0).events
}

/// What was made under the interaction's own nonce was made for it, whatever its block; what lies
/// beside it in the same transaction was not.
#[test]
fn rule_19_under_its_own_nonce_no_transfer_is_too_old() {
    let probe = World::at(StateName::Verified);
    let [own, fee] = nonces(&probe);
    let paid = |rows: &[(EvmAddress, u64)], nonces: &[(u64, Digest)]| {
        let mut world = World::at(StateName::Verified);
        world.pay(0, 1);
        settle_in_an_old_block(&mut world, rows, nonces)
    };
    let events = paid(&[(PAYEE, TOTAL)], &[(0, own)]);
    assert_eq!(confirmed(&events), (vec![0], Some(own)));
    let events = paid(&[(PAYEE, PRICE), (TREASURY, FEE)], &[(0, own), (1, fee)]);
    assert_eq!(confirmed(&events), (vec![0, 1], Some(own)));
    let events = paid(&[(PAYEE, TOTAL), (PAYEE, TOTAL)], &[(1, own)]);
    assert_eq!(confirmed(&events), (vec![1], Some(own)));

    for (rows, nonces, cause) in [
        (vec![(PAYEE, TOTAL)], vec![], RefutedCause::OlderThanAccept),
        // The fee is there, and the price beside it pays something else.
        (
            vec![(PAYEE, PRICE), (TREASURY, FEE)],
            vec![(1, fee)],
            RefutedCause::Short,
        ),
    ] {
        let events = paid(&rows, &nonces);
        let Some(Event::Settlement(SettlementEvent::Refuted(refuted))) = events.last() else {
            panic!("{events:?}")
        };
        assert_eq!(refuted.cause, cause);
    }
}

/// The same of what comes once it is over.
#[test]
fn rule_19_under_its_own_nonce_a_late_transfer_is_not_too_old() {
    for is_own in [true, false] {
        let mut world = World::looking();
        let [own, _] = nonces(&world);
        for _ in 0..4 {
            until_look(&mut world);
            let _ = answer_look(&mut world);
        }
        assert_eq!(world.name(0), StateName::Disputed);
        let nonces: &[_] = if is_own { &[(0, own)] } else { &[] };
        let events = settle_in_an_old_block(&mut world, &[(PAYEE, TOTAL)], nonces);
        let is_late = events
            .iter()
            .any(|event| matches!(event, Event::Settlement(SettlementEvent::Late(_))));
        assert_eq!(is_late, is_own, "{events:?}");
    }
}

/// A payment in the block of the head recorded at ACCEPT, where that head stands so by now.
fn paid_below(recorded: Option<RecordedBranch>) -> (Vec<Event>, u64) {
    let mut world = World::at(StateName::Verified);
    world.pay(0, 1);
    let head = accept_head(&world);
    world.chain.followed_from = u64::MAX;
    let hash = Chain::block(head).hash;
    world.chain.recorded = recorded.map(|branch| (hash, branch)).into_iter().collect();
    (
        settle_in_an_old_block(&mut world, &[(PAYEE, TOTAL)], &[]),
        head,
    )
}

fn fork(number: u64) -> ForkPoint {
    let hash = Chain::block(number).hash;
    ForkPoint { hash, number }
}

/// At or below the head recorded at ACCEPT the branch decides, and where that is another one, the
/// fork; while it is not known, nothing is decided.
#[test]
fn lc_5_below_the_recorded_head_the_fork_decides() {
    let (events, head) = paid_below(Some(RecordedBranch::Same));
    let Some(Event::Settlement(SettlementEvent::Refuted(refuted))) = events.last() else {
        panic!("{events:?}");
    };
    assert_eq!(refuted.cause, RefutedCause::OlderThanAccept);
    assert_eq!(refuted.evidence.forked_at, None);

    for (below, is_paid) in [(1, true), (0, false)] {
        let at = fork(head - below);
        let (events, _) = paid_below(Some(RecordedBranch::Forked(at)));
        let (paid, evidence) = match events.last() {
            Some(Event::Settlement(SettlementEvent::Confirmed(confirmed))) => {
                (true, &confirmed.evidence[0])
            }
            Some(Event::Settlement(SettlementEvent::Refuted(refuted))) => {
                (false, &refuted.evidence)
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(
            (paid, evidence.forked_at),
            (is_paid, Some(at)),
            "{below} below"
        );
        assert!(!evidence.fork_unknown);
    }

    let (events, _) = paid_below(Some(RecordedBranch::Lost));
    let Some(Event::Settlement(SettlementEvent::Confirmed(confirmed))) = events.last() else {
        panic!("{events:?}");
    };
    assert!(confirmed.evidence[0].fork_unknown);

    let (events, _) = paid_below(None);
    let is_decided = |event: &Event| {
        matches!(
            event,
            Event::Settlement(SettlementEvent::Confirmed(_) | SettlementEvent::Refuted(_))
        )
    };
    assert!(!events.iter().any(is_decided), "it waits: {events:?}");
}

/// Fewer endpoints than must agree by now decide nothing, whatever held when it was opened.
#[test]
fn lc_5_fewer_endpoints_than_must_agree_decide_nothing() {
    for (quorum, is_paid) in [(None, true), (Some(2), true), (Some(3), false)] {
        let mut world = World::at(StateName::Verified);
        world.pay(0, 1);
        Arc::make_mut(&mut world.registry.parameters).networks[0].endpoint_quorum = quorum;
        let block = world.mine_next(1, &[(PAYER, PAYEE, TOTAL)]);
        world.until_block(block + DEPTH);
        let events = world.sweep(0).events;
        let paid = events
            .iter()
            .any(|event| matches!(event, Event::Settlement(SettlementEvent::Confirmed(_))));
        assert_eq!(paid, is_paid, "{quorum:?}");
    }
}
