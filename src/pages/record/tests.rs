//! Records byte for byte as MySQL 9.7.4 wrote them.

use super::*;
use crate::pages::plan::TablePlan;
use crate::spec::table::{Charset, Column, ColumnKind, Index, KeyPart, Table, Text};

fn text(characters: u16, charset: Charset) -> Text {
    let collation = if charset == Charset::Ascii { "ascii_bin" } else { "utf8mb4_0900_ai_ci" };
    Text { characters, charset, collation: collation.to_owned() }
}

fn column(name: &str, kind: ColumnKind, nullable: bool) -> Column {
    Column { name: name.to_owned(), kind, nullable, generated: false, default: None }
}

fn key(columns: &[usize]) -> Vec<KeyPart> {
    columns.iter().map(|column| KeyPart { column: *column, prefix: None, descending: false }).collect()
}

fn index(name: &str, unique: bool, columns: &[usize]) -> Index {
    Index { name: name.to_owned(), unique, parts: key(columns) }
}

/// The table whose records were read from a real server's file.
fn golden_table() -> Table {
    let int = |bytes, unsigned| ColumnKind::Integer { bytes, unsigned };
    let labels = ["NEW", "DONE", "FAIL"].map(str::to_owned).to_vec();
    Table {
        name: "golden".to_owned(),
        columns: vec![
            column("idem_key", ColumnKind::VarChar(text(64, Charset::Ascii)), false),
            column("created_on", ColumnKind::Date, false),
            column("id", int(8, true), false),
            column("st", int(1, false), false),
            column("st_u", int(1, true), true),
            column("n", int(4, false), false),
            column("n_null", int(4, false), true),
            column("dt", ColumnKind::DateTime { fraction: 3 }, false),
            column("ts", ColumnKind::Timestamp { fraction: 3 }, false),
            column("c36", ColumnKind::Char(text(36, Charset::Ascii)), false),
            column("cu", ColumnKind::Char(text(10, Charset::Utf8mb4)), false),
            column("b16", ColumnKind::Binary(16), false),
            column("e", ColumnKind::Enum(labels), false),
            column("note", ColumnKind::VarChar(text(100, Charset::Utf8mb4)), true),
            column("big", ColumnKind::VarChar(text(300, Charset::Utf8mb4)), true),
        ],
        primary_key: key(&[0, 1]),
        indexes: vec![index("ts", false, &[8])],
        partitioning: None,
        sql_without_partitions: String::new(),
    }
}

const INSTANT: i64 = 1_704_112_496_789_000;
const B16: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

