//! Many agents in one process, each a real client loop: what the soak test starts, kills and starts
//! again. `host_agents LEDGER_URL HOME RPC_URL PLAN`; what the loops tell goes to standard output.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::future::pending;
use std::sync::Arc;

use serde_json::Value;
use tokio::task::JoinSet;
use x811_client::agent::{
    Caps, Initiator, InitiatorRules, Job, LoopError, Notice, Order, PriceRule, Product, Provider,
    ProviderRules, Settings, WorkFault, good_if_inline,
};
use x811_client::compose::Request;
use x811_client::home::Home;
use x811_client::identity::Identity;
use x811_client::policy::Trust;
use x811_protocol::facts::AcceptancePolicy;
use x811_protocol::money::MicroUsdc;
use x811_tests::soak::{PRICE, TASK};

type Failed = Box<dyn Error + Send + Sync>;

async fn work(job: Job) -> Result<Product, WorkFault> {
    Ok(Product::text(format!("done {}", job.interaction)))
}

#[expect(clippy::print_stdout, reason = "the test reads it")]
fn tell(name: &str, notice: &Notice) {
    let id = notice.interaction.map(|id| id.to_string());
    let (what, text) = (notice.what.as_str(), &notice.text);
    println!("{name} {what} {} {text:?}", id.unwrap_or_default());
}

fn provider(settings: Settings) -> Result<Provider, Failed> {
    let payment_address = settings.identity.account();
    Ok(Provider {
        settings,
        rules: ProviderRules {
            prices: vec![PriceRule {
                task_type: TASK.to_owned(),
                price: MicroUsdc::from_usdc_decimal(PRICE)?,
                price_per_kib: MicroUsdc::ZERO,
                estimated_time_s: 5,
                expiry_s: 300,
                deliverables: vec!["a text".to_owned()],
                terms: None,
            }],
            payment_address,
            most_at_once: 64,
        },
        worker: Arc::new(work),
        negotiator: None,
        dealer: None,
    })
}

fn initiator(settings: Settings, rpc_url: &str, orders: &Value) -> Result<Initiator, Failed> {
    let most = MicroUsdc::from_usdc_decimal("100")?;
    let orders: BTreeMap<String, String> = serde_json::from_value(orders.clone())?;
    let order = |(key, provider): (String, String)| -> Result<Order, Failed> {
        Ok(Order {
            provider: provider.parse()?,
            request: Request {
                task_type: TASK.to_owned(),
                parameters: serde_json::Map::new(),
                max_budget: MicroUsdc::from_usdc_decimal("1")?,
                deadline_s: 600,
                acceptance_policy: AcceptancePolicy::Auto,
                threshold_amount: None,
                callback_url: None,
                idempotency_key: key,
            },
        })
    };
    Ok(Initiator {
        settings,
        rules: InitiatorRules {
            minimum_trust: Trust::ZERO,
            caps: Some(Caps {
                per_interaction: most,
                per_day: most,
                per_counterparty: most,
                per_network: most,
            }),
            network: "local".to_owned(),
        },
        rpc_url: rpc_url.to_owned(),
        check: Arc::new(good_if_inline),
        orders: orders.into_iter().map(order).collect::<Result<_, _>>()?,
        negotiator: None,
        dealer: None,
    })
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [ledger_url, home, rpc_url, plan] = arguments.as_slice() else {
        return Err("give the ledger's address, the home, the RPC address and the plan".into());
    };
    // TLS needs a provider; whoever comes first installs one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let home = Home::new(home);
    let plan: BTreeMap<String, Value> = serde_json::from_slice(&fs::read(plan)?)?;
    let mut loops: JoinSet<(String, Result<(), LoopError>)> = JoinSet::new();
    for (name, orders) in plan {
        let agent = name.parse()?;
        let identity: Identity = home.agent(&agent)?;
        let teller = name.clone();
        let settings = Settings::new(ledger_url, identity, home.loop_folder(&agent))
            .observed_by(Arc::new(move |notice| tell(&teller, notice)));
        if orders.is_null() {
            let provider = provider(settings)?;
            loops.spawn(async move { (name, provider.run(pending()).await) });
        } else {
            let initiator = initiator(settings, rpc_url, &orders)?;
            loops.spawn(async move { (name, initiator.run(pending()).await) });
        }
    }
    // No loop ends by itself: the process is killed.
    match loops.join_next().await {
        Some(ended) => Err(format!("a loop ended: {ended:?}").into()),
        None => Err("nobody to host".into()),
    }
}
