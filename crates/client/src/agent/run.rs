//! Starting a loop, and keeping it going.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use x811_protocol::did::Did;
use x811_protocol::facts::AcceptancePolicy;

use super::acknowledging::acknowledge;
use super::approval::Approvals;
use super::dealer::Dealer;
use super::decide::{InitiatorRules, ProviderRules};
use super::engine::{Engine, InitiatorPart, ProviderPart};
use super::feed::{FromFeed, Source, follow, interactions, reconnect_ms};
use super::heartbeat::beat;
use super::live::Live;
use super::negotiator::Negotiator;
use super::notice::{Observer, What, silent};
use super::proof::ProofCheck;
use super::state::{State, StateError, StateFile};
use super::work::{Check, Worker};
use super::world::World;
use crate::clock::{Clock, SystemClock};
use crate::compose::{ComposeError, Request};
use crate::entropy::{Entropy, EntropyError, SystemEntropy};
use crate::http::{ClientError, Cursor, InboxRequest, LedgerClient, LedgerInfo, RetryPolicy};
use crate::identity::Identity;

/// What every loop needs.
#[derive(Clone)]
pub struct Settings {
    /// Address of the ledger.
    pub ledger_url: String,
    /// The agent that the loop acts as.
    pub identity: Identity,
    /// Where state, approvals and proofs lie; one folder for each agent and ledger.
    pub folder: PathBuf,
    /// Where the time comes from.
    pub clock: Arc<dyn Clock>,
    /// Where random numbers come from.
    pub entropy: Arc<dyn Entropy>,
    /// Who is told what happens.
    pub observer: Observer,
    /// Checks proofs before they are kept; without it they are kept as they come.
    pub proof_check: Option<Arc<ProofCheck>>,
}

impl Settings {
    /// With the computer's clock and randomness; tells nobody, checks no proof.
    pub fn new(ledger_url: &str, identity: Identity, folder: impl Into<PathBuf>) -> Settings {
        Settings {
            ledger_url: ledger_url.to_owned(),
            identity,
            folder: folder.into(),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            observer: silent(),
            proof_check: None,
        }
    }

    /// The same, telling `observer`.
    #[must_use]
    pub fn observed_by(self, observer: Observer) -> Settings {
        Settings { observer, ..self }
    }
}

/// A loop that offers, works and delivers.
pub struct Provider {
    /// Who acts, at which ledger, and by which clock.
    pub settings: Settings,
    /// What it charges.
    pub rules: ProviderRules,
    /// What does the work.
    pub worker: Arc<dyn Worker>,
    /// How it negotiates; offers of terms are left alone without it.
    pub negotiator: Option<Negotiator>,
    /// Which use of its capabilities it grants in sessions; they are left alone without it.
    pub dealer: Option<Dealer>,
}

/// A loop that answers offers by policy, judges results and pays.
pub struct Initiator {
    /// Who acts, at which ledger, and by which clock.
    pub settings: Settings,
    /// What it may accept.
    pub rules: InitiatorRules,
    /// JSON-RPC endpoint of the network it pays on.
    pub rpc_url: String,
    /// What judges results.
    pub check: Arc<dyn Check>,
    /// REQUESTs that it sends, each once. Those that are sent beside the loop are attended to as well.
    pub orders: Vec<Order>,
    /// What it orders once terms were negotiated, and how.
    pub negotiator: Option<Negotiator>,
    /// Agreements that it asks for, with the orders under them.
    pub dealer: Option<Dealer>,
}

/// A REQUEST that is sent once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The provider that is asked.
    pub provider: Did,
    /// What is asked; its idempotency key says which order this is.
    pub request: Request,
}

impl Provider {
    /// Runs until `stop` comes, or something ends the loop.
    ///
    /// # Errors
    /// [`LoopError`].
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<(), LoopError> {
        let part = ProviderPart {
            rules: self.rules,
            worker: self.worker,
        };
        let engine = Start::new(self.settings)?;
        let mut stop = pin!(stop);
        let Some(info) = engine.info(&mut stop).await? else {
            return Ok(());
        };
        let mut engine = engine.engine(&info)?;
        engine.provider = Some(part);
        engine.negotiator = self.negotiator.map(Arc::new);
        engine.dealer = self.dealer.map(Arc::new);
        run(engine, Vec::new(), stop).await
    }
}

