//! Processes in a phone, and processes outside that use its files.
//!
//! A process is in a phone when its root directory is, whatever its control group and parent. Links in /proc are read
//! here, since they name files of the phone.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use brisk_sense::Sense;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal, waitpid};

use crate::phone::error::{Error, Result};

/// Time limit for processes to end.
const EXIT_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

fn link(pid: u32, name: &str) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/{name}")).ok()
}

/// Processes whose root directory is below `dir`.
///
/// # Errors
/// When the processes cannot be listed.
pub(crate) fn inside(dir: &Path) -> Result<Vec<u32>> {
    let is_inside = |&pid: &u32| link(pid, "root").is_some_and(|root| root.starts_with(dir));
    Ok(Sense::default().process_ids()?.into_iter().filter(is_inside).collect())
}

/// Names of processes outside with an open file or directory below `dir`, or with the block device `device` open,
/// without those in `known`.
///
/// # Errors
/// When the processes cannot be listed.
pub(crate) fn holders(dir: &Path, device: Option<&Path>, known: &BTreeSet<u32>) -> Result<Vec<String>> {
    let sense = Sense::default();
    let mut found = Vec::new();
    for pid in sense.process_ids()? {
        if known.contains(&pid) || link(pid, "root").is_some_and(|root| root.starts_with(dir)) {
            continue;
        }
        let works_there = link(pid, "cwd").is_some_and(|cwd| cwd.starts_with(dir));
        let is_ours = |file: &PathBuf| file.starts_with(dir) || device.is_some_and(|device| file == device);
        let has_open = || sense.open_files(pid).ok().flatten().is_some_and(|files| files.iter().any(is_ours));
        if works_there || has_open() {
            let name = sense.process_stat(pid).ok().flatten().map(|stat| stat.comm.to_string_lossy().into_owned());
            found.push(format!("{} ({pid})", name.unwrap_or_default()));
        }
    }
    Ok(found)
}

/// Kills all processes whose root directory is below `dir`, except those in `spared`, and waits for their end.
///
/// # Errors
/// When one does not end.
pub(crate) fn end_inside(dir: &Path, spared: &BTreeSet<u32>) -> Result<usize> {
    let deadline = Instant::now() + EXIT_TIMEOUT;
    let mut ended = BTreeSet::new();
    loop {
        let left: Vec<u32> = inside(dir)?.into_iter().filter(|pid| !spared.contains(pid)).collect();
        if left.is_empty() {
            return Ok(ended.len());
        }
        for &pid in &left {
            // The process id may have been reused before the pidfd was opened; the root is checked again below.
            let Some(number) = Pid::from_raw(pid.cast_signed()) else { continue };
            let Ok(handle) = pidfd_open(number, PidfdFlags::empty()) else { continue };
            if link(pid, "root").is_some_and(|root| root.starts_with(dir)) {
                // It may have ended already.
                let _ = pidfd_send_signal(&handle, Signal::KILL);
                ended.insert(pid);
            }
        }
        if Instant::now() >= deadline {
            let source = std::io::ErrorKind::TimedOut.into();
            return Err(Error::Io { action: format!("end process {} after SIGKILL", left[0]), source });
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Waits for a child process without a handle, to avoid a zombie; ignores other processes.
pub(crate) fn reap(pid: u32) {
    let _ = waitpid(Pid::from_raw(pid.cast_signed()), WaitOptions::NOHANG);
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn processes_that_use_a_directory_are_found() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let dir = dir.path().canonicalize().expect("there");
        assert_eq!(holders(&dir, None, &BTreeSet::new()).expect("readable"), [""; 0]);
        let mut sleeper = Command::new("sleep").arg("1000").current_dir(&dir).spawn().expect("sleep starts");
        let held = holders(&dir, None, &BTreeSet::new()).expect("readable");
        assert!(held.iter().any(|by| by.ends_with(&format!("({})", sleeper.id()))), "{held:?}");
        sleeper.kill().expect("ended");
        sleeper.wait().expect("ended");
        let file = fs::File::create(dir.join("file")).expect("made");
        let mut reader = Command::new("sleep").arg("1000").stdin(Stdio::from(file)).spawn().expect("sleep starts");
        let held = holders(&dir, None, &BTreeSet::new()).expect("readable");
        assert!(held.iter().any(|by| by.ends_with(&format!("({})", reader.id()))), "{held:?}");
        assert_eq!(inside(&dir).expect("readable"), [0; 0], "no process has its root there");
        reader.kill().expect("ended");
        reader.wait().expect("ended");
    }
}
