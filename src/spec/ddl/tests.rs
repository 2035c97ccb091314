use super::*;
use crate::spec::table::{Bound, Charset, ColumnKind, PartitionMethod};

/// What `SHOW CREATE TABLE` of a MySQL 9.7 prints for a table with much in it.
const SHOWN: &str = "CREATE TABLE `t` (
  `k` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'a, (b) PARTITION',
  `id` bigint unsigned NOT NULL AUTO_INCREMENT,
  `ts` timestamp(3) NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
  `amount` decimal(12,2) NOT NULL DEFAULT '-1.50',
  `d` date NOT NULL,
  `c` char(10) COLLATE utf8mb4_bin DEFAULT NULL,
  `b` binary(16) DEFAULT NULL,
  `vb` varbinary(20) /*!80023 INVISIBLE */ DEFAULT NULL,
  `e` enum('NEW','it''s','x,y') NOT NULL,
  `flag` tinyint(1) NOT NULL DEFAULT '0',
  `day` date GENERATED ALWAYS AS (cast(`ts` as date)) STORED,
  PRIMARY KEY (`k`,`d`),
  UNIQUE KEY `uk` (`id`,`d`),
  KEY `k_c` (`c`(4),`d` DESC) USING BTREE COMMENT 'x',
  CONSTRAINT `ck` CHECK ((`flag` in (0,1)))
) ENGINE=InnoDB AUTO_INCREMENT=17 DEFAULT CHARSET=latin1
/*!50500 PARTITION BY RANGE  COLUMNS(d)
(PARTITION p20260101 VALUES LESS THAN ('2026-01-02') ENGINE = InnoDB,
 PARTITION pm VALUES LESS THAN (MAXVALUE) COMMENT = 'rest' ENGINE = InnoDB) */";

#[test]
fn a_table_is_read_as_the_server_prints_it() {
    let table = parse_table(SHOWN).unwrap();
    let kinds: Vec<_> = table.columns.iter().map(|column| &column.kind).collect();
    assert!(
        matches!(kinds[0], ColumnKind::VarChar(text) if text.charset == Charset::Ascii && text.characters == 32)
    );
    assert_eq!(*kinds[1], ColumnKind::Integer { bytes: 8, unsigned: true });
    assert_eq!(*kinds[2], ColumnKind::Timestamp { fraction: 3 });
    assert_eq!(*kinds[3], ColumnKind::Decimal { precision: 12, scale: 2 });
    assert!(
        matches!(kinds[5], ColumnKind::Char(text) if text.collation == "utf8mb4_bin" && text.charset == Charset::Utf8mb4)
    );
    assert_eq!(*kinds[7], ColumnKind::VarBinary(20));
    assert_eq!(*kinds[8], ColumnKind::Enum(vec!["NEW".into(), "it's".into(), "x,y".into()]));
    assert_eq!(*kinds[9], ColumnKind::Integer { bytes: 1, unsigned: false });
    let generated: Vec<_> = table.columns.iter().map(|column| column.generated).collect();
    assert_eq!(generated.iter().filter(|generated| **generated).count(), 1);
    assert!(generated[10]);
    assert_eq!(table.columns[2].default.as_deref(), Some("CURRENT_TIMESTAMP(3)"));
    assert_eq!(table.columns[3].default.as_deref(), Some("'-1.50'"));
    assert!(table.columns[2].nullable && !table.columns[0].nullable);
    assert_eq!(table.primary_key.iter().map(|part| part.column).collect::<Vec<_>>(), [0, 4]);
    assert_eq!(table.indexes.len(), 2);
    assert_eq!(table.indexes[1].parts[0].prefix, Some(4));
    assert!(table.indexes[1].parts[1].descending && table.indexes[0].unique);
    let partitioning = table.partitioning.as_ref().unwrap();
    assert_eq!((partitioning.method, partitioning.column), (PartitionMethod::RangeColumns, 4));
    assert_eq!(partitioning.partitions[0].less_than, Bound::Day(20_455));
    assert_eq!(partitioning.partitions[1].less_than, Bound::MaxValue);
    assert!(table.sql_without_partitions.ends_with("DEFAULT CHARSET=latin1"));
}

#[test]
fn what_is_written_reads_back_the_same() {
    for clause in [
        "RANGE COLUMNS(d) (PARTITION a VALUES LESS THAN ('2026-01-02'), PARTITION b VALUES LESS THAN (MAXVALUE))",
        "RANGE (TO_DAYS(d)) (PARTITION a VALUES LESS THAN (734074), PARTITION b VALUES LESS THAN MAXVALUE)",
        "RANGE (TO_DAYS(d)) PARTITIONS 1 (PARTITION a VALUES LESS THAN (TO_DAYS('2009-10-31')))",
        "RANGE (UNIX_TIMESTAMP(t)) (PARTITION a VALUES LESS THAN (UNIX_TIMESTAMP('2026-01-02 00:00:00')))",
        "RANGE (n) (PARTITION a VALUES LESS THAN (-5), PARTITION b VALUES LESS THAN (100))",
        "RANGE COLUMNS(n) (PARTITION a VALUES LESS THAN (100))",
    ] {
        let sql = format!("CREATE TABLE x (d DATE, t TIMESTAMP NOT NULL, n INT) PARTITION BY {clause};");
        let table = parse_table(&sql).unwrap();
        let again = parse_table(&table.create_sql()).unwrap();
        assert_eq!(table, again, "{clause}");
    }
}

