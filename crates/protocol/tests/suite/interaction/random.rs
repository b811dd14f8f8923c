//! Laws that hold for every history: random messages right and wrong, time, looks, reorganisations,
//! blindness and downtime over three interactions that compete for the same transactions.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use x811_protocol::canonical::to_canonical;
use x811_protocol::envelope::CoreType;
use x811_protocol::event::{Claim, Confirmed, Event, SettlementEvent};
use x811_protocol::evm::{ChainId, EvmAddress};
use x811_protocol::interaction::table::Sender;
use x811_protocol::interaction::{Outline, State, StateName};
use x811_protocol::settlement::claim::{Candidate, Due, choose};

use super::chain::{Chain, OTHER, PAYEE, PAYER, TREASURY, transfers, tx};
use super::messages::{FEE, MOVES, Message, PRICE, SENDERS, TOTAL};
use super::world::{BASE, SEPOLIA, StreamName, World, hash_at};

const INTERACTIONS: usize = 3;
const TRANSACTIONS: u8 = 5;

#[derive(Debug, Clone)]
enum Step {
    /// The message that fits the state, if one does.
    Next {
        number: usize,
        tx_hash: u8,
        fee: Option<u8>,
        dispute: bool,
    },
    /// Any message, from anybody, with one member changed.
    Any {
        number: usize,
        kind: CoreType,
        sender: Sender,
        fault: u8,
        tx_hash: u8,
    },
    Wait {
        ms: u64,
    },
    Tick {
        number: usize,
    },
    Mine {
        tx_hash: u8,
        rows: Vec<(EvmAddress, EvmAddress, u64)>,
        blocks_ago: u64,
    },
    Revert {
        tx_hash: u8,
    },
    Reorganise {
        tx_hash: u8,
    },
    Sweep {
        number: usize,
        blocks_behind: u64,
    },
    SweepAll,
    Blind {
        is_base: bool,
    },
    Sighted {
        is_base: bool,
    },
    Down {
        gap_ms: u64,
    },
    Safe,
}

fn step() -> impl Strategy<Value = Step> {
    let number = 0..INTERACTIONS;
    let hash = 1..=TRANSACTIONS;
    prop_oneof![
        12 => (number.clone(), hash.clone(), prop::option::weighted(0.2, hash.clone()), prop::bool::weighted(0.1))
            .prop_map(|(number, tx_hash, fee, dispute)| Step::Next { number, tx_hash, fee, dispute }),
        6 => (number.clone(), any_kind(), prop::sample::select(SENDERS.to_vec()), 0_u8..9, hash.clone())
            .prop_map(|(number, kind, sender, fault, tx_hash)| Step::Any { number, kind, sender, fault, tx_hash }),
        7 => waiting().prop_map(|ms| Step::Wait { ms }),
        2 => number.clone().prop_map(|number| Step::Tick { number }),
        5 => (hash.clone(), rows(), 0_u64..15)
            .prop_map(|(tx_hash, rows, blocks_ago)| Step::Mine { tx_hash, rows, blocks_ago }),
        1 => hash.clone().prop_map(|tx_hash| Step::Revert { tx_hash }),
        1 => hash.prop_map(|tx_hash| Step::Reorganise { tx_hash }),
        4 => (number, prop_oneof![4 => Just(0_u64), 1 => 1_u64..9])
            .prop_map(|(number, blocks_behind)| Step::Sweep { number, blocks_behind }),
        6 => Just(Step::SweepAll),
        1 => any::<bool>().prop_map(|is_base| Step::Blind { is_base }),
        1 => any::<bool>().prop_map(|is_base| Step::Sighted { is_base }),
        1 => (0_u64..100_000).prop_map(|gap_ms| Step::Down { gap_ms }),
        1 => Just(Step::Safe),
    ]
}

fn any_kind() -> impl Strategy<Value = CoreType> {
    prop::sample::select(CoreType::ALL.to_vec())
}

fn waiting() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0_u64..3_000,
        4 => Just(24_000_u64),
        2 => prop::sample::select(vec![5_000, 5_001, 15_000, 30_000, 30_001, 60_000, 60_001]),
        1 => prop::sample::select(vec![300_000, 300_001, 3_600_001]),
    ]
}

fn rows() -> impl Strategy<Value = Vec<(EvmAddress, EvmAddress, u64)>> {
    let from = prop_oneof![9 => Just(PAYER), 1 => Just(OTHER)];
    let to = prop_oneof![6 => Just(PAYEE), 2 => Just(TREASURY), 1 => Just(OTHER)];
    let amount = prop_oneof![
        5 => Just(TOTAL),
        3 => Just(PRICE),
        3 => Just(FEE),
        1 => Just(0),
        2 => Just(TOTAL - 1),
        1 => Just(TOTAL + 3),
        1 => 1_u64..TOTAL,
    ];
    prop::collection::vec((from, to, amount), 0..5)
}

