//! What a record or message says, in one line a newcomer understands.

mod capability;
mod round;

use crate::envelope::MessageType;
use crate::event::{
    AgentEvent, AgreementWindow, BodiesErased, Confirmed, ContractWindow, Effect, EnvelopeAccepted,
    Event, Evidence, FindingStatus, Lapsed, LapsedWindow, LedgerEvent, LedgerResumed, Looked,
    NetworkEvent, NoticeIssued, Refuted, SessionWindow, SettlementEvent, Window,
};
use crate::facts::{
    Facts, Location, NegotiationFacts, OfferFacts, PaymentFacts, RequestFacts, ResultFacts,
    TermsFacts,
};
use crate::money::MicroUsdc;
use crate::stream::Subject;
use crate::time::TimestampMs;

/// An amount with its currency.
pub fn usdc(amount: MicroUsdc) -> String {
    format!("{} USDC", amount.to_usdc_decimal())
}

/// A moment, and how far it is from now.
pub fn moment(at: TimestampMs, now: TimestampMs) -> String {
    let seconds = |ms: u64| ms.div_ceil(1_000);
    let distance = if at >= now {
        format!("in {} s", seconds(at.since(now)))
    } else {
        format!("{} s ago", seconds(now.since(at)))
    };
    format!("{} ({distance})", at.to_rfc3339())
}

