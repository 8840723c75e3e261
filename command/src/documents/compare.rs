//! `brisk compare`: documents of two or more conditions, measure by measure.
//!
//! A condition is a file, several files joined by commas, or a folder of them; `NAME=` before it gives it a name.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use crate::output::Outputs;
use crate::terminal::remark;
use anyhow::{Context, bail};
use brisk_report::results::ComparisonReport;
use brisk_report::{Condition, Document, Kinds, ReadError};

use super::read;

/// Exit code for a regression beyond `--fail-on-regression`.
const REGRESSED: u8 = 3;

/// Arguments of `brisk compare`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Exit code: 0, or 3 for a regression beyond --fail-on-regression, or 2 when the documents cannot be compared.

Each measure has the ratio compared over baseline and a verdict: improved or regressed (the interval excludes 1), no \
change (it includes 1), too few runs (fewer than three on one side), one run (a single value on one side). Of the \
improved and regressed ones at most 5 % are expected to be false, however many measures there are; when nothing has \
changed, the chance of any is 5 %. The intervals are adjusted for that, so they widen with the number of measures: \
--only narrows both.

One document shows what varies between its own runs. What varies from one measurement to the next (temperature, state \
of the flash, layout of files) shows with three documents of each condition:

  brisk compare before.json after.json
  brisk compare old=a1.json,a2.json,a3.json new=b1.json,b2.json,b3.json
  brisk compare before/ after/ --fail-on-regression 5% --html change.html
  brisk compare monday.json tuesday.json --baseline release.json --only 'p99*latency'")]
pub struct Args {
    /// Documents of each condition: FILE, or FILE,FILE,... that are repeats, or a folder of *.json. The first is the
    /// baseline; NAME= before one names it
    #[arg(required = true, value_name = "[NAME=]FILES")]
    conditions: Vec<String>,
    /// Hold all others against this condition instead of the first
    #[arg(long, value_name = "[NAME=]FILES")]
    baseline: Option<String>,
    /// Compare only measures with this text in their name (as --all shows it, behind its kind); * stands for any text
    #[arg(long, value_name = "PATTERN")]
    only: Vec<String>,
    /// List all measures, those without a change too
    #[arg(long)]
    all: bool,
    /// End with exit code 3 when a measure regressed by more than this, such as 5%: times longer, throughput less
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    fail_on_regression: Option<f64>,
    #[command(flatten)]
    outputs: Outputs,
}

/// Reads a percentage such as `5%` or `2.5`.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    match number.parse::<f64>() {
        Ok(percent) if percent.is_finite() && percent >= 0.0 => Ok(percent),
        _ => Err("give a percentage that is not negative, such as 5%".to_owned()),
    }
}

/// Reads, compares and shows.
///
/// # Errors
/// When documents cannot be read or compared, or an output cannot be written.
pub fn run(args: &Args, kinds: Kinds) -> anyhow::Result<ExitCode> {
    let (started, now) = (Instant::now(), jiff::Timestamp::now().to_string());
    let mut named: Vec<Named> = args.baseline.iter().map(|one| Named::parse(one)).collect();
    for one in args.conditions.iter().map(|one| Named::parse(one)) {
        // A baseline may stand among the conditions too.
        if args.baseline.is_none() || named[0].files != one.files {
            named.push(one);
        }
    }
    let mut conditions = Vec::new();
    for one in &named {
        conditions.push((one, one.read(kinds)?));
    }
    spare_documents(kinds, &args.outputs, &conditions)?;
    let conditions = with_names(conditions);
    let mut found = brisk_report::compare(&conditions, &args.only, (&now, crate::VERSION))?;
    found.fail_on_regression_percent = args.fail_on_regression;
    found.header.duration_s = started.elapsed().as_secs_f64();
    let has_failed = args.fail_on_regression.is_some_and(|percent| found.regressions_beyond(percent).next().is_some());
    let document = Document::from(found);
    args.outputs.write_shown(&document, |view| match document.get() {
        Some(found) if args.all => brisk_report::terminal_of_all(found, view),
        _ => brisk_report::terminal(&document, view),
    })?;
    Ok(if has_failed { ExitCode::from(REGRESSED) } else { ExitCode::SUCCESS })
}

