//! One interaction: the answer, held against its records, and an exit code for a script.

use serde::Serialize;
use x811_client::http::LedgerClient;
use x811_client::settlement::settlement;
use x811_protocol::id::InteractionId;
use x811_protocol::settlement_view::{
    ProviderPaid, SettlementClock, SettlementView, Transaction, TransactionStanding,
};
use x811_protocol::time::TimestampMs;

use super::word;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report};
use x811_protocol::narration::{moment, usdc};

/// How often `--watch` asks.
const ASK_EVERY_MS: u64 = 2_000;

pub(super) async fn run(
    id: InteractionId,
    watch: bool,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let client = context.reading_client().await?;
    let view = if watch {
        decided(&client, id, context, out).await?
    } else {
        settlement(&client, id).await?.1
    };
    let answer = Answer {
        view,
        now: context.now(),
    };
    out.report(&answer);
    Ok(answer.exit())
}

/// Asks until it is paid or will not be; says each change.
async fn decided(
    client: &LedgerClient,
    id: InteractionId,
    context: &Context,
    out: &mut Out,
) -> Result<SettlementView, Failure> {
    let mut said = String::new();
    loop {
        let (_, view) = settlement(client, id).await?;
        if view.paid != ProviderPaid::NotYet {
            return Ok(view);
        }
        if view.sentence != said {
            out.progress(&view.sentence);
            said.clone_from(&view.sentence);
        }
        context.clock.pause(ASK_EVERY_MS).await;
    }
}

/// What is said; in JSON exactly what the ledger answers.
#[derive(Serialize)]
#[serde(transparent)]
struct Answer {
    view: SettlementView,
    #[serde(skip)]
    now: TimestampMs,
}

impl Answer {
    fn exit(&self) -> Exit {
        match self.view.paid {
            ProviderPaid::Yes => Exit::Ok,
            ProviderPaid::NotYet => Exit::NotYetPaid,
            ProviderPaid::No => Exit::NotPaid,
        }
    }
}

impl Report for Answer {
    fn print(&self, out: &mut Out) {
        let (view, now) = (&self.view, self.now);
        let (tone, word) = word(view.paid);
        out.heading(tone, format_args!("{word}: {}", view.sentence));
        let interaction = format!("{}, {}", view.interaction_id, view.state);
        let mut fields = vec![("interaction", interaction)];
        let contract = view.contract.map(|contract| contract.id.to_public());
        fields.extend(contract.map(|id| ("contract", id)));
        fields.extend(view.due_micro_usdc.map(|due| ("due", usdc(due))));
        fields.extend(view.payee.map(|payee| ("to", payee.to_checksum())));
        if !view.paid_micro_usdc.is_zero() {
            fields.push(("paid", usdc(view.paid_micro_usdc)));
        }
        if !view.surplus_micro_usdc.is_zero() {
            fields.push(("too much", usdc(view.surplus_micro_usdc)));
        }
        let transactions = view.transactions.iter();
        fields.extend(transactions.map(|known| ("transaction", transaction(known))));
        if view.failures > 0 {
            let failures = format!("{} of {}", view.failures, view.failures_to_dispute);
            fields.push(("failures", failures));
        }
        if let SettlementClock::Stopped { since_ms, .. } = view.live.clock {
            fields.push(("clock", format!("stopped {}", moment(since_ms, now))));
        }
        if !view.live.silent.is_empty() {
            let silent = view.live.silent.join(", ");
            let why = format!("{silent}: RPC endpoints that must agree and give no usable answer");
            fields.push(("waits for", why));
        }
        fields.extend(view.live.contested.iter().map(|tx_hash| {
            let why = "one RPC endpoint has it, another has not; the operator has to look";
            ("contested", format!("{tx_hash}: {why}"))
        }));
        fields.extend(view.next.at_ms.map(|at| ("next", moment(at, now))));
        if let Some(proof) = view.proof {
            let at = moment(proof.recorded_at_ms, now);
            fields.push(("recorded", format!("position {}, {at}", proof.position)));
            fields.push(("record hash", proof.record_hash.to_string()));
        }
        out.fields(&fields);
    }
}

