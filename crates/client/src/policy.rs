//! Acceptance policies: what the initiator's software does with an OFFER (AE-109 to AE-117).
//!
//! A pure function over facts. What a provider says of itself in the OFFER decides nothing: its
//! status and its trust come from the registry (AX-36).

use std::fmt;
use std::str::FromStr;

use x811_protocol::answer::AgentStatus;
use x811_protocol::code::Code;
use x811_protocol::facts::{AcceptancePolicy, OfferFacts, RejectCode, RequestFacts};

/// What to do with an OFFER.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferVerdict {
    /// Send the ACCEPT.
    Accept,
    /// Ask a person while the OFFER lives; without an answer the ledger lets it expire with
    /// X811-4021 (AE-113, AE-114).
    AskPerson,
    /// Send a REJECT with both codes.
    Reject {
        /// The REJECT's `code`.
        code: RejectCode,
        /// The REJECT's `error_code` (AX-36).
        error_code: Code,
    },
}

/// What the registry says of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provider {
    /// Whether its DID may act.
    pub status: ProviderStatus,
    /// What it has earned.
    pub trust: Trust,
}

/// Whether a provider's DID may act (AX-31).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderStatus {
    /// Yes, and its document is valid.
    Active,
    /// Not now: it is out of use until it is reactivated.
    Deactivated,
    /// Past its time.
    Expired,
    /// Never again: it is out of use for good.
    Revoked,
    /// Its document is not valid.
    InvalidDocument,
}

impl From<AgentStatus> for ProviderStatus {
    fn from(status: AgentStatus) -> ProviderStatus {
        match status {
            AgentStatus::Active => ProviderStatus::Active,
            AgentStatus::Deactivated => ProviderStatus::Deactivated,
            AgentStatus::Expired => ProviderStatus::Expired,
            AgentStatus::Revoked => ProviderStatus::Revoked,
        }
    }
}

/// Judges an OFFER by the policy its REQUEST declared.
///
/// | policy | total | verdict |
/// |---|---|---|
/// | any | any | reject when the provider's DID may not act (AE-112) |
/// | `auto` | any | accept if budget, time and trust hold, else reject (AE-110, AE-111) |
/// | `human_approval` | any | ask a person (AE-113) |
/// | `threshold` | up to the threshold | as `auto` (AE-115) |
/// | `threshold` | up to the budget | ask a person (AE-116) |
/// | `threshold` | above the budget | reject (AE-117) |
///
/// A missing `threshold_amount` counts as zero (AX-13). `minimum_trust` is the initiator's own
/// setting, 0 by default.
pub fn judge(
    offer: &OfferFacts,
    request: &RequestFacts,
    provider: Provider,
    minimum_trust: Trust,
) -> OfferVerdict {
    let fault = first_fault(offer, request, provider, minimum_trust);
    let alone = fault.map_or(OfferVerdict::Accept, reject);
    let with_a_person = match (provider.status, fault) {
        (ProviderStatus::Active, _) => OfferVerdict::AskPerson,
        (_, code) => reject(code.unwrap_or(RejectCode::PolicyRejected)),
    };
    match request.acceptance_policy {
        AcceptancePolicy::Auto => alone,
        AcceptancePolicy::HumanApproval => with_a_person,
        AcceptancePolicy::Threshold if offer.total_cost <= request.threshold() => alone,
        AcceptancePolicy::Threshold if offer.total_cost > request.max_budget => {
            reject(RejectCode::PriceTooHigh)
        }
        AcceptancePolicy::Threshold => with_a_person,
    }
}

/// The REJECT code of the first check that fails, in the order of AX-36.
fn first_fault(
    offer: &OfferFacts,
    request: &RequestFacts,
    provider: Provider,
    minimum_trust: Trust,
) -> Option<RejectCode> {
    if offer.total_cost > request.max_budget {
        Some(RejectCode::PriceTooHigh)
    } else if offer.estimated_time_s > request.deadline_s {
        Some(RejectCode::DeadlineTooShort)
    } else if provider.trust < minimum_trust {
        Some(RejectCode::TrustTooLow)
    } else if provider.status != ProviderStatus::Active {
        Some(RejectCode::PolicyRejected)
    } else {
        None
    }
}

fn reject(code: RejectCode) -> OfferVerdict {
    OfferVerdict::Reject {
        code,
        error_code: Code::PolicyRejected,
    }
}

/// A trust score from 0 to 1 (AE-6), kept as ten-thousandths so that comparing is exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Trust(u16);

