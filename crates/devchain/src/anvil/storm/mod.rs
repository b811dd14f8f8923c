//! `x811 anvil storm`: an hour of bad weather for a running ledger, and what it was worth in the end.
//!
//! The ledger asks two endpoints that stand between it and Anvil. While interactions are made and paid,
//! blocks are reorganised away, and the endpoints lag, fail and lie, never both of them at once. An
//! hour's sixty minutes and its blocks are played in as many moments. Then the weather clears, and
//! what the ledger says of each interaction is held against the chain itself.

mod deal;
mod endpoint;
mod reckoning;
mod weather;

use std::time::Duration;

use fastrand::Rng;
use x811_client::http::LedgerClient;
use x811_client::pay::Receipt;
use x811_protocol::money::MicroUsdc;

use super::rpc::Anvil;
use super::token::Token;
use super::{EndpointArgs, reorg};
use crate::demo::cast::Agent;
use deal::{Deal, StormSite, TASK};
use endpoint::Endpoint;
use reckoning::Reckoning;
use weather::{DEEPEST, ENDPOINTS, Fault, Minute, Weather, forecast};
use x811_console::exit::Exit;
use x811_console::failure::Failure;
use x811_console::output::Out;

/// Test USDC for each payer, in micro-USDC.
const PURSE_MICRO_USDC: u64 = 1_000_000;

/// How long the ledger is waited for, at the start and at the end, in moments of this length.
const MOMENT: Duration = Duration::from_millis(500);
const MOMENTS: u32 = 240;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Which storm; the same number is the same storm. Without it, any
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Minutes of Base, each played in about a second
    #[arg(long, value_name = "MINUTES", default_value_t = 60, value_parser = clap::value_parser!(u16).range(1..=1_440))]
    minutes: u16,
    /// Interactions that are made and paid meanwhile
    #[arg(long, value_name = "COUNT", default_value_t = 12, value_parser = clap::value_parser!(u16).range(1..=500))]
    interactions: u16,
    /// The two ports where the ledger's endpoints are; 0 takes any free one
    #[arg(long, value_name = "PORT,PORT", value_delimiter = ',', num_args = 1, default_values_t = [8_546, 8_547])]
    ports: Vec<u16>,
    #[command(flatten)]
    endpoint: EndpointArgs,
}

/// Plays the storm; [`Exit::Findings`] when something was lost or paid twice.
pub(crate) async fn run(
    args: Args,
    connect: impl FnOnce() -> Result<LedgerClient, Failure>,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let seed = args.seed.unwrap_or_else(|| Rng::new().u64(..));
    let [first, second] = args.ports[..] else {
        return Err(Failure::usage(
            "the ledger has two endpoints: --ports PORT,PORT",
        ));
    };
    let anvil = args.endpoint.connect().await?;
    let upstream = &args.endpoint.rpc_url;
    let endpoints = [
        Endpoint::start(first, upstream).await?,
        Endpoint::start(second, upstream).await?,
    ];
    out.progress(format!(
        "storm {seed}: the ledger runs with --rpc {} --second-rpc {}",
        endpoints[0].url(),
        endpoints[1].url()
    ));
    let client = connect()?;
    sighted(&client, &anvil).await?;
    let info = client.info().await?;
    let network = info
        .network(None)
        .ok_or_else(|| Failure::usage("the ledger settles on several networks or on none"))?;
    let provider = Agent::join("Provider", client.base_url(), info.did, &[TASK]).await?;
    let place = StormSite {
        provider: &provider,
        ledger_did: info.did,
        network,
        rpc_url: upstream,
    };
    let token = Token::new(Anvil::connect(upstream).await?, network.token);
    let mut payers = Vec::new();
    for _ in 0..args.interactions {
        let payer = Agent::join("Payer", client.base_url(), info.did, &[]).await?;
        let purse = MicroUsdc::from_micro_usdc(PURSE_MICRO_USDC)
            .map_err(|error| Failure::internal(&error.to_string()))?;
        token.fund(payer.account(), purse).await?;
        payers.push(payer);
    }
    // No reorganisation takes the payers' money away.
    anvil.mine(DEEPEST + 1).await?;
    let hour = forecast(seed, usize::from(args.minutes));
    let storm = Storm {
        anvil: &anvil,
        endpoints: &endpoints,
        place: &place,
    };
    let deals = storm.blow(&hour, payers, out).await?;
    storm.clear(&deals, &client).await?;
    let reckoning = Reckoning::of(seed, &deals, &hour, &place, &anvil).await?;
    let exit = reckoning.exit();
    out.report(&reckoning);
    Ok(exit)
}

