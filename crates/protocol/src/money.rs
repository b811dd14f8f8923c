//! Money as an integer count of micro-USDC.
//!
//! AEEP writes amounts twice over: as decimal strings and, for `max_budget` and
//! `threshold_amount`, as JSON numbers. Both become the same integer here, digit by digit, so that
//! no comparison ever depends on how a binary float was rounded (AX-3).

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Number;

/// Decimal places of USDC: 1 USDC = 10^6 micro-USDC.
const FRACTION_DIGITS: usize = 6;

/// An amount of USDC, counted in micro-USDC (10^-6 USDC), from 0 to 10^18.
///
/// In records it is a decimal *integer* string of micro-USDC (record.md section 1): `"29725"` is
/// 0.029725 USDC. On the wire it is a decimal string or number of whole USDC; see
/// [`MicroUsdc::from_usdc_decimal`] and [`MicroUsdc::from_json_number`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MicroUsdc(u64);

impl MicroUsdc {
    /// Nothing. A price of zero is legal (AX-4).
    pub const ZERO: Self = Self(0);

    /// The largest amount a record can hold: 10^18 micro-USDC (record.md section 1).
    pub const MAX: Self = Self(1_000_000_000_000_000_000);

    /// An amount of `micro_usdc` micro-USDC.
    ///
    /// # Errors
    /// [`MoneyError::TooLarge`] above [`MicroUsdc::MAX`].
    pub const fn from_micro_usdc(micro_usdc: u64) -> Result<Self, MoneyError> {
        if micro_usdc > Self::MAX.0 {
            return Err(MoneyError::TooLarge);
        }
        Ok(Self(micro_usdc))
    }

    /// Reads a wire amount such as `"0.029725"`: `(0|[1-9][0-9]*)(\.[0-9]{1,6})?`, in USDC (AX-3).
    ///
    /// # Errors
    /// [`MoneyError::NotDecimal`] for a sign, exponent, blank, leading zero or any other character;
    /// [`MoneyError::TooPrecise`] for more than six fraction digits; [`MoneyError::TooLarge`].
    pub fn from_usdc_decimal(text: &str) -> Result<Self, MoneyError> {
        let (whole, fraction) = match text.split_once('.') {
            Some((whole, fraction)) if is_digits(fraction) => (whole, fraction),
            Some(_) => return Err(MoneyError::NotDecimal),
            None => (text, ""),
        };
        if !is_digits(whole) || (whole.len() > 1 && whole.starts_with('0')) {
            return Err(MoneyError::NotDecimal);
        }
        if fraction.len() > FRACTION_DIGITS {
            return Err(MoneyError::TooPrecise);
        }
        let padding = FRACTION_DIGITS - fraction.len();
        Self::from_digits(whole.bytes().chain(fraction.bytes()), padding)
    }

    /// The same with any number of fraction digits, rounded to the nearest micro-USDC, half up: what
    /// the published SDK writes where a double has more digits (decision 0190).
    ///
    /// # Errors
    /// [`MoneyError::NotDecimal`] and [`MoneyError::TooLarge`], as above.
    pub fn from_long_decimal(text: &str) -> Result<Self, MoneyError> {
        let Some((whole, fraction)) = text.split_once('.') else {
            return Self::from_usdc_decimal(text);
        };
        let Some((kept, rest)) = fraction.split_at_checked(FRACTION_DIGITS) else {
            return Self::from_usdc_decimal(text);
        };
        if !is_digits(fraction) {
            return Err(MoneyError::NotDecimal);
        }
        let floor = Self::from_usdc_decimal(&format!("{whole}.{kept}"))?;
        let is_up = rest.as_bytes().first().is_some_and(|digit| *digit >= b'5');
        match is_up {
            true => floor.checked_add(Self(1)).ok_or(MoneyError::TooLarge),
            false => Ok(floor),
        }
    }

