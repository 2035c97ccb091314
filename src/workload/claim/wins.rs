//! A bounded record of wins, and what must be true of them.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};

/// One row won once. Instants are nanoseconds on a clock that all connections share.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Win<K> {
    /// The row.
    pub row: K,
    /// Its token afterwards.
    pub token: u64,
    /// The win happened after this instant (the claim was sent).
    pub from_ns: u64,
    /// The win happened before this instant (its answer was there).
    pub until_ns: u64,
}

/// The wins of one connection, or of all. When there are more than fit, every other row is left out, by a
/// hash of the row: so all wins of a row that is still in are in, whoever had them.
#[derive(Debug, Clone)]
pub struct WinBook<K> {
    wins: Vec<Win<K>>,
    /// Claims without an answer, which may have taken their row.
    doubts: Vec<K>,
    wins_max: usize,
    /// Rows are in if the lowest `halvings` bits of their hash are zero.
    halvings: u32,
    /// All wins, whether they are in or not.
    count: u64,
}

/// A row's wins, put together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowWins<K> {
    /// The row.
    pub row: K,
    /// The highest token that a win of ours brought; `None` where there are only doubts.
    pub last_token: Option<u64>,
    /// How much higher the row's token may be, because of claims without an answer.
    pub slack: u64,
}

/// What a book says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audit<K> {
    /// Rows to be compared with the table.
    pub rows: Vec<RowWins<K>>,
    /// Wins that were looked at.
    pub wins: u64,
    /// All wins.
    pub wins_in_all: u64,
    /// Rows whose tokens did not rise by one from win to win: the first few.
    pub broken_tokens: Vec<String>,
    /// Rows that were won again before their lease ran out: the first few.
    pub broken_leases: Vec<String>,
}

/// Faults that are described; what is wrong once is wrong.
const FAULTS_MAX: usize = 5;

impl<K: Hash + Ord + Clone + std::fmt::Debug> WinBook<K> {
    /// A book for about `wins_max` wins.
    pub fn new(wins_max: usize) -> WinBook<K> {
        let wins_max = wins_max.max(1);
        // So that nothing is moved while measuring.
        let wins = Vec::with_capacity(wins_max);
        WinBook { wins, doubts: Vec::new(), wins_max, halvings: 0, count: 0 }
    }

    /// Writes a win down.
    pub fn won(&mut self, win: Win<K>) {
        self.count += 1;
        if !is_in(&win.row, self.halvings) {
            return;
        }
        while self.wins.len() >= self.wins_max && self.halvings < 60 {
            self.halve_to(self.halvings + 1);
        }
        if is_in(&win.row, self.halvings) && self.wins.len() < self.wins_max {
            self.wins.push(win);
        }
    }

    /// Writes down that a claim on the row may or may not have won.
    pub fn in_doubt(&mut self, row: K) {
        if self.doubts.len() < self.wins_max {
            self.doubts.push(row);
        }
    }

    /// All books in one.
    pub fn merge(books: Vec<WinBook<K>>) -> WinBook<K> {
        let mut all =
            WinBook { wins: Vec::new(), doubts: Vec::new(), wins_max: usize::MAX, halvings: 0, count: 0 };
        let halvings = books.iter().map(|book| book.halvings).max().unwrap_or(0);
        for mut book in books {
            book.halve_to(halvings);
            all.count += book.count;
            all.wins.append(&mut book.wins);
            all.doubts.append(&mut book.doubts);
        }
        all.halvings = halvings;
        all.doubts.retain(|row| is_in(row, halvings));
        all
    }

    /// Looks at each row's wins in the order of their tokens.
    pub fn audit(mut self, lease_ns: u64) -> Audit<K> {
        self.wins.sort_unstable();
        let mut doubts: HashMap<K, u64> = HashMap::new();
        for row in self.doubts {
            *doubts.entry(row).or_insert(0) += 1;
        }
        let mut audit = Audit {
            rows: Vec::new(),
            wins: self.wins.len() as u64,
            wins_in_all: self.count,
            broken_tokens: Vec::new(),
            broken_leases: Vec::new(),
        };
        for wins in self.wins.chunk_by(|left, right| left.row == right.row) {
            let doubts = doubts.remove(&wins[0].row).unwrap_or(0);
            audit.look_at(wins, doubts, lease_ns);
        }
        audit.rows.extend(doubts.into_iter().map(|(row, slack)| RowWins { row, last_token: None, slack }));
        audit
    }

    fn halve_to(&mut self, halvings: u32) {
        if halvings > self.halvings {
            self.halvings = halvings;
            self.wins.retain(|win| is_in(&win.row, halvings));
        }
    }
}

