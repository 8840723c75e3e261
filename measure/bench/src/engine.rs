//! Runs one [`Load`] and records its response times, by io_uring or by plain calls.
//!
//! Both engines issue the same requests in the same order and measure the same span: from just before the system call
//! that submits a request until its completion is seen. Buffers are allocated, filled and registered before the clock
//! starts; until it stops, a run takes no lock and allocates nothing.
//!
//! Properties: data written by one engine is read back by the other; exactly the requested depth is in flight until the
//! run ends; on an error or a stop, all requests in flight complete before their buffers are freed.

mod calls;
mod uring;

use std::os::fd::BorrowedFd;
use std::sync::atomic::AtomicBool;

pub(crate) use calls::{Caller, STACK_BYTES, run_together};

use crate::cpu::process_cpu_ns;
use crate::error::{Error, Result};
use crate::latency::Times;
use crate::load::Load;
use crate::results::Warning;

/// How requests are submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    /// One io_uring, submissions in batches.
    IoUring,
    /// pread and pwrite, one thread for each request in flight.
    Calls,
}

impl EngineKind {
    /// Name in options and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::IoUring => "io_uring",
            Self::Calls => "calls",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engine {
    kind: EngineKind,
    /// Whether it was requested by name.
    asked: bool,
    /// Reason why it is not io_uring.
    note: Option<String>,
}

impl Engine {
    /// The requested engine; by default io_uring, or plain calls where the kernel refuses it.
    ///
    /// # Errors
    /// [`Error::NoUring`] when io_uring was requested by name and the kernel refuses it.
    pub fn choose(wanted: Option<EngineKind>) -> Result<Self> {
        match wanted {
            Some(EngineKind::Calls) => {
                Ok(Self { kind: EngineKind::Calls, asked: true, note: Some("as asked".to_owned()) })
            }
            wanted => match uring::probe() {
                Ok(()) => Ok(Self { kind: EngineKind::IoUring, asked: wanted.is_some(), note: None }),
                Err(why) if wanted.is_some() => Err(Error::NoUring(why)),
                Err(why) => Ok(Self { kind: EngineKind::Calls, asked: false, note: Some(why) }),
            },
        }
    }

    #[must_use]
    pub fn kind(&self) -> EngineKind {
        self.kind
    }

    /// Name and, when it is not io_uring, the reason.
    #[must_use]
    pub fn description(&self) -> String {
        match &self.note {
            Some(note) => format!("{} ({note})", self.kind.name()),
            None => self.kind.name().to_owned(),
        }
    }

    /// A warning when plain calls replace io_uring without a request for them.
    #[must_use]
    pub fn warning(&self) -> Option<Warning> {
        let note = self.note.as_ref().filter(|_| !self.asked)?;
        Some(Warning {
            code: "no_io_uring".to_owned(),
            text: format!("Plain calls with one thread for each request in flight were used: {note}."),
        })
    }

    /// Runs `load` on `file` until its end or until `stop`.
    ///
    /// # Errors
    /// When the load is invalid (see [`Load::check`]), memory or threads are missing, or a request fails.
    pub fn run(&self, file: BorrowedFd<'_>, load: &Load, stop: &AtomicBool) -> Result<Outcome> {
        load.check()?;
        match self.kind {
            EngineKind::IoUring => uring::run(file, load, stop),
            EngineKind::Calls => calls::run(file, load, stop),
        }
    }
}

#[derive(Debug, Clone, Default)]
pub struct Outcome {
    pub reads: Times,
    pub writes: Times,
    /// From the first submission to the last completion.
    pub wall_ns: u64,
    /// CPU time of this process during the run, user and system.
    pub cpu_ns: u64,
    pub block_bytes: u64,
}

impl Outcome {
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.reads.count() + self.writes.count()
    }

    #[must_use]
    pub fn requests_per_s(&self) -> f64 {
        rate_per_s(self.requests(), self.wall_ns)
    }

    #[must_use]
    pub fn bytes_per_s(&self) -> f64 {
        self.requests_per_s() * self.block_bytes as f64
    }
}

/// Events a second; 0 when no time passed.
fn rate_per_s(count: u64, wall_ns: u64) -> f64 {
    if wall_ns == 0 { 0.0 } else { count as f64 * 1e9 / wall_ns as f64 }
}

/// CPU time since its creation.
struct CpuMeter(u64);

impl CpuMeter {
    fn start() -> Self {
        Self(process_cpu_ns())
    }

    fn ns(&self) -> u64 {
        process_cpu_ns().saturating_sub(self.0)
    }
}

#[cfg(test)]
mod tests;