/// Where the three interactions start, and what happens then.
fn histories() -> impl Strategy<Value = (Vec<Start>, Vec<Step>)> {
    let start = (
        0_usize..=6,
        prop_oneof![5 => Just(PRICE), 1 => Just(0), 1 => Just(19)],
    );
    (
        prop::collection::vec(start, INTERACTIONS),
        prop::collection::vec(step(), 1..=60),
    )
}

/// Messages already exchanged (0 to 5, 6: the confirmation window has passed too), and the price.
type Start = (usize, u64);

const PATH: [CoreType; 6] = [
    CoreType::Request,
    CoreType::Offer,
    CoreType::Accept,
    CoreType::Result,
    CoreType::Verify,
    CoreType::Payment,
];

fn begun(starts: &[Start]) -> World {
    let mut world = World::new();
    for (walked, price) in starts {
        let number = world.add_stream();
        for kind in PATH.into_iter().take(*walked) {
            let message = world.draft(number, kind);
            let message = if kind == CoreType::Offer {
                message.priced(*price)
            } else {
                message
            };
            world.send_ok(number, &message);
        }
    }
    if starts.iter().any(|(walked, _)| *walked == PATH.len()) {
        world.advance_ms(30_001);
    }
    world
}

fn take(world: &mut World, step: &Step) {
    match step {
        Step::Next {
            number,
            tx_hash,
            fee,
            dispute,
        } => {
            if let Some(message) = next(world, *number, *tx_hash, *fee, *dispute) {
                send(world, *number, &message);
            }
        }
        Step::Any {
            number,
            kind,
            sender,
            fault,
            tx_hash,
        } => {
            let mut message = world.draft(*number, *kind).sent_by(*sender);
            if *kind == CoreType::Payment {
                message.payment().tx_hash = tx(*tx_hash);
            }
            spoil(&mut message, *fault);
            send(world, *number, &message);
        }
        Step::Wait { ms } => world.advance_ms(*ms),
        Step::Tick { number } => drop(world.tick(*number)),
        Step::Mine {
            tx_hash,
            rows,
            blocks_ago,
        } => {
            let block = world.next_block() - blocks_ago;
            world.chain.mine(tx(*tx_hash), block, transfers(rows));
        }
        Step::Revert { tx_hash } => {
            let block = world.next_block();
            world.chain.revert(tx(*tx_hash), block);
        }
        Step::Reorganise { tx_hash } => world.chain.reorganise_away(tx(*tx_hash)),
        Step::Sweep {
            number,
            blocks_behind,
        } => {
            let head = Chain::head_number(world.now) - blocks_behind;
            sweep(world, *number, head);
        }
        Step::SweepAll => {
            for number in 0..INTERACTIONS {
                let head = Chain::head_number(world.now);
                sweep(world, number, head);
            }
        }
        Step::Blind { is_base } => world.go_blind(if *is_base { BASE } else { SEPOLIA }),
        Step::Sighted { is_base } => world.go_sighted(if *is_base { BASE } else { SEPOLIA }),
        Step::Down { gap_ms } => world.be_down_for(*gap_ms),
        Step::Safe => world.chain.safe_number = Some(Chain::head_number(world.now)),
    }
}

/// The message that the state waits for.
fn next(
    world: &World,
    number: usize,
    tx_hash: u8,
    fee: Option<u8>,
    dispute: bool,
) -> Option<Message> {
    let kind = match world.streams[number].state.as_ref().map(State::name) {
        None => CoreType::Request,
        Some(StateName::Pending) => CoreType::Offer,
        Some(StateName::Offered) if dispute => CoreType::Reject,
        Some(StateName::Offered) => CoreType::Accept,
        Some(StateName::Accepted) => CoreType::Result,
        Some(StateName::Delivered) if dispute => return Some(world.draft_dispute(number)),
        Some(StateName::Delivered) => CoreType::Verify,
        Some(StateName::Verified) => {
            let fee = fee.filter(|fee| *fee != tx_hash);
            return Some(world.draft_payment(number, tx_hash, fee));
        }
        Some(_) => return None,
    };
    Some(world.draft(number, kind))
}

