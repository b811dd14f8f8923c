//! The test world: a log in memory, a clock, a registry, and the machine between them.

use std::collections::BTreeSet;
use std::sync::Arc;

use x811_protocol::code::Code;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::event::{
    Claim, Confirmed, EnvelopeAccepted, Event, LedgerEvent, LedgerResumed, NetworkBlind,
    NetworkEvent, NetworkSighted, Refuted, SettlementEvent,
};
use x811_protocol::evm::{ChainId, EvmAddress, TxHash};
use x811_protocol::facts::Facts;
use x811_protocol::id::EnvelopeId;
use x811_protocol::interaction::{Interaction, Settlement, State, StateName};
use x811_protocol::machine::{Illegal, Input, Journal, Machine, Recorded, execute, lapse_due};
use x811_protocol::money::MicroUsdc;
use x811_protocol::observation::{BlindCause, NetworkHead, Sweep};
use x811_protocol::parameters::{
    AEEP_LOOKS_MS, Limits, Network, Parameters, PayerBindingRule, Windows,
};
use x811_protocol::refusal::Refusal;
use x811_protocol::settlement::{OtherClaims, take_sweep};
use x811_protocol::time::TimestampMs;
use x811_protocol::wallet::{Wallet, WalletKind};

use super::chain::{Chain, DEPTH, GENESIS_S, PAYEE, PAYER, TOKEN, TREASURY};
use super::messages::{Message, TASK, header};
use super::view::View;

/// The network that payments are made on.
pub(crate) const BASE: &str = "base";
/// A second one, to be mistaken for the first.
pub(crate) const SEPOLIA: &str = "base-sepolia";

/// The ledger's own DID.
pub(crate) const LEDGER: &str = "did:x811:019c8c61-8129-7511-9f31-aa5142e65448";

/// Which stream a record belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StreamName {
    /// `ledger`.
    Ledger,
    /// `network:<name>`.
    Network(&'static str),
    /// `interaction:<id>`, by its number in the world.
    Interaction(usize),
}

/// One record of the log; its place in the log is its position.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) stream: StreamName,
    pub(crate) event: Event,
    pub(crate) at: TimestampMs,
}

/// One interaction: its state and the ids that its messages refer to.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    pub(crate) state: Option<State>,
    pub(crate) request_id: EnvelopeId,
    pub(crate) offer_id: EnvelopeId,
}

/// The provider as the registry knows it.
#[derive(Debug, Clone)]
pub(crate) struct Provider {
    pub(crate) active: bool,
    pub(crate) capabilities: Arc<[String]>,
    pub(crate) wallet: Option<EvmAddress>,
    pub(crate) receipts: u64,
    pub(crate) last_receipt: Option<Digest>,
}

/// What the ledger knows besides the interactions.
#[derive(Debug, Clone)]
pub(crate) struct Registry {
    pub(crate) parameters: Arc<Parameters>,
    pub(crate) parameters_position: u64,
    pub(crate) provider: Provider,
    pub(crate) initiator_wallets: Vec<Wallet>,
    pub(crate) claimed: BTreeSet<Claim>,
    pub(crate) blind: BTreeSet<&'static str>,
    /// Whether a head is known at all when an ACCEPT is recorded.
    pub(crate) sees_heads: bool,
}

/// What one input did.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Codes of the lapses that it found.
    pub(crate) lapses: Vec<Code>,
    pub(crate) refusal: Option<Refusal>,
    pub(crate) events: Vec<Event>,
}

impl Outcome {
    /// The code it was refused with.
    pub(crate) fn code(&self) -> Option<Code> {
        self.refusal.as_ref().map(|refusal| refusal.code)
    }

    /// The message that it recorded first.
    pub(crate) fn accepted(&self) -> &EnvelopeAccepted {
        match &self.events[0] {
            Event::EnvelopeAccepted(accepted) => accepted,
            other => panic!("{} is no message", other.type_name()),
        }
    }

