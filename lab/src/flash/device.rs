//! A running device: a safe wrapper of the C core.

use std::ffi::c_void;
use std::ptr::NonNull;

use thiserror::Error;

use crate::flash::preset::Preset;
use crate::flash::raw::{self, Counters, RawCompletion, RawDevice, RawRequest};
use crate::flash::{PAGE_BYTES, ParameterError};

/// Why a device could not be created or changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DeviceError {
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    #[error("a capacity of {0} bytes is not a positive multiple of {PAGE_BYTES}")]
    Capacity(u64),
    #[error(
        "a device of {0} bytes with these blocks is larger than the model can hold: use larger block_pages or less \
         spare_percent"
    )]
    TooLarge(u64),
    #[error("this parameter shapes the device and cannot change while it runs: make a new device")]
    Structural,
}

/// Why a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SubmitError {
    /// The queue is full: wait for a completion.
    #[error("the device's queue is full")]
    Full,
    #[error("the request lies outside the device")]
    OutOfRange,
    #[error("offset and length must be multiples of {PAGE_BYTES} bytes")]
    Misaligned,
}

/// Operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Data from the device.
    Read,
    /// Data to the device.
    Write,
    /// Makes all finished writes durable; offset and length are ignored.
    Flush,
    Discard,
}

/// A request of the block layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The caller's id.
    pub tag: u64,
    pub kind: Kind,
    /// First byte; a multiple of [`PAGE_BYTES`].
    pub offset_bytes: u64,
    /// Length; a multiple of [`PAGE_BYTES`].
    pub len_bytes: u64,
    /// Forced unit access: the write completes only when it is durable.
    pub fua: bool,
}

/// Status of a completed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Ok,
    /// The cells could not be read.
    ReadError,
    /// It hung until the faults were cleared.
    TimedOut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The caller's id of the request.
    pub tag: u64,
    /// Completion time, in nanoseconds of the caller's clock.
    pub at_ns: u64,
    pub status: Status,
}

/// An injected fault, in force until [`Device::clear_faults`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Reads that touch the range fail.
    ReadError { offset_bytes: u64, len_bytes: u64 },
    /// Requests that touch the range hang.
    Timeout { offset_bytes: u64, len_bytes: u64 },
}

/// A simulated device of a given capacity.
#[derive(Debug)]
pub struct Device {
    raw: NonNull<RawDevice>,
    /// Memory that `raw` points into: a leaked box, which is restored on drop.
    memory: NonNull<[u64]>,
    capacity_bytes: u64,
    now_ns: u64,
    /// Completions not yet returned.
    finished: Vec<Completion>,
}

// SAFETY: the C core has no global state; a device's memory belongs to this value alone.
unsafe impl Send for Device {}

impl Device {
    /// Creates a device of `capacity_bytes` with the parameters of `preset`.
    ///
    /// # Errors
    /// When the capacity is not a multiple of a page or a parameter is outside of its range.
    pub fn new(preset: &Preset, capacity_bytes: u64) -> Result<Self, DeviceError> {
        if capacity_bytes == 0 || !capacity_bytes.is_multiple_of(PAGE_BYTES) {
            return Err(DeviceError::Capacity(capacity_bytes));
        }
        let params = preset.raw(capacity_bytes / PAGE_BYTES)?;
        // SAFETY: the pointer is valid for the call.
        let bytes = unsafe { raw::bf_memory_bytes(&raw const params) };
        if bytes == 0 {
            return Err(DeviceError::TooLarge(capacity_bytes));
        }
        let memory = NonNull::from(Box::leak(vec![0u64; bytes.div_ceil(8)].into_boxed_slice()));
        let mut device = std::ptr::null_mut();
        // SAFETY: memory holds at least `bytes` bytes, aligned to 8; both pointers are valid for the call.
        let code = unsafe {
            raw::bf_init(memory.as_ptr().cast::<c_void>(), memory.len() * 8, &raw const params, &raw mut device)
        };
        let raw = NonNull::new(device).filter(|_| code == 0).expect("the parameters were checked and the memory fits");
        Ok(Self { raw, memory, capacity_bytes, now_ns: 0, finished: Vec::new() })
    }

    /// Changes times and energies; contents and state stay.
    ///
    /// # Errors
    /// When a parameter is outside of its range, or one that determines the device's memory differs.
    pub fn reconfigure(&mut self, preset: &Preset) -> Result<(), DeviceError> {
        let params = preset.raw(self.capacity_bytes / PAGE_BYTES)?;
        // SAFETY: the device is alive and the pointer valid for the call.
        let code = unsafe { raw::bf_reconfigure(self.raw.as_ptr(), &raw const params) };
        if code == 0 { Ok(()) } else { Err(DeviceError::Structural) }
    }

    /// Submits a request that arrives at `now_ns`. A time before an earlier call's counts as that call's.
    ///
    /// # Errors
    /// When the queue is full or the request does not fit the device; there is then no effect.
    pub fn submit(&mut self, now_ns: u64, request: Request) -> Result<(), SubmitError> {
        let aligned = request.offset_bytes.is_multiple_of(PAGE_BYTES) && request.len_bytes.is_multiple_of(PAGE_BYTES);
        if request.kind != Kind::Flush && !aligned {
            return Err(SubmitError::Misaligned);
        }
        let (page, pages) = match request.kind {
            Kind::Flush => (0, 0),
            _ => (request.offset_bytes / PAGE_BYTES, request.len_bytes / PAGE_BYTES),
        };
        let raw_request = RawRequest {
            tag: request.tag,
            page,
            pages: u32::try_from(pages).map_err(|_| SubmitError::OutOfRange)?,
            op: match request.kind {
                Kind::Read => 0,
                Kind::Write => 1,
                Kind::Flush => 2,
                Kind::Discard => 3,
            },
            fua: u32::from(request.fua),
            reserved: 0,
        };
        self.run(now_ns);
        // SAFETY: the device is alive and the pointer valid for the call.
        let code = unsafe { raw::bf_submit(self.raw.as_ptr(), self.now_ns, &raw const raw_request) };
        self.collect();
        match code {
            0 => Ok(()),
            -3 => Err(SubmitError::Full),
            _ => Err(SubmitError::OutOfRange),
        }
    }

