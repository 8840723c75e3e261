//! A control group for each launched app.
//!
//! All processes of the app stay in the group, including forked and background ones; so they can be watched and ended
//! together. The name follows systemd's for apps, `app-brisk-ID-RANDOM.scope`; its random part names its creator by
//! process id and start time, so that the next brisk finds and ends scopes of a dead one.

use std::fs;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use brisk_formats::{parse_cgroup_processes, parse_populated};
use brisk_sense::Sense;
use rustix::event::{PollFd, PollFlags, poll};

use crate::launch::error::{Error, Result};

const PREFIX: &str = "app-brisk-";
const SUFFIX: &str = ".scope";
/// Time limit for an app to end by itself.
pub const CLOSE_WITHIN: Duration = Duration::from_secs(3);
/// Time limit of the kernel for ending a group's processes, which may be in uninterruptible sleep.
const KILL_TIMEOUT: Duration = Duration::from_secs(30);

/// How often, and at which interval, a group is removed that the kernel does not let go yet: a process that was just
/// made may come into it after the others were seen to be gone.
const REMOVE_TRIES: u32 = 50;
const REMOVE_PAUSE: Duration = Duration::from_millis(10);

/// The control group of one launch. Dropping it kills its processes and removes it.
#[derive(Debug)]
pub struct Scope {
    dir: PathBuf,
    /// `cgroup.procs`, for a child that joins the group.
    processes: OwnedFd,
}

impl Scope {
    /// Creates a group for the app `id`.
    ///
    /// # Errors
    /// When no cgroup2 is mounted, or none of its directories is writable.
    pub fn create(sense: &Sense, id: &str) -> Result<Self> {
        Self::create_in(sense, id, &parents(sense)?)
    }

    /// Creates a group for the app `id` in one of `parents`, the first that allows it. A scope that is left behind
    /// there is not found by [`end_leftovers`], but goes with its parent.
    ///
    /// # Errors
    /// When none of them is writable.
    pub fn create_in(sense: &Sense, id: &str, parents: &[PathBuf]) -> Result<Self> {
        let name = format!("{PREFIX}{}-{}{:03x}{SUFFIX}", escape(id), Creator::this(sense).written(), fresh_number());
        let mut refused = None;
        for parent in parents {
            let dir = parent.join(&name);
            match fs::create_dir(&dir) {
                Ok(()) => {
                    let opened = fs::OpenOptions::new().write(true).open(dir.join("cgroup.procs"));
                    return match opened {
                        Ok(file) => Ok(Self { dir, processes: file.into() }),
                        Err(source) => {
                            // It is new and empty.
                            let _ = fs::remove_dir(&dir);
                            Err(Error::Scope { action: "use", path: dir, source })
                        }
                    };
                }
                Err(source) => refused = Some(Error::Scope { action: "make", path: dir, source }),
            }
        }
        Err(refused.unwrap_or(Error::NoCgroup2))
    }

    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The file to which a child writes `0` to join the group.
    pub(crate) fn processes(&self) -> BorrowedFd<'_> {
        self.processes.as_fd()
    }

    /// Whether the group has processes.
    ///
    /// # Errors
    /// When the kernel's file cannot be read.
    pub fn is_populated(&self) -> Result<bool> {
        let file = self.dir.join("cgroup.events");
        let text = fs::read(&file).map_err(|source| Error::Scope { action: "read", path: self.dir.clone(), source })?;
        Ok(parse_populated(&text).unwrap_or(false))
    }

    /// Ends all its processes with SIGTERM, so that an app can save its files, and kills those that run after
    /// [`CLOSE_WITHIN`].
    ///
    /// # Errors
    /// As [`Scope::end`].
    pub fn close(&self) -> Result<()> {
        let outcome = signal_all(&self.dir, rustix::process::Signal::TERM)
            .and_then(|()| wait_until_empty(&self.dir, CLOSE_WITHIN, || Ok(())));
        match outcome {
            Ok(()) => Ok(()),
            Err(_) => self.end(),
        }
    }

    /// Kills all its processes, and waits for their end.
    ///
    /// # Errors
    /// When the kernel refuses, or a process does not end within 30 s.
    pub fn end(&self) -> Result<()> {
        end_group(&self.dir).map_err(|source| Error::Scope { action: "end", path: self.dir.clone(), source })
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        for _ in 0..REMOVE_TRIES {
            let _ = self.end();
            match fs::remove_dir(&self.dir) {
                Err(error) if error.kind() == ErrorKind::ResourceBusy => std::thread::sleep(REMOVE_PAUSE),
                // A group that stays is found by the next brisk by its name.
                _ => break,
            }
        }
    }
}

