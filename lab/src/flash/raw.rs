//! Declarations of the C core, one to one with `c/brisk_flash.h`.
//!
//! A test compares the sizes with the C compiler's, another the behaviour on every preset.

use std::ffi::{c_char, c_int, c_void};

use serde::Serialize;

pub(crate) const BF_NEVER: u64 = u64::MAX;

#[repr(C)]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Params {
    pub(crate) pages: u64,
    pub(crate) command_ns: u64,
    pub(crate) read_lookup_ns: u64,
    pub(crate) bus_page_ns: u64,
    pub(crate) flush_ns: u64,
    pub(crate) discard_ns: u64,
    pub(crate) read_ns: u64,
    pub(crate) read_next_ns: u64,
    pub(crate) read_floor_ns: u64,
    pub(crate) program_ns: u64,
    pub(crate) channel_page_ns: u64,
    pub(crate) stray_ns: u64,
    pub(crate) stray_slice_ns: u64,
    pub(crate) erase_ns: u64,
    pub(crate) copy_page_ns: u64,
    pub(crate) suspend_ns: u64,
    pub(crate) slc_pages: u64,
    pub(crate) slc_program_ns: u64,
    pub(crate) fold_page_ns: u64,
    pub(crate) fold_idle_ns: u64,
    pub(crate) map_zone_pages: u64,
    pub(crate) map_load_ns: u64,
    pub(crate) command_nj: u64,
    pub(crate) bus_page_nj: u64,
    pub(crate) read_page_nj: u64,
    pub(crate) program_page_nj: u64,
    pub(crate) erase_nj: u64,
    pub(crate) queue_depth: u32,
    pub(crate) units: u32,
    pub(crate) program_pages: u32,
    pub(crate) program_any: u32,
    pub(crate) read_ramp_pages: u32,
    pub(crate) reads_per_turn: u32,
    pub(crate) read_chunk_pages: u32,
    pub(crate) buffer_pages: u32,
    pub(crate) write_cache: u32,
    pub(crate) suspends_max: u32,
    pub(crate) mapping: u32,
    pub(crate) block_pages: u32,
    pub(crate) spare_percent: u32,
    pub(crate) gc_low_blocks: u32,
    pub(crate) log_blocks: u32,
    pub(crate) map_zones: u32,
    pub(crate) filled_percent: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawRequest {
    pub(crate) tag: u64,
    pub(crate) page: u64,
    pub(crate) pages: u32,
    pub(crate) op: u32,
    pub(crate) fua: u32,
    pub(crate) reserved: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RawCompletion {
    pub(crate) tag: u64,
    pub(crate) at_ns: u64,
    pub(crate) status: u32,
    pub(crate) reserved: u32,
}

/// Counters of a device since its creation or their reset.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    pub reads: u64,
    pub writes: u64,
    pub flushes: u64,
    pub discards: u64,
    /// Pages of 4 KiB that were read.
    pub pages_read: u64,
    pub pages_written: u64,
    /// Pages that were discarded.
    pub pages_discarded: u64,
    /// Pages read from, or overwritten in, the write buffer.
    pub buffer_hits: u64,
    /// Reads that continued a run.
    pub run_reads: u64,
    /// Programs of the cells for the host.
    pub programs: u64,
    pub programs_partial: u64,
    /// Of these: not continuing a sequence of writes.
    pub programs_stray: u64,
    /// Of these: into the fast cache.
    pub programs_slc: u64,
    /// Pages programmed for the host.
    pub pages_programmed: u64,
    /// Pages programmed by garbage collection, merges and folding.
    pub pages_moved: u64,
    pub erases: u64,
    /// Merges that copied a whole block.
    pub merges_full: u64,
    /// Merges that copied the rest of a block.
    pub merges_partial: u64,
    /// Merges that only needed an erase.
    pub merges_switch: u64,
    /// Mapping tables loaded for writes.
    pub map_loads: u64,
    /// Programs suspended for a read.
    pub suspends: u64,
    /// Most requests in the device at once.
    pub in_flight_max: u64,
    /// Modelled energy of all operations in nanojoules; without idle power.
    pub energy_nj: u64,
}

#[repr(C)]
pub(crate) struct RawDevice {
    _opaque: [u8; 0],
}

unsafe extern "C" {
    pub(crate) fn bf_check(params: *const Params, field: *mut *const c_char) -> c_int;
    pub(crate) fn bf_memory_bytes(params: *const Params) -> usize;
    pub(crate) fn bf_init(
        memory: *mut c_void,
        bytes: usize,
        params: *const Params,
        device: *mut *mut RawDevice,
    ) -> c_int;
    pub(crate) fn bf_reconfigure(device: *mut RawDevice, params: *const Params) -> c_int;
    pub(crate) fn bf_submit(device: *mut RawDevice, now: u64, request: *const RawRequest) -> c_int;
    pub(crate) fn bf_next_event(device: *const RawDevice) -> u64;
    pub(crate) fn bf_run(device: *mut RawDevice, now: u64);
    pub(crate) fn bf_collect(device: *mut RawDevice, completion: *mut RawCompletion) -> c_int;
    pub(crate) fn bf_in_flight(device: *const RawDevice) -> u32;
    pub(crate) fn bf_counters(device: *const RawDevice) -> *const Counters;
    pub(crate) fn bf_fault_read_error(device: *mut RawDevice, page: u64, pages: u64) -> c_int;
    pub(crate) fn bf_fault_timeout(device: *mut RawDevice, page: u64, pages: u64) -> c_int;
    pub(crate) fn bf_clear_faults(device: *mut RawDevice, now: u64);
    pub(crate) fn bf_abort(device: *mut RawDevice, now: u64, tag: u64) -> c_int;
    pub(crate) fn bf_is_volatile(device: *const RawDevice, page: u64) -> c_int;
    pub(crate) fn bf_power_cut(
        device: *mut RawDevice,
        now: u64,
        seed: u64,
        lost: unsafe extern "C" fn(*mut c_void, u64),
        context: *mut c_void,
    ) -> u32;
    #[cfg(test)]
    fn bf_params_bytes() -> usize;
    #[cfg(test)]
    fn bf_counters_bytes() -> usize;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_and_c_agree_on_the_layout() {
        // SAFETY: both functions only return a constant.
        let (params, counters) = unsafe { (bf_params_bytes(), bf_counters_bytes()) };
        assert_eq!(params, size_of::<Params>());
        assert_eq!(counters, size_of::<Counters>());
    }
}