    /// Reads a JSON number as the decimal its RFC 8785 form spells, in USDC (AX-3).
    ///
    /// That form is the shortest decimal that reads back as the same double, and it is what the
    /// sender signed; `1e-6`, `0.000001` and `0.0000010` are one amount.
    ///
    /// # Errors
    /// [`MoneyError::Negative`], [`MoneyError::TooPrecise`] when a digit below a micro-USDC is not
    /// zero, [`MoneyError::TooLarge`].
    pub fn from_json_number(number: &Number) -> Result<Self, MoneyError> {
        let usdc = match (number.as_u64(), number.as_f64()) {
            (Some(integer), _) => return Self::from_usdc_decimal(&integer.to_string()),
            (None, Some(usdc)) => usdc,
            (None, None) => return Err(MoneyError::NotDecimal),
        };
        if usdc < 0.0 {
            return Err(MoneyError::Negative);
        }
        if usdc == 0.0 {
            return Ok(Self::ZERO);
        }
        let shortest = format!("{usdc:e}");
        let (mantissa, exponent) = shortest.split_once('e').ok_or(MoneyError::NotDecimal)?;
        let exponent: i32 = exponent.parse().map_err(|_| MoneyError::NotDecimal)?;
        let digits: Vec<u8> = mantissa.bytes().filter(|byte| *byte != b'.').collect();
        // The last digit of the mantissa stands for 10^last_place micro-USDC.
        let fraction_digits = i32::try_from(digits.len() - 1).map_err(|_| MoneyError::TooLarge)?;
        let last_place = exponent - fraction_digits + 6;
        let padding = usize::try_from(last_place).map_err(|_| MoneyError::TooPrecise)?;
        Self::from_digits(digits.into_iter(), padding)
    }

    /// The amount as a wire string in USDC: shortest form, no trailing zeros, such as `"0.0725"`.
    pub fn to_usdc_decimal(self) -> String {
        let whole = self.0 / 1_000_000;
        let fraction = format!("{:06}", self.0 % 1_000_000);
        match fraction.trim_end_matches('0') {
            "" => whole.to_string(),
            fraction => format!("{whole}.{fraction}"),
        }
    }

    /// The count of micro-USDC.
    pub const fn as_micro_usdc(self) -> u64 {
        self.0
    }

    /// Whether it is nothing.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The sum, or `None` above [`MicroUsdc::MAX`].
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(sum) if sum <= Self::MAX.0 => Some(Self(sum)),
            _ => None,
        }
    }

    /// The difference, or `None` when `other` is the larger.
    pub const fn checked_sub(self, other: Self) -> Option<Self> {
        match self.0.checked_sub(other.0) {
            Some(difference) => Some(Self(difference)),
            None => None,
        }
    }

    /// The protocol fee on this price: 2.5 %, rounded half-up to a micro-USDC (AE-7, AX-4).
    pub const fn protocol_fee(self) -> Self {
        // 2.5 % is one fortieth, and half of forty is twenty.
        Self((self.0 + 20) / 40)
    }

    /// The highest price whose total, fee included, is at most this.
    pub fn price_within(self) -> Self {
        // Price and fee grow by 1 or 2 a step, so the price lies at or just below 40/41 of the total.
        let near = u128::from(self.0) * 40 / 41;
        let near = u64::try_from(near).unwrap_or(u64::MAX);
        let fits = |price: &Self| price.total().is_some_and(|total| total <= self);
        let prices = (near.saturating_sub(2)..=near.saturating_add(2)).rev();
        let mut prices = prices.filter_map(|price| Self::from_micro_usdc(price).ok());
        prices.find(fits).unwrap_or(Self::ZERO)
    }

    /// This price and its fee; `None` above what a record can hold.
    pub const fn total(self) -> Option<Self> {
        self.checked_add(self.protocol_fee())
    }

    fn from_digits(digits: impl Iterator<Item = u8>, padding: usize) -> Result<Self, MoneyError> {
        let padded = digits.chain(std::iter::repeat_n(b'0', padding));
        let mut micro_usdc: u64 = 0;
        for digit in padded {
            micro_usdc = micro_usdc * 10 + u64::from(digit - b'0');
            if micro_usdc > Self::MAX.0 {
                return Err(MoneyError::TooLarge);
            }
        }
        Ok(Self(micro_usdc))
    }
}

impl Serialize for MicroUsdc {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for MicroUsdc {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RecordForm;

        impl serde::de::Visitor<'_> for RecordForm {
            type Value = MicroUsdc;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a decimal integer string of micro-USDC, at most 10^18")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<MicroUsdc, E> {
                if !is_digits(text) || (text.len() > 1 && text.starts_with('0')) {
                    return Err(E::custom(MoneyError::NotDecimal));
                }
                MicroUsdc::from_digits(text.bytes(), 0).map_err(E::custom)
            }
        }

        deserializer.deserialize_str(RecordForm)
    }
}

