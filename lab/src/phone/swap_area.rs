//! The swap areas of a phone: a file on its flash, and compressed memory.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

pub(crate) use brisk_act::swap_kernel::{add_zram, zram};
use brisk_act::swap_kernel::{free_zram, size_zram, switch_on};
use brisk_core::units::format_bytes;
use brisk_sense::Sense;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FallocateFlags;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::phone::error::{Error, Result, io as failed};
use crate::phone::image::steps::tool;

/// Name of the file in the phone's root.
const FILE: &str = "swapfile";
/// Priorities: compressed memory first.
const ZRAM_PRIORITY: i32 = 100;
const FILE_PRIORITY: i32 = 10;
/// Time limit for reading back what is in an area.
const OFF_WITHIN: Duration = Duration::from_secs(120);
/// Time limit of the kernel for ending a killed process that does not wait for storage.
const KILLED_WITHIN: Duration = Duration::from_secs(5);

/// The file of a phone whose root is mounted at `root`.
pub(crate) fn file(root: &Path) -> PathBuf {
    root.join(FILE)
}

/// Waits until no other process of brisk makes swap areas, and keeps others from it until the result is dropped. The
/// lock is on the kernel's own list, so that it is the same for all run folders.
///
/// # Errors
/// When it cannot be taken.
pub(crate) fn turn() -> Result<File> {
    let list = "/proc/swaps";
    let file = File::open(list).map_err(failed(format!("open {list}")))?;
    file.lock().map_err(failed(format!("lock {list}")))?;
    Ok(file)
}

/// Makes the file and switches it on.
///
/// # Errors
/// When the file system has no room for it, or the kernel refuses it.
pub(crate) fn make_file(file: &Path, bytes: u64) -> Result<()> {
    let made = File::options().write(true).create(true).truncate(true).open(file);
    let made = made.map_err(failed(format!("make the swap file {}", file.display())))?;
    let sized = rustix::fs::fallocate(made.as_fd(), FallocateFlags::empty(), 0, bytes);
    if let Err(error) = sized {
        let _ = fs::remove_file(file);
        if error == rustix::io::Errno::NOSPC {
            let reason = format!(
                "its flash has no room for a swap file of {}: give it more with --size, or less swap with --swap-size",
                format_bytes(bytes)
            );
            return Err(Error::Memory { reason });
        }
        return Err(failed(format!("make room for the swap file {}", file.display()))(error));
    }
    let owner_only = fs::Permissions::from_mode(0o600);
    made.set_permissions(owner_only).map_err(failed(format!("protect the swap file {}", file.display())))?;
    drop(made);
    format(file)?;
    Ok(switch_on(file, FILE_PRIORITY)?)
}

/// Switches the file off, and removes it.
///
/// # Errors
/// As [`switch_off`].
pub(crate) fn remove_file(file: &Path) -> Result<()> {
    switch_off(file)?;
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(failed(format!("remove the swap file {}", file.display()))(error))
        }
        _ => Ok(()),
    }
}

/// Sizes compressed memory, and switches it on.
///
/// # Errors
/// When the kernel refuses.
pub(crate) fn make_zram(number: u32, bytes: u64) -> Result<()> {
    size_zram(number, bytes)?;
    let device = zram(number);
    format(&device)?;
    Ok(switch_on(&device, ZRAM_PRIORITY)?)
}

/// Memory that compressed pages take: those of the group that has `swapped_bytes` in swap, all of them where that is
/// not known. They are taken to be as compressible as the others.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn zram_used_bytes(number: u32, swapped_bytes: Option<u64>) -> Result<u64> {
    let name = format!("zram{number}");
    let found = Sense::default().zrams()?.into_iter().find(|device| device.name == name);
    let device = found.ok_or_else(|| Error::Memory { reason: format!("its compressed memory /dev/{name} is gone") })?;
    Ok(share_of(device.memory_bytes, swapped_bytes.unwrap_or(u64::MAX), device.original_bytes))
}

/// The part of `memory_bytes` that `own_bytes` of `original_bytes` take; all of it where more is its own than is
/// stored.
fn share_of(memory_bytes: u64, own_bytes: u64, original_bytes: u64) -> u64 {
    if own_bytes >= original_bytes {
        return memory_bytes;
    }
    let share_bytes = u128::from(memory_bytes) * u128::from(own_bytes) / u128::from(original_bytes);
    u64::try_from(share_bytes).unwrap_or(memory_bytes)
}

