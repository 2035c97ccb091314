//! The page writer's cost a row, by dataset: rows made, encoded, put on pages, checksummed; the disk left out.

#[path = "../tests/support/donor.rs"]
mod donor_file;

use std::convert::Infallible;
use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use idembench::keys::{RowBatch, RowMaker};
use idembench::load::pages::{MadeRows, ROWS_AT_A_TIME};
use idembench::pages::buffer::PageBuffer;
use idembench::pages::donor::Donor;
use idembench::pages::file::{FileBuilder, FileOptions};
use idembench::pages::format;
use idembench::pages::index::PageSink;
use idembench::pages::plan::TablePlan;
use idembench::pages::sort::Sorter;
use idembench::pages::verify::{self, Shape};
use idembench::spec::dataset::{Dataset, built_in};

/// A disk that takes everything at once.
struct Nowhere;

impl PageSink for Nowhere {
    type Error = Infallible;
    fn extent(&mut self, _: u32, bytes: &mut PageBuffer, used_bytes: usize) -> Result<(), Infallible> {
        black_box(&bytes.bytes()[..used_bytes]);
        Ok(())
    }
    fn page(&mut self, _: u32, bytes: &[u8]) -> Result<(), Infallible> {
        black_box(bytes);
        Ok(())
    }
}

/// A file in memory.
#[derive(Default)]
struct Memory(Vec<u8>);

impl PageSink for Memory {
    type Error = Infallible;
    fn extent(&mut self, first: u32, bytes: &mut PageBuffer, used_bytes: usize) -> Result<(), Infallible> {
        self.page(first, &bytes.bytes()[..used_bytes])
    }
    fn page(&mut self, number: u32, bytes: &[u8]) -> Result<(), Infallible> {
        let at = number as usize * format::PAGE_BYTES;
        if self.0.len() < at + bytes.len() {
            self.0.resize(at + bytes.len(), 0);
        }
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
}

const ROWS: u64 = 200_000;

fn build<S: PageSink<Error = Infallible>>(
    plan: &TablePlan,
    donor: &Donor,
    maker: &RowMaker,
    sink: &mut S,
) -> u64 {
    let options = FileOptions {
        rows_sorted: true,
        sort_bytes: 64 << 20,
        spill_folder: std::env::temp_dir(),
        profiles: Vec::new(),
        seed: 42,
        rows: ROWS,
    };
    let mut builder = FileBuilder::new(plan, donor.clone(), &options);
    let mut batch = RowBatch::default();
    for first in (0..ROWS).step_by(ROWS_AT_A_TIME as usize) {
        maker.fill_batch(first..ROWS.min(first + ROWS_AT_A_TIME), &mut batch);
        builder.push_rows(&MadeRows(&batch), sink).expect("the datasets are right");
    }
    builder.finish(sink).expect("the datasets are right").bytes
}

fn datasets(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pages");
    group.throughput(Throughput::Elements(ROWS)).sample_size(10).measurement_time(Duration::from_secs(2));
    for built_in in built_in() {
        let mut dataset = Dataset::read(built_in.name).expect("a built-in dataset");
        dataset = dataset.scaled(Some(idembench::units::Rows(ROWS)), Some(1), None, None).expect("a day");
        let maker = RowMaker::new(&dataset).expect("a built-in dataset");
        let plan = TablePlan::new(&dataset.table).expect("a built-in dataset");
        let indexes = 1 + plan.secondary.len();
        let donor = Donor::read(donor_file::donor(indexes as u32, 0), indexes).expect("a made-up donor");
        group.bench_function(built_in.name, |b| b.iter(|| build(&plan, &donor, &maker, &mut Nowhere)));
        let mut batch = RowBatch::default();
        group.bench_function(format!("{} rows only", built_in.name), |b| {
            b.iter(|| {
                for first in (0..ROWS).step_by(ROWS_AT_A_TIME as usize) {
                    maker.fill_batch(first..ROWS.min(first + ROWS_AT_A_TIME), black_box(&mut batch));
                }
            });
        });
        let mut file = Memory::default();
        let bytes = build(&plan, &donor, &maker, &mut file);
        file.0.resize(bytes as usize, 0);
        let shape = Shape::of(&dataset.table);
        group.bench_function(format!("{} verify", built_in.name), |b| {
            b.iter(|| verify::bytes(&file.0, &shape).expect("a sound file"));
        });
    }
    group.finish();
}

fn parts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pages parts");
    group.sample_size(10).measurement_time(Duration::from_secs(2));
    let page = vec![7u8; format::PAGE_BYTES];
    group.throughput(Throughput::Bytes(format::PAGE_BYTES as u64));
    group.bench_function("checksum", |b| b.iter(|| format::page_checksum(black_box(&page))));
    group.throughput(Throughput::Elements(ROWS));
    for (name, memory_bytes) in [("sort in memory", 64 << 20), ("sort through files", 4 << 20)] {
        group.bench_function(name, |b| {
            b.iter_batched(
                || Sorter::new(memory_bytes, &std::env::temp_dir()),
                |mut sorter| {
                    for number in 0..ROWS {
                        let key = number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
                        sorter.push(&[&key[..], &[0x41; 24]].concat(), &[]).expect("temporary files");
                    }
                    let mut sorted = sorter.finish().expect("temporary files");
                    while let Some(entry) = sorted.next_entry().expect("temporary files") {
                        black_box(entry);
                    }
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, datasets, parts);
criterion_main!(benches);
