//! Where results go: a table for people, JSON for programs, a page with charts.
//!
//! Files are checked before anything is measured, so that a mistyped name does not cost minutes of measuring, and are
//! replaced whole, so that no reader sees half of one.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use brisk_program::files::Replacement;
use brisk_report::View;
use brisk_report::results::Document;
use rustix::fs::Access;

use crate::json::Json;
use crate::{print, print_exactly, terminal};

/// Options for where results go.
#[derive(Debug, clap::Args)]
pub struct Outputs {
    /// Write the result as JSON into FILE; without FILE print it instead of the table
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    json: Option<PathBuf>,
    /// Write one page with charts that needs no network
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    tables: Tables,
}

/// Options for results as tables of other programs.
#[derive(Debug, Default, clap::Args)]
pub struct Tables {
    /// Write all values as CSV, one a line with its place, measure and unit; without FILE print them instead of the
    /// table
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    csv: Option<PathBuf>,
    /// Write the result as Markdown; without FILE print it instead of the table
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    markdown: Option<PathBuf>,
}

/// What documents become in one of [`Tables`].
type Shape = fn(&[Document]) -> String;

impl Tables {
    /// Each option that was given, with where it writes and what.
    fn asked(&self) -> impl Iterator<Item = (&'static str, &PathBuf, Shape)> {
        let all: [(_, _, Shape); 2] =
            [("--csv", &self.csv, brisk_report::csv), ("--markdown", &self.markdown, brisk_report::markdown)];
        all.into_iter().filter_map(|(option, file, shape)| Some((option, file.as_ref()?, shape)))
    }

    /// The files that will be written, each with its option.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        self.asked().filter_map(|(option, file, _)| Some((option, file_of(Some(file))?.as_path())))
    }

    /// Options that print, in place of the table for people.
    pub fn printing(&self) -> impl Iterator<Item = &'static str> {
        self.asked().filter(|(_, file, _)| is_standard(file)).map(|(option, ..)| option)
    }

    /// Writes the files.
    ///
    /// # Errors
    /// The first of all that failed; later ones are printed.
    pub fn keep(&self, documents: &[Document]) -> anyhow::Result<()> {
        // All of them, whichever fails.
        let mut done = Ok(());
        for (_, file, shape) in self.asked().filter(|(_, file, _)| !is_standard(file)) {
            done = first_of(done, replace(file, shape(documents).as_bytes()));
        }
        done
    }

    /// Prints what was asked for on standard output; whether anything was.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub fn print(&self, documents: &[Document]) -> anyhow::Result<bool> {
        match self.asked().find(|(_, file, _)| is_standard(file)) {
            Some((.., shape)) => print_exactly(&shape(documents)).map(|()| true),
            None => Ok(false),
        }
    }
}

impl Outputs {
    /// The option for facts of the same command that are no result.
    #[must_use]
    pub fn facts(&self) -> Json {
        Json::from(self.json.clone())
    }

    /// Refuses files that could not be written later. `place` is what will be measured.
    ///
    /// # Errors
    /// When a file is the place itself, cannot be made, or two outputs go to one place.
    pub fn check(&self, place: &Path) -> anyhow::Result<()> {
        for (option, file) in self.files() {
            if fs::canonicalize(file).is_ok_and(|file| fs::canonicalize(place).is_ok_and(|place| place == file)) {
                bail!("{option} {} is the place to measure: name another file", file.display());
            }
            self::check(option, file)?;
        }
        let both = [("--json", &self.json), ("--html -", &self.html)];
        let printing = both.into_iter().filter(|(_, file)| file.as_deref().is_some_and(is_standard));
        only_one_prints(printing.map(|(option, _)| option).chain(self.tables.printing()))?;
        let files: Vec<(&str, &Path)> = self.files().collect();
        for (i, (option, file)) in files.iter().enumerate() {
            if let Some((other, _)) = files[..i].iter().find(|(_, other)| other == file) {
                bail!("{other} and {option} name the same file: give each its own");
            }
        }
        Ok(())
    }

    /// Writes the files and prints the result. When one output fails the others are still written: the measurement took
    /// minutes.
    ///
    /// # Errors
    /// The first of all that failed; later ones are printed.
    pub fn write(&self, document: &Document) -> anyhow::Result<()> {
        self.write_shown(document, |view| brisk_report::terminal(document, view))
    }

