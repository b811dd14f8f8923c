//! `x811 provider paid`.

use serde::Serialize;
use x811_client::payment_status::{
    Declared, PaymentStatus, Settled, Unpaid, UnpaidCause, Waiting, payment_status,
};
use x811_client::transcript::Transcript;
use x811_protocol::evm::EvmAddress;
use x811_protocol::id::InteractionId;
use x811_protocol::time::TimestampMs;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::narrate::{self, moment, usdc};
use crate::output::{Out, Report, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which interaction
    interaction: InteractionId,
}

/// Answers paid, not yet, or no, with the transaction and why.
pub(crate) async fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let client = context.reading_client().await?;
    let transcript = Transcript::fetch(&client, args.interaction).await?;
    let answer = Answer::new(&transcript, context.now());
    out.report(&answer);
    Ok(answer.exit())
}

#[derive(Serialize)]
struct Answer {
    interaction: InteractionId,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_usdc: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payee: Option<String>,
    #[serde(flatten)]
    status: PaymentStatus,
    why: String,
    #[serde(skip)]
    now: TimestampMs,
}

impl Answer {
    fn new(transcript: &Transcript, now: TimestampMs) -> Answer {
        let status = payment_status(transcript);
        let why = match &status {
            PaymentStatus::Yes(settled) => why_paid(settled),
            PaymentStatus::NotYet(waiting) => why_waiting(waiting, now),
            PaymentStatus::No(unpaid) => why_unpaid(unpaid),
        };
        let total = transcript.offer().map(|(_, offer)| offer.total_cost);
        Answer {
            interaction: transcript.id(),
            state: transcript.view.state.as_str(),
            total_usdc: total.map(|total| total.to_usdc_decimal()),
            payee: transcript.payee().map(EvmAddress::to_checksum),
            status,
            why,
            now,
        }
    }

    fn exit(&self) -> Exit {
        match self.status {
            PaymentStatus::Yes(_) => Exit::Ok,
            PaymentStatus::NotYet(_) => Exit::NotYetPaid,
            PaymentStatus::No(_) => Exit::NotPaid,
        }
    }

    fn transactions(&self) -> &[Declared] {
        match &self.status {
            PaymentStatus::NotYet(Waiting::Confirmation { transactions, .. }) => transactions,
            PaymentStatus::No(unpaid) => &unpaid.transactions,
            PaymentStatus::Yes(_) | PaymentStatus::NotYet(_) => &[],
        }
    }
}

fn why_paid(settled: &Settled) -> String {
    match (settled.evidence.is_empty(), settled.late) {
        (true, _) => "nothing was due".to_owned(),
        (false, false) => "the transfer is confirmed on Base".to_owned(),
        (false, true) => "the transfer came after the interaction had been disputed".to_owned(),
    }
}

fn why_waiting(waiting: &Waiting, now: TimestampMs) -> String {
    match waiting {
        Waiting::Work { state } => format!("nothing is due yet: the interaction is {state}"),
        Waiting::Payment {
            deadline_at_ms: Some(deadline),
        } => format!("the initiator has to pay until {}", moment(*deadline, now)),
        Waiting::Payment {
            deadline_at_ms: None,
        } => "the initiator has to pay".to_owned(),
        Waiting::Confirmation { looks, .. } => {
            format!("the initiator says it paid; not confirmed yet, {looks} of 4 looks failed")
        }
    }
}

fn why_unpaid(unpaid: &Unpaid) -> String {
    match &unpaid.why {
        UnpaidCause::Rejected => "the initiator turned the offer down".to_owned(),
        UnpaidCause::Lapsed { code } => format!("{code} {}", code.name()),
        UnpaidCause::ResultDisputed { dispute_code } => {
            let code = dispute_code.map(|code| format!(": {code}"));
            format!(
                "the initiator disputes the result{}",
                code.unwrap_or_default()
            )
        }
        UnpaidCause::NoPayment { code } => {
            format!(
                "no transaction the initiator named pays: {code} {}",
                code.name()
            )
        }
        UnpaidCause::Reversed { tx_hash } => {
            format!("{tx_hash} was confirmed and then disappeared from the chain")
        }
    }
}

