//! Packed decimals: groups of nine digits in four bytes, the sign bit flipped.

use super::{EncodeError, in_range};

/// Bytes of so many digits that do not fill a group of nine.
const PARTIAL_GROUP_BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];

/// Bytes of a DECIMAL(precision, scale).
pub(super) fn bytes(precision: u8, scale: u8) -> usize {
    digits_bytes(precision - scale.min(precision)) + digits_bytes(scale)
}

fn digits_bytes(digits: u8) -> usize {
    usize::from(digits / 9) * 4 + PARTIAL_GROUP_BYTES[usize::from(digits % 9)]
}

/// Writes a number that was multiplied by 10 to the power of `scale`; says how many bytes.
pub(super) fn encode(precision: u8, scale: u8, unscaled: i64, out: &mut [u8]) -> Result<usize, EncodeError> {
    let magnitude = u128::from(unscaled.unsigned_abs());
    let power = |digits: u8| 10u128.checked_pow(u32::from(digits));
    in_range(power(precision).is_none_or(|limit| magnitude < limit))?;
    let unit = power(scale).ok_or(EncodeError::OutOfRange)?;
    let whole_bytes = digits_bytes(precision - scale);
    put_digits(magnitude / unit, precision - scale, true, &mut out[..whole_bytes]);
    let bytes = whole_bytes + digits_bytes(scale);
    put_digits(magnitude % unit, scale, false, &mut out[whole_bytes..bytes]);
    if unscaled < 0 {
        out[..bytes].iter_mut().for_each(|byte| *byte = !*byte);
    }
    out[0] ^= 0x80;
    Ok(bytes)
}

/// Digits in groups of nine counted from the point; the group that is short stands farthest from it.
fn put_digits(mut number: u128, digits: u8, short_group_first: bool, out: &mut [u8]) {
    let short_digits = u32::from(digits % 9);
    let short = PARTIAL_GROUP_BYTES[short_digits as usize];
    let mut put = |range: std::ops::Range<usize>, group: u32| {
        let skip = 4 - range.len();
        out[range].copy_from_slice(&group.to_be_bytes()[skip..]);
    };
    let groups = usize::from(digits / 9);
    let full_start = if short_group_first { short } else { 0 };
    if !short_group_first && short > 0 {
        let power = 10u128.pow(short_digits);
        put(groups * 4..groups * 4 + short, (number % power) as u32);
        number /= power;
    }
    for group in (0..groups).rev() {
        let start = full_start + group * 4;
        put(start..start + 4, (number % 1_000_000_000) as u32);
        number /= 1_000_000_000;
    }
    if short_group_first && short > 0 {
        put(0..short, number as u32);
    }
}
