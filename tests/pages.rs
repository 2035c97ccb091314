//! Files are built and verified without a server: sizes around every boundary, random tables, damage.
#![allow(clippy::unwrap_used)] // A test that cannot set up its files should stop right there.

#[path = "support/page_files.rs"]
mod page_files;

use idembench::pages::encode::Value;
use idembench::pages::file::BuildError;
use idembench::pages::format;
use idembench::pages::index::{IndexError, OrderFault};
use idembench::pages::plan::TablePlan;
use idembench::pages::verify::{self, Shape, Verified};
use idembench::spec::table::{Charset, Column, ColumnKind, Index, KeyPart, Table, Text};
use page_files::{PAGE, build, check, column, padded, padded_row, part, table};
use proptest::prelude::*;

fn check_padded(bytes: u16, rows: u64) -> Verified {
    let table = padded(bytes);
    let (file, summary) = build(&table, true, rows, padded_row).unwrap();
    check(&table, &file, &summary, rows)
}

#[test]
fn files_are_right_around_the_end_of_a_page_of_a_level_and_of_an_extent() {
    // Directory groups: 4, and 8 to 11 records.
    for rows in (0..14).chain([15, 16, 17]) {
        check_padded(20, rows);
    }
    // A row of 255 bytes in the index is 290 with its header; some 52 are a page.
    let per_page = |rows: u64| check_padded(255, rows).indexes[0].leaf_pages;
    let full = (1..80).find(|rows| per_page(*rows) == 2).unwrap() - 1;
    assert_eq!(check_padded(255, full).indexes[0].levels, 1);
    assert_eq!(check_padded(255, full + 1).indexes[0].levels, 2);
    for pages in [2, 63, 64, 65, 128] {
        for rows in [pages * full - 1, pages * full, pages * full + 1] {
            let expected = rows.div_ceil(full);
            assert_eq!(check_padded(255, rows).indexes[0].leaf_pages, expected, "{rows} rows");
        }
    }
}

/// Long keys make small trees high.
fn long_keys() -> Table {
    let text = Text { characters: 1500, charset: Charset::Ascii, collation: "ascii_bin".to_owned() };
    let columns = vec![column("k", ColumnKind::VarChar(text), false)];
    table(columns, vec![part(0)], vec![Index { name: "k2".to_owned(), unique: true, parts: vec![part(0)] }])
}

#[test]
fn files_are_right_with_three_four_and_five_levels() {
    let table = long_keys();
    let mut levels = Vec::new();
    for rows in [10, 90, 110, 700, 1200, 16_000] {
        let keys: Vec<String> = (0..rows).map(|row| format!("{row:0>1400}")).collect();
        let value = |row: u64, _| Value::Bytes(keys[row as usize].as_bytes());
        let (file, summary) = build(&table, true, rows, value).unwrap();
        levels.push(check(&table, &file, &summary, rows).indexes[0].levels);
    }
    assert_eq!(levels, [1, 2, 3, 3, 4, 5]);
}

#[test]
fn files_are_right_across_the_second_descriptor_page() {
    // Two rows to a page of the clustered index, and keys on the way up: some 16,600 pages.
    let columns = vec![
        column("k", ColumnKind::Integer { bytes: 8, unsigned: true }, false),
        column("p", ColumnKind::VarBinary(7600), false),
    ];
    let table = table(columns, vec![part(0)], vec![]);
    let padding = vec![7u8; 7600];
    for rows in [32_200u64, 33_400] {
        let value =
            |row: u64, column| if column == 0 { Value::Unsigned(row) } else { Value::Bytes(&padding) };
        let (file, summary) = build(&table, true, rows, value).unwrap();
        let verified = check(&table, &file, &summary, rows);
        assert_eq!(verified.indexes[0].leaf_pages, rows / 2);
        assert_eq!(
            verified.bytes > 16384 * PAGE as u64,
            rows == 33_400,
            "{} pages",
            verified.bytes / PAGE as u64
        );
    }
}

#[test]
fn rows_that_break_the_order_are_refused_with_their_number() {
    let table = padded(20);
    for (second, fault) in [(5, OrderFault::Duplicate), (4, OrderFault::Descending)] {
        let keys = [5, second];
        let value = |row: u64, column| match column {
            0 => Value::Unsigned(keys[row as usize]),
            _ => padded_row(row, column),
        };
        match build(&table, true, 2, value) {
            Err(BuildError::Index { source: IndexError::Order { row: 1, fault: seen, .. }, .. }) => {
                assert_eq!(seen, fault)
            }
            other => panic!("{:?}", other.map(|built| built.1)),
        }
    }
}

