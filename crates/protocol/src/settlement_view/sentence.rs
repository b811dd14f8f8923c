//! The view in one sentence: where the money is; what happens next and when.

use super::{Due, MoneyStanding, NextStep, SettlementClock, SettlementView, TransactionStanding};
use crate::code::Code;
use crate::event::{RefutedCause, RevertReason, Window};
use crate::interaction::StateName;
use crate::money::MicroUsdc;
use crate::observation::BlindCause;
use crate::time::TimestampMs;

pub(super) fn of(view: &SettlementView) -> String {
    let next = next(view);
    let money = money(view);
    if next.is_empty() {
        return money;
    }
    format!("{money}; {next}")
}

/// Where the money is.
fn money(view: &SettlementView) -> String {
    match view.standing {
        MoneyStanding::NotDue => format!("nothing is due yet: the interaction is {}", view.state),
        MoneyStanding::NotDeclared => "not declared: the initiator has named no transaction".to_owned(),
        MoneyStanding::Declared => declared(view),
        MoneyStanding::Seen { depth, of } => seen(view, depth, of),
        MoneyStanding::WaitingForSafe { depth } => {
            format!("seen, {depth} blocks deep; a total this large waits until its block is safe")
        }
        MoneyStanding::TooManyTransfers => "seen, and enough in all, but in more transfers than one record \
                                       can name, of which the largest 64 do not cover the total: name \
                                       one more transaction that does with them"
            .to_owned(),
        MoneyStanding::Refused {
            cause,
            reason,
            code,
            tx_hash,
        } => format!(
            "refused because {}: {tx_hash}, {}{}",
            cause.explanation(reason),
            named(code),
            cause.remedy()
        ),
        MoneyStanding::Confirmed => format!("confirmed: {}", paid(view)),
        MoneyStanding::Safe => format!("confirmed and safe: {}", paid(view)),
        MoneyStanding::Final => format!("final: {}, for good", paid(view)),
        MoneyStanding::InNoBlock { tx_hash } => format!(
            "confirmed, but {tx_hash} is at the moment in no block: a reorganisation took it out"
        ),
        MoneyStanding::Reversed { tx_hash } => {
            format!("REVERSED: {tx_hash} was confirmed and then disappeared")
        }
        MoneyStanding::Returned => format!("confirmed again: {}, after it had disappeared", paid(view)),
        MoneyStanding::Late { in_full } => format!(
            "paid late{}: {}, after the dispute, which stays",
            if in_full { "" } else { ", and not all" },
            paid(view)
        ),
        MoneyStanding::Disputed { code, dispute_code } => match (dispute_code, code) {
            (Some(dispute_code), _) => {
                format!("disputed: the initiator does not take the result, {dispute_code}")
            }
            (None, Some(code)) => format!("disputed: {}", named(code)),
            (None, None) => "disputed".to_owned(),
        },
        MoneyStanding::NothingDue => "nothing was due".to_owned(),
        MoneyStanding::Closed { code } => closed(view.state, code),
    }
}

fn declared(view: &SettlementView) -> String {
    let named = transactions(view);
    let text = format!(
        "declared, not seen: the initiator named {named}, in no block that this ledger follows"
    );
    match view.failures {
        0 => text,
        _ => format!("{text} (the hash of a user operation is no transaction hash)"),
    }
}

fn seen(view: &SettlementView, depth: Option<u64>, of: Option<u64>) -> String {
    let mut text = match (depth, of) {
        (Some(depth), Some(of)) => format!("seen, {depth} of {of} blocks"),
        (Some(depth), None) => format!("seen, {depth} blocks deep"),
        (None, _) => "seen, in a block".to_owned(),
    };
    let unseen = view.transactions.iter();
    let unseen = unseen.filter(|known| known.standing == TransactionStanding::Unseen);
    match unseen.count() {
        0 => {}
        1 => text.push_str(", one more transaction not seen"),
        more => text.push_str(&format!(", {more} more transactions not seen")),
    }
    let mut insufficient = view.transactions.iter();
    if insufficient.any(|known| known.standing == TransactionStanding::Insufficient) {
        text.push_str(", but what was named does not cover the total");
    }
    text
}

