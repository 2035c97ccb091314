//! The command line: flags and their help, nothing else. No work is done here and nothing is saved
//! from here; commands turn these structs into plans.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::units::{Bytes, Rows, Span};

/// Benchmarks for the idempotency tables with which consumers de-duplicate messages in MySQL.
#[derive(Debug, Parser)]
#[command(name = "idembench", version, max_term_width = 100, after_help = ROOT_EXAMPLES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const ROOT_EXAMPLES: &str = "Examples:
  idembench quickstart                     from nothing to a plotted claim P99
  idembench load t_idem --rows 100M        fill a day-partitioned table
  idembench run claim --rate 2000/s        drive claims against it
  idembench schema check proposed.sql      judge a table before it is created
  idembench retention plan t_idem          what the daily roll of its partitions would do

Exit codes: 0 done · 1 the answer is \"no\" (an error found by a check) · 2 wrong usage or environment\n  130 after SIGINT, 143 after SIGTERM, 129 after SIGHUP (not under nohup), once the command has tidied\n  up; a second signal ends it at once";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start a server, load ten million rows, drive claims, leave a report
    Quickstart(QuickstartArgs),
    /// Say what server, disk and memory can do, with advice
    Doctor(DoctorArgs),
    /// Start, stop or show the owned server
    Server(ServerCommandArgs),
    /// Fill a dataset's table with rows and verify them
    Load(LoadArgs),
    /// Drive a suite's steps against a loaded table and save the results
    Run(RunArgs),
    /// Roll a table's day partitions: add tomorrow's, drop the oldest
    Retention(RetentionArgs),
    /// Say how full a table's pages are and in which order they lie
    Age(AgeArgs),
    /// Show the built-in datasets and suites
    List(ListArgs),
    /// Draw a saved run again, or splice it into a document
    Report(ReportArgs),
    /// Judge a CREATE TABLE without a server
    Schema(SchemaArgs),
}

/// Which server, and how an owned one is started.
#[derive(Debug, Args, Clone, Default)]
pub struct ServerArgs {
    /// `owned`, `docker[:image]` or `mysql://user@host:port/db`; passwords come from
    /// $IDEMBENCH_PASSWORD or from the option file named by $IDEMBENCH_OPTION_FILE; without the flag
    /// $IDEMBENCH_SERVER counts [default: owned]
    #[arg(long, value_name = "SERVER")]
    pub server: Option<String>,
    /// Where the owned server's files lie [default: .idembench/server]
    #[arg(long, value_name = "DIR")]
    pub data_directory: Option<PathBuf>,
    /// Buffer pool of the owned server, such as 8GiB
    #[arg(long, value_name = "SIZE")]
    pub buffer_pool: Option<Bytes>,
    /// Redo log capacity of the owned server
    #[arg(long, value_name = "SIZE")]
    pub redo: Option<Bytes>,
    /// Run the owned server with its binary log on (sync_binlog=1)
    #[arg(long)]
    pub binlog: bool,
    /// A further option for the owned server, as name=value; may be repeated
    #[arg(long = "mysqld-option", value_name = "NAME=VALUE")]
    pub mysqld_options: Vec<String>,
}

/// `quickstart`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  idembench quickstart --rows 1M")]
pub struct QuickstartArgs {
    /// Rows to load [default: 10M]
    #[arg(long, value_name = "N")]
    pub rows: Option<Rows>,
    /// Days to load [default: 7]
    #[arg(long, value_name = "N")]
    pub days: Option<u32>,
    /// How long each step is measured [default: 30s]
    #[arg(long, value_name = "T")]
    pub duration: Option<Span>,
    /// Where results go
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub out: PathBuf,
    /// The server
    #[command(flatten)]
    pub server: ServerArgs,
}

