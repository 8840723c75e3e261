//! Mapping ranges of an app's memory in, also while it is frozen (process_vm_readv(2)): the kernel handles the faults
//! of a read from outside like those of the app. MADV_WILLNEED reads pages into the swap cache only, where MADV_PAGEOUT
//! does not find them.
//!
//! A range that is not mapped any more is passed over.

use std::io;

use brisk_core::action::AddressRange;
use brisk_core::outcome::Outcome;

use super::group::Group;
use crate::Error;

/// Bytes that one call reads.
const CALL_BYTES: u64 = 256 << 10;

/// Maps all `ranges` in, in their order, until `is_cancelled`. Done when one byte could be read.
///
/// # Errors
/// When none could.
pub(super) fn map_in(
    group: &Group<'_>,
    ranges: &[AddressRange],
    is_cancelled: impl Fn() -> bool,
) -> Result<Outcome, Error> {
    let mut buffer = vec![0; CALL_BYTES as usize];
    let (mut read_bytes, mut refused) = (0, None);
    for of_process in ranges.chunk_by(|a, b| a.pid == b.pid) {
        let pid = of_process[0].pid;
        let failed = |source| Error::Process { pid, group: group.name(), what: "map memory of", source };
        // Held meanwhile: the number stays that of this process, or the calls fail.
        let Some(_pidfd) = group.open(pid).map_err(failed)? else { continue };
        for range in of_process {
            let mut at = 0;
            while at < range.size_bytes {
                if is_cancelled() {
                    return Ok(Outcome::Cancelled { done_bytes: read_bytes });
                }
                let wanted_bytes = CALL_BYTES.min(range.size_bytes - at);
                match read(pid, range.start + at, &mut buffer[..wanted_bytes as usize]) {
                    Ok(0) => break,
                    Ok(found_bytes) => (at, read_bytes) = (at + found_bytes, read_bytes + found_bytes),
                    Err(error) => {
                        refused = Some(failed(error));
                        break;
                    }
                }
            }
        }
    }
    match refused {
        _ if read_bytes > 0 => Ok(Outcome::Done),
        Some(error) => Err(error),
        None if ranges.is_empty() => Ok(Outcome::Unchanged),
        None => Ok(Outcome::Gone),
    }
}

fn read(pid: u32, start: u64, buffer: &mut [u8]) -> io::Result<u64> {
    let pid = i32::try_from(pid).map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))?;
    let start = usize::try_from(start).map_err(|_| io::Error::from_raw_os_error(libc::EFAULT))?;
    let own = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let remote = libc::iovec { iov_base: std::ptr::without_provenance_mut(start), iov_len: buffer.len() };
    // SAFETY: the own vector is the buffer, which lives through the call and has that length; the other one names
    // memory of another process, which is only read.
    let found = unsafe { libc::process_vm_readv(pid, &raw const own, 1, &raw const remote, 1, 0) };
    u64::try_from(found).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_a_process_is_read_and_what_is_not_mapped_is_an_error() {
        let content = vec![7_u8; 10_000];
        let mut buffer = vec![0; 10_000];
        assert_eq!(read(std::process::id(), content.as_ptr() as u64, &mut buffer).expect("own memory"), 10_000);
        assert_eq!(buffer, content);
        assert!(read(std::process::id(), 0x1000, &mut buffer).is_err());
    }
}
