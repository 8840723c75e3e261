//! The conditions of a suite on a phone.

use std::ffi::OsString;
use std::time::Duration;

use super::{Conditions, LoadDone};
use crate::phone::companion::Companion;
use crate::phone::error::{Error, Result};
use crate::phone::running::Phone;
use crate::phone::writer::{Writer, WriterSpec, Written};

/// Activity on the phone under one condition.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Situation {
    pub writer: Option<WriterSpec>,
    /// Command of a companion program, such as the daemon whose effect is measured; it reports when it is ready
    /// ([`Companion`]).
    pub companion: Option<Vec<OsString>>,
}

/// Conditions on a phone: idle, with the background writer, with a companion program.
pub struct OnPhone<'a> {
    phone: &'a Phone,
    program: Vec<OsString>,
    situations: Vec<Situation>,
    companion: Option<Companion>,
    /// The running writer, and its counters at the start of the launch.
    running: Option<(Writer, Written)>,
}

impl<'a> OnPhone<'a> {
    /// Conditions of `phone`, one for each situation; `program` is the command that calls
    /// [`crate::phone::serve_writer`].
    #[must_use]
    pub fn new(phone: &'a Phone, program: Vec<OsString>, situations: Vec<Situation>) -> Self {
        Self { phone, program, situations, companion: None, running: None }
    }
}

/// Time that a load runs before a launch begins: both of its streams are then active, and the journal has its first
/// commits.
const LEAD_IN_S: f64 = 1.0;

impl Conditions for OnPhone<'_> {
    fn enter(&mut self, condition: usize) -> crate::launch::Result<()> {
        let situation = &self.situations[condition];
        if let Some(command) = &situation.companion {
            let socket = self.phone.state_dir().join("notify");
            self.companion = Some(Companion::start(command, socket).map_err(surroundings)?);
        }
        let Some(spec) = &situation.writer else { return Ok(()) };
        let begin = || -> Result<(Writer, Written)> {
            let mut writer = self.phone.start_writer(&self.program, spec)?;
            loop {
                let written = writer.written()?;
                let left_s = LEAD_IN_S - written.elapsed_s;
                if left_s <= 0.0 {
                    return Ok((writer, written));
                }
                std::thread::sleep(Duration::from_secs_f64(left_s));
            }
        };
        self.running = Some(begin().map_err(surroundings)?);
        Ok(())
    }

    fn leave(&mut self, _: usize) -> crate::launch::Result<Option<LoadDone>> {
        let done = match self.running.take() {
            Some((writer, before)) => writer.stop().map_err(surroundings)?.since(&before),
            None => None,
        };
        self.phone.end_apps().map_err(surroundings)?;
        if let Some(companion) = self.companion.take() {
            companion.stop().map_err(surroundings)?;
        }
        Ok(done.map(|rates| LoadDone { bytes_per_s: rates.bytes_per_s, syncs_per_s: rates.syncs_per_s }))
    }

    fn busy_ns(&mut self) -> Option<u64> {
        // The check is skipped where the server does not answer; the launch itself reports the problem.
        self.phone.flash().ok().map(|flash| flash.requests.busy_ns)
    }
}

fn surroundings(error: Error) -> crate::launch::Error {
    crate::launch::Error::Surroundings(Box::new(error))
}
