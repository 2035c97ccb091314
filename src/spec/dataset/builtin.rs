//! The datasets that travel in the binary.

/// One built-in dataset's files.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    /// Its name.
    pub name: &'static str,
    /// `dataset.toml`.
    pub toml: &'static str,
    /// `table.sql`.
    pub table_sql: &'static str,
    /// The other `*.sql` files.
    pub companions_sql: &'static [&'static str],
}

macro_rules! built_in_dataset {
    ($name:literal) => {
        BuiltIn {
            name: $name,
            toml: include_str!(concat!("../../../datasets/", $name, "/dataset.toml")),
            table_sql: include_str!(concat!("../../../datasets/", $name, "/table.sql")),
            companions_sql: &[include_str!(concat!("../../../datasets/", $name, "/t_settle_bill.sql"))],
        }
    };
}

/// The built-in datasets, the recommended one first.
pub fn built_in() -> &'static [BuiltIn] {
    const ALL: &[BuiltIn] = &[
        built_in_dataset!("t_idem"),
        built_in_dataset!("seed"),
        built_in_dataset!("t_idem_hash"),
        built_in_dataset!("t_idem_surrogate"),
        built_in_dataset!("t_idem_status_index"),
    ];
    ALL
}
