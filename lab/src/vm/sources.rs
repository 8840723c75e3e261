//! The source tree with scripts and scenarios, and the results of its scripts: kernels, modules, the probe.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::vm::Watch;
use crate::vm::error::{Error, Result};
use crate::vm::run::{Ended, Line, run};

/// Time limit of a script: a download on a slow line.
const SCRIPT_MAX: Duration = Duration::from_secs(3_600);
/// Name of the series that is built with the kernel's checks enabled.
const DEBUG: &str = "-debug";
/// Name of the series with the patch of `kernel/mars`; before [`DEBUG`].
const MARS: &str = "-mars";
/// Name of the series with the configuration of [`MARS`] and without the patch.
const PLAIN: &str = "-plain";
/// Name of the series with Debian's cloud kernel for 64-bit ARM.
const ARM: &str = "-arm64";
/// Name of the series with Debian's kernel for any machine, which has more modules than its cloud kernel.
const FULL: &str = "-full";
/// Lines of a failed script in the error.
const LAST_LINES: usize = 12;

/// A source tree of brisk and its build directory.
#[derive(Debug, Clone)]
pub struct Source {
    root: PathBuf,
    target: PathBuf,
}

/// A fetched kernel with the modules built for it.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// Its series, such as 6.12.
    pub series: String,
    pub release: String,
    home: PathBuf,
}

impl Source {
    /// The tree that contains `start`. `target` is cargo's build directory, when it is not in the tree.
    ///
    /// # Errors
    /// When `start` is in no such tree.
    pub fn find(start: &Path, target: Option<PathBuf>) -> Result<Self> {
        let start = std::path::absolute(start).map_err(Error::io("find", start))?;
        let root = start.ancestors().find(|dir| dir.join("kernel/fetch").exists());
        let root = root.ok_or_else(|| Error::NoSource(start.clone()))?.to_owned();
        let target = match target {
            // Relative to the current directory, as in cargo.
            Some(target) => std::path::absolute(&target).map_err(Error::io("find", &target))?,
            None => root.join("target"),
        };
        Ok(Self { root, target })
    }

    /// A file of the tree.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Directory of the scenarios.
    #[must_use]
    pub fn scenarios(&self) -> PathBuf {
        self.path("kernel/scenarios")
    }

    /// Directory of consoles and results.
    #[must_use]
    pub fn work(&self) -> PathBuf {
        self.target.join("kernel")
    }

    /// Directory of virtual phones: packages, images, consoles.
    #[must_use]
    pub fn phones(&self) -> PathBuf {
        self.target.join("phone")
    }

    /// Directory of packages of brisk.
    #[must_use]
    pub fn dist(&self) -> PathBuf {
        self.target.join("dist")
    }

    /// Fetches the kernel of a series and builds the modules and the probe, as far as missing.
    ///
    /// # Errors
    /// When a script fails, or the user cancels.
    pub fn kernel(&self, series: &str, watch: Watch<'_>) -> Result<Kernel> {
        let release = self.fetch(series, watch)?;
        self.script("kernel/build", &[series], watch)?;
        let kernel = Kernel { series: series.to_owned(), release, home: self.work().join(series) };
        let image = kernel.image();
        if !image.exists() {
            return Err(Error::Failed {
                what: "kernel/fetch".to_owned(),
                words: format!("there is no {}", image.display()),
            });
        }
        Ok(kernel)
    }

    /// The kernel of a series, where it was fetched and its modules were built before; up to date or not.
    #[must_use]
    pub fn kernel_that_is_there(&self, series: &str) -> Option<Kernel> {
        let home = self.work().join(series);
        let release = std::fs::read_to_string(home.join("kernel.done")).ok()?.trim().to_owned();
        let kernel = Kernel { series: series.to_owned(), release, home };
        (kernel.image().exists() && kernel.built().join("brisk_flash.ko").exists()).then_some(kernel)
    }

    /// Fetches the kernel of a series, if missing; returns its release.
    ///
    /// # Errors
    /// When it is unavailable, or the user cancels.
    pub fn fetch(&self, series: &str, watch: Watch<'_>) -> Result<String> {
        let digits = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
        let number = series.strip_suffix(DEBUG).unwrap_or(series);
        let number = number
            .strip_suffix(MARS)
            .or_else(|| series.strip_suffix(PLAIN))
            .or_else(|| series.strip_suffix(FULL))
            .or_else(|| series.strip_suffix(ARM))
            .unwrap_or(number);
        if !number.split_once('.').is_some_and(|(major, minor)| digits(major) && digits(minor)) {
            return Err(Error::BadOption(format!("'{series}' is not a series of kernels, such as 6.12")));
        }
        self.script("kernel/fetch", &[series], watch)
    }

