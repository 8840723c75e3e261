//! Workloads from job files of fio.
//!
//! A job becomes one workload with the requests that fio 3 on Linux would issue: order, share of reads, sizes, requests
//! in flight or rates, and what makes them durable. Place and length (`filename`, `size`, `runtime`, ...) are the
//! profile's own.
//!
//! Each option of a file is one of three, and none is dropped without a word:
//! - *honoured*: it shapes the requests (`job.rs`);
//! - *without effect* on the requests, or of place and length: named in a note (`options.rs`);
//! - *refused* with its line: it changes the requests in a way that a profile cannot run, or fio does not know it.
//!
//! As fio: a comment begins with `;` or `#` anywhere in a line, sections named `global...` hold defaults of the jobs
//! after them and add up, the last of several values counts, `${NAME}` is a variable of the environment, `include FILE`
//! is replaced by the lines of that file. More lenient than fio: blanks around `=`, capitals in names, and flags
//! without a value.

mod job;
mod options;
mod value;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::error::{Error, Result};
use crate::workload::Workload;
use job::Job;

/// Files that include each other end here.
const INCLUDES_MAX: u32 = 16;

/// The workloads of a job file, and what was ignored of it.
#[derive(Debug, PartialEq)]
pub struct Jobs {
    pub workloads: Vec<Workload>,
    /// What the user should know: a sentence each, with the name of the file.
    pub notes: Vec<String>,
}

/// What a job file refers to outside of it.
pub struct Outside<'a> {
    /// Value of a variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// Content of an included file.
    pub include: &'a dyn Fn(&Path) -> std::result::Result<String, brisk_program::files::Error>,
}

/// An option as a file has it.
#[derive(Debug, Clone)]
struct Given {
    /// In lower case, one name for each option.
    key: String,
    /// None for a flag without value.
    value: Option<String>,
    file: Rc<Path>,
    line: usize,
}

impl Given {
    fn wrong(&self, why: impl Into<String>) -> Error {
        Error::Job { path: self.file.to_path_buf(), line: self.line, why: why.into() }
    }

    fn text(&self) -> String {
        match &self.value {
            Some(value) => format!("{}={value}", self.key),
            None => self.key.clone(),
        }
    }
}

#[derive(Debug)]
struct Section {
    name: String,
    /// Of `[global]` before it, then its own.
    options: Vec<Given>,
}

/// Lines of files, in sections.
struct Sections<'a> {
    outside: &'a Outside<'a>,
    global: Vec<Given>,
    jobs: Vec<Section>,
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    Global,
    Job,
}

/// The workloads of the job file `path` with content `text`.
///
/// # Errors
/// When a line is invalid, an option cannot be honoured, a job asks for nothing, or there is no job; the error names
/// the line.
pub fn parse(path: &Path, text: &str, outside: &Outside<'_>) -> Result<Jobs> {
    let mut sections = Sections { outside, global: Vec::new(), jobs: Vec::new(), place: Place::Outside };
    sections.read(path, text, 0)?;
    if sections.jobs.is_empty() {
        let why = "there is no job in it: a job begins with its name in brackets, such as [mail]".to_owned();
        return Err(Error::Job { path: path.to_owned(), line: 1, why });
    }
    let about = format!("job of {}", path.display());
    let mut notes = Vec::new();
    let mut ignored: BTreeMap<String, usize> = BTreeMap::new();
    let mut workloads = Vec::new();
    let mut together = Vec::new();
    for section in &sections.jobs {
        let job = Job::of(&section.options)?;
        for given in &job.ignored {
            ignored.entry(given.key.clone()).or_insert(given.line);
        }
        notes.extend(job.notes().into_iter().map(|note| format!("{}: job '{}': {note}", path.display(), section.name)));
        if !job.waits {
            together.push(section.name.as_str());
        }
        workloads.push(Workload {
            name: section.name.clone(),
            about: about.clone(),
            cached: job.is_cached(),
            ask: job.ask()?,
        });
    }
    if together.len() > 1 {
        notes.push(format!(
            "{}: fio would run the jobs {} at the same time; here each is a workload of its own, as with stonewall",
            path.display(),
            together.join(", ")
        ));
    }
    if !ignored.is_empty() {
        let names: Vec<String> = ignored.iter().map(|(key, line)| format!("{key} (line {line})")).collect();
        notes.push(format!(
            "{}: ignored, as the kind of requests does not depend on it, or the profile has its own: {}",
            path.display(),
            names.join(", ")
        ));
    }
    notes.dedup();
    Ok(Jobs { workloads, notes })
}