/// Why a text or number is not an amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    /// The text does not match the grammar of AX-3.
    #[error(
        "not a plain decimal amount; write digits with at most one point, such as \"0.029725\", \
         without sign, exponent, blank or leading zero"
    )]
    NotDecimal,
    /// A digit below a micro-USDC.
    #[error("more than six fraction digits; USDC has six, so round to 0.000001")]
    TooPrecise,
    /// The amount is below zero.
    #[error("a negative amount; give zero or more")]
    Negative,
    /// The amount is above [`MicroUsdc::MAX`].
    #[error("above 1000000000000 USDC, the largest amount a record can hold")]
    TooLarge,
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number(text: &str) -> Number {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn ax_003_decimal_strings() {
        let table: &[(&str, Result<u64, MoneyError>)] = &[
            ("0", Ok(0)),
            ("0.0", Ok(0)),
            ("0.000000", Ok(0)),
            ("0.000001", Ok(1)),
            ("0.029", Ok(29_000)),
            ("0.029725", Ok(29_725)),
            ("1", Ok(1_000_000)),
            ("10.50", Ok(10_500_000)),
            ("1000000000000", Ok(1_000_000_000_000_000_000)),
            ("1000000000000.000000", Ok(1_000_000_000_000_000_000)),
            ("1000000000000.000001", Err(MoneyError::TooLarge)),
            (
                "99999999999999999999999999999999",
                Err(MoneyError::TooLarge),
            ),
            ("0.0000001", Err(MoneyError::TooPrecise)),
            ("1.0000000", Err(MoneyError::TooPrecise)),
            ("", Err(MoneyError::NotDecimal)),
            (".", Err(MoneyError::NotDecimal)),
            (".5", Err(MoneyError::NotDecimal)),
            ("5.", Err(MoneyError::NotDecimal)),
            ("00", Err(MoneyError::NotDecimal)),
            ("01.5", Err(MoneyError::NotDecimal)),
            ("+1", Err(MoneyError::NotDecimal)),
            ("-1", Err(MoneyError::NotDecimal)),
            ("-0", Err(MoneyError::NotDecimal)),
            (" 1", Err(MoneyError::NotDecimal)),
            ("1 ", Err(MoneyError::NotDecimal)),
            ("1\n", Err(MoneyError::NotDecimal)),
            ("1e3", Err(MoneyError::NotDecimal)),
            ("1,5", Err(MoneyError::NotDecimal)),
            ("1.2.3", Err(MoneyError::NotDecimal)),
            ("0x10", Err(MoneyError::NotDecimal)),
            ("\u{661}", Err(MoneyError::NotDecimal)),
            ("1_000", Err(MoneyError::NotDecimal)),
        ];
        for (text, expected) in table {
            let read = MicroUsdc::from_usdc_decimal(text).map(MicroUsdc::as_micro_usdc);
            assert_eq!(read, *expected, "{text:?}");
        }
    }

    #[test]
    fn ax_003_json_numbers_are_read_as_their_canonical_decimal() {
        let table: &[(&str, Result<u64, MoneyError>)] = &[
            ("0", Ok(0)),
            ("-0", Ok(0)),
            ("-0.0", Ok(0)),
            ("0.05", Ok(50_000)),
            ("0.1", Ok(100_000)),
            ("0.3", Ok(300_000)),
            ("1e-6", Ok(1)),
            ("0.0000010", Ok(1)),
            ("1E2", Ok(100_000_000)),
            ("100.0", Ok(100_000_000)),
            ("1.5e1", Ok(15_000_000)),
            ("123456.789012", Ok(123_456_789_012)),
            ("4294967296.123457", Ok(4_294_967_296_123_457)),
            ("1000000000000", Ok(1_000_000_000_000_000_000)),
            ("1e12", Ok(1_000_000_000_000_000_000)),
            ("1000000000001", Err(MoneyError::TooLarge)),
            ("1e13", Err(MoneyError::TooLarge)),
            ("1e21", Err(MoneyError::TooLarge)),
            ("1e308", Err(MoneyError::TooLarge)),
            ("1e-7", Err(MoneyError::TooPrecise)),
            ("0.30000000000000004", Err(MoneyError::TooPrecise)),
            ("5e-324", Err(MoneyError::TooPrecise)),
            ("1.0000001", Err(MoneyError::TooPrecise)),
            ("-1", Err(MoneyError::Negative)),
            ("-1e-9", Err(MoneyError::Negative)),
        ];
        for (text, expected) in table {
            let read = MicroUsdc::from_json_number(&number(text)).map(MicroUsdc::as_micro_usdc);
            assert_eq!(read, *expected, "{text}");
        }
    }

    #[test]
    fn ax_004_fee_is_a_fortieth_rounded_half_up() {
        let table: &[(&str, &str, &str)] = &[
            ("0", "0", "0"),
            ("0.000001", "0", "0.000001"),
            ("0.000019", "0", "0.000019"),
            ("0.00002", "0.000001", "0.000021"),
            ("0.000021", "0.000001", "0.000022"),
            ("0.000059", "0.000001", "0.00006"),
            ("0.00006", "0.000002", "0.000062"),
            ("0.029", "0.000725", "0.029725"),
            ("1", "0.025", "1.025"),
            ("0.04", "0.001", "0.041"),
            ("1000000000000", "25000000000", "over the limit"),
        ];
        for (price, fee, total) in table {
            let price = MicroUsdc::from_usdc_decimal(price).unwrap();
            assert_eq!(price.protocol_fee().to_usdc_decimal(), *fee);
            let sum = price.checked_add(price.protocol_fee());
            let sum = sum.map_or("over the limit".to_owned(), MicroUsdc::to_usdc_decimal);
            assert_eq!(sum, *total);
        }
    }

    #[test]
    fn rec_1_record_form_is_an_integer_string() {
        let amount = MicroUsdc::from_usdc_decimal("0.029725").unwrap();
        assert_eq!(serde_json::to_string(&amount).unwrap(), "\"29725\"");
        let max = serde_json::from_str::<MicroUsdc>("\"1000000000000000000\"").unwrap();
        assert_eq!(max, MicroUsdc::MAX);
        for refused in [
            "29725",
            "\"\"",
            "\"029725\"",
            "\"0.03\"",
            "\"-1\"",
            "\"1000000000000000001\"",
            "null",
        ] {
            assert!(
                serde_json::from_str::<MicroUsdc>(refused).is_err(),
                "{refused}"
            );
        }
    }

    fn amount() -> impl Strategy<Value = MicroUsdc> {
        (0..=MicroUsdc::MAX.0).prop_map(MicroUsdc)
    }

    proptest! {
        #[test]
        fn ax_003_decimal_round_trip(amount in amount()) {
            let text = amount.to_usdc_decimal();
            prop_assert_eq!(MicroUsdc::from_usdc_decimal(&text), Ok(amount));
        }

        /// Below 2^33 USDC doubles lie closer than a micro-USDC, so number and string must agree.
        #[test]
        fn ax_003_number_and_text_agree(micro_usdc in 0..(1_000_000u64 << 33)) {
            let amount = MicroUsdc(micro_usdc);
            let read = MicroUsdc::from_json_number(&number(&amount.to_usdc_decimal()));
            prop_assert_eq!(read, Ok(amount));
        }

        /// Whatever double arrives, its canonical text read as a string gives the same verdict.
        #[test]
        fn ax_003_number_equals_its_canonical_text(usdc in 1e-7_f64..1e13) {
            let number = Number::from_f64(usdc).unwrap();
            let by_text = MicroUsdc::from_usdc_decimal(&format!("{usdc}"));
            prop_assert_eq!(MicroUsdc::from_json_number(&number), by_text);
        }

        #[test]
        fn ax_003_any_text_is_read_or_refused(text in ".{0,40}") {
            if let Ok(amount) = MicroUsdc::from_usdc_decimal(&text) {
                let again = MicroUsdc::from_usdc_decimal(&amount.to_usdc_decimal());
                prop_assert_eq!(again, Ok(amount));
            }
        }

        #[test]
        fn ax_004_fee_against_wide_arithmetic(amount in amount()) {
            let exact = u128::from(amount.0) * 25;
            let rounded = (exact + 500) / 1000;
            prop_assert_eq!(u128::from(amount.protocol_fee().0), rounded);
        }

        #[test]
        fn sums_and_differences_against_wide_arithmetic(a in amount(), b in amount()) {
            let sum = u128::from(a.0) + u128::from(b.0);
            let expected = (sum <= u128::from(MicroUsdc::MAX.0)).then_some(sum);
            prop_assert_eq!(a.checked_add(b).map(|sum| u128::from(sum.0)), expected);
            let expected = (a >= b).then(|| MicroUsdc(a.0 - b.0));
            prop_assert_eq!(a.checked_sub(b), expected);
        }
    }
}