/// A transaction with its standing and what it moved.
fn transaction(known: &Transaction) -> String {
    let mut text = known.tx_hash.to_string();
    match known.standing {
        TransactionStanding::Unseen => text.push_str(" not found on the network"),
        TransactionStanding::Seen => text.push_str(" seen"),
        TransactionStanding::Insufficient => text.push_str(" does not cover the total"),
        TransactionStanding::Refuted { cause, reason, .. } => {
            text.push_str(&format!(" does not pay: {}", cause.explanation(reason)));
        }
        TransactionStanding::Claimed { .. } if known.block_number.is_none() => {
            text.push_str(" is at the moment in no block");
        }
        TransactionStanding::Claimed { .. } => text.push_str(" pays"),
        TransactionStanding::Reversed => text.push_str(" disappeared"),
    }
    let amount = known.amount_micro_usdc;
    text.extend(amount.map(|amount| format!(", {}", usdc(amount))));
    let number = known.block_number;
    text.extend(number.map(|number| format!(", in block {number}")));
    let depth = known.depth.filter(|_| number.is_some());
    text.extend(depth.map(|depth| format!(", {depth} deep")));
    if !known.endpoints.is_empty() {
        text.push_str(&format!(", by {}", known.endpoints.join(" and ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ID: &str = "0190a1b2-c3d4-7e5f-8901-234567890abc";

    fn answer(paid: &str, standing: &serde_json::Value) -> Answer {
        let hash = format!("0x{}", "ab".repeat(32));
        let view = json!({
            "interaction_id": ID, "state": "verified", "paid": paid, "sentence": "as \u{1b}[2Jit is",
            "standing": standing, "next": {"what": "look", "at_ms": 61_000}, "as_of_ms": 1_000,
            "clock": {"kind": "stopped", "since_ms": 500}, "payee": format!("0x{}", "02".repeat(20)),
            "due_micro_usdc": "29725", "paid_micro_usdc": "29730", "surplus_micro_usdc": "5",
            "transactions": [{
                "tx_hash": hash, "standing": {"kind": "claimed", "level": "confirmed"},
                "block_number": 20, "depth": 12, "amount_micro_usdc": "29730",
                "endpoints": ["rpc", "rpc-2"]}],
            "silent": ["rpc-2"], "contested": [hash], "claims": [], "failures": 1, "failures_to_dispute": 4, "last_position": 9,
            "proof": {"position": 9, "record_hash": "0".repeat(64), "recorded_at_ms": 500},
        });
        Answer {
            view: serde_json::from_value(view).unwrap(),
            now: TimestampMs::new(1_000),
        }
    }

    #[test]
    fn the_exit_code_is_the_answer() {
        let table = [
            ("yes", json!({"kind": "confirmed"}), 0, "PAID: "),
            ("not_yet", json!({"kind": "declared"}), 10, "NOT YET: "),
            (
                "not_yet",
                json!({"kind": "in_no_block", "tx_hash": format!("0x{}", "ab".repeat(32))}),
                10,
                "NOT YET: ",
            ),
            ("no", json!({"kind": "disputed"}), 11, "NO: "),
        ];
        for (paid, standing, code, heading) in table {
            let answer = answer(paid, &standing);
            assert_eq!(answer.exit().code(), code);
            let (mut out, text, _) = Out::captured(false);
            out.report(&answer);
            let text = text.text();
            assert!(text.starts_with(heading), "{text}");
            assert!(text.contains(r"as \u{1b}[2Jit is"), "{text}");
        }
    }

    #[test]
    fn everything_that_is_known_is_shown() {
        let answer = answer("yes", &json!({"kind": "confirmed"}));
        let (mut out, text, _) = Out::captured(false);
        out.report(&answer);
        let text = text.text();
        for part in [
            "due          0.029725 USDC",
            "to           0x0202020202020202020202020202020202020202",
            "paid         0.02973 USDC",
            "too much     0.000005 USDC",
            "abab pays, 0.02973 USDC, in block 20, 12 deep, by rpc and rpc-2",
            "failures     1 of 4",
            "waits for    rpc-2: RPC endpoints that must agree",
            "abab: one RPC endpoint has it, another has not",
            "clock        stopped 1970-01-01T00:00:00.500Z (1 s ago)",
            "next         1970-01-01T00:01:01.000Z (in 60 s)",
            "recorded     position 9,",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        // What a program reads is what the ledger answers.
        let (mut out, text, _) = Out::captured(true);
        out.report(&answer);
        let value: serde_json::Value = serde_json::from_str(&text.text()).unwrap();
        assert_eq!(value, serde_json::to_value(&answer.view).unwrap());
    }
}
