//! What MySQL refuses although it can be read: checked here so that no server is needed to know.

use super::error::{DdlError, PARTITIONS_MAX};
use crate::spec::table::{Bound, KeyPart, Partitioning, Table};

/// All faults of a table that was read, in the order of the statement.
pub(super) fn faults(table: &Table) -> Vec<DdlError> {
    let Some(partitioning) = &table.partitioning else { return Vec::new() };
    let mut faults = keys_without_partition_column(table, partitioning);
    faults.extend(bounds_not_increasing(partitioning));
    faults.extend(names_twice(partitioning));
    match partitioning.partitions.len() {
        0 => faults.push(DdlError::NoPartitions),
        partitions if partitions > PARTITIONS_MAX => faults.push(DdlError::TooManyPartitions { partitions }),
        _ => {}
    }
    faults
}

fn keys_without_partition_column(table: &Table, partitioning: &Partitioning) -> Vec<DdlError> {
    let primary = ("PRIMARY KEY".to_owned(), &table.primary_key);
    let unique = table.indexes.iter().filter(|index| index.unique);
    let unique = unique.map(|index| (format!("UNIQUE KEY {}", index.name), &index.parts));
    std::iter::once(primary)
        .chain(unique)
        // A prefix of the partition column does not count: the server wants the whole column.
        .filter(|(_, parts)| !parts.is_empty() && !holds_whole(parts, partitioning.column))
        .map(|(key, parts)| DdlError::KeyLacksPartitionColumn {
            key,
            columns: parts.iter().map(|part| table.columns[part.column].name.clone()).collect(),
            partition_column: table.columns[partitioning.column].name.clone(),
        })
        .collect()
}

fn holds_whole(parts: &[KeyPart], column: usize) -> bool {
    parts.iter().any(|part| part.column == column && part.prefix.is_none())
}

fn bounds_not_increasing(partitioning: &Partitioning) -> Vec<DdlError> {
    partitioning
        .partitions
        .windows(2)
        .filter(|pair| pair[1].less_than <= pair[0].less_than || pair[0].less_than == Bound::MaxValue)
        .map(|pair| {
            let (partition, previous) = (pair[1].name.clone(), pair[0].name.clone());
            match pair[0].less_than {
                Bound::MaxValue => DdlError::MaxValueNotLast { partition, previous },
                _ => DdlError::BoundsNotIncreasing { partition, previous },
            }
        })
        .collect()
}

fn names_twice(partitioning: &Partitioning) -> Vec<DdlError> {
    let mut seen = std::collections::HashSet::new();
    partitioning
        .partitions
        .iter()
        .filter(|partition| !seen.insert(partition.name.to_lowercase()))
        .map(|partition| DdlError::PartitionNameTwice { partition: partition.name.clone() })
        .collect()
}
