//! The control device of the ublk driver: commands to create, start, stop, find and remove devices, on a ring.
//!
//! Device numbers are reused, and the kernel forgets the server of a dead device. The lab therefore gives each of its
//! devices a *mark*, a random number that is stored in the device's state on disk and, from its creation on, in the
//! driver. Only devices with a known mark are stopped or removed.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::time::{Duration, Instant};

use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};

use super::abi;
use crate::device::error::{Error, Result, io as failed, refused};

pub(crate) const DEV_CONTROL: &str = "/dev/ublk-control";

/// Time limit of a stop: the kernel writes back the device's dirty pages.
const STOP_WITHIN: Duration = Duration::from_secs(30);
/// Time limit of a start: the kernel reads the partition table from the running server.
const START_WITHIN: Duration = Duration::from_secs(30);
/// Time limit of a removal, which waits until the block device is closed.
const DELETE_WITHIN: Duration = Duration::from_secs(5);

/// A device of the driver with a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Own {
    pub(crate) device: u32,
    /// Whether it has a block device.
    pub(crate) live: bool,
}

impl Own {
    /// Kernel name of its block device.
    pub(crate) fn name(self) -> String {
        format!("ublkb{}", self.device)
    }
}

/// An open control device.
#[derive(Debug)]
pub(crate) struct Control {
    file: File,
}

impl Control {
    /// Opens it and checks that the driver is compatible.
    ///
    /// # Errors
    /// When this kernel has no ublk, an older one, or no io_uring for this process.
    pub(crate) fn open() -> Result<Self> {
        let file = File::options().read(true).write(true).open(DEV_CONTROL).map_err(|source| Error::NoDeviceFile {
            path: DEV_CONTROL.into(),
            remedy: "the kernel needs CONFIG_BLK_DEV_UBLK (try: modprobe ublk_drv); or use --backend fuse",
            source,
        })?;
        let control = Self { file };
        let mut features = [0; 8];
        let asked = control.exchange(abi::GET_FEATURES, abi::NO_DEVICE, &mut features);
        match asked.map_err(|error| (error.raw_os_error(), error)) {
            Ok(()) if u64::from_ne_bytes(features) & abi::FEATURES == abi::FEATURES => Ok(control),
            Ok(()) | Err((Some(libc::EOPNOTSUPP | libc::EINVAL | libc::ENODEV), _)) => Err(Error::Backend(
                "the ublk of this kernel is too old for the lab (Linux 6.5 has what it needs); use --backend fuse"
                    .to_owned(),
            )),
            Err((_, error)) => Err(failed(format!(
                "give commands to {DEV_CONTROL} through io_uring (is kernel.io_uring_disabled 0?); or use --backend \
                 fuse"
            ))(error)),
        }
    }

    /// Creates a device with this mark, without a block device. Returns its number.
    pub(super) fn add(&self, depth: u16, mark: u64) -> Result<u32> {
        let mut info = abi::new_device(depth, mark);
        self.exchange(abi::ADD_DEV, abi::NO_DEVICE, &mut info).map_err(failed("make a ublk device"))?;
        Ok(abi::info(&info).device)
    }

    /// Sets size and limits of the block device.
    pub(super) fn describe(&self, device: u32, size_bytes: u64, write_cache: bool) -> Result<()> {
        let mut parameters = abi::parameters(size_bytes, write_cache);
        self.exchange(abi::SET_PARAMS, device, &mut parameters)
            .map_err(failed(format!("describe ublk device {device} to the kernel")))
    }

    /// Starts the block device of the device with this mark. Its server must be running, and must not be the caller:
    /// the kernel reads from the device during the call.
    pub(crate) fn start(&self, mark: u64, server_pid: u32) -> Result<Own> {
        let own = self.own(mark)?.first().copied().ok_or_else(|| {
            refused("the ublk device went away before it was started (did someone remove it?)".to_owned())
        })?;
        self.order(abi::START_DEV, own.device, server_pid.into(), START_WITHIN)
            .map_err(failed(format!("start ublk device {}", own.device)))?;
        Ok(Own { live: true, ..own })
    }

    /// Removes the block device; does nothing when there is none.
    pub(crate) fn stop(&self, own: Own) -> Result<()> {
        gone_is_fine(self.order(abi::STOP_DEV, own.device, 0, STOP_WITHIN))
            .map_err(failed(format!("stop /dev/{}", own.name())))
    }

    /// Removes the device, which its server must have closed. False when the block device is still open: the device
    /// then disappears when it is closed.
    pub(crate) fn delete(&self, own: Own) -> Result<bool> {
        match gone_is_fine(self.order(abi::DEL_DEV, own.device, 0, DELETE_WITHIN)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Ok(false),
            Err(error) => Err(failed(format!("remove ublk device {}", own.device))(error)),
        }
    }

    /// All devices with the mark, as reported by the driver.
    pub(crate) fn own(&self, mark: u64) -> Result<Vec<Own>> {
        let entries = std::fs::read_dir("/dev").map_err(failed("look for ublk devices in /dev"))?;
        let numbers =
            entries.flatten().filter_map(|entry| entry.file_name().to_str()?.strip_prefix("ublkc")?.parse().ok());
        let mut own = Vec::new();
        for device in numbers {
            let mut bytes = [0; abi::INFO_BYTES];
            // A device that disappears meanwhile has no mark.
            if self.exchange(abi::GET_DEV_INFO, device, &mut bytes).is_ok() {
                let info = abi::info(&bytes);
                own.extend((info.mark == mark).then_some(Own { device, live: info.live }));
            }
        }
        Ok(own)
    }

    /// Runs a command that reads or fills `bytes`. There is no time limit, since the kernel uses the memory until the
    /// end; the driver does not wait for other processes in these commands.
    fn exchange(&self, code: u32, device: u32, bytes: &mut [u8]) -> io::Result<()> {
        self.command(code, abi::control_command(device, bytes.len(), bytes.as_mut_ptr() as u64, 0), None)
    }

    /// Runs a command without memory of this process, with a time limit.
    fn order(&self, code: u32, device: u32, data: u64, within: Duration) -> io::Result<()> {
        self.command(code, abi::control_command(device, 0, 0, data), Some(within))
    }

    fn command(&self, code: u32, bytes: [u8; 80], within: Option<Duration>) -> io::Result<()> {
        // A ring for each command: one that exceeds its limit stays in its own ring and cannot be confused with others.
        let mut ring: IoUring<squeue::Entry128> = IoUring::builder().build(1)?;
        let entry = opcode::UringCmd80::new(Fd(self.file.as_raw_fd()), code).cmd(bytes).build();
        // SAFETY: the file stays open as long as the ring; memory in the command belongs to the caller, who is blocked
        // here until the command is complete, as there is then no time limit (see `exchange`).
        unsafe { ring.submission().push(&entry) }.map_err(io::Error::other)?;
        let deadline = within.map(|within| Instant::now() + within);
        loop {
            let waited = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                None => ring.submit_and_wait(1),
                Some(left) => {
                    let left = Timespec::from(left);
                    ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&left))
                }
            };
            if let Some(entry) = ring.completion().next() {
                return match entry.result() {
                    0.. => Ok(()),
                    errno => Err(io::Error::from_raw_os_error(-errno)),
                };
            }
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return Err(io::ErrorKind::TimedOut.into());
            }
            match waited {
                Err(error) if !ring.submission().is_empty() && error.kind() != io::ErrorKind::Interrupted => {
                    return Err(error);
                }
                // It was submitted, so its completion must be awaited.
                _ => {}
            }
        }
    }
}

fn gone_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(()),
        result => result,
    }
}
