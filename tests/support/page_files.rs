//! Table files in memory: made-up tables built and verified.
#![allow(clippy::unwrap_used)] // A test that cannot set up its files should stop right there.
#![allow(dead_code)] // Not every test uses all of it.

#[path = "donor.rs"]
pub mod donor_file;
#[path = "page_rows.rs"]
mod page_rows;

use std::convert::Infallible;

use donor_file::donor;
use idembench::pages::buffer::PageBuffer;
use idembench::pages::donor::Donor;
use idembench::pages::encode::Value;
use idembench::pages::file::{BuildError, FileBuilder, FileOptions, FileSummary};
use idembench::pages::fill::FillProfile;
use idembench::pages::index::PageSink;
use idembench::pages::plan::TablePlan;
use idembench::pages::verify::{self, Shape, Verified};
use idembench::spec::table::{Column, ColumnKind, Index, KeyPart, Table};
use page_rows::Batch;

pub const PAGE: usize = 16384;

/// A file in memory.
#[derive(Default)]
pub struct Memory(pub Vec<u8>);

impl Memory {
    fn put(&mut self, first: u32, bytes: &[u8]) {
        let at = first as usize * PAGE;
        if self.0.len() < at + bytes.len() {
            self.0.resize(at + bytes.len(), 0);
        }
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }
}

impl PageSink for Memory {
    type Error = Infallible;
    fn extent(&mut self, first: u32, bytes: &mut PageBuffer, used_bytes: usize) -> Result<(), Infallible> {
        self.put(first, &bytes.bytes()[..used_bytes]);
        // As if another buffer had come back.
        bytes.bytes_mut().fill(0xA5);
        Ok(())
    }
    fn page(&mut self, number: u32, bytes: &[u8]) -> Result<(), Infallible> {
        self.put(number, bytes);
        Ok(())
    }
}

pub type Built = Result<(Vec<u8>, FileSummary), BuildError<Infallible>>;

pub fn build<'v>(table: &Table, sorted: bool, rows: u64, value: impl Fn(u64, usize) -> Value<'v>) -> Built {
    build_like(table, sorted, rows, &[], value)
}

/// The same with fill and order of each index. Rows go in batches of several lengths; one by one they must become the
/// same file, or be refused in the same way.
pub fn build_like<'v>(
    table: &Table,
    sorted: bool,
    rows: u64,
    profiles: &[FillProfile],
    value: impl Fn(u64, usize) -> Value<'v>,
) -> Built {
    let one_by_one = build_by(table, sorted, rows, profiles, |builder, file| {
        (0..rows).try_for_each(|row| builder.push(|column| value(row, column), file))
    });
    let lengths = [128, 1, 37, 300, 2];
    let in_batches = build_by(table, sorted, rows, profiles, |builder, file| {
        let (mut next, mut lengths) = (0, lengths.iter().cycle());
        while next < rows {
            let end = rows.min(next + lengths.next().unwrap());
            builder.push_rows(&Batch::new(next..end, table.columns.len(), &value), file)?;
            next = end;
        }
        Ok(())
    });
    match (&one_by_one, &in_batches) {
        (Ok(one_by_one), Ok(in_batches)) => {
            assert_eq!(one_by_one.1, in_batches.1);
            assert!(one_by_one.0 == in_batches.0, "the files differ");
        }
        (one_by_one, in_batches) => {
            let said =
                |built: &Built| built.as_ref().map(|built| built.1.clone()).map_err(|e| format!("{e:?}"));
            assert_eq!(said(one_by_one), said(in_batches));
        }
    }
    in_batches
}

fn build_by(
    table: &Table,
    sorted: bool,
    rows: u64,
    profiles: &[FillProfile],
    push: impl Fn(&mut FileBuilder, &mut Memory) -> Result<(), BuildError<Infallible>>,
) -> Built {
    let plan = TablePlan::new(table).unwrap();
    let indexes = 1 + plan.secondary.len();
    let donor = Donor::read(donor(indexes as u32, 2), indexes).unwrap();
    // Little memory, so that larger tests spill.
    let options = FileOptions {
        rows_sorted: sorted,
        sort_bytes: 1 << 20,
        spill_folder: std::env::temp_dir(),
        profiles: profiles.to_vec(),
        seed: 42,
        rows,
    };
    let mut builder = FileBuilder::new(&plan, donor, &options);
    let mut file = Memory::default();
    push(&mut builder, &mut file)?;
    let summary = builder.finish(&mut file)?;
    file.0.resize(summary.bytes as usize, 0);
    Ok((file.0, summary))
}

/// The verifier agrees with what the writer says it wrote.
pub fn check(table: &Table, file: &[u8], summary: &FileSummary, rows: u64) -> Verified {
    let verified = verify::bytes(file, &Shape::of(table)).unwrap_or_else(|fault| panic!("{fault}"));
    let pairs = verified.indexes.iter().zip(&summary.indexes);
    for (seen, said) in pairs {
        assert_eq!(
            (seen.rows, seen.leaf_pages, seen.inner_pages, seen.levels),
            (said.rows, said.leaf_pages, said.inner_pages, said.levels)
        );
        assert_eq!(seen.rows, rows);
    }
    assert_eq!(verified.lsn_max, donor_file::LSN);
    verified
}

pub fn column(name: &str, kind: ColumnKind, nullable: bool) -> Column {
    Column { name: name.to_owned(), kind, nullable, generated: false, default: None }
}

pub fn part(column: usize) -> KeyPart {
    KeyPart { column, prefix: None, descending: false }
}

pub fn table(columns: Vec<Column>, primary_key: Vec<KeyPart>, indexes: Vec<Index>) -> Table {
    Table {
        name: "t".to_owned(),
        columns,
        primary_key,
        indexes,
        partitioning: None,
        sql_without_partitions: String::new(),
    }
}

/// Rows of a fixed size: an 8-byte key and padding, with a secondary index over the padding's twin.
pub fn padded(bytes: u16) -> Table {
    let int = ColumnKind::Integer { bytes: 8, unsigned: true };
    let columns = vec![
        column("k", int.clone(), false),
        column("v", int, true),
        column("p", ColumnKind::Binary(bytes), false),
    ];
    table(columns, vec![part(0)], vec![Index { name: "v".to_owned(), unique: false, parts: vec![part(1)] }])
}

pub fn padded_row(row: u64, column: usize) -> Value<'static> {
    match column {
        0 => Value::Unsigned(row),
        1 if row.is_multiple_of(3) => Value::Null,
        1 => Value::Unsigned(row.wrapping_mul(0x9E37_79B9_7F4A_7C15)),
        _ => Value::Bytes(b"padding"),
    }
}
