//! `x811 status`: one screen for the operator, and an exit code for a health check.

use std::time::Duration;

use serde::Serialize;
use x811_client::http::{EndpointSight, LedgerInfo, NetworkSight, Readiness, StoreSight};

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

/// How long `--rate` waits between its two looks.
const LOOK: Duration = Duration::from_secs(1);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Look twice, a second apart, and say how many records came in between
    #[arg(long)]
    pub(crate) rate: bool,
}

/// Asks the ledger how it is.
pub(crate) async fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let client = context.client()?;
    let mut ready = client.ready().await?;
    let mut records_per_s = None;
    if args.rate {
        tokio::time::sleep(LOOK).await;
        let later = client.ready().await?;
        records_per_s = ready.size.zip(later.size).map(|(size, later)| {
            let records = later.saturating_sub(size);
            records / LOOK.as_secs()
        });
        ready = later;
    }
    let info = client.info().await?;
    let status = Status {
        records_per_s,
        ..Status::new(client.base_url(), ready, info)
    };
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
    /// What the operator has to look after, though messages are taken.
    attention: Vec<String>,
    /// `alone`, `writer` or `standby`.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    /// Of a standby: how old the last published head is that it knows of.
    #[serde(skip_serializing_if = "Option::is_none")]
    published_age_ms: Option<u64>,
    /// Where the log lies in a database: who writes, who follows, how far.
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<StoreSight>,
    size: Option<u64>,
    rows_lag: Option<u64>,
    /// Only when it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    records_per_s: Option<u64>,
    /// Records that the last signed checkpoint covers.
    checkpoint_size: Option<u64>,
    checkpoint_age_ms: Option<u64>,
    did: String,
    log_id: String,
    protocol_versions: Vec<String>,
    /// Room on the disk of its data directory.
    free_bytes: Option<u64>,
    /// Of the program that serves.
    version: Option<String>,
    networks: Vec<NetworkSight>,
}

impl Status {
    fn new(url: &str, ready: Readiness, info: LedgerInfo) -> Status {
        Status {
            url: url.to_owned(),
            ready: ready.ready,
            why: ready.why,
            attention: ready.attention,
            role: ready.role,
            published_age_ms: ready.published_age_ms,
            store: ready.store,
            size: ready.size,
            rows_lag: ready.rows_lag,
            records_per_s: None,
            checkpoint_size: ready.checkpoint_size,
            checkpoint_age_ms: ready.checkpoint_age_ms,
            did: info.did.to_string(),
            log_id: info.log_id,
            protocol_versions: info.protocol_versions,
            free_bytes: ready.free_bytes,
            version: ready.version,
            networks: ready.networks,
        }
    }

    /// How far the log is signed.
    fn signed(&self) -> String {
        let known = self.checkpoint_size.zip(self.checkpoint_age_ms);
        known.map_or_else(nothing, |(size, age_ms)| {
            let ago = format!("{size} records, {} s ago", age_ms / 1_000);
            match self.size.unwrap_or(size).saturating_sub(size) {
                0 => ago,
                unsigned => format!("{ago}; {unsigned} not yet"),
            }
        })
    }
}

impl Status {
    /// Who writes, who follows, and how far.
    fn print_store(&self, store: &StoreSight, out: &mut Out) {
        let holder = store.holder.clone().unwrap_or_else(nothing);
        let lease_age_ms = store.lease_age_ms;
        out.fields(&[
            ("role", self.role.clone().unwrap_or_else(nothing)),
            (
                "writer",
                format!(
                    "{holder}, epoch {}, lease renewed {lease_age_ms} ms ago",
                    store.epoch
                ),
            ),
            ("published", format!("{} records", store.published)),
            ("clock", ahead(store.clock_ahead_ms)),
        ]);
        let followers = store.followers.iter().map(|follower| {
            vec![
                follower.name.clone(),
                follower.size.to_string(),
                follower.behind.to_string(),
                format!("{} ms ago", follower.seen_ms),
            ]
        });
        let followers: Vec<Vec<String>> = followers.collect();
        if !followers.is_empty() {
            out.table(&["follower", "records", "behind", "seen"], &followers);
        }
        let standbys = store.standbys.iter().map(|standby| {
            vec![
                standby.name.clone(),
                standby.state.clone().unwrap_or_else(nothing),
                standby
                    .behind_bytes
                    .map_or_else(nothing, |bytes| format!("{bytes} bytes")),
            ]
        });
        let standbys: Vec<Vec<String>> = standbys.collect();
        if !standbys.is_empty() {
            out.table(&["database standby", "state", "behind"], &standbys);
        }
    }
}

