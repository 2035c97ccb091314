//! What one intended instant costs.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use idembench::drive::schedule::Schedule;
use idembench::units::PerSecond;

fn schedule(c: &mut Criterion) {
    let Some(rate) = PerSecond::new(1234.5) else { return };
    let schedule = Schedule::new(rate);
    let mut k = 0u64;
    c.bench_function("schedule/intended_ns", |b| {
        b.iter(|| {
            k += 1;
            black_box(schedule.intended_ns(black_box(k)))
        });
    });
    c.bench_function("schedule/count_before", |b| {
        b.iter(|| black_box(schedule.count_before(black_box(k * 1_000))));
    });
}

criterion_group!(benches, schedule);
criterion_main!(benches);
