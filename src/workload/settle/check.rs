//! After the step: both tables must say what was acknowledged; then the step's rows go away.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use sqlx::MySqlConnection;

use super::Settling;
use super::book::{Book, Fate};
use crate::keys::{Messages, Value};
use crate::results::Check;
use crate::table::holders::key_text;
use crate::table::ledger;
use crate::table::settle::{self, KEYS_AT_ONCE, RIVAL_AMOUNT};
use crate::units::grouped;

/// Faults that are described; what is wrong once is wrong.
const FAULTS_MAX: usize = 3;

/// What is stored of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Stored {
    /// `Some(true)`: DONE.
    row: Option<bool>,
    bills: u32,
}

impl Settling {
    /// Compares what is stored with what the workers know, and takes it away. `rivals` is what rivals added in
    /// all, in the smallest coin, and how far that is in doubt.
    pub(in crate::workload) async fn check(
        &self,
        book: &Book,
        rivals: Rivals,
        connection: &mut MySqlConnection,
    ) -> Vec<Check> {
        let issued = self.issued.load(Ordering::SeqCst);
        let mut checks = match self.read(connection, issued).await {
            Ok(tables) => judge(book, rivals, &tables, issued),
            Err(error) => vec![Check {
                name: "the rows can be read after the step".to_owned(),
                held: false,
                detail: error.to_string(),
            }],
        };
        let away = self.take_away(connection, issued).await;
        checks.push(Check {
            name: "the step's rows are taken away again".to_owned(),
            held: away.is_ok(),
            detail: match away {
                Ok(rows) => format!("{} rows deleted, {} emptied", grouped(rows), self.statements.bills),
                Err(error) => format!("{error}; the next load of {} does it", self.statements.table),
            },
        });
        checks
    }

    async fn read(&self, connection: &mut MySqlConnection, issued: u64) -> Result<Tables, sqlx::Error> {
        let mut tables = Tables { stored: vec![Stored::default(); issued as usize], ..Tables::default() };
        let mut messages = self.messages.clone();
        let (mut values, order) = (Vec::new(), self.statements.order);
        settle::read_bills(connection, &self.statements, |bill| {
            tables.money += i128::from(bill.amount);
            // Rivals add multiples of more than any number.
            let number = bill.amount.rem_euclid(RIVAL_AMOUNT) - 1;
            let place = u64::try_from(number).ok().filter(|message| *message < issued);
            let Some(message) = place else {
                tables.strangers.note(|| format!("a bill of {} names no message", bill.order));
                return;
            };
            messages.fill(message, &mut values);
            if !matches!(&values[order], Value::Text(order) if *order == bill.order) {
                tables.strangers.note(|| format!("the bill of message {message} is {}'s", bill.order));
            }
            tables.stored[message as usize].bills += 1;
        })
        .await?;
        for from in (0..issued).step_by(KEYS_AT_ONCE) {
            let range = from..(from + KEYS_AT_ONCE as u64).min(issued);
            let keys: Vec<Vec<Value>> =
                range.clone().map(|message| self.key(&mut messages, message)).collect();
            let by_key: HashMap<String, u64> = keys.iter().map(|key| key_text(key)).zip(range).collect();
            for row in settle::read_rows(connection, &self.statements, &keys).await? {
                if let Some(message) = by_key.get(&row.key) {
                    tables.stored[*message as usize].row = Some(row.done);
                }
            }
        }
        Ok(tables)
    }

    fn key(&self, messages: &mut Messages, message: u64) -> Vec<Value> {
        let mut values = Vec::new();
        messages.fill(message, &mut values);
        self.statements.key_of(&values).cloned().collect()
    }