impl Initiator {
    /// Runs until `stop` comes, or something ends the loop.
    ///
    /// # Errors
    /// [`LoopError`]; [`LoopError::NoCaps`] where an order may be accepted without a person and no
    /// caps are set.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<(), LoopError> {
        let accepts_alone = |order: &Order| match order.request.acceptance_policy {
            AcceptancePolicy::Auto | AcceptancePolicy::Threshold => true,
            AcceptancePolicy::HumanApproval => false,
        };
        let negotiated = self.negotiator.iter().flat_map(|rules| &rules.purchases);
        let wanted = self.dealer.iter().flat_map(|dealer| &dealer.wants);
        let mut orders = self
            .orders
            .iter()
            .chain(negotiated.map(|one| &one.order))
            .chain(wanted.flat_map(|want| &want.orders));
        if self.rules.caps.is_none() && orders.any(accepts_alone) {
            return Err(LoopError::NoCaps);
        }
        let start = Start::new(self.settings)?;
        let mut stop = pin!(stop);
        let Some(info) = start.info(&mut stop).await? else {
            return Ok(());
        };
        let Some(network) = info.network(Some(&self.rules.network)) else {
            return Err(LoopError::NoNetwork {
                name: self.rules.network.clone(),
            });
        };
        let mut engine = start.engine(&info)?;
        #[cfg(feature = "pay")]
        {
            let purse = super::purse::Purse::new(self.rpc_url, network.clone());
            engine.world.purse = Some(purse);
        }
        #[cfg(not(feature = "pay"))]
        engine.tell(
            None,
            What::Alarm,
            format!(
                "this program was built without payments: {} is not paid on",
                network.name
            ),
        );
        engine.initiator = Some(InitiatorPart {
            rules: self.rules,
            check: self.check,
        });
        engine.negotiator = self.negotiator.map(Arc::new);
        engine.dealer = self.dealer.map(Arc::new);
        run(engine, self.orders, stop).await
    }
}

/// A loop whose folder is locked.
pub(super) struct Start {
    settings: Settings,
    pub(super) client: Arc<LedgerClient>,
    file: StateFile,
    state: Option<State>,
}

impl Start {
    pub(super) fn new(settings: Settings) -> Result<Start, LoopError> {
        // The loop itself has patience; a call is tried twice, for answers lost on the way.
        let retry = RetryPolicy {
            attempts: 2,
            ..RetryPolicy::default()
        };
        let (clock, entropy) = (settings.clock.clone(), settings.entropy.clone());
        let client = LedgerClient::with(&settings.ledger_url, retry, clock, entropy)?;
        let client = Arc::new(client.reading_as(&settings.identity));
        let (file, state) = StateFile::open(&settings.folder)?;
        Ok(Start {
            settings,
            client,
            file,
            state,
        })
    }

    /// What the ledger says of itself, once it answers; `None` when told to stop before.
    async fn info(
        &self,
        stop: &mut (impl Future<Output = ()> + Unpin),
    ) -> Result<Option<LedgerInfo>, LoopError> {
        let mut failures = 0;
        loop {
            let cause = match self.client.info().await {
                Ok(info) => return Ok(Some(info)),
                Err(error @ ClientError::Unreachable { .. }) => error.to_string(),
                Err(error) => return Err(error.into()),
            };
            failures += 1;
            (self.settings.observer)(&super::notice::Notice {
                at_ms: self.settings.clock.now(),
                interaction: None,
                what: What::FeedLost,
                text: cause,
            });
            tokio::select! {
                () = &mut *stop => return Ok(None),
                () = self.settings.clock.pause(reconnect_ms(failures)) => {}
            }
        }
    }

    pub(super) fn engine(self, info: &LedgerInfo) -> Result<Engine<Live>, LoopError> {
        let (settings, ledger) = (self.settings, info.did);
        let did = settings.identity.did;
        if settings
            .identity
            .ledger
            .is_some_and(|known| known != ledger)
        {
            return Err(LoopError::OtherLedger { ledger });
        }
        let state = self.state.unwrap_or_else(|| State::new(did, ledger));
        if state.did != did || state.ledger != ledger {
            return Err(LoopError::State(StateError::Other {
                path: settings.folder,
                did: state.did,
                ledger: state.ledger,
            }));
        }
        let world = Live {
            client: self.client,
            identity: settings.identity,
            clock: settings.clock,
            entropy: settings.entropy,
            ledger,
            approvals: Approvals::beside(&settings.folder),
            folder: settings.folder,
            file: self.file,
            proof_check: settings.proof_check,
            #[cfg(feature = "pay")]
            purse: None,
        };
        Ok(Engine {
            world,
            state,
            provider: None,
            initiator: None,
            negotiator: None,
            dealer: None,
            jobs: JoinSet::new(),
            working: BTreeMap::new(),
            observer: settings.observer,
        })
    }
}

