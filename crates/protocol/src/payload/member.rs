//! Reading single members of a payload, each fault answered with the member's name and its rule.

use std::str::FromStr;

use iri_string::types::UriStr;
use serde_json::{Map, Number, Value};

use crate::canonical::members_to_canonical;
use crate::code::Code;
use crate::did::Did;
use crate::digest::Digest;
use crate::evm::{EvmAddress, TxHash};
use crate::facts::MAX_SAFE_INTEGER;
use crate::id::{AgreementId, ContractId, EnvelopeId, SessionId};
use crate::money::{MicroUsdc, MoneyError};
use crate::payload::PayloadRules;
use crate::refusal::{Kind, Refusal, quoted};
use crate::time::TimestampMs;

/// The longest URI, in bytes.
const URI_BYTES: usize = 2_048;

/// The only currency (AE-43, AX-16).
const CURRENCY: &str = "USDC";

/// The members of one payload, of a message with this name.
#[derive(Clone, Copy)]
pub(super) struct Members<'a> {
    message: &'static str,
    payload: &'a Map<String, Value>,
}

impl<'a> Members<'a> {
    pub(super) const fn new(message: &'static str, payload: &'a Map<String, Value>) -> Self {
        Self { message, payload }
    }

    /// SHA-256 of the payload's RFC 8785 form, unknown members included (AE-39, AE-57).
    pub(super) fn payload_hash(self) -> Digest {
        Digest::of(&members_to_canonical(self.payload))
    }

