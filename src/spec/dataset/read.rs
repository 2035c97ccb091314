//! From a name or a path to a dataset.

use std::fs;
use std::path::{Path, PathBuf};

use super::days::{daily_partitions, days_as_written};
use super::wire::{DatasetWire, RecipeWire, Toml};
use super::{ClaimColumns, Dataset, DatasetError, PartitionRule, Recipe, built_in, infer};
use crate::spec::ddl::parse_table;
use crate::spec::table::Table;
use crate::units::Rows;

/// Rows when neither file nor flag says how many.
const ROWS_DEFAULT: Rows = Rows(1_000_000);
/// Days when neither file, flag nor partitions say how many.
const DAYS_DEFAULT: u32 = 7;
/// 2026-01-07, in days since 1970: the newest day unless the file says another. It lies in the past, so
/// that every lease has run out, and it is fixed, so that the same dataset is the same on every day.
const LAST_DAY_DEFAULT: i32 = 20_460;
/// The seed unless the file says another.
const SEED_DEFAULT: u64 = 42;

/// The texts that a dataset is read from, with their names for errors.
struct Texts {
    name: String,
    toml: Option<(String, String)>,
    table: (String, String),
    companions: Vec<(String, String)>,
}

impl Dataset {
    /// Reads a built-in dataset by name, a dataset's folder (`dataset.toml`, `table.sql`, companions in
    /// further `*.sql` files) or a bare file with a CREATE TABLE.
    ///
    /// # Errors
    /// [`DatasetError`], with file and line where there is one.
    pub fn read(name_or_path: &str) -> Result<Dataset, DatasetError> {
        let texts = texts_of(name_or_path)?;
        let (toml_file, toml_text) = texts.toml.clone().unwrap_or_default();
        let toml = Toml { file: &toml_file, text: &toml_text };
        let wire = toml.parse()?;
        let table = table_of(&texts.table)?;
        let companions = texts.companions.iter().map(table_of).collect::<Result<Vec<_>, _>>()?;
        build(texts.name, &wire, &toml, table, companions)
    }

    /// The dataset with its built-in default values overridden; `None` leaves a value as it is.
    ///
    /// The newest day stays when partitions are daily (further days go back in time, so that leases stay
    /// in the past); the first day stays when partitions are as written.
    ///
    /// # Errors
    /// [`DatasetError::Zero`], and days that have no partition or no place in the calendar.
    pub fn scaled(
        mut self,
        rows: Option<Rows>,
        days: Option<u32>,
        seed: Option<u64>,
        fill: Option<super::Fill>,
    ) -> Result<Dataset, DatasetError> {
        if let Some(days) = days {
            if self.partitions == PartitionRule::Daily {
                let last_day = i64::from(self.first_day) + i64::from(self.days) - 1;
                self.first_day = i32::try_from(last_day - i64::from(days) + 1).unwrap_or(i32::MIN);
            }
            self.days = days;
        }
        self.rows = rows.unwrap_or(self.rows);
        self.seed = seed.unwrap_or(self.seed);
        self.fill = fill.unwrap_or(self.fill);
        self.with_partitions_for_days()
    }

    fn with_partitions_for_days(mut self) -> Result<Dataset, DatasetError> {
        if self.rows.0 == 0 {
            return Err(DatasetError::Zero { what: "rows" });
        }
        if self.days == 0 {
            return Err(DatasetError::Zero { what: "days" });
        }
        super::days::check_calendar(self.first_day, self.days)?;
        if self.partitions == PartitionRule::Daily {
            daily_partitions(&mut self.table, self.first_day, self.days)?;
        }
        super::days::check_every_day_has_a_partition(&self.table, self.first_day, self.days)?;
        Ok(self)
    }
}

fn texts_of(name_or_path: &str) -> Result<Texts, DatasetError> {
    if let Some(found) = built_in().iter().find(|dataset| dataset.name == name_or_path) {
        let file = |file: &str| format!("datasets/{}/{file}", found.name);
        return Ok(Texts {
            name: found.name.to_owned(),
            toml: Some((file("dataset.toml"), found.toml.to_owned())),
            table: (file("table.sql"), found.table_sql.to_owned()),
            companions: found.companions_sql.iter().map(|sql| (file("*.sql"), (*sql).to_owned())).collect(),
        });
    }
    let path = Path::new(name_or_path);
    if path.is_dir() {
        return texts_of_folder(path);
    }
    if path.is_file() {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        return Ok(Texts { name, toml: None, table: read_file(path)?, companions: Vec::new() });
    }
    let known = built_in().iter().map(|dataset| dataset.name).collect::<Vec<_>>().join(", ");
    Err(DatasetError::Unknown { name: name_or_path.to_owned(), known })
}