    async fn take_away(&self, connection: &mut MySqlConnection, issued: u64) -> Result<u64, sqlx::Error> {
        let mut messages = self.messages.clone();
        let mut deleted = 0;
        for from in (0..issued).step_by(KEYS_AT_ONCE) {
            let range = from..(from + KEYS_AT_ONCE as u64).min(issued);
            let keys: Vec<Vec<Value>> = range.map(|message| self.key(&mut messages, message)).collect();
            deleted += settle::delete_rows(connection, &self.statements, &keys).await?;
        }
        settle::empty_bills(connection, &self.statements).await?;
        ledger::forget_step_rows(connection, &self.statements.table).await?;
        Ok(deleted)
    }
}

/// What rivals did to the bills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::workload) struct Rivals {
    /// Added in all, in the smallest coin.
    pub added: i128,
    /// Added or not: their COMMIT has no answer.
    pub in_doubt: u64,
}

/// What both tables hold of a step.
#[derive(Debug, Default)]
struct Tables {
    stored: Vec<Stored>,
    money: i128,
    strangers: Faults,
}

/// Faults of one kind: how many, and the first few in words.
#[derive(Debug, Default)]
struct Faults {
    count: u64,
    first: Vec<String>,
}

impl Faults {
    fn note(&mut self, fault: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.len() < FAULTS_MAX {
            self.first.push(fault());
        }
    }

    fn check(self, name: &str, figures: String) -> Check {
        let held = self.count == 0;
        let detail = match held {
            true => figures,
            false => format!("{} are: {}", grouped(self.count), self.first.join("; ")),
        };
        Check { name: name.to_owned(), held, detail }
    }
}

fn judge(book: &Book, rivals: Rivals, tables: &Tables, issued: u64) -> Vec<Check> {
    let fates = book.fates();
    let (mut wrong, mut halves, mut twice) = (Faults::default(), Faults::default(), Faults::default());
    let (mut settled, mut pending, mut doubtful, mut money) = (0u64, 0u64, 0u64, 0i128);
    for (message, stored) in (0u64..).zip(&tables.stored) {
        let fate = fates.get(&message).copied();
        if stored.bills > 1 {
            twice.note(|| format!("message {message} has {} bills", stored.bills));
        }
        let is_half =
            matches!((stored.row, stored.bills), (Some(true), 0) | (Some(false), 1..) | (None, 1..))
                || (stored.row == Some(false) && !matches!(fate, Some(Fate::Claimed | Fate::Doubtful)));
        if is_half {
            halves.note(|| format!("message {message} {}", words(*stored)));
        }
        let expected = match fate {
            None | Some(Fate::Settled) => stored.row == Some(true) && stored.bills > 0,
            Some(Fate::Missing) => *stored == Stored::default(),
            Some(Fate::Claimed) => stored.row == Some(false) && stored.bills == 0,
            Some(Fate::Doubtful) => true,
        };
        if !expected {
            wrong.note(|| format!("message {message} {}, and {}", words(*stored), acknowledged(fate)));
        }
        settled += u64::from(stored.row == Some(true));
        pending += u64::from(stored.row == Some(false));
        doubtful += u64::from(fate == Some(Fate::Doubtful));
        // What must be there, and of what is in doubt what is there.
        let paid = match fate {
            None | Some(Fate::Settled) => true,
            Some(Fate::Doubtful) => stored.bills > 0,
            Some(Fate::Missing | Fate::Claimed) => false,
        };
        money += if paid { i128::from(message) + 1 } else { 0 };
    }
    let figures = format!(
        "{} messages: {} settled, {} left PENDING, {} without an answer",
        grouped(issued),
        grouped(settled),
        grouped(pending),
        grouped(doubtful)
    );
    let difference = tables.money - money - rivals.added;
    let unanswered = i128::from(RIVAL_AMOUNT) * i128::from(rivals.in_doubt);
    vec![
        wrong.check("every message has the rows that were acknowledged", figures),
        halves.check(
            "no message is half claimed but those whose second transaction is known to be missing",
            format!("{} are PENDING and known", grouped(pending)),
        ),
        twice.check("no message was settled twice", format!("{} settled", grouped(settled))),
        Check {
            name: "every bill names its message and its order".to_owned(),
            held: tables.strangers.count == 0,
            detail: match tables.strangers.count {
                0 => "all do".to_owned(),
                count => format!("{} do not: {}", grouped(count), tables.strangers.first.join("; ")),
            },
        },
        Check {
            name: "the bills add up to what was acknowledged".to_owned(),
            held: difference.abs() <= unanswered && difference % i128::from(RIVAL_AMOUNT) == 0,
            detail: match difference {
                0 => format!("{} of the smallest coin, {} of them rivals'", tables.money, rivals.added),
                other => format!(
                    "they differ by {other} of the smallest coin; {} rivals are without an answer",
                    rivals.in_doubt
                ),
            },
        },
        Check {
            name: "every message is accounted for".to_owned(),
            held: book.accounted() == issued && book.is_whole() && book.unfound == 0,
            detail: format!(
                "{} of {}; {} second transactions did not find their row{}",
                grouped(book.accounted()),
                grouped(issued),
                grouped(book.unfound),
                if book.is_whole() { "" } else { "; more failures than are written down one by one" }
            ),
        },
    ]
}

