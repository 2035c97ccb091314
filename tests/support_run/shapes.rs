//! The parts of a simulated run that are not timed, and the runs that tests look at.

use super::*;

pub(super) fn parameters(plan: &Plan) -> BTreeMap<String, serde_json::Value> {
    [
        ("statement", serde_json::json!(if plan.probes == 1 { "full_key" } else { "no_partition_key" })),
        ("targets", serde_json::json!("uniform")),
        ("losing_share", serde_json::json!(0.05)),
        ("duplicate_share", serde_json::json!(0.01)),
        ("lease", serde_json::json!("30s")),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

pub(super) fn statement(plan: &Plan) -> Statement {
    let full = plan.probes == 1;
    let day = if full { " AND event_day = ?" } else { "" };
    Statement {
        name: "claim".to_owned(),
        sql: format!(
            "UPDATE t_idem SET token = token + 1, owner = ?, lease_until = ? WHERE biz_key = ? AND msg_id = ?{day} \
             AND status = 'PENDING' AND lease_until < ?"
        ),
        partitions: (1..=plan.probes).map(|day| format!("p202611{:02}", 23 + day)).collect(),
        key: Some("PRIMARY".to_owned()),
        access: Some("range".to_owned()),
        rows: Some(plan.probes as u64),
        advice: (!full).then(|| {
            "7 partitions are probed for one row: carry the day in the message and name event_day in the WHERE"
                .to_owned()
        }),
    }
}

pub(super) fn per_operation(plan: &Plan) -> BTreeMap<String, f64> {
    let probes = plan.probes as f64;
    [
        ("pages_read", 0.61 * (1.0 + (probes - 1.0) * 0.9)),
        ("page_requests", 6.2 * probes),
        ("pages_written", 0.44),
        ("row_lock_waits", 0.0),
        ("rows_read", 1.0),
        ("rows_updated", 0.94),
        ("redo_bytes", 412.0 + 3.0 * probes),
        ("fsyncs", 0.83),
        ("server_cpu_us", 148.0 + 61.0 * (probes - 1.0)),
        ("client_cpu_us", 36.0),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

pub(super) fn counters(plan: &Plan, intervals: &[Interval], dice: &mut Dice) -> CounterSeries {
    let mut values: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
    let mut totals = [9_100.0, 3.1e9, 410.0, 12.0, 8.0e6, 120.0, 2.2e8, 4_000.0];
    let mut at_s = Vec::new();
    let costs = per_operation(plan);
    for interval in intervals {
        let completed = interval.completed as f64;
        let noise = 0.9 + 0.2 * dice.share();
        totals[0] += costs["pages_read"] * completed * noise;
        totals[1] += costs["redo_bytes"] * completed * noise;
        totals[2] += costs["fsyncs"] * completed * noise;
        totals[3] += (completed / 900.0 * dice.share()).floor();
        totals[4] += costs["server_cpu_us"] * completed * noise;
        // Purge comes round every seven seconds, a checkpoint every twenty.
        totals[5] = if at_s.len() % 7 == 6 { 90.0 } else { totals[5] + completed / 4.0 };
        totals[6] = if at_s.len() % 20 == 19 { 6.0e7 } else { totals[6] + 412.0 * completed };
        totals[7] += completed / 9.0 - 60.0;
        at_s.push(interval.start_s + interval.length_s);
        let names = [
            "pages_read",
            "redo_lsn",
            "data_fsyncs",
            "row_lock_waits",
            "server_cpu_us",
            "history_list_length",
            "checkpoint_age_bytes",
            "pages_dirty",
        ];
        for (name, total) in names.into_iter().zip(totals) {
            values.entry(name.to_owned()).or_default().push(Some(total.round()));
        }
    }
    CounterSeries { at_s, values }
}

/// The frame of a run, without steps.
pub fn empty_run(run_id: &str, suite: &str) -> Run {
    let settings = [
        ("innodb_buffer_pool_size", "2147483648"),
        ("innodb_redo_log_capacity", "4294967296"),
        ("innodb_flush_log_at_trx_commit", "1"),
        ("innodb_flush_method", "O_DIRECT"),
        ("innodb_adaptive_hash_index", "OFF"),
        ("log_bin", "OFF"),
        ("sync_binlog", "1"),
        ("transaction_isolation", "READ-COMMITTED"),
        ("innodb_change_buffering", "n/a"),
    ];
    Run {
        schema_version: version::CURRENT,
        run_id: run_id.to_owned(),
        suite: suite.to_owned(),
        started_at: "2026-12-01T02:10:00Z".to_owned(),
        finished_at: "2026-12-01T02:13:07Z".to_owned(),
        status: RunStatus::Done,
        failure: None,
        tool: Tool {
            version: "0.1.0".to_owned(),
            git_revision: "8bb7232".to_owned(),
            driver: "sqlx 0.9.0, CLIENT_FOUND_ROWS".to_owned(),
            row_counts: "found".to_owned(),
        },
        server: ServerDescription {
            version: "9.7.4".to_owned(),
            version_comment: "(Debian)".to_owned(),
            kind: "owned".to_owned(),
            settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        },
        machine: Machine {
            cpu: "Intel Xeon @ 2.60 GHz".to_owned(),
            cpus: 2,
            memory_bytes: 25_769_803_776,
            system: "Debian 12, Linux 6.1".to_owned(),
            file_system: Some("ext4".to_owned()),
            disk_write_mib_per_s: Some(412.0),
            disk_fsync_per_s: Some(3_812.0),
            disk_read_16k_per_s: Some(27_450.0),
        },
        dataset: DatasetDescription {
            name: "t_idem".to_owned(),
            rows: 10_000_000,
            days: 7,
            fingerprint: "b3f1c0a94d2e7788".to_owned(),
            seed: 42,
            fill: "fresh".to_owned(),
            bytes: Some(671_088_640),
            create_table: "CREATE TABLE `t_idem` (\n  `biz_key` char(26) CHARACTER SET ascii NOT NULL,\n  \
                           `msg_id` bigint unsigned NOT NULL,\n  `event_day` date NOT NULL,\n  \
                           `status` enum('PENDING','DONE') NOT NULL,\n  `token` int unsigned NOT NULL,\n  \
                           `owner` varchar(64) DEFAULT NULL,\n  `lease_until` datetime(6) NOT NULL,\n  \
                           PRIMARY KEY (`biz_key`,`msg_id`,`event_day`)\n) ENGINE=InnoDB\n\
                           /*!50500 PARTITION BY RANGE COLUMNS(event_day) (…) */"
                .to_owned(),
        },
        warnings: vec![
            "client and server share 2 processors: read the client's CPU per operation beside the server's"
                .to_owned(),
        ],
        steps: Vec::new(),
    }
}

/// The first five minutes: three rates by full key, the last one too much, and one without the partition key.
pub fn quickstart() -> Run {
    let mut run = empty_run("2026-12-01-quickstart-4f2a", "quickstart");
    let full_key = Plan::default();
    let plans = [
        full_key.clone(),
        Plan { rate_per_s: 2000.0, service_median_us: 330.0, sigma: 0.6, ..full_key.clone() },
        Plan { rate_per_s: 4000.0, service_median_us: 3_900.0, sigma: 0.6, ..full_key.clone() },
        Plan { name: "claim, no partition key", service_median_us: 1_120.0, probes: 7, ..full_key },
    ];
    run.steps = plans.iter().zip(1..).map(|(plan, seed)| step(plan, seed)).collect();
    run
}

/// One step during which the server stands still for five seconds.
pub fn stalled() -> Run {
    let mut run = empty_run("2026-12-01-stall-00c5", "stall");
    run.steps = vec![step(&Plan { stall_s: Some((10.0, 5.0)), ..Plan::default() }, 5)];
    run.steps[0].warm_up.steady = false;
    run.steps[0].verdict = "not_steady".to_owned();
    run.steps[0].warnings =
        vec!["the server answered nothing for 5 s: look into its error log at 02:10:16 UTC".to_owned()];
    run
}

/// The server died in the second step.
pub fn failed() -> Run {
    let mut run = empty_run("2026-12-01-quickstart-dead", "quickstart");
    run.status = RunStatus::Failed;
    run.failure =
        Some("step 2: the server went away after 4.2 s (mysqld, signal 9) — see its error log".to_owned());
    let mut dead = step(&Plan { rate_per_s: 2000.0, measure_s: 4, ..Plan::default() }, 8);
    dead.verdict = "failed".to_owned();
    dead.failure = Some("the server went away after 4.2 s (mysqld, signal 9) — see its error log".to_owned());
    dead.errors = vec![
        ErrorCount {
            code: 2013,
            count: 16,
            message: "Lost connection to MySQL server during query".to_owned(),
        },
        ErrorCount {
            code: 1205,
            count: 3,
            message: "Lock wait timeout exceeded; try restarting transaction".to_owned(),
        },
    ];
    dead.outcomes.insert("error".to_owned(), 16);
    dead.outcomes.insert("lock_timeout".to_owned(), 3);
    dead.checks = vec![Check {
        name: "tokens rose by the claims won".to_owned(),
        held: false,
        detail: "rose by 7,411, claims won 7,603".to_owned(),
    }];
    run.steps = vec![step(&Plan { measure_s: 8, ..Plan::default() }, 7), dead];
    run
}

/// A run whose every text tries to break out of what it is put into.
pub fn hostile() -> Run {
    let evil = "<script>alert(1)</script> | \"q\" 'a' `tick` \\ \n## heading\n* [x](javascript:1) ${x} </svg> \u{7} &amp; \\| \
                <!-- /idembench -->\n<!-- idembench report --splice x -->\n\u{1b}[2J\u{202e}";
    let mut run = empty_run("2026-12-01-hostile-0bad", evil);
    run.dataset.name = evil.to_owned();
    run.dataset.create_table = format!("CREATE TABLE t (`a` int COMMENT '```{evil}')");
    run.server.version_comment = evil.to_owned();
    run.server.version = format!("9.7.4 {evil}");
    run.server.settings.insert(evil.to_owned(), evil.to_owned());
    run.machine.cpu = evil.to_owned();
    run.warnings.push(evil.to_owned());
    run.failure = Some(evil.to_owned());
    run.status = RunStatus::Failed;
    let mut step = step(&Plan { measure_s: 3, warm_up_s: 1, rate_per_s: 300.0, ..Plan::default() }, 11);
    step.name = evil.to_owned();
    step.parameters.insert(evil.to_owned(), serde_json::json!({ "nested": [evil] }));
    step.outcomes.insert(evil.to_owned(), 3);
    step.per_operation.insert(evil.to_owned(), 3.0);
    step.errors.push(ErrorCount { code: 1064, count: 1, message: evil.to_owned() });
    step.statements[0].sql = format!("SELECT '```' /* {evil} */");
    step.statements[0].advice = Some(evil.to_owned());
    step.statements[0].partitions = vec![evil.to_owned()];
    step.checks[0].name = evil.to_owned();
    step.checks[0].detail = evil.to_owned();
    step.checks[0].held = false;
    step.warnings.push(evil.to_owned());
    step.failure = Some(evil.to_owned());
    run.steps = vec![step];
    run
}

/// A closed loop: no intended instants, hence no response times.
pub fn closed_loop() -> Run {
    let mut run = empty_run("2026-12-01-closed-77aa", "closed");
    let mut step = step(&Plan { measure_s: 6, warm_up_s: 2, ..Plan::default() }, 13);
    step.rate_per_s = None;
    step.throughput_per_s = 5_321.0;
    step.pool = Some(Pool { rows: 3_000_000, even_rows: 412.6, leased_rows: 5_321.0 * 30.0 });
    for gone in ["response", "wait"] {
        step.latency_us.remove(gone);
        step.histograms.remove(gone);
    }
    for interval in &mut step.intervals {
        interval.intended = 0;
        interval.response_us = LatencySummary::default();
        interval.response_buckets.clear();
    }
    run.steps = vec![step];
    run
}
