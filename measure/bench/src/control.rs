//! Progress and cancellation of a measurement.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

/// Passed to every measurement. The library installs no signal handlers: the caller sets the flag.
pub struct Control<'a> {
    /// Set to stop: requests in flight are completed, resources are released, the result is [`Error::Stopped`].
    pub stop: &'a AtomicBool,
    /// Called regularly with the share done (0 to 1) and the current step.
    pub progress: &'a dyn Fn(f64, &str),
}

impl Control<'_> {
    /// # Errors
    /// [`Error::Stopped`] when the flag is set.
    pub(crate) fn check(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(()) }
    }

    pub(crate) fn report(&self, done: f64, doing: &str) {
        (self.progress)(done.clamp(0.0, 1.0), doing);
    }
}