    pub(super) fn string(self, name: &str) -> Result<&'a str, Refusal> {
        self.required(name, self.optional_string(name)?)
    }

    pub(super) fn optional_string(self, name: &str) -> Result<Option<&'a str>, Refusal> {
        self.optional(name, "a string", Value::as_str)
    }

    pub(super) fn object(self, name: &str) -> Result<&'a Map<String, Value>, Refusal> {
        self.required(name, self.optional(name, "an object", Value::as_object)?)
    }

    pub(super) fn array(self, name: &str) -> Result<&'a [Value], Refusal> {
        self.required(name, self.optional_array(name)?)
    }

    pub(super) fn optional_array(self, name: &str) -> Result<Option<&'a [Value]>, Refusal> {
        self.optional(name, "an array", |value| {
            value.as_array().map(Vec::as_slice)
        })
    }

    pub(super) fn optional_object(
        self,
        name: &str,
    ) -> Result<Option<&'a Map<String, Value>>, Refusal> {
        self.optional(name, "an object", Value::as_object)
    }

    pub(super) fn boolean(self, name: &str) -> Result<bool, Refusal> {
        self.required(name, self.optional(name, "true or false", Value::as_bool)?)
    }

    /// An integer of at least 1, such as a number of seconds.
    pub(super) fn positive_integer(self, name: &str) -> Result<u64, Refusal> {
        self.required(name, self.optional_positive_integer(name)?)
    }

    /// An integer of zero or more, such as a number of bytes.
    pub(super) fn integer(self, name: &str) -> Result<u64, Refusal> {
        self.required(name, self.optional_integer(name)?)
    }

    pub(super) fn optional_integer(self, name: &str) -> Result<Option<u64>, Refusal> {
        self.optional(name, "an integer of zero or more", as_integer)
    }

    /// One of the words of an enum.
    pub(super) fn word<T>(self, name: &str) -> Result<T, Refusal>
    where
        T: FromStr<Err: std::fmt::Display>,
    {
        self.required(name, self.optional_word(name)?)
    }

    pub(super) fn optional_word<T>(self, name: &str) -> Result<Option<T>, Refusal>
    where
        T: FromStr<Err: std::fmt::Display>,
    {
        self.quoting(name, str::parse)
    }

    /// An amount written as a decimal string of USDC (AE-50, AX-3).
    pub(super) fn decimal_amount(self, name: &str) -> Result<MicroUsdc, Refusal> {
        let text = self.string(name)?;
        MicroUsdc::from_usdc_decimal(text).map_err(|fault| bad_amount(name, fault))
    }

    /// The same; of the published SDK also a JSON number, and the nearest micro-USDC of a decimal that
    /// is longer, because it writes what its arithmetic leaves (decision 0190).
    pub(super) fn written_amount(
        self,
        name: &str,
        rules: &PayloadRules,
    ) -> Result<MicroUsdc, Refusal> {
        if !rules.reference_sdk {
            return self.decimal_amount(name);
        }
        if let Some(Value::Number(number)) = self.payload.get(name) {
            return MicroUsdc::from_json_number(number).map_err(|fault| bad_amount(name, fault));
        }
        let text = self.string(name)?;
        MicroUsdc::from_long_decimal(text).map_err(|fault| bad_amount(name, fault))
    }

    /// An amount written as a JSON number of USDC (AE-42, AX-3).
    pub(super) fn number_amount(self, name: &str) -> Result<MicroUsdc, Refusal> {
        self.required(name, self.optional_number_amount(name)?)
    }

    pub(super) fn optional_number_amount(self, name: &str) -> Result<Option<MicroUsdc>, Refusal> {
        let number: Option<&Number> = self.optional(name, "a JSON number", Value::as_number)?;
        let amount = number.map(MicroUsdc::from_json_number).transpose();
        amount.map_err(|fault| bad_amount(name, fault))
    }

    /// The member `currency`, which is always `USDC`.
    pub(super) fn currency(self) -> Result<(), Refusal> {
        let currency = self.string("currency")?;
        if currency == CURRENCY {
            return Ok(());
        }
        Err(Refusal::shape(format!(
            "currency is {}; it must be \"USDC\"",
            quoted(currency)
        )))
    }

    /// The id of another envelope. Any RFC 9562 UUID is read: a reference that fits no envelope is
    /// refused where it is looked up.
    pub(super) fn envelope_id(self, name: &str) -> Result<EnvelopeId, Refusal> {
        self.required(name, self.optional_envelope_id(name)?)
    }

    pub(super) fn optional_envelope_id(self, name: &str) -> Result<Option<EnvelopeId>, Refusal> {
        self.parsed(name, " is no envelope id", EnvelopeId::lenient)
    }

    /// The id of a negotiation, as `neg-<uuid>`.
    pub(super) fn contract_id(self, name: &str) -> Result<ContractId, Refusal> {
        self.required(name, self.optional_contract_id(name)?)
    }

    pub(super) fn optional_contract_id(self, name: &str) -> Result<Option<ContractId>, Refusal> {
        self.parsed(name, "", ContractId::from_public)
    }

    pub(super) fn agreement_id(self, name: &str) -> Result<AgreementId, Refusal> {
        self.required(name, self.optional_agreement_id(name)?)
    }

    /// The id of a session.
    pub(super) fn session_id(self, name: &str) -> Result<SessionId, Refusal> {
        let id = self.parsed(name, " is no session's id", SessionId::lenient)?;
        self.required(name, id)
    }

    /// The id of an agreement, if the member is there.
    pub(super) fn optional_agreement_id(self, name: &str) -> Result<Option<AgreementId>, Refusal> {
        self.parsed(name, " is no agreement's id", AgreementId::lenient)
    }

    /// A registered agent's name.
    pub(super) fn did(self, name: &str) -> Result<Did, Refusal> {
        let did = self.parsed(name, " is no DID", str::parse)?;
        self.required(name, did)
    }

    /// A moment in RFC 3339 with its offset, floored to milliseconds (AX-26).
    pub(super) fn optional_moment(self, name: &str) -> Result<Option<TimestampMs>, Refusal> {
        self.quoting(name, TimestampMs::parse_rfc3339)
    }

    pub(super) fn moment(self, name: &str) -> Result<TimestampMs, Refusal> {
        self.required(name, self.optional_moment(name)?)
    }

    /// SHA-256 of the UTF-8 bytes of a text that is no fact itself (machines.md section 6).
    pub(super) fn optional_text_hash(self, name: &str) -> Result<Option<Digest>, Refusal> {
        let text = self.optional_string(name)?;
        Ok(text.map(|text| Digest::of(text.as_bytes())))
    }

    pub(super) fn optional_positive_integer(self, name: &str) -> Result<Option<u64>, Refusal> {
        self.optional(name, "an integer of at least 1", |value| {
            as_integer(value).filter(|integer| *integer >= 1)
        })
    }

    pub(super) fn digest(self, name: &str) -> Result<Digest, Refusal> {
        self.required(name, self.optional_digest(name)?)
    }

    pub(super) fn optional_digest(self, name: &str) -> Result<Option<Digest>, Refusal> {
        self.parsed(name, " is no hash", str::parse)
    }

    /// An absolute URI (RFC 3986) of at most 2048 bytes (AE-47, AE-60).
    pub(super) fn optional_uri(self, name: &str) -> Result<Option<&'a str>, Refusal> {
        let Some(text) = self.optional_string(name)? else {
            return Ok(None);
        };
        if text.len() > URI_BYTES || UriStr::new(text).is_err() {
            return Err(Refusal::shape(format!(
                "{name} is no URI; write an absolute one such as https://example.org/result, of \
                 at most {URI_BYTES} bytes"
            )));
        }
        Ok(Some(text))
    }

    /// An account that must be named: absent is X811-4001, malformed X811-5002 (AX-15, AX-46).
    pub(super) fn address(self, name: &str, rules: &PayloadRules) -> Result<EvmAddress, Refusal> {
        self.required(name, self.optional_address(name, rules)?)
    }

    pub(super) fn optional_address(
        self,
        name: &str,
        rules: &PayloadRules,
    ) -> Result<Option<EvmAddress>, Refusal> {
        let Some(value) = self.payload.get(name) else {
            return Ok(None);
        };
        let text = value.as_str().unwrap_or_default();
        let address = if rules.lenient_addresses {
            EvmAddress::parse_lenient(text)
        } else {
            EvmAddress::parse_checksummed(text)
        };
        address.map(Some).map_err(|fault| {
            let message = format!("{name}: {fault}");
            Refusal::new(Code::InvalidPaymentAddress, Kind::Shape, message)
        })
    }

    /// A transaction that must be named: absent or malformed is X811-5001 (AE-17).
    pub(super) fn tx_hash(self, name: &str) -> Result<TxHash, Refusal> {
        let missing = || bad_tx_hash(format!("{name} is missing; name the transaction that paid"));
        self.optional_tx_hash(name)?.ok_or_else(missing)
    }

    pub(super) fn optional_tx_hash(self, name: &str) -> Result<Option<TxHash>, Refusal> {
        let Some(value) = self.payload.get(name) else {
            return Ok(None);
        };
        let hash = value.as_str().unwrap_or_default().parse();
        hash.map(Some)
            .map_err(|fault| bad_tx_hash(format!("{name}: {fault}")))
    }

    /// What `read` makes of a text; `is_none` says what a text is that it refuses.
    fn parsed<T, E: std::fmt::Display>(
        self,
        name: &str,
        is_none: &str,
        read: impl FnOnce(&'a str) -> Result<T, E>,
    ) -> Result<Option<T>, Refusal> {
        let text = self.optional_string(name)?;
        let value = text.map(read).transpose();
        value.map_err(|fault| Refusal::shape(format!("{name}{is_none}: {fault}")))
    }

    /// The same, with the text that is refused.
    fn quoting<T, E: std::fmt::Display>(
        self,
        name: &str,
        read: impl FnOnce(&'a str) -> Result<T, E>,
    ) -> Result<Option<T>, Refusal> {
        let Some(text) = self.optional_string(name)? else {
            return Ok(None);
        };
        let value = read(text).map(Some);
        value.map_err(|fault| Refusal::shape(format!("{name} is {}: {fault}", quoted(text))))
    }

    fn required<T>(self, name: &str, member: Option<T>) -> Result<T, Refusal> {
        member.ok_or_else(|| {
            Refusal::shape(format!(
                "{name} is missing; every {} must have it",
                self.message
            ))
        })
    }

    fn optional<T>(
        self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, Refusal> {
        let Some(value) = self.payload.get(name) else {
            return Ok(None);
        };
        let member = read(value);
        if member.is_none() {
            return Err(Refusal::shape(format!(
                "{name} is {}; it must be {expected}",
                described(value),
            )));
        }
        Ok(member)
    }
}

/// An integer from 0 to 2^53 - 1, however it is spelled: `60.0` has the RFC 8785 form `60`.
pub(crate) fn as_integer(value: &Value) -> Option<u64> {
    let number = value.as_number()?;
    if let Some(integer) = number.as_u64() {
        return (integer <= MAX_SAFE_INTEGER).then_some(integer);
    }
    let double = number.as_f64()?;
    if double == 0.0 {
        return Some(0); // minus zero: RFC 8785 writes it `0`
    }
    // A whole double is displayed with neither point nor exponent, and digits are exact.
    format!("{double}")
        .parse()
        .ok()
        .filter(|integer| *integer <= MAX_SAFE_INTEGER)
}

fn described(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "another number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn bad_amount(name: &str, fault: MoneyError) -> Refusal {
    Refusal::shape(format!("{name}: {fault}"))
}

fn bad_tx_hash(message: String) -> Refusal {
    Refusal::new(Code::InsufficientBalance, Kind::Shape, message)
}
