//! Making rows: nanoseconds a row for every built-in dataset, and for the pieces of one row.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use idembench::keys::{KeyOf, Picker, Row, RowMaker};
use idembench::spec::dataset::{Dataset, built_in};
use idembench::spec::suite::Targets;
use idembench::units::Rows;

/// Rows made in one go: enough that the call around them does not count.
const ROWS: u64 = 10_000;

fn dataset(name: &str) -> Dataset {
    Dataset::read(name)
        .expect("it is built in")
        .scaled(Some(Rows(700_000_000)), None, None, None)
        .expect("it scales")
}

fn rows(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("row");
    group.throughput(Throughput::Elements(ROWS));
    for built_in in built_in() {
        let maker = RowMaker::new(&dataset(built_in.name)).expect("it fits");
        let mut row = Row::default();
        group.bench_function(built_in.name, |bencher| {
            bencher.iter(|| {
                for number in 300_000_000..300_000_000 + ROWS {
                    maker.fill(number, &mut row);
                    black_box(row.cells());
                }
            });
        });
    }
    group.finish();
}

fn keys(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("key");
    group.throughput(Throughput::Elements(ROWS));
    for name in ["t_idem", "t_idem_hash"] {
        let mut key_of = KeyOf::new(&dataset(name)).expect("it fits");
        let mut values = Vec::new();
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                for number in 0..ROWS {
                    // Far apart, as a workload asks for them.
                    key_of.fill(number * 69_997 % 700_000_000, &mut values);
                    black_box(&values);
                }
            });
        });
    }
    group.finish();
}

fn picks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pick");
    group.throughput(Throughput::Elements(ROWS));
    for (name, targets) in [
        ("uniform", Targets::Uniform),
        ("zipfian", Targets::Zipfian { exponent: 0.99 }),
        ("newest_day", Targets::NewestDay { share: 0.9 }),
    ] {
        let picker = Picker::new(&dataset("t_idem"), targets, 1).expect("it has claims");
        group.bench_function(name, |bencher| {
            bencher.iter_batched_ref(
                || picker.clone(),
                |picker| {
                    (0..ROWS).for_each(|_| {
                        black_box(picker.next_pending());
                    })
                },
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, rows, keys, picks);
criterion_main!(benches);
