//! Keys that look random, are unique and, when asked, come in order.
//!
//! A sorted key's number is drawn from a stratum of its own: the key space is cut into as many equal strata
//! as a day has rows, and the i-th row draws within the i-th stratum. Days do not share numbers either: each
//! takes every `days`-th number of a stratum. So any key is computed from its row number alone, no two are
//! equal in the whole table, and each day is sorted.

use super::days::{Day, Days};
use super::mix::{BitPermutation, Permutation, hash, key_for, scale};
use crate::spec::dataset::Alphabet;

/// How a key's number follows from the row.
#[derive(Debug, Clone)]
pub(super) enum Numbers {
    /// One stratum a row.
    Strata {
        /// Numbers in a stratum, for each group.
        width: u64,
        /// Days that share the key space, or 1 when the whole table is one order.
        groups: u64,
        /// What the draw within the stratum is keyed by.
        key: u64,
        /// The order of strata within a day, unless sorted: for days of the two lengths that there are.
        shuffled: Option<[Permutation; 2]>,
    },
    /// A permutation of the row number.
    Shuffled(BitPermutation),
}

/// The purposes that keys are derived for; fixed for ever.
const PURPOSE_STRATUM: u64 = 1;
const PURPOSE_SHUFFLE: u64 = 2;
const PURPOSE_ORDER: u64 = 3;

impl Numbers {
    /// Numbers of `bits` bits in order, or `None` when there are fewer than rows.
    pub(super) fn sorted(
        days: &Days,
        per_day: bool,
        in_order: bool,
        bits: u32,
        seed: u64,
        column: u64,
    ) -> Option<Numbers> {
        let (rows, groups) = match per_day {
            true => (days.rows_a_day_max(), u64::from(days.count())),
            false => (days.rows(), 1),
        };
        let space = 1u128 << bits;
        let width = space / (u128::from(rows.max(1)) * u128::from(groups));
        // One row in one group may have the whole space of 2^64: one number less is no loss.
        let width = u64::try_from(width).unwrap_or(u64::MAX);
        if width == 0 {
            return None;
        }
        let order = key_for(seed, PURPOSE_ORDER, column);
        let shuffled =
            (!in_order).then(|| [Permutation::new(rows, order), Permutation::new((rows - 1).max(1), order)]);
        Some(Numbers::Strata { width, groups, key: key_for(seed, PURPOSE_STRATUM, column), shuffled })
    }

    /// Numbers of `bits` bits in no order, or `None` when there are fewer than rows.
    pub(super) fn shuffled(days: &Days, bits: u32, seed: u64, column: u64) -> Option<Numbers> {
        let fits = u128::from(days.rows()) <= 1u128 << bits;
        fits.then(|| Numbers::Shuffled(BitPermutation::new(bits, key_for(seed, PURPOSE_SHUFFLE, column))))
    }

    /// The number of a row that lies on a day.
    #[inline]
    pub(super) fn number(&self, row: u64, day: &Day, rows_a_day_max: u64) -> u64 {
        match self {
            Numbers::Shuffled(permutation) => permutation.apply(row),
            Numbers::Strata { width, groups, key, shuffled } => {
                let (place, group) = match *groups {
                    1 => (row, 0),
                    _ => (row - day.first_row, u64::from(day.index)),
                };
                let stratum = match shuffled {
                    None => place,
                    Some([long, _]) if *groups == 1 || day.rows == rows_a_day_max => long.apply(place),
                    Some([_, short]) => short.apply(place),
                };
                let draw = scale(hash(*key, row), *width);
                (stratum * width + draw) * groups + group
            }
        }
    }
}

/// How a key's number is written as text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Digits {
    alphabet: &'static [u8],
    bits_a_digit: u32,
    /// Digits that hold the number, most significant first.
    number: u32,
    /// Digits behind them, drawn at random.
    random: u32,
    key: u64,
}