    /// Runs a script of the tree; returns the last line of its output.
    pub(crate) fn script(&self, name: &str, arguments: &[&str], watch: Watch<'_>) -> Result<String> {
        let what = [&[name], arguments].concat().join(" ");
        (watch.progress)(0.0, &what);
        let mut command = Command::new(self.path(name));
        command.args(arguments).current_dir(&self.root).env("CARGO_TARGET_DIR", &self.target);
        let mut output = String::new();
        let mut words: Vec<String> = Vec::new();
        let ended = run(command, ("bash", "bash"), SCRIPT_MAX, watch, |line| match line {
            Line::Said(text) => {
                output.push_str(&text);
                output.push('\n');
            }
            Line::Complained(text) => {
                (watch.progress)(0.0, &text);
                words.push(text);
            }
        })?;
        match ended {
            Ended::Status(status) if status.success() => {
                Ok(output.lines().last().unwrap_or_default().trim().to_owned())
            }
            Ended::Status(status) => {
                if words.is_empty() {
                    words = output.lines().map(str::to_owned).collect();
                }
                let last = words.split_off(words.len().saturating_sub(LAST_LINES)).join("\n");
                Err(Error::Failed { what, words: format!("{status}\n{last}") })
            }
            Ended::TimeLimit => Err(Error::Failed { what, words: "it did not end within an hour".to_owned() }),
        }
    }
}

impl Kernel {
    #[must_use]
    pub fn image(&self) -> PathBuf {
        self.home.join(format!("boot/vmlinuz-{}", self.release))
    }

    #[must_use]
    pub fn modules(&self) -> PathBuf {
        self.home.join("lib/modules").join(&self.release)
    }

    /// Whether it was built with an option, given without `CONFIG_`; built as a module counts.
    ///
    /// # Errors
    /// When its configuration cannot be read.
    pub fn has_option(&self, name: &str) -> Result<bool> {
        let path = self.home.join(format!("boot/config-{}", self.release));
        let config = std::fs::read_to_string(&path).map_err(Error::io("read", &path))?;
        let (built_in, module) = (format!("CONFIG_{name}=y"), format!("CONFIG_{name}=m"));
        Ok(config.lines().any(|line| line == built_in || line == module))
    }

    /// Whether it has debugging checks, which distort response times.
    #[must_use]
    pub fn is_debug(&self) -> bool {
        self.series.ends_with(DEBUG)
    }

    /// Directory of the modules and programs built here.
    #[must_use]
    pub fn built(&self) -> PathBuf {
        self.home.join("built")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn the_tree_is_found_from_inside_and_from_nowhere_else() {
        let inside = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let source = Source::find(&inside, None).expect("this tree");
        assert!(source.scenarios().is_dir());
        assert!(matches!(Source::find(Path::new("/proc"), None), Err(Error::NoSource(_))));
    }

    #[test]
    fn a_series_is_two_numbers() {
        let source = Source::find(Path::new(env!("CARGO_MANIFEST_DIR")), None).expect("this tree");
        let stop = AtomicBool::new(false);
        for series in [
            "6",
            "6.12.3",
            "six",
            "6.",
            "../6.12",
            "6.12-fast",
            "-debug",
            "-mars",
            "6.12-debug-mars",
            "6.12-plain-debug",
            "6.12-full-debug",
            "-full",
        ] {
            let outcome = source.kernel(series, Watch { stop: &stop, progress: &|_, _| {} });
            assert!(matches!(outcome, Err(Error::BadOption(_))), "{series}");
        }
    }

    #[test]
    fn a_failed_script_is_reported_with_its_last_output() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(dir.path().join("kernel")).expect("a folder");
        let script = dir.path().join("kernel/fetch");
        std::fs::write(&script, "#!/bin/sh\necho 'no network today' >&2\nexit 7\n").expect("a script");
        std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a script");
        let source = Source::find(dir.path(), None).expect("a tree");
        let stop = AtomicBool::new(false);
        let error =
            source.kernel("6.12", Watch { stop: &stop, progress: &|_, _| {} }).expect_err("it fails").to_string();
        assert!(error.contains("kernel/fetch 6.12") && error.contains("no network today"), "{error}");
    }
}
