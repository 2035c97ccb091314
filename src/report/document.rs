//! The report as blocks, before it is Markdown or HTML: both say the same because both are made from this.

/// The whole report.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// What was measured, and where; with the result behind it the first sentence.
    pub subject: String,
    /// With which result.
    pub result: String,
    /// What stands above everything else, worst first.
    pub notices: Vec<Notice>,
    /// The rest, in order.
    pub blocks: Vec<Block>,
}

/// Something that must not be missed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// How bad it is.
    pub tone: Tone,
    /// One line.
    pub text: String,
}

/// How a text is meant; it is always said in words too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Tone {
    /// Wrong, or not to be used.
    Bad,
    /// To be read with care.
    Careful,
    /// As it should be.
    Good,
    /// A plain fact.
    #[default]
    Plain,
}

/// A part of the report.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A heading of level 2 or 3.
    Heading(u8, String),
    /// A paragraph.
    Paragraph(Vec<Span>),
    /// A list of paragraphs.
    List(Vec<Vec<Span>>),
    /// A table.
    Table(Table),
    /// Text to be shown as it is, with its language.
    Code(&'static str, String),
    /// A figure, by its position among the run's plots.
    Figure(usize),
    /// Details behind a line.
    Folded(Folded),
}

/// Details behind a line.
#[derive(Debug, Clone, PartialEq)]
pub struct Folded {
    /// The line.
    pub summary: String,
    /// Whether the details are in sight at first.
    pub open: bool,
    /// The details.
    pub blocks: Vec<Block>,
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Span {
    /// Words.
    Plain(String),
    /// Emphasised words.
    Strong(String),
    /// A name, a file, a command.
    Code(String),
}

impl Span {
    /// Words as the only piece of a line.
    pub fn line(text: impl Into<String>) -> Vec<Span> {
        vec![Span::Plain(text.into())]
    }
}

/// A table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// What it shows, for those who hear it.
    pub caption: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// Cells by row; each row has as many cells as there are columns.
    pub rows: Vec<Vec<Cell>>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// Numbers stand on the right.
    pub numeric: bool,
}

impl Column {
    /// A column of words.
    pub fn text(name: impl Into<String>) -> Column {
        Column { name: name.into(), numeric: false }
    }

    /// A column of numbers.
    pub fn number(name: impl Into<String>) -> Column {
        Column { name: name.into(), numeric: true }
    }
}

/// A cell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cell {
    /// What it says.
    pub text: String,
    /// How it is meant.
    pub tone: Tone,
    /// A name or a value that is shown as written.
    pub code: bool,
    /// The step whose number this is, by its position: it has a colour in the figures.
    pub step: Option<usize>,
}

impl Cell {
    /// A plain cell.
    pub fn plain(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), ..Cell::default() }
    }

    /// A cell with a tone.
    pub fn toned(text: impl Into<String>, tone: Tone) -> Cell {
        Cell { text: text.into(), tone, ..Cell::default() }
    }

    /// A cell shown as written.
    pub fn code(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), code: true, ..Cell::default() }
    }

    /// A step's number.
    pub fn step(position: usize) -> Cell {
        Cell { text: (position + 1).to_string(), step: Some(position), ..Cell::default() }
    }
}
