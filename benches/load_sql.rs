//! `load --method sql` against what people use: `LOAD DATA INFILE` in two sessions from ready-made sorted
//! files, and `mysqlimport --use-threads=2` from the same files. One server, the same settings and table,
//! all in one run, in turns; making the files is not counted.
//!
//! `scripts/bench-load-sql [--rows N] [--days N] [--dataset D] [--rounds N] [--streams N,N,…]`

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use idembench::keys::{Row, RowMaker};
use idembench::load::{self, LoadRequest, Method, Progress, Verify};
use idembench::server::{self, Home, Server};
use idembench::spec::dataset::Dataset;
use idembench::spec::server::{OwnedSpec, ServerSpec};
use idembench::table::bulk::BulkText;
use idembench::units::{Bytes, Rows};
use sqlx::{AssertSqlSafe, Connection, Executor};

struct Plan {
    dataset: Dataset,
    rounds: u32,
    streams: Vec<u32>,
}

/// One way to fill the table.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Ours(u32),
    OurInserts,
    LoadDataInfile,
    Mysqlimport,
}

impl Way {
    fn name(self) -> String {
        match self {
            Way::Ours(streams) => format!("idembench load, {streams} streams"),
            Way::OurInserts => "idembench load, multi-row INSERT".to_owned(),
            Way::LoadDataInfile => "LOAD DATA INFILE, 2 sessions".to_owned(),
            Way::Mysqlimport => "mysqlimport --use-threads=2".to_owned(),
        }
    }
}

fn plan() -> Plan {
    // Cargo adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    let rows: Rows =
        value("--rows").map_or(Ok(Rows(4_000_000)), |text| text.parse()).expect("a number of rows");
    let days = value("--days").map(|text| text.parse().expect("a number of days")).or(Some(6));
    let name = value("--dataset").unwrap_or_else(|| "t_idem".to_owned());
    let streams = value("--streams").unwrap_or_else(|| "3".to_owned());
    Plan {
        dataset: Dataset::read(&name)
            .and_then(|dataset| dataset.scaled(Some(rows), days, None, None))
            .expect("a dataset"),
        rounds: value("--rounds").map_or(2, |text| text.parse().expect("a number of rounds")),
        streams: streams.split(',').map(|text| text.parse().expect("a number of streams")).collect(),
    }
}

#[tokio::main]
async fn main() {
    let plan = plan();
    let folder = tempfile::Builder::new()
        .prefix("bench-load-")
        .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .expect("a folder");
    let home = Home::at(folder.path()).expect("an absolute path");
    let product = Home::at(concat!(env!("CARGO_MANIFEST_DIR"), "/.idembench")).expect("an absolute path");
    if product.bin().exists() {
        std::os::unix::fs::symlink(product.bin(), home.bin()).expect("a link");
    }
    let spec = OwnedSpec { buffer_pool: Some(Bytes::gib(1)), ..OwnedSpec::default() };
    let server = server::open(&ServerSpec::Owned(spec), &home).await.expect("an owned server");
    let files = write_files(&plan.dataset, &exported(&server).await);
    let mut ways: Vec<Way> = plan.streams.iter().map(|streams| Way::Ours(*streams)).collect();
    ways.extend([Way::LoadDataInfile, Way::Mysqlimport, Way::OurInserts]);
    let mut rates: Vec<Vec<f64>> = vec![Vec::new(); ways.len()];
    println!(
        "{} · {} rows · {} days · MySQL {}",
        plan.dataset.name,
        plan.dataset.rows,
        plan.dataset.days,
        server.version()
    );
    for round in 0..plan.rounds as usize {
        for step in 0..ways.len() {
            // Each round begins with another way: whoever goes first finds another disk.
            let index = (step + round) % ways.len();
            let seconds = measure(&server, &product, &plan.dataset, &files, ways[index]).await;
            let rate = plan.dataset.rows.0 as f64 / seconds;
            println!(
                "round {}  {:<34} {:>9.0} rows/s  {seconds:>6.1} s",
                round + 1,
                ways[index].name(),
                rate
            );
            rates[index].push(rate);
        }
    }
    println!();
    for (way, rates) in ways.iter().zip(&mut rates) {
        rates.sort_by(f64::total_cmp);
        println!("median   {:<34} {:>9.0} rows/s", way.name(), rates[rates.len() / 2]);
    }
    server.close().await.expect("a clean stop");
}

async fn exported(server: &Server) -> PathBuf {
    let mut connection = server.connect().await.expect("a connection");
    let folder: String = sqlx::query_scalar("SELECT @@GLOBAL.secure_file_priv")
        .fetch_one(&mut connection)
        .await
        .expect("a folder");
    PathBuf::from(folder)
}