    /// What it confirmed.
    pub(crate) fn confirmed(&self) -> Option<&Confirmed> {
        self.events.iter().find_map(|event| match event {
            Event::Settlement(SettlementEvent::Confirmed(confirmed)) => Some(confirmed),
            _ => None,
        })
    }

    /// What it refuted.
    pub(crate) fn refuted(&self) -> Vec<&Refuted> {
        let refuted = self.events.iter().filter_map(|event| match event {
            Event::Settlement(SettlementEvent::Refuted(refuted)) => Some(refuted),
            _ => None,
        });
        refuted.collect()
    }

    /// Types of the events it caused.
    pub(crate) fn types(&self) -> Vec<&'static str> {
        self.events.iter().map(Event::type_name).collect()
    }
}

#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) now: TimestampMs,
    pub(crate) chain: Chain,
    pub(crate) registry: Registry,
    pub(crate) streams: Vec<Stream>,
    pub(crate) log: Vec<Record>,
    pub(crate) serial: u64,
}

impl World {
    /// A ledger with the parameters of the specification, an hour after block 0.
    pub(crate) fn new() -> World {
        World::with(parameters())
    }

    /// A ledger with other parameters.
    pub(crate) fn with(parameters: Parameters) -> World {
        let mut world = World {
            now: TimestampMs::new((GENESIS_S + 3_600) * 1_000),
            chain: Chain::default(),
            registry: Registry {
                parameters: Arc::new(parameters.clone()),
                parameters_position: 0,
                provider: provider(),
                initiator_wallets: vec![wallet(PAYER)],
                claimed: BTreeSet::new(),
                blind: BTreeSet::new(),
                sees_heads: true,
            },
            streams: Vec::new(),
            log: Vec::new(),
            serial: 0,
        };
        world.set_parameters(parameters);
        world
    }

    /// Records other parameters for interactions to come.
    pub(crate) fn set_parameters(&mut self, parameters: Parameters) {
        self.registry.parameters = Arc::new(parameters.clone());
        self.registry.parameters_position = self.log.len() as u64;
        self.note(
            StreamName::Ledger,
            Event::Ledger(LedgerEvent::ParametersSet(parameters)),
        );
    }

    /// Lets time pass.
    pub(crate) fn advance_ms(&mut self, ms: u64) {
        self.now = self.now.saturating_add_ms(ms);
    }

    /// The state of an interaction.
    pub(crate) fn state(&self, number: usize) -> &State {
        self.streams[number].state.as_ref().unwrap()
    }

    /// Its name.
    pub(crate) fn name(&self, number: usize) -> StateName {
        self.state(number).name()
    }

    /// The code it ended with.
    pub(crate) fn closing_code(&self, number: usize) -> Option<Code> {
        let state = self.state(number);
        let is_unpaid = state.name().is_terminal() && state.name() != StateName::Completed;
        assert!(is_unpaid, "{} has no closing", state.name());
        state.closing_code()
    }

    /// The payment being watched.
    pub(crate) fn settlement(&self, number: usize) -> &Settlement {
        self.state(number).settlement().unwrap()
    }

    /// Events of an interaction, in order.
    pub(crate) fn events(&self, number: usize) -> Vec<&Event> {
        let stream = StreamName::Interaction(number);
        let own = self.log.iter().filter(|record| record.stream == stream);
        own.map(|record| &record.event).collect()
    }

    /// Sends a message and expects that no defect shows.
    pub(crate) fn send(&mut self, number: usize, message: &Message) -> Outcome {
        self.serial += 1;
        let id = message.id.unwrap_or_else(|| {
            let mut random = [0x11; 10];
            random[2..].copy_from_slice(&self.serial.to_be_bytes());
            EnvelopeId::from_parts(self.now.as_ms(), &random)
        });
        let created = message.created_ms.unwrap_or(self.now);
        let envelope = header(id, message, created);
        let outcome = self.submit(number, &envelope, &message.facts);
        if outcome.refusal.is_none() {
            let stream = &mut self.streams[number];
            match message.facts {
                Facts::Request(_) => stream.request_id = id,
                Facts::Offer(_) => stream.offer_id = id,
                _ => {}
            }
        }
        outcome
    }

