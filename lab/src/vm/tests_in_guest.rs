//! Scripts of `kernel/tests`: each runs in its own boot, and passes when it is complete without failures and kernel
//! problems.
//!
//! A script is preceded by `kernel/guest/functions.sh` (`step`, `must`, `fail`, ...) and followed by the end of the
//! plan. Its head declares its needs in comments: `# needs: PROGRAM ...`, `# modules: NAME ...`,
//! `# modules-if-there: NAME ...`, `# config: OPTION ...` (of the kernel), `# memory: SIZE`, `# cpus: N`,
//! `# seconds: N` (its length in guest time).

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use brisk_core::units::parse_bytes;

use crate::vm::Watch;
use crate::vm::console;
use crate::vm::error::{Error, Result};
use crate::vm::image::{Wanted, has_module};
use crate::vm::lab::Lab;
use crate::vm::plan::FUNCTIONS;
use crate::vm::qemu::Clock;
use crate::vm::sources::Source;
use crate::vm::worker_pool;

/// Programs for tests, and their packages.
const PROGRAMS: [(&str, &str); 9] = [
    ("mkfs.ext4", "e2fsprogs"),
    ("e2fsck", "e2fsprogs"),
    ("mkfs.f2fs", "f2fs-tools"),
    ("fsck.f2fs", "f2fs-tools"),
    ("fio", "fio"),
    ("mkfs.btrfs", "btrfs-progs"),
    ("blkdiscard", "util-linux"),
    ("ionice", "util-linux"),
    ("stress-ng", "stress-ng"),
];

#[derive(Debug, Clone, PartialEq)]
pub struct GuestTest {
    pub name: String,
    script: String,
    needs: Vec<(&'static str, &'static str)>,
    modules: Vec<String>,
    modules_if_there: Vec<String>,
    config: Vec<String>,
    memory_bytes: u64,
    cpus: u32,
    seconds: f64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Passed,
    /// Failed: the reason and the console.
    Failed(String, PathBuf),
    /// Skipped: a part is missing in this tree or kernel.
    Skipped(String),
}

impl GuestTest {
    /// Parses a script.
    ///
    /// # Errors
    /// When its head is invalid.
    pub fn parse(name: &str, text: &str) -> std::result::Result<Self, String> {
        let mut test = Self {
            name: name.to_owned(),
            script: text.to_owned(),
            needs: Vec::new(),
            modules: Vec::new(),
            modules_if_there: Vec::new(),
            config: Vec::new(),
            memory_bytes: 512 << 20,
            cpus: 1,
            seconds: 60.0,
        };
        for line in text.lines().take_while(|line| line.starts_with('#')) {
            let Some((word, values)) = line.trim_start_matches('#').trim().split_once(':') else { continue };
            let values = values.trim();
            match word {
                "needs" => {
                    for program in values.split_whitespace() {
                        let known = PROGRAMS.iter().find(|(known, _)| *known == program);
                        test.needs.push(*known.ok_or_else(|| format!("needs: '{program}' is not known here"))?);
                    }
                }
                "modules" => test.modules = values.split_whitespace().map(str::to_owned).collect(),
                "modules-if-there" => test.modules_if_there = values.split_whitespace().map(str::to_owned).collect(),
                "config" => test.config = values.split_whitespace().map(str::to_owned).collect(),
                "memory" => test.memory_bytes = parse_bytes(values).map_err(|error| format!("memory: {error}"))?,
                "cpus" => test.cpus = values.parse().map_err(|_| format!("cpus: '{values}' is no number"))?,
                "seconds" => test.seconds = values.parse().map_err(|_| format!("seconds: '{values}' is no number"))?,
                _ => {}
            }
        }
        Ok(test)
    }

    #[must_use]
    pub fn clock(&self) -> Clock {
        Clock::of(self.cpus)
    }

    #[must_use]
    pub fn cpus(&self) -> u32 {
        self.cpus
    }

    /// All tests of a tree, by name.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn all(source: &Source) -> Result<Vec<Self>> {
        let folder = source.path("kernel/tests");
        let Ok(entries) = std::fs::read_dir(&folder) else { return Ok(Vec::new()) };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|ending| ending == "sh"));
        paths.sort();
        paths.iter().map(|path| Self::read(path)).collect()
    }

    fn read(path: &Path) -> Result<Self> {
        let text = brisk_program::files::read_text(path, brisk_program::files::TEXT_BYTES_MAX)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Self::parse(&name, &text).map_err(|why| Error::BadFile { path: path.to_owned(), why })
    }

    /// Boots and runs it.
    ///
    /// # Errors
    /// When the virtual machine fails; a failed test is a verdict.
    fn run(&self, lab: &Lab, stop: &AtomicBool, doing: &dyn Fn(&str)) -> Result<Verdict> {
        let mut wanted = Wanted { modules: vec!["brisk_flash".to_owned()], ..Wanted::default() };
        for option in &self.config {
            if !lab.kernel.has_option(option)? {
                return Ok(Verdict::Skipped(format!("{} was built without {option}", lab.kernel.release)));
            }
        }
        for module in &self.modules {
            if !has_module(&lab.kernel, module) {
                return Ok(Verdict::Skipped(format!("{} has no module {module}", lab.kernel.release)));
            }
            wanted.modules.push(module.clone());
        }
        wanted.modules_if_there.clone_from(&self.modules_if_there);
        wanted.modules_if_there.extend(["crc32c_generic", "crc32_generic"].map(str::to_owned));
        wanted.programs.clone_from(&self.needs);
        let script = format!("{FUNCTIONS}\n# ---- {}\n{}\nfinish\n", self.name, self.script);
        let name = format!("{}-test-{}", lab.kernel.series, self.name);
        let watch = Watch { stop, progress: &|_, _| {} };
        let outcome = lab.console(&name, &script, &wanted, self.memory_bytes, self.cpus, self.seconds, watch, |line| {
            if let Some(step) = line.strip_prefix("== ") {
                doing(step);
            }
        });
        let (text, log) = match outcome {
            Ok(booted) => booted,
            Err(Error::TimeLimit { limit_s, log }) => {
                return Ok(Verdict::Failed(format!("it did not end within {limit_s} s"), log));
            }
            Err(error) => return Err(error),
        };
        Ok(judge(&text, log))
    }
}