#[test]
fn a_unique_secondary_key_may_repeat_only_null() {
    let int = ColumnKind::Integer { bytes: 4, unsigned: true };
    let columns = vec![column("k", int.clone(), false), column("u", int, true)];
    let table = table(
        columns,
        vec![part(0)],
        vec![Index { name: "u".to_owned(), unique: true, parts: vec![part(1)] }],
    );
    let with = |u: Value<'static>| {
        build(&table, true, 2, move |row, column| if column == 0 { Value::Unsigned(row) } else { u })
    };
    assert!(with(Value::Null).is_ok());
    assert!(matches!(with(Value::Unsigned(3)), Err(BuildError::Index { .. })));
}

// Random tables.

fn kind() -> impl Strategy<Value = ColumnKind> {
    let text = |charset: Charset, collation: &'static str| {
        (1u16..80).prop_map(move |characters| Text { characters, charset, collation: collation.to_owned() })
    };
    let texts = || {
        prop_oneof![
            text(Charset::Ascii, "ascii_bin"),
            text(Charset::Latin1, "latin1_bin"),
            text(Charset::Utf8mb4, "utf8mb4_bin"),
            text(Charset::Utf8mb4, "utf8mb4_0900_bin"),
        ]
    };
    prop_oneof![
        (prop::sample::select(vec![1u8, 2, 3, 4, 8]), any::<bool>())
            .prop_map(|(bytes, unsigned)| ColumnKind::Integer { bytes, unsigned }),
        Just(ColumnKind::Date),
        (0u8..=6).prop_map(|fraction| ColumnKind::DateTime { fraction }),
        (0u8..=6).prop_map(|fraction| ColumnKind::Timestamp { fraction }),
        texts().prop_map(ColumnKind::Char),
        texts().prop_map(ColumnKind::VarChar),
        (1u16..60).prop_map(ColumnKind::Binary),
        (1u16..400).prop_map(ColumnKind::VarBinary),
        (1usize..300)
            .prop_map(|labels| ColumnKind::Enum((0..labels).map(|label| label.to_string()).collect())),
        (1u8..=40, 0u8..=10)
            .prop_map(|(precision, scale)| ColumnKind::Decimal { precision, scale: scale.min(precision) }),
    ]
}

/// A table whose last column is a number that makes every row's primary key unique.
fn any_table() -> impl Strategy<Value = Table> {
    let columns = prop::collection::vec((kind(), any::<bool>()), 0..10);
    let picks = prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..3);
    let secondary = prop::collection::vec(
        prop::collection::vec(
            (any::<prop::sample::Index>(), any::<bool>(), prop::option::of(1u16..20)),
            1..4,
        ),
        0..3,
    );
    (columns, picks, secondary).prop_map(|(kinds, picks, secondary)| {
        let mut columns: Vec<Column> =
            kinds.into_iter().map(|(kind, nullable)| column("c", kind, nullable)).collect();
        let mut primary_key = Vec::new();
        for (pick, descending) in picks {
            if !columns.is_empty() {
                let place = pick.index(columns.len());
                columns[place].nullable = false;
                if primary_key.iter().all(|key: &KeyPart| key.column != place) {
                    primary_key.push(KeyPart { column: place, prefix: None, descending });
                }
            }
        }
        columns.push(column("n", ColumnKind::Integer { bytes: 4, unsigned: true }, false));
        primary_key.push(part(columns.len() - 1));
        let indexes = secondary.into_iter().map(|parts| secondary_index(&columns, parts)).collect();
        table(columns, primary_key, indexes)
    })
}

fn secondary_index(columns: &[Column], parts: Vec<(prop::sample::Index, bool, Option<u16>)>) -> Index {
    let mut chosen: Vec<KeyPart> = Vec::new();
    for (pick, descending, prefix) in parts {
        let place = pick.index(columns.len());
        let prefix = prefix.filter(|prefix| match &columns[place].kind {
            ColumnKind::VarChar(text) | ColumnKind::Char(text) => *prefix < text.characters,
            ColumnKind::VarBinary(bytes) | ColumnKind::Binary(bytes) => prefix < bytes,
            _ => false,
        });
        if chosen.iter().all(|key| key.column != place) {
            chosen.push(KeyPart { column: place, prefix, descending });
        }
    }
    Index { name: "i".to_owned(), unique: false, parts: chosen }
}