/// `doctor`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  idembench doctor --dataset t_idem --rows 700M")]
pub struct DoctorArgs {
    /// Judge the machine for this dataset
    #[arg(long, value_name = "DATASET")]
    pub dataset: Option<String>,
    /// Judge it for so many rows
    #[arg(long, value_name = "N")]
    pub rows: Option<Rows>,
    /// Write and read so much in order, as a load of that size would, and say how fast that was
    #[arg(long, value_name = "SIZE")]
    pub in_order: Option<Bytes>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The server
    #[command(flatten)]
    pub server: ServerArgs,
}

/// `server`
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  idembench server up --buffer-pool 4GiB\n  mysql --socket=\"$(idembench server status --json | jq -r .socket)\" …"
)]
pub struct ServerCommandArgs {
    /// What to do with it
    #[command(subcommand)]
    pub action: ServerAction,
}

/// What to do with the owned server.
#[derive(Debug, Subcommand)]
pub enum ServerAction {
    /// Start it and leave it running for later commands
    Up(ServerUpArgs),
    /// Stop it cleanly
    Down(ServerWhereArgs),
    /// Show where it answers
    Status(ServerWhereArgs),
    /// Unpack a MySQL server under .idembench without installing anything on the system
    Install,
}

/// `server up`
#[derive(Debug, Args)]
pub struct ServerUpArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The server
    #[command(flatten)]
    pub server: ServerArgs,
}

/// `server down` and `server status`
#[derive(Debug, Args)]
pub struct ServerWhereArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Where the owned server's files lie [default: .idembench/server]
    #[arg(long, value_name = "DIR")]
    pub data_directory: Option<PathBuf>,
}

/// `load`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  idembench load t_idem --rows 100M --days 7\n  idembench load my_table.sql --rows 5M --verify full\n  idembench load t_idem --rows 100M --method swap --fill aged\n\nA load that was killed goes on where it was when the same command is given again."
)]
pub struct LoadArgs {
    /// A built-in dataset, a dataset's folder, or a file with a CREATE TABLE
    #[arg(value_name = "DATASET|TABLE.sql")]
    pub dataset: String,
    /// Rows in all, such as 700M
    #[arg(long, value_name = "N")]
    pub rows: Option<Rows>,
    /// Days (partitions) over which they are spread
    #[arg(long, value_name = "N")]
    pub days: Option<u32>,
    /// How the rows get in
    #[arg(long, value_enum, default_value_t = MethodArg::Auto)]
    pub method: MethodArg,
    /// Whether pages look freshly loaded or lived in
    #[arg(long, value_enum)]
    pub fill: Option<FillArg>,
    /// Make pages as full and as shuffled as those of this table (our server's) or file; with --method swap
    #[arg(long, value_name = "TABLE|FILE.ibd", conflicts_with = "fill")]
    pub age_like: Option<String>,
    /// What every value is derived from
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// How much is read back at the end
    #[arg(long, value_enum, default_value_t = VerifyArg::Quick)]
    pub verify: VerifyArg,
    /// Ordered streams in parallel, each on its own partition
    #[arg(long, value_name = "N")]
    pub streams: Option<u32>,
    /// Drop this table first, even if it was not made by idembench
    #[arg(long, value_name = "TABLE")]
    pub replace: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The server
    #[command(flatten)]
    pub server: ServerArgs,
}

const RETENTION_HELP: &str = r"Examples:
  idembench retention plan t_idem --keep 30              what would be done, and the statements
  idembench retention apply t_idem --keep 30 --yes       do it
  idembench retention apply orders --not-ours orders --server mysql://app@db:3306/shop --partition p20260101 --yes

A day is dropped by DROP PARTITION, one a step, after head-room for new days was added. Each statement waits for
the table's metadata lock only for --lock-wait, lets the others through and comes again; who is in the way is
named. Whatever stops it, the same command goes on from what the table has.

Refused, with exit code 2 and nothing changed: tables without partitions of days, partitions that do not exist,
the last one, MAXVALUE, days whose messages may still be redelivered, time zones or clocks that disagree, more
than 8,192 partitions, tables that idembench did not make unless --not-ours names them.";

/// `retention`
#[derive(Debug, Args)]
#[command(after_help = RETENTION_HELP)]
pub struct RetentionArgs {
    /// What to do
    #[command(subcommand)]
    pub action: RetentionAction,
}

