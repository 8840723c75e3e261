//! Files that were written a moment ago are closed by another thread.
//!
//! Where an app truncates a file and writes it anew, the file system writes it back at whichever close comes first,
//! that of a mere reader included (ext4: auto_da_alloc), and that waits behind the very writes that brisk throttles.
//! (Seen: the daemon hung in close(2), and could not release the settings that it waited for.)
//!
//! Property: `what_was_written_a_moment_ago_is_closed_by_another_thread`.

use std::fs::File;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::fstat;

/// A file that was written within this time may have to be written back.
const WRITTEN_LATELY: Duration = Duration::from_secs(60);
/// Files that wait to be closed, at most: each is a descriptor.
const WAITING_MAX: usize = 64;
/// Threads that close at the same time, from which on no more files are opened: the device does not follow.
const THREADS_MAX: usize = 4;
/// A thread needs little.
const STACK_BYTES: usize = 64 << 10;

static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Files that wait to be closed.
#[derive(Debug, Default)]
pub(crate) struct Closing {
    files: Vec<File>,
}

impl Closing {
    pub(crate) fn close(&mut self, file: File) {
        if !was_written_lately(&file) {
            return;
        }
        self.files.push(file);
        if self.files.len() >= WAITING_MAX {
            by_another_thread(std::mem::take(&mut self.files));
        }
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        if !self.files.is_empty() {
            by_another_thread(std::mem::take(&mut self.files));
        }
    }
}

/// Whether the close of a file may have to write.
pub(crate) fn was_written_lately(file: impl AsFd) -> bool {
    let Ok(stat) = fstat(file) else { return false };
    let at = UNIX_EPOCH + Duration::from_secs(u64::try_from(stat.st_mtime).unwrap_or(0));
    // The clock may have been set back since.
    SystemTime::now().duration_since(at).is_ok_and(|age| age < WRITTEN_LATELY + Duration::from_secs(1))
        || at > SystemTime::now()
}

/// Drops what holds descriptors; without a thread it is dropped here.
pub(crate) fn by_another_thread(files: impl Send + 'static) {
    THREADS.fetch_add(1, Ordering::SeqCst);
    let close = move || {
        drop(files);
        THREADS.fetch_sub(1, Ordering::SeqCst);
    };
    let thread = std::thread::Builder::new().name("closing".to_owned()).stack_size(STACK_BYTES);
    if thread.spawn(close).is_err() {
        THREADS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Whether files that were written lately are closed more slowly than they come: users can make as many as they like.
pub(crate) fn is_stuck() -> bool {
    THREADS.load(Ordering::SeqCst) >= THREADS_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_a_moment_ago_is_closed_by_another_thread() {
        let mut closing = Closing::default();
        let file = |written_ago_s: u64| {
            let file = tempfile::tempfile().expect("a file");
            file.set_modified(SystemTime::now() - Duration::from_secs(written_ago_s)).expect("set");
            file
        };
        closing.close(file(120));
        assert!(closing.files.is_empty(), "at once");
        (1..WAITING_MAX).for_each(|_| closing.close(file(0)));
        assert_eq!(closing.files.len(), WAITING_MAX - 1);
        closing.close(file(0));
        assert!(closing.files.is_empty(), "no more descriptors than that");
    }

    #[test]
    fn where_closing_does_not_follow_that_is_told() {
        let (begin, waits) = std::sync::mpsc::channel::<()>();
        let waits = std::sync::Arc::new(std::sync::Mutex::new(waits));
        /// Waits for its word when it is dropped, as close(2) does behind writes.
        struct Slow(std::sync::Arc<std::sync::Mutex<std::sync::mpsc::Receiver<()>>>);
        impl Drop for Slow {
            fn drop(&mut self) {
                let _ = self.0.lock().expect("whole").recv();
            }
        }
        (0..THREADS_MAX).for_each(|_| by_another_thread(Slow(std::sync::Arc::clone(&waits))));
        assert!(is_stuck());
        drop(begin);
        while is_stuck() {
            std::thread::yield_now();
        }
    }
}