/// Some value of a column from some bits, not a NULL.
fn some_value<'a>(kind: &ColumnKind, bits: u64, arena: &'a mut Vec<u8>) -> Value<'a> {
    match kind {
        ColumnKind::Integer { bytes, unsigned: true } => {
            Value::Unsigned(bits >> (64 - 8 * u32::from(*bytes)))
        }
        ColumnKind::Integer { bytes, unsigned: false } => {
            Value::Signed(bits as i64 >> (64 - 8 * u32::from(*bytes)))
        }
        ColumnKind::Date => Value::Day((bits % 80_000) as i32 - 20_000),
        ColumnKind::DateTime { .. } => Value::Micros((bits % (1 << 51)) as i64),
        ColumnKind::Timestamp { .. } => Value::Micros((bits % (1 << 50)) as i64 + 1_000_000),
        ColumnKind::Char(text) | ColumnKind::VarChar(text) => {
            let characters = bits % (u64::from(text.characters) + 1);
            let alphabet =
                if text.charset == Charset::Utf8mb4 { "aZ0é€𝄞".chars() } else { "aZ0!~qx".chars() };
            let alphabet: Vec<char> = alphabet.collect();
            let text: String = (0..characters)
                .map(|place| alphabet[((bits >> (place % 50)) % alphabet.len() as u64) as usize])
                .collect();
            arena.extend_from_slice(text.as_bytes());
            Value::Bytes(arena)
        }
        ColumnKind::Binary(bytes) | ColumnKind::VarBinary(bytes) => {
            let length = bits % (u64::from(*bytes) + 1);
            arena.extend(
                (0..length).map(|place| if place % 3 == 0 { 0 } else { (bits >> (place % 56)) as u8 }),
            );
            Value::Bytes(arena)
        }
        ColumnKind::Enum(labels) => Value::Label((bits % labels.len() as u64) as u16 + 1),
        ColumnKind::Decimal { precision, .. } => {
            let limit = 10i64.checked_pow(u32::from(*precision)).unwrap_or(i64::MAX);
            Value::Decimal(bits as i64 % limit)
        }
    }
}

