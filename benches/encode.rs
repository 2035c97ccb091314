//! From a row number to text: what one row costs the loader's client, and what it costs to check it.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use idembench::keys::{Row, RowMaker};
use idembench::spec::dataset::{Dataset, built_in};
use idembench::table::bulk::BulkText;
use idembench::table::checksum::Checksum;
use idembench::table::insert::InsertText;
use idembench::units::Rows;

const ROWS: u64 = 10_000;
const FIRST: u64 = 300_000_000;

fn encode(criterion: &mut Criterion) {
    for built_in in built_in() {
        let dataset = Dataset::read(built_in.name)
            .and_then(|dataset| dataset.scaled(Some(Rows(700_000_000)), None, None, None))
            .expect("it is built in");
        let maker = RowMaker::new(&dataset).expect("it fits");
        let mut row = Row::default();
        let mut group = criterion.benchmark_group(built_in.name);
        group.throughput(Throughput::Elements(ROWS));

        let mut text = BulkText::new(&dataset.table, &maker);
        let mut buffer = Vec::with_capacity(1 << 21);
        group.bench_function("make and encode for LOAD DATA", |bencher| {
            bencher.iter(|| {
                buffer.clear();
                for number in FIRST..FIRST + ROWS {
                    maker.fill(number, &mut row);
                    text.write(&row, &mut buffer);
                }
                black_box(buffer.len())
            });
        });
        group.bench_function("make and encode for INSERT", |bencher| {
            bencher.iter(|| {
                let mut insert = InsertText::new(&dataset.table, None, 64 << 20);
                for number in FIRST..FIRST + ROWS {
                    maker.fill(number, &mut row);
                    black_box(insert.add(&row));
                }
                black_box(insert.take())
            });
        });
        let checksum = Checksum::new(&dataset.table);
        group.bench_function("make and sum up", |bencher| {
            bencher.iter(|| {
                let mut summer = checksum.summer(false);
                for number in FIRST..FIRST + ROWS {
                    maker.fill(number, &mut row);
                    summer.add(&row);
                }
                black_box(summer.finish())
            });
        });
        group.finish();
    }
}

criterion_group!(benches, encode);
criterion_main!(benches);