/// Messages of a running test.
enum Message {
    Step(String),
    Verdict(Verdict),
}

/// Runs tests, `jobs` at a time, the long ones first; `report` gets each verdict. Tests with the host's clock run at
/// the end, one by one, so that they are not delayed by others.
///
/// # Errors
/// When the virtual machine fails; a failed test is a verdict.
pub fn run_all(
    lab: &Lab,
    tests: &[&GuestTest],
    watch: Watch<'_>,
    mut report: impl FnMut(&GuestTest, &Verdict),
) -> Result<()> {
    let mut ended = 0;
    let (mut together, alone) = of_clocks(tests);
    together.sort_by_key(|test| Reverse((test.seconds * 1e3) as u64));
    for (tests_now, jobs) in [(together, lab.jobs), (alone, 1)] {
        worker_pool::each(
            &tests_now,
            jobs,
            |_, test, send: &dyn Fn(Message)| {
                let verdict = test.run(lab, watch.stop, &|step| send(Message::Step(step.to_owned())))?;
                send(Message::Verdict(verdict));
                Ok::<_, Error>(())
            },
            |place, message| match message {
                Message::Step(step) => {
                    let done = f64::from(ended) / tests.len().max(1) as f64;
                    (watch.progress)(done, &format!("{}: {step}", tests_now[place].name));
                }
                Message::Verdict(verdict) => {
                    ended += 1;
                    report(tests_now[place], &verdict);
                }
            },
        )?;
    }
    Ok(())
}

/// Tests with virtual time, and tests with the host's clock.
fn of_clocks<'a>(tests: &[&'a GuestTest]) -> (Vec<&'a GuestTest>, Vec<&'a GuestTest>) {
    tests.iter().partition(|test| test.clock() == Clock::Instructions)
}

fn judge(text: &str, log: PathBuf) -> Verdict {
    let console = console::parse(text);
    match (console.failed.first(), console.complaints.first()) {
        (Some(why), _) => Verdict::Failed(why.clone(), log),
        (None, Some(words)) => Verdict::Failed(format!("the kernel complains: {words}"), log),
        (None, None) if !console.ended => Verdict::Failed("it did not come to its end".to_owned(), log),
        (None, None) => Verdict::Passed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_script_declares_its_needs() {
        let text = "# Checks it.\n# needs: e2fsck fio\n# modules: ext4 smartio\n# memory: 1GiB\n# cpus: 4\n\
            # config: KUNIT\n# modules-if-there: f2fs\n# seconds: 20\nstep x\n# memory: 2GiB\n";
        let test = GuestTest::parse("t", text).expect("valid");
        assert_eq!(test.needs, [("e2fsck", "e2fsprogs"), ("fio", "fio")]);
        assert_eq!((test.config, test.modules_if_there), (vec!["KUNIT".to_owned()], vec!["f2fs".to_owned()]));
        assert_eq!((test.modules.len(), test.memory_bytes, test.cpus, test.seconds), (2, 1 << 30, 4, 20.0));
        assert!(GuestTest::parse("t", "# needs: emacs\n").is_err());
        assert!(GuestTest::parse("t", "# memory: much\n").is_err());
    }

    #[test]
    fn tests_with_more_than_one_processor_run_apart() {
        let test = |name: &str, cpus: u32| GuestTest::parse(name, &format!("# cpus: {cpus}\n")).expect("valid");
        let all = [test("a", 1), test("b", 4), test("c", 1)];
        let (together, alone) = of_clocks(&all.iter().collect::<Vec<_>>());
        assert_eq!((together, alone), (vec![&all[0], &all[2]], vec![&all[1]]));
    }

    #[test]
    fn only_a_complete_run_without_failures_and_kernel_problems_passes() {
        let log = PathBuf::from("log");
        let end = "@ {\"dmesg\":0}\n@ {\"end\":true}\n";
        assert_eq!(judge(&format!("== x\n{end}"), log.clone()), Verdict::Passed);
        for text in ["", "== x\n", "@ {\"failed\":\"no\"}\n", "[ 1.0] BUG: sleeping function\n", "@ {\"dmesg\":1}\n"] {
            let whole = if text == "== x\n" || text.is_empty() { text.to_owned() } else { text.to_owned() + end };
            assert!(matches!(judge(&whole, log.clone()), Verdict::Failed(..)), "{text}");
        }
    }

    #[test]
    fn every_test_of_the_tree_has_a_valid_head() {
        let source = Source::find(Path::new(env!("CARGO_MANIFEST_DIR")), None).expect("this tree");
        GuestTest::all(&source).expect("valid heads");
    }
}
