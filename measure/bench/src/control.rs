//! How whoever asked for a measurement follows and stops it.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

/// Given to every measurement. The library installs no signal handlers: whoever does raises the flag.
pub struct Control<'a> {
    /// Raised to stop: requests in flight are awaited, everything is cleaned up, the result is [`Error::Stopped`].
    pub stop: &'a AtomicBool,
    /// Called now and then with the share done (0 to 1) and what is being done.
    pub progress: &'a dyn Fn(f64, &str),
}

impl Control<'_> {
    /// # Errors
    /// [`Error::Stopped`] when the flag is raised.
    pub(crate) fn check(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(()) }
    }

    pub(crate) fn report(&self, done: f64, doing: &str) {
        (self.progress)(done.clamp(0.0, 1.0), doing);
    }
}