    fn submit(&mut self, number: usize, envelope: &AcceptedHeader, facts: &Facts) -> Outcome {
        self.run(number, |journal, now| {
            let input = Input { envelope, facts };
            let execution = execute::<Interaction, _>(journal, &input, now)?;
            Ok((execution.lapses, execution.outcome.err()))
        })
    }

    /// Shows an interaction everything it declared, from the chain's head.
    pub(crate) fn sweep(&mut self, number: usize) -> Outcome {
        self.sweep_at(number, Chain::head_number(self.now))
    }

    /// The same from another head.
    pub(crate) fn sweep_at(&mut self, number: usize, head_number: u64) -> Outcome {
        let sweep = self.chain.sweep(BASE, head_number, self.watched());
        self.observe(number, &sweep)
    }

    /// Shows an interaction a look at a network.
    pub(crate) fn observe(&mut self, number: usize, sweep: &Sweep) -> Outcome {
        let awaited = self.awaited();
        let claimed = self.registry.claimed.clone();
        self.run(number, |journal, now| {
            let others = OtherClaims {
                awaited: &awaited,
                claimed: &claimed,
            };
            let lapses = take_sweep::<Interaction, _>(journal, sweep, others, now)?;
            Ok((lapses, None))
        })
    }

    /// Every transaction that some interaction declared.
    pub(crate) fn watched(&self) -> BTreeSet<TxHash> {
        let watched = self
            .streams
            .iter()
            .filter_map(|s| s.state.as_ref()?.watched());
        watched
            .flat_map(|payment| payment.declared.iter().map(|declared| declared.tx_hash))
            .collect()
    }

    /// Those that interactions not over yet wait for.
    fn awaited(&self) -> BTreeSet<TxHash> {
        let live = self
            .streams
            .iter()
            .filter_map(|s| s.state.as_ref()?.settlement());
        live.flat_map(|s| s.declared.iter().map(|declared| declared.tx_hash))
            .collect()
    }

    /// Records what is due.
    pub(crate) fn tick(&mut self, number: usize) -> Outcome {
        self.run(number, |journal, now| {
            let lapses = lapse_due::<Interaction, _>(journal, now)?;
            Ok((lapses, None))
        })
    }