/// What came, and in which transactions.
fn paid(view: &SettlementView) -> String {
    let surplus = if view.surplus_micro_usdc.is_zero() {
        String::new()
    } else {
        format!(", {} of it too much", usdc(view.surplus_micro_usdc))
    };
    let claimed = view.transactions.iter().filter(|known| {
        let mut claims = view.claims.iter();
        claims.any(|claim| claim.tx_hash == known.tx_hash)
    });
    let each: Vec<String> = claimed
        .map(|known| match known.block_number {
            Some(number) => format!("{} in block {number}", known.tx_hash),
            None => format!("{}, at the moment in no block", known.tx_hash),
        })
        .collect();
    let amount = usdc(view.paid_micro_usdc);
    format!("{amount}{surplus} by {}", each.join(" and "))
}

fn closed(state: StateName, code: Option<Code>) -> String {
    let code = code.map(|code| format!(", {}", named(code)));
    format!(
        "nothing came due: the interaction is {state}{}",
        code.unwrap_or_default()
    )
}

/// What happens next and when, and how the clock stands.
fn next(view: &SettlementView) -> String {
    if view.next.what == NextStep::Nothing {
        return String::new();
    }
    let mut parts = [step(view), stopped(view)].to_vec();
    parts.retain(|part| !part.is_empty());
    parts.join("; ")
}

fn step(view: &SettlementView) -> String {
    let at = view.next.at_ms.map(until).unwrap_or_default();
    match view.next.what {
        NextStep::Message => match view.live.due {
            Some(Due::Window { window, .. }) => format!("next, {}{at}", awaited(window)),
            Some(Due::Look { .. } | Due::Watch { .. }) | None => String::new(),
        },
        NextStep::Payment => format!("next, its PAYMENT{at}, else the interaction is disputed"),
        NextStep::Confirmation => match view.next.at_ms {
            Some(at) => format!(
                "next, the confirmation; without it both parties are told at {}, and four looks \
                 follow",
                at.to_rfc3339()
            ),
            None => "next, the confirmation".to_owned(),
        },
        NextStep::Look => look(view),
        NextStep::Final => "next, final once no reorganisation can take it away".to_owned(),
        NextStep::Return => match again_in(view) {
            Some(number) => format!(
                "it is in block {number} again, and counts once it is deep enough{}",
                if at.is_empty() {
                    at
                } else {
                    format!(", if that is{at}")
                }
            ),
            None => format!("it counts again if it comes back{at}"),
        },
        NextStep::Late => format!("a transfer that still comes is recorded{at}"),
        NextStep::Sight | NextStep::Nothing => String::new(),
    }
}

/// The block that a transaction which had disappeared is in again.
fn again_in(view: &SettlementView) -> Option<u64> {
    let MoneyStanding::Reversed { tx_hash } = view.standing else {
        return None;
    };
    let mut transactions = view.transactions.iter();
    let reversed = transactions.find(|known| known.tx_hash == tx_hash)?;
    reversed.block_number
}

fn look(view: &SettlementView) -> String {
    let Some(Due::Look { look, at_ms }) = view.live.due else {
        return String::new();
    };
    format!(
        "next, look {look} of 4 at {}, with {} of {} failures so far",
        at_ms.to_rfc3339(),
        view.failures,
        view.failures_to_dispute
    )
}