/// What to do with a table's old days.
#[derive(Debug, Subcommand)]
pub enum RetentionAction {
    /// Say what would be done; nothing is changed
    #[command(after_help = RETENTION_HELP)]
    Plan(RetentionPlanArgs),
    /// Do it; without --yes nothing is changed either
    #[command(after_help = RETENTION_HELP)]
    Apply(RetentionApplyArgs),
}

/// `retention plan`
#[derive(Debug, Args, Clone)]
pub struct RetentionPlanArgs {
    /// A table of the server's schema
    #[arg(value_name = "TABLE")]
    pub table: String,
    /// Whole days before today that stay
    #[arg(long, value_name = "DAYS", default_value_t = 7)]
    pub keep: u32,
    /// Drop this partition instead of all that are older than --keep; may be repeated
    #[arg(long = "partition", value_name = "NAME", conflicts_with = "keep")]
    pub partitions: Vec<String>,
    /// Days after today that must have a partition; 0 adds none
    #[arg(long, value_name = "DAYS", default_value_t = 7)]
    pub ahead: u32,
    /// How long after its day a message may be delivered again: at least what the topic keeps (Kafka: seven days)
    #[arg(long, value_name = "T", default_value = "7d")]
    pub redelivery: Span,
    /// The zone in which days are counted, such as +08:00 [default: UTC]
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true)]
    pub time_zone: Option<String>,
    /// What counts as today, such as 2026-01-08 [default: the server's clock]
    #[arg(long, value_name = "DATE")]
    pub today: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The server
    #[command(flatten)]
    pub server: ServerArgs,
}

/// `retention apply`
#[derive(Debug, Args)]
pub struct RetentionApplyArgs {
    /// What is planned
    #[command(flatten)]
    pub plan: RetentionPlanArgs,
    /// Do it
    #[arg(long)]
    pub yes: bool,
    /// Change this table although idembench did not make it
    #[arg(long, value_name = "TABLE")]
    pub not_ours: Option<String>,
    /// How long a statement may wait for the table's lock, holding others up behind it; whole seconds
    #[arg(long, value_name = "T", default_value = "2s")]
    pub lock_wait: Span,
    /// How often a statement is tried
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub attempts: u32,
    /// Pause after a failed attempt, doubling up to 30 s
    #[arg(long, value_name = "T", default_value = "1s")]
    pub pause: Span,
    /// Rest between two steps
    #[arg(long, value_name = "T", default_value = "1s")]
    pub rest: Span,
}

/// `age`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  idembench age t_idem\n  idembench age /var/lib/mysql/shop/orders.ibd     (its server flushed or stopped)"
)]
pub struct AgeArgs {
    /// A table of the server (schema.table), or a tablespace file
    #[arg(value_name = "TABLE|FILE.ibd")]
    pub source: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The server
    #[command(flatten)]
    pub server: ServerArgs,
}

/// How rows get in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MethodArg {
    /// The fastest way that the server allows; printed
    Auto,
    /// SQL: LOAD DATA from a stream, or multi-row INSERT
    Sql,
    /// Files built without the server and exchanged while it stands still: our own server only
    Swap,
    /// Files built without the server and imported while it runs: its data directory must be in our reach
    Import,
}

/// How pages look after the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FillArg {
    /// Full and in order
    Fresh,
    /// About 69 % full and shuffled
    Aged,
}

/// How much is read back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum VerifyArg {
    /// Count and a checksum over every column
    Quick,
    /// That, and CHECK TABLE
    Full,
    /// Nothing
    Off,
}

const RUN_HELP: &str = r#"Examples:
  idembench run quickstart
  idembench run claim --rate 2000/s --connections 16 --duration 30s
  idembench run seed                            (one transaction or two?)
  idembench run my_suite.toml --rate max        (closed loop, labelled as such)