impl Trust {
    /// No trust, and as a minimum: anyone will do (AE-110).
    pub const ZERO: Trust = Trust(0);
    /// What a new agent starts with (AE-6).
    pub const NEW_AGENT: Trust = Trust(5_000);
    /// The most trust that there is.
    pub const FULL: Trust = Trust(10_000);

    /// A score as the ledger counts it, in hundredths; more than one whole is one whole.
    pub const fn of_hundredths(hundredths: u8) -> Trust {
        let hundredths = if hundredths > 100 { 100 } else { hundredths };
        Trust(hundredths as u16 * 100)
    }
}

impl FromStr for Trust {
    type Err = TrustError;

    /// Reads `0`, `1`, `1.0` or `0.` and up to four digits.
    fn from_str(text: &str) -> Result<Trust, TrustError> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if !matches!(whole, "0" | "1") || !is_digits(fraction) || !(1..=4).contains(&fraction.len())
        {
            return Err(TrustError);
        }
        let ten_thousandths: u16 = format!("{whole}{fraction:0<4}")
            .parse()
            .map_err(|_| TrustError)?;
        if ten_thousandths > Trust::FULL.0 {
            return Err(TrustError);
        }
        Ok(Trust(ten_thousandths))
    }
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = format!("{:04}", self.0 % 10_000);
        let fraction = match fraction.trim_end_matches('0') {
            "" => "0",
            digits => digits,
        };
        write!(f, "{}.{fraction}", self.0 / 10_000)
    }
}

/// The text is no trust score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a trust score: write a number from 0 to 1 with at most four decimals, such as 0.75")]
pub struct TrustError;

#[cfg(test)]
mod tests {
    use x811_protocol::digest::Digest;
    use x811_protocol::money::MicroUsdc;

    use super::*;
    use AcceptancePolicy::{Auto, HumanApproval, Threshold};
    use OfferVerdict::{Accept, AskPerson};
    use ProviderStatus::{Active, Deactivated, Expired, InvalidDocument, Revoked};

    fn usdc(text: &str) -> MicroUsdc {
        MicroUsdc::from_usdc_decimal(text).unwrap()
    }

    fn request(policy: AcceptancePolicy, budget: &str, threshold: Option<&str>) -> RequestFacts {
        RequestFacts {
            agreement_id: None,
            negotiation_id: None,
            task_type: "echo".to_owned(),
            max_budget: usdc(budget),
            deadline_s: 60,
            acceptance_policy: policy,
            threshold_amount: threshold.map(usdc),
            idempotency_tag: Digest::ZERO,
            payload_hash: Digest::ZERO,
        }
    }

    fn offer(total: &str, estimated_time_s: u64) -> OfferFacts {
        OfferFacts {
            deliverables_hash: Digest::ZERO,
            request_id: "0190a1b2-c3d4-7e5f-8901-234567890abc".parse().unwrap(),
            price: usdc(total),
            protocol_fee: MicroUsdc::ZERO,
            total_cost: usdc(total),
            estimated_time_s,
            expiry_s: 300,
            payment_address: None,
            payload_hash: Digest::ZERO,
        }
    }

    fn provider(status: ProviderStatus, trust: &str) -> Provider {
        Provider {
            status,
            trust: trust.parse().unwrap(),
        }
    }

    fn rejected(code: RejectCode) -> OfferVerdict {
        OfferVerdict::Reject {
            code,
            error_code: Code::PolicyRejected,
        }
    }

    #[test]
    fn ae_110_and_ae_111_auto_accepts_if_and_only_if_all_hold() {
        let price = rejected(RejectCode::PriceTooHigh);
        let time = rejected(RejectCode::DeadlineTooShort);
        let trust = rejected(RejectCode::TrustTooLow);
        // total, estimated seconds, provider's trust, minimum
        let table = [
            ("0.05", 60, "0.5", "0", Accept),
            ("0.049999", 1, "0", "0", Accept),
            ("0", 60, "0.7", "0.7", Accept),
            ("0.050001", 60, "0.5", "0", price),
            ("0.05", 61, "0.5", "0", time),
            ("0.05", 60, "0.6999", "0.7", trust),
        ];
        for (total, seconds, has, needs, expected) in table {
            let verdict = judge(
                &offer(total, seconds),
                &request(Auto, "0.05", None),
                provider(Active, has),
                needs.parse().unwrap(),
            );
            assert_eq!(verdict, expected, "{total} {seconds} s {has} of {needs}");
        }
    }

