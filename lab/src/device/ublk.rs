//! ublk connection to the kernel: a block device whose requests arrive through io_uring.
//!
//! The driver describes each request in the *descriptor* of its *tag* and completes the tag's command on the ring; the
//! reply is sent with the command for the tag's next request. Data moves by reads and writes of the device's file, so
//! that it is copied once, between the request's pages and the server's memory. The device has as many tags as the
//! preset has queue depth, so the block layer itself limits the requests in flight.
//!
//! Life cycle of a device: the server creates it and fetches on all tags ([`Front::new`]); `up` starts its block
//! device; `down` stops it while the server answers, ends the server, and removes it.

mod abi;
mod control;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::os::unix::fs::FileExt as _;
use std::ptr::NonNull;

use io_uring::types::Fd;
use io_uring::{EnterFlags, IoUring, opcode};

pub(crate) use abi::DEPTH_MAX;
pub(crate) use control::{Control, DEV_CONTROL, Own};

use crate::device::emulated::Outcome;
use crate::device::error::{Error, Result, io as failed};
use crate::device::log::log;
use crate::device::request::{Call, Received, Request};
use crate::device::store::Store;

/// The server's side of a device.
pub(crate) struct Front {
    ring: IoUring,
    device: File,
    descriptors: Descriptors,
    /// Data of the last received write.
    buffer: Vec<u8>,
    depth: u16,
    /// Tags that the driver has aborted.
    retired: u16,
}

impl Front {
    /// Creates a device with `mark` and fetches its requests.
    pub(crate) fn new(mark: u64, size_bytes: u64, depth_requests: u32, write_cache: bool) -> Result<Self> {
        let depth = depth_requests.clamp(1, DEPTH_MAX) as u16;
        let control = Control::open()?;
        let number = control.add(depth, mark)?;
        control.describe(number, size_bytes, write_cache)?;
        let path = format!("/dev/ublkc{number}");
        let device = File::options().read(true).write(true).open(&path).map_err(|source| Error::NoDeviceFile {
            path: path.into(),
            remedy: "the kernel allocated this number, but /dev has no such file (is devtmpfs mounted on /dev?)",
            source,
        })?;
        let setting_up = || failed("set up the queue of the ublk device");
        let descriptors = Descriptors::map(&device, depth).map_err(setting_up())?;
        let buffer = vec![0; abi::BUFFER_BYTES as usize];
        let ring = IoUring::new(u32::from(depth).next_power_of_two()).map_err(setting_up())?;
        let mut front = Self { ring, device, descriptors, buffer, depth, retired: 0 };
        for tag in 0..depth {
            front.command(abi::FETCH, tag, 0).map_err(setting_up())?;
        }
        Ok(front)
    }

