//! Memory of this process: what its start or a rare task has used, and the rest does not need.

use std::fs::File;
use std::io::{BufRead, BufReader};

use rustix::mm::{Advice, madvise};

/// What is read at once of the list of its own mappings.
const SMAPS_BYTES: usize = 1 << 10;
/// Free memory at the end of the heap that the C library keeps, and the size from which it maps memory of its own. Left
/// to itself it raises both with the largest buffer that was ever freed.
#[cfg(target_env = "gnu")]
const KEPT_BYTES: libc::c_int = 128 << 10;

/// Has the C library keep little of what is freed, and one heap for all threads, of a process that allocates seldom.
/// Before other threads begin.
pub fn keep_little() {
    // SAFETY: these set parameters of the allocator, which has a lock of its own.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_BYTES);
        libc::mallopt(libc::M_MMAP_THRESHOLD, KEPT_BYTES);
    }
}

/// Returns what is free within the heap to the kernel.
pub fn trim() {
    // SAFETY: takes the locks of the allocator, and moves nothing that is in use.
    #[cfg(target_env = "gnu")]
    let _ = unsafe { libc::malloc_trim(0) };
}

/// Lets go of the pages of files that this process has mapped and not changed, of which a start has used most. What
/// runs next comes back, mostly from the page cache; what does not is the first that the kernel takes for something
/// else.
pub fn let_go_of_files() {
    let Ok(file) = File::open("/proc/self/smaps") else { return };
    for (start, end) in unchanged_files(BufReader::with_capacity(SMAPS_BYTES, file)) {
        // SAFETY: the mapping cannot be written and has no page of its own, so its contents are the file's, which the
        // kernel brings back at the next access.
        let _ = unsafe { madvise(std::ptr::without_provenance_mut(start), end - start, Advice::LinuxDontNeed) };
    }
}

/// The addresses of mappings that hold what their files hold and cannot be written, from the text of /proc/PID/smaps
/// (proc_pid_smaps(5)). A part that the loader has written and then protected has pages of its own (`Anonymous`).
fn unchanged_files(smaps: impl BufRead) -> Vec<(usize, usize)> {
    let number = |hex: &str| usize::from_str_radix(hex, 16).ok();
    let head = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let range = (number(start)?, number(end)?);
        let is_fixed = words.next()?.starts_with("r-") && words.nth(3).is_some_and(|path| path.starts_with('/'));
        Some(is_fixed.then_some(range))
    };
    let (mut current, mut found) = (None, Vec::new());
    for line in smaps.lines().map_while(Result::ok) {
        if let Some(range) = head(&line) {
            current = range;
        } else if line.strip_prefix("Anonymous:").is_some_and(|size| size.trim() == "0 kB") {
            found.extend(current.take());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_as_on_disk_are_let_go_and_nothing_else() {
        let mapping = |head: &str, anonymous: u32| {
            format!("{head}\nSize:    8 kB\nRss:     8 kB\nAnonymous:   {anonymous} kB\nVmFlags: rd mr mw me\n")
        };
        let text = [
            mapping("55a0-55b0 r-xp 00001000 fd:00 42                   /usr/sbin/briskd", 0),
            // Written by the loader and protected since.
            mapping("55b0-55c0 r--p 00001000 fd:00 42                   /usr/sbin/briskd", 8),
            mapping("55c0-55d0 rw-p 00001000 fd:00 42                   /usr/sbin/briskd", 0),
            mapping("55d0-55e0 r--p 00001000 fd:00 42                   /usr/lib/a b-c.so", 0),
            mapping("7ffd-7fff r-xp 00000000 00:00 0                    [vdso]", 0),
            mapping("7fff-8000 r--p 00000000 00:00 0", 0),
        ];
        assert_eq!(unchanged_files(text.concat().as_bytes()), [(0x55a0, 0x55b0), (0x55d0, 0x55e0)]);
        assert_eq!(unchanged_files(&b"x-y r-xp\nAnonymous: 0 kB\n\xff\n"[..]), []);
    }
}
