use super::*;

const HEAD: &str = "description = \"d\"\ndataset = \"t_idem\"\n";

fn parse(steps: &str) -> Result<Suite, SuiteError> {
    Suite::parse("s", "s.toml", &format!("{HEAD}{steps}"))
}

fn step(lines: &str) -> String {
    format!(
        "[[step]]\nname = \"a\"\nworkload = \"claim\"\nstatement = \"full_key\"\nduration = \"10s\"\n{lines}"
    )
}

/// What is wrong with a suite of these steps.
fn check_refused(steps: &str, line: usize, what: &str) {
    let error = parse(steps).expect_err(steps).to_string();
    let place = format!("s.toml, line {line}: ");
    assert!(error.starts_with(&place), "{error} does not start with {place}");
    assert!(error.contains(what), "{error} does not say {what}");
}

#[test]
fn built_in_suites_can_be_read() {
    for suite in built_in() {
        let suite = Suite::read(suite.name).expect(suite.name);
        assert!(!suite.description.is_empty() && !suite.steps.is_empty());
    }
    let quickstart = Suite::read("quickstart").expect("built in");
    let loads: Vec<String> =
        quickstart.steps.iter().map(|step| format!("{} {}", step.name, step.load)).collect();
    insta::assert_debug_snapshot!(loads, @r#"
    [
        "claim, full key 1,000/s",
        "claim, full key 2,000/s",
        "claim, full key 4,000/s",
        "claim, no partition key 1,000/s",
    ]
    "#);
}

#[test]
fn lists_of_rates_and_connections_are_multiplied_out() {
    let suite = parse(&step("rate = [500, \"2k/s\", \"max\"]\nconnections = [1, 4]\n")).expect("a suite");
    let loads: Vec<Load> = suite.steps.iter().map(|step| step.load).collect();
    let rate = |rate| PerSecond::new(rate).expect("a rate");
    assert_eq!(
        loads,
        [
            Load::Open { rate: rate(500.0), connections: 1 },
            Load::Open { rate: rate(500.0), connections: 4 },
            Load::Open { rate: rate(2000.0), connections: 1 },
            Load::Open { rate: rate(2000.0), connections: 4 },
            Load::Closed { connections: 1 },
            Load::Closed { connections: 4 },
        ]
    );
}

#[test]
fn what_is_left_out_has_a_default() {
    let suite = parse(&step("rate = \"1/s\"\n")).expect("a suite");
    let Workload::Claim(claim) = &suite.steps[0].workload else { panic!("a claim") };
    assert_eq!(claim.lease, Span::seconds(1));
    assert_eq!(claim.targets, Targets::Uniform);
    assert_eq!(suite.steps[0].load.connections(), 16);
}

#[test]
fn bad_files_are_refused_with_their_line() {
    check_refused(&step("rate = 1\nspeed = 3\n"), 9, "speed");
    check_refused(&step("rate = \"fast\"\n"), 8, "max");
    check_refused(&step("rate = 0\n"), 8, "above zero");
    check_refused(&step("rate = []\n"), 8, "list");
    check_refused(&step("rate = 1\nconnections = 0\n"), 9, "at least 1");
    check_refused(&step("rate = 1\nlosing_share = 1.5\n"), 3, "losing_share = 1.5");
    check_refused(&step("rate = 1\nbatch = 5\n"), 3, "sweep");
    check_refused(&step("rate = 1\nexponent = 0.9\n"), 3, "zipfian");
    check_refused(&step("rate = 1\nwarm_up = { at_least = \"9s\", at_most = \"3s\" }\n"), 3, "at_least");
    check_refused(&step("rate = 1\nwarm_up = \"1s\"\n"), 9, "{ at_least = \"3s\", at_most = \"15s\" }");
    check_refused(&format!("{}[[step]]\nname = \"b\"\n", step("rate = 1\n")), 9, "step `b`: missing field");
    check_refused(&format!("{}[[step]]\nrate = 1\n", step("rate = 1\n")), 9, "[[step]] number 2: missing");
    check_refused(&format!("{}{}", step("rate = 1\n"), step("rate = 1\n")), 9, "same name");
    check_refused("step = []\n", 1, "no [[step]]");
    check_refused("[[step]\n", 3, "");
}

#[test]
fn an_unknown_suite_is_answered_with_the_known_ones() {
    let error = Suite::read("nonsense").expect_err("there is none").to_string();
    assert!(error.contains("quickstart") && error.contains("nonsense"), "{error}");
    assert!(Suite::read("/no/such.toml").expect_err("there is none").to_string().contains("/no/such.toml"));
}

#[test]
fn the_command_line_goes_before_the_file() {
    let suite = parse(&step("rate = [1, 2, \"max\"]\n")).expect("a suite");
    let overridden = |overrides: &Overrides| suite.clone().with_overrides(overrides);
    let closed = overridden(&Overrides {
        rate: Some("max".parse().expect("a rate")),
        connections: Some(3),
        duration: Some(Span::seconds(7)),
        ..Overrides::default()
    })
    .expect("a suite");
    // Three steps have become one and the same.
    assert_eq!(closed.steps.len(), 1);
    assert_eq!(closed.steps[0].load, Load::Closed { connections: 3 });
    assert_eq!(closed.steps[0].duration, Span::seconds(7));
    assert_eq!(overridden(&Overrides::default()), Ok(suite.clone()));
    assert!("fast".parse::<RateOverride>().is_err());
}

#[test]
fn a_step_that_is_not_there_is_answered_with_the_names_that_are() {
    let suite = parse(&step("rate = [1, 2]\n")).expect("a suite");
    let other = Overrides { step: Some("other".to_owned()), ..Overrides::default() };
    let error = suite.with_overrides(&other).expect_err("there is none").to_string();
    assert_eq!(error, "no step of s has `other` in its name (--step): its steps are `a`");
}

/// A step of another workload.
fn settling(workload: &str, lines: &str) -> String {
    format!("[[step]]\nname = \"a\"\nworkload = \"{workload}\"\nrate = 1\nduration = \"10s\"\n{lines}")
}

#[test]
fn workloads_that_settle_messages_have_defaults_too() {
    let suite = parse(&settling("contention", "design = \"one_transaction\"\n")).expect("a suite");
    let Workload::Contention(contention) = &suite.steps[0].workload else { panic!("contention") };
    assert_eq!((contention.hot_orders, contention.consumers.batch), (10, 1));
    assert_eq!(contention.consumers.isolation, Isolation::RepeatableRead);
    let lines = "design = \"batched_claims\"\nowner_state = \"idle\"\n";
    let suite = parse(&settling("rebalance", lines)).expect("a suite");
    let Workload::Rebalance(rebalance) = &suite.steps[0].workload else { panic!("rebalance") };
    assert_eq!((rebalance.batch, rebalance.locking), (200, Locking::Wait));
    assert_eq!(suite.steps[0].workload.sessions(), 3);
}

#[test]
fn keys_of_other_workloads_and_figures_out_of_range_are_refused() {
    let one = "design = \"one_transaction\"\n";
    let hold = |lines: &str| settling("hold", &format!("{one}{lines}"));
    check_refused(&settling("hold", ""), 3, "missing field `design`");
    check_refused(&settling("hold", "design = \"three\"\n"), 8, "one_transaction");
    check_refused(&hold("isolation = \"serializable\"\n"), 9, "read_committed");
    check_refused(&hold("lease = \"1s\"\n"), 3, "lease is no key of workload \"hold\", but of claim");
    check_refused(&hold("rival_share = 0.5\n"), 3, "rival_share is no key");
    check_refused(&hold("batch = 0\n"), 3, "batch = 0 is not from 1");
    check_refused(&hold("batch = 2\nrows_per_transaction = 3\n"), 3, "rows_per_transaction = 3");
    check_refused(&hold("handler_time = \"2h\"\n"), 3, "longer than");
    check_refused(&hold("duplicate_share = 2.0\n"), 3, "duplicate_share = 2");
    check_refused(&settling("contention", &format!("{one}hot_orders = 0\n")), 3, "at least 1");
    check_refused(&settling("rebalance", one), 3, "missing field `owner_state`");
    let rebalance =
        |lines: &str| settling("rebalance", &format!("{one}owner_state = \"committing\"\n{lines}"));
    check_refused(&rebalance("batch = 201\n"), 3, "from 1 to 200");
    check_refused(&rebalance("owner_time = \"1s\"\n"), 3, "a COMMIT takes as long as it takes");
    let claim = "[[step]]\nname = \"a\"\nworkload = \"claim\"\nrate = 1\nduration = \"1s\"\n";
    check_refused(claim, 3, "missing field `statement`");
    check_refused(
        &step("rate = 1\ndesign = \"one_transaction\"\n"),
        3,
        "design is no key of workload \"claim\"",
    );
}
