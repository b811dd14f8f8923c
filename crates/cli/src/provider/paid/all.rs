//! Every interaction the agent provides, a line each, and what they add up to.
//!
//! Which they are is told by the agent's own inbox: each begins with a REQUEST to it. Where the money
//! is is what the ledger says; one interaction alone is held against its records too.

use std::num::NonZeroUsize;

use serde::Serialize;
use x811_client::http::{InboxRequest, LedgerClient};
use x811_protocol::did::Did;
use x811_protocol::envelope::{CoreType, MessageType};
use x811_protocol::id::InteractionId;
use x811_protocol::money::MicroUsdc;
use x811_protocol::settlement_view::{MoneyStanding, ProviderPaid, SettlementView};

use super::word;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report};
use x811_protocol::narration::usdc;

pub(super) async fn run(
    last: Option<NonZeroUsize>,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let (identity, client) = context.acting().await?;
    let (mut requests, unverified) = requests(&client, identity.did).await?;
    if let Some(last) = last {
        requests.drain(..requests.len().saturating_sub(last.get()));
    }
    let mut interactions = Vec::with_capacity(requests.len());
    for id in requests {
        interactions.push(client.settlement(id, None).await?);
    }
    out.report(&Account::new(identity.did, interactions, unverified));
    Ok(Exit::Ok)
}

/// The interactions that began with a REQUEST to `provider`, oldest first, and how many messages
/// were not looked at because their signature does not hold.
async fn requests(
    client: &LedgerClient,
    provider: Did,
) -> Result<(Vec<InteractionId>, usize), Failure> {
    let (mut requests, mut unverified) = (Vec::new(), 0);
    let mut asked = InboxRequest::default();
    loop {
        let page = client.inbox(provider, &asked).await?;
        if page.is_empty() {
            return Ok((requests, unverified));
        }
        unverified += page.unverified.len();
        for message in page.messages {
            let header = message.envelope.header();
            if header.message_type == MessageType::Core(CoreType::Request) {
                requests.push(InteractionId::from(header.id));
            }
        }
        match page.next {
            Some(next) if asked.after.as_ref() != Some(&next) => asked.after = Some(next),
            Some(_) | None => return Ok((requests, unverified)),
        }
    }
}

#[derive(Serialize)]
struct Account {
    agent: Did,
    interactions: Vec<SettlementView>,
    total: Total,
    /// Messages whose signature does not hold; among them may be a REQUEST.
    unverified: usize,
}

/// What the interactions add up to; those that nothing is due for yet, or any more, are left out of
/// the amount that is due.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Total {
    paid: u64,
    not_yet: u64,
    no: u64,
    due_micro_usdc: MicroUsdc,
    paid_micro_usdc: MicroUsdc,
}

impl Account {
    fn new(agent: Did, interactions: Vec<SettlementView>, unverified: usize) -> Account {
        Account {
            agent,
            total: Total::of(&interactions),
            interactions,
            unverified,
        }
    }
}

impl Total {
    fn of(interactions: &[SettlementView]) -> Total {
        let mut total = Total::default();
        for view in interactions {
            let count = match view.paid {
                ProviderPaid::Yes => &mut total.paid,
                ProviderPaid::NotYet => &mut total.not_yet,
                ProviderPaid::No => &mut total.no,
            };
            *count += 1;
            let is_due = !matches!(
                view.standing,
                MoneyStanding::NotDue | MoneyStanding::Closed { .. }
            );
            let due = view.due_micro_usdc.filter(|_| is_due);
            total.due_micro_usdc = sum(total.due_micro_usdc, due.unwrap_or(MicroUsdc::ZERO));
            total.paid_micro_usdc = sum(total.paid_micro_usdc, view.paid_micro_usdc);
        }
        total
    }
}

fn sum(one: MicroUsdc, other: MicroUsdc) -> MicroUsdc {
    one.checked_add(other).unwrap_or(MicroUsdc::MAX)
}

