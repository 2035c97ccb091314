//! A latency.

use std::fmt;

use super::three_digits;

/// A latency in microseconds, printed `310 us`, `1.9 ms` or `4.1 s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Micros(pub u64);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = self.0 as f64;
        let text = match self.0 {
            n if n >= 1_000_000 => format!("{} s", three_digits(us / 1e6)),
            n if n >= 100 => format!("{} ms", three_digits(us / 1e3)),
            _ => format!("{} us", self.0),
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_printed_in_the_unit_that_fits() {
        for (us, text) in
            [(0, "0 us"), (42, "42 us"), (310, "0.31 ms"), (1_900, "1.9 ms"), (4_100_000, "4.1 s")]
        {
            assert_eq!(Micros(us).to_string(), text);
        }
    }
}
