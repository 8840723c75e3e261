//! `brisk report`: results that were written before, in the terminal or as pages.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use brisk_report::{Document, Kinds};

use super::{is_standard, pages, read};
use crate::json::Json;
use crate::output::{Tables, check, only_one_prints, replace};
use crate::terminal::view;
use crate::{print, print_exactly, terminal_width};

/// Arguments of `brisk report`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Documents written with --json by `brisk bench` or `brisk study`; - reads standard input
    #[arg(required_unless_present = "schema", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write one page with charts, for all documents, that needs no network; - writes it to standard output
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    html: Option<PathBuf>,
    /// Write a page for each device and an index.html that links them into DIR, and print their paths
    #[arg(long, value_name = "DIR", conflicts_with_all = ["json", "html"])]
    pages: Option<PathBuf>,
    /// Print what this disk is good for and, of results of the laboratory, how apps open and what brisk changes
    #[arg(long, conflicts_with = "json")]
    verdict: bool,
    /// Print the JSON Schema of all documents, with name, unit and better direction of each measure
    #[arg(long, exclusive = true)]
    schema: bool,

    #[command(flatten)]
    json: Json,
    #[command(flatten)]
    tables: Tables,
}

impl Args {
    /// Whether it says something of all kinds of documents, those of the laboratory too, whichever are read.
    #[must_use]
    pub fn is_of_all_kinds(&self) -> bool {
        self.schema || self.verdict || self.pages.is_some()
    }
}

/// Reads the documents and shows them.
///
/// # Errors
/// When a file has no documents of these kinds, or an output cannot be written.
pub fn run(args: &Args, kinds: Kinds) -> anyhow::Result<ExitCode> {
    if args.schema {
        print_exactly(&brisk_report::schema(kinds))?;
        return Ok(ExitCode::SUCCESS);
    }
    args.json.check(&args.files)?;
    let mut documents = Vec::new();
    for file in &args.files {
        documents.extend(read(kinds, file)?);
    }
    let html = args.html.as_deref().filter(|out| is_standard(out)).map(|_| "--html -");
    let printing = args.verdict.then_some("--verdict").into_iter().chain(html);
    let printing = printing.chain(args.json.is_printed().then_some("--json")).chain(args.tables.printing());
    only_one_prints(printing)?;
    for (option, file) in args.tables.files() {
        refuse_to_overwrite_input(option, file, &args.files)?;
        check(option, file)?;
    }
    args.tables.keep(&documents)?;
    // Pages go first: where they cannot be written there is nothing but the reason.
    let written = match &args.pages {
        Some(folder) => pages::write(folder, &brisk_report::pages(kinds, &documents))?,
        None => Vec::new(),
    };
    if args.verdict {
        print(&verdict(kinds, &documents))?;
    }
    if args.pages.is_some() {
        let paths: String = written.iter().map(|path| format!("{}\n", path.display())).collect();
        print(&paths)?;
        return Ok(ExitCode::SUCCESS);
    }
    match &args.html {
        Some(out) if is_standard(out) => print_exactly(&brisk_report::html(&documents))?,
        Some(out) => {
            refuse_to_overwrite_input("--html", out, &args.files)?;
            replace(out, brisk_report::html(&documents).as_bytes())?;
            print(&format!("{}\n", out.display()))?;
        }
        None if args.verdict => {}
        None if args.tables.print(&documents)? => {}
        None => args.json.show_list(&documents, || {
            let mut shown: Vec<String> = documents.iter().map(|d| brisk_report::terminal(d, view())).collect();
            shown.extend(brisk_report::together(&documents, view()));
            shown.join("\n")
        })?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Its sentences, each on lines of its own.
fn verdict(kinds: Kinds, documents: &[Document]) -> String {
    let sentences = brisk_report::verdict(kinds, documents);
    let columns = terminal_width().map_or(100, usize::from);
    sentences.iter().map(|sentence| brisk_report::wrapped(sentence, columns)).collect()
}

/// `--html result.json` is a slip of the hand that would cost a measurement.
fn refuse_to_overwrite_input(option: &str, out: &Path, files: &[PathBuf]) -> anyhow::Result<()> {
    let Ok(target) = out.canonicalize() else { return Ok(()) };
    if files.iter().any(|file| file.canonicalize().is_ok_and(|input| input == target)) {
        bail!("{} is one of the documents: give {option} another name", out.display());
    }
    Ok(())
}
