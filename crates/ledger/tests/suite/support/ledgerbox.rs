//! A ledger in a box: everything around the sequencer, held by the test.

use super::base::{BASE, Base, DEPTH, GENESIS_S, TOKEN, TREASURY};
use super::party::{Account, Letter, Party, SeededEntropy, log_id};
use serde_json::Value;
use std::sync::Arc;
use tokio::task::JoinHandle;
use x811_eventlog::Record;
use x811_ledger::answer::{Accepted, Answer};
use x811_ledger::clock::ManualClock;
use x811_ledger::memory::{CommitFault, MemoryReadModel, MemoryStore};
use x811_ledger::sequencer::{Ledger, OpenError, Opening, Stopped, open};
use x811_ledger::snapshot::{MemorySnapshots, Snapshots};
use x811_protocol::code::Code;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::event::{Event, LedgerKeyRotated, LedgerKeys, LedgerOpened, LedgerRole};
use x811_protocol::evm::{ChainId, TxHash};
use x811_protocol::id::{EnvelopeId, InteractionId, Nonce};
use x811_protocol::key::SecretKey;
use x811_protocol::observation::Observation;
use x811_protocol::parameters::{
    AEEP_LOOKS_MS, Leniency, Limits, Network, Parameters, PayerBindingRule, Windows,
};
use x811_protocol::refusal::Refusal;
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;

/// A running ledger as the tests hold it.
pub(crate) type TestLedger = Ledger<MemoryStore, MemoryReadModel, ManualClock>;

/// The task every provider in these tests offers.
pub(crate) const TASK: &str = "translation";

/// Everything around the sequencer.
pub(crate) struct Ledgerbox {
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) rows: Arc<MemoryReadModel>,
    /// Whether a reader always waits for rows, from the next start on.
    pub(crate) rows_at_once: bool,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) base: Base,
    pub(crate) parameters: Parameters,
    pub(crate) entropy: Arc<SeededEntropy>,
    pub(crate) identity: Party,
    pub(crate) snapshots: Arc<MemorySnapshots>,
    pub(crate) snapshot_every_records: u64,
    pub(crate) snapshot_max_size: Option<u64>,
    /// What the log must extend at the next start.
    pub(crate) signed: Option<x811_eventlog::Checkpoint>,
    /// Its keys for checkpoints and receipts; that for envelopes is its identity's.
    pub(crate) checkpoint_key: SecretKey,
    pub(crate) receipt_key: SecretKey,
    /// Keys that end with the next start.
    pub(crate) rotations: Vec<LedgerKeyRotated>,
    /// Networks that endpoints are configured for.
    pub(crate) with_endpoints: Vec<String>,
    running: Option<Running>,
}

struct Running {
    ledger: TestLedger,
    task: JoinHandle<Result<(), Stopped>>,
}

/// When every ledger here was opened.
fn start() -> TimestampMs {
    TimestampMs::new((GENESIS_S + 86_400) * 1_000)
}

/// The checkpoint key that every ledger here begins with.
pub(crate) fn checkpoint_key() -> SecretKey {
    Party::new(&SeededEntropy::new(1), start()).key
}

impl Ledgerbox {
    /// A new ledger with the parameters of the specification, a day after block 0.
    pub(crate) async fn open() -> Ledgerbox {
        Ledgerbox::with(parameters()).await
    }

    /// A new ledger where two parties may have any number of interactions open.
    pub(crate) async fn crowded() -> Ledgerbox {
        Ledgerbox::but(|it| it.limits.open_per_pair = 1_000).await
    }

    /// A new ledger whose parameters are those of the specification but for that.
    pub(crate) async fn but(change: impl FnOnce(&mut Parameters)) -> Ledgerbox {
        let mut parameters = parameters();
        change(&mut parameters);
        Ledgerbox::with(parameters).await
    }

    /// A new ledger with other parameters.
    pub(crate) async fn with(parameters: Parameters) -> Ledgerbox {
        Ledgerbox::seeded(parameters, 811).await
    }

