//! The real ledger, the real watcher and the chain, on one clock that moves only when it is told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, mpsc as blocking};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use x811_ledger::answer::Answer;
use x811_ledger::memory::CommitFault;
use x811_protocol::evm::TxHash;
use x811_protocol::id::InteractionId;
use x811_protocol::parameters::FinalBy;
use x811_watcher::{Channels, Endpoint, WatchedNetwork, Watcher};

use super::base::{BASE, DEPTH, tx};
use super::chain::{Chain, Fault};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::{Ledgerbox, parameters};
use super::party::Account;
use super::scripted::{CHAIN_ID, SharedBlocks, TOKEN};

/// Interactions of one history; each payment after them is made for one that there is.
const MOST_DEALS: usize = 6;
/// The clock moves by this.
const TICK_MS: u64 = 500;
/// And by this when nothing happens any more.
const QUIET_TICK_MS: u64 = 1_000;

/// What happens next.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// A new interaction whose PAYMENT names this transaction.
    Pay(u16),
    /// One more PAYMENT for an interaction, the newest being 0.
    PayAgain(usize, u16),
    /// The transaction is sent; the next block has it.
    Mine {
        tx: u16,
        amount: Amount,
        reverts: bool,
    },
    /// The transaction is dropped, unless it is mined.
    Drop(u16),
    /// The last blocks are replaced by so many fewer.
    Reorg {
        depth: usize,
        fewer: usize,
        comes_back: bool,
    },
    /// Time, in milliseconds.
    Pass(u64),
    /// The chain stands still.
    Halt(u64),
    /// What the ledger commits is written only then.
    Slow(u64),
    Fault(usize, Fault),
    Heal(usize),
    /// Another endpoint takes the place of this one, as a reload brings it about.
    Exchange(usize),
    /// The next commit fails.
    Commit(CommitFault),
    Restart {
        away_ms: u64,
        forgets: bool,
        dies_after_commit: bool,
    },
}

/// What a transaction moves, of what an OFFER asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Amount {
    Total,
    Twice,
    Half,
    Short,
    /// The total, in each of two transfers.
    Two,
}

impl Amount {
    fn micro_usdc(self) -> &'static [u64] {
        match self {
            Amount::Total => &[TOTAL_MICRO_USDC],
            Amount::Twice => &[2 * TOTAL_MICRO_USDC],
            Amount::Half => &[TOTAL_MICRO_USDC / 2 + 1],
            Amount::Short => &[1],
            Amount::Two => &[TOTAL_MICRO_USDC, TOTAL_MICRO_USDC],
        }
    }
}

pub(crate) struct Story {
    pub(crate) ledgerbox: Ledgerbox,
    pub(crate) chain: Chain,
    pub(crate) deals: Vec<Deal>,
    /// What was declared, as acknowledged.
    pub(crate) declared: BTreeMap<InteractionId, BTreeSet<TxHash>>,
    /// What a transaction moves is signed in it.
    amounts: BTreeMap<u16, Amount>,
    blocks: SharedBlocks,
    tasks: Vec<JoinHandle<()>>,
    /// While a blocking task runs, tokio's paused time does not move by itself.
    _time_stands: blocking::Sender<()>,
}

impl Story {
    pub(crate) async fn begin(endpoints: usize) -> Story {
        let (time_stands, ended) = blocking::channel::<()>();
        tokio::task::spawn_blocking(move || ended.recv());
        let mut parameters = parameters();
        // As every ledger of today records it: an audit is strictest then.
        parameters.networks[0].endpoint_quorum = Some(endpoints as u64);
        let ledgerbox = Ledgerbox::with(parameters).await;
        let first = Deal::between_new_parties(&ledgerbox).await;
        let chain = Chain::at(ledgerbox.now(), endpoints);
        let mut story = Story {
            ledgerbox,
            chain,
            deals: vec![first],
            declared: BTreeMap::new(),
            amounts: BTreeMap::new(),
            blocks: SharedBlocks::default(),
            tasks: Vec::new(),
            _time_stands: time_stands,
        };
        story.watch();
        story.pass(4_000).await;
        story
    }

    /// As the server does at its start.
    fn watch(&mut self) {
        let network = WatchedNetwork {
            name: BASE.to_owned(),
            chain_id: CHAIN_ID,
            token: TOKEN,
            confirmed_depth: DEPTH,
            final_by: FinalBy::Tag,
            poll_ms: 500,
            block_ms: 2_000,
        };
        let endpoints = self.chain.endpoints.iter().zip(["one", "two"]).zip(1..);
        let asked = endpoints.take(self.chain.asked);
        let endpoints = asked.map(|((source, label), jitter_seed)| Endpoint {
            source: source.clone(),
            label: label.to_owned(),
            jitter_seed,
        });
        let ledger = self.ledgerbox.ledger().clone();
        let (observations, mut observed) = mpsc::channel(16);
        let knowing = ledger.clone();
        let channels = Channels {
            watched: ledger.watched(BASE).unwrap(),
            expecting: Arc::new(move |reported| {
                x811_server::start::expected(&knowing.world(), BASE, reported)
            }),
            accounts_of: Arc::new(|_| BTreeSet::new()),
            observations,
        };
        let watcher = Watcher::new(endpoints.collect(), network, self.blocks.clone(), channels);
        self.tasks = vec![
            tokio::spawn(watcher.run(std::future::pending())),
            tokio::spawn(async move {
                while let Some(observation) = observed.recv().await {
                    ledger.observe(observation).await;
                }
            }),
        ];
    }

