//! `brisk report`: results that were written before, in the terminal or as pages.

mod pages;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use brisk_command::json::Json;
use brisk_command::output::{Tables, check, only_one_prints, replace};
use brisk_command::terminal::view;
use brisk_command::{print, print_exactly, terminal_width};
use brisk_report::results::Document;

/// Most bytes of a file of documents. A launch, whose list of reads is the longest of all documents, takes about 13 KB:
/// 1,000 cold and warm launches of two command lines take 52 MB.
const DOCUMENTS_BYTES_MAX: u64 = 64 << 20;

/// Arguments of `brisk report`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Documents written with --json by `brisk bench` or `brisk study`; - reads standard input
    #[arg(required_unless_present = "schema", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write one page with charts, for all documents, that needs no network; - writes it to standard output
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    html: Option<PathBuf>,
    /// Write a page for each device and an index.html that links them into DIR, and print their paths
    #[arg(long, value_name = "DIR", conflicts_with_all = ["json", "html"])]
    pages: Option<PathBuf>,
    /// Print three sentences: what this disk is good for, how apps open on the phones, what brisk changes
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

/// Reads the documents and shows them.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.schema {
        print_exactly(&brisk_report::schema())?;
        return Ok(ExitCode::SUCCESS);
    }
    args.json.check(&args.files)?;
    let mut documents = Vec::new();
    for file in &args.files {
        documents.extend(read(file)?);
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
        Some(folder) => pages::write(folder, &brisk_report::pages(&documents))?,
        None => Vec::new(),
    };
    if args.verdict {
        print(&verdict(&documents))?;
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
            shown.extend(brisk_report::comparison(&documents, view()));
            shown.join("\n")
        })?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The three sentences, each on lines of its own.
fn verdict(documents: &[Document]) -> String {
    let sentences = brisk_report::verdict(documents);
    let columns = terminal_width().map_or(100, usize::from);
    sentences.iter().map(|sentence| brisk_report::wrapped(sentence, columns)).collect()
}

fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// All documents of a file; of standard input for `-`.
pub(crate) fn read(file: &Path) -> anyhow::Result<Vec<Document>> {
    let (name, text) = if is_standard(file) {
        let name = Path::new("standard input");
        (name, brisk_program::files::read_stream(std::io::stdin().lock(), name, DOCUMENTS_BYTES_MAX))
    } else {
        (file, brisk_program::files::read(file, DOCUMENTS_BYTES_MAX))
    };
    brisk_report::parse(&text?).with_context(|| format!("cannot show {}", name.display()))
}

/// `--html result.json` is a slip of the hand that would cost a measurement.
fn refuse_to_overwrite_input(option: &str, out: &Path, files: &[PathBuf]) -> anyhow::Result<()> {
    let Ok(target) = out.canonicalize() else { return Ok(()) };
    if files.iter().any(|file| file.canonicalize().is_ok_and(|input| input == target)) {
        bail!("{} is one of the documents: give {option} another name", out.display());
    }
    Ok(())
}