/// Waits until the ledger takes messages and sees the chain through its endpoints.
async fn sighted(client: &LedgerClient, anvil: &Anvil) -> Result<(), Failure> {
    for _ in 0..MOMENTS {
        let ready = client.ready().await?;
        if ready.ready
            && ready
                .networks
                .iter()
                .all(|network| network.sight == "fresh")
        {
            return Ok(());
        }
        anvil.mine(1).await?;
        tokio::time::sleep(MOMENT).await;
    }
    Err(Failure::new(
        Exit::NotReady,
        "blind",
        "the ledger does not see the chain through the storm's endpoints",
    )
    .hint("start it with --rpc http://127.0.0.1:8546 --second-rpc http://127.0.0.1:8547"))
}

struct Storm<'a> {
    anvil: &'a Anvil,
    endpoints: &'a [Endpoint; ENDPOINTS],
    place: &'a StormSite<'a>,
}

impl Storm<'_> {
    /// Minute by minute, with the interactions spread over them.
    async fn blow(
        &self,
        hour: &[Minute],
        payers: Vec<Agent>,
        out: &mut Out,
    ) -> Result<Vec<Deal>, Failure> {
        let count = payers.len();
        let mut deals = Vec::with_capacity(count);
        let mut payers = payers.into_iter();
        for (number, minute) in (1..).zip(hour) {
            if minute.weather != Weather::Calm {
                out.progress(format!("minute {number}: {}", minute.weather));
            }
            self.turn(minute).await?;
            // As many as there should be by now, all but one in the last minute.
            while deals.len() * hour.len() < number * count
                && let Some(payer) = payers.next()
            {
                deals.push(self.place.deal(payer).await?);
            }
            if minute.brings_back {
                self.bring_back(&deals).await?;
            }
            self.anvil.mine(minute.blocks).await?;
            tokio::time::sleep(MOMENT).await;
        }
        Ok(deals)
    }

    async fn turn(&self, minute: &Minute) -> Result<(), Failure> {
        match minute.weather {
            Weather::Calm => {}
            Weather::Reorg(depth) => {
                let head_number = self.anvil.block_number().await?;
                reorg::replace(self.anvil, depth, head_number, Vec::new()).await?;
            }
            Weather::Endpoint(which, fault) => self.endpoints[which].set(fault),
        }
        Ok(())
    }

    /// Sends again what is in no block, the very same bytes.
    async fn bring_back(&self, deals: &[Deal]) -> Result<(), Failure> {
        let client = self.place.pays().await?;
        for deal in deals {
            match client.receipt(deal.transfer.tx_hash).await? {
                Some(Receipt::Succeeded { .. } | Receipt::Reverted { .. }) => {}
                None => client.send(&deal.transfer).await?,
            }
        }
        Ok(())
    }

    /// Everything is well again, until the ledger has decided all of them or is given up.
    async fn clear(&self, deals: &[Deal], client: &LedgerClient) -> Result<(), Failure> {
        for endpoint in self.endpoints {
            endpoint.set(Fault::None);
        }
        self.bring_back(deals).await?;
        sighted(client, self.anvil).await?;
        for _ in 0..MOMENTS {
            self.anvil.mine(1).await?;
            tokio::time::sleep(MOMENT).await;
            if reckoning::all_decided(deals).await? {
                break;
            }
        }
        Ok(())
    }
}
