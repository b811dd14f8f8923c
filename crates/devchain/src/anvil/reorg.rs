//! `x811 anvil reorg`.
//!
//! Anvil takes the time of the last common block as the present one after a reorganisation: all new
//! blocks would carry that time, and every later one would be behind by as much, until a ledger calls
//! the chain stale. So the new blocks get the pace of the old ones, and Anvil's clock is set to this
//! computer's afterwards.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::{Value, json};
use x811_client::clock::{Clock as _, SystemClock};

use super::rpc::{Anvil, quantity};
use super::{AnvilError, EndpointArgs, resend};
use x811_console::output::{Out, Report, Tone};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// How many of the last blocks are replaced
    #[arg(value_parser = clap::value_parser!(u64).range(1..=10_000))]
    depth: u64,
    /// Mine their transactions again, all in the first of the new blocks; without it they are gone
    #[arg(long)]
    keep_transactions: bool,
    /// Keep the signed transactions that go away in a new file, for `x811 anvil resend`
    #[arg(long, value_name = "FILE", conflicts_with = "keep_transactions")]
    save: Option<PathBuf>,
    #[command(flatten)]
    endpoint: EndpointArgs,
}

pub(crate) async fn run(args: Args, out: &mut Out) -> Result<(), AnvilError> {
    let anvil = args.endpoint.connect().await?;
    let head_number = anvil.block_number().await?;
    if args.depth > head_number {
        let message = format!("the chain has {head_number} blocks above the first one");
        return Err(AnvilError::Nonsense(message));
    }
    let first_block = head_number - args.depth + 1;
    let old_hash = anvil.block_hash(head_number).await?;
    let transactions = transactions(&anvil, first_block, head_number).await?;
    let mut again = Vec::new();
    if args.keep_transactions || args.save.is_some() {
        let signed = raw(&anvil, &transactions).await?;
        match &args.save {
            Some(file) => resend::save(file, &signed)?,
            // In the first of the new blocks: the order of nonces is kept.
            None => again.extend(signed.iter().map(|raw| json!([raw, 0]))),
        }
    }
    replace(&anvil, args.depth, head_number, again).await?;
    out.report(&Reorganised {
        depth: args.depth,
        first_block,
        head_number,
        old_hash,
        new_hash: anvil.block_hash(head_number).await?,
        kept: args.keep_transactions,
        saved: args.save,
        transactions,
    });
    Ok(())
}

/// Replaces the last `depth` blocks, and has time go on as if nothing had happened.
pub(super) async fn replace(
    anvil: &Anvil,
    depth: u64,
    head_number: u64,
    again: Vec<Value>,
) -> Result<(), AnvilError> {
    let fork_s = timestamp_s(anvil, head_number - depth).await?;
    let head_s = timestamp_s(anvil, head_number).await?;
    let apart_s = head_s.saturating_sub(fork_s) / depth;
    if apart_s > 0 {
        let method = "anvil_setBlockTimestampInterval";
        anvil.call(method, json!([apart_s])).await?;
    }
    let replaced = anvil.call("anvil_reorg", json!([depth, again])).await;
    if apart_s > 0 {
        let method = "anvil_removeBlockTimestampInterval";
        anvil.call(method, json!([])).await?;
    }
    replaced?;
    let now_s = SystemClock.now().as_ms() / 1_000;
    anvil
        .call("evm_setTime", json!([now_s.max(head_s)]))
        .await?;
    Ok(())
}

async fn timestamp_s(anvil: &Anvil, number: u64) -> Result<u64, AnvilError> {
    let block = anvil.block(number).await?;
    let timestamp_s = block.get("timestamp").and_then(quantity);
    timestamp_s.ok_or(AnvilError::Unreadable {
        method: "eth_getBlockByNumber",
    })
}

/// What was mined from one height to another.
async fn transactions(anvil: &Anvil, from: u64, to: u64) -> Result<Vec<String>, AnvilError> {
    let mut hashes = Vec::new();
    for number in from..=to {
        let block = anvil.block(number).await?;
        let transactions = block.get("transactions").and_then(Value::as_array);
        let of_block = transactions.into_iter().flatten();
        hashes.extend(of_block.filter_map(Value::as_str).map(str::to_owned));
    }
    Ok(hashes)
}

/// Their signed bytes.
async fn raw(anvil: &Anvil, transactions: &[String]) -> Result<Vec<Value>, AnvilError> {
    let mut signed = Vec::new();
    for hash in transactions {
        let method = "eth_getRawTransactionByHash";
        signed.push(anvil.call(method, json!([hash])).await?);
    }
    Ok(signed)
}

#[derive(Debug, Serialize)]
struct Reorganised {
    depth: u64,
    first_block: u64,
    head_number: u64,
    old_hash: String,
    new_hash: String,
    /// Whether the transactions are in the new blocks.
    kept: bool,
    /// Where the transactions that are gone are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    saved: Option<PathBuf>,
    transactions: Vec<String>,
}

impl Report for Reorganised {
    fn print(&self, out: &mut Out) {
        let (first, last) = (self.first_block, self.head_number);
        out.heading(
            Tone::Good,
            format!("blocks {first} to {last} are others now"),
        );
        let fate = if self.kept { "mined again" } else { "gone" };
        out.fields(&[
            ("old head", self.old_hash.clone()),
            ("new head", self.new_hash.clone()),
            (
                "transactions",
                format!("{}, {fate}", self.transactions.len()),
            ),
        ]);
        for hash in &self.transactions {
            out.line(format!("  {hash}"));
        }
        if let Some(file) = &self.saved {
            let file = file.display();
            out.line(format!("Bring them back: x811 anvil resend {file}"));
        }
    }
}
