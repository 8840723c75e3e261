//! The daemon of a phone under measurement: a briskd whose run folder lies in the phone's directory.
//!
//! A measurement starts it for a launch and ends it after. When the measurement is killed, the daemon gets SIGTERM
//! ([`crate::phone::Companion`]). One that is left all the same (it hangs, or was killed itself) is ended here before
//! the phone is removed, and the settings that it had changed are restored: the next device of this name must not begin
//! with them.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use brisk_act::{Lock, Paths, restore_all};
use brisk_core::causes::in_one_line;
use brisk_sense::Sense;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::phone::error::{Error, Result, io as failed};

/// Name of its run folder in the phone's directory.
pub(crate) const FOLDER: &str = "daemon";
/// Time limit for its end after a signal: it restores its settings first.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit of the whole, of a daemon that has just begun to start included.
const TIMEOUT: Duration = Duration::from_secs(40);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Ends the daemon whose run folder is `run_dir`, if one holds the lock there, and restores what it or an earlier one
/// left changed. Returns a message for a daemon that was ended; `phone` is the phone's number.
///
/// # Errors
/// When it does not end.
pub(crate) fn end(run_dir: &Path, phone: u32) -> Result<Vec<String>> {
    let mut words = Vec::new();
    if !run_dir.is_dir() {
        return Ok(words);
    }
    let deadline = Instant::now() + TIMEOUT;
    let _only_one = loop {
        let pid = match Lock::acquire(run_dir) {
            Ok(lock) => break lock,
            Err(brisk_act::Error::Locked { pid, .. }) => pid,
            Err(error) => return Err(error.into()),
        };
        if let Some((pid, process)) = pid.and_then(|pid| holder(run_dir, pid)) {
            end_process(pid, &process)?;
            words.push(format!("briskd (process {pid}) still managed phone {phone} and was ended"));
        } else if Instant::now() >= deadline {
            return Err(brisk_act::Error::Locked { path: run_dir.to_owned(), pid }.into());
        } else {
            // It starts and has not written its id yet, or is about to end.
            std::thread::sleep(POLL_INTERVAL);
        }
    };
    match restore_all(&Paths::with_run_dir(run_dir), EXIT_TIMEOUT, |_| ()) {
        Ok(restored) => words.extend(restored.reports.iter().flat_map(|(name, report)| {
            report.left.iter().map(move |left| {
                format!("{} of {}, changed by {name}, was left as it is: {}", left.knob, left.device, left.reason)
            })
        })),
        // The phone goes all the same: its device may have gone before.
        Err(error) => words.push(in_one_line(&error)),
    }
    Ok(words)
}

/// The process `pid`, if it has the lock in `run_dir` open: what the file says may be of a daemon before it.
fn holder(run_dir: &Path, pid: u32) -> Option<(u32, OwnedFd)> {
    let process = pidfd_open(Pid::from_raw(i32::try_from(pid).ok()?)?, PidfdFlags::empty()).ok()?;
    let run_dir = run_dir.canonicalize().ok()?;
    let files = Sense::default().open_files(pid).ok().flatten()?;
    files.iter().any(|file| file.parent() == Some(&run_dir)).then_some((pid, process))
}

fn end_process(pid: u32, process: &OwnedFd) -> Result<()> {
    for signal in [Signal::TERM, Signal::KILL] {
        // It may have ended already.
        let _ = pidfd_send_signal(process, signal);
        if has_ended(process)? {
            return Ok(());
        }
    }
    let source = std::io::ErrorKind::TimedOut.into();
    Err(Error::Io { action: format!("end briskd (process {pid}) by SIGKILL"), source })
}

fn has_ended(process: &OwnedFd) -> Result<bool> {
    let deadline = Instant::now() + EXIT_TIMEOUT;
    loop {
        let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).ok();
        match poll(&mut [PollFd::new(process, PollFlags::IN)], left.as_ref()) {
            Err(rustix::io::Errno::INTR) => {}
            polled => return Ok(polled.map_err(failed("wait for the end of briskd"))? > 0),
        }
    }
}
