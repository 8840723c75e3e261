//! The kernel lab: I/O schedulers of a Linux kernel on an emulated phone's flash, with reproducible figures on any
//! machine.
//!
//! The idea: a virtual machine whose clock advances with its instructions (QEMU's `icount`), so that load on the host
//! has no effect inside, and in it a block device that is the C core of [`crate::flash`] behind a timer. A [`scenario`]
//! is a file: device, loads of jobs, bounds. A [`plan`] is a shell script for the guest, made of [`case`]s: one load
//! under one setting of one scheduler with one seed. [`console`] parses the guest's output, [`refuse`] checks it
//! against the bounds, [`figures`] summarises it, and [`search`] uses it to find settings; [`mod@bench`] defines a
//! comparison and [`aims`] its aims; [`hunt`] draws loads, and finds those under which a scheduler is worse than
//! others. All of these are pure, but for the driver of the hunt; [`sources`] (scripts that fetch and build), [`image`]
//! (the initramfs), [`store`] (earlier cases), [`qemu`] and, above them, [`lab`] access this machine.
//!
//! Terms: a *side* is a class of jobs of a load (`read`, `write`, ...). *Lateness* is the delay of the device's timer.
//! A *boot* runs many cases, each on a new device, and repeats its first one at the end.
//!
//! - A boot is its plan: everything that varies stands in a shell script, kept with the console in
//!   `target/kernel/consoles`.
//! - A case is a pure function of kernel, emulator, modules, programs and its paragraph of the plan: these are its key
//!   in `target/kernel/cases`, so that an interrupted run continues, and a changed scheduler repeats only its own
//!   cases.
//! - Refused results have no figure ([`refuse`] has the bounds): a late timer, a repeat that differs by more than 1 %
//!   (or by what the scenario allows, or by the spread of three seeds), a complaint of the kernel.
//! - Tuning is fair and blind: each scheduler is searched by the same rule with the same number of tries and other
//!   seeds than the comparison. Aims are data (`kernel/bench.toml`).
//! - Boots with virtual time run in parallel; guests with several processors have the host's clock and give no figures.
//!
//! Properties, each with a test: the same scenario gives the same plan; no console output causes a panic; a boot that
//! is late, not reproduced or with kernel problems has no figures.

pub mod aims;
pub mod bench;
pub mod case;
pub mod compare;
pub mod console;
pub mod device;
pub mod error;
pub mod figures;
pub mod hunt;
pub mod image;
pub mod lab;
pub mod plan;
pub mod program;
pub mod qemu;
pub mod refuse;
pub(crate) mod run;
pub mod scenario;
pub mod schedulers;
pub mod search;
pub mod sources;
pub mod store;
pub mod tests_in_guest;
pub mod worker_pool;

use std::sync::atomic::{AtomicBool, Ordering};

pub use error::{Error, Result};

/// Cancellation and progress of a run.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Set to cancel.
    pub stop: &'a AtomicBool,
    /// Called with the progress (0 to 1) and the current step.
    pub progress: &'a dyn Fn(f64, &str),
}

impl Watch<'_> {
    /// An error when the run is cancelled.
    ///
    /// # Errors
    /// When the flag is set.
    pub fn check(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(()) }
    }
}
