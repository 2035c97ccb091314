//! What became of messages, as far as their workers know.

use std::collections::HashMap;

/// What is known of a message that was not simply settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It has left nothing: its transaction was rolled back, or never sent.
    Missing,
    /// It is PENDING without a bill: its second transaction was rolled back.
    Claimed,
    /// A COMMIT has no answer: it may have had its effect or not.
    Doubtful,
    /// A later delivery settled it.
    Settled,
}

/// The messages of one worker, or of all. Every message that was issued and that no entry names was settled
/// by its first delivery; so the book is as long as there are troubles.
#[derive(Debug, Clone, Default)]
pub struct Book {
    entries: Vec<(u64, Fate)>,
    /// First deliveries that were settled.
    settled: u64,
    /// First deliveries that were not.
    others: u64,
    /// Entries that there was no place for.
    left_out: u64,
    /// Second transactions that did not find their PENDING row.
    pub unfound: u64,
}

/// Entries of one worker: 3 MB.
const ENTRIES_MAX: usize = 200_000;

impl Book {
    /// A first delivery was settled.
    pub fn settled(&mut self) {
        self.settled += 1;
    }

    /// A first delivery ended otherwise.
    pub fn ended(&mut self, message: u64, fate: Fate) {
        self.others += 1;
        self.enter(message, fate);
    }

    /// A later delivery had an effect, or may have had one.
    pub fn redelivered(&mut self, message: u64, fate: Fate) {
        self.enter(message, fate);
    }

    fn enter(&mut self, message: u64, fate: Fate) {
        match self.entries.len() < ENTRIES_MAX {
            true => self.entries.push((message, fate)),
            false => self.left_out += 1,
        }
    }

    /// All books in one.
    pub fn merge(books: impl IntoIterator<Item = Book>) -> Book {
        let mut all = Book::default();
        for book in books {
            all.entries.extend(book.entries);
            all.settled += book.settled;
            all.others += book.others;
            all.left_out += book.left_out;
            all.unfound += book.unfound;
        }
        all
    }

    /// First deliveries whose end is known.
    pub fn accounted(&self) -> u64 {
        self.settled + self.others
    }

    /// Whether every trouble is written down.
    pub fn is_whole(&self) -> bool {
        self.left_out == 0
    }

    /// What must be true of the messages that are named; of several entries the strongest holds.
    pub fn fates(&self) -> HashMap<u64, Fate> {
        let mut fates = HashMap::new();
        for (message, fate) in &self.entries {
            let known = fates.entry(*message).or_insert(*fate);
            *known = (*known).max(*fate);
        }
        fates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_delivery_goes_before_an_earlier_failure() {
        let (mut first, mut second) = (Book::default(), Book::default());
        first.settled();
        first.ended(7, Fate::Missing);
        first.ended(8, Fate::Doubtful);
        first.ended(9, Fate::Claimed);
        second.redelivered(7, Fate::Settled);
        second.redelivered(8, Fate::Settled);
        let all = Book::merge([first, second]);
        assert_eq!(all.accounted(), 4);
        let fates = all.fates();
        assert_eq!((fates[&7], fates[&8], fates[&9]), (Fate::Settled, Fate::Settled, Fate::Claimed));
        assert!(all.is_whole());
    }
}
