use super::*;
use crate::spec::table::Text;

fn text(characters: u16, charset: Charset) -> Text {
    Text { characters, charset, collation: String::new() }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn check(kind: ColumnKind, value: Value<'_>, expect: &str) {
    let mut out = [0xEE; 512];
    let length = encode(
        Step::of(Encoding::of(&kind)),
        Encoding::of(&kind),
        &|_| value,
        0,
        &mut DayMemo::default(),
        &mut out,
    )
    .unwrap_or_else(|error| panic!("{kind:?} {value:?}: {error}"));
    assert_eq!(hex(&out[..length]), expect, "{kind:?} {value:?}");
}

/// 2024-01-01 is day 19723; 12:34:56.789.
const DAY: i32 = 19_723;
const INSTANT: i64 = DAY as i64 * DAY_MICROS + 45_296_789_000;

#[test]
fn values_are_stored_as_a_real_server_stores_them() {
    let int = |bytes, unsigned| ColumnKind::Integer { bytes, unsigned };
    check(int(1, false), Value::Signed(-2), "7e");
    check(int(1, true), Value::Unsigned(200), "c8");
    check(int(4, false), Value::Signed(-5), "7ffffffb");
    check(int(8, false), Value::Signed(-1), "7fffffffffffffff");
    check(int(8, true), Value::Unsigned(u64::MAX), "ffffffffffffffff");
    check(int(1, false), Value::Signed(1), "81");
    check(int(3, false), Value::Signed(-8_388_608), "000000");
    check(ColumnKind::Date, Value::Day(DAY), "8fd021");
    check(ColumnKind::DateTime { fraction: 3 }, Value::Micros(INSTANT), "99b242c8b81ed2");
    check(ColumnKind::DateTime { fraction: 0 }, Value::Micros(INSTANT), "99b242c8b8");
    check(ColumnKind::Timestamp { fraction: 3 }, Value::Micros(INSTANT), "6592b1701ed2");
    check(ColumnKind::Timestamp { fraction: 6 }, Value::Micros(INSTANT), "6592b1700c0a08");
    check(ColumnKind::Char(text(5, Charset::Ascii)), Value::Bytes(b"ab"), "6162202020");
    check(
        ColumnKind::Char(text(10, Charset::Utf8mb4)),
        Value::Bytes("cü".as_bytes()),
        "63c3bc20202020202020",
    );
    check(ColumnKind::VarChar(text(9, Charset::Utf8mb4)), Value::Bytes("héllo".as_bytes()), "68c3a96c6c6f");
    check(ColumnKind::Binary(4), Value::Bytes(&[1, 0]), "01000000");
    check(ColumnKind::VarBinary(4), Value::Bytes(&[1, 0]), "0100");
    check(ColumnKind::Enum(vec!["NEW".into(), "DONE".into()]), Value::Label(2), "02");
}

#[test]
fn decimals_are_packed_nine_digits_in_four_bytes() {
    let kind = |precision, scale| ColumnKind::Decimal { precision, scale };
    // The manual's own example, 1234567890.1234 as DECIMAL(14,4), and its negative.
    check(kind(14, 4), Value::Decimal(12_345_678_901_234), "810dfb38d204d2");
    check(kind(14, 4), Value::Decimal(-12_345_678_901_234), "7ef204c72dfb2d");
    check(kind(9, 0), Value::Decimal(7), "80000007");
    // 99.90: ten whole digits are one and nine, two digits behind the point are one byte.
    check(kind(12, 2), Value::Decimal(9990), "80000000635a");
}

#[test]
fn what_does_not_fit_its_column_is_an_error_not_a_wrong_byte() {
    let fails = |kind: ColumnKind, value: Value<'_>, error: EncodeError| {
        let mut out = [0; 512];
        let got = encode(
            Step::of(Encoding::of(&kind)),
            Encoding::of(&kind),
            &|_| value,
            0,
            &mut DayMemo::default(),
            &mut out,
        );
        assert_eq!(got, Err(error), "{kind:?} {value:?}");
    };
    let int = |bytes, unsigned| ColumnKind::Integer { bytes, unsigned };
    fails(int(1, false), Value::Signed(128), EncodeError::OutOfRange);
    fails(int(1, true), Value::Unsigned(256), EncodeError::OutOfRange);
    fails(int(2, true), Value::Signed(-1), EncodeError::OutOfRange);
    fails(int(8, false), Value::Unsigned(1 << 63), EncodeError::OutOfRange);
    fails(ColumnKind::Date, Value::Day(3_000_000), EncodeError::OutOfRange);
    fails(ColumnKind::Timestamp { fraction: 0 }, Value::Micros(-1), EncodeError::OutOfRange);
    fails(ColumnKind::VarChar(text(2, Charset::Ascii)), Value::Bytes(b"abc"), EncodeError::TooLong);
    fails(ColumnKind::Char(text(2, Charset::Ascii)), Value::Bytes(b"abc"), EncodeError::TooLong);
    fails(
        ColumnKind::VarChar(text(9, Charset::Ascii)),
        Value::Bytes("é".as_bytes()),
        EncodeError::NotInCharset,
    );
    fails(ColumnKind::VarChar(text(9, Charset::Utf8mb4)), Value::Bytes(&[0xC3]), EncodeError::NotInCharset);
    fails(ColumnKind::Enum(vec!["A".into()]), Value::Label(2), EncodeError::OutOfRange);
    fails(ColumnKind::Decimal { precision: 4, scale: 2 }, Value::Decimal(10_000), EncodeError::OutOfRange);
    fails(ColumnKind::Date, Value::Null, EncodeError::NotNullable);
    fails(ColumnKind::Date, Value::Signed(1), EncodeError::WrongKind);
}

#[test]
fn days_follow_the_calendar() {
    for (day, packed) in
        [(0, (1970, 1, 1)), (19_782, (2024, 2, 29)), (19_783, (2024, 3, 1)), (-1, (1969, 12, 31))]
    {
        assert_eq!(pack_day(day), packed.0 << 9 | packed.1 << 5 | packed.2);
    }
}