/// As [`parse`], with the environment of this process, and files beside `path`.
///
/// # Errors
/// As [`parse`], and when an included file cannot be read.
pub fn read(path: &Path, text: &str) -> Result<Jobs> {
    let outside = Outside {
        variable: &|name| std::env::var(name).ok(),
        include: &|path| brisk_program::files::read_text(path, brisk_program::files::TEXT_BYTES_MAX),
    };
    parse(path, text, &outside)
}

impl Sections<'_> {
    fn read(&mut self, path: &Path, text: &str, nested: u32) -> Result<()> {
        let file: Rc<Path> = path.into();
        for (line, whole) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
            let wrong = |why: String| Error::Job { path: path.to_owned(), line, why };
            let code = whole.split([';', '#']).next().unwrap_or_default().trim();
            if code.is_empty() {
                continue;
            }
            if let Some(rest) = code.strip_prefix('[') {
                let name = rest.rfind(']').map(|end| rest[..end].trim()).filter(|name| !name.is_empty());
                let name = name.ok_or_else(|| wrong(format!("{code} names no job: write it as [mail]")))?;
                self.begin(name);
                continue;
            }
            if self.place == Place::Outside {
                return Err(wrong(format!(
                    "'{code}' stands before the first section: write [global] or the name of a job above it"
                )));
            }
            if let Some(name) = code.strip_prefix("include").filter(|rest| rest.starts_with([' ', '\t'])) {
                if nested == INCLUDES_MAX {
                    return Err(wrong(format!("more than {INCLUDES_MAX} files include each other")));
                }
                let included = beside(path, name.trim());
                let text = (self.outside.include)(&included)?;
                self.read(&included, &text, nested + 1)?;
                continue;
            }
            let (key, value) = match code.split_once('=') {
                Some((key, value)) => (key.trim_end(), Some(self.replaced(value.trim_start()).map_err(&wrong)?)),
                None => (code, None),
            };
            let key = options::one_name(&key.to_ascii_lowercase()).to_owned();
            let given = Given { key, value, file: Rc::clone(&file), line };
            match self.jobs.last_mut() {
                Some(job) if self.place == Place::Job => job.options.push(given),
                _ => self.global.push(given),
            }
        }
        Ok(())
    }

    fn begin(&mut self, name: &str) {
        // fio compares these six letters alone.
        if name.starts_with("global") {
            self.place = Place::Global;
        } else {
            self.place = Place::Job;
            self.jobs.push(Section { name: name.to_owned(), options: self.global.clone() });
        }
    }

    /// A value with its variables replaced.
    fn replaced(&self, value: &str) -> std::result::Result<String, String> {
        let processors = || std::thread::available_parallelism().map_or(1, usize::from).to_string();
        let mut text =
            value.replace("$ncpus", &processors()).replace("$pagesize", &rustix::param::page_size().to_string());
        while let Some(begin) = text.find("${") {
            let end = text[begin..].find('}').map(|end| begin + end);
            let end = end.ok_or_else(|| format!("'{value}' begins a variable, ${{, and does not end it"))?;
            let name = &text[begin + 2..end];
            let of_environment = (self.outside.variable)(name).filter(|value| !value.contains("${"));
            let found = of_environment
                .ok_or_else(|| format!("the variable {name} is not set: set it, as in {name}=4k brisk ..."))?;
            text.replace_range(begin..=end, &found);
        }
        Ok(text)
    }
}

/// An included file's path: relative to the file that includes it.
fn beside(path: &Path, name: &str) -> PathBuf {
    path.parent().map_or_else(|| PathBuf::from(name), |dir| dir.join(name))
}

#[cfg(test)]
mod tests;
