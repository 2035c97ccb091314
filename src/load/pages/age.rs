//! How old each index is to look.

use crate::pages::fill::FillProfile;
use crate::pages::plan::TablePlan;
use crate::spec::dataset::{Dataset, Fill};
use crate::spec::footprint::counts_up;

/// A profile for each index in the order of the plan. An index whose keys count up stays full and in order
/// however old the table grows.
pub(super) fn profiles(dataset: &Dataset, plan: &TablePlan) -> Vec<FillProfile> {
    let table = &dataset.table;
    let profile = |(ordinal, name): (usize, &str)| {
        let secondary = table.indexes.iter().find(|index| index.name == name);
        let parts = secondary.map_or(&table.primary_key, |index| &index.parts);
        match &dataset.fill {
            Fill::Fresh => FillProfile::Fresh,
            Fill::Aged if counts_up(dataset, parts) => FillProfile::Fresh,
            Fill::Aged => FillProfile::random_inserts(ordinal == 0),
            Fill::Like(age) => age.index(ordinal).map_or(FillProfile::Fresh, FillProfile::like),
        }
    };
    plan.indexes().map(|index| index.name.as_str()).enumerate().map(profile).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, fill: Fill, aged: &[bool]) {
        let dataset = Dataset::read(name).unwrap().scaled(None, None, None, Some(fill)).unwrap();
        let profiles = profiles(&dataset, &TablePlan::new(&dataset.table).unwrap());
        let found: Vec<bool> = profiles.iter().map(|profile| *profile != FillProfile::Fresh).collect();
        assert_eq!(found, aged, "{name}");
    }

    #[test]
    fn only_indexes_whose_keys_come_in_random_order_age() {
        check("t_idem", Fill::Fresh, &[false]);
        check("t_idem", Fill::Aged, &[true]);
        check("t_idem_surrogate", Fill::Aged, &[false, true]);
        check("t_idem_status_index", Fill::Aged, &[true, true]);
    }
}