fn golden_row(big: Value<'static>) -> impl Fn(usize) -> Value<'static> {
    move |column| match column {
        0 => Value::Bytes(b"ABC"),
        1 => Value::Day(19_723),
        2 => Value::Unsigned(u64::MAX),
        3 => Value::Signed(-2),
        4 => Value::Unsigned(200),
        5 => Value::Signed(-5),
        6 => Value::Null,
        7 | 8 => Value::Micros(INSTANT),
        9 => Value::Bytes(b"01234567-89ab-cdef-0123-456789abcdef"),
        10 => Value::Bytes("cü".as_bytes()),
        11 => Value::Bytes(&B16),
        12 => Value::Label(2),
        13 => Value::Bytes("héllo".as_bytes()),
        _ => big,
    }
}

/// As hexadecimal digits: lengths, NULL bits, data. Header bytes are the page's business and zero here.
fn parts(record: Record<'_>, null_bytes: usize) -> (String, String, String) {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let header = record.origin - RECORD_HEADER;
    assert_eq!(record.bytes[header..record.origin], [0; RECORD_HEADER]);
    let bitmap = header - null_bytes;
    (hex(&record.bytes[..bitmap]), hex(&record.bytes[bitmap..header]), hex(&record.bytes[record.origin..]))
}

#[test]
fn a_clustered_record_is_that_of_a_real_server_but_for_its_transaction() {
    let plan = TablePlan::new(&golden_table()).unwrap();
    let mut maker = RecordMaker::new(&plan.clustered);
    maker.make_row(&golden_row(Value::Null)).unwrap();
    let (lengths, nulls, data) = parts(maker.record(), plan.clustered.null_bytes);
    assert_eq!((lengths.as_str(), nulls.as_str()), ("060a03", "0a"));
    let c36: String = b"01234567-89ab-cdef-0123-456789abcdef".iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(
        data,
        format!(
            "4142438fd02100000000000180000000000000ffffffffffffffff7ec87ffffffb99b242c8b81ed26592b1701ed2{c36}\
             63c3bc20202020202020000102030405060708090a0b0c0d0e0f0268c3a96c6c6f"
        )
    );
}

#[test]
fn a_length_of_200_takes_two_bytes_where_300_characters_are_allowed() {
    let plan = TablePlan::new(&golden_table()).unwrap();
    let mut maker = RecordMaker::new(&plan.clustered);
    maker.make_row(&golden_row(Value::Bytes(&[b'x'; 200]))).unwrap();
    let (lengths, nulls, _) = parts(maker.record(), 1);
    assert_eq!((lengths.as_str(), nulls.as_str()), ("c880060a03", "02"));
}

#[test]
fn a_secondary_record_is_that_of_a_real_server() {
    let plan = TablePlan::new(&golden_table()).unwrap();
    let mut maker = RecordMaker::new(&plan.secondary[0]);
    maker.make_sort_key(&golden_row(Value::Null)).unwrap();
    let sort_key = maker.sort_key().to_vec();
    maker.make_entry(&sort_key);
    let (lengths, nulls, data) = parts(maker.record(), 0);
    assert_eq!((lengths.as_str(), nulls.as_str(), data.as_str()), ("03", "", "6592b1701ed24142438fd021"));
}

#[test]
fn a_unique_secondary_record_marks_its_null() {
    let table = Table {
        name: "u".to_owned(),
        columns: vec![
            column("id", ColumnKind::Integer { bytes: 8, unsigned: true }, false),
            column("u", ColumnKind::Integer { bytes: 4, unsigned: false }, true),
        ],
        primary_key: key(&[0]),
        indexes: vec![index("u", true, &[1])],
        partitioning: None,
        sql_without_partitions: String::new(),
    };
    let plan = TablePlan::new(&table).unwrap();
    let mut maker = RecordMaker::new(&plan.secondary[0]);
    for (value, nulls, data, unique) in [
        (Value::Null, "01", "0000000000000007", None),
        (Value::Signed(9), "00", "800000090000000000000007", Some(5)),
    ] {
        maker.make_sort_key(&|column: usize| if column == 0 { Value::Unsigned(7) } else { value }).unwrap();
        let sort_key = maker.sort_key().to_vec();
        maker.make_entry(&sort_key);
        assert_eq!(parts(maker.record(), 1), (String::new(), nulls.to_owned(), data.to_owned()));
        assert_eq!(maker.unique_bytes(), unique);
    }
}

#[test]
fn node_pointers_have_the_leafs_bitmap_width_without_its_bits() {
    let plan = TablePlan::new(&golden_table()).unwrap();
    let mut maker = RecordMaker::new(&plan.clustered);
    maker.make_row(&golden_row(Value::Null)).unwrap();
    let mut pointer = maker.node_pointer();
    pointer.set_child(0x0102_0304);
    let (lengths, nulls, data) = parts(pointer.record(), 1);
    assert_eq!((lengths.as_str(), nulls.as_str(), data.as_str()), ("03", "00", "4142438fd02101020304"));
}

#[test]
fn a_sorted_row_comes_back_with_its_key() {
    let plan = TablePlan::new(&golden_table()).unwrap();
    let mut maker = RecordMaker::new(&plan.clustered);
    maker.make_row(&golden_row(Value::Bytes(&[b'x'; 200]))).unwrap();
    let (bytes, origin) = (maker.record().bytes.to_vec(), maker.record().origin);
    let (sort_key, pointer) = (maker.sort_key().to_vec(), maker.node_pointer());
    let mut other = RecordMaker::new(&plan.clustered);
    other.restore(&sort_key, Record { bytes: &bytes, origin });
    assert_eq!(other.record(), Record { bytes: &bytes, origin });
    assert_eq!((other.sort_key(), other.node_pointer()), (&sort_key[..], pointer));
}

#[test]
fn keys_that_the_server_would_sort_otherwise_are_refused() {
    let plan = TablePlan::new(&golden_table()).unwrap();
    let mut maker = RecordMaker::new(&plan.clustered);
    for bad in [&b"a "[..], b"a\tb"] {
        let row = golden_row(Value::Null);
        let made = maker.make_row(&|column: usize| if column == 0 { Value::Bytes(bad) } else { row(column) });
        assert!(matches!(made, Err(RowError::KeyText { column: 0, .. })), "{made:?}");
    }
}
