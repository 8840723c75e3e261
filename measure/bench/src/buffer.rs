//! Memory for direct I/O, and the data that is written.
//!
//! Written data can neither be compressed nor deduplicated by the layers below: a buffer holds noise, and before each
//! write every sector of it gets a stamp (its address and a number that no other write has).
//!
//! A slot (one request in flight) owns several buffers and uses them in turn, so that adjacent data on the medium
//! differs over at least [`NOISE_BYTES`], more than the window over which file systems compress.

use std::io;
use std::ptr::NonNull;

use brisk_core::random::{Random, mix};

/// Length of the noise before a buffer is used again with new stamps.
pub const NOISE_BYTES: usize = 1 << 20;
/// Distance between stamps.
const STAMP_EVERY_BYTES: usize = 512;

/// Page-aligned memory, initially zero.
#[derive(Debug)]
pub struct Memory {
    start: NonNull<u8>,
    len_bytes: usize,
}

// SAFETY: the memory belongs to this value alone, as a boxed slice would.
unsafe impl Send for Memory {}

impl Memory {
    /// Allocates at least one page, populated, so that no page fault falls into a measurement.
    ///
    /// # Errors
    /// When the kernel is out of memory.
    pub fn new(len_bytes: usize) -> io::Result<Self> {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
        let len_bytes = len_bytes.max(1).next_multiple_of(4096);
        // SAFETY: a new anonymous mapping at an address that the kernel chooses aliases nothing.
        let start = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                len_bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::POPULATE,
            )?
        };
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(Self { start, len_bytes })
    }

    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping is live, readable and zeroed or written through this value only.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len_bytes) }
    }

    /// The whole memory, mutable.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len_bytes) }
    }

    /// Its address, for system calls.
    #[must_use]
    pub fn as_mut_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `new` with this length, and no borrow of it is left.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.len_bytes) };
    }
}

/// The buffers of the requests in flight.
#[derive(Debug)]
pub struct Buffers {
    memory: Memory,
    block_bytes: usize,
    per_slot: usize,
    turns: Vec<usize>,
    /// Offset of each slot's next part in its buffers.
    parts: Vec<usize>,
}

impl Buffers {
    /// Buffers of `block_bytes` for `slots` requests in flight; filled with noise when they are to be written.
    ///
    /// # Errors
    /// When the kernel is out of memory.
    pub fn new(slots: usize, block_bytes: usize, noise_seed: Option<u64>) -> io::Result<Self> {
        let per_slot = match noise_seed {
            Some(_) => NOISE_BYTES.div_ceil(slots * block_bytes).max(1),
            None => 1,
        };
        let mut memory = Memory::new(slots * per_slot * block_bytes)?;
        if let Some(seed) = noise_seed {
            Random(seed).fill(memory.bytes_mut());
        }
        Ok(Self { memory, block_bytes, per_slot, turns: vec![0; slots], parts: vec![0; slots] })
    }

    /// The whole memory, for registration with io_uring.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The current buffer of a slot.
    #[inline]
    #[must_use]
    pub fn of(&self, slot: usize) -> *mut u8 {
        let buffer = slot * self.per_slot + self.turns[slot];
        self.memory.as_mut_ptr().wrapping_add(buffer * self.block_bytes)
    }

    /// The slot's next buffer, stamped for the write number `number` at `offset_bytes`.
    ///
    /// The slot must have no request in flight.
    #[inline]
    pub fn stamped(&mut self, slot: usize, offset_bytes: u64, number: u64) -> *mut u8 {
        self.turns[slot] = (self.turns[slot] + 1) % self.per_slot;
        let start = (slot * self.per_slot + self.turns[slot]) * self.block_bytes;
        stamp(&mut self.memory.bytes_mut()[start..start + self.block_bytes], offset_bytes, number);
        self.of(slot)
    }

