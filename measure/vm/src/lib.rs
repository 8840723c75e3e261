//! The kernel lab: what I/O schedulers of a Linux kernel do with a phone's flash, figures that repeat on any machine.
//!
//! The idea: a virtual machine whose clock advances with its instructions (QEMU's `icount`), so that a busy host does not
//! show inside, and in it a block device that is the C core of `brisk-flash` behind a timer. A [`scenario`] is a file: the
//! device, loads of jobs, bounds. A [`plan`] is a shell script for the guest, made of [`case`]s: one load under one setting
//! of one scheduler with one seed. What the guest says on its console is read by [`console`], held against the bounds by
//! [`refuse`], summed up by [`figures`] and, for settings, fed to [`search`]; [`mod@bench`] says what is compared, [`aims`] what
//! of it was aimed at. All of these are pure; what touches this machine is [`sources`] (scripts that fetch and build), [`image`]
//! (the initramfs), [`store`] (cases measured before), [`qemu`] and, above them, [`lab`].
//!
//! Terms: a *side* is what the jobs of a load have in common (`read`, `write`, ...). *Lateness* is how much later than asked
//! the device's timer fired. A *boot* runs many cases, each on a fresh device, and its first one again at the end.
//!
//! Properties, each with a test: the same scenario gives the same plan; whatever the console says, reading it does not
//! panic; a boot that is late, that differs from itself or that made the kernel complain has no figures.

pub mod aims;
pub mod bench;
pub mod case;
pub mod compare;
pub mod console;
mod crew;
pub mod device;
pub mod error;
pub mod figures;
pub mod image;
pub mod lab;
pub mod plan;
pub mod program;
pub mod qemu;
pub mod refuse;
mod run;
pub mod scenario;
pub mod schedulers;
pub mod search;
pub mod sources;
pub mod store;
pub mod tests_in_guest;

use std::sync::atomic::{AtomicBool, Ordering};

pub use error::{Error, Result};

/// Who waits for a run: asks it to stop, and is told how far it is.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Raised when the person wants it to end.
    pub stop: &'a AtomicBool,
    /// Called with 0 to 1 and what is being done.
    pub progress: &'a dyn Fn(f64, &str),
}

impl Watch<'_> {
    /// The error of a stop, when it was asked for.
    ///
    /// # Errors
    /// When the flag is raised.
    pub fn check(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(()) }
    }
}
