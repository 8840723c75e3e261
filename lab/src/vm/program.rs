//! A program of the host in the guest, on a new flash device.
//!
//! It writes to the console: lines of JSON after `@ ` with `progress` (0 to 1) and `doing`, and its result after `% `,
//! divided into lines of limited length. [`progress_line`] and [`outcome_lines`] write these, for the program; [`run`]
//! reads them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::vm::console::{self};
use crate::vm::device::Device;
use crate::vm::error::{Error, Result};
use crate::vm::image::Wanted;
use crate::vm::lab::Lab;
use crate::vm::plan::FUNCTIONS;
use crate::vm::refuse::{Fidelity, Judged, REPEAT_PERCENT_MAX, judge, late};
use crate::vm::{Watch, plan};

/// Most characters of a line: below the limit of terminals.
const PIECE_CHARACTERS: usize = 1_000;
/// Directory of its files in the guest.
pub const FILES: &str = "/lab/files";
pub const DEVICE: &str = "flash0";

#[derive(Debug, Clone)]
pub struct Program {
    pub name: String,
    pub path: PathBuf,
    pub arguments: Vec<String>,
    /// Its files, by their names in [`FILES`].
    pub files: Vec<(String, PathBuf)>,
    /// Its device stores no data.
    pub device: Device,
    /// Schedulers, all of which the kernel must have.
    pub schedulers: Vec<String>,
    pub memory_bytes: u64,
    /// Estimated length in guest time.
    pub estimate_s: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    pub outcome: String,
    /// Fidelity of the device's times.
    pub fidelity: Fidelity,
    pub log: PathBuf,
}

/// Progress of a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Step {
    /// 0 to 1.
    progress: f64,
    doing: String,
}

/// A line of progress, without line feed.
#[must_use]
pub fn progress_line(progress: f64, doing: &str) -> String {
    let step = Step { progress: if progress.is_finite() { progress } else { 0.0 }, doing: doing.to_owned() };
    format!("@ {}", serde_json::to_string(&step).unwrap_or_default())
}

/// Lines of a result, which must be a single line of text, such as JSON.
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

/// Joins the lines of a result.
fn outcome_of(console: &str) -> String {
    console.lines().filter_map(|line| line.trim_end_matches('\r').strip_prefix("% ")).collect()
}

/// Boots the guest and runs the program.
///
/// # Errors
/// When the virtual machine fails or exceeds its limit, the program fails, or the device was late.
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
    use crate::vm::device::DeviceSpec;

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
        fn a_result_is_restored_from_its_lines(text in "[a-z\u{e4}\u{4e2d}{}\": ]{0,4000}") {
            let lines: Vec<String> = outcome_lines(&text).collect();
            prop_assert!(lines.iter().all(|line| line.chars().count() <= PIECE_CHARACTERS + 2));
            let console = format!("SeaBIOS\n@ {{\"case\":0}}\r\n{}\r\n@ {{\"end\":true}}\n", lines.join("\r\n"));
            prop_assert_eq!(outcome_of(&console), text);
        }
    }
}