/// One sorted file a day, every column in it, named as mysqlimport wants it: `table.day`.
fn write_files(dataset: &Dataset, folder: &Path) -> Vec<PathBuf> {
    let maker = RowMaker::new(dataset).expect("the recipes fit");
    let mut text = BulkText::whole_rows(&dataset.table, &maker);
    let mut row = Row::default();
    let mut buffer = Vec::new();
    (0..dataset.days)
        .map(|day| {
            let path = folder.join(format!("{}.{day}", dataset.table.name));
            let mut file = BufWriter::with_capacity(1 << 20, File::create(&path).expect("a file"));
            for number in maker.rows_of_day(day) {
                buffer.clear();
                maker.fill(number, &mut row);
                text.write(&row, &mut buffer);
                file.write_all(&buffer).expect("written");
            }
            file.flush().expect("written");
            fs::canonicalize(path).expect("it exists")
        })
        .collect()
}

/// Seconds from an empty table to the last commit.
async fn measure(server: &Server, product: &Home, dataset: &Dataset, files: &[PathBuf], way: Way) -> f64 {
    settle(server, dataset).await;
    if let Way::Ours(_) | Way::OurInserts = way {
        let request = LoadRequest {
            dataset: dataset.clone(),
            method: if way == Way::OurInserts { Method::Insert } else { Method::LoadData },
            verify: Verify::Off,
            streams: if let Way::Ours(streams) = way { Some(streams) } else { None },
            replace: Some(dataset.table.name.clone()),
        };
        let loaded = load::load(server, &request, &Arc::new(Progress::default())).await.expect("loaded");
        return loaded.phases["fill"];
    }
    run(server, &dataset.create_table_sql()).await;
    let started = Instant::now();
    match way {
        Way::LoadDataInfile => {
            let half = files.len().div_ceil(2);
            let (first, second) = files.split_at(half);
            tokio::join!(load_files(server, dataset, first), load_files(server, dataset, second));
        }
        _ => mysqlimport(server, product, files).await,
    }
    let seconds = started.elapsed().as_secs_f64();
    let mut connection = server.connect().await.expect("a connection");
    let count = format!("SELECT COUNT(*) FROM {}", dataset.table.name);
    let rows: i64 =
        sqlx::query_scalar(AssertSqlSafe(count)).fetch_one(&mut connection).await.expect("a count");
    assert_eq!(rows as u64, dataset.rows.0, "{}", way.name());
    seconds
}

async fn load_files(server: &Server, dataset: &Dataset, files: &[PathBuf]) {
    let mut connection = server.connect().await.expect("a connection");
    connection.execute("SET SESSION unique_checks = 0, foreign_key_checks = 0").await.expect("set");
    for file in files {
        let sql = format!("LOAD DATA INFILE '{}' INTO TABLE {}", file.display(), dataset.table.name);
        connection.execute(AssertSqlSafe(sql)).await.expect("loaded");
    }
    connection.close().await.expect("closed");
}

async fn mysqlimport(server: &Server, product: &Home, files: &[PathBuf]) {
    let address = server.address();
    let mut command = Command::new(product.bin().join("mysqlimport"));
    command.arg("--no-defaults").arg(format!("--user={}", address.user));
    if let Some(socket) = &address.socket {
        command.arg(format!("--socket={}", socket.display()));
    }
    if let Some(password) = &address.password {
        command.env("MYSQL_PWD", password.expose());
    }
    command.arg("--use-threads=2").arg("--silent").arg(&address.database).args(files);
    let ended =
        tokio::task::spawn_blocking(move || command.status()).await.expect("it ran").expect("mysqlimport");
    assert!(ended.success(), "mysqlimport failed");
}

/// No table, and no writes left over from the way before.
async fn settle(server: &Server, dataset: &Dataset) {
    run(server, &format!("DROP TABLE IF EXISTS {}", dataset.table.name)).await;
    let mut connection = server.connect().await.expect("a connection");
    connection.execute("SET GLOBAL innodb_max_dirty_pages_pct = 0").await.expect("set");
    for _ in 0..60 {
        let (_, dirty): (String, String) =
            sqlx::query_as("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'")
                .fetch_one(&mut connection)
                .await
                .expect("a counter");
        if dirty.parse::<u64>().expect("a number") < 100 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    connection.execute("SET GLOBAL innodb_max_dirty_pages_pct = DEFAULT").await.expect("set");
}

async fn run(server: &Server, sql: &str) {
    let mut connection = server.connect().await.expect("a connection");
    connection.execute(AssertSqlSafe(sql.to_owned())).await.expect("done");
    connection.close().await.expect("closed");
}