    /// The same with a DID of its own, and whatever else is drawn.
    pub(crate) async fn seeded(parameters: Parameters, seed: u64) -> Ledgerbox {
        // One verifying thread, so that `settle` can tell when it has nothing left to do.
        let _ = rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .build_global();
        let start = start();
        let entropy = Arc::new(SeededEntropy::new(seed));
        let mut ledgerbox = Ledgerbox {
            store: Arc::new(MemoryStore::new()),
            rows: Arc::new(MemoryReadModel::new()),
            clock: Arc::new(ManualClock::at(start)),
            base: Base::default(),
            parameters,
            identity: Party::new(&entropy, start),
            rows_at_once: true,
            snapshots: Arc::new(MemorySnapshots::new()),
            snapshot_every_records: 7,
            snapshot_max_size: None,
            entropy,
            signed: None,
            checkpoint_key: checkpoint_key(),
            receipt_key: Party::new(&SeededEntropy::new(2), start).key,
            rotations: Vec::new(),
            with_endpoints: Vec::new(),
            running: None,
        };
        ledgerbox.start().await.unwrap();
        ledgerbox
    }

    /// Starts the ledger on what is stored.
    pub(crate) async fn start(&mut self) -> Result<(), OpenError> {
        assert!(self.running.is_none(), "it is running");
        let opening = Opening {
            identity: self.opened(),
            rotations: self.rotations.clone(),
            parameters: self.parameters.clone(),
            envelope_key: self.identity.key.clone(),
            snapshots: Some(Snapshots {
                store: self.snapshots.clone(),
                every_records: self.snapshot_every_records,
                max_size: self.snapshot_max_size,
            }),
            checkpoint: self.signed.clone(),
            checkpoint_adopted: false,
            with_endpoints: self.with_endpoints.clone(),
        };
        let (sequencer, ledger) = open(
            self.store.clone(),
            self.rows.clone(),
            self.clock.clone(),
            self.entropy.clone(),
            opening,
        )
        .await?;
        let task = tokio::spawn(sequencer.run());
        if self.rows_at_once {
            // A reader that waits for more than there is: rows are written as soon as they can be.
            tokio::select! {
                biased;
                _ = ledger.rows_reflect(u64::MAX) => {}
                () = std::future::ready(()) => {}
            }
        }
        self.running = Some(Running { ledger, task });
        self.settle().await;
        Ok(())
    }

    /// Who it is; what position 0 says as long as no key was rotated.
    pub(crate) fn opened(&self) -> LedgerOpened {
        LedgerOpened {
            log_id: log_id(),
            did: self.identity.did,
            origin: "ledger.example/x811".to_owned(),
            keys: LedgerKeys {
                envelope: self.identity.key.public(),
                checkpoint: self.checkpoint_key.public(),
                receipt: self.receipt_key.public(),
            },
            format: 1,
            rules_version: x811_protocol::rules::Rules::LATEST.version(),
            continues: None,
            reader: x811_protocol::rules::Rules::LATEST.reader(),
        }
    }

    /// The key of that role is another one from the next start on.
    pub(crate) fn rotate(&mut self, role: LedgerRole, seed: u8) {
        let (ledger, next) = (self.identity.did, SecretKey::from_seed([seed; 32]));
        let key = match role {
            LedgerRole::Envelope => &mut self.identity.key,
            LedgerRole::Checkpoint => &mut self.checkpoint_key,
            LedgerRole::Receipt => &mut self.receipt_key,
        };
        let rotation = LedgerKeyRotated::sign(ledger, role, key, next.public());
        *key = next;
        self.rotations.push(rotation);
    }

    /// The process dies where it stands.
    pub(crate) async fn crash(&mut self) {
        let running = self.running.take().expect("it is running");
        running.task.abort();
        let _ = running.task.await;
        drop(running.ledger);
        self.settle().await;
    }

    /// The process ends in order.
    pub(crate) async fn stop(&mut self) -> Result<(), Stopped> {
        let running = self.running.take().expect("it is running");
        drop(running.ledger);
        running.task.await.unwrap()
    }

    /// The process dies and is started again at once.
    pub(crate) async fn restart(&mut self) {
        self.crash().await;
        self.start().await.unwrap();
    }

    /// The process dies and is started again after so long.
    pub(crate) async fn down_ms(&mut self, away_ms: u64) {
        self.crash().await;
        self.clock.advance_ms(away_ms);
        self.start().await.unwrap();
    }

    /// Why the sequencer ended by itself.
    pub(crate) async fn ended(&mut self) -> Stopped {
        let running = self.running.take().expect("it is running");
        let stopped = running.task.await.unwrap().unwrap_err();
        drop(running.ledger);
        stopped
    }

