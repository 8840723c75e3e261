//! Writing ranges of an app's memory to swap and reading them back (process_madvise(2), MADV_PAGEOUT and
//! MADV_WILLNEED).
//!
//! PAGEOUT writes the pages but leaves them in the swap cache, charged to the group, until reclaim frees them: follow
//! it by `Reclaim`. It skips pages that are mapped twice. WILLNEED returns when the reads are queued. Both cost 60 to
//! 90 ms of CPU for 100 MB, so that the ranges of one action are to be few. Ranges are advised in their order, at most
//! 4 MiB in a call, so that a page-out can be ended in between.
//!
//! A range that the kernel refuses (`EINVAL`: locked or huge pages, `ENOMEM`: no longer mapped) is passed over: single
//! ones are usual in browsers.
//!
//! Without ranges, all private memory of the app's processes that is no file's is paged out: what /proc/PID/maps has of
//! it.
//!
//! Properties: `each_range_is_advised_once_or_refused_once`; `pieces_have_every_byte_once_in_order`; a process that is
//! not in the group is not touched.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

use brisk_core::action::AddressRange;
use brisk_core::outcome::Outcome;
use brisk_formats::parse_address_ranges;

use super::group::Group;
use crate::Error;
use crate::worker::CHUNK_BYTES;

/// Ranges of one call at most (IOV_MAX, `UIO_MAXIOV` of include/uapi/linux/uio.h).
const RANGES_MAX: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paging {
    Out,
    In,
}

/// Result for the ranges of one process.
#[derive(Debug, Default)]
struct Advised {
    /// Ranges that the kernel took.
    accepted: usize,
    refused: Option<io::Error>,
    /// Whether the process has ended.
    has_ended: bool,
    /// Bytes of what the kernel took.
    size_bytes: u64,
    /// Whether it was ended before all were advised.
    cancelled: bool,
}

/// Advises the kernel of all `ranges`, in their order, until `is_cancelled`. Done when it took one of them.
///
/// # Errors
/// When it took none.
pub(super) fn page(
    group: &Group<'_>,
    ranges: &[AddressRange],
    paging: Paging,
    is_cancelled: impl Fn() -> bool,
) -> Result<Outcome, Error> {
    let all;
    let ranges = if ranges.is_empty() && paging == Paging::Out {
        all = anonymous(group);
        &all
    } else {
        ranges
    };
    let (mut accepted, mut refused, mut strangers, mut ended) = (0, None, 0, 0);
    let mut done_bytes = 0;
    for of_process in ranges.chunk_by(|a, b| a.pid == b.pid) {
        if is_cancelled() {
            return Ok(Outcome::Cancelled { done_bytes });
        }
        let pid = of_process[0].pid;
        let failed = |source| Error::Process { pid, group: group.name(), what: "open", source };
        let Some(pidfd) = group.open(pid).map_err(failed)? else {
            let exists = group.paths.proc.join(pid.to_string()).exists();
            *(if exists { &mut strangers } else { &mut ended }) += of_process.len();
            continue;
        };
        let pieces: Vec<AddressRange> = of_process.iter().flat_map(pieces).collect();
        let advised = advise(&pieces, &is_cancelled, |batch| process_madvise(&pidfd, batch, paging));
        done_bytes += advised.size_bytes;
        if advised.cancelled {
            return Ok(Outcome::Cancelled { done_bytes });
        }
        accepted += advised.accepted;
        refused = advised.refused.or(refused);
        ended += usize::from(advised.has_ended);
    }
    let group = group.name();
    match (accepted, refused) {
        (1.., _) => Ok(Outcome::Done),
        (0, Some(source)) => Err(Error::NotAdvised { group, ranges: ranges.len(), source }),
        (0, None) if strangers > 0 => Err(Error::Strangers { group, ranges: strangers }),
        (0, None) if ended > 0 => Ok(Outcome::Gone),
        (0, None) => Ok(Outcome::Unchanged),
    }
}

/// The private memory of all processes that is no file's. One that ends meanwhile has none.
fn anonymous(group: &Group<'_>) -> Vec<AddressRange> {
    let of = |pid: u32| {
        let maps = std::fs::read(group.paths.proc.join(pid.to_string()).join("maps")).unwrap_or_default();
        let ranges = parse_address_ranges(&maps).unwrap_or_default().into_iter();
        ranges.filter(|range| range.usable && range.writable && !range.shared && range.inode == 0).map(move |range| {
            let size_bytes = range.addresses.end - range.addresses.start;
            AddressRange { pid, start: range.addresses.start, size_bytes }
        })
    };
    group.pids().into_iter().flat_map(of).collect()
}

/// The range in pieces of [`CHUNK_BYTES`].
fn pieces(range: &AddressRange) -> impl Iterator<Item = AddressRange> + use<> {
    let AddressRange { pid, start, size_bytes } = *range;
    let begins = (0..size_bytes).step_by(CHUNK_BYTES as usize);
    begins.map(move |begin| AddressRange {
        pid,
        start: start.saturating_add(begin),
        size_bytes: (size_bytes - begin).min(CHUNK_BYTES),
    })
}

/// How many of the first of these are advised in one call.
fn batch_len(ranges: &[AddressRange]) -> usize {
    let mut size_bytes = 0_u64;
    let fits = ranges.iter().take(RANGES_MAX).take_while(|range| {
        size_bytes = size_bytes.saturating_add(range.size_bytes);
        size_bytes <= CHUNK_BYTES
    });
    fits.count().max(1).min(ranges.len())
}