    fn run(
        &mut self,
        number: usize,
        act: impl FnOnce(&mut Writer<'_>, TimestampMs) -> Result<(Vec<Code>, Option<Refusal>), Illegal>,
    ) -> Outcome {
        let before = self.log.len();
        let heads = self.heads();
        let mut writer = Writer {
            number,
            now: self.now,
            heads: &heads,
            registry: &self.registry,
            state: &mut self.streams[number].state,
            log: &mut self.log,
        };
        let (lapses, refusal) = act(&mut writer, self.now).expect("evolve takes what was decided");
        let events: Vec<Event> = self.log[before..].iter().map(|r| r.event.clone()).collect();
        self.bind_claims(&events);
        Outcome {
            lapses,
            refusal,
            events,
        }
    }

    /// What the ledger's claim index does; a transfer that is claimed twice is a defect.
    fn bind_claims(&mut self, events: &[Event]) {
        let first = self.log.len() - events.len();
        for (position, event) in (first as u64..).zip(events) {
            let claims: &[Claim] = match event {
                Event::Settlement(SettlementEvent::Confirmed(confirmed)) => &confirmed.claims,
                Event::Settlement(SettlementEvent::Late(late)) => &late.claims,
                _ => &[],
            };
            for claim in claims {
                let is_new = self.registry.claimed.insert(*claim);
                assert!(is_new, "claimed twice: {claim:?}");
            }
            if let Event::Settlement(SettlementEvent::Confirmed(_) | SettlementEvent::Reversed(_)) =
                event
            {
                self.registry.provider.receipts += 1;
                self.registry.provider.last_receipt = Some(hash_at(position));
            }
        }
    }

    fn heads(&self) -> Vec<NetworkHead> {
        if !self.registry.sees_heads {
            return Vec::new();
        }
        let head = Chain::block(Chain::head_number(self.now));
        vec![
            NetworkHead::new(SEPOLIA, Chain::block(1)),
            NetworkHead::new(BASE, head),
        ]
    }

    /// The ledger loses sight of a network.
    pub(crate) fn go_blind(&mut self, network: &'static str) {
        self.registry.blind.insert(network);
        let event = NetworkBlind {
            cause: BlindCause::Unreachable,
            head: None,
            silent: Vec::new(),
        };
        self.note(
            StreamName::Network(network),
            Event::Network(NetworkEvent::Blind(event)),
        );
    }

    /// The ledger sees a network again.
    pub(crate) fn go_sighted(&mut self, network: &'static str) {
        self.registry.blind.remove(network);
        let head = Chain::block(Chain::head_number(self.now));
        let event = NetworkSighted { head, blind_ms: 0 };
        self.note(
            StreamName::Network(network),
            Event::Network(NetworkEvent::Sighted(event)),
        );
    }

    /// The ledger is away for a while and comes back.
    pub(crate) fn be_down_for(&mut self, gap_ms: u64) {
        self.advance_ms(gap_ms);
        self.note(
            StreamName::Ledger,
            Event::Ledger(LedgerEvent::Resumed(LedgerResumed {
                gap_ms,
                checkpoint_adopted: false,
            })),
        );
    }

    /// Records an event of another stream and what it does to every interaction.
    fn note(&mut self, stream: StreamName, event: Event) {
        let record = Record {
            stream,
            event,
            at: self.now,
        };
        for stream in &mut self.streams {
            stream.state = stream.state.take().map(|state| moved(state, &record));
        }
        self.log.push(record);
    }

    /// The states that the log alone leads to.
    pub(crate) fn replayed(&self) -> Vec<Option<State>> {
        let mut states: Vec<Option<State>> = vec![None; self.streams.len()];
        let mut blind = BTreeSet::new();
        for (record, position) in self.log.iter().zip(0..) {
            match (&record.stream, &record.event) {
                (StreamName::Interaction(number), event) => {
                    let state = evolved(self, states[*number].take(), position, event, record.at);
                    states[*number] = Some(paused_if_blind(state, &blind, record.at));
                    continue;
                }
                (StreamName::Network(name), Event::Network(NetworkEvent::Blind(_))) => {
                    blind.insert(*name)
                }
                (StreamName::Network(name), _) => blind.remove(name),
                (StreamName::Ledger, _) => false,
            };
            for state in &mut states {
                *state = state.take().map(|state| moved(state, record));
            }
        }
        states
    }

    fn parameters_at(&self, event: &Event) -> Option<Arc<Parameters>> {
        let Event::EnvelopeAccepted(accepted) = event else {
            return None;
        };
        let position = usize::try_from(accepted.derived.parameters?).unwrap();
        match &self.log[position].event {
            Event::Ledger(LedgerEvent::ParametersSet(parameters)) => {
                Some(Arc::new(parameters.clone()))
            }
            other => panic!("{} at {position}", other.type_name()),
        }
    }
}

fn evolved(
    world: &World,
    state: Option<State>,
    position: u64,
    event: &Event,
    at: TimestampMs,
) -> State {
    let parameters = world.parameters_at(event);
    let recorded = Recorded {
        event,
        position,
        hash: hash_at(position),
        recorded_at_ms: at,
        parameters: parameters.as_ref(),
    };
    Interaction::evolve(state, &recorded).expect("a recorded history is a legal one")
}

/// What an event of the `ledger` or a `network` stream does to an interaction.
fn moved(state: State, record: &Record) -> State {
    match (&record.stream, &record.event) {
        (_, Event::Ledger(LedgerEvent::Resumed(resumed))) => state.after_downtime(resumed.gap_ms),
        (StreamName::Network(name), Event::Network(NetworkEvent::Blind(_))) => {
            state.blinded(name, record.at)
        }
        (StreamName::Network(name), Event::Network(NetworkEvent::Sighted(_))) => {
            state.sighted(name, record.at)
        }
        (_, _) => state,
    }
}

/// A settlement that begins on a blind network begins with its clock stopped.
fn paused_if_blind(state: State, blind: &BTreeSet<&'static str>, at: TimestampMs) -> State {
    blind
        .iter()
        .fold(state, |state, name| state.blinded(name, at))
}

/// The fake record hash of a position.
pub(crate) fn hash_at(position: u64) -> Digest {
    Digest::of(&position.to_be_bytes())
}

/// One interaction's place in the log.
struct Writer<'a> {
    number: usize,
    now: TimestampMs,
    heads: &'a [NetworkHead],
    registry: &'a Registry,
    state: &'a mut Option<State>,
    log: &'a mut Vec<Record>,
}