impl Report for Account {
    fn print(&self, out: &mut Out) {
        let rows: Vec<Vec<String>> = self.interactions.iter().map(row).collect();
        if !rows.is_empty() {
            out.table(
                &["interaction", "", "due USDC", "paid USDC", "where it is"],
                &rows,
            );
            out.gap();
        }
        let total = &self.total;
        out.line(format_args!(
            "{} interactions: {} paid, {} not yet, {} no; {} of {} that are due have come",
            self.interactions.len(),
            total.paid,
            total.not_yet,
            total.no,
            total.paid_micro_usdc.to_usdc_decimal(),
            usdc(total.due_micro_usdc)
        ));
        if self.unverified > 0 {
            out.line(format_args!(
                "{} messages were not looked at: their signature does not hold",
                self.unverified
            ));
        }
    }
}

fn row(view: &SettlementView) -> Vec<String> {
    let due = view.due_micro_usdc;
    vec![
        view.interaction_id.to_string(),
        word(view.paid).1.to_owned(),
        due.map_or_else(|| "-".to_owned(), MicroUsdc::to_usdc_decimal),
        view.paid_micro_usdc.to_usdc_decimal(),
        view.sentence.clone(),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn view(
        last: char,
        paid: &str,
        standing: &str,
        due: Option<&str>,
        come: &str,
    ) -> SettlementView {
        let mut view = json!({
            "interaction_id": format!("0190a1b2-c3d4-7e5f-8901-23456789000{last}"),
            "state": "verified", "paid": paid, "sentence": "it \u{202e}is there",
            "standing": {"kind": standing}, "next": {"what": "nothing"}, "as_of_ms": 1,
            "clock": {"kind": "idle"}, "paid_micro_usdc": come, "surplus_micro_usdc": "0",
            "transactions": [], "claims": [], "failures": 0, "failures_to_dispute": 4,
            "last_position": 1,
        });
        if let Some(due) = due {
            view["due_micro_usdc"] = json!(due);
        }
        serde_json::from_value(view).unwrap()
    }

    #[test]
    fn all_interactions_are_lines_and_add_up() {
        let interactions = vec![
            view('1', "yes", "confirmed", Some("1500000"), "1500000"),
            view('2', "not_yet", "declared", Some("500000"), "0"),
            view('3', "not_yet", "not_due", Some("9000000"), "0"),
            view('4', "no", "disputed", Some("1000000"), "0"),
            view('5', "no", "closed", None, "0"),
        ];
        let agent = "did:x811:019c8c61-8129-7511-9f31-aa5142e65448";
        let account = Account::new(agent.parse().unwrap(), interactions, 1);
        assert_eq!(account.total.due_micro_usdc.as_micro_usdc(), 3_000_000);
        let (mut out, text, _) = Out::captured(false);
        out.report(&account);
        let text = text.text();
        for part in [
            "interaction                           ",
            "0190a1b2-c3d4-7e5f-8901-234567890001  PAID     1.5       1.5        it \\u{202e}is there\n",
            "0190a1b2-c3d4-7e5f-8901-234567890002  NOT YET  0.5       0          it",
            "0190a1b2-c3d4-7e5f-8901-234567890005  NO       -         0          it",
            "\n\n5 interactions: 1 paid, 2 not yet, 2 no; 1.5 of 3 USDC that are due have come\n",
            "1 messages were not looked at",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        let (mut out, text, _) = Out::captured(true);
        out.report(&account);
        let value: serde_json::Value = serde_json::from_str(&text.text()).unwrap();
        assert_eq!(value["total"]["paid_micro_usdc"], "1500000");
        assert_eq!(value["interactions"].as_array().unwrap().len(), 5);
    }

    #[test]
    fn nothing_provided_adds_up_to_nothing() {
        let agent = "did:x811:019c8c61-8129-7511-9f31-aa5142e65448";
        let account = Account::new(agent.parse().unwrap(), Vec::new(), 0);
        let (mut out, text, _) = Out::captured(false);
        out.report(&account);
        assert_eq!(
            text.text(),
            "0 interactions: 0 paid, 0 not yet, 0 no; 0 of 0 USDC that are due have come\n"
        );
    }
}
