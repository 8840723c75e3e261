//! Support of this machine for watching groups.

use crate::probes::error::Error;
use crate::probes::group::Group;
use crate::probes::load::Programs;

/// What can be seen on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Support {
    /// What cannot be seen, with reasons.
    pub missing: Vec<String>,
}

impl Support {
    /// Determines the support by loading the programs without attaching them. Takes some tenths of a second.
    ///
    /// # Errors
    ///
    /// When this process or this kernel cannot run the programs at all.
    pub fn check() -> Result<Self, Error> {
        // No group has this number.
        let programs = Programs::load(&Group { id: 0, level: 0 }, 1 << 16)?;
        Ok(Self { missing: programs.missing })
    }
}
