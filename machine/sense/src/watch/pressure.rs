//! A trigger on pressure: the kernel notifies when tasks stood still for longer than allowed
//! (Documentation/accounting/psi.rst).

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use brisk_formats::Resource;

use crate::error::{Absent as _, Error, Result};
use crate::machine::Sense;

/// Without the right to resources (CAP_SYS_RESOURCE) windows are multiples of this.
const WINDOW: Duration = Duration::from_secs(2);

/// One trigger. poll(2) gives POLLPRI when it fires, at most once in a window, and POLLERR when it is void.
#[derive(Debug)]
pub struct PressureWatch {
    resource: Resource,
    file: File,
}

impl PressureWatch {
    /// Fires when some task stood still for want of `resource` for `stall` within two seconds. `None` where this kernel
    /// counts no pressure or lets this user set no trigger.
    ///
    /// # Errors
    /// When the kernel refuses the trigger for another reason.
    pub fn new(sense: &Sense, resource: Resource, stall: Duration) -> Result<Option<Self>> {
        let path = sense.path(format!("/proc/pressure/{resource}"));
        let order = format!("some {} {}\0", stall.min(WINDOW).as_micros(), WINDOW.as_micros());
        let set = || {
            let mut file = OpenOptions::new().read(true).write(true).open(&path)?;
            file.write_all(order.as_bytes()).map(|()| file)
        };
        let file = set().map_err(|source| Error::reading(path.clone(), source)).or_hidden()?;
        Ok(file.map(|file| Self { resource, file }))
    }

    #[must_use]
    pub fn resource(&self) -> Resource {
        self.resource
    }
}

impl AsFd for PressureWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