async fn run(
    mut engine: Engine<Live>,
    orders: Vec<Order>,
    mut stop: impl Future<Output = ()> + Unpin,
) -> Result<(), LoopError> {
    tokio::select! {
        () = &mut stop => return Ok(()),
        rebuilt = engine.catch_up() => rebuilt?,
    }
    engine.order(&orders)?;
    engine.open_talks()?;
    tokio::select! {
        () = &mut stop => return Ok(()),
        opened = engine.open_all_deals() => opened?,
    }
    let (to_loop, mut from_feed) = mpsc::channel(1);
    let (handled, seen) = watch::channel(engine.state.cursor.clone());
    let client = engine.world.client.clone();
    let clock = engine.world.clock.clone();
    // A name of its own: the newest loop of this agent is the one that reads and sends.
    let instance = hex::encode(engine.world.entropy.array::<16>()?);
    let me = engine.world.me();
    let feed = Source::new(client.clone(), clock.clone(), me, instance);
    let after = engine.state.cursor.clone();
    // Ends with the set that holds it.
    let mut feeding = JoinSet::new();
    feeding.spawn(beat(client.clone(), clock.clone(), me));
    feeding.spawn(acknowledge(client.clone(), clock.clone(), me, seen));
    feeding.spawn(follow(feed, client, clock.clone(), after, to_loop));
    engine.tell(None, What::Running, engine.world.me().to_string());
    let mut is_connected = false;
    loop {
        let wait_ms = match engine.next_due() {
            Some(due) if is_connected => due.since(clock.now()).max(1),
            Some(_) | None => 60_000,
        };
        tokio::select! {
            biased;
            () = &mut stop => return Ok(()),
            Some(told) = from_feed.recv() => match told {
                FromFeed::Page { page, interactions } => {
                    engine.take(&page, &interactions)?;
                    handled.send_replace(engine.state.cursor.clone());
                }
                FromFeed::Back => {
                    is_connected = true;
                    engine.tell(None, What::FeedBack, String::new());
                }
                FromFeed::Lost { failures, cause } => {
                    is_connected = false;
                    engine.tell(None, What::FeedLost, format!("{failures} in a row: {cause}"));
                }
                FromFeed::Replaced => return Err(LoopError::Replaced),
            },
            Some(done) = engine.jobs.join_next() => engine.job_ended(done).await?,
            () = clock.pause(wait_ms) => {}
        }
        // A loop without its feed sends nothing: another may have taken over.
        if is_connected {
            engine.turn().await?;
        }
    }
}

impl Engine<Live> {
    /// Without a state file: every interaction of the inbox is looked at, and what the ledger has of
    /// this agent's ACCEPTs counts against its caps, before anything is said.
    async fn catch_up(&mut self) -> Result<(), LoopError> {
        let mut failures = 0;
        while let Err(error) = self.rebuild_once().await {
            let LoopError::Client(error) = error else {
                return Err(error);
            };
            failures += 1;
            self.tell(None, What::FeedLost, error.to_string());
            self.world.clock.pause(reconnect_ms(failures)).await;
        }
        self.resume();
        Ok(())
    }

    /// The same, tried once and done once.
    pub(super) async fn rebuild_once(&mut self) -> Result<(), LoopError> {
        if !self.state.is_rebuilt {
            self.rebuild().await?;
            self.state.is_rebuilt = true;
            self.save()?;
        }
        Ok(())
    }

    /// Agreements that are wanted are asked for once the ledger answers.
    async fn open_all_deals(&mut self) -> Result<(), LoopError> {
        let mut failures = 0;
        while let Err(error) = self.open_deals().await {
            let LoopError::Client(error) = error else {
                return Err(error);
            };
            failures += 1;
            self.tell(None, What::FeedLost, error.to_string());
            self.world.clock.pause(reconnect_ms(failures)).await;
        }
        Ok(())
    }

    async fn rebuild(&mut self) -> Result<(), LoopError> {
        let client = self.world.client.clone();
        let mut after: Option<Cursor> = self.state.cursor.clone();
        loop {
            let request = InboxRequest {
                after: after.clone(),
                limit: None,
                wait_ms: 0,
                instance: None,
            };
            let page = client.inbox(self.world.me(), &request).await?;
            let found = interactions(&client, &page).await?;
            for id in found {
                let case = self.world.case(id).await?;
                self.adopt(&case);
            }
            let is_last = page.is_empty();
            self.take(&page, &[])?;
            if is_last || page.next.is_none() {
                return Ok(());
            }
            after.clone_from(&page.next);
        }
    }
}

/// Why a loop did not start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum LoopError {
    /// The state file.
    #[error(transparent)]
    State(#[from] StateError),
    /// The ledger did not answer, refused, or cannot be believed.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The system gave no random numbers.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// A REQUEST that would be refused.
    #[error(transparent)]
    Compose(#[from] ComposeError),
    /// The address leads to another ledger than the agent is registered with.
    #[error(
        "the ledger at this address is {ledger}, not the one the agent is registered with; check \
         the address"
    )]
    OtherLedger {
        /// Which is there.
        ledger: Did,
    },
    /// The ledger settles on no such network.
    #[error("the ledger settles on no network {name:?}; see its /.well-known/x811.json")]
    NoNetwork {
        /// Which was named.
        name: String,
    },
    /// It would accept without a person and without limits.
    #[error(
        "policies auto and threshold accept without a person: set all four caps first (for one \
         interaction, a day, a provider, a network)"
    )]
    NoCaps,
    /// Another loop of this agent runs elsewhere, and took over.
    #[error("another loop of this agent took over its feed; this one has ended and sends nothing")]
    Replaced,
}