/// The clock stands still, and where it goes on.
fn stopped(view: &SettlementView) -> String {
    let SettlementClock::Stopped {
        since_ms,
        cause,
        operator_called_at_ms,
    } = view.live.clock
    else {
        return String::new();
    };
    let why = cause.map(|cause| format!(" because {}", cause.explanation()));
    let mut text = format!(
        "its clock stands still since {}{}, and nothing is held against anybody",
        since_ms.to_rfc3339(),
        why.unwrap_or_default()
    );
    if let Some(due) = view.live.due {
        let left_s = due.at_ms().since(view.live.as_of_ms).div_ceil(1_000);
        let what = match due {
            Due::Window { .. } => "the end of the confirmation's time".to_owned(),
            Due::Look { look, .. } => format!("look {look} of 4"),
            Due::Watch { .. } => "the end of what is recorded".to_owned(),
        };
        text.push_str(&format!(
            "; next, {what} {left_s} s after the network is seen again"
        ));
    }
    if let Some(called) = operator_called_at_ms {
        text.push_str(&format!(
            "; the operator is called at {}",
            called.to_rfc3339()
        ));
    }
    text
}

fn awaited(window: Window) -> &'static str {
    match window {
        Window::Offer => "the OFFER",
        Window::Accept => "an ACCEPT or REJECT",
        Window::Result => "the RESULT",
        Window::Verify => "the VERIFY",
        Window::Payment => "the PAYMENT",
        Window::Confirmation => "the confirmation",
    }
}

fn until(at: TimestampMs) -> String {
    format!(" until {}", at.to_rfc3339())
}

fn transactions(view: &SettlementView) -> String {
    let hashes: Vec<String> = view
        .transactions
        .iter()
        .map(|known| known.tx_hash.to_string())
        .collect();
    hashes.join(" and ")
}

fn named(code: Code) -> String {
    format!("{code} {}", code.name())
}

fn usdc(amount: MicroUsdc) -> String {
    format!("{} USDC", amount.to_usdc_decimal())
}

impl RefutedCause {
    /// Why the transaction does not pay, and why it reverted where that is known; to go behind
    /// "because".
    pub fn explanation(self, reason: Option<RevertReason>) -> &'static str {
        match self {
            RefutedCause::Reverted => match reason {
                None => "it reverted",
                Some(RevertReason::TokenPaused) => "it reverted: USDC was paused",
                Some(RevertReason::PayerBlacklisted) => "it reverted: the payer was blacklisted",
                Some(RevertReason::PayeeBlacklisted) => "it reverted: the payee was blacklisted",
            },
            RefutedCause::WrongToken => "it moved no USDC (USDbC and other tokens do not count)",
            RefutedCause::UsedAlready => "it already paid another interaction",
            RefutedCause::OlderThanAccept => "it is older than the ACCEPT",
            RefutedCause::Short => "it is too little",
            RefutedCause::OtherPayee => {
                "it moved nothing from the payer to the payee: somebody else was paid, or the money \
                 came from another account, such as one of an exchange"
            }
            RefutedCause::Unauthorized => {
                "it was not made under this interaction's authorization: under another one, as \
                 payments by x402 are, or from an account that is not bound and under none"
            }
        }
    }
}

impl RefutedCause {
    /// What the parties can do, to go behind the reason; empty where the next step says it.
    fn remedy(self) -> &'static str {
        match self {
            RefutedCause::WrongToken => "; the total is still due in USDC",
            RefutedCause::OtherPayee | RefutedCause::Unauthorized => {
                "; what the payee got by it has to be returned, and the total paid from a bound wallet or \
                 under this interaction's authorization"
            }
            RefutedCause::Reverted
            | RefutedCause::UsedAlready
            | RefutedCause::OlderThanAccept
            | RefutedCause::Short => "",
        }
    }
}

impl BlindCause {
    /// Why the network cannot be seen, to go behind "because".
    pub fn explanation(self) -> &'static str {
        match self {
            BlindCause::Unreachable => "no endpoint answers",
            BlindCause::StaleHead => "the newest block is old",
            BlindCause::WrongChain => "an endpoint answers for another chain",
        }
    }
}
