//! The files of `x811 agent run`.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use x811_client::agent::{
    Caps, Dealer, InitiatorRules, Negotiator, Order, PriceRule, ProviderRules, Purchase, Sale,
};
use x811_client::compose::Request;
use x811_client::policy::Trust;
use x811_protocol::did::Did;
use x811_protocol::evm::EvmAddress;
use x811_protocol::facts::AcceptancePolicy;
use x811_protocol::money::MicroUsdc;

use super::negotiation::NegotiationFile;
use super::sessions::{AgreementFile, GrantFile, SessionsFile, asking, granting};
use crate::bounded;
use crate::failure::Failure;
use crate::usdc::Usdc;

/// The largest result in a message, in bytes (AX-41).
const MAX_RESULT_BYTES: usize = 512 << 10;

/// The largest ballot, in bytes: a message of a round has no more.
const MAX_BALLOT_BYTES: usize = 16 << 10;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProviderFile {
    /// The ledger's checkpoint key, NAME+ID+KEY; what the ledger says at start without it.
    pub(super) checkpoint_key: Option<String>,
    /// How many tasks it takes on at once.
    #[serde(default = "four")]
    most_at_once: usize,
    negotiation: Option<NegotiationFile>,
    sessions: Option<SessionsFile>,
    #[serde(default, rename = "grant")]
    grants: Vec<GrantFile>,
    #[serde(rename = "capability")]
    capabilities: Vec<Capability>,
    pub(super) run: RunFile,
}

fn four() -> usize {
    4
}

/// An agent that votes in rounds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VoterFile {
    /// Whether it takes whatever weights a proposal gives: a weighted round opens once everybody does.
    #[serde(default)]
    pub(super) acknowledge_weights: bool,
    /// Time between two questions to the ledger, in milliseconds.
    #[serde(default = "two_seconds")]
    pub(super) poll_ms: u64,
    pub(super) run: RunFile,
}

fn two_seconds() -> u64 {
    2_000
}

/// What it does, and for how much.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Capability {
    task: String,
    price: Usdc,
    price_per_kib: Option<Usdc>,
    /// The lowest price that is taken in a negotiation; without it there is none.
    lowest: Option<Usdc>,
    time_s: u64,
    #[serde(default = "five_minutes")]
    expiry_s: u64,
    deliverables: Option<Vec<String>>,
    terms: Option<String>,
}

fn five_minutes() -> u64 {
    300
}

/// How the work is done.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunFile {
    /// Program and arguments; there is no shell.
    pub(super) command: Vec<String>,
    #[serde(default = "plain_text")]
    pub(super) content_type: String,
    #[serde(default = "max_result")]
    pub(super) max_output_bytes: usize,
    #[serde(default = "max_memory")]
    pub(super) max_memory_mib: u64,
    /// Whom it runs as, where the loop may change that.
    pub(super) user_id: Option<u32>,
    pub(super) group_id: Option<u32>,
}

fn plain_text() -> String {
    "text/plain".to_owned()
}

fn max_result() -> usize {
    MAX_RESULT_BYTES
}

fn max_memory() -> u64 {
    1_024
}

impl Capability {
    fn deliverables(&self) -> Vec<String> {
        let usual = || vec!["the result".to_owned()];
        self.deliverables.clone().unwrap_or_else(usual)
    }
}

impl ProviderFile {
    /// How it negotiates about the capabilities that have a lowest price.
    pub(super) fn negotiator(&self) -> Option<Negotiator> {
        let sale = |capability: &Capability| {
            Some(Sale {
                task_type: capability.task.clone(),
                opening: capability.price.0,
                lowest: capability.lowest?.0,
                time_s: capability.time_s,
                deliverables: capability.deliverables(),
            })
        };
        let sales = self.capabilities.iter().filter_map(sale).collect();
        let block = self.negotiation.as_ref()?;
        Some(block.negotiator(Vec::new(), sales))
    }

    /// Which use of its capabilities it grants.
    pub(super) fn dealer(&self) -> Result<Option<Dealer>, Failure> {
        granting(self.sessions.as_ref(), &self.grants)
    }