fn mix(row: u64, column: usize) -> u64 {
    let mut bits =
        row.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (column as u64 + 1).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    bits = (bits ^ bits >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    bits ^ bits >> 32
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn files_of_random_tables_are_right(table in any_table(), rows in prop_oneof![0u64..30, 100u64..3000]) {
        prop_assume!(TablePlan::new(&table).is_ok());
        let columns = table.columns.len();
        let arenas: Vec<Vec<(Vec<u8>, bool)>> = (0..rows).map(|row| (0..columns).map(|column| {
            let bits = mix(row, column);
            let mut arena = Vec::new();
            some_value(&table.columns[column].kind, bits >> 3, &mut arena);
            (arena, table.columns[column].nullable && bits & 7 == 0)
        }).collect()).collect();
        let value = |row: u64, place: usize| {
            let (bytes, null) = &arenas[row as usize][place];
            let kind = &table.columns[place].kind;
            match kind {
                _ if *null => Value::Null,
                _ if place == columns - 1 => Value::Unsigned(row),
                ColumnKind::Char(_) | ColumnKind::VarChar(_) | ColumnKind::Binary(_) | ColumnKind::VarBinary(_) => Value::Bytes(bytes),
                kind => match some_value(kind, mix(row, place) >> 3, &mut Vec::new()) {
                    Value::Bytes(_) => unreachable!("numbers only"),
                    Value::Unsigned(n) => Value::Unsigned(n),
                    Value::Signed(n) => Value::Signed(n),
                    Value::Day(n) => Value::Day(n),
                    Value::Micros(n) => Value::Micros(n),
                    Value::Label(n) => Value::Label(n),
                    Value::Decimal(n) => Value::Decimal(n),
                    Value::Null => Value::Null,
                },
            }
        };
        let (file, summary) = build(&table, false, rows, value).unwrap();
        check(&table, &file, &summary, rows);
    }
}

// Damage.

/// Two indexes, two levels, a few extents.
fn sound_file() -> (Table, Vec<u8>) {
    let table = padded(200);
    let (file, _) = build(&table, true, 3000, padded_row).unwrap();
    (table, file)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn any_changed_byte_is_found(place in any::<prop::sample::Index>(), change in 1u8..) {
        thread_local!(static SOUND: (Table, Vec<u8>) = sound_file());
        SOUND.with(|(table, file)| {
            let mut file = file.clone();
            let at = place.index(file.len());
            file[at] ^= change;
            let fault = verify::bytes(&file, &Shape::of(table)).expect_err("a byte was changed");
            // Damage shows where it is, unless it makes the description of the others wrong.
            assert!(fault.page as usize == at / PAGE || at < PAGE, "{fault} for a byte of page {}", at / PAGE);
        });
    }
}

/// Changes a page and repairs its checksum: what remains to be found is nonsense, not rot.
fn forge(file: &[u8], page: u32, change: impl Fn(&mut [u8])) -> Vec<u8> {
    let mut file = file.to_vec();
    let bytes = &mut file[page as usize * PAGE..][..PAGE];
    change(bytes);
    let lsn = format::get_u64(bytes, 16);
    format::seal(bytes, lsn);
    file
}

#[test]
fn forged_pages_are_found_by_what_they_say() {
    let (table, file) = sound_file();
    let shape = Shape::of(&table);
    let add = |page: &mut [u8], at: usize, by: u16| {
        let value = format::get_u16(page, at).wrapping_add(by);
        format::put_u16(page, at, value);
    };
    let expect = |page: u32, what: &str, change: &dyn Fn(&mut [u8]), reason: &str| {
        let fault = verify::bytes(&forge(&file, page, change), &shape).expect_err(what);
        assert!(fault.reason.contains(reason), "{what}: {fault}");
    };
    // 4 is the root, 64 the first leaf of the clustered index.
    expect(64, "record count", &|page| add(page, 54, 1), "counts");
    expect(64, "level", &|page| add(page, 64, 1), "");
    expect(64, "index id", &|page| add(page, 72, 1), "");
    expect(64, "foreign index id", &|page| add(page, 66, 1), "no root");
    expect(64, "right sibling", &|page| add(page, 14, 1), "");
    expect(64, "left sibling", &|page| page[8..12].fill(0), "");
    expect(64, "first record pointer", &|page| add(page, 97, 1), "");
    expect(64, "directory slot", &|page| add(page, PAGE - 8 - 4, 1), "directory");
    expect(64, "group size", &|page| page[107] += 1, "directory");
    expect(64, "heap top", &|page| add(page, 40, 1), "");
    expect(64, "rest of the page", &|page| page[16200] = 1, "between");
    expect(64, "two keys swapped", &|page| page[125 + 1 + 7] = 9, "rise");
    expect(64, "transaction 0", &|page| page[126 + 8 + 5] = 0, "transaction");
    expect(64, "deleted mark", &|page| page[126 - 5] |= 0x20, "flags");
    expect(64, "segments on a leaf", &|page| page[75] = 1, "segments");
    expect(64, "page number", &|page| add(page, 6, 1), "number");
    expect(4, "child", &|page| add(page, 126 + 8 + 2, 1), "");
    expect(4, "key of a child", &|page| page[126 + 7] = 1, "");
    expect(4, "leftmost mark", &|page| page[126 - 5] = 0, "flags");
    expect(4, "inode", &|page| add(page, 82, 192), "");
    expect(2, "list length", &|page| add(page, 50 + 3 * 192 + 46, 1), "list");
    expect(2, "used pages", &|page| add(page, 50 + 3 * 192 + 10, 1), "used pages");
    expect(2, "single page", &|page| page[50 + 2 * 192 + 64 + 3] += 1, "");
    expect(2, "segment id", &|page| page[50 + 2 * 192 + 7] = 1, "twice");
    expect(0, "size", &|page| add(page, 48, 64), "pages");
    expect(0, "space id", &|page| page[41] += 1, "tablespace");
    expect(0, "flags", &|page| page[57] = 0x61, "flags");
    expect(0, "an extent's owner", &|page| page[150 + 40 + 7] += 1, "");
    expect(0, "an extent's state", &|page| page[150 + 40 + 23] = 1, "");
    expect(0, "a list's link", &|page| page[150 + 40 + 8 + 11] ^= 40, "");
    expect(0, "a used page called free", &|page| page[174 + 40] |= 1, "");
    expect(0, "an unclean page", &|page| page[174 + 40] &= !2, "unclean");
    expect(1, "buffered change", &|page| page[94 + 40] = 4, "wait");
}