/// The first digits of a hash, enough to recognise it.
pub fn short_hash(hash: impl ToString) -> String {
    let text = hash.to_string();
    match text.char_indices().nth(14) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// What a message says.
pub fn message(facts: &Facts) -> String {
    match facts {
        Facts::Request(facts) => request(facts),
        Facts::Offer(facts) => offer(facts),
        Facts::Accept(facts) => format!("ACCEPT of offer {}", facts.offer_id),
        Facts::Reject(facts) => format!("REJECT: {}", facts.code),
        Facts::Result(facts) => result(facts),
        Facts::Verify(facts) => match facts.dispute_code {
            None => "VERIFY: the result is good".to_owned(),
            Some(code) => format!("VERIFY: disputed, {code}"),
        },
        Facts::Payment(facts) => payment(facts),
        Facts::Error(facts) => format!("ERROR {} {}", facts.code, facts.code.name()),
        Facts::Negotiation(facts) => negotiation(facts),
        Facts::Capability(facts) => capability::message(facts),
        Facts::Consensus(facts) => round::message(facts),
        Facts::Custom(_) => "a message of its own type".to_owned(),
    }
}

fn negotiation(facts: &NegotiationFacts) -> String {
    match facts {
        NegotiationFacts::Offer(offer) => format!("offer of terms: {}", terms(&offer.terms)),
        NegotiationFacts::Counter(counter) => format!("other terms: {}", terms(&counter.terms)),
        NegotiationFacts::Accept(_) => "the terms are agreed on".to_owned(),
        NegotiationFacts::Reject(_) => "the terms are rejected".to_owned(),
        NegotiationFacts::Withdraw(_) => "the terms are withdrawn".to_owned(),
    }
}

fn terms(terms: &TermsFacts) -> String {
    let amount = match terms.amount {
        Some(amount) => usdc(amount),
        None => format!("an amount in {}", terms.currency),
    };
    format!("{amount} as {}, to {}", terms.amount_of, terms.payee)
}

fn request(facts: &RequestFacts) -> String {
    let contract = facts.negotiation_id;
    let under = contract.map(|id| format!(", under the contract {}", id.to_public()));
    let agreement = facts.agreement_id;
    let within = agreement.map(|id| format!(", under the agreement {id}"));
    format!(
        "REQUEST: {}, at most {}, within {} s of work, policy {}{}{}",
        facts.task_type,
        usdc(facts.max_budget),
        facts.deadline_s,
        facts.acceptance_policy,
        under.unwrap_or_default(),
        within.unwrap_or_default()
    )
}

fn offer(facts: &OfferFacts) -> String {
    format!(
        "OFFER: {} + {} fee = {}, {} s of work",
        facts.price.to_usdc_decimal(),
        facts.protocol_fee.to_usdc_decimal(),
        usdc(facts.total_cost),
        facts.estimated_time_s
    )
}

fn result(facts: &ResultFacts) -> String {
    let place = match (facts.location, facts.content_matches) {
        (Location::Inline, Some(false)) => "inline, and it does NOT have the stated hash",
        (Location::Inline, _) => "inline, with the stated hash",
        (Location::Url, _) => "behind a URL",
    };
    format!("RESULT: {}, {place}", facts.content_type)
}

fn payment(facts: &PaymentFacts) -> String {
    let fee = facts.fee_tx_hash.map(|hash| format!(" and {hash}"));
    format!(
        "PAYMENT: {} by {}{} on {}",
        usdc(facts.amount),
        facts.tx_hash,
        fee.unwrap_or_default(),
        facts.network
    )
}

/// What a record says.
pub fn event(event: &Event) -> String {
    match event {
        Event::Ledger(event) => of_the_ledger(event),
        Event::Network(event) => of_a_network(event),
        Event::Agent(event) => of_an_agent(event),
        Event::EnvelopeAccepted(accepted) => accepted_message(accepted),
        Event::Lapsed(lapsed) => lapse(lapsed),
        Event::Settlement(event) => of_a_payment(event),
        Event::CycleDrawn(drawn) => format!(
            "block {} drew {} among {} rounds that block each other",
            drawn.block.number,
            drawn.winner,
            drawn.rounds.len()
        ),
        Event::NoticeIssued(issued) => notice(issued),
        Event::StateRoot(_) => "root of all states".to_owned(),
        Event::Effect(effect) => self::effect(effect),
    }
}

fn of_the_ledger(event: &LedgerEvent) -> String {
    match event {
        LedgerEvent::Opened(opened) => format!("the ledger {} was opened", opened.did),
        LedgerEvent::ParametersSet(_) => "the ledger's parameters were set".to_owned(),
        LedgerEvent::RulesChanged(_) => "the decision rules changed".to_owned(),
        LedgerEvent::KeyRotated(rotated) => {
            format!("the ledger's {} key was replaced", rotated.role)
        }
        LedgerEvent::Resumed(resumed) => resumption(*resumed),
        LedgerEvent::BodiesErased(erased) => erasure(erased),
        LedgerEvent::ExclusionLifted(lifted) => format!(
            "the exclusion of record {} is lifted, by order of {}",
            lifted.excluded, lifted.operator
        ),
    }
}

fn resumption(resumed: LedgerResumed) -> String {
    let back = format!("the ledger is back after {} ms", resumed.gap_ms);
    match resumed.checkpoint_adopted {
        true => format!("{back}, without its last checkpoint"),
        false => back,
    }
}

fn of_a_network(event: &NetworkEvent) -> String {
    match event {
        NetworkEvent::Blind(blind) => {
            let told = if blind.silent.is_empty() {
                String::new()
            } else {
                format!(", no answer from {}", blind.silent.join(", "))
            };
            format!(
                "the network is out of sight: {}{told}",
                blind.cause.explanation()
            )
        }
        NetworkEvent::Sighted(sighted) => {
            format!("the network is in sight, block {}", sighted.head.number)
        }
    }
}

fn of_an_agent(event: &AgentEvent) -> String {
    let agent = &event.envelope().from;
    match event {
        AgentEvent::Registered(_) => format!("{agent} registered"),
        AgentEvent::Updated(_) => format!("{agent} changed its entry"),
        AgentEvent::KeyRotated(_) => format!("{agent} replaced a key"),
        AgentEvent::Deactivated(_) => format!("{agent} is deactivated"),
        AgentEvent::Reactivated(_) => format!("{agent} is active again"),
        AgentEvent::Revoked(_) => format!("{agent} is revoked"),
    }
}

fn of_a_payment(event: &SettlementEvent) -> String {
    match event {
        SettlementEvent::Looked(looked) => look(looked),
        SettlementEvent::Seen(seen) => {
            format!("{} is in block {}", seen.tx_hash, seen.block.number)
        }
        SettlementEvent::Unseen(named) => format!(
            "{} is in no block any more: Base reorganised",
            named.tx_hash
        ),
        SettlementEvent::Refuted(refuted) => refutation(refuted),
        SettlementEvent::Confirmed(confirmed) => confirmation(confirmed),
        SettlementEvent::Final(done) => format!(
            "final: no reorganisation can take the payment away, block {} is finalized",
            done.head.number
        ),
        SettlementEvent::Reversed(reversed) => format!(
            "REVERSED: {} was confirmed and then disappeared, the money is not there",
            reversed.tx_hash
        ),
        SettlementEvent::Returned(named) => {
            format!("{} is back and confirmed, it counts again", named.tx_hash)
        }
        SettlementEvent::Late(late) => format!(
            "came late, the state stays: {}",
            evidence_list(&late.evidence)
        ),
    }
}

/// A message of its own type is named by that type.
fn accepted_message(accepted: &EnvelopeAccepted) -> String {
    match &accepted.envelope.message_type {
        MessageType::Custom(custom) if matches!(accepted.facts, Facts::Custom(_)) => {
            custom.as_str().to_owned()
        }
        MessageType::Custom(_) | MessageType::Core(_) => message(&accepted.facts),
    }
}

fn lapse(lapsed: &Lapsed) -> String {
    format!(
        "the {} passed: {} {}",
        window(lapsed.window),
        lapsed.code,
        lapsed.code.name()
    )
}

/// What follows from a record of another subject, or in a round.
fn effect(effect: &Effect) -> String {
    match effect {
        Effect::Engaged(engaged) => format!(
            "the contract is engaged: interaction {} was opened by it",
            engaged.interaction
        ),
        Effect::SessionClosed(closed) => capability::session_closed(closed),
        Effect::Agreed(agreed) => capability::agreed(agreed),
        Effect::Used(used) => {
            format!("used: interaction {} is under it", used.interaction)
        }
        Effect::BreachRecorded(breach) => capability::breached(breach),
        Effect::Excluded(excluded) => capability::excluded(excluded),
        Effect::RoundOpened(opened) => round::opened(opened),
        Effect::RoundDecided(decided) => round::decided(decided),
        Effect::Resubmitted(resubmitted) => {
            format!("it was proposed again as {}", resubmitted.round)
        }
        Effect::RoundEscalated(escalated) => round::escalated(escalated),
        Effect::AnomalyNoted(noted) => round::noted(noted),
    }
}

/// The window's name in a sentence.
fn window(window: LapsedWindow) -> &'static str {
    match window {
        LapsedWindow::Interaction(Window::Offer) => "time for an OFFER",
        LapsedWindow::Interaction(Window::Accept) => "time for an ACCEPT",
        LapsedWindow::Interaction(Window::Result) => "time for the RESULT",
        LapsedWindow::Interaction(Window::Verify) => "time for the VERIFY",
        LapsedWindow::Interaction(Window::Payment) => "time for the PAYMENT",
        LapsedWindow::Interaction(Window::Confirmation) => "time for the confirmation",
        LapsedWindow::Contract(ContractWindow::Contract) => "time to answer the terms",
        LapsedWindow::Contract(ContractWindow::Engagement) => "time for the REQUEST",
        LapsedWindow::Session(SessionWindow::Response) => "time for the response",
        LapsedWindow::Session(SessionWindow::Session) => "life of the session",
        LapsedWindow::Session(SessionWindow::Agree) => "time for both signatures",
        LapsedWindow::Agreement(AgreementWindow::Agreement) => "duration of the agreement",
        LapsedWindow::Round(window) => round::window(window),
    }
}