    /// The same, where the terminal shows what `shown` returns.
    ///
    /// # Errors
    /// The first of all that failed; later ones are printed.
    pub fn write_shown(&self, document: &Document, shown: impl FnOnce(View) -> String) -> anyhow::Result<()> {
        let files = self.keep(document);
        let printed = if self.json.as_deref().is_some_and(is_standard) {
            json(document).and_then(|json| print_exactly(&json))
        } else if self.html.as_deref().is_some_and(is_standard) {
            print_exactly(&page(document))
        } else if self.tables.printing().next().is_some() {
            self.tables.print(std::slice::from_ref(document)).map(|_| ())
        } else {
            print(&shown(terminal::view()))
        };
        first_of(files, printed)
    }

    /// The files that will be written, each with its option.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let both = [("--json", &self.json), ("--html", &self.html)];
        let both = both.into_iter().filter_map(|(option, file)| Some((option, file_of(file.as_ref())?.as_path())));
        both.chain(self.tables.files())
    }

    /// Writes the files alone: the results so far.
    ///
    /// # Errors
    /// The first of all that failed; later ones are printed.
    pub fn keep(&self, document: &Document) -> anyhow::Result<()> {
        // JSON first: everything else can be made of it.
        let mut done = Ok(());
        if let Some(file) = file_of(self.json.as_ref()) {
            done = json(document).and_then(|json| replace(file, json.as_bytes()));
        }
        if let Some(file) = file_of(self.html.as_ref()) {
            done = first_of(done, replace(file, page(document).as_bytes()));
        }
        first_of(done, self.tables.keep(std::slice::from_ref(document)))
    }
}

/// Refuses two outputs on standard output.
///
/// # Errors
/// When there are two; the message names both options.
pub fn only_one_prints<'a>(options: impl IntoIterator<Item = &'a str>) -> anyhow::Result<()> {
    let options: Vec<&str> = options.into_iter().collect();
    if let [first, second, ..] = options[..] {
        bail!("{first} and {second} both write to standard output: give one of them a file");
    }
    Ok(())
}

fn json(document: &Document) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(document).context("cannot write the result as JSON")? + "\n")
}

fn page(document: &Document) -> String {
    brisk_report::html(std::slice::from_ref(document))
}

/// The first of two that failed; the other is printed.
fn first_of(before: anyhow::Result<()>, after: anyhow::Result<()>) -> anyhow::Result<()> {
    match (before, after) {
        (Err(before), Err(after)) => {
            brisk_program::error!("brisk: {after:#}");
            Err(before)
        }
        (before, after) => before.and(after),
    }
}

/// The file, unless it is standard output.
fn file_of(asked: Option<&PathBuf>) -> Option<&PathBuf> {
    asked.filter(|file| !is_standard(file))
}

/// Whether it is `-`, which stands for standard output.
#[must_use]
pub fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The directory that a file is in.
fn parent(file: &Path) -> &Path {
    file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Refuses a file of another option that could not be written later.
///
/// # Errors
/// When it cannot be made; the message has the option.
pub fn check(option: &str, file: &Path) -> anyhow::Result<()> {
    check_file(file).with_context(|| format!("cannot write {option} {}", file.display()))
}

/// Whether `file` could be written. Permissions alone do not tell (root may write to /proc, and /proc refuses), so the
/// file that will be renamed is made for a moment.
///
/// # Errors
/// The reason why it could not be written.
pub fn check_file(file: &Path) -> anyhow::Result<()> {
    match fs::metadata(file) {
        Ok(metadata) if metadata.is_dir() => bail!("it is a directory: name a file in it"),
        Ok(metadata) if metadata.file_type().is_block_device() => {
            bail!("it is a block device, whose data it would destroy: name a file")
        }
        Ok(metadata) if !metadata.is_file() => rustix::fs::access(file, Access::WRITE_OK).context("no permission")?,
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
        _ => {
            let dir = parent(file);
            if !dir.is_dir() {
                bail!("there is no directory {}", dir.display());
            }
            Replacement::begin(file).context("no file can be made there")?;
        }
    }
    Ok(())
}

/// Puts `content` into `file` as a whole: on a full disk the earlier file stays.
///
/// # Errors
/// When it cannot be written.
pub fn replace(file: &Path, content: &[u8]) -> anyhow::Result<()> {
    brisk_program::files::replace(file, content).with_context(|| format!("cannot write {}", file.display()))
}
