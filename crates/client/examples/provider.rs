//! A provider in one file: it offers `upper` for 0.01 USDC, works, delivers, and sees itself paid.
//!
//! `cargo run -p x811-client --example provider -- http://127.0.0.1:8811 ./.x811 bert`, where `bert`
//! was made by `x811 agent new` and registered with `--capability upper`.

use std::error::Error;
use std::sync::Arc;

use serde_json::Value;
use x811_client::agent::{
    Job, Notice, PriceRule, Product, Provider, ProviderRules, Settings, WorkFault,
};
use x811_client::home::Home;
use x811_protocol::money::MicroUsdc;

/// The work: the parameter `text`, in capitals.
async fn upper(job: Job) -> Result<Product, WorkFault> {
    let text = job.parameters.get("text").and_then(Value::as_str);
    let text = text.ok_or_else(|| WorkFault {
        reason: "the task needs the parameter `text`".to_owned(),
    })?;
    Ok(Product::text(text.to_uppercase()))
}

#[expect(clippy::print_stdout, reason = "an example says what it does")]
fn tell(notice: &Notice) {
    let Notice { what, text, .. } = notice;
    println!("{} {text:?}", what.as_str());
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [ledger_url, home, name] = arguments.as_slice() else {
        return Err("give the ledger's address, the home of the agent, and its name".into());
    };
    // TLS needs a provider; whoever comes first installs one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let home = Home::new(home);
    let name = name.parse()?;
    let identity = home.agent(&name)?;
    let rules = ProviderRules {
        prices: vec![PriceRule {
            task_type: "upper".to_owned(),
            price: MicroUsdc::from_usdc_decimal("0.01")?,
            price_per_kib: MicroUsdc::ZERO,
            estimated_time_s: 5,
            expiry_s: 60,
            deliverables: vec!["the text in capitals".to_owned()],
            terms: None,
        }],
        payment_address: identity.account(),
        most_at_once: 4,
    };
    let provider = Provider {
        settings: Settings::new(ledger_url, identity, home.loop_folder(&name))
            .observed_by(Arc::new(tell)),
        rules,
        worker: Arc::new(upper),
        negotiator: None,
        dealer: None,
    };
    let stop = async {
        // Without signals it runs until it is killed, which harms nothing.
        let _ = tokio::signal::ctrl_c().await;
    };
    Ok(provider.run(stop).await?)
}