/// A condition as it was asked for.
#[derive(Debug, PartialEq)]
struct Named {
    name: Option<String>,
    files: Vec<PathBuf>,
}

impl Named {
    /// A file may have commas and an equals sign in its name: what exists is one file.
    fn parse(text: &str) -> Self {
        if Path::new(text).exists() {
            return Self { name: None, files: vec![text.into()] };
        }
        let (name, files) = match text.split_once('=') {
            Some((name, files)) if !name.is_empty() && !name.contains(['/', ',']) => (Some(name.to_owned()), files),
            _ => (None, text),
        };
        let files = if Path::new(files).exists() {
            vec![files.into()]
        } else {
            files.split(',').filter(|file| !file.is_empty()).map(PathBuf::from).collect()
        };
        Self { name, files }
    }

    /// Its name, or that of its files: `before` of before.json, `a1 and 2 more`; with their paths for `whole`.
    fn words(&self, whole: bool) -> String {
        let Some((first, others)) = self.files.split_first() else { return "an empty list of files".to_owned() };
        let is_json = first.extension().is_some_and(|extension| extension == "json");
        let name = if is_json { first.file_stem() } else { first.file_name() };
        let short = name.filter(|_| !whole).map_or(first.as_os_str(), |name| name);
        let first = shown(Path::new(short));
        match (&self.name, others.len()) {
            (Some(name), _) => name.clone(),
            (None, 0) => first,
            (None, more) => format!("{first} and {more} more"),
        }
    }

    /// All its documents, each with its file.
    fn read(&self, kinds: Kinds) -> anyhow::Result<Vec<(PathBuf, Document)>> {
        let mut all = Vec::new();
        for file in &self.files {
            if file.is_dir() {
                all.extend(folder(kinds, file)?);
            } else {
                all.extend(read(kinds, file)?.into_iter().map(|document| (file.clone(), document)));
            }
        }
        if all.is_empty() {
            bail!("{}: name a file, files joined by commas, or a folder of documents", self.words(true));
        }
        Ok(all)
    }
}

fn shown(file: &Path) -> String {
    if file.as_os_str() == "-" { "standard input".to_owned() } else { file.display().to_string() }
}

/// The documents in a folder, in the order of their files. Other JSON and comparisons are left out, and named.
fn folder(kinds: Kinds, folder: &Path) -> anyhow::Result<Vec<(PathBuf, Document)>> {
    let failed = || format!("cannot read the folder {}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(failed)? {
        let file = entry.with_context(failed)?.path();
        if file.extension().is_some_and(|extension| extension == "json") && file.is_file() {
            files.push(file);
        }
    }
    files.sort();
    let mut all = Vec::new();
    for file in files {
        match read(kinds, &file) {
            Ok(documents) => {
                let (results, comparisons): (Vec<_>, Vec<_>) =
                    documents.into_iter().partition(|document| document.get::<ComparisonReport>().is_none());
                if !comparisons.is_empty() {
                    remark(&format!("{} is left out: it is a comparison itself", file.display()));
                }
                all.extend(results.into_iter().map(|document| (file.clone(), document)));
            }
            Err(error) if is_foreign(&error) => {
                remark(&format!("{} is left out: it is JSON, but not a document of brisk", file.display()));
            }
            Err(error) => return Err(error),
        }
    }
    if all.is_empty() {
        bail!("the folder {} has no documents: *.json that brisk has written", folder.display());
    }
    Ok(all)
}

fn is_foreign(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| matches!(cause.downcast_ref::<ReadError>(), Some(ReadError::NoKind)))
}