    pub(crate) fn ledger(&self) -> &TestLedger {
        &self.running.as_ref().expect("it is running").ledger
    }

    /// The machine's wall clock.
    pub(crate) fn now(&self) -> TimestampMs {
        use x811_ledger::clock::Clock;
        self.clock.wall()
    }

    /// Lets every task run until all of them wait for something.
    pub(crate) async fn settle(&self) {
        for _ in 0..2 {
            let (done, verified) = tokio::sync::oneshot::channel();
            rayon::spawn(move || {
                let _ = done.send(());
            });
            let _ = verified.await;
            for _ in 0..24 {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Lets time pass, then everything that it causes.
    pub(crate) async fn advance_ms(&self, ms: u64) {
        self.settle().await;
        self.clock.advance_ms(ms);
        self.settle().await;
    }

    /// Makes the next commit fail.
    pub(crate) fn fail_next_commit(&self, fault: CommitFault) {
        self.store.fail_next_commit(fault);
    }

    /// Sends an envelope as it goes over the wire.
    pub(crate) async fn submit(&self, envelope: &SealedEnvelope) -> Result<Answer, Refusal> {
        self.ledger().submit(envelope.json.clone()).await
    }

    /// Sends an envelope and does not wait for the answer.
    pub(crate) async fn submit_later(
        &self,
        envelope: &SealedEnvelope,
    ) -> JoinHandle<Result<Answer, Refusal>> {
        let (ledger, bytes) = (self.ledger().clone(), envelope.json.clone());
        let answer = tokio::spawn(async move { ledger.submit(bytes).await });
        self.settle().await;
        answer
    }

    /// Sends an envelope whose turn comes `wait_ms` later, because a slow commit is before it.
    pub(crate) async fn submit_while_busy(
        &self,
        envelope: &SealedEnvelope,
        wait_ms: u64,
    ) -> Result<Answer, Refusal> {
        let store = self.store.clone();
        let held = store.hold_commits().await;
        let plug = self.registration(&self.party(), &[], &[]);
        let plug = self.submit_later(&plug).await;
        let answer = self.submit_later(envelope).await;
        self.advance_ms(wait_ms).await;
        drop(held);
        plug.await.unwrap().unwrap();
        answer.await.unwrap()
    }

    /// Sends an envelope that must be recorded now.
    pub(crate) async fn accept(&self, envelope: &SealedEnvelope) -> Accepted {
        match self.submit(envelope).await {
            Ok(Answer::Accepted(accepted)) => accepted,
            other => panic!("{:?}: {other:?}", envelope.header.message_type),
        }
    }

    /// Sends an envelope that must be answered from an earlier one.
    pub(crate) async fn repeat(&self, envelope: &SealedEnvelope) -> Accepted {
        match self.submit(envelope).await {
            Ok(Answer::Repeated(accepted)) => accepted,
            other => panic!("{:?}: {other:?}", envelope.header.message_type),
        }
    }

    /// Sends an envelope that must be refused.
    pub(crate) async fn refuse(&self, envelope: &SealedEnvelope) -> Refusal {
        match self.submit(envelope).await {
            Err(refusal) => refusal,
            other => panic!("{:?}: {other:?}", envelope.header.message_type),
        }
    }

    /// The code an envelope is refused with.
    pub(crate) async fn code(&self, envelope: &SealedEnvelope) -> Code {
        self.refuse(envelope).await.code
    }

    /// A letter of now. Where any UUID will do, its id and its nonce are of each other's version.
    pub(crate) fn letter(&self, kind: &str, to: &Party, payload: Value) -> Letter {
        let mut letter = Letter::new(&self.entropy, self.now(), kind, to.did, payload);
        if self.parameters.is_lenient(Leniency::Uuids) {
            let (id, nonce) = (letter.id.to_string(), letter.nonce.to_string());
            letter.id = EnvelopeId::lenient(&nonce).unwrap();
            letter.nonce = Nonce::lenient(&id).unwrap();
        }
        letter
    }

    /// A signed envelope of now.
    pub(crate) fn seal(
        &self,
        from: &Party,
        kind: &str,
        to: &Party,
        payload: Value,
    ) -> SealedEnvelope {
        from.seal(&self.letter(kind, to, payload))
    }

    /// A new party.
    pub(crate) fn party(&self) -> Party {
        Party::new(&self.entropy, self.now())
    }

    /// The envelope that registers `party`.
    pub(crate) fn registration(
        &self,
        party: &Party,
        capabilities: &[&str],
        accounts: &[&Account],
    ) -> SealedEnvelope {
        let wallets: Vec<Value> = accounts
            .iter()
            .map(|account| account.bound_to(party.did, self.identity.did))
            .collect();
        let payload = party.registration(capabilities, &wallets);
        self.seal(party, "x811.registry/register", &self.identity, payload)
    }

    /// A new party that offers [`TASK`].
    pub(crate) async fn provider(&self) -> Party {
        let party = self.party();
        self.accept(&self.registration(&party, &[TASK], &[])).await;
        party
    }

    /// A new party that pays from `account`.
    pub(crate) async fn initiator(&self, account: &Account) -> Party {
        let party = self.party();
        self.accept(&self.registration(&party, &[], &[account]))
            .await;
        party
    }

    /// Shows the ledger everything it watches, from the head of now.
    pub(crate) async fn sweep(&self) {
        self.sweep_at(Base::head_number(self.now())).await;
    }

    /// The same from another head.
    pub(crate) async fn sweep_at(&self, head_number: u64) {
        let watched = self.watched();
        self.observe(self.base.sweep(head_number, watched)).await;
    }

    pub(crate) async fn observe(&self, observation: Observation) {
        self.ledger().observe(observation).await;
        self.settle().await;
    }

    /// Lets time pass with a sweep every second, as a live watcher does.
    pub(crate) async fn watch_ms(&self, ms: u64) {
        let mut left_ms = ms;
        while left_ms > 0 {
            let step_ms = left_ms.min(1_000);
            self.advance_ms(step_ms).await;
            self.sweep().await;
            left_ms -= step_ms;
        }
    }

    /// The transactions the watcher is asked for.
    pub(crate) fn watched(&self) -> Vec<TxHash> {
        let watched = self.ledger().watched(BASE).expect("a configured network");
        let hashes = watched.borrow().clone();
        hashes.iter().copied().collect()
    }

    pub(crate) async fn records(&self) -> Vec<Record> {
        self.store.records().await.unwrap()
    }

    /// Every event of the log with its record.
    pub(crate) async fn events(&self) -> Vec<(Record, Event)> {
        let records = self.records().await.into_iter();
        records
            .map(|record| {
                let event = Event::from_json(record.event_json()).unwrap();
                (record, event)
            })
            .collect()
    }

    /// Types of the events of one interaction, in order.
    pub(crate) async fn types(&self, id: InteractionId) -> Vec<&'static str> {
        let stream = format!("interaction:{id}");
        let events = self.events().await.into_iter();
        events
            .filter(|(record, _)| record.stream() == stream)
            .map(|(_, event)| event.type_name())
            .collect()
    }

    /// Name of the state an interaction is in, by the rows for readers.
    pub(crate) fn state(&self, id: InteractionId) -> String {
        self.rows.rows().subjects[&Subject::Interaction(id)]
            .state
            .clone()
    }
}

/// A settlement schedule that is over soon.
pub(crate) fn impatient_parameters() -> Parameters {
    let mut parameters = parameters();
    parameters.windows.confirmation_ms = 4_000;
    parameters.looks_ms = [2_000; 4];
    parameters.networks[0].confirmed_depth = 2;
    parameters
}

/// A new ledger of that schedule.
pub(crate) async fn impatient() -> Ledgerbox {
    Ledgerbox::with(impatient_parameters()).await
}

/// The parameters of the specification.
pub(crate) fn parameters() -> Parameters {
    Parameters {
        windows: Windows::AEEP,
        looks_ms: AEEP_LOOKS_MS,
        networks: vec![Network {
            name: BASE.to_owned(),
            chain_id: ChainId::new(8_453),
            token: TOKEN,
            treasury: Some(TREASURY),
            confirmed_depth: DEPTH,
            endpoint_quorum: None,
            safe_above: None,
            final_by: None,
            fresh_ms: 10_000,
            blind_after_ms: 30_000,
            late_ms: 86_400_000,
        }],
        payer_binding: PayerBindingRule::Wallet,
        limits: Limits::DEFAULT,
        lenient: Vec::new(),
        contracts: None,
        capabilities: None,
        rounds: None,
    }
}