/// How the clocks differ: a take-over waits for as long as the new writer's is behind.
fn ahead(clock_ahead_ms: i64) -> String {
    match clock_ahead_ms {
        0 => "as the database's".to_owned(),
        ms if ms > 0 => format!("{ms} ms behind the database's"),
        ms => format!("{} ms ahead of the database's", ms.unsigned_abs()),
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
        for attention in &self.attention {
            out.heading(Tone::Bad, format_args!("attention: {attention}"));
        }
        if let Some(records) = self.records_per_s {
            out.line(format!("  {records} records a second"));
        }
        out.fields(&[
            ("DID", self.did.clone()),
            ("log", self.log_id.clone()),
            ("records", shown(self.size)),
            ("rows lag", shown(self.rows_lag)),
            ("signed", self.signed()),
            ("protocol", self.protocol_versions.join(", ")),
            ("free", self.free_bytes.map_or_else(nothing, room)),
            ("version", self.version.clone().unwrap_or_else(nothing)),
        ]);
        if let Some(store) = &self.store {
            self.print_store(store, out);
        }
        let rows: Vec<Vec<String>> = self.networks.iter().map(row).collect();
        out.table(&["network", "sight", "head", "age"], &rows);
        let endpoints = || self.networks.iter().flat_map(|network| &network.endpoints);
        let rows: Vec<Vec<String>> = endpoints().map(endpoint_row).collect();
        if !rows.is_empty() {
            out.table(
                &[
                    "endpoint",
                    "state",
                    "head",
                    "age",
                    "failures",
                    "disagreements",
                ],
                &rows,
            );
        }
        for endpoint in endpoints().filter(|endpoint| endpoint.state != "good") {
            if let Some(error) = &endpoint.last_error {
                out.line(format!("  {}: {error}", endpoint.label));
            }
        }
    }
}

fn endpoint_row(endpoint: &EndpointSight) -> Vec<String> {
    let state = if endpoint.leads {
        format!("{}, followed", endpoint.state)
    } else {
        endpoint.state.clone()
    };
    vec![
        endpoint.label.clone(),
        state,
        shown(endpoint.head_number),
        age(endpoint.head_age_ms),
        endpoint.failures.to_string(),
        endpoint.disagreements.to_string(),
    ]
}

fn age(age_ms: Option<u64>) -> String {
    age_ms.map_or_else(nothing, |age_ms| format!("{} s", age_ms / 1_000))
}

fn row(network: &NetworkSight) -> Vec<String> {
    vec![
        network.name.clone(),
        sight(network),
        shown(network.head_number),
        age(network.head_age_ms),
    ]
}

/// How it is seen, and for how long it is not.
fn sight(network: &NetworkSight) -> String {
    let blind = network.blind_ms.map(|ms| format!(" for {} s", ms / 1_000));
    format!("{}{}", network.sight, blind.unwrap_or_default())
}

fn shown(number: Option<u64>) -> String {
    number.map_or_else(nothing, |number| number.to_string())
}

/// A figure that was not told.
fn nothing() -> String {
    "-".to_owned()
}

/// Bytes in the largest unit of which there are ten or more.
fn room(bytes: u64) -> String {
    let units = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let unit = units.into_iter().find(|(_, size)| bytes / size >= 10);
    unit.map_or_else(
        || format!("{bytes} bytes"),
        |(name, size)| format!("{} {name}", bytes / size),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_said_in_whole_units() {
        for (bytes, said) in [
            (0, "0 bytes"),
            (10_239, "10239 bytes"),
            (10_240, "10 KiB"),
            (10_485_760, "10 MiB"),
            (10_737_418_239, "10239 MiB"),
            (29_527_900_160, "27 GiB"),
        ] {
            assert_eq!(room(bytes), said);
        }
    }
}