impl<K: Clone + std::fmt::Debug> Audit<K> {
    fn look_at(&mut self, wins: &[Win<K>], doubts: u64, lease_ns: u64) {
        let mut missing = 0;
        for pair in wins.windows(2) {
            let (earlier, later) = (&pair[0], &pair[1]);
            match later.token.checked_sub(earlier.token) {
                Some(rise @ 1..) => missing += rise - 1,
                _ => note(&mut self.broken_tokens, || {
                    format!("row {:?} was won twice with token {}", later.row, later.token)
                }),
            }
            // Between the latest instant of one and the earliest of the other the lease cannot have run.
            if later.until_ns < earlier.from_ns.saturating_add(lease_ns) {
                note(&mut self.broken_leases, || {
                    let apart_ms = later.until_ns.saturating_sub(earlier.from_ns) as f64 / 1e6;
                    format!("row {:?} was won again within {apart_ms} ms", later.row)
                });
            }
        }
        if missing > doubts {
            note(&mut self.broken_tokens, || {
                format!(
                    "row {:?} was won {} times, and its token rose {missing} times more",
                    wins[0].row,
                    wins.len()
                )
            });
        }
        let last = &wins[wins.len() - 1];
        self.rows.push(RowWins {
            row: last.row.clone(),
            last_token: Some(last.token),
            slack: doubts.saturating_sub(missing),
        });
    }
}

fn note(faults: &mut Vec<String>, fault: impl FnOnce() -> String) {
    if faults.len() < FAULTS_MAX {
        faults.push(fault());
    }
}

fn is_in<K: Hash>(row: &K, halvings: u32) -> bool {
    // The same hash in every book: it must not be seeded by chance.
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(row);
    hash.trailing_zeros() >= halvings
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LEASE: u64 = 100;

    fn win(row: u64, token: u64, from_ns: u64, until_ns: u64) -> Win<u64> {
        Win { row, token, from_ns, until_ns }
    }

    fn check(wins: &[Win<u64>], doubts: &[u64], tokens_hold: bool, leases_hold: bool) -> Audit<u64> {
        let mut book = WinBook::new(100);
        wins.iter().cloned().for_each(|win| book.won(win));
        doubts.iter().for_each(|row| book.in_doubt(*row));
        let audit = WinBook::merge(vec![book]).audit(LEASE);
        assert_eq!(audit.broken_tokens.is_empty(), tokens_hold, "{:?}", audit.broken_tokens);
        assert_eq!(audit.broken_leases.is_empty(), leases_hold, "{:?}", audit.broken_leases);
        audit
    }

    #[test]
    fn wins_in_a_row_that_are_a_lease_apart_are_right() {
        let audit = check(&[win(7, 5, 0, 10), win(7, 6, 105, 115), win(8, 1, 0, 9)], &[], true, true);
        assert_eq!(audit.rows.len(), 2);
        assert_eq!(audit.rows[0], RowWins { row: 7, last_token: Some(6), slack: 0 });
    }

    #[test]
    fn a_win_within_the_lease_is_seen() {
        check(&[win(7, 5, 0, 10), win(7, 6, 50, 60)], &[], true, false);
    }

    #[test]
    fn an_effect_too_many_and_one_too_few_are_seen() {
        check(&[win(7, 5, 0, 10), win(7, 7, 200, 210)], &[], false, true);
        check(&[win(7, 5, 0, 10), win(7, 5, 200, 210)], &[], false, true);
    }

    #[test]
    fn a_claim_without_an_answer_may_have_raised_the_token_once() {
        let audit = check(&[win(7, 5, 0, 10), win(7, 7, 200, 210)], &[7], true, true);
        assert_eq!(audit.rows, [RowWins { row: 7, last_token: Some(7), slack: 0 }]);
        let audit = check(&[win(7, 5, 0, 10)], &[7, 9], true, true);
        assert_eq!(audit.rows[0].slack, 1);
        assert_eq!(audit.rows[1], RowWins { row: 9, last_token: None, slack: 1 });
        check(&[win(7, 5, 0, 10), win(7, 8, 200, 210)], &[7], false, true);
    }

    proptest! {
        #[test]
        fn a_full_book_keeps_all_wins_of_the_rows_it_keeps(
            rows in prop::collection::vec(0u64..50, 1..400), split in 1usize..5,
        ) {
            let mut books = vec![WinBook::new(40); split];
            let mut wins_of = HashMap::new();
            for (place, row) in rows.iter().enumerate() {
                let token = wins_of.entry(*row).or_insert(0u64);
                *token += 1;
                let at = place as u64 * 2 * LEASE;
                books[place % split].won(win(*row, *token, at, at));
            }
            let audit = WinBook::merge(books).audit(LEASE);
            prop_assert!(audit.broken_tokens.is_empty() && audit.broken_leases.is_empty());
            prop_assert_eq!(audit.wins_in_all, rows.len() as u64);
            for row in &audit.rows {
                prop_assert_eq!(row.last_token, Some(wins_of[&row.row]));
            }
        }
    }
}