/// Advises of ranges of one process by `call`, which takes at most [`RANGES_MAX`] and gives the number of bytes of the
/// ranges before the first that was refused, or the reason when that is the first of all.
fn advise(
    ranges: &[AddressRange],
    is_cancelled: impl Fn() -> bool,
    mut call: impl FnMut(&[AddressRange]) -> io::Result<u64>,
) -> Advised {
    let mut advised = Advised::default();
    let mut rest = ranges;
    while !rest.is_empty() {
        if is_cancelled() {
            advised.cancelled = true;
            break;
        }
        let batch = &rest[..batch_len(rest)];
        let accepted = match call(batch) {
            Ok(size_bytes) => {
                let ends = batch.iter().scan(0_u64, |end, range| {
                    *end = end.saturating_add(range.size_bytes);
                    Some(*end)
                });
                ends.take_while(|end| *end <= size_bytes).count()
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {
                advised.has_ended = true;
                break;
            }
            Err(error) => {
                advised.refused = Some(error);
                0
            }
        };
        advised.accepted += accepted;
        advised.size_bytes += batch[..accepted].iter().map(|range| range.size_bytes).sum::<u64>();
        // Nothing was accepted: the first is refused. Otherwise the next call tells why the next one is.
        rest = &rest[accepted.max(1)..];
    }
    advised
}

fn process_madvise(pidfd: &OwnedFd, ranges: &[AddressRange], paging: Paging) -> io::Result<u64> {
    let advice = match paging {
        Paging::Out => libc::MADV_PAGEOUT,
        Paging::In => libc::MADV_WILLNEED,
    };
    let unfit = |_| io::Error::from_raw_os_error(libc::EINVAL);
    let iovec = |range: &AddressRange| -> io::Result<libc::iovec> {
        let start = usize::try_from(range.start).map_err(unfit)?;
        let iov_len = usize::try_from(range.size_bytes).map_err(unfit)?;
        Ok(libc::iovec { iov_base: std::ptr::without_provenance_mut(start), iov_len })
    };
    let vector: Vec<libc::iovec> = ranges.iter().map(iovec).collect::<Result<_, _>>()?;
    let (descriptor, flags) = (pidfd.as_raw_fd(), 0);
    // SAFETY: the vector lives through the call and has the length that is given; its addresses are those of another
    // process, and the two advices do not change the contents of memory.
    let accepted =
        unsafe { libc::syscall(libc::SYS_process_madvise, descriptor, vector.as_ptr(), vector.len(), advice, flags) };
    u64::try_from(accepted).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_range_is_advised_once_or_refused_once(
            sizes in prop::collection::vec((1..9_u64, prop::bool::weighted(0.9)), 0..3000),
            interrupted_every in 2..5_u32,
        ) {
            let ranges: Vec<AddressRange> = sizes
                .iter()
                .enumerate()
                .map(|(number, (pages, _))| (number as u64 * 65536, pages * 4096))
                .map(|(start, size_bytes)| AddressRange { pid: 7, start, size_bytes })
                .collect();
            let is_fit = |range: &AddressRange| sizes[(range.start / 65536) as usize].1;
            let (mut seen, mut calls) = (Vec::new(), 0);
            let advised = advise(&ranges, || false, |batch| {
                calls += 1;
                assert!(batch.len() <= RANGES_MAX);
                assert!(batch.iter().map(|range| range.size_bytes).sum::<u64>() <= CHUNK_BYTES);
                if calls % interrupted_every == 0 {
                    return Err(io::Error::from_raw_os_error(libc::EINTR));
                }
                let accepted: Vec<&AddressRange> = batch.iter().take_while(|range| is_fit(range)).collect();
                seen.extend(accepted.iter().map(|range| range.start));
                if accepted.is_empty() {
                    return Err(io::Error::from_raw_os_error(libc::EINVAL));
                }
                Ok(accepted.iter().map(|range| range.size_bytes).sum())
            });
            let fit: Vec<u64> = ranges.iter().filter(|range| is_fit(range)).map(|range| range.start).collect();
            prop_assert_eq!((advised.accepted, &seen), (fit.len(), &fit));
            prop_assert_eq!(advised.refused.is_some(), fit.len() < ranges.len());
        }
    }

    #[test]
    fn pieces_have_every_byte_once_in_order() {
        let range = AddressRange { pid: 7, start: 1 << 30, size_bytes: 3 * CHUNK_BYTES + 8192 };
        let all: Vec<_> = pieces(&range).collect();
        assert_eq!(all.iter().map(|piece| piece.size_bytes).collect::<Vec<_>>(), [4 << 20, 4 << 20, 4 << 20, 8192]);
        let end = all.iter().fold(range.start, |end, piece| {
            assert_eq!((piece.pid, piece.start), (7, end));
            piece.start + piece.size_bytes
        });
        assert_eq!(end, range.start + range.size_bytes);
        assert_eq!(pieces(&AddressRange { size_bytes: 0, ..range }).count(), 0);
    }

    #[test]
    fn nothing_is_advised_after_the_end() {
        let ranges = vec![AddressRange { pid: 7, start: 0, size_bytes: CHUNK_BYTES }; 5];
        let calls = std::cell::Cell::new(0);
        let advised = advise(
            &ranges,
            || calls.get() == 2,
            |batch| {
                calls.set(calls.get() + 1);
                Ok(batch.iter().map(|range| range.size_bytes).sum())
            },
        );
        assert!(advised.cancelled && advised.accepted == 2 && calls.get() == 2);
    }

    #[test]
    fn the_ranges_of_a_process_that_ended_are_not_tried() {
        let ranges = vec![AddressRange { pid: 7, start: 0, size_bytes: 4096 }; 5000];
        let mut calls = 0;
        let advised = advise(
            &ranges,
            || false,
            |_| {
                calls += 1;
                Err(io::Error::from_raw_os_error(libc::ESRCH))
            },
        );
        assert!(advised.has_ended && advised.accepted == 0 && calls == 1);
    }
}