fn look(looked: &Looked) -> String {
    let findings: Vec<String> = looked
        .finding
        .iter()
        .map(|finding| {
            let status = match (finding.status, finding.depth) {
                (FindingStatus::NotFound, _) => "not found".to_owned(),
                (FindingStatus::Seen, Some(depth)) => format!("{depth} blocks deep"),
                (FindingStatus::Seen, None) => "in a block".to_owned(),
                (FindingStatus::Insufficient, _) => "not enough".to_owned(),
                (FindingStatus::Refuted, _) => "refuted".to_owned(),
            };
            format!("{} {status}", short_hash(finding.tx_hash))
        })
        .collect();
    format!(
        "look {} of 4 at block {}: {}",
        looked.look,
        looked.head.number,
        findings.join(", ")
    )
}

fn refutation(refuted: &Refuted) -> String {
    format!(
        "{} does not pay: {}",
        refuted.tx_hash,
        refuted.cause.explanation(refuted.reason)
    )
}

fn confirmation(confirmed: &Confirmed) -> String {
    match confirmed.evidence.as_slice() {
        [] => "paid: nothing was due".to_owned(),
        evidence => format!("paid: {}", evidence_list(evidence)),
    }
}

fn notice(issued: &NoticeIssued) -> String {
    let code = issued
        .code
        .map(|code| format!(" of {code} {}", code.name()));
    format!("notice{} to {}", code.unwrap_or_default(), issued.to)
}

