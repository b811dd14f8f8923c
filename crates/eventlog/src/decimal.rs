//! Decimal numbers as the C2SP formats write them: digits alone, without leading zeros.

/// Reads one that is at most `max`; `None` for any other spelling.
pub(crate) fn parse(text: &str, max: u64) -> Option<u64> {
    let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit());
    let has_leading_zero = text.len() > 1 && text.starts_with('0');
    let number = text.parse().ok().filter(|number| *number <= max)?;
    (is_decimal && !has_leading_zero).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling_for_each_number() {
        let table = [
            ("0", Some(0)),
            ("7", Some(7)),
            ("255", Some(255)),
            ("256", None),
            ("00", None),
            ("07", None),
            ("+7", None),
            ("-0", None),
            (" 7", None),
            ("7 ", None),
            ("", None),
            ("٧", None),
            ("18446744073709551616", None),
        ];
        for (text, number) in table {
            assert_eq!(parse(text, 255), number, "{text:?}");
        }
        assert_eq!(parse("18446744073709551615", u64::MAX), Some(u64::MAX));
    }
}