/// Refuses outputs that would replace a measurement: a document that is compared, or any other result.
fn spare_documents(
    kinds: Kinds,
    outputs: &Outputs,
    conditions: &[(&Named, Vec<(PathBuf, Document)>)],
) -> anyhow::Result<()> {
    let inputs = || conditions.iter().flat_map(|(_, documents)| documents.iter().map(|(file, _)| file));
    for (option, file) in outputs.files() {
        let target = file.canonicalize().ok();
        if target.is_some() && inputs().any(|input| input.canonicalize().ok() == target) {
            bail!("{} is one of the documents: give {option} another name", file.display());
        }
        let is_result = |found: Vec<Document>| found.iter().any(|one| one.get::<ComparisonReport>().is_none());
        if file.is_file() && read(kinds, file).is_ok_and(is_result) {
            bail!("{} holds a result of brisk: give {option} another name, or remove it first", file.display());
        }
    }
    let first = inputs().next().map_or(Path::new("-"), PathBuf::as_path);
    outputs.check(first)
}

/// Conditions with names that tell them apart: as given, else the file's name, else its path, else with a number.
fn with_names(conditions: Vec<(&Named, Vec<(PathBuf, Document)>)>) -> Vec<Condition> {
    let short: Vec<String> = conditions.iter().map(|(named, _)| named.words(false)).collect();
    let mut names: Vec<String> = Vec::new();
    for (i, (named, _)) in conditions.iter().enumerate() {
        let is_twice = short.iter().filter(|other| **other == short[i]).count() > 1;
        let name = named.words(is_twice);
        let mut unique = name.clone();
        for number in 2.. {
            if !names.contains(&unique) {
                break;
            }
            unique = format!("{name} ({number})");
        }
        names.push(unique);
    }
    let documents = |documents: Vec<(PathBuf, Document)>| {
        documents.into_iter().map(|(file, document)| (shown(&file), document)).collect()
    };
    names
        .into_iter()
        .zip(conditions)
        .map(|(name, (_, found))| Condition { name, documents: documents(found) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (Option<String>, Vec<String>) {
        let Named { name, files } = Named::parse(text);
        (name, files.iter().map(|file| file.display().to_string()).collect())
    }

    #[test]
    fn a_condition_is_a_name_and_files() {
        let of = |name: Option<&str>, files: &[&str]| {
            (name.map(str::to_owned), files.iter().map(|file| (*file).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(parsed("no/a.json"), of(None, &["no/a.json"]));
        assert_eq!(parsed("no/a.json,no/b.json"), of(None, &["no/a.json", "no/b.json"]));
        assert_eq!(parsed("old=no/a.json,no/b.json,"), of(Some("old"), &["no/a.json", "no/b.json"]));
        // A path with an equals sign is no name.
        assert_eq!(parsed("no/x=1/a.json"), of(None, &["no/x=1/a.json"]));
        assert_eq!(parsed("=a.json"), of(None, &["=a.json"]));
        // A file that exists is one, whatever its name.
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a=1,b=2.json");
        fs::write(&file, "").expect("written");
        let text = file.display().to_string();
        assert_eq!(parsed(&text), of(None, &[&text]));
        assert_eq!(parsed(&format!("new={text}")), of(Some("new"), &[&text]));
    }

    #[test]
    fn conditions_have_names_that_differ() {
        let named = ["no/a.json", "yes/a.json", "yes/a.json", "b.json,c.json", "x=d.json"].map(Named::parse);
        let conditions = with_names(named.iter().map(|one| (one, Vec::new())).collect());
        let names: Vec<&str> = conditions.iter().map(|condition| condition.name.as_str()).collect();
        assert_eq!(names, ["no/a.json", "yes/a.json", "yes/a.json (2)", "b and 1 more", "x"]);
    }

    #[test]
    fn a_percentage_has_a_sign_or_none() {
        assert_eq!(percent("5%"), Ok(5.0));
        assert_eq!(percent("2.5"), Ok(2.5));
        assert_eq!(percent("0 %"), Ok(0.0));
        for wrong in ["", "five", "-1%", "inf", "nan%", "5pp"] {
            assert!(percent(wrong).is_err_and(|why| why.contains("5%")), "{wrong}");
        }
    }
}
