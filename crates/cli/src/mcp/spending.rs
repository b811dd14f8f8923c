//! What the model may spend, and what it is told before it does.
//!
//! Whether an OFFER may be accepted is ruled by the [`Guard`] of the client crate: the caps, the
//! journal and the questions of the loop `x811 agent run initiator`, in the same files.

use std::path::Path;

use serde_json::{Value, json};
use x811_client::agent::{Caps, Guard, InitiatorRules, Ruling, Settings};
use x811_protocol::code::Code;
use x811_protocol::id::InteractionId;
use x811_protocol::money::MicroUsdc;
use x811_protocol::time::TimestampMs;

use super::Desk;
use crate::agent::run::config;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::send::case::Case;
use crate::send::payment;
use crate::usdc::Usdc;
use x811_protocol::narration::usdc;

/// From the file that was named at the start.
pub(super) struct Limits {
    rules: InitiatorRules,
    pub(super) rpc_url: String,
}

impl Limits {
    pub(super) fn read(file: &Path) -> Result<Limits, Failure> {
        let file = config::initiator(file)?;
        Ok(Limits {
            rules: file.rules()?,
            rpc_url: file.rpc_url,
        })
    }

    /// Of which network.
    pub(super) fn network(&self) -> &str {
        &self.rules.network
    }

    /// For the model.
    pub(super) fn sentence(&self) -> String {
        let Some(caps) = self.rules.caps else {
            return "A person has to approve everything you accept.".to_owned();
        };
        let Caps {
            per_interaction,
            per_day,
            per_counterparty,
            per_network,
        } = caps;
        format!(
            "Nothing is accepted beyond these caps, whoever approves: {} in one interaction; in 24 \
             hours {} in all, {} to one provider, {} on the network {}.",
            usdc(per_interaction),
            usdc(per_day),
            usdc(per_counterparty),
            usdc(per_network),
            self.network()
        )
    }

    /// The rules over the journal of the acting agent, locked as long as it lives.
    pub(super) async fn guard(&self, case: &Case<'_>) -> Result<Guard, Failure> {
        let context = case.context;
        let folder = context.home.loop_folder(&case.identity.name);
        let settings = Settings {
            clock: context.clock.clone(),
            entropy: context.entropy.clone(),
            ..Settings::new(case.client.base_url(), case.identity.clone(), folder)
        };
        Ok(Guard::open(settings, self.rules.clone()).await?)
    }
}

impl Desk {
    /// What may be spent.
    pub(super) fn limits(&self) -> Result<&Limits, Failure> {
        self.limits.as_ref().ok_or_else(|| {
            Failure::local(
                "no_config",
                "nothing was spent: this server may spend nothing",
            )
            .hint("a person starts it with `x811 mcp --config FILE`: docs/mcp.md")
        })
    }
}

/// The total of the OFFER, where the call confirms it; else what it would cost, to be told.
pub(super) fn confirmed(
    case: &Case<'_>,
    seen: Option<Usdc>,
    limits: &Limits,
) -> Result<Result<MicroUsdc, Value>, Failure> {
    let (offer_id, offer) = case.offer()?;
    let total = offer.total_cost;
    let Some(Usdc(seen)) = seen else {
        let total = total.to_usdc_decimal();
        return Ok(Err(json!({
            "done": false,
            "cost_usdc": total,
            "price_usdc": offer.price.to_usdc_decimal(),
            "protocol_fee_usdc": offer.price.protocol_fee().to_usdc_decimal(),
            "offer_id": offer_id,
            "provider": case.counterparty(),
            "payee": payment::payee(case)?.to_checksum(),
            "network": limits.network(),
            "next": format!("nothing was sent; to go on, call again with confirm_total_usdc {total}"),
        })));
    };
    if seen == total {
        return Ok(Ok(total));
    }
    let message = format!(
        "nothing was sent: the total is {}, not {}",
        usdc(total),
        usdc(seen)
    );
    Err(Failure::new(Exit::Refused, "other_total", message)
        .hint("call without confirm_total_usdc to see what it costs"))
}

/// Whether the ACCEPT may be sent; why not, where not.
pub(super) fn allowed(ruling: Ruling, case: &Case<'_>, total: MicroUsdc) -> Result<(), Failure> {
    match ruling {
        Ruling::Allowed => Ok(()),
        Ruling::AskPerson { answer_by_ms } => Err(approval_needed(case, total, answer_by_ms)),
        Ruling::Refused {
            code,
            error_code,
            reason,
        } => {
            let message = format!("nothing was sent: {reason} ({code})");
            let code = error_code.unwrap_or(Code::PolicyRejected);
            Err(Failure::refused(code, message)
                .hint("turn the offer down with reject; a person sets the limits, nobody here"))
        }
        Ruling::NoOffer { state } => {
            let message = format!("nothing was sent: the interaction is {state}");
            Err(Failure::state(message)
                .hint("see with history what was said; an offer is accepted once"))
        }
    }
}

fn approval_needed(case: &Case<'_>, total: MicroUsdc, answer_by_ms: TimestampMs) -> Failure {
    let (id, agent) = (case.transcript.id(), &case.identity.name);
    let amount = total.to_usdc_decimal();
    let until = answer_by_ms.to_rfc3339();
    let message = format!("nothing was sent: a person has to approve {amount} USDC until {until}");
    let command = format!("x811 --agent {agent} approvals approve {id} --total {amount}");
    Failure::new(Exit::Refused, "approval_needed", message)
        .hint(format!(
            "tell the person to run `{command}`, then call accept again"
        ))
        .with_details(json!({ "interaction_id": id, "command": command }))
}

/// What was committed to is what is due.
pub(super) fn check_committed(
    guard: &Guard,
    id: InteractionId,
    total: MicroUsdc,
) -> Result<(), Failure> {
    if guard.committed(id) == Some(total) {
        return Ok(());
    }
    let message = format!(
        "nothing was sent: the journal has no ACCEPT of the last 24 hours over {} in this \
         interaction",
        usdc(total)
    );
    Err(Failure::new(Exit::Refused, "not_committed", message)
        .hint(format!("a person may pay it: x811 pay {id}")))
}