/// Ends and removes scopes of dead brisk processes; returns their names.
///
/// # Errors
/// When the groups cannot be listed.
pub fn end_leftovers(sense: &Sense) -> Result<Vec<String>> {
    let mut ended = Vec::new();
    for parent in parents(sense)? {
        let Ok(entries) = fs::read_dir(&parent) else { continue };
        for name in entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()) {
            let Some(creator) = Creator::of(&name) else { continue };
            if creator.is_alive(sense) {
                continue;
            }
            let dir = parent.join(&name);
            if end_group(&dir).and_then(|()| fs::remove_dir(&dir)).is_ok() {
                ended.push(name);
            }
        }
    }
    Ok(ended)
}

/// Creator of a scope: process id and start time, as ids are reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Creator {
    pid: u32,
    /// Low bits of the start time in clock ticks since boot; they repeat after three hours.
    start_ticks_low: u32,
}

/// Bits of the start time in a name.
const START_BITS: u32 = 20;

impl Creator {
    fn this(sense: &Sense) -> Self {
        let pid = std::process::id();
        Self::running(sense, pid).unwrap_or(Self { pid, start_ticks_low: 0 })
    }

    fn running(sense: &Sense, pid: u32) -> Option<Self> {
        let stat = sense.process_stat(pid).ok().flatten().filter(|stat| !stat.has_ended())?;
        Some(Self { pid, start_ticks_low: stat.start_ticks as u32 & ((1 << START_BITS) - 1) })
    }

    fn is_alive(self, sense: &Sense) -> bool {
        Self::running(sense, self.pid) == Some(self)
    }

    fn written(self) -> String {
        format!("{:08x}{:05x}", self.pid, self.start_ticks_low)
    }

    /// The creator of the scope with this name.
    fn of(name: &str) -> Option<Self> {
        let random = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.rsplit_once('-')?.1;
        let hex = |range: std::ops::Range<usize>| u32::from_str_radix(&random[range], 16).ok();
        (random.len() == 16 && random.bytes().all(|b| b.is_ascii_hexdigit()))
            .then(|| Some(Self { pid: hex(0..8)?, start_ticks_low: hex(8..13)? }))?
    }
}

/// The directories in which a scope may be created, best first.
fn parents(sense: &Sense) -> Result<Vec<PathBuf>> {
    let root = sense.cgroups()?.v2.ok_or(Error::NoCgroup2)?.mount_point;
    let mut found = Vec::new();
    if rustix::process::geteuid().is_root() {
        found.push(root.clone());
    }
    let own = sense.process_cgroups(std::process::id())?.unwrap_or_default();
    if let Some(own) = own.iter().find(|group| group.hierarchy == 0) {
        let dir = root.join(own.path.strip_prefix("/").unwrap_or(&own.path));
        // Next to the own group, as systemd does, or below it.
        found.extend(dir.parent().filter(|parent| parent.starts_with(&root)).map(Path::to_path_buf));
        found.push(dir);
    }
    Ok(found)
}

/// The id as one part of a systemd unit's name: what is not a letter, digit, `:`, `_` or `.` becomes `\xHH`.
fn escape(id: &str) -> String {
    let mut out = String::new();
    for byte in id.bytes().take(100) {
        if byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'_' | b'.') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out
}

/// Kills all processes of the control group at `dir` and its descendants, and waits for their end.
///
/// # Errors
/// When the kernel refuses, or a process does not end within 30 s.
pub fn end_group(dir: &Path) -> io::Result<()> {
    wait_until_empty(dir, KILL_TIMEOUT, || kill_all(dir))
}

/// Reports the end of a group's last process as it happens.
#[derive(Debug)]
pub(crate) struct Emptied {
    /// `cgroup.events`, whose changes the kernel announces.
    events: fs::File,
    dir: PathBuf,
    is_empty: bool,
}

impl Emptied {
    /// Watches the control group at `dir`.
    pub(crate) fn watch(dir: &Path) -> Result<Self> {
        let failed = |source| Error::Scope { action: "watch", path: dir.to_owned(), source };
        let events = fs::File::open(dir.join("cgroup.events")).map_err(failed)?;
        Ok(Self { events, dir: dir.to_owned(), is_empty: false })
    }

    /// Waits for `time`, or until no process is left; returns whether that happened now, and was not returned before.
    pub(crate) fn within(&mut self, time: Duration) -> Result<bool> {
        self.changed_within(time).map_err(|source| Error::Scope { action: "watch", path: self.dir.clone(), source })
    }