/// Changes one member; some faults do nothing to some messages.
fn spoil(message: &mut Message, fault: u8) {
    let foreign = x811_protocol::id::EnvelopeId::from_parts(3, &[3; 10]);
    match (fault, &mut message.facts) {
        (0, _) => message.to = *super::messages::STRANGER,
        (1, x811_protocol::facts::Facts::Offer(offer)) => offer.request_id = foreign,
        (2, x811_protocol::facts::Facts::Offer(offer)) => offer.expiry_s = 4,
        (1, x811_protocol::facts::Facts::Accept(accept)) => accept.offer_hash = hash_at(3),
        (1, x811_protocol::facts::Facts::Result(result)) => result.offer_id = foreign,
        (1, x811_protocol::facts::Facts::Verify(verify)) => verify.result_hash = hash_at(3),
        (1, x811_protocol::facts::Facts::Payment(payment)) => payment.payer_address = OTHER,
        (2, x811_protocol::facts::Facts::Payment(payment)) => payment.network = SEPOLIA.to_owned(),
        (3, x811_protocol::facts::Facts::Payment(payment)) => {
            payment.amount = super::chain::micro(TOTAL - 1);
        }
        (_, _) => {}
    }
}

/// Sends; a refused message leaves what the lapses before it left (law c).
fn send(world: &mut World, number: usize, message: &Message) {
    if let x811_protocol::facts::Facts::Request(_) = message.facts
        && world.streams[number].state.is_some()
    {
        // The machine sees a second REQUEST only under the id of the first.
        let mut again = message.clone();
        again.id = Some(world.streams[number].request_id);
        return send_checked(world, number, &again);
    }
    send_checked(world, number, message);
}

fn send_checked(world: &mut World, number: usize, message: &Message) {
    let mut lapsed = world.clone();
    if lapsed.streams[number].state.is_some() {
        lapsed.tick(number);
    }
    let outcome = world.send(number, message);
    if outcome.code().is_some() {
        assert_eq!(
            world.streams[number].state, lapsed.streams[number].state,
            "law (c)"
        );
        assert_eq!(world.log.len(), lapsed.log.len(), "law (c)");
    }
}

fn sweep(world: &mut World, number: usize, head: u64) {
    if world.streams[number].state.is_some() {
        world.sweep_at(number, head);
    }
}

/// Laws (a), (d), (e), (f); (b) and (d) are also checked as the world records.
fn check(world: &World) {
    let live: Vec<_> = world
        .streams
        .iter()
        .map(|stream| stream.state.clone())
        .collect();
    assert_eq!(
        world.replayed(),
        live,
        "law (a): replay gives the live state"
    );
    assert_outlined(world);

    let mut claimed = BTreeSet::new();
    for (record, position) in world.log.iter().zip(0_u64..) {
        if let Event::Settlement(SettlementEvent::Confirmed(confirmed)) = &record.event {
            let StreamName::Interaction(number) = record.stream else {
                panic!("a confirmation outside an interaction")
            };
            assert_chosen_again(world, number, confirmed, &claimed);
        }
        for claim in record.event.claims() {
            assert!(
                claimed.insert(*claim),
                "law (d): {claim:?} is claimed twice"
            );
        }
        assert_stored(&record.event, position);
    }
    for number in 0..world.streams.len() {
        assert_paid(world, number);
    }
}

/// The names read off the events alone are those of the machine.
fn assert_outlined(world: &World) {
    let mut outlines = vec![(Outline::default(), None); world.streams.len()];
    for record in &world.log {
        if let StreamName::Interaction(number) = record.stream {
            let (outline, name) = &mut outlines[number];
            *name = outline.follow(&record.event);
        }
    }
    for (stream, (_, name)) in world.streams.iter().zip(outlines) {
        assert_eq!(
            stream.state.as_ref().map(State::name),
            name,
            "the outline differs"
        );
    }
}

/// An auditor who has only the evidence and the claims before it chooses the same transfers.
fn assert_chosen_again(
    world: &World,
    number: usize,
    confirmed: &Confirmed,
    claimed: &BTreeSet<Claim>,
) {
    let offer = world.state(number).offer().unwrap();
    let due = Due {
        price: offer.price,
        protocol_fee: offer.protocol_fee,
        total: offer.total,
        payee: offer.payee,
        treasury: Some(TREASURY),
    };
    let claim = |tx_hash, ordinal| Claim {
        chain_id: ChainId::new(8_453),
        tx_hash,
        ordinal,
    };
    let mut shown = Vec::new();
    for evidence in &confirmed.evidence {
        let tx_hash = evidence.tx_hash;
        let unclaimed = evidence.transfers.iter();
        let unclaimed = unclaimed.filter(|t| !claimed.contains(&claim(tx_hash, t.ordinal)));
        shown.extend(unclaimed.map(|t| Candidate {
            tx_hash,
            ordinal: t.ordinal,
            to: t.to,
            amount: t.amount,
        }));
    }
    let chosen = choose(&due, &shown).unwrap();
    let claims: Vec<_> = chosen.iter().map(|c| claim(c.tx_hash, c.ordinal)).collect();
    assert_eq!(
        claims, confirmed.claims,
        "the evidence leads to the same claims"
    );
}