    async fn stop_watching(&mut self) {
        let ended = self.tasks.iter().any(JoinHandle::is_finished);
        assert!(!ended, "the watcher ended by itself");
        for task in self.tasks.drain(..) {
            task.abort();
            let _aborted = task.await;
        }
    }

    /// Lets time pass for the chain, the ledger and the watcher.
    async fn pass(&mut self, ms: u64) {
        for _ in 0..ms.div_ceil(TICK_MS) {
            self.tick(TICK_MS).await;
        }
    }

    async fn tick(&mut self, ms: u64) {
        self.ledgerbox.clock.advance_ms(ms);
        self.chain.pass_to(self.ledgerbox.now());
        tokio::time::advance(Duration::from_millis(ms)).await;
        self.ledgerbox.settle().await;
    }

    async fn rest(&mut self, ms: u64) {
        for _ in 0..ms.div_ceil(QUIET_TICK_MS) {
            self.tick(QUIET_TICK_MS).await;
        }
    }

    pub(crate) async fn act(&mut self, act: &Act) {
        match act {
            Act::Pay(number) if self.deals.len() <= MOST_DEALS => self.open(*number).await,
            Act::Pay(number) => self.declare(usize::from(*number - 1), *number).await,
            Act::PayAgain(deal, number) => self.declare(*deal, *number).await,
            Act::Mine {
                tx: number,
                amount,
                reverts,
            } => {
                let amount = *self.amounts.entry(*number).or_insert(*amount);
                let payer = self.deals[0].account.address;
                self.chain
                    .send(tx(*number), payer, amount.micro_usdc(), *reverts);
            }
            Act::Drop(number) => self.chain.drop(tx(*number)),
            Act::Reorg {
                depth,
                fewer,
                comes_back,
            } => self.chain.reorganise(*depth, *fewer, *comes_back),
            Act::Pass(ms) => self.pass(*ms).await,
            Act::Halt(ms) => {
                self.chain.is_halted = true;
                self.pass(*ms).await;
                self.chain.is_halted = false;
            }
            Act::Slow(ms) => {
                let store = self.ledgerbox.store.clone();
                let held = store.hold_commits().await;
                self.pass(*ms).await;
                drop(held);
            }
            Act::Fault(endpoint, fault) => self.chain.break_down(*endpoint, fault),
            Act::Heal(endpoint) => self.chain.heal(*endpoint),
            Act::Exchange(endpoint) => self.exchange(*endpoint).await,
            Act::Commit(fault) => self.ledgerbox.fail_next_commit(*fault),
            Act::Restart {
                away_ms,
                forgets,
                dies_after_commit,
            } => self.restart(*away_ms, *forgets, *dies_after_commit).await,
        }
        self.pass(TICK_MS).await;
    }

    /// A new interaction, up to its PAYMENT.
    async fn open(&mut self, number: u16) {
        let first = &self.deals[0];
        let account = Account::new(0x46);
        let mut deal = Deal::between(&self.ledgerbox, &first.initiator, &first.provider, account);
        self.ledgerbox.store.pass_all_commits();
        deal.go(&self.ledgerbox, Until::Verified).await;
        self.deals.push(deal);
        self.declare(0, number).await;
    }

    async fn declare(&mut self, newer: usize, number: u16) {
        let opened = self.deals.len() - 1;
        if opened == 0 {
            return;
        }
        let deal = &self.deals[opened - newer % opened];
        let payment = deal.payment(&self.ledgerbox, number);
        let answer = self.ledgerbox.submit(&payment).await;
        if let Ok(Answer::Accepted(_) | Answer::Repeated(_)) = answer {
            let declared = self.declared.entry(deal.id()).or_default();
            declared.insert(tx(number));
        }
    }

    async fn exchange(&mut self, endpoint: usize) {
        self.stop_watching().await;
        self.chain.exchange(endpoint);
        self.watch();
    }

    async fn restart(&mut self, away_ms: u64, forgets: bool, dies_after_commit: bool) {
        if dies_after_commit {
            self.ledgerbox
                .fail_next_commit(CommitFault::StoredNeverTold);
            self.pass(4_000).await;
        }
        self.stop_watching().await;
        self.ledgerbox.crash().await;
        self.ledgerbox.store.pass_all_commits();
        self.ledgerbox.clock.advance_ms(away_ms);
        self.chain.pass_to(self.ledgerbox.now());
        if forgets {
            self.blocks = SharedBlocks::default();
        }
        self.ledgerbox.start().await.unwrap();
        self.watch();
    }

    /// Every fault ends, and everything comes to its end. Nothing can be reorganised away then, and
    /// what no endpoint showed in time has been asked for again.
    pub(crate) async fn quiet_down(&mut self) {
        self.ledgerbox.store.pass_all_commits();
        self.exchange(0).await;
        self.exchange(1).await;
        for _ in 0..120 {
            self.rest(10_000).await;
            if self.ledgerbox.ledger().world().sizes().interactions == 0 {
                break;
            }
        }
        self.rest(400_000).await;
        self.stop_watching().await;
    }
}
