//! What recording one operation costs: on the worker's side (hot), on the collector's, and both together.

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use idembench::recorder::{Collector, Entry, Outcome, Sample, Timeline, ring};

/// Samples of a busy second: intended every 20 us, answered after 150 to 400 us.
fn samples(count: u64) -> Vec<Entry> {
    (0..count)
        .map(|k| {
            let intended_ns = k * 20_000;
            let sent_ns = intended_ns + 10_000 + k % 7 * 1_000;
            Entry::Operation(Sample {
                intended_ns,
                sent_ns,
                done_ns: sent_ns + 150_000 + k.wrapping_mul(7_919) % 250_000,
                outcome: if k % 10 == 0 { Outcome::Lost } else { Outcome::Ok },
                error_code: 0,
                failed: false,
            })
        })
        .collect()
}

fn measuring() -> Collector {
    let timeline = Timeline {
        measure_start_ns: Some(0),
        measure_end_ns: Some(60_000_000_000),
        ..Timeline::new(1_000_000_000)
    };
    Collector::new(timeline, false)
}

fn recorder(c: &mut Criterion) {
    const MANY: u64 = 10_000;
    let samples = samples(MANY);
    let mut group = c.benchmark_group("recorder");
    group.throughput(criterion::Throughput::Elements(MANY));
    group.bench_function("worker", |b| {
        b.iter_batched_ref(
            || ring(MANY as usize),
            |(recorder, _inbox)| samples.iter().for_each(|sample| recorder.record(*sample)),
            BatchSize::LargeInput,
        );
    });
    group.bench_function("collector", |b| {
        let mut collector = measuring();
        b.iter(|| samples.iter().for_each(|sample| collector.take(*sample)));
    });
    group.bench_function("both", |b| {
        let mut collector = measuring();
        let (mut recorder, mut inbox) = ring(MANY as usize);
        b.iter(|| {
            samples.iter().for_each(|sample| recorder.record(*sample));
            inbox.drain(|sample| collector.take(sample));
        });
    });
    // A transaction's hold and its commit, timed by the workload: two entries more.
    group.bench_function("both, with two series", |b| {
        let mut collector = measuring();
        let (mut recorder, mut inbox) = ring(3 * MANY as usize);
        b.iter(|| {
            for (sample, k) in samples.iter().zip(0u64..) {
                let intended_ns = k * 20_000;
                for series in 0..2 {
                    let ns = 100_000 + k.wrapping_mul(7_919) % 250_000;
                    recorder.record(Entry::Timed { intended_ns, ns, series });
                }
                recorder.record(*sample);
            }
            inbox.drain(|sample| collector.take(sample));
        });
    });
    group.finish();
}

criterion_group!(benches, recorder);
criterion_main!(benches);