const BASE32: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";
const BASE64: &[u8; 64] = b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
/// What the random digits are keyed by.
const PURPOSE_DIGITS: u64 = 4;
/// Digits that one 64-bit number fills, in either alphabet: 12 × 5 or 10 × 6 bits.
const NUMBER_BITS: u32 = 60;
/// The most digits: a number's and as many again.
pub(super) const DIGITS_MAX: u8 = 24;

impl Digits {
    pub(super) fn new(alphabet: Alphabet, digits: u8, seed: u64, column: u64) -> Digits {
        let (alphabet, bits_a_digit): (&[u8], u32) = match alphabet {
            Alphabet::Base32 => (BASE32, 5),
            Alphabet::Base64 => (BASE64, 6),
        };
        let digits = u32::from(digits.min(DIGITS_MAX));
        let number = digits.min(NUMBER_BITS / bits_a_digit);
        let key = key_for(seed, PURPOSE_DIGITS, column);
        Digits { alphabet, bits_a_digit, number, random: digits - number, key }
    }

    /// Bits of the number that the digits hold.
    pub(super) fn bits(&self) -> u32 {
        self.number * self.bits_a_digit
    }

    /// Digits that tell keys apart.
    pub(super) fn significant(&self) -> u32 {
        self.number
    }

    /// Digits in all.
    pub(super) fn count(&self) -> usize {
        (self.number + self.random) as usize
    }

    /// Appends a number's digits, and the random ones.
    #[inline]
    pub(super) fn write(&self, number: u64, row: u64, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + self.count(), 0);
        self.put(number, row, &mut out[start..]);
    }

    /// Writes a number's digits, and the random ones, to where they all have room.
    #[inline]
    pub(super) fn put(&self, number: u64, row: u64, out: &mut [u8]) {
        let (digits, random) = out.split_at_mut(self.number as usize);
        self.put_digits(number, digits);
        let at_once = (NUMBER_BITS / self.bits_a_digit) as usize;
        for (word, digits) in (1..).zip(random.chunks_mut(at_once)) {
            self.put_digits(hash(self.key.wrapping_add(word), row), digits);
        }
    }

    /// Writes the low digits of a number, at most a number's.
    #[inline(always)]
    fn put_digits(&self, number: u64, out: &mut [u8]) {
        if self.bits_a_digit == 5 {
            return put_base32(number, out);
        }
        let mask = (1u64 << self.bits_a_digit) - 1;
        let mut rest = number;
        for digit in out.iter_mut().rev() {
            *digit = self.alphabet[(rest & mask) as usize];
            rest >>= self.bits_a_digit;
        }
    }
}

/// The low digits of a number in [`BASE32`], at most 12: eight at a time in one word.
#[inline]
fn put_base32(number: u64, out: &mut [u8]) {
    let low = eight_digits(number);
    let all = u128::from(eight_digits(number >> 40)) << 64 | u128::from(low);
    let count = out.len();
    match count {
        // Two pieces that may overlap are all of it.
        8..=16 => {
            out[..8].copy_from_slice(&((all >> (8 * (count - 8))) as u64).to_be_bytes());
            out[count - 8..].copy_from_slice(&low.to_be_bytes());
        }
        0..8 => out.copy_from_slice(&low.to_be_bytes()[8 - count..]),
        _ => {}
    }
}

/// The low eight digits, the first one in the highest byte.
#[inline]
fn eight_digits(number: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // Cut in halves until each digit has a byte of its own: 20, 10, 5 bits.
    let halves = (number << 12 & 0x000f_ffff_0000_0000) | (number & 0x000f_ffff);
    let quarters = (halves << 6 & 0x03ff_0000_03ff_0000) | (halves & 0x0000_03ff_0000_03ff);
    let values = (quarters << 3 & 0x1f00_1f00_1f00_1f00) | (quarters & 0x001f_001f_001f_001f);
    // From ten on, digits are letters.
    let letters = (values + ONES * (0x80 - 10)) >> 7 & ONES;
    values + ONES * u64::from(b'0') + letters * u64::from(b'a' - b'0' - 10)
}