impl Journal<Interaction> for Writer<'_> {
    type Fault = Illegal;
    type View<'v>
        = View<'v>
    where
        Self: 'v;

    fn state(&self) -> Option<&State> {
        self.state.as_ref()
    }

    fn view(&self) -> Result<View<'_>, Refusal> {
        Ok(View {
            now: self.now,
            heads: self.heads,
            registry: self.registry,
        })
    }

    fn record(&mut self, event: Event) -> Result<u64, Illegal> {
        let position = self.log.len() as u64;
        let recorded = Recorded {
            event: &event,
            position,
            hash: hash_at(position),
            recorded_at_ms: self.now,
            parameters: Some(&self.registry.parameters),
        };
        let state = Interaction::evolve(self.state.clone(), &recorded)?;
        *self.state = Some(paused_if_blind(state, &self.registry.blind, self.now));
        let stream = StreamName::Interaction(self.number);
        self.log.push(Record {
            stream,
            event,
            at: self.now,
        });
        Ok(position)
    }
}

/// The parameters of the specification, with two networks.
pub(crate) fn parameters() -> Parameters {
    Parameters {
        windows: Windows::AEEP,
        looks_ms: AEEP_LOOKS_MS,
        networks: vec![network(BASE, 8_453), network(SEPOLIA, 84_532)],
        payer_binding: PayerBindingRule::Wallet,
        limits: Limits::DEFAULT,
        lenient: Vec::new(),
        contracts: None,
        capabilities: None,
        rounds: None,
    }
}

fn network(name: &str, chain_id: u64) -> Network {
    Network {
        name: name.to_owned(),
        chain_id: ChainId::new(chain_id),
        token: TOKEN,
        treasury: Some(TREASURY),
        confirmed_depth: DEPTH,
        endpoint_quorum: None,
        safe_above: None,
        final_by: None,
        fresh_ms: 10_000,
        blind_after_ms: 30_000,
        late_ms: 86_400_000,
    }
}

/// The same with totals above `limit` waiting for level *safe*.
pub(crate) fn parameters_with_safe_above(limit: MicroUsdc) -> Parameters {
    let mut parameters = parameters();
    parameters.networks[0].safe_above = Some(limit);
    parameters
}

/// A wallet of the initiator.
pub(crate) fn wallet(address: EvmAddress) -> Wallet {
    Wallet {
        address,
        kind: WalletKind::Eoa,
        proof: String::new(),
    }
}

fn provider() -> Provider {
    Provider {
        active: true,
        capabilities: [TASK.to_owned()].into(),
        wallet: Some(PAYEE),
        receipts: 0,
        last_receipt: None,
    }
}