    /// Returns the next request, if there is one.
    pub(crate) fn receive(&mut self) -> io::Result<Received<'_>> {
        let Some((tag, result)) = self.completion()? else { return Ok(Received::Nothing) };
        if result != 0 || tag >= self.depth {
            // The device is being stopped: the driver aborts the tag.
            if result != -libc::ENODEV {
                log(&format!("the driver gave tag {tag} back: {}", io::Error::from_raw_os_error(-result)));
            }
            self.retired = (self.retired + 1).min(self.depth);
            return Ok(if self.retired == self.depth { Received::Gone } else { Received::Own });
        }
        let abi::Descriptor { operation, offset_bytes, len_bytes } = self.descriptors.of(tag);
        let call = match operation {
            abi::Operation::Read => Call::Read { offset_bytes, len_bytes },
            abi::Operation::Write => {
                let len = len_bytes as usize;
                if self.device.read_exact_at(&mut self.buffer[..len], abi::data_offset(tag)).is_err() {
                    self.command(abi::COMMIT_AND_FETCH, tag, -libc::EIO)?;
                    return Ok(Received::Own);
                }
                Call::Write { offset_bytes, data: &self.buffer[..len] }
            }
            abi::Operation::Flush => Call::Flush,
            abi::Operation::Discard => Call::Discard { offset_bytes, len_bytes },
            abi::Operation::Unknown => {
                self.command(abi::COMMIT_AND_FETCH, tag, -libc::EOPNOTSUPP)?;
                return Ok(Received::Own);
            }
        };
        Ok(Received::Request(Request { unique: tag.into(), call }))
    }

    /// Replies to a request and fetches the next one of its tag.
    pub(crate) fn reply(&mut self, unique: u64, outcome: Outcome, store: &Store) -> io::Result<()> {
        let tag = unique as u16;
        let result = match outcome {
            Outcome::Data { offset_bytes, len_bytes } => {
                match self.device.write_all_at(store.read(offset_bytes, len_bytes), abi::data_offset(tag)) {
                    Ok(()) => len_bytes as i32,
                    Err(_) => -libc::EIO,
                }
            }
            Outcome::Written { len_bytes } => len_bytes as i32,
            Outcome::Done => 0,
            Outcome::Failed(errno) => -errno,
        };
        self.command(abi::COMMIT_AND_FETCH, tag, result)
    }

    /// Submits at once, as a queued reply would be late.
    fn command(&mut self, code: u32, tag: u16, result: i32) -> io::Result<()> {
        let bytes = abi::io_command(tag, result);
        let entry = opcode::UringCmd16::new(Fd(self.device.as_raw_fd()), code).cmd(bytes).build();
        // SAFETY: the file stays open as long as the ring, and the command names no memory.
        unsafe { self.ring.submission().push(&entry.user_data(tag.into())) }.map_err(io::Error::other)?;
        loop {
            match self.ring.submit() {
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                submitted => return submitted.map(drop),
            }
        }
    }

    /// The next completed command: its tag and result. The driver completes in the context of this thread, which has to
    /// enter the kernel for it.
    fn completion(&mut self) -> io::Result<Option<(u16, i32)>> {
        if self.ring.completion().is_empty() {
            // SAFETY: nothing is submitted and no argument is passed; the call only lets the kernel's work for this
            // thread run.
            let entered = unsafe { self.ring.submitter().enter::<()>(0, 0, EnterFlags::GETEVENTS.bits(), None) };
            match entered {
                Err(error) if error.raw_os_error() != Some(libc::EINTR) => return Err(error),
                _ => {}
            }
        }
        Ok(self.ring.completion().next().map(|entry| (entry.user_data() as u16, entry.result())))
    }
}

impl AsFd for Front {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the ring stays open as long as `self` is borrowed.
        unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) }
    }
}

/// The descriptors of all tags, written by the driver.
struct Descriptors {
    base: NonNull<[u8; abi::DESCRIPTOR_BYTES]>,
    depth: u16,
}

impl Descriptors {
    fn map(device: &File, depth: u16) -> io::Result<Self> {
        // SAFETY: a fresh mapping at an address of the kernel's choice disturbs no other memory.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                Self::bytes(depth),
                libc::PROT_READ,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                device.as_raw_fd(),
                0,
            )
        };
        match NonNull::new(address.cast()) {
            Some(base) if address != libc::MAP_FAILED => Ok(Self { base, depth }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn bytes(depth: u16) -> usize {
        usize::from(depth) * abi::DESCRIPTOR_BYTES
    }

    /// The request of a tag whose command is complete; the driver does not write there until the reply.
    fn of(&self, tag: u16) -> abi::Descriptor {
        assert!(tag < self.depth, "tags were checked against the depth");
        // SAFETY: the mapping holds `depth` descriptors without gaps and stays as long as `self`; bytes need no
        // alignment.
        let bytes = unsafe { self.base.add(tag.into()).read_volatile() };
        abi::descriptor(&bytes)
    }
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` and nothing borrows from it.
        unsafe { libc::munmap(self.base.as_ptr().cast(), Self::bytes(self.depth)) };
    }
}
