//! `x811 send request`.

use serde_json::{Map, Value};
use x811_client::compose::Request;
use x811_client::http::LedgerClient;
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::facts::AcceptancePolicy;
use x811_protocol::id::Nonce;
use x811_protocol::money::MicroUsdc;

use super::sent::{Sent, deliver};
use super::{json_object, usdc};
use crate::context::Context;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The provider
    #[arg(long, value_name = "DID")]
    pub(crate) to: Did,
    /// What to do: a capability the provider registered
    #[arg(long)]
    pub(crate) task: String,
    /// The most you pay, protocol fee included
    #[arg(long, value_name = "USDC", value_parser = usdc)]
    pub(crate) budget: MicroUsdc,
    /// How long the work may take
    #[arg(long, value_name = "SECONDS")]
    pub(crate) deadline: u64,
    /// How you judge offers: auto, human_approval, threshold
    #[arg(long, default_value = "auto")]
    pub(crate) policy: AcceptancePolicy,
    /// Up to which total policy `threshold` accepts without you
    #[arg(long, value_name = "USDC", value_parser = usdc)]
    pub(crate) threshold: Option<MicroUsdc>,
    /// One parameter of the task; repeat for more; the value is JSON or else a string
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parameter)]
    pub(crate) parameters: Vec<(String, Value)>,
    /// All parameters as a JSON object, or @FILE with one
    #[arg(
        long = "parameters",
        value_name = "JSON",
        conflicts_with = "parameters"
    )]
    pub(crate) object: Option<String>,
    /// The same key with the same request opens only one interaction; made up without one
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
    /// Recorded with the request; the ledger never calls it
    #[arg(long, value_name = "URL")]
    pub(crate) callback_url: Option<String>,
}

/// Opens an interaction.
pub(crate) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    let parameters: Map<String, Value> = match &args.object {
        Some(text) => json_object(text)?,
        None => distinct(args.parameters)?,
    };
    let idempotency_key = match args.idempotency_key {
        Some(key) => key,
        None => Nonce::from_random(context.entropy.array()?).to_string(),
    };
    let request = Request {
        task_type: args.task,
        parameters,
        max_budget: args.budget,
        deadline_s: args.deadline,
        acceptance_policy: args.policy,
        threshold_amount: args.threshold,
        callback_url: args.callback_url,
        idempotency_key: idempotency_key.clone(),
    };
    let client = context.client()?;
    let identity = context.identity(&client).await?;
    match deliver(context, &client, &identity, args.to, &request).await {
        Ok(sent) => Ok(sent.note("idempotency key", idempotency_key)),
        Err(failure) if failure.code == Code::CapabilityNotRegistered.as_str() => {
            Err(with_offered(failure, &client, args.to).await)
        }
        Err(failure) => Err(failure),
    }
}

/// Says what the provider does offer, where the ledger can be asked.
async fn with_offered(failure: Failure, client: &LedgerClient, provider: Did) -> Failure {
    let Ok(agent) = client.agent(provider).await else {
        return failure;
    };
    let offered = match agent.capabilities.as_slice() {
        [] => "nothing".to_owned(),
        names => names.join(", "),
    };
    let message = format!("{}; it offers {offered}", failure.message);
    Failure { message, ..failure }
}

/// The parameters by name. One that is named twice has no value that is surely meant.
fn distinct(parameters: Vec<(String, Value)>) -> Result<Map<String, Value>, Failure> {
    let mut distinct = Map::new();
    for (name, value) in parameters {
        if distinct.contains_key(&name) {
            let message = format!("--param names {name} twice");
            return Err(Failure::usage(&message).hint("name each parameter once"));
        }
        distinct.insert(name, value);
    }
    Ok(distinct)
}

fn parameter(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    let json = serde_json::from_str(value);
    let value = json.unwrap_or_else(|_| Value::String(value.to_owned()));
    Ok((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_are_json_or_text() {
        let table = [
            ("n=1", json!(1)),
            ("n=true", json!(true)),
            ("n=[1,\"a\"]", json!([1, "a"])),
            ("n=ETH", json!("ETH")),
            ("n=a=b", json!("a=b")),
            ("n=", json!("")),
        ];
        for (text, expected) in table {
            assert_eq!(parameter(text), Ok(("n".to_owned(), expected)));
        }
        assert!(parameter("n").is_err());
    }

    #[test]
    fn ae_041_a_parameter_that_is_named_twice_is_not_sent() {
        let of = |names: [&str; 2]| distinct(names.map(|name| (name.to_owned(), json!(1))).into());
        assert_eq!(of(["a", "b"]).map(|it| it.len()), Ok(2));
        let failure = of(["a", "a"]).unwrap_err();
        assert_eq!(failure.exit, crate::exit::Exit::Usage);
        assert!(failure.message.contains("names a twice"), "{failure:?}");
    }
}
