//! `x811 anvil reorg`.

use serde::Serialize;
use serde_json::{Value, json};

use super::rpc::Anvil;
use super::{AnvilError, EndpointArgs};
use crate::output::{Out, Report, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many of the last blocks are replaced
    #[arg(value_parser = clap::value_parser!(u64).range(1..=10_000))]
    depth: u64,
    /// Mine their transactions again, all in the first of the new blocks; without it they are gone
    #[arg(long)]
    keep_transactions: bool,
    #[command(flatten)]
    endpoint: EndpointArgs,
}

/// Reorganises.
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
    let again = match args.keep_transactions {
        true => raw(&anvil, &transactions).await?,
        false => Vec::new(),
    };
    anvil
        .call("anvil_reorg", json!([args.depth, again]))
        .await?;
    out.report(&Reorganised {
        depth: args.depth,
        first_block,
        head_number,
        old_hash,
        new_hash: anvil.block_hash(head_number).await?,
        kept: args.keep_transactions,
        transactions,
    });
    Ok(())
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

/// Their signed bytes, each for the first of the new blocks: the order of nonces is kept.
async fn raw(anvil: &Anvil, transactions: &[String]) -> Result<Vec<Value>, AnvilError> {
    let mut again = Vec::new();
    for hash in transactions {
        let raw = anvil
            .call("eth_getRawTransactionByHash", json!([hash]))
            .await?;
        again.push(json!([raw, 0]));
    }
    Ok(again)
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
    }
}