A suite is a TOML file; each [[step]] is one measurement, lists of rates and connections are multiplied out:

  description = "Claims at two rates"
  dataset = "t_idem"
  rows = "1M"

  [[step]]
  name = "claim, full key"
  workload = "claim"
  statement = "full_key"   # or no_partition_key, sweep_skip_locked, sweep_key_list
  rate = ["500/s", "1000/s"]   # or "max": closed loop
  connections = 16
  duration = "30s"
  lease = "1s"
  warm_up = { at_least = "3s", at_most = "15s" }

The built-in suites travel in the program (datasets/suites/ in its source): `idembench list` names them,
`idembench list --source claim` prints one to begin with. Further keys of a step: targets, losing_share,
duplicate_share, batch; other workloads: hold, contention, rebalance, with keys of their own (datasets/README.md).

The last line on standard output is the run's directory."#;

/// `run`
#[derive(Debug, Args)]
#[command(after_help = RUN_HELP)]
pub struct RunArgs {
    /// A built-in suite or a TOML file
    #[arg(value_name = "SUITE|FILE.toml")]
    pub suite: String,
    /// Another dataset than the suite's
    #[arg(long, value_name = "DATASET")]
    pub dataset: Option<String>,
    /// Rows to load if the table is not there yet
    #[arg(long, value_name = "N")]
    pub rows: Option<Rows>,
    /// Days over which they are spread
    #[arg(long, value_name = "N")]
    pub days: Option<u32>,
    /// Operations per second for every step, or `max` for a closed loop
    #[arg(long, value_name = "R|max")]
    pub rate: Option<String>,
    /// Connections for every step
    #[arg(long, value_name = "N")]
    pub connections: Option<u32>,
    /// How long every step is measured
    #[arg(long, value_name = "T")]
    pub duration: Option<Span>,
    /// Only steps whose name contains this text
    #[arg(long, value_name = "TEXT")]
    pub step: Option<String>,
    /// Where results go
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub out: PathBuf,
    /// Go on with a run that was cut off, at its first step that is not complete; with the flags that it began with
    #[arg(long, value_name = "RUN")]
    pub resume: Option<PathBuf>,
    /// Print the whole run as JSON
    #[arg(long)]
    pub json: bool,
    /// The server
    #[command(flatten)]
    pub server: ServerArgs,
}

/// `list`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  idembench list claim                         the steps of one suite\n  idembench list --source claim > mine.toml    a suite's file, to begin your own with"
)]
pub struct ListArgs {
    /// A suite (built-in or file) whose steps are shown
    #[arg(value_name = "SUITE")]
    pub suite: Option<String>,
    /// Print the file of a built-in suite, or the files of a built-in dataset
    #[arg(long, value_name = "NAME", conflicts_with_all = ["suite", "json"])]
    pub source: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `report`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  idembench report results/2026-12-01-quickstart-4f2a\n  idembench report --splice README.md           tables of the runs that its markers name\n  idembench report --splice README.md --check   exit 1 if they are out of step"
)]
pub struct ReportArgs {
    /// A run's directory: its report is drawn again
    #[arg(value_name = "RUN", required_unless_present_any = ["splice", "check"])]
    pub run: Option<PathBuf>,
    /// Fill this document's marked regions with the tables of the runs that the markers name
    #[arg(long, value_name = "FILE.md", conflicts_with = "run")]
    pub splice: Option<PathBuf>,
    /// With --splice: change nothing, exit 1 if the document is out of step
    #[arg(long)]
    pub check: bool,
}

/// `schema`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  idembench schema check proposed.sql")]
pub struct SchemaArgs {
    /// What to do
    #[command(subcommand)]
    pub action: SchemaAction,
}

/// What to do with a schema.
#[derive(Debug, Subcommand)]
pub enum SchemaAction {
    /// Find what MySQL would refuse and what would hurt later
    Check(SchemaCheckArgs),
}

/// `schema check`
#[derive(Debug, Args)]
pub struct SchemaCheckArgs {
    /// A file with a CREATE TABLE as SHOW CREATE TABLE prints it
    #[arg(value_name = "TABLE.sql")]
    pub file: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
