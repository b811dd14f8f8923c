//! `x811 status`: one screen for the operator, and an exit code for a health check.

use serde::Serialize;
use x811_client::http::{LedgerInfo, NetworkSight, Readiness};

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

/// Asks the ledger how it is.
pub(crate) async fn run(context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let client = context.client()?;
    let ready = client.ready().await?;
    let info = client.info().await?;
    let status = Status::new(client.base_url(), ready, info);
    out.report(&status);
    Ok(if status.ready {
        Exit::Ok
    } else {
        Exit::NotReady
    })
}

#[derive(Debug, Serialize)]
struct Status {
    url: String,
    ready: bool,
    why: Vec<String>,
    size: Option<u64>,
    rows_lag: Option<u64>,
    did: String,
    log_id: String,
    protocol_versions: Vec<String>,
    /// Of this program, which is the ledger's where both are installed together.
    program_version: &'static str,
    networks: Vec<Network>,
}

#[derive(Debug, Serialize)]
struct Network {
    name: String,
    sight: String,
    head_number: Option<u64>,
    head_age_ms: Option<u64>,
}

impl Status {
    fn new(url: &str, ready: Readiness, info: LedgerInfo) -> Status {
        Status {
            url: url.to_owned(),
            ready: ready.ready,
            why: ready.why,
            size: ready.size,
            rows_lag: ready.rows_lag,
            did: info.did.to_string(),
            log_id: info.log_id,
            protocol_versions: info.protocol_versions,
            program_version: env!("CARGO_PKG_VERSION"),
            networks: ready.networks.into_iter().map(Network::from).collect(),
        }
    }
}

impl From<NetworkSight> for Network {
    fn from(sight: NetworkSight) -> Network {
        Network {
            name: sight.name,
            sight: sight.sight,
            head_number: sight.head_number,
            head_age_ms: sight.head_age_ms,
        }
    }
}

impl Report for Status {
    fn print(&self, out: &mut Out) {
        if self.ready {
            out.heading(Tone::Good, format!("ready: {}", self.url));
        } else {
            out.heading(Tone::Bad, format!("not ready: {}", self.url));
        }
        for why in &self.why {
            out.line(format!("  {why}"));
        }
        out.fields(&[
            ("DID", self.did.clone()),
            ("log", self.log_id.clone()),
            ("records", shown(self.size)),
            ("rows lag", shown(self.rows_lag)),
            ("protocol", self.protocol_versions.join(", ")),
            ("program", self.program_version.to_owned()),
        ]);
        let rows: Vec<Vec<String>> = self.networks.iter().map(row).collect();
        out.table(&["network", "sight", "head", "age"], &rows);
    }
}

fn row(network: &Network) -> Vec<String> {
    let age = network
        .head_age_ms
        .map(|age_ms| format!("{} s", age_ms / 1_000));
    vec![
        network.name.clone(),
        network.sight.clone(),
        shown(network.head_number),
        age.unwrap_or_else(|| "-".to_owned()),
    ]
}

fn shown(number: Option<u64>) -> String {
    number.map_or_else(|| "-".to_owned(), |number| number.to_string())
}
