//! Memory shared with a display server, for pixels.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use rustix::fs::MemfdFlags;
use rustix::mm::{MapFlags, ProtFlags};

/// Memory with a file descriptor, which the server maps too.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    fd: OwnedFd,
    start: NonNull<u8>,
    len_bytes: usize,
}

// SAFETY: the mapping belongs to this value alone and is accessed through its methods only.
unsafe impl Send for SharedMemory {}

impl SharedMemory {
    /// Allocates `len_bytes` of zeroes; pages are allocated when written.
    pub(crate) fn new(len_bytes: usize) -> std::io::Result<Self> {
        let fd = rustix::fs::memfd_create("brisk-screen", MemfdFlags::CLOEXEC)?;
        rustix::fs::ftruncate(&fd, len_bytes as u64)?;
        // SAFETY: a new mapping at an address that the kernel picks.
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

    /// Appends the bytes of `range` to `out`, clipped to the memory.
    pub(crate) fn append_to(&self, range: std::ops::Range<usize>, out: &mut Vec<u8>) {
        let end = range.end.min(self.len_bytes);
        let begin = range.start.min(end);
        // SAFETY: begin..end lies inside of the mapping, which lives as long as `self`. The server writes only between
        // a request and its reply, when this is not called; a faulty server causes wrong pixels, which are valid u8
        // values.
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
        // SAFETY: the mapping was made by `new` with this length and is no longer reachable. A failure only leaks
        // memory until the end of the process.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.len_bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_written_by_the_server_is_read() {
        let memory = SharedMemory::new(100_000).unwrap();
        rustix::io::pwrite(&memory, b"pixels", 70_000).unwrap();
        let mut out = vec![b'>'];
        memory.append_to(70_000..70_006, &mut out);
        assert_eq!(out, b">pixels");
    }

    #[test]
    fn a_range_beyond_the_end_is_clipped() {
        let memory = SharedMemory::new(10).unwrap();
        let mut out = Vec::new();
        memory.append_to(8..20, &mut out);
        memory.append_to(30..40, &mut out);
        assert_eq!(out, [0, 0]);
    }
}
