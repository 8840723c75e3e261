//! Around a measurement: leftovers of a killed one, signals and a progress bar.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use brisk_act::Paths;
use brisk_bench::{Control, Error, Sense};
use brisk_report::results::Document;
use indicatif::ProgressBar;

use crate::output::Outputs;
use crate::signals::Signals;
use crate::terminal;

/// Steps of the progress bar.
const STEPS: u64 = 1_000;

/// One measurement from start to end.
pub struct Session {
    signals: Signals,
    bar: ProgressBar,
    /// The last step that was shown.
    doing: RefCell<String>,
    run_dir: PathBuf,
}

impl Session {
    /// Restores settings that a killed measurement left changed, and registers the signals.
    ///
    /// # Errors
    /// When signals cannot be watched.
    pub fn begin() -> anyhow::Result<Self> {
        let run_dir: PathBuf = std::env::var_os("BRISK_RUN_DIR")
            .filter(|dir| !dir.is_empty())
            .unwrap_or_else(|| OsString::from("/run/brisk"))
            .into();
        restore_leftovers(&Paths::with_run_dir(&run_dir));
        Ok(Self { signals: Signals::watch()?, bar: terminal::bar(STEPS), doing: RefCell::default(), run_dir })
    }

    /// The journal and the roots of the kernel's trees.
    #[must_use]
    pub fn paths(&self) -> Paths {
        Paths::with_run_dir(&self.run_dir)
    }

    #[must_use]
    pub fn sense(&self) -> Sense {
        Sense::default()
    }

    /// Set when a signal asked for the end.
    #[must_use]
    pub fn stop_flag(&self) -> &AtomicBool {
        self.signals.stop_flag()
    }

    /// Moves the bar: `done` is 0 to 1.
    pub fn show(&self, done: f64, doing: &str) {
        self.bar.set_position((done * STEPS as f64) as u64);
        self.bar.set_message(brisk_core::text::one_line(doing).into_owned());
        if terminal::is_verbose() && *self.doing.borrow() != doing {
            terminal::step(&format!("{:3.0} % {doing}", done * 100.0));
            doing.clone_into(&mut self.doing.borrow_mut());
        }
    }

    /// Prints a line above the bar, also where there is none.
    pub fn say(&self, words: &str) {
        self.bar.suspend(|| brisk_program::info!("{words}"));
    }

    /// Takes the bar away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// Shows a result.
    ///
    /// # Errors
    /// When an output cannot be written.
    pub fn finish(&self, document: Document, outputs: &Outputs) -> anyhow::Result<()> {
        outputs.write(&document)
    }

    /// Prints that it was stopped, and gives the exit code for that.
    #[must_use]
    pub fn was_stopped(&self) -> ExitCode {
        self.signals.was_stopped()
    }

    /// Runs `measure` under this session's flag and bar.
    ///
    /// # Errors
    /// The measurement's own.
    pub fn measure<T>(
        &self,
        measure: impl FnOnce(&Sense, &Control<'_>) -> brisk_bench::Result<T>,
    ) -> brisk_bench::Result<T> {
        let progress = |done: f64, doing: &str| self.show(done, doing);
        let outcome = measure(&self.sense(), &Control { stop: self.stop_flag(), progress: &progress });
        self.clear();
        outcome
    }

    /// Shows the result, or prints that it was stopped.
    ///
    /// # Errors
    /// The measurement's own, but for a stop, or of an output that cannot be written.
    pub fn end(&self, outcome: brisk_bench::Result<Document>, outputs: &Outputs) -> anyhow::Result<ExitCode> {
        match outcome {
            Ok(document) => self.finish(document, outputs).map(|()| ExitCode::SUCCESS),
            Err(Error::Stopped) => Ok(self.was_stopped()),
            Err(error @ Error::LeftBehind { .. }) if is_stop(&error) => {
                brisk_program::notice!("brisk: stopped; {error}");
                Ok(self.signals.exit_code())
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn restore_leftovers(paths: &Paths) {
    match brisk_act::restore_leftovers(paths) {
        Ok(reports) => {
            for (device, knob) in reports.iter().flat_map(|(_, report)| &report.restored) {
                brisk_program::notice!("repaired: {knob} of {device}, which a killed run had left changed");
            }
        }
        Err(error) => brisk_program::warn!("brisk: warning: {:#}", anyhow::Error::from(error)),
    }
}

fn is_stop(error: &Error) -> bool {
    matches!(error, Error::LeftBehind { ended_by, .. } if matches!(**ended_by, Error::Stopped))
}