/// Switches an area off, if it is on. What is still in it is read back. A process of its own does it, so that a storage
/// that does not answer holds up that process and not this one.
///
/// # Errors
/// When memory does not suffice for what is in it, its file cannot be opened, or it takes longer than [`OFF_WITHIN`].
pub(crate) fn switch_off(area: &Path) -> Result<()> {
    let areas = Sense::default().swaps()?;
    if !areas.iter().any(|one| one.path == area) {
        return Ok(());
    }
    let stays = |reason: String| Error::SwapOff { area: area.to_owned(), reason };
    let program = tool("swapoff", "switches the phone's swap area off", "util-linux")?;
    let mut command = Command::new(program);
    // In a process group of its own: Ctrl-C does not interrupt it.
    command.arg(area).process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed("run swapoff"))?;
    let Some(status) = ended_within(&mut child, OFF_WITHIN)? else {
        // The kernel leaves the area on when the process is killed.
        let _ = child.kill();
        let goes_on = match ended_within(&mut child, KILLED_WITHIN)? {
            Some(_) => String::new(),
            None => format!(", and process {} still waits for its storage", child.id()),
        };
        return Err(stays(format!("that took more than {} s{goes_on}", OFF_WITHIN.as_secs())));
    };
    if status.success() {
        return Ok(());
    }
    let mut said = String::new();
    // It has ended: nothing more comes.
    let _ = child.stderr.take().map(|mut output| output.read_to_string(&mut said));
    Err(stays(said.lines().next_back().unwrap_or("swapoff gave no reason").to_owned()))
}

/// Waits for the end of a process, for a limited time; `None` when it still runs.
fn ended_within(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let pid = Pid::from_child(child);
    let handle = pidfd_open(pid, PidfdFlags::empty()).map_err(failed("watch swapoff"))?;
    let deadline = Instant::now() + limit;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let wait = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&wait)) {
            Err(rustix::io::Errno::INTR) => {}
            waited => {
                waited.map_err(failed("wait for swapoff"))?;
                break;
            }
        }
    }
    child.try_wait().map_err(failed("wait for swapoff"))
}

/// Frees and removes a device of compressed memory, if it is there.
///
/// # Errors
/// When it is in use.
pub(crate) fn remove_zram(number: u32) -> Result<()> {
    switch_off(&zram(number))?;
    if !is_there(number) {
        return Ok(());
    }
    Ok(free_zram(number)?)
}

fn is_there(number: u32) -> bool {
    Path::new("/sys/block").join(format!("zram{number}")).exists()
}

fn format(area: &Path) -> Result<()> {
    let mkswap = tool("mkswap", "formats the phone's swap area", "util-linux")?;
    crate::phone::running::run(Command::new(mkswap).arg("--quiet").arg(area), area)
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_requires::requires;

    #[test]
    fn compressed_memory_is_switched_on_and_leaves_nothing() {
        requires!(Zram);
        let number = add_zram().expect("added");
        make_zram(number, 32 << 20).expect("made");
        let areas = Sense::default().swaps().expect("read");
        assert!(areas.iter().any(|area| area.path == zram(number) && area.priority == ZRAM_PRIORITY), "{areas:?}");
        // The header of the area is one page.
        assert!(zram_used_bytes(number, None).expect("read") < 1 << 20);
        remove_zram(number).expect("removed");
        assert!(!Sense::default().swaps().expect("read").iter().any(|area| area.path == zram(number)));
        assert!(!is_there(number));
        remove_zram(number).expect("gone is removed");
    }

    #[test]
    fn pages_of_other_groups_are_not_the_phones() {
        assert_eq!(share_of(300, 1_000, 4_000), 75);
        assert_eq!(share_of(300, 0, 4_000), 0);
        assert_eq!(share_of(300, 4_000, 4_000), 300);
        // Counted a moment apart.
        assert_eq!(share_of(300, u64::MAX, 4_000), 300);
        assert_eq!(share_of(4_096, 0, 0), 4_096, "an empty area has its header");
        assert_eq!(share_of(u64::MAX, u64::MAX - 1, u64::MAX), u64::MAX - 1);
    }

    #[test]
    fn a_process_that_does_not_end_is_given_up_in_time() {
        let mut sleeper = Command::new("sleep").arg("1000").spawn().expect("sleep starts");
        assert!(ended_within(&mut sleeper, Duration::from_millis(50)).expect("watched").is_none());
        sleeper.kill().expect("killed");
        let ended = ended_within(&mut sleeper, Duration::from_secs(60)).expect("watched");
        assert!(ended.is_some_and(|status| !status.success()), "{ended:?}");
        let mut shell = Command::new("sh").args(["-c", "exit 4"]).spawn().expect("sh starts");
        let ended = ended_within(&mut shell, Duration::from_secs(60)).expect("watched");
        assert_eq!(ended.and_then(|status| status.code()), Some(4));
    }

    #[test]
    fn a_file_that_does_not_fit_leaves_nothing_and_says_what_to_do() {
        requires!(Root);
        let dir = tempfile::tempdir().expect("temporary directory");
        let file = file(dir.path());
        let error = make_file(&file, 1 << 60).expect_err("too large").to_string();
        assert!(error.contains("--swap-size") || error.contains("make room for the swap file"), "{error}");
        assert!(!file.exists());
    }
}
