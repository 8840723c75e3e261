//! Whether this machine lets groups be watched.

use crate::error::Error;
use crate::group::Group;
use crate::load::Programs;

/// What can be seen on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Support {
    /// What cannot be seen, and why; empty when all can.
    pub missing: Vec<String>,
}

impl Support {
    /// Finds out by loading the programs; they are not put on their tracepoints. Takes some tenths of a second.
    ///
    /// # Errors
    ///
    /// When this process or this kernel cannot run the programs at all.
    pub fn check() -> Result<Self, Error> {
        // No group has this number; nothing is watched anyway.
        let programs = Programs::load(&Group { id: 0, level: 0 }, 1 << 16)?;
        Ok(Self { missing: programs.missing })
    }
}