    #[test]
    fn ax_036_the_first_failed_check_names_the_code() {
        let request = request(Auto, "0.05", None);
        let table = [
            ("0.06", 61, "0.1", Revoked, RejectCode::PriceTooHigh),
            ("0.05", 61, "0.1", Revoked, RejectCode::DeadlineTooShort),
            ("0.05", 60, "0.1", Revoked, RejectCode::TrustTooLow),
            ("0.05", 60, "0.5", Revoked, RejectCode::PolicyRejected),
        ];
        for (total, seconds, trust, status, code) in table {
            let offer = offer(total, seconds);
            let verdict = judge(&offer, &request, provider(status, trust), Trust::NEW_AGENT);
            assert_eq!(verdict, rejected(code), "{total} {seconds} {trust}");
        }
    }

    #[test]
    fn ae_112_a_provider_that_may_not_act_is_never_accepted_nor_shown_to_a_person() {
        for status in [Deactivated, Expired, Revoked, InvalidDocument] {
            for policy in [Auto, HumanApproval, Threshold] {
                for threshold in [None, Some("0.02"), Some("0.05")] {
                    let verdict = judge(
                        &offer("0.03", 60),
                        &request(policy, "0.05", threshold),
                        provider(status, "1"),
                        Trust::ZERO,
                    );
                    let expected = rejected(RejectCode::PolicyRejected);
                    assert_eq!(verdict, expected, "{status:?} {policy} {threshold:?}");
                }
            }
        }
    }

    #[test]
    fn ae_113_human_approval_always_asks() {
        for (total, seconds, trust) in [("0", 1, "1"), ("0.05", 60, "0.5"), ("0.05", 99, "0")] {
            let verdict = judge(
                &offer(total, seconds),
                &request(HumanApproval, "0.05", None),
                provider(Active, trust),
                Trust::NEW_AGENT,
            );
            assert_eq!(verdict, AskPerson, "{total} {seconds} {trust}");
        }
    }

    #[test]
    fn ae_115_to_ae_117_and_ax_013_threshold() {
        let too_high = rejected(RejectCode::PriceTooHigh);
        // threshold, total
        let table = [
            (Some("0.02"), "0.019999", Accept),
            (Some("0.02"), "0.02", Accept),
            (Some("0.02"), "0.020001", AskPerson),
            (Some("0.02"), "0.05", AskPerson),
            (Some("0.02"), "0.050001", too_high),
            // A threshold above the budget changes nothing about the budget.
            (Some("0.09"), "0.05", Accept),
            (Some("0.09"), "0.06", too_high),
            (Some("0.09"), "0.1", too_high),
            // AX-13: absent is zero, and a price of zero is not above it.
            (None, "0.000001", AskPerson),
            (None, "0", Accept),
            (Some("0"), "0.000001", AskPerson),
        ];
        for (threshold, total, expected) in table {
            let verdict = judge(
                &offer(total, 60),
                &request(Threshold, "0.05", threshold),
                provider(Active, "0.5"),
                Trust::ZERO,
            );
            assert_eq!(verdict, expected, "{threshold:?} {total}");
        }
    }

    #[test]
    fn ae_115_below_the_threshold_time_and_trust_count_as_in_auto() {
        let request = request(Threshold, "0.05", Some("0.04"));
        let judge = |seconds, trust: &str| {
            let provider = provider(Active, trust);
            judge(
                &offer("0.03", seconds),
                &request,
                provider,
                Trust::NEW_AGENT,
            )
        };
        assert_eq!(judge(60, "0.5"), Accept);
        assert_eq!(judge(61, "0.5"), rejected(RejectCode::DeadlineTooShort));
        assert_eq!(judge(60, "0.4"), rejected(RejectCode::TrustTooLow));
    }

    #[test]
    fn ae_006_trust_is_a_number_from_0_to_1() {
        let table = [
            ("0", "0.0"),
            ("0.5", "0.5"),
            ("0.75", "0.75"),
            ("1", "1.0"),
            ("1.0000", "1.0"),
        ];
        for (text, shown) in table {
            assert_eq!(text.parse::<Trust>().unwrap().to_string(), shown);
        }
        for bad in [
            "", "1.1", "2", "-0", "0.", ".5", "0.12345", "0,5", "1.0001", "00.5", "0.+1",
        ] {
            assert_eq!(bad.parse::<Trust>(), Err(TrustError), "{bad}");
        }
    }
}
