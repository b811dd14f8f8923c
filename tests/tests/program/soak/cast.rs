//! The agents, and the processes that host them.

use super::tap::Tap;
use alloy::primitives::Address;
use serde_json::{Map, Value, json};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use x811_client::clock::SystemClock;
use x811_client::compose::{Composer, Registration};
use x811_client::entropy::SystemEntropy;
use x811_client::home::Home;
use x811_client::http::LedgerClient;
use x811_client::identity::Identity;
use x811_tests::anvil::{Anvil, BASE_USDC};
use x811_tests::binary::{without_our_variables, x811};
use x811_tests::soak::TASK;

/// What an initiator starts with, in micro-USDC, and wei for its gas.
const PURSE_MICRO_USDC: u64 = 10_000_000;
const GAS_WEI: u128 = 1_000_000_000_000_000_000;

pub(crate) struct Cast {
    folder: PathBuf,
    initiators: Vec<Identity>,
    providers: Vec<Identity>,
    /// Of each initiator, the provider of each key.
    orders: Vec<Map<String, Value>>,
}

impl Cast {
    /// So many pairs, known to the ledger behind `tap`.
    pub(crate) async fn registered(folder: &Path, tap: &Tap, pairs: usize) -> Cast {
        let home = Home::new(folder.join("home"));
        let client = LedgerClient::new(&tap.url()).unwrap();
        let ledger = client.info().await.unwrap().did;
        let make = async |name: String| {
            let name = name.parse().unwrap();
            let mut identity = Identity::generate(name, &SystemEntropy, &SystemClock).unwrap();
            let capabilities = vec![TASK.to_owned()];
            let entry = Registration::new(&identity, ledger, capabilities, None).unwrap();
            let composer = Composer::new(&identity, &SystemEntropy, &SystemClock);
            let sealed = composer.seal(ledger, &entry).unwrap();
            client.send(&sealed).await.unwrap();
            identity.registered_with(ledger);
            home.add_agent(&identity).unwrap();
            identity
        };
        let (mut initiators, mut providers) = (Vec::new(), Vec::new());
        for number in 0..pairs {
            initiators.push(make(format!("initiator-{number}")).await);
            providers.push(make(format!("provider-{number}")).await);
        }
        Cast {
            folder: folder.to_owned(),
            initiators,
            providers,
            orders: vec![Map::new(); pairs],
        }
    }

    fn wallets(&self) -> impl Iterator<Item = Address> {
        let accounts = self.initiators.iter().filter_map(Identity::account);
        accounts.map(|account| account.to_string().parse().unwrap())
    }

    pub(crate) async fn fund(&self, anvil: &Anvil) {
        for wallet in self.wallets() {
            anvil.give_gas(wallet, GAS_WEI).await;
            anvil.mint(BASE_USDC, wallet, PURSE_MICRO_USDC).await;
        }
    }

    /// What all initiators have, in micro-USDC.
    pub(crate) async fn purses(&self, anvil: &Anvil) -> u64 {
        let mut sum = 0;
        for wallet in self.wallets() {
            sum += anvil.balance(BASE_USDC, wallet).await;
        }
        sum
    }

    /// All orders so far.
    pub(crate) fn orders(&self) -> usize {
        self.orders.iter().map(Map::len).sum()
    }

    /// What this host of so many has to do, with one more order for each of its initiators.
    fn plan(&mut self, host: usize, hosts: usize) -> Value {
        let mut plan = Map::new();
        let pairs = self.initiators.len();
        for number in (host..pairs).step_by(hosts) {
            let orders = &mut self.orders[number];
            let key = format!("order-{number}-{}", orders.len());
            let provider = &self.providers[(number + orders.len()) % pairs];
            orders.insert(key, json!(provider.did));
            plan.insert(self.initiators[number].name.to_string(), json!(orders));
        }
        // A provider lives elsewhere than the initiator of its number.
        for number in ((host + 1) % hosts..pairs).step_by(hosts) {
            plan.insert(self.providers[number].name.to_string(), Value::Null);
        }
        Value::Object(plan)
    }
}

/// What the loops told.
pub(crate) struct Told {
    pub(crate) alarms: Vec<String>,
}

/// The processes.
pub(crate) struct Hosts {
    running: Vec<Child>,
    next: usize,
    ledger_url: String,
    rpc_url: String,
    folder: PathBuf,
}

impl Hosts {
    pub(crate) fn start(count: usize, cast: &mut Cast, ledger_url: &str, rpc_url: &str) -> Hosts {
        let mut hosts = Hosts {
            running: Vec::new(),
            next: 0,
            ledger_url: ledger_url.to_owned(),
            rpc_url: rpc_url.to_owned(),
            folder: cast.folder.clone(),
        };
        for host in 0..count {
            let plan = cast.plan(host, count);
            hosts.running.push(hosts.spawn(host, &plan));
        }
        hosts
    }

    fn spawn(&self, host: usize, plan: &Value) -> Child {
        let path = self.folder.join(format!("plan-{host}.json"));
        fs::write(&path, plan.to_string()).unwrap();
        let mut log = File::options();
        let log = log.create(true).append(true).open(self.log(host)).unwrap();
        let mut command = Command::new(x811().with_file_name("host_agents"));
        without_our_variables(&mut command);
        command.arg(&self.ledger_url).arg(self.folder.join("home"));
        command.arg(&self.rpc_url).arg(&path).stdin(Stdio::null());
        command.stdout(log.try_clone().unwrap()).stderr(log);
        command.spawn().unwrap()
    }

    fn log(&self, host: usize) -> PathBuf {
        self.folder.join(format!("host-{host}.log"))
    }

    /// `kill -9` for one process after the other, which comes back with more to do.
    pub(crate) fn kill_and_start(&mut self, cast: &mut Cast) {
        let (host, count) = (self.next, self.running.len());
        self.next = (host + 1) % count;
        self.running[host].kill().unwrap();
        self.running[host].wait().unwrap();
        let plan = cast.plan(host, count);
        self.running[host] = self.spawn(host, &plan);
    }

    /// What a process said that ended by itself.
    pub(crate) fn ended(&mut self) -> Option<String> {
        let folder = self.folder.clone();
        let mut processes = self.running.iter_mut();
        let ended = processes.position(|process| process.try_wait().unwrap().is_some());
        ended.map(|host| {
            let log = fs::read_to_string(folder.join(format!("host-{host}.log"))).unwrap();
            log.lines().last().unwrap_or_default().to_owned()
        })
    }

    fn lines(&self) -> Vec<String> {
        let logs = (0..self.running.len()).map(|host| fs::read_to_string(self.log(host)).unwrap());
        let lines = logs.flat_map(|log| log.lines().map(str::to_owned).collect::<Vec<_>>());
        lines.collect()
    }

    /// Whether so many interactions ended for both of their parties.
    pub(crate) fn are_done(&self, orders: usize) -> bool {
        let lines = self.lines();
        let is_end = |line: &&String| line.contains(" paid ") || line.contains(" over ");
        let ends: std::collections::BTreeSet<&String> = lines.iter().filter(is_end).collect();
        ends.len() >= 2 * orders
    }

    pub(crate) fn stop(mut self) -> Told {
        for process in &mut self.running {
            process.kill().unwrap();
            process.wait().unwrap();
        }
        let lines = self.lines();
        let is_alarm = |line: &&String| line.contains(" ALARM ");
        Told {
            alarms: lines.iter().filter(is_alarm).cloned().collect(),
        }
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for process in &mut self.running {
            // Already gone is as good.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
