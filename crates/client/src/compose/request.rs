//! `x811/request` (AE-40 to AE-48).

use serde_json::{Map, Number, Value};
use x811_protocol::envelope::{CoreType, MessageType};
use x811_protocol::facts::AcceptancePolicy;
use x811_protocol::money::MicroUsdc;

use super::{ComposeError, Members, Payload};

/// Asks a provider for an offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// A capability the provider registered.
    pub task_type: String,
    /// What the task needs.
    pub parameters: Map<String, Value>,
    /// The most that may be paid, protocol fee included.
    pub max_budget: MicroUsdc,
    /// How long the work may take, in seconds.
    pub deadline_s: u64,
    /// How offers will be judged.
    pub acceptance_policy: AcceptancePolicy,
    /// Up to which total policy `threshold` accepts alone.
    pub threshold_amount: Option<MicroUsdc>,
    /// Recorded, never called by the ledger (AX-14).
    pub callback_url: Option<String>,
    /// The same key with the same payload opens one interaction, however often it is sent (AX-12).
    pub idempotency_key: String,
}

impl Payload for Request {
    fn message_type(&self) -> MessageType {
        CoreType::Request.into()
    }

    fn members(&self) -> Result<Map<String, Value>, ComposeError> {
        let threshold = self.threshold_amount.map(json_number).transpose()?;
        let members = Members::default()
            .set_text("task_type", &self.task_type)
            .set("parameters", self.parameters.clone())
            .set("max_budget", json_number(self.max_budget)?)
            .set("currency", "USDC")
            .set("deadline", self.deadline_s)
            .set_text("acceptance_policy", self.acceptance_policy)
            .set_some("threshold_amount", threshold)
            .set_some("callback_url", self.callback_url.clone())
            .set_text("idempotency_key", &self.idempotency_key);
        Ok(members.0)
    }
}

/// The JSON number whose RFC 8785 form spells exactly this amount (AX-3).
fn json_number(amount: MicroUsdc) -> Result<Value, BudgetError> {
    let number: Number =
        serde_json::from_str(&amount.to_usdc_decimal()).map_err(|_| BudgetError)?;
    if MicroUsdc::from_json_number(&number) == Ok(amount) {
        Ok(Value::Number(number))
    } else {
        Err(BudgetError)
    }
}

/// An amount with more digits than a JSON number carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the amount has more digits than a JSON number carries exactly; round it to 15 digits")]
pub struct BudgetError;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ax_003_budgets_are_numbers_that_spell_the_amount() {
        let table = [
            (0, "0"),
            (1, "0.000001"),
            (50_000, "0.05"),
            (29_725, "0.029725"),
            (100_000_000, "100"),
            (123_456_789_012_345, "123456789.012345"),
        ];
        for (micro_usdc, canonical) in table {
            let amount = MicroUsdc::from_micro_usdc(micro_usdc).unwrap();
            let number = json_number(amount).unwrap();
            let Value::Number(read) = &number else {
                panic!("{number} is no number");
            };
            assert_eq!(MicroUsdc::from_json_number(read), Ok(amount));
            let text = x811_protocol::canonical::to_canonical(&number);
            assert_eq!(String::from_utf8(text).unwrap(), canonical);
        }
        let unspeakable = MicroUsdc::from_micro_usdc(999_999_999_999_999_999).unwrap();
        assert_eq!(json_number(unspeakable), Err(BudgetError));
    }
}
