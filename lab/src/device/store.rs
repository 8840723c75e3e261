//! The data of the device: anonymous memory that is allocated and locked page by page on first use.
//!
//! A page that was never written, or was discarded, takes no memory and reads as zeroes. Locking prevents the server
//! from waiting for a swap device that may be its own.

use std::io;
use std::ptr::NonNull;

/// Bytes of a page of the model and of the kernel's smallest request here.
pub(crate) const PAGE_BYTES: u64 = 4096;

/// The memory of the device.
#[derive(Debug)]
pub(crate) struct Store {
    base: NonNull<u8>,
    size_bytes: usize,
    /// One bit a page: written since it was last discarded.
    present: Vec<u64>,
}

// SAFETY: the mapping belongs to this value alone and is not bound to the thread that made it.
unsafe impl Send for Store {}

impl Store {
    /// Maps `size_bytes`, a multiple of the page size. Takes no memory yet.
    pub(crate) fn new(size_bytes: u64) -> io::Result<Self> {
        let size = usize::try_from(size_bytes).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice disturbs no other memory.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        let base = match NonNull::new(address.cast::<u8>()) {
            Some(base) if address != libc::MAP_FAILED => base,
            _ => return Err(io::Error::last_os_error()),
        };
        let pages = size_bytes / PAGE_BYTES;
        let store = Self { base, size_bytes: size, present: vec![0; pages.div_ceil(64) as usize] };
        // Huge pages would make a first write cost a hundred microseconds and a discard free nothing; a child needs no
        // copy.
        for advice in [libc::MADV_NOHUGEPAGE, libc::MADV_DONTFORK] {
            // SAFETY: the range is the mapping made above. Advice that the kernel lacks costs time, not truth.
            unsafe { libc::madvise(address, size, advice) };
        }
        Ok(store)
    }

    pub(crate) fn size_bytes(&self) -> u64 {
        self.size_bytes as u64
    }

    /// Whether a range lies on the device.
    pub(crate) fn holds(&self, offset_bytes: u64, len_bytes: u64) -> bool {
        offset_bytes.checked_add(len_bytes).is_some_and(|end| end <= self.size_bytes())
    }

    pub(crate) fn present_bytes(&self) -> u64 {
        self.present.iter().map(|word| u64::from(word.count_ones())).sum::<u64>() * PAGE_BYTES
    }

    /// The content of a range on the device; empty when it is not.
    pub(crate) fn read(&self, offset_bytes: u64, len_bytes: u64) -> &[u8] {
        if self.holds(offset_bytes, len_bytes) {
            &self.all()[offset_bytes as usize..(offset_bytes + len_bytes) as usize]
        } else {
            &[]
        }
    }

    /// Replaces the content from an offset; does nothing when the range exceeds the device.
    pub(crate) fn write(&mut self, offset_bytes: u64, data: &[u8]) {
        if data.is_empty() || !self.holds(offset_bytes, data.len() as u64) {
            return;
        }
        // SAFETY: base is valid for size_bytes, `holds` checked the range, and `&mut self` excludes every other access.
        let range =
            unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().add(offset_bytes as usize), data.len()) };
        range.copy_from_slice(data);
        for page in offset_bytes / PAGE_BYTES..=(offset_bytes + data.len() as u64 - 1) / PAGE_BYTES {
            self.present[(page / 64) as usize] |= 1 << (page % 64);
        }
    }

    /// Frees whole pages, which then read as zeroes; partial pages at both ends are zeroed.
    pub(crate) fn discard(&mut self, offset_bytes: u64, len_bytes: u64) {
        if len_bytes == 0 || !self.holds(offset_bytes, len_bytes) {
            return;
        }
        let end = offset_bytes + len_bytes;
        let (first, last) = (offset_bytes.next_multiple_of(PAGE_BYTES), end / PAGE_BYTES * PAGE_BYTES);
        if first >= last {
            return self.write(offset_bytes, &vec![0; len_bytes as usize]);
        }
        self.write(offset_bytes, &vec![0; (first - offset_bytes) as usize]);
        self.write(last, &vec![0; (end - last) as usize]);
        if !self.free(first as usize, (last - first) as usize) {
            // SAFETY: as in `write`; the range is whole pages inside the device.
            unsafe { self.base.as_ptr().add(first as usize).write_bytes(0, (last - first) as usize) };
            return;
        }
        for page in first / PAGE_BYTES..last / PAGE_BYTES {
            self.present[(page / 64) as usize] &= !(1 << (page % 64));
        }
    }

    /// Frees whole pages, locked or not; false when the kernel refuses.
    fn free(&mut self, start: usize, len: usize) -> bool {
        /// Since Linux 5.18; older kernels refuse to drop locked pages.
        const MADV_DONTNEED_LOCKED: libc::c_int = 24;
        // SAFETY: the caller gives whole pages inside the mapping; `&mut self` excludes readers of the old content.
        unsafe {
            let address = self.base.as_ptr().add(start).cast();
            if libc::madvise(address, len, MADV_DONTNEED_LOCKED) == 0 {
                return true;
            }
            libc::munlock(address, len);
            let freed = libc::madvise(address, len, libc::MADV_DONTNEED) == 0;
            libc::mlock2(address, len, libc::MLOCK_ONFAULT as libc::c_uint);
            freed
        }
    }

    fn all(&self) -> &[u8] {
        // SAFETY: base is valid for size_bytes as long as self lives; `&self` excludes writers.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.size_bytes) }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` and nothing borrows from it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.size_bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_discard_frees_memory_and_reads_as_zeroes() {
        let mut store = Store::new(64 * PAGE_BYTES).expect("mapping");
        store.write(0, &[7; 16 * PAGE_BYTES as usize]);
        assert_eq!(store.present_bytes(), 16 * PAGE_BYTES);
        store.discard(PAGE_BYTES, 4 * PAGE_BYTES);
        assert_eq!(store.present_bytes(), 12 * PAGE_BYTES);
        assert!(store.read(PAGE_BYTES, 4 * PAGE_BYTES).iter().all(|&b| b == 0));
        assert_eq!(store.read(5 * PAGE_BYTES, 1), [7]);
    }

    #[test]
    fn ranges_beyond_the_end_are_ignored() {
        let mut store = Store::new(2 * PAGE_BYTES).expect("mapping");
        store.write(2 * PAGE_BYTES - 1, &[1, 1]);
        store.discard(PAGE_BYTES, u64::MAX);
        assert_eq!(store.present_bytes(), 0);
        assert_eq!(store.read(u64::MAX, 2), b"");
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_plain_vector(
            steps in prop::collection::vec((any::<bool>(), 0u64..40_000, 0u64..20_000, any::<u8>()), 0..30)
        ) {
            let size = 10 * PAGE_BYTES;
            let mut store = Store::new(size).expect("mapping");
            let mut plain = vec![0u8; size as usize];
            for (write, offset, len, byte) in steps {
                let data = vec![if write { byte } else { 0 }; len as usize];
                if write { store.write(offset, &data) } else { store.discard(offset, len) }
                if let Some(range) = plain.get_mut(offset as usize..(offset + len) as usize) {
                    range.copy_from_slice(&data);
                }
            }
            prop_assert_eq!(store.read(0, size), &plain[..]);
        }
    }
}
