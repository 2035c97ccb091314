//! What one operation costs, step by step: a table whose cells are bars.

use plotters::prelude::DrawingBackend;
use plotters::style::text_anchor::HPos;

use crate::report::{costs, facts};
use crate::results::Run;

use super::Figure;
use super::font::Size;
use super::ink::Ink;
use super::sheet::{DrawError, MARGIN, Sheet};

const ROW_PX: f64 = 26.0;

pub(super) struct Costs {
    /// Step labels by position in the run.
    steps: Vec<(usize, String)>,
    columns: Vec<costs::Cost>,
    caption: String,
}

/// The figure, if any step has costs.
pub(super) fn figure(run: &Run) -> Option<Costs> {
    let columns = costs::drawn(run);
    let steps = run.steps.iter().enumerate();
    let steps: Vec<(usize, String)> = steps
        .filter(|(_, step)| !step.per_operation.is_empty())
        .map(|(position, step)| (position, facts::step(step)))
        .collect();
    (!columns.is_empty()).then(|| Costs { steps, columns, caption: facts::caption(run, None) })
}

impl Costs {
    /// One block: a heading for each cost, a row for each step.
    fn block<DB: DrawingBackend>(
        &self,
        sheet: &mut Sheet<'_, DB>,
        columns: &[costs::Cost],
        names_px: f64,
        column_px: f64,
    ) -> Result<(), DrawError<DB>> {
        const GUTTER: f64 = 16.0;
        let head = sheet.y + Size::Panel.line_px() / 2.0;
        for (n, cost) in columns.iter().enumerate() {
            let left = MARGIN + names_px + n as f64 * column_px;
            let name = super::font::fit(&cost.name, Size::Panel, column_px - GUTTER);
            sheet.text((left, head), HPos::Left, Size::Panel, Ink::Text, &name)?;
        }
        sheet.y += Size::Panel.line_px() + 4.0;
        for (step, name) in &self.steps {
            let middle = sheet.y + ROW_PX / 2.0;
            sheet.number((MARGIN + 9.0, middle), *step)?;
            let name = super::font::fit(name, Size::Small, names_px - 36.0);
            sheet.text((MARGIN + 24.0, middle), HPos::Left, Size::Small, Ink::Text, &name)?;
            for (n, cost) in columns.iter().enumerate() {
                let left = MARGIN + names_px + n as f64 * column_px;
                self.bar(sheet, cost, *step, (left, middle), column_px - GUTTER)?;
            }
            sheet.y += ROW_PX;
        }
        sheet.y += 8.0;
        Ok(())
    }

    fn bar<DB: DrawingBackend>(
        &self,
        sheet: &Sheet<'_, DB>,
        cost: &costs::Cost,
        step: usize,
        (left, middle): (f64, f64),
        width: f64,
    ) -> Result<(), DrawError<DB>> {
        const VALUE_PX: f64 = 56.0;
        let Some(value) = cost.values.get(step).copied().flatten() else {
            return sheet.text((left, middle), HPos::Left, Size::Small, Ink::Muted, "n/a");
        };
        let largest = cost.values.iter().flatten().copied().fold(0.0, f64::max);
        let share = if largest > 0.0 { (value / largest).clamp(0.0, 1.0) } else { 0.0 };
        let length = (share * (width - VALUE_PX)).max(1.0);
        sheet.fill(left, middle - 7.0, length, 14.0, Ink::Line(step))?;
        sheet.text((left + length + 5.0, middle), HPos::Left, Size::Small, Ink::Text, &cost.unit.text(value))
    }
}

impl Figure for Costs {
    fn title(&self) -> String {
        "What one operation costs".to_owned()
    }

    fn caption(&self) -> &str {
        &self.caption
    }

    fn alt(&self) -> String {
        let columns = self.columns.iter().map(|cost| {
            let values: Vec<f64> = cost.values.iter().flatten().copied().collect();
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let most = values.iter().copied().fold(0.0, f64::max);
            let (least, most) = (cost.unit.text(least), cost.unit.text(most));
            if least == most {
                format!("{} {most}", cost.name)
            } else {
                format!("{} {least} to {most}", cost.name)
            }
        });
        format!("Costs of one operation over all steps: {}", columns.collect::<Vec<_>>().join(", "))
    }

    fn draw<DB: DrawingBackend>(&self, sheet: &mut Sheet<'_, DB>) -> Result<(), DrawError<DB>> {
        let (columns_max, names_px) = if sheet.narrow() { (1, 190.0) } else { (4, 256.0) };
        // As many blocks as it takes, all alike: five costs become three and two, not four and one.
        let blocks = self.columns.len().div_ceil(columns_max).max(1);
        let columns = self.columns.len().div_ceil(blocks).max(1);
        let column_px = (sheet.inner() - names_px) / columns as f64;
        for block in self.columns.chunks(columns) {
            self.block(sheet, block, names_px, column_px)?;
        }
        Ok(())
    }
}