    /// The next `len_bytes` of the slot's buffers, stamped: for writes of several sizes from buffers of the largest
    /// size. The parts differ from each other as whole buffers do, and only the written bytes are stamped.
    ///
    /// The slot must have no request in flight.
    ///
    /// # Panics
    /// When `len_bytes` is longer than a buffer.
    #[inline]
    pub fn stamped_part(&mut self, slot: usize, len_bytes: usize, offset_bytes: u64, number: u64) -> *mut u8 {
        assert!(len_bytes <= self.block_bytes, "a part is no longer than its buffer");
        let area_bytes = self.per_slot * self.block_bytes;
        let part = if self.parts[slot] + len_bytes > area_bytes { 0 } else { self.parts[slot] };
        self.parts[slot] = part + len_bytes;
        let start = slot * area_bytes + part;
        stamp(&mut self.memory.bytes_mut()[start..start + len_bytes], offset_bytes, number);
        self.memory.as_mut_ptr().wrapping_add(start)
    }

    #[must_use]
    pub fn block_bytes(&self) -> usize {
        self.block_bytes
    }
}

/// Stamps every sector of `block` with its address and a number derived from address and `number`.
#[inline]
pub(crate) fn stamp(block: &mut [u8], offset_bytes: u64, number: u64) {
    for (index, sector) in block.chunks_exact_mut(STAMP_EVERY_BYTES).enumerate() {
        let at = offset_bytes + (index * STAMP_EVERY_BYTES) as u64;
        sector[..8].copy_from_slice(&at.to_le_bytes());
        sector[8..16].copy_from_slice(&mix(at ^ mix(number)).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn buffers_are_aligned_for_direct_io() {
        let buffers = Buffers::new(3, 4096, Some(1)).expect("memory");
        for slot in 0..3 {
            assert_eq!(buffers.of(slot) as usize % 4096, 0);
        }
    }

    #[test]
    fn no_two_sectors_written_are_equal() {
        let mut buffers = Buffers::new(2, 4096, Some(7)).expect("memory");
        let mut seen = HashSet::new();
        for number in 0..2_000u64 {
            let slot = (number % 2) as usize;
            let offset = number % 5 * 4096;
            let start = buffers.stamped(slot, offset, number);
            // SAFETY: the buffer has 4096 bytes, and no write to it happens during this borrow.
            let block = unsafe { std::slice::from_raw_parts(start, 4096) };
            for sector in block.chunks(512) {
                assert!(seen.insert(sector.to_vec()), "write {number} repeats a sector");
            }
        }
    }

    #[test]
    fn parts_are_aligned_stay_in_their_slot_and_do_not_repeat() {
        let mut buffers = Buffers::new(2, 65_536, Some(3)).expect("memory");
        let area_bytes = buffers.memory().bytes().len() / 2;
        let start = buffers.memory().as_mut_ptr() as usize;
        let mut words = HashSet::new();
        for number in 0..120u64 {
            let len = [4096, 16_384, 65_536][number as usize % 3];
            let part = buffers.stamped_part(1, len, number * 65_536, number);
            let at = part as usize - start;
            assert!(at.is_multiple_of(4096) && (area_bytes..=2 * area_bytes - len).contains(&at), "{at}");
            // SAFETY: the part is longer than 16 bytes, and no write to it happens during this borrow.
            let head = unsafe { std::slice::from_raw_parts(part, 16) };
            assert!(words.insert(head.to_vec()), "write {number} repeats another");
        }
    }

    #[test]
    fn consecutive_writes_cannot_be_compressed() {
        // A run of zeros or a repeat would show as a frequent byte or an early repetition of eight bytes.
        let mut buffers = Buffers::new(1, 4096, Some(9)).expect("memory");
        let mut words = HashSet::new();
        for number in 0..200u64 {
            let start = buffers.stamped(0, number * 4096, number);
            // SAFETY: as above.
            let block = unsafe { std::slice::from_raw_parts(start, 4096) };
            for word in block.chunks(8) {
                assert!(words.insert(word.to_vec()), "eight bytes came twice within 1 MiB");
            }
        }
    }
}