fn erasure(erased: &BodiesErased) -> String {
    format!(
        "the bodies of {} records of a finished {} were erased ({})",
        erased.positions.len(),
        match erased.order.as_ref().map(|order| order.subject) {
            Some(Subject::Contract(_)) => "negotiation",
            Some(subject) => subject.kind(),
            None => "interaction",
        },
        erased.reason_code
    )
}

/// Each transaction with its block and depth.
pub fn evidence_list(evidence: &[Evidence]) -> String {
    let each: Vec<String> = evidence
        .iter()
        .map(|seen| {
            format!(
                "{} in block {} of {}, {} deep",
                seen.tx_hash, seen.block.number, seen.network, seen.depth
            )
        })
        .collect();
    each.join("; ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn distances_are_in_whole_seconds() {
        let at = TimestampMs::new;
        let table = [
            (1_000, 1_000, "in 0 s"),
            (2_001, 1_000, "in 2 s"),
            (1_000, 61_000, "60 s ago"),
        ];
        for (then, now, expected) in table {
            let text = moment(at(then), at(now));
            assert!(text.ends_with(&format!("({expected})")), "{text}");
        }
    }

    #[test]
    fn hashes_are_cut_to_what_one_recognises() {
        assert_eq!(short_hash("0x0123456789abcdef0123"), "0x0123456789ab…");
        assert_eq!(short_hash("short"), "short");
    }

    #[test]
    fn records_read_as_sentences() {
        let hash = format!("0x{}", "ab".repeat(32));
        let block = json!({"number": 20, "hash": hash, "timestamp_s": 1});
        let lapsed = json!({"type": "lapsed", "window": "payment", "code": "X811-4024"});
        let looked = json!({"type": "looked", "look": 2, "due_at_ms": 1, "head": block,
            "finding": [{"tx_hash": hash, "status": "seen", "depth": 3}]});
        let table = [
            (
                lapsed,
                "the time for the PAYMENT passed: X811-4024 PAYMENT_TIMEOUT".to_owned(),
            ),
            (
                looked,
                "look 2 of 4 at block 20: 0xabababababab… 3 blocks deep".to_owned(),
            ),
            (
                json!({"type": "seen", "tx_hash": hash, "block": block, "transfers": []}),
                format!("{hash} is in block 20"),
            ),
            (
                json!({"type": "unseen", "tx_hash": hash}),
                format!("{hash} is in no block any more: Base reorganised"),
            ),
            (
                json!({"type": "final", "head": block}),
                "final: no reorganisation can take the payment away, block 20 is finalized"
                    .to_owned(),
            ),
            (
                json!({"type": "reversed", "tx_hash": hash, "provider_seq": 1,
                    "provider_prev": "0".repeat(64)}),
                format!(
                    "REVERSED: {hash} was confirmed and then disappeared, the money is not there"
                ),
            ),
            (
                json!({"type": "returned", "tx_hash": hash}),
                format!("{hash} is back and confirmed, it counts again"),
            ),
            (
                json!({"type": "late", "claims": [], "evidence": [{
                    "network": "local", "tx_hash": hash, "block": block, "depth": 3,
                    "level": "confirmed", "endpoints": ["rpc"], "transfers": [],
                    "transfer_count": 0}]}),
                format!("came late, the state stays: {hash} in block 20 of local, 3 deep"),
            ),
        ];
        for (value, expected) in table {
            assert_eq!(event(&Event::from_value(&value).unwrap()), expected);
        }
    }
}