fn words(stored: Stored) -> String {
    let row = match stored.row {
        None => "has no idempotency row",
        Some(true) => "is DONE",
        Some(false) => "is PENDING",
    };
    format!("{row} with {} bills", stored.bills)
}

fn acknowledged(fate: Option<Fate>) -> &'static str {
    match fate {
        None | Some(Fate::Settled) => "was acknowledged as settled",
        Some(Fate::Missing) => "was rolled back",
        Some(Fate::Claimed) => "was acknowledged as PENDING only",
        Some(Fate::Doubtful) => "has no answer",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTLED: Stored = Stored { row: Some(true), bills: 1 };
    const NOTHING: Stored = Stored { row: None, bills: 0 };
    const PENDING: Stored = Stored { row: Some(false), bills: 0 };

    /// Messages that ended so (`None`: settled) and are stored so, and the checks that do not hold.
    fn check(messages: &[(Option<Fate>, Stored)], money: i128, broken: &[&str]) {
        let mut book = Book::default();
        for ((fate, _), message) in messages.iter().zip(0..) {
            match fate {
                None => book.settled(),
                Some(fate) => book.ended(message, *fate),
            }
        }
        let stored = messages.iter().map(|(_, stored)| *stored).collect();
        let tables = Tables { stored, money, strangers: Faults::default() };
        let checks = judge(&book, Rivals::default(), &tables, messages.len() as u64);
        let found: Vec<&str> =
            checks.iter().filter(|check| !check.held).map(|check| check.name.as_str()).collect();
        assert_eq!(found.len(), broken.len(), "{found:?}");
        assert!(found.iter().zip(broken).all(|(name, part)| name.contains(part)), "{found:?}");
    }

    #[test]
    fn what_was_acknowledged_and_is_stored_is_right() {
        check(
            &[
                (None, SETTLED),
                (Some(Fate::Missing), NOTHING),
                (Some(Fate::Claimed), PENDING),
                (Some(Fate::Doubtful), SETTLED),
                (Some(Fate::Doubtful), NOTHING),
            ],
            1 + 4,
            &[],
        );
    }

    #[test]
    fn a_lost_a_doubled_and_a_half_message_are_seen() {
        check(&[(None, NOTHING)], 0, &["acknowledged", "add up"]);
        check(&[(None, Stored { bills: 2, ..SETTLED })], 2, &["twice", "add up"]);
        check(&[(None, Stored { bills: 0, ..SETTLED })], 0, &["acknowledged", "half", "add up"]);
        check(&[(None, PENDING)], 0, &["acknowledged", "half", "add up"]);
        check(&[(Some(Fate::Missing), SETTLED)], 1, &["acknowledged", "add up"]);
        check(&[(Some(Fate::Claimed), SETTLED)], 1, &["acknowledged", "add up"]);
        check(&[(None, SETTLED)], 2, &["add up"]);
    }
}
