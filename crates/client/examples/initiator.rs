//! An initiator in one file: it orders `upper` once, accepts up to 0.02 USDC by itself, and pays.
//!
//! `cargo run -p x811-client --example initiator -- http://127.0.0.1:8811 ./.x811 ada DID RPC_URL
//! base`, where `ada` was made by `x811 agent new`, is registered and has USDC.

use std::error::Error;
use std::sync::Arc;

use serde_json::json;
use x811_client::agent::{
    Caps, Initiator, InitiatorRules, Notice, Order, Settings, good_if_inline,
};
use x811_client::compose::Request;
use x811_client::home::Home;
use x811_client::policy::Trust;
use x811_protocol::facts::AcceptancePolicy;
use x811_protocol::money::MicroUsdc;

#[expect(clippy::print_stdout, reason = "an example says what it does")]
fn tell(notice: &Notice) {
    let Notice { what, text, .. } = notice;
    println!("{} {text:?}", what.as_str());
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [ledger_url, home, name, provider, rpc_url, network] = arguments.as_slice() else {
        return Err("give ledger, home, agent, the provider's DID, RPC address, network".into());
    };
    // TLS needs a provider; whoever comes first installs one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (home, name) = (Home::new(home), name.parse()?);
    let most = MicroUsdc::from_usdc_decimal("0.02")?;
    let order = Order {
        provider: provider.parse()?,
        request: Request {
            task_type: "upper".to_owned(),
            parameters: [("text".to_owned(), json!("hello"))].into_iter().collect(),
            max_budget: most,
            deadline_s: 60,
            acceptance_policy: AcceptancePolicy::Auto,
            threshold_amount: None,
            callback_url: None,
            idempotency_key: "the first order".to_owned(),
        },
    };
    let initiator = Initiator {
        settings: Settings::new(ledger_url, home.agent(&name)?, home.loop_folder(&name))
            .observed_by(Arc::new(tell)),
        rules: InitiatorRules {
            minimum_trust: Trust::ZERO,
            caps: Some(Caps {
                per_interaction: most,
                per_day: most,
                per_counterparty: most,
                per_network: most,
            }),
            network: network.clone(),
        },
        rpc_url: rpc_url.clone(),
        check: Arc::new(good_if_inline),
        orders: vec![order],
        negotiator: None,
        dealer: None,
    };
    let stop = async {
        // Without signals it runs until it is killed, which harms nothing.
        let _ = tokio::signal::ctrl_c().await;
    };
    Ok(initiator.run(stop).await?)
}
