//! Copies an image to a block device: only its data, with direct I/O, two requests at a time.
//!
//! The device is new and reads as zeroes, so holes of the image are skipped.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use rustix::fs::SeekFrom;
use rustix::io::Errno;

use crate::phone::error::{Error, Result, io as failed};
use crate::phone::running::though_claimed;

/// The largest request that a lab device takes at once.
const CHUNK_BYTES: u64 = 512 << 10;
/// Alignment for direct I/O.
const ALIGN_BYTES: usize = 4096;
const WRITERS: usize = 2;

/// Parts of a file that hold data, each at most `chunk_bytes` long. A part that begins within a block of `ALIGN_BYTES`
/// is extended to the whole block.
fn chunks(file: &File, len_bytes: u64, chunk_bytes: u64) -> io::Result<Vec<Range<u64>>> {
    let align = ALIGN_BYTES as u64;
    let mut found: Vec<Range<u64>> = Vec::new();
    let mut at = 0;
    while at < len_bytes {
        let start = match rustix::fs::seek(file, SeekFrom::Data(at)) {
            Ok(start) => start / align * align,
            Err(Errno::NXIO) => break,
            Err(errno) => return Err(errno.into()),
        };
        let end = rustix::fs::seek(file, SeekFrom::Hole(start.max(at)))?.next_multiple_of(align).min(len_bytes);
        let mut from = start.max(found.last().map_or(0, |last| last.end));
        while from < end {
            let to = end.min(from + chunk_bytes);
            found.push(from..to);
            from = to;
        }
        at = end;
    }
    Ok(found)
}

/// Copies the image at `from` to the device at `to`; reports to `progress`.
///
/// # Errors
/// When a file cannot be opened, read or written, or `stop` is set.
pub(crate) fn copy(from: &Path, to: &Path, stop: &AtomicBool, progress: &mut dyn FnMut(&str)) -> Result<u64> {
    let image = File::open(from).map_err(failed(format!("open {}", from.display())))?;
    let len_bytes = image.metadata().map_err(failed(format!("examine {}", from.display())))?.len();
    let flags = libc::O_DIRECT | libc::O_EXCL;
    let device = || OpenOptions::new().write(true).custom_flags(flags).open(to);
    let device = though_claimed(|| device().map_err(failed(format!("open {}", to.display()))))?;
    let chunks = chunks(&image, len_bytes, CHUNK_BYTES).map_err(failed(format!("examine {}", from.display())))?;
    let total_bytes: u64 = chunks.iter().map(|chunk| chunk.end - chunk.start).sum();
    let (next, done_bytes) = (AtomicUsize::new(0), AtomicU64::new(0));
    let write_all = || -> io::Result<()> {
        let mut memory = vec![0u8; CHUNK_BYTES as usize + ALIGN_BYTES];
        let skip = memory.as_ptr().align_offset(ALIGN_BYTES);
        let buffer = &mut memory[skip..skip + CHUNK_BYTES as usize];
        while !stop.load(Ordering::Relaxed) {
            let Some(chunk) = chunks.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
            let data = &mut buffer[..(chunk.end - chunk.start) as usize];
            image.read_exact_at(data, chunk.start)?;
            device.write_all_at(data, chunk.start)?;
            done_bytes.fetch_add(data.len() as u64, Ordering::Relaxed);
        }
        Ok(())
    };
    let copied: io::Result<()> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS).map(|_| scope.spawn(write_all)).collect();
        while !writers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            let percent = 100 * done_bytes.load(Ordering::Relaxed) / total_bytes.max(1);
            progress(&format!("copying the image to the device: {percent} %"));
            std::thread::park_timeout(Duration::from_millis(100));
        }
        writers
            .into_iter()
            .try_for_each(|writer| writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    copied.map_err(failed(format!("copy {} to {}", from.display(), to.display())))?;
    if stop.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(total_bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_the_data_once_and_no_hole() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let path = dir.path().join("sparse");
        let file = File::options().create(true).truncate(true).read(true).write(true).open(&path).expect("made");
        file.set_len(64 << 20).expect("long");
        for at in [0, 5 << 20, (5 << 20) + 300_000, (64 << 20) - 1] {
            file.write_all_at(b"x", at).expect("written");
        }
        file.write_all_at(&vec![1; 3 << 20], 20 << 20).expect("written");
        let found = chunks(&file, 64 << 20, CHUNK_BYTES).expect("readable");
        for pair in found.windows(2) {
            assert!(pair[0].end <= pair[1].start, "{pair:?}");
        }
        for chunk in &found {
            assert!(chunk.start % 4096 == 0 && chunk.end % 4096 == 0 && chunk.start < chunk.end, "{chunk:?}");
            assert!(chunk.end - chunk.start <= CHUNK_BYTES);
        }
        let total: u64 = found.iter().map(|chunk| chunk.end - chunk.start).sum();
        assert!((3 << 20..8 << 20).contains(&total), "{total}");
        let mut copy = vec![0u8; 64 << 20];
        for chunk in &found {
            file.read_exact_at(&mut copy[chunk.start as usize..chunk.end as usize], chunk.start).expect("read");
        }
        assert!(copy == std::fs::read(&path).expect("read"));
    }
}
