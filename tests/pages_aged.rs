//! Files that look as if their table had lived: sizes around every boundary, damage, and a sample of them
//! that shows what was asked for.
#![allow(clippy::unwrap_used)] // A test that cannot set up its files should stop right there.

#[path = "support/page_files.rs"]
mod page_files;

use idembench::pages::fill::FillProfile;
use idembench::pages::sample::{SampleError, sample};
use idembench::pages::verify::{self, OrderSummary, Shape};
use idembench::spec::dataset::IndexAge;
use page_files::{PAGE, build_like, check, padded, padded_row};
use proptest::prelude::*;

fn aged() -> Vec<FillProfile> {
    vec![FillProfile::random_inserts(true), FillProfile::random_inserts(false)]
}

/// Builds the padded table, has it verified, and gives back how the leaves of both indexes lie.
fn build_padded(bytes: u16, rows: u64, profiles: &[FillProfile]) -> (Vec<u8>, Vec<OrderSummary>) {
    let table = padded(bytes);
    let (file, summary) = build_like(&table, true, rows, profiles, padded_row).unwrap();
    let verified = check(&table, &file, &summary, rows);
    (file, verified.indexes.iter().map(|index| index.order.summary()).collect())
}

#[test]
fn aged_files_are_right_at_every_small_size() {
    for rows in (0..200).chain((200..8000).step_by(371)) {
        build_padded(255, rows, &aged());
    }
}

#[test]
fn aged_leaves_are_as_full_as_random_inserts_leave_them_and_lie_in_no_order() {
    let (_, indexes) = build_padded(255, 250_000, &aged());
    let [rows, secondary] = &indexes[..] else { panic!("two indexes") };
    assert!((rows.mean_fill - 0.6703).abs() < 0.01, "{rows:?}");
    assert!((secondary.mean_fill - std::f64::consts::LN_2).abs() < 0.02, "{secondary:?}");
    assert!(rows.leaves_by_tenths[..5].iter().sum::<u64>() > 0, "{rows:?}");
    // The last leaf takes what is left over.
    assert!(secondary.leaves_by_tenths[..4].iter().sum::<u64>() <= 1, "{secondary:?}");
    for leaves in &indexes {
        assert!(leaves.consecutive_share < 0.01 && leaves.same_extent_share < 0.03, "{leaves:?}");
    }
}

#[test]
fn the_same_seed_makes_the_same_file() {
    assert_eq!(build_padded(255, 5000, &aged()).0, build_padded(255, 5000, &aged()).0);
}

fn measured(fill: std::ops::Range<u16>, consecutive: u16, same_extent: u16, extents_used: u16) -> IndexAge {
    let step = (fill.end - fill.start) / 32;
    let fill = (0..33).map(|place| fill.start + place * step).collect();
    IndexAge { fill, consecutive, same_extent, extents_used }
}

#[test]
fn a_file_built_like_another_is_like_it_when_it_is_sampled() {
    let wanted = measured(6000..9200, 3000, 6000, 8000);
    let profile = FillProfile::like(&wanted);
    let (file, _) = build_padded(255, 400_000, &[profile.clone(), profile]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.ibd");
    std::fs::write(&path, file).unwrap();
    let seen = sample("t", &[path]).unwrap().age();
    let near = |a: u16, b: u16, within: u16| assert!(a.abs_diff(b) <= within, "{wanted:?}\n{seen:?}");
    let rows = &seen.indexes[0];
    near(rows.consecutive, wanted.consecutive, 200);
    near(rows.same_extent, wanted.same_extent, 300);
    near(rows.extents_used, wanted.extents_used, 400);
    // The last leaf takes what is left over, and fills are whole records.
    for place in 1..33 {
        near(rows.fill[place], wanted.fill[place], 250);
    }
}

#[test]
fn files_that_tell_nothing_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let (file, _) = build_padded(200, 3000, &aged());
    let refused = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut file = file.clone();
        change(&mut file);
        let path = folder.path().join("t.ibd");
        std::fs::write(&path, file).unwrap();
        sample("t", &[path]).expect_err("a file that tells nothing").to_string()
    };
    let is_leaf = |page: &usize| file[page * PAGE + 24..][..2] == [0x45, 0xBF] && file[page * PAGE + 65] == 0;
    let leaf = (64..).find(is_leaf).unwrap();
    // The flags of page 0 stand at 54.
    assert!(refused(&|file| file[57] |= 2).contains("ROW_FORMAT=COMPRESSED"));
    assert!(refused(&|file| file[56] |= 1).contains("another page size"));
    assert!(refused(&|file| file[56] |= 0x20).contains("encrypted"));
    assert!(refused(&|file| file[leaf * PAGE + 500] ^= 1).contains("has a wrong checksum"));
    assert!(
        refused(&|file| file[leaf * PAGE + 24..][..2].copy_from_slice(&[0, 14])).contains("page by page")
    );
    assert!(refused(&|file| file.truncate(1000)).contains("read"));
    let (empty, _) = build_padded(200, 0, &aged());
    let path = folder.path().join("empty.ibd");
    std::fs::write(&path, empty).unwrap();
    assert!(matches!(sample("t", &[path]), Err(SampleError::Empty { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn any_changed_byte_of_an_aged_file_is_found(place in any::<prop::sample::Index>(), change in 1u8..) {
        thread_local!(static SOUND: Vec<u8> = build_padded(200, 3000, &aged()).0);
        SOUND.with(|file| {
            let mut file = file.clone();
            let at = place.index(file.len());
            file[at] ^= change;
            let fault = verify::bytes(&file, &Shape::of(&padded(200))).expect_err("a byte was changed");
            assert!(fault.page as usize == at / PAGE || at < PAGE, "{fault} for a byte of page {}", at / PAGE);
        });
    }

    #[test]
    fn files_of_any_age_are_right(
        rows in 0u64..6000, bytes in 7u16..255, low in 0u16..9000, width in 32u16..1000,
        consecutive in 0u16..=10_000, same_extent in 0u16..=10_000, extents_used in 0u16..=10_000,
    ) {
        let age = measured(low..low + width, consecutive, same_extent, extents_used);
        build_padded(bytes, rows, &[FillProfile::like(&age), FillProfile::like(&age)]);
    }
}