    /// Time of the next work for [`Device::advance`]: immediate with pending completions; `None` for an idle device.
    #[must_use]
    pub fn next_event_ns(&self) -> Option<u64> {
        if !self.finished.is_empty() {
            return Some(self.now_ns);
        }
        // SAFETY: the device is alive.
        let next = unsafe { raw::bf_next_event(self.raw.as_ptr()) };
        (next != raw::BF_NEVER).then_some(next)
    }

    /// Advances to `now_ns` and appends completions, in order, to `done`.
    pub fn advance(&mut self, now_ns: u64, done: &mut Vec<Completion>) {
        self.run(now_ns);
        done.append(&mut self.finished);
    }

    /// Runs the core until `now_ns` and frees the slots of completed requests.
    fn run(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
        // SAFETY: the device is alive.
        unsafe { raw::bf_run(self.raw.as_ptr(), self.now_ns) };
        self.collect();
    }

    fn collect(&mut self) {
        let mut completion = RawCompletion::default();
        // SAFETY: the device is alive and the pointer valid for the call.
        while unsafe { raw::bf_collect(self.raw.as_ptr(), &raw mut completion) } != 0 {
            self.finished.push(Completion {
                tag: completion.tag,
                at_ns: completion.at_ns,
                status: match completion.status {
                    0 => Status::Ok,
                    1 => Status::ReadError,
                    _ => Status::TimedOut,
                },
            });
        }
    }

    /// Requests in the device: neither finished nor collected.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        // SAFETY: the device is alive.
        unsafe { raw::bf_in_flight(self.raw.as_ptr()) }
    }

    /// The latest time passed to the device, in nanoseconds of the caller's clock.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    #[must_use]
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    #[must_use]
    pub fn counters(&self) -> Counters {
        // SAFETY: the device is alive; the pointer is into it and is read at once.
        unsafe { *raw::bf_counters(self.raw.as_ptr()) }
    }

    /// Injects a fault; at most 16 at a time.
    ///
    /// # Errors
    /// When the range is not on the device or not aligned, or there are too many faults.
    pub fn inject(&mut self, fault: Fault) -> Result<(), SubmitError> {
        let (offset_bytes, len_bytes) = match fault {
            Fault::ReadError { offset_bytes, len_bytes } | Fault::Timeout { offset_bytes, len_bytes } => {
                (offset_bytes, len_bytes)
            }
        };
        if !offset_bytes.is_multiple_of(PAGE_BYTES) || !len_bytes.is_multiple_of(PAGE_BYTES) {
            return Err(SubmitError::Misaligned);
        }
        let (page, pages) = (offset_bytes / PAGE_BYTES, len_bytes / PAGE_BYTES);
        // SAFETY: the device is alive.
        let code = unsafe {
            match fault {
                Fault::ReadError { .. } => raw::bf_fault_read_error(self.raw.as_ptr(), page, pages),
                Fault::Timeout { .. } => raw::bf_fault_timeout(self.raw.as_ptr(), page, pages),
            }
        };
        match code {
            0 => Ok(()),
            -3 => Err(SubmitError::Full),
            _ => Err(SubmitError::OutOfRange),
        }
    }

    /// Clears all faults; hanging requests complete as timed out at the next [`Device::advance`].
    pub fn clear_faults(&mut self) {
        // SAFETY: the device is alive.
        unsafe { raw::bf_clear_faults(self.raw.as_ptr(), self.now_ns) };
        self.collect();
    }

    /// Aborts the request with that tag if it hangs, as a driver does after its time-out: it completes as timed out at
    /// the next [`Device::advance`]. Returns `false`, without effect, when no such request hangs.
    pub fn abort(&mut self, tag: u64) -> bool {
        // SAFETY: the device is alive.
        let hung = unsafe { raw::bf_abort(self.raw.as_ptr(), self.now_ns, tag) } == 0;
        self.collect();
        hung
    }

    /// Whether the newest data of this 4 KiB page is only in the volatile write buffer.
    #[must_use]
    pub fn is_volatile(&self, page: u64) -> bool {
        // SAFETY: the device is alive.
        unsafe { raw::bf_is_volatile(self.raw.as_ptr(), page) != 0 }
    }

    /// Power fails at `now_ns`: the queue is dropped, and of the pages at risk the returned ones (ascending, unique)
    /// revert to their last durable content. `seed` determines the choice.
    pub fn power_cut(&mut self, now_ns: u64, seed: u64) -> Vec<u64> {
        unsafe extern "C" fn remember(context: *mut c_void, page: u64) {
            // SAFETY: the context is the vector below, which outlives the call that calls back.
            let lost = unsafe { &mut *context.cast::<Vec<u64>>() };
            lost.push(page);
        }
        self.now_ns = self.now_ns.max(now_ns);
        let mut lost: Vec<u64> = Vec::new();
        self.finished.clear();
        // SAFETY: the device is alive; the callback is called only during this call, with the vector as context.
        unsafe { raw::bf_power_cut(self.raw.as_ptr(), self.now_ns, seed, remember, (&raw mut lost).cast()) };
        lost.sort_unstable();
        lost.dedup();
        lost
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: it came from a leaked box of this type, and the device is no longer used.
        drop(unsafe { Box::from_raw(self.memory.as_ptr()) });
    }
}
