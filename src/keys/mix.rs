//! Hashes and permutations of numbers: fixed for ever, since the rows of saved tables follow from them.

/// The odd number nearest to 2^64 / φ: spreads consecutive numbers.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A bijection of 64-bit numbers whose output looks random: the finaliser of SplitMix64 with the constants
/// that David Stafford found (his variant 13).
pub(super) fn mix64(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// A hash of a number under a key.
pub(super) fn hash(key: u64, number: u64) -> u64 {
    mix64(number.wrapping_mul(GOLDEN) ^ key)
}

/// A key for one use, from the seed and the name of the use.
pub(super) fn key_for(seed: u64, purpose: u64, index: u64) -> u64 {
    mix64(mix64(seed ^ GOLDEN).wrapping_add(mix64(purpose.wrapping_mul(GOLDEN)) ^ index))
}

/// Maps a hash to `0..below` evenly (Lemire's multiplication; the bias is below `below` / 2^64).
pub(super) fn scale(hash: u64, below: u64) -> u64 {
    ((u128::from(hash) * u128::from(below)) >> 64) as u64
}

/// A permutation of the numbers of `bits` bits (1 to 64) under a key: rounds of steps that are each a
/// bijection modulo 2^bits (add, multiply by an odd number, xor a right shift).
#[derive(Debug, Clone, Copy)]
pub(super) struct BitPermutation {
    mask: u64,
    shift: u32,
    keys: [u64; 4],
}

impl BitPermutation {
    pub(super) fn new(bits: u32, key: u64) -> BitPermutation {
        let bits = bits.clamp(1, 64);
        let mask = u64::MAX >> (64 - bits);
        let keys =
            std::array::from_fn(|round| mix64(key.wrapping_add(GOLDEN.wrapping_mul(round as u64 + 1))));
        BitPermutation { mask, shift: bits.div_ceil(2), keys }
    }

    pub(super) fn apply(&self, number: u64) -> u64 {
        let mut number = number & self.mask;
        for key in self.keys {
            number = number.wrapping_add(key >> 1).wrapping_mul(key | 1) & self.mask;
            number ^= number >> self.shift;
        }
        number
    }
}

/// A permutation of `0..count` under a key: [`BitPermutation`] walked until it comes back into the range,
/// at most twice as often as not.
#[derive(Debug, Clone, Copy)]
pub(super) struct Permutation {
    bits: BitPermutation,
    count: u64,
}

impl Permutation {
    pub(super) fn new(count: u64, key: u64) -> Permutation {
        let bits = 64 - count.saturating_sub(1).leading_zeros();
        Permutation { bits: BitPermutation::new(bits, key), count }
    }

    /// How many numbers are permuted.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The place of a number below `count`.
    ///
    /// Ends for every such number: its cycle contains itself, which is below `count`.
    pub(super) fn apply(&self, number: u64) -> u64 {
        debug_assert!(number < self.count);
        let mut place = self.bits.apply(number);
        while place >= self.count {
            place = self.bits.apply(place);
        }
        place
    }
}

/// A stream of pseudo-random numbers by counting: the i-th number is a hash of i.
#[derive(Debug, Clone)]
pub(super) struct Stream {
    key: u64,
    next: u64,
}

impl Stream {
    pub(super) fn new(key: u64) -> Stream {
        Stream { key, next: 0 }
    }

    /// A number below `below`.
    pub(super) fn below(&mut self, below: u64) -> u64 {
        scale(self.number(), below)
    }

    /// A number from 0 to 1, exclusive.
    pub(super) fn fraction(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        hash(self.key, self.next)
    }
}

impl rand::TryRng for Stream {
    type Error = std::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Ok((self.number() >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Ok(self.number())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.number().to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}
