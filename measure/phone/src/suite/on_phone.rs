//! The conditions of a suite as a phone makes them.

use std::ffi::OsString;
use std::time::Duration;

use super::{Conditions, LoadDone};
use crate::beside::Beside;
use crate::error::{Error, Result};
use crate::phone::Phone;
use crate::writer::{Writer, WriterSpec, Written};

/// What is at work on the phone under one condition.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Situation {
    /// What is written in the background.
    pub writer: Option<WriterSpec>,
    /// A program beside it, such as the daemon whose effect is measured: the command, which says when it is ready
    /// ([`Beside`]).
    pub beside: Option<Vec<OsString>>,
}

/// The conditions of a phone: idle, with its writer at work, with another program beside.
pub struct OnPhone<'a> {
    phone: &'a Phone,
    program: Vec<OsString>,
    situations: Vec<Situation>,
    /// The program beside.
    beside: Option<Beside>,
    /// The writer at work, and what it had written when the launch began.
    running: Option<(Writer, Written)>,
}

impl<'a> OnPhone<'a> {
    /// Conditions of `phone`: what is at work in each; `program` writes, and calls [`crate::serve_writer`].
    #[must_use]
    pub fn new(phone: &'a Phone, program: Vec<OsString>, situations: Vec<Situation>) -> Self {
        Self { phone, program, situations, beside: None, running: None }
    }
}

/// How long a load writes before a launch begins beside it: both of its streams are at work then, and the journal has its
/// first commits.
const LEAD_IN_S: f64 = 1.0;

impl Conditions for OnPhone<'_> {
    fn enter(&mut self, condition: usize) -> brisk_launch::Result<()> {
        let situation = &self.situations[condition];
        if let Some(command) = &situation.beside {
            let socket = self.phone.state_dir().join("notify");
            self.beside = Some(Beside::start(command, socket).map_err(surroundings)?);
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

    fn leave(&mut self, _: usize) -> brisk_launch::Result<Option<LoadDone>> {
        let done = match self.running.take() {
            Some((writer, before)) => writer.stop().map_err(surroundings)?.since(&before),
            None => None,
        };
        self.phone.end_apps().map_err(surroundings)?;
        if let Some(beside) = self.beside.take() {
            beside.stop().map_err(surroundings)?;
        }
        Ok(done.map(|rates| LoadDone { bytes_per_s: rates.bytes_per_s, syncs_per_s: rates.syncs_per_s }))
    }

    fn busy_ns(&mut self) -> Option<u64> {
        // The check is left out where the server does not answer; the launch itself tells what is wrong.
        self.phone.flash().ok().map(|flash| flash.requests.busy_ns)
    }
}

fn surroundings(error: Error) -> brisk_launch::Error {
    brisk_launch::Error::Surroundings(Box::new(error))
}
