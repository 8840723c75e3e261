//! A program of ours in the guest, on a fresh flash device: what it says of how far it is, and what came of it.
//!
//! It talks to the host over the console: a line of JSON behind `@ ` with `progress` (0 to 1) and `doing`, and behind `% ` what
//! came of it, cut into pieces that a console takes. [`progress_line`] and [`outcome_lines`] write these, for the
//! program; [`run`] reads them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::console::{self};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::image::Wanted;
use crate::lab::Lab;
use crate::plan::FUNCTIONS;
use crate::refuse::{Fidelity, Judged, REPEAT_PERCENT_MAX, judge, late};
use crate::{Watch, plan};

/// Characters of a piece: the console's line stays below what terminals hold.
const PIECE_CHARACTERS: usize = 1_000;
/// Where its files are in the guest.
pub const FILES: &str = "/lab/files";
/// The device in the guest.
pub const DEVICE: &str = "flash0";

/// What is run.
#[derive(Debug, Clone)]
pub struct Program {
    /// Name of its console.
    pub name: String,
    /// The program, with the libraries that it names.
    pub path: PathBuf,
    /// What it is told, word by word.
    pub arguments: Vec<String>,
    /// Files for it, by their names in [`FILES`].
    pub files: Vec<(String, PathBuf)>,
    /// Its device keeps no data.
    pub device: Device,
    /// Schedulers, all of which the kernel must have.
    pub schedulers: Vec<String>,
    /// Memory of the guest.
    pub memory_bytes: u64,
    /// Its length in the guest's time, about.
    pub estimate_s: f64,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    /// The text that it gave.
    pub outcome: String,
    /// How true the device's times were.
    pub fidelity: Fidelity,
    /// Where the console is kept.
    pub log: PathBuf,
}

/// How far a program is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Step {
    /// 0 to 1.
    progress: f64,
    /// In a few words.
    doing: String,
}

/// A line of progress, without its end.
#[must_use]
pub fn progress_line(progress: f64, doing: &str) -> String {
    let step = Step { progress: if progress.is_finite() { progress } else { 0.0 }, doing: doing.to_owned() };
    format!("@ {}", serde_json::to_string(&step).unwrap_or_default())
}

/// Lines of an outcome, which must be one line of text, such as JSON.
pub fn outcome_lines(text: &str) -> impl Iterator<Item = String> + '_ {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let cut = rest.char_indices().nth(PIECE_CHARACTERS).map_or(rest.len(), |(at, _)| at);
        let (piece, more) = rest.split_at(cut);
        rest = more;
        Some(format!("% {piece}"))
    })
}

fn step_of(line: &str) -> Option<Step> {
    serde_json::from_str(line.trim_end_matches('\r').strip_prefix("@ ")?).ok()
}

/// What the lines of an outcome hold together.
fn outcome_of(console: &str) -> String {
    console.lines().filter_map(|line| line.trim_end_matches('\r').strip_prefix("% ")).collect()
}

/// Boots it.
///
/// # Errors
/// When the virtual machine does not run or is ended, the program fails, or the device's times were not those of its model.
pub fn run(lab: &Lab, program: &Program, watch: Watch<'_>) -> Result<Ran> {
    let mut wanted = Wanted { own: vec![program.path.clone()], ..Wanted::default() };
    wanted.modules = modules(lab, &program.schedulers)?;
    wanted.modules.push("brisk_flash".to_owned());
    wanted.files = program.files.iter().map(|(name, path)| (format!("lab/files/{name}"), path.clone())).collect();
    let (text, log) = lab.console(
        &format!("{}-{}", lab.kernel.series, program.name),
        &script(program),
        &wanted,
        program.memory_bytes,
        1,
        program.estimate_s,
        watch,
        |line| {
            if let Some(step) = step_of(line) {
                (watch.progress)(step.progress.clamp(0.0, 1.0), &step.doing);
            }
        },
    )?;
    let console = console::parse(&text);
    let refused = |why: String| Error::Refused { why, log: log.clone() };
    let fidelity = match judge(&console, 1, &[0], REPEAT_PERCENT_MAX).map_err(refused)? {
        Judged::Good(fidelity) => fidelity,
        Judged::NotRepeated(why) => return Err(refused(why)),
    };
    if let Some(why) = console.cases.first().and_then(|case| case.failed.clone().or_else(|| late(case))) {
        return Err(refused(why));
    }
    Ok(Ran { outcome: outcome_of(&text), fidelity, log })
}

fn modules(lab: &Lab, schedulers: &[String]) -> Result<Vec<String>> {
    schedulers
        .iter()
        .filter_map(|name| lab.check_scheduler(name).map(|found| found.module.clone()).transpose())
        .collect()
}

fn script(program: &Program) -> String {
    let name = program.path.file_name().unwrap_or_default().to_string_lossy();
    let words: Vec<String> = std::iter::once(name.as_ref())
        .chain(program.arguments.iter().map(String::as_str))
        .map(|word| format!("'{}'", word.replace('\'', r"'\''")))
        .collect();
    format!(
        "{FUNCTIONS}\n# ---- {}\nsettle\ncase_begin 0\ndevice_up {}\nrun_program {}\ndevice_down\ncase_end\nfinish\n",
        program.name,
        plan::device_words(&program.device, "raw"),
        words.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::device::DeviceSpec;

    fn program() -> Program {
        let spec: DeviceSpec = toml::from_str("preset = \"ufs-3.1\"\nsize = \"64MiB\"").expect("TOML");
        Program {
            name: "t".to_owned(),
            path: PathBuf::from("/usr/bin/brisk"),
            arguments: vec!["profile".to_owned(), "it's".to_owned()],
            files: Vec::new(),
            device: spec.resolve(std::path::Path::new("/nowhere")).expect("valid"),
            schedulers: Vec::new(),
            memory_bytes: 64 << 20,
            estimate_s: 1.0,
        }
    }

    #[test]
    fn the_script_runs_it_once_on_a_fresh_device_with_its_words_whole() {
        let script = script(&program());
        assert!(script.contains("\ndevice_up 32 1 raw pages=16384,"), "{script}");
        assert!(script.contains("\nrun_program 'brisk' 'profile' 'it'\\''s'\ndevice_down\ncase_end\nfinish\n"));
    }

    #[test]
    fn progress_is_read_as_it_was_written() {
        let step = step_of(&format!("{}\r", progress_line(0.25, "mq-deadline/8: \"mail\""))).expect("a step");
        assert_eq!((step.progress, step.doing.as_str()), (0.25, "mq-deadline/8: \"mail\""));
        assert_eq!(step_of("@ {\"case\":0}"), None);
    }

    proptest! {
        #[test]
        fn an_outcome_survives_its_pieces(text in "[a-z\u{e4}\u{4e2d}{}\": ]{0,4000}") {
            let lines: Vec<String> = outcome_lines(&text).collect();
            prop_assert!(lines.iter().all(|line| line.chars().count() <= PIECE_CHARACTERS + 2));
            let console = format!("SeaBIOS\n@ {{\"case\":0}}\r\n{}\r\n@ {{\"end\":true}}\n", lines.join("\r\n"));
            prop_assert_eq!(outcome_of(&console), text);
        }
    }
}