    pub(super) fn rules(&self, payment_address: Option<EvmAddress>) -> ProviderRules {
        let prices = self.capabilities.iter().map(|capability| PriceRule {
            task_type: capability.task.clone(),
            price: capability.price.0,
            price_per_kib: capability
                .price_per_kib
                .map_or(MicroUsdc::ZERO, |usdc| usdc.0),
            estimated_time_s: capability.time_s,
            expiry_s: capability.expiry_s,
            deliverables: capability.deliverables(),
            terms: capability.terms.clone(),
        });
        ProviderRules {
            prices: prices.collect(),
            payment_address,
            most_at_once: self.most_at_once,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct InitiatorFile {
    /// The ledger's checkpoint key, NAME+ID+KEY; what the ledger says at start without it.
    pub(super) checkpoint_key: Option<String>,
    /// JSON-RPC endpoint of the network it pays on.
    pub(crate) rpc_url: String,
    pub(crate) network: String,
    /// The port of 127.0.0.1 for the page where a person answers; any free one for 0.
    pub(super) approvals_port: Option<u16>,
    /// The least trust of a provider that is accepted without a person.
    minimum_trust: Option<String>,
    caps: Option<CapsFile>,
    negotiation: Option<NegotiationFile>,
    sessions: Option<SessionsFile>,
    #[serde(default, rename = "agreement")]
    agreements: Vec<AgreementFile>,
    #[serde(default, rename = "order")]
    orders: Vec<OrderFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CapsFile {
    per_interaction: Usdc,
    per_day: Usdc,
    per_counterparty: Usdc,
    per_network: Usdc,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OrderFile {
    /// Sent once under this key.
    key: String,
    provider: Did,
    task: String,
    #[serde(default)]
    parameters: Map<String, Value>,
    budget: Usdc,
    deadline_s: u64,
    policy: String,
    threshold: Option<Usdc>,
    /// The first price offered: with it, terms are negotiated first, up to `budget`.
    opening: Option<Usdc>,
    /// What has to be delivered by those terms.
    #[serde(default)]
    deliverables: Vec<String>,
    /// The key of the agreement that it is sent under.
    agreement: Option<String>,
}

impl InitiatorFile {
    pub(crate) fn rules(&self) -> Result<InitiatorRules, Failure> {
        let trust = self.minimum_trust.as_deref().map(str::parse).transpose();
        let trust = trust.map_err(|error: x811_client::policy::TrustError| {
            Failure::usage(&format!("minimum_trust: {error}"))
        })?;
        Ok(InitiatorRules {
            minimum_trust: trust.unwrap_or(Trust::ZERO),
            caps: self.caps.as_ref().map(|caps| Caps {
                per_interaction: caps.per_interaction.0,
                per_day: caps.per_day.0,
                per_counterparty: caps.per_counterparty.0,
                per_network: caps.per_network.0,
            }),
            network: self.network.clone(),
        })
    }

    pub(super) fn orders(&self) -> Result<Vec<Order>, Failure> {
        let orders = self.orders.iter();
        let orders = orders.filter(|order| order.opening.is_none() && order.agreement.is_none());
        orders.map(OrderFile::order).collect()
    }

    /// Agreements that it asks for, with the orders under them.
    pub(super) fn dealer(&self) -> Result<Option<Dealer>, Failure> {
        for order in &self.orders {
            let Some(key) = &order.agreement else {
                continue;
            };
            if order.opening.is_some() || !self.agreements.iter().any(|known| known.key == *key) {
                let what =
                    "names an agreement that the file does not have, or an opening price too";
                return Err(Failure::usage(&format!("order {:?} {what}", order.key)));
            }
        }
        asking(self.sessions.as_ref(), &self.agreements, |key| {
            let orders = self.orders.iter();
            let orders = orders.filter(|order| order.agreement.as_deref() == Some(key));
            orders.map(OrderFile::order).collect()
        })
    }

    /// How it negotiates about the orders that have an opening price.
    pub(super) fn negotiator(&self) -> Result<Option<Negotiator>, Failure> {
        let purchase = |order: &OrderFile| {
            let opening = order.opening?.0;
            let made = order.order().map(|made| Purchase {
                order: made,
                opening,
                deliverables: order.deliverables.clone(),
            });
            Some(made)
        };
        let purchases = self.orders.iter().filter_map(purchase);
        let purchases: Vec<Purchase> = purchases.collect::<Result<_, _>>()?;
        match &self.negotiation {
            Some(block) => Ok(Some(block.negotiator(purchases, Vec::new()))),
            None if purchases.is_empty() => Ok(None),
            None => Err(Failure::usage(
                "an order has an opening price, and the file no block [negotiation]",
            )
            .hint("docs/agents.md says what that block holds")),
        }
    }
}

impl OrderFile {
    fn order(&self) -> Result<Order, Failure> {
        let policy: AcceptancePolicy = self
            .policy
            .parse()
            .map_err(|error| Failure::usage(&format!("policy of order {:?}: {error}", self.key)))?;
        Ok(Order {
            provider: self.provider,
            request: Request {
                task_type: self.task.clone(),
                parameters: self.parameters.clone(),
                max_budget: self.budget.0,
                deadline_s: self.deadline_s,
                acceptance_policy: policy,
                threshold_amount: self.threshold.map(|usdc| usdc.0),
                callback_url: None,
                idempotency_key: self.key.clone(),
            },
        })
    }
}

/// Reads a provider's file; a program named by a relative path lies beside it.
pub(super) fn provider(file: &Path) -> Result<ProviderFile, Failure> {
    let mut read: ProviderFile = read(file)?;
    if let Some(program) = read.run.command.first_mut() {
        *program = located(program, file)?;
    } else {
        return Err(wrong(file, "run.command names no program"));
    }
    if read.capabilities.is_empty() {
        return Err(wrong(file, "there is no [[capability]]"));
    }
    read.run.max_output_bytes = read.run.max_output_bytes.min(MAX_RESULT_BYTES);
    Ok(read)
}

/// Reads a voter's file; a program named by a relative path lies beside it.
pub(super) fn voter(file: &Path) -> Result<VoterFile, Failure> {
    let mut read: VoterFile = read(file)?;
    match read.run.command.first_mut() {
        Some(program) => *program = located(program, file)?,
        None => return Err(wrong(file, "run.command names no program")),
    }
    read.run.max_output_bytes = read.run.max_output_bytes.min(MAX_BALLOT_BYTES);
    Ok(read)
}

/// Reads an initiator's file.
pub(crate) fn initiator(file: &Path) -> Result<InitiatorFile, Failure> {
    read(file)
}

/// The program as a path that does not depend on where it is run.
fn located(program: &str, file: &Path) -> Result<String, Failure> {
    if !program.contains('/') {
        return Ok(program.to_owned());
    }
    let beside = file.parent().unwrap_or(Path::new(".")).join(program);
    let whole: PathBuf = beside
        .canonicalize()
        .map_err(|error| wrong(file, &format!("run.command: {program}: {error}")))?;
    let text = whole.to_str().map(str::to_owned);
    text.ok_or_else(|| wrong(file, "run.command: the path is no UTF-8"))
}

/// Most bytes of a file that says what an agent does.
const MAX_BYTES: usize = 1 << 20;

fn read<T: DeserializeOwned>(file: &Path) -> Result<T, Failure> {
    let text = bounded::text(file, MAX_BYTES).map_err(|error| {
        Failure::local("file", format!("{}: {error}", file.display()))
            .hint("name the file that says what the agent does")
    })?;
    toml::from_str(&text).map_err(|error| wrong(file, &error.to_string()))
}

fn wrong(file: &Path, what: &str) -> Failure {
    Failure::usage(&format!("{}: {what}", file.display()))
        .hint("docs/agents.md lists what the file may say")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<InitiatorFile, toml::de::Error> {
        toml::from_str(text)
    }

    #[test]
    fn ae_109_caps_are_all_there_or_the_file_is_refused() {
        let file = "rpc_url = 'http://localhost'\nnetwork = 'local'\n[caps]\n\
                    per_interaction = '0.05'\nper_day = '1'\nper_counterparty = '0.5'\n";
        let error = parsed(file).unwrap_err().to_string();
        assert!(error.contains("per_network"), "{error}");
        let whole = format!("{file}per_network = '1'\n");
        let rules = parsed(&whole).unwrap().rules().unwrap();
        let caps = rules.caps.unwrap();
        assert_eq!(caps.per_interaction.to_usdc_decimal(), "0.05");
    }

    #[test]
    fn amounts_are_exact_and_unknown_members_refused() {
        for bad in ["budget = 0.05", "budget = '0.0500001'", "budget = '-1'"] {
            let order = format!(
                "rpc_url = 'x'\nnetwork = 'local'\n[[order]]\nkey = 'k'\nprovider = \
                 'did:x811:019c8c61-8129-7511-9f31-aa5142e65448'\ntask = 'echo'\n{bad}\n\
                 deadline_s = 60\npolicy = 'auto'\n"
            );
            assert!(parsed(&order).is_err(), "{bad}");
        }
        let error = parsed("rpc_url = 'x'\nnetwork = 'local'\nwallet = 'y'\n").unwrap_err();
        assert!(error.to_string().contains("wallet"), "{error}");
    }
}