    fn changed_within(&mut self, time: Duration) -> io::Result<bool> {
        // Each reading re-arms the announcement.
        if self.became_empty()? {
            return Ok(true);
        }
        let (tv_sec, tv_nsec) = (i64::try_from(time.as_secs()).unwrap_or(i64::MAX), i64::from(time.subsec_nanos()));
        match poll(&mut [PollFd::new(&self.events, PollFlags::PRI)], Some(&rustix::time::Timespec { tv_sec, tv_nsec }))
        {
            // An interrupted wait is one that was shorter.
            Ok(0) | Err(rustix::io::Errno::INTR) => Ok(false),
            Ok(_) => self.became_empty(),
            Err(errno) => Err(errno.into()),
        }
    }

    fn became_empty(&mut self) -> io::Result<bool> {
        let mut text = Vec::new();
        self.events.seek(SeekFrom::Start(0))?;
        self.events.read_to_end(&mut text)?;
        let was_empty = std::mem::replace(&mut self.is_empty, !parse_populated(&text).unwrap_or(true));
        Ok(self.is_empty && !was_empty)
    }
}

/// Waits until the group is empty; calls `again` after each check that found a process.
fn wait_until_empty(dir: &Path, within: Duration, again: impl Fn() -> io::Result<()>) -> io::Result<()> {
    let mut events = fs::File::open(dir.join("cgroup.events"))?;
    let mut text = Vec::new();
    let deadline = Instant::now() + within;
    loop {
        text.clear();
        events.seek(SeekFrom::Start(0))?;
        events.read_to_end(&mut text)?;
        if !parse_populated(&text).unwrap_or(false) {
            return Ok(());
        }
        again()?;
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "its processes do not end"));
        }
        // The kernel reports changes of the file; polling covers processes that forked meanwhile.
        let wait = left.min(Duration::from_millis(200));
        let wait = rustix::time::Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
        poll(&mut [PollFd::new(&events, PollFlags::PRI)], Some(&wait))?;
    }
}

fn kill_all(dir: &Path) -> io::Result<()> {
    match fs::write(dir.join("cgroup.kill"), "1") {
        // Before Linux 5.14.
        Err(error) if error.kind() == io::ErrorKind::NotFound => signal_all(dir, rustix::process::Signal::KILL),
        other => other,
    }
}

fn signal_all(dir: &Path, signal: rustix::process::Signal) -> io::Result<()> {
    for pid in parse_cgroup_processes(&fs::read(dir.join("cgroup.procs"))?).unwrap_or_default() {
        if let Some(pid) = rustix::process::Pid::from_raw(pid.cast_signed()) {
            // Gone already is what is wanted.
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
    Ok(())
}

/// A number that is unique among the scopes of this process.
fn fresh_number() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    COUNT.fetch_add(1, Ordering::Relaxed) & 0xfff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_systemd() {
        assert_eq!(escape("org.gnome.Evince"), "org.gnome.Evince");
        assert_eq!(escape("libre-office/writer ü"), "libre\\x2doffice\\x2fwriter\\x20\\xc3\\xbc");
    }

    #[test]
    fn the_creator_is_part_of_the_name() {
        let creator = Creator { pid: 1234, start_ticks_low: 0xdead };
        let name = format!("app-brisk-xterm-{}eef.scope", creator.written());
        assert_eq!(Creator::of(&name), Some(creator));
        for other in ["app-brisk-xterm-1234.scope", "app-gnome-xterm-000004d20deadeef.scope", "app-brisk-.scope", ""] {
            assert_eq!(Creator::of(other), None, "{other}");
        }
    }

    #[test]
    fn a_killed_creator_is_dead_before_its_parent_asks_for_its_end() {
        let sense = Sense::default();
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().expect("sleep starts");
        let creator = Creator::running(&sense, child.id()).expect("it runs");
        assert!(creator.is_alive(&sense));
        child.kill().expect("killed");
        let begin = Instant::now();
        while creator.is_alive(&sense) {
            assert!(begin.elapsed() < Duration::from_secs(60), "a zombie counts as alive");
            std::thread::yield_now();
        }
        child.wait().expect("ended");
    }

    #[test]
    fn this_process_is_alive_and_its_double_is_not() {
        let sense = Sense::default();
        let this = Creator::this(&sense);
        assert!(this.is_alive(&sense));
        assert!(!Creator { start_ticks_low: this.start_ticks_low ^ 1, ..this }.is_alive(&sense));
    }
}
