//! The member `terms`: what is agreed on. Unknown members are kept, hashed and agreed on too.

use serde_json::Value;

use super::super::member::{Members, as_integer};
use crate::canonical::{members_to_canonical, to_canonical};
use crate::digest::Digest;
use crate::facts::{Currency, TermsFacts, is_task_type};
use crate::money::MicroUsdc;
use crate::refusal::{Refusal, quoted};

/// The most bytes of the RFC 8785 form of terms.
const MAX_BYTES: usize = 8_192;

/// Fraction digits of an amount in another currency than USDC.
const FRACTION_DIGITS: usize = 18;

/// Digits before the point.
const WHOLE_DIGITS: usize = 18;

/// Reads the terms of that message.
pub(super) fn facts(message: Members<'_>) -> Result<TermsFacts, Refusal> {
    let object = message.object("terms")?;
    let bytes = members_to_canonical(object);
    if bytes.len() > MAX_BYTES {
        return Err(Refusal::shape(format!(
            "terms have {} bytes in their RFC 8785 form; at most {MAX_BYTES} are taken: name long \
             texts by their hash",
            bytes.len()
        )));
    }
    if !object.values().all(is_without_fractions) {
        return Err(Refusal::shape(
            "terms hold a number with a fraction or above 2^53 - 1: write it as a string, so that \
             everybody reads the same",
        ));
    }
    let members = Members::new("terms", object);
    let (currency, amount) = amount(Members::new("terms.amount", members.object("amount")?))?;
    let task_type = members.optional_string("task_type")?;
    if task_type.is_some_and(|task_type| !is_task_type(task_type)) {
        return Err(Refusal::shape(
            "terms: task_type must be 1 to 128 printable characters",
        ));
    }
    Ok(TermsFacts {
        payer: members.did("payer")?,
        payee: members.did("payee")?,
        currency,
        amount,
        amount_of: members.word("amount_of")?,
        task_type: task_type.map(str::to_owned),
        deadline_s: members.optional_positive_integer("deadline_s")?,
        deliverables_hash: deliverables_hash(members)?,
        terms_hash: Digest::of(&bytes),
    })
}

/// Currency, and the amount where that is USDC; what cannot be settled is agreed on as it is
/// written.
fn amount(members: Members<'_>) -> Result<(Currency, Option<MicroUsdc>), Refusal> {
    let currency: Currency = members.word("currency")?;
    if currency.is_usdc() {
        let amount = members.decimal_amount("value")?;
        return Ok((currency, Some(amount)));
    }
    let value = members.string("value")?;
    if is_decimal(value) {
        return Ok((currency, None));
    }
    Err(Refusal::shape(format!(
        "terms.amount: value is {}; write a plain decimal such as \"12.5\", at most {WHOLE_DIGITS} \
         digits before and {FRACTION_DIGITS} behind the point",
        quoted(value)
    )))
}

fn is_decimal(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let are_digits = |text: &str, most: usize| {
        (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let leads_with_zero = whole.len() > 1 && whole.starts_with('0');
    are_digits(whole, WHOLE_DIGITS) && are_digits(fraction, FRACTION_DIGITS) && !leads_with_zero
}

fn deliverables_hash(members: Members<'_>) -> Result<Option<Digest>, Refusal> {
    let Some(deliverables) = members.optional_array("deliverables")? else {
        return Ok(None);
    };
    if deliverables.is_empty() || !deliverables.iter().all(Value::is_string) {
        return Err(Refusal::shape(
            "terms: deliverables must be an array of at least one string, or left out",
        ));
    }
    Ok(Some(Digest::of(&to_canonical(deliverables))))
}

/// Whether all numbers in it are integers that every JSON reader keeps.
fn is_without_fractions(value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            let positive = Value::Number(number.clone());
            as_integer(&positive).is_some() || number.as_i64().is_some_and(is_kept_negative)
        }
        Value::Array(items) => items.iter().all(is_without_fractions),
        Value::Object(members) => members.values().all(is_without_fractions),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

fn is_kept_negative(integer: i64) -> bool {
    (-((1 << 53) - 1)..0).contains(&integer)
}