fn texts_of_folder(folder: &Path) -> Result<Texts, DatasetError> {
    let table_path = folder.join("table.sql");
    let entries =
        fs::read_dir(folder).map_err(|source| DatasetError::ReadFile { path: folder.to_owned(), source })?;
    let mut companions: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "sql") && *path != table_path)
        .collect();
    companions.sort();
    let toml_path = folder.join("dataset.toml");
    Ok(Texts {
        name: folder
            .canonicalize()
            .unwrap_or_else(|_| folder.to_owned())
            .file_name()
            .map_or_else(|| "dataset".to_owned(), |name| name.to_string_lossy().into_owned()),
        toml: if toml_path.exists() { Some(read_file(&toml_path)?) } else { None },
        table: read_file(&table_path)?,
        companions: companions.iter().map(|path| read_file(path)).collect::<Result<_, _>>()?,
    })
}

fn read_file(path: &Path) -> Result<(String, String), DatasetError> {
    let text = fs::read_to_string(path)
        .map_err(|source| DatasetError::ReadFile { path: path.to_owned(), source })?;
    Ok((path.display().to_string(), text))
}

fn table_of((file, sql): &(String, String)) -> Result<Table, DatasetError> {
    parse_table(sql).map_err(|source| DatasetError::Ddl { file: file.clone(), source })
}

fn build(
    name: String,
    wire: &DatasetWire,
    toml: &Toml<'_>,
    table: Table,
    companions: Vec<Table>,
) -> Result<Dataset, DatasetError> {
    let mut recipes = infer::recipes(&table);
    for (column, written) in &wire.columns {
        let index = table.column_index(column.get_ref()).ok_or_else(|| {
            let what = format!("`{}` is no column of table {}", column.get_ref(), table.name);
            toml.error_at(column.span().start, what)
        })?;
        let recipe = recipe_of(written.get_ref(), &table, index);
        recipes[index] = Some(recipe.map_err(|what| toml.error_at(written.span().start, what))?);
    }
    let claim = match &wire.claim {
        Some(written) => Some(
            claim_of(written.get_ref(), &table).map_err(|what| toml.error_at(written.span().start, what))?,
        ),
        None => infer::claim(&table),
    };
    // A pasted table keeps the partitions that its user wrote.
    let rule = wire.partitions().unwrap_or(PartitionRule::AsWritten);
    let written_days = days_as_written(&table);
    let days = match (wire.days, written_days) {
        (Some(days), _) => days,
        (None, Some((_, days))) => days,
        (None, None) if table.partitioning.is_none() => 1,
        (None, None) => DAYS_DEFAULT,
    };
    let first_day = match (rule, wire.last_day(toml)?, written_days) {
        (PartitionRule::AsWritten, None, Some((first_day, _))) => first_day,
        (_, last_day, _) => {
            let last_day = i64::from(last_day.unwrap_or(LAST_DAY_DEFAULT));
            i32::try_from(last_day - i64::from(days) + 1).unwrap_or(i32::MIN)
        }
    };
    let dataset = Dataset {
        name,
        description: wire.description.clone().unwrap_or_else(|| format!("table {}, as pasted", table.name)),
        table,
        companions,
        rows: wire.rows.unwrap_or(ROWS_DEFAULT),
        days,
        first_day,
        seed: wire.seed.unwrap_or(SEED_DEFAULT),
        partitions: rule,
        key_order: wire.key_order(),
        fill: wire.fill(),
        recipes,
        claim,
    };
    dataset.with_partitions_for_days()
}

fn recipe_of(written: &RecipeWire, table: &Table, index: usize) -> Result<Recipe, String> {
    let column = &table.columns[index];
    if column.generated {
        return Err(format!("column {} is generated by the server: leave its recipe out", column.name));
    }
    written.recipe()
}

fn claim_of(written: &super::wire::ClaimWire, table: &Table) -> Result<ClaimColumns, String> {
    let column = |name: &str| {
        table.column_index(name).ok_or_else(|| format!("`{name}` is no column of table {}", table.name))
    };
    Ok(ClaimColumns {
        status: column(&written.status)?,
        pending: written.pending.clone(),
        done: written.done.clone(),
        token: column(&written.token)?,
        owner: column(&written.owner)?,
        lease_until: column(&written.lease_until)?,
    })
}