#[test]
fn faults_are_told_with_their_reason() {
    let day = "PARTITION BY RANGE COLUMNS(d) (PARTITION p1 VALUES LESS THAN ('2022-01-01')";
    for (sql, part) in [
        ("CREATE TABLE t (a INT, b JSON)", "line 1: column b is JSON, which cannot be loaded"),
        ("CREATE TABLE t (a INT,\n b DOUBLE)", "line 2: column b is DOUBLE"),
        ("CREATE TABLE t (a INT,\n b TIME)", "use integers, DATE"),
        ("CREATE TABLE t (a VARCHAR(10) CHARACTER SET utf16)", "text in utf16"),
        ("CREATE TABLE t (a INT, KEY (b))", "a key names b"),
        ("CREATE TABLE t (a INT) ENGINE=MyISAM", "ENGINE=MyISAM"),
        ("CREATE TABLE s.t (a INT)", "the schema s"),
        ("CREATE TABLE t LIKE u", "expected `(`"),
        ("CREATE TABLE t (a INT", "expected `,` or `)`"),
        ("SELECT 1", "no CREATE TABLE"),
        ("CREATE TABLE t (a INT) PARTITION BY HASH(a) PARTITIONS 4", "PARTITION BY HASH"),
        ("CREATE TABLE t (d DATE) PARTITION BY RANGE (YEAR(d)) (PARTITION p VALUES LESS THAN (1))", "YEAR()"),
        ("CREATE TABLE t (a INT, FOREIGN KEY (a) REFERENCES u (b))", "a foreign key"),
        (
            "CREATE TABLE t (d TIMESTAMP) PARTITION BY RANGE (TO_DAYS(d)) (PARTITION p VALUES LESS THAN (1))",
            "1486",
        ),
        (
            "CREATE TABLE t (d TIMESTAMP(3)) PARTITION BY RANGE (UNIX_TIMESTAMP(d)) (PARTITION p VALUES LESS THAN (1))",
            "1491",
        ),
        (
            &format!("CREATE TABLE t (d DATE) {day}, PARTITION p2 VALUES LESS THAN ('2022-01-01 10:00:00'))"),
            "days end at midnight",
        ),
        (
            &format!("CREATE TABLE t (d DATE) {day}, PARTITION p2 VALUES LESS THAN ('2021-01-01'))"),
            "partition p2 does not end above partition p1",
        ),
        (
            &format!("CREATE TABLE t (d DATE) {day}, PARTITION P1 VALUES LESS THAN ('2023-01-01'))"),
            "two partitions are named P1",
        ),
        (
            &format!("CREATE TABLE t (a INT PRIMARY KEY, d DATE) {day})"),
            "PRIMARY KEY (a) lacks the partition column d",
        ),
    ] {
        let error = parse_table(sql).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn case_5_two_maxvalue_partitions_are_refused_by_name() {
    let sql =
        "CREATE TABLE t (d DATE) PARTITION BY RANGE COLUMNS(d) (PARTITION p1 VALUES LESS THAN ('2022-01-01'),
        PARTITION p2 VALUES LESS THAN (MAXVALUE), PARTITION p3 VALUES LESS THAN (MAXVALUE))";
    let error = parse_table(sql).unwrap_err();
    assert!(matches!(&error, DdlError::MaxValueNotLast { partition, .. } if partition == "p3"));
    assert!(error.to_string().contains("1493"));
}

#[test]
fn a_unique_key_without_the_day_is_explained() {
    let sql = "CREATE TABLE p (biz_key VARCHAR(32), msg_id BIGINT, event_day DATE,
        PRIMARY KEY (biz_key, msg_id, event_day), UNIQUE KEY uk_biz (biz_key)) PARTITION BY RANGE COLUMNS(event_day)
        (PARTITION a VALUES LESS THAN ('2022-01-01'))";
    let error = parse_table(sql).unwrap_err();
    assert_eq!(error.what(), "UNIQUE KEY uk_biz (biz_key) lacks the partition column event_day");
    assert!(error.advice().starts_with("MySQL refuses this table (1503)."));
}

#[test]
fn more_than_8192_partitions_are_refused() {
    let partitions: Vec<_> =
        (0..8_193).map(|index| format!("PARTITION p{index} VALUES LESS THAN ({index})")).collect();
    let sql = format!("CREATE TABLE t (n INT) PARTITION BY RANGE (n) ({})", partitions.join(", "));
    assert_eq!(parse_table(&sql), Err(DdlError::TooManyPartitions { partitions: 8_193 }));
}

#[test]
fn what_a_dump_writes_around_a_table_is_passed_over() {
    let dump = "-- MySQL dump\n/*!40101 SET @saved_cs_client = @@character_set_client */;\n
        DROP TABLE IF EXISTS `t`;\nSET NAMES utf8mb4;\nCREATE TABLE `t` (a INT) ENGINE=InnoDB;;\n
        /*!40101 SET character_set_client = @saved_cs_client */;\n-- done\n";
    assert_eq!(parse_table(dump).unwrap().name, "t");
}

#[test]
fn a_statement_beside_the_table_is_refused_with_its_line() {
    for further in ["DROP TABLE t;", "CREATE TABLE u (a INT);", "INSERT INTO t VALUES (1)"] {
        let sql = format!("CREATE TABLE t (a INT);\n\n{further}");
        let error = parse_table(&sql).unwrap_err();
        assert!(matches!(error, DdlError::FurtherStatement { line: 3, .. }), "{error}");
    }
    // Without `;` between them, and a table made from a query.
    for sql in ["CREATE TABLE t (a INT)\nCREATE TABLE u (a INT)", "CREATE TABLE t (a INT)\nSELECT 1"] {
        let error = parse_table(sql).unwrap_err();
        assert!(matches!(error, DdlError::Unexpected { line: 2, .. }), "{error}");
    }
}