/// Law (e): completed means claims that cover price and total, by what the record itself quotes.
fn assert_paid(world: &World, number: usize) {
    let events = world.events(number);
    let confirmations: Vec<&Confirmed> = events
        .iter()
        .filter_map(|event| match event {
            Event::Settlement(SettlementEvent::Confirmed(confirmed)) => Some(confirmed),
            _ => None,
        })
        .collect();
    let is_completed = world.streams[number]
        .state
        .as_ref()
        .is_some_and(|s| s.name() == StateName::Completed);
    assert_eq!(
        confirmations.len(),
        usize::from(is_completed),
        "law (e): one confirmation"
    );
    let [confirmed] = confirmations[..] else {
        return;
    };
    let offer = world.state(number).offer().unwrap();
    let quoted: BTreeMap<_, _> = confirmed
        .evidence
        .iter()
        .flat_map(|e| e.transfers.iter().map(|t| ((e.tx_hash, t.ordinal), t)))
        .collect();
    let (mut to_payee, mut to_both) = (0, 0);
    for claim in &confirmed.claims {
        let transfer = quoted[&(claim.tx_hash, claim.ordinal)];
        assert_eq!(transfer.from, PAYER, "law (e)");
        assert!([PAYEE, TREASURY].contains(&transfer.to), "law (e)");
        to_both += transfer.amount.as_micro_usdc();
        if transfer.to == PAYEE {
            to_payee += transfer.amount.as_micro_usdc();
        }
    }
    let (price, total) = (offer.price.as_micro_usdc(), offer.total.as_micro_usdc());
    assert!(
        to_payee >= price && to_both >= total,
        "law (e): {to_payee} and {to_both}"
    );
    let surplus = confirmed
        .surplus
        .map_or(0, |surplus| surplus.as_micro_usdc());
    assert_eq!(surplus, to_both - total, "law (e): the surplus is recorded");
}

/// Law (f): an event survives its stored form, and its leaf fits.
fn assert_stored(event: &Event, position: u64) {
    let leaf = serde_json::json!({
        "v": 1,
        "position": position,
        "prev": hash_at(position),
        "recorded_at_ms": 1_767_225_600_000_u64,
        "stream": "interaction:019c8c61-8129-7511-9f31-aa5142e65448",
        "stream_seq": position,
        "event": event,
    });
    let bytes = to_canonical(&leaf);
    assert!(bytes.len() < 65_535, "law (f): {} bytes", bytes.len());
    let read: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(
        Event::from_value(&read["event"]).unwrap(),
        *event,
        "law (f)"
    );
    assert!(
        !String::from_utf8(bytes).unwrap().contains("null"),
        "absent members are left out"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_024))]

    #[test]
    fn laws_hold_for_every_history((starts, steps) in histories()) {
        let mut world = begun(&starts);
        for step in &steps {
            take(&mut world, step);
        }
        check(&world);
    }
}

/// The random histories are worth something: from a fixed seed they reach every state and record
/// every kind of event the machine knows.
#[test]
fn random_histories_reach_every_state_and_event() {
    let seen = RefCell::new(BTreeSet::new());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[11; 32]);
    let config = Config {
        cases: 256,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, rng);
    let run = runner.run(&histories(), |(starts, steps)| {
        let mut world = begun(&starts);
        for step in &steps {
            take(&mut world, step);
        }
        let mut seen = seen.borrow_mut();
        for stream in &world.streams {
            seen.extend(stream.state.as_ref().map(|state| state.name().as_str()));
        }
        seen.extend(world.log.iter().map(|record| record.event.type_name()));
        seen.extend(world.log.iter().filter_map(|record| match &record.event {
            Event::Settlement(SettlementEvent::Refuted(refuted)) => Some(cause(refuted.cause)),
            _ => None,
        }));
        Ok(())
    });
    run.unwrap();
    let seen = seen.into_inner();
    let events = [
        "envelope_accepted",
        "lapsed",
        "seen",
        "unseen",
        "refuted",
        "looked",
        "confirmed",
    ];
    let causes = [
        "reverted",
        "wrong token",
        "used already",
        "older",
        "short",
        "other payee",
    ];
    let states = StateName::ALL.map(StateName::as_str);
    for wanted in events.into_iter().chain(causes).chain(states) {
        assert!(seen.contains(wanted), "{wanted} never happened: {seen:?}");
    }
    assert_eq!(MOVES.len() + 2, CoreType::ALL.len());
}

fn cause(cause: x811_protocol::event::RefutedCause) -> &'static str {
    use x811_protocol::event::RefutedCause as C;
    match cause {
        C::Reverted => "reverted",
        C::WrongToken => "wrong token",
        C::UsedAlready => "used already",
        C::OlderThanAccept => "older",
        C::Short => "short",
        C::OtherPayee => "other payee",
        C::Unauthorized => "unauthorized",
    }
}
