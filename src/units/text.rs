//! The digits themselves: three significant ones, and groups of thousands.

/// A number with three significant digits and no exponent: `0.31`, `4.1`, `412`, `3412`.
///
/// Trailing zeros after the point are kept out (`2.0` becomes `2`), so that columns stay short.
pub fn three_digits(value: f64) -> String {
    if !value.is_finite() {
        return "n/a".to_owned();
    }
    let magnitude = value.abs();
    let decimals = match magnitude {
        m if m == 0.0 || m >= 99.95 => 0,
        m if m >= 9.995 => 1,
        m if m >= 0.995 => 2,
        m if m >= 0.0995 => 3,
        _ => 4,
    };
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A whole number in groups of three: `10,000,000`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Splits `12.5GiB` into its number and its suffix; commas and underscores group digits.
pub(super) fn number_and_suffix(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | '_'))).unwrap_or(text.len());
    let digits: String = text[..end].chars().filter(|c| !matches!(c, ',' | '_')).collect();
    let number: f64 = digits.parse().ok()?;
    Some((number, text[end..].trim()))
}

/// The decimal multiplier that people write after a count: `k`, `M`, `G` or `B`, `T`.
pub(super) fn decimal_multiplier(suffix: &str) -> Option<f64> {
    match suffix {
        "" => Some(1.0),
        "k" | "K" => Some(1e3),
        "m" | "M" => Some(1e6),
        "g" | "G" | "b" | "B" => Some(1e9),
        "t" | "T" => Some(1e12),
        _ => None,
    }
}

/// The whole number that `number × multiplier` is, if it is one and fits.
pub(super) fn whole(number: f64, multiplier: f64) -> Option<u64> {
    let product = number * multiplier;
    // 2^53: beyond it a double no longer holds every whole number.
    let exact = product.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&product);
    exact.then_some(product as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_printed_without_an_exponent() {
        for (value, text) in [
            (0.0, "0"),
            (0.0312, "0.0312"),
            (0.31, "0.31"),
            (1.9, "1.9"),
            (99.94, "99.9"),
            (99.96, "100"),
            (412.4, "412"),
            (3412.0, "3412"),
            (f64::NAN, "n/a"),
        ] {
            assert_eq!(three_digits(value), text);
        }
    }

    #[test]
    fn whole_numbers_are_grouped_by_thousands() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(10_000_000), "10,000,000");
    }
}
