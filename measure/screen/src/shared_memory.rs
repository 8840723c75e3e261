//! Memory that a display server writes pixels into.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use rustix::fs::MemfdFlags;
use rustix::mm::{MapFlags, ProtFlags};

/// A piece of memory with a file descriptor that the server maps too.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    fd: OwnedFd,
    start: NonNull<u8>,
    len_bytes: usize,
}

// SAFETY: the mapping belongs to this value alone and is reached through its methods only.
unsafe impl Send for SharedMemory {}

impl SharedMemory {
    /// Makes `len_bytes` of zeroes; they cost memory once they are written.
    pub(crate) fn new(len_bytes: usize) -> std::io::Result<Self> {
        let fd = rustix::fs::memfd_create("brisk-screen", MemfdFlags::CLOEXEC)?;
        rustix::fs::ftruncate(&fd, len_bytes as u64)?;
        // SAFETY: a new mapping at an address that the kernel picks; nothing else lies there.
        let start = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                len_bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                &fd,
                0,
            )?
        };
        let start = NonNull::new(start.cast()).ok_or(rustix::io::Errno::NOMEM)?;
        Ok(Self { fd, start, len_bytes })
    }

    pub(crate) fn len_bytes(&self) -> usize {
        self.len_bytes
    }

    /// Appends the bytes of `range` to `out`; what lies beyond the end is left out.
    pub(crate) fn append_to(&self, range: std::ops::Range<usize>, out: &mut Vec<u8>) {
        let end = range.end.min(self.len_bytes);
        let begin = range.start.min(end);
        // SAFETY: begin..end lies inside of the mapping, which lives as long as `self`. The server writes between a
        // request and its reply only, and nobody reads then; a server that lies makes wrong pixels, of any value a u8 may have.
        let bytes = unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(begin), end - begin) };
        out.extend_from_slice(bytes);
    }
}

impl AsFd for SharedMemory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this length and is not reachable any more. That it cannot be undone
        // would only leave memory to the end of the process.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.len_bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_other_side_writes_is_read_here() {
        let memory = SharedMemory::new(100_000).unwrap();
        rustix::io::pwrite(&memory, b"pixels", 70_000).unwrap();
        let mut out = vec![b'>'];
        memory.append_to(70_000..70_006, &mut out);
        assert_eq!(out, b">pixels");
    }

    #[test]
    fn what_lies_beyond_the_end_is_left_out() {
        let memory = SharedMemory::new(10).unwrap();
        let mut out = Vec::new();
        memory.append_to(8..20, &mut out);
        memory.append_to(30..40, &mut out);
        assert_eq!(out, [0, 0]);
    }
}
