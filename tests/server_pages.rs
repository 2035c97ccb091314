//! Files built without a server, put under a real one.

#[path = "support/mysqld.rs"]
mod mysqld;

use std::path::Path;

use idembench::pages::Value;
use idembench::pages::donor::Donor;
use idembench::pages::file::{FileBuilder, FileOptions, FileSummary};
use idembench::pages::plan::TablePlan;
use idembench::pages::write::FileSink;
use idembench::spec::table::{Charset, Column, ColumnKind, Index, KeyPart, Table, Text};
use mysqld::Mysqld;

fn build(table: &Table, file: &Path, rows: u64, row: impl Fn(u64, usize) -> Value<'static>) -> FileSummary {
    let plan = TablePlan::new(table).unwrap();
    let donor = Donor::read(std::fs::read(file).unwrap(), 1 + plan.secondary.len()).unwrap();
    let options = FileOptions { rows_sorted: true, sort_bytes: 32 << 20, spill_folder: "/tmp".into() };
    let mut builder = FileBuilder::new(&plan, donor, &options);
    let new = file.with_extension("new");
    let mut sink = FileSink::create(&new).unwrap();
    for number in 0..rows {
        builder.push(|column| row(number, column), &mut sink).unwrap();
    }
    let summary = builder.finish(&mut sink).unwrap();
    sink.finish(summary.bytes).unwrap();
    std::fs::rename(&new, file).unwrap();
    summary
}

fn column(name: &str, kind: ColumnKind, nullable: bool) -> Column {
    Column { name: name.into(), kind, nullable, generated: false, default: None }
}

fn part(column: usize) -> KeyPart {
    KeyPart { column, prefix: None, descending: false }
}

#[tokio::test]
async fn first_light() {
    for binary in mysqld::binaries() {
        let mut server = Mysqld::start(&binary).await;
        server.run("CREATE DATABASE d").await;
        server.run("CREATE TABLE d.t (k BIGINT NOT NULL, n INT NULL, s VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, PRIMARY KEY (k), KEY by_n (n), KEY by_s (s DESC, n))").await;
        let table = Table {
            name: "t".into(),
            columns: vec![
                column("k", ColumnKind::Integer { bytes: 8, unsigned: false }, false),
                column("n", ColumnKind::Integer { bytes: 4, unsigned: false }, true),
                column(
                    "s",
                    ColumnKind::VarChar(Text {
                        characters: 40,
                        charset: Charset::Ascii,
                        collation: "ascii_bin".into(),
                    }),
                    false,
                ),
            ],
            primary_key: vec![part(0)],
            indexes: vec![
                Index { name: "by_n".into(), unique: false, parts: vec![part(1)] },
                Index {
                    name: "by_s".into(),
                    unique: false,
                    parts: vec![KeyPart { descending: true, ..part(2) }, part(1)],
                },
            ],
            partitioning: None,
            sql_without_partitions: String::new(),
        };
        server.stop().await;
        let words = ["a", "bb", "ccc", "dddddddddddddddddddddddd"];
        let summary = build(&table, &server.data().join("d/t.ibd"), 300_000, |row, column| match column {
            0 => Value::Signed(row as i64 * 3 - 1000),
            1 if row % 7 == 0 => Value::Null,
            1 => Value::Signed((row * 7919 % 100_003) as i64 - 50_000),
            _ => Value::Bytes(words[(row % 4) as usize].as_bytes()),
        });
        eprintln!("{summary:?}");
        server.resume().await;
        assert_eq!(server.column("CHECK TABLE d.t", 3).await, ["OK"], "{}", server.log());
        assert_eq!(server.number("SELECT COUNT(*) FROM d.t FORCE INDEX (by_n)").await, 300_000);
        assert_eq!(server.number("SELECT COUNT(*) FROM d.t FORCE INDEX (by_s)").await, 300_000);
        server.run("ANALYZE TABLE d.t").await;
        server.run("INSERT INTO d.t SELECT k + 1, n, s FROM d.t").await;
        assert_eq!(server.column("CHECK TABLE d.t", 3).await, ["OK"], "{}", server.log());
        server.run("DELETE FROM d.t WHERE k % 2 = 0").await;
        server.kill();
        server.resume().await;
        assert_eq!(server.column("CHECK TABLE d.t", 3).await, ["OK"], "{}", server.log());
        assert!(server.number("SELECT COUNT(*) FROM d.t").await > 0);
        server.stop().await;
    }
}