impl Report for Answer {
    fn print(&self, out: &mut Out) {
        let (tone, word) = match self.status {
            PaymentStatus::Yes(_) => (Tone::Good, "PAID"),
            PaymentStatus::NotYet(_) => (Tone::Waiting, "NOT YET"),
            PaymentStatus::No(_) => (Tone::Bad, "NO"),
        };
        out.heading(tone, format_args!("{word}: {}", self.why));
        let mut fields = vec![(
            "interaction",
            format!("{}, {}", self.interaction, self.state),
        )];
        let total = self.total_usdc.as_ref();
        fields.extend(total.map(|total| ("total", format!("{total} USDC"))));
        fields.extend(self.payee.iter().map(|payee| ("to", payee.clone())));
        if let PaymentStatus::Yes(settled) = &self.status {
            fields.extend(evidence(settled, self.now));
        }
        let transactions = self.transactions().iter();
        fields.extend(transactions.map(|declared| ("transaction", standing(declared))));
        out.fields(&fields);
    }
}

fn evidence(settled: &Settled, now: TimestampMs) -> Vec<(&'static str, String)> {
    let mut fields = vec![("paid", usdc(settled.amount))];
    for seen in &settled.evidence {
        fields.push(("transaction", seen.tx_hash.to_string()));
        let (number, network) = (seen.block.number, &seen.network);
        let text = format!(
            "{number} of {network}, {} blocks deep when confirmed",
            seen.depth
        );
        fields.push(("block", text));
    }
    let at = moment(settled.recorded_at_ms, now);
    fields.push(("recorded", format!("position {}, {at}", settled.position)));
    fields.push(("record hash", settled.record_hash.to_string()));
    fields
}

fn standing(declared: &Declared) -> String {
    let standing = match (declared.refuted, declared.block_number, declared.depth) {
        (Some(cause), _, _) => format!("does not pay: {}", narrate::cause(cause)),
        (None, Some(number), Some(depth)) => format!("in block {number}, {depth} deep"),
        (None, Some(number), None) => format!("in block {number}"),
        (None, None, _) => "not found on Base".to_owned(),
    };
    format!("{} {standing}", declared.tx_hash)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use x811_client::http::InteractionView;

    use super::*;
    use crate::output::tests::kept;

    fn answer(state: &str) -> Answer {
        let did = "did:x811:019c8c61-8129-7511-9f31-aa5142e65448";
        let view = json!({
            "id": "0190a1b2-c3d4-7e5f-8901-234567890abc", "initiator": did, "provider": did,
            "state": state, "deadline_at_ms": 61_000, "opened_at_ms": 1, "updated_at_ms": 2,
            "last_position": 3,
        });
        let view: InteractionView = serde_json::from_value(view).unwrap();
        let transcript = Transcript {
            view,
            entries: Vec::new(),
        };
        Answer::new(&transcript, TimestampMs::new(1_000))
    }

    #[test]
    fn the_exit_code_is_the_answer() {
        let table = [
            (
                "pending",
                10,
                "NOT YET: nothing is due yet: the interaction is pending",
            ),
            ("verified", 10, "NOT YET: the initiator has to pay until"),
            ("rejected", 11, "NO: the initiator turned the offer down"),
            ("disputed", 11, "NO: X811-4024 PAYMENT_TIMEOUT"),
        ];
        for (state, code, heading) in table {
            let answer = answer(state);
            assert_eq!(answer.exit().code(), code, "{state}");
            let (mut out, text, _) = kept(false);
            out.report(&answer);
            assert!(text.text().starts_with(heading), "{}", text.text());
        }
    }

    #[test]
    fn paid_has_its_evidence_and_exit_code_0() {
        let hash = "0x".to_owned() + &"ab".repeat(32);
        let evidence = json!({
            "network": "base", "tx_hash": hash, "depth": 12, "level": "confirmed",
            "block": {"number": 20, "hash": hash, "timestamp_s": 1}, "endpoints": ["a"],
            "transfers": [], "transfer_count": 0,
        });
        let settled = Settled {
            evidence: vec![serde_json::from_value(evidence).unwrap()],
            amount: x811_protocol::money::MicroUsdc::from_micro_usdc(29_725).unwrap(),
            recorded_at_ms: TimestampMs::new(500),
            position: 11,
            record_hash: x811_protocol::digest::Digest::ZERO,
            late: false,
        };
        let paid = Answer {
            why: why_paid(&settled),
            status: PaymentStatus::Yes(settled),
            ..answer("completed")
        };
        assert_eq!(paid.exit().code(), 0);
        let (mut out, text, _) = kept(false);
        out.report(&paid);
        for part in [
            "PAID: ",
            "0.029725 USDC",
            &hash,
            "20 of base, 12 blocks deep",
            "position 11",
        ] {
            assert!(text.text().contains(part), "{part} in {}", text.text());
        }
        let json = serde_json::to_value(&paid).unwrap();
        assert_eq!(
            (&json["paid"], &json["state"]),
            (&json!("yes"), &json!("completed"))
        );
    }
}
