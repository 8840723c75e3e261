//! Ctrl-C and its relatives: the first signal asks for an orderly end, the second ends at once.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::Context as _;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// The signals that end a long operation in order.
#[derive(Debug)]
pub struct Signals {
    stop: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Signals {
    /// Watches for them from now on.
    ///
    /// # Errors
    /// When they cannot be watched.
    pub fn watch() -> anyhow::Result<Self> {
        let signals = Self { stop: Arc::default(), signal: Arc::default() };
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let watch = || {
                let number = usize::try_from(signal).unwrap_or_default();
                // After the second signal settings are in the journal, and the next command repairs leftovers.
                signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&signals.stop))?;
                signal_hook::flag::register_usize(signal, Arc::clone(&signals.signal), number)?;
                signal_hook::flag::register(signal, Arc::clone(&signals.stop))
            };
            watch().context("cannot watch for signals")?;
        }
        Ok(signals)
    }

    /// Set when a signal asked for the end.
    #[must_use]
    pub fn stop_flag(&self) -> &AtomicBool {
        &self.stop
    }

    /// The exit code after the signal that stopped the operation.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(128 + u8::try_from(self.signal.load(Ordering::Relaxed)).unwrap_or_default())
    }

    /// Prints that the operation was stopped, and gives the exit code for that.
    #[must_use]
    pub fn was_stopped(&self) -> ExitCode {
        brisk_program::notice!("brisk: stopped; nothing is left behind");
        self.exit_code()
    }
}
