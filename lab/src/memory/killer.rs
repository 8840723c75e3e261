//! Ends apps when memory has run out, where there is no swap.
//!
//! [`Watch::oldest`] ends the app in the background that was in front longest ago when less than a tenth of the limit
//! is available (free, or files in the page cache), or when tasks waited for memory for [`STALL`] within
//! [`STALL_WINDOW`]: files of the app in front that are read again and again count as available, and are not. Waiting
//! for the kernel to find nothing to reclaim would be too late (measured without swap on nexus4-emmc: 772 MB were read
//! in 40 s, and no app was ended). The kernel's own killer stays: an app in front that needs more than the phone has is
//! ended by it.
//!
//! [`Watch::earlyoom`] runs earlyoom, which reads /proc only. It gets a /proc of its own in a mount namespace of its
//! own: links to the processes of the phone's apps alone, so that it can end no other, and a meminfo of the phone's
//! group, which a thread keeps up to date every [`REFRESH`].
//!
//! [`Watch::brisk`] runs the daemon of brisk, which takes the phone's memory group for the machine.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::{FileExt as _, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::phone::MemoryGroup;
use crate::results::EndedBy;
use brisk_sense::{Resource, Sense};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::memory::error::{Error, Result, io as failed};
use crate::memory::ground::Engine;
use crate::memory::policy::Brisk;
use crate::memory::roster::{Member, Roster};

/// Time between two updates of what earlyoom sees.
const REFRESH: Duration = Duration::from_millis(50);
/// The memory group of the session bus, which is no app.
const BUS_GROUP: &str = "bus";
/// Tasks that wait for memory for so long within [`STALL_WINDOW`] show that it is short: the partial stall at which
/// Android's lmkd acts on devices with little memory (`ro.lmk.psi_partial_stall_ms`).
const STALL: Duration = Duration::from_millis(200);
const STALL_WINDOW: Duration = Duration::from_secs(1);
/// Memory is short when less than one part in so many is available.
pub(crate) const AVAILABLE_SHARE: u64 = 10;
/// earlyoom's thresholds in percent of available memory: its own default to ask an app to end.
const EARLYOOM_PERCENT: &str = "10";

/// A killer that runs; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Watch {
    stop: OwnedFd,
    thread: Option<JoinHandle<()>>,
    child: Option<Child>,
    /// Made for earlyoom.
    dir: Option<PathBuf>,
}

impl Watch {
    /// Ends the app that was in front longest ago whenever memory has run out.
    pub(crate) fn oldest(group: &MemoryGroup, roster: Roster, sense: &Sense) -> Result<Self> {
        let stop = eventfd(0, EventfdFlags::CLOEXEC).map_err(failed("make an eventfd"))?;
        let stopped = stop.try_clone().map_err(failed("copy a descriptor"))?;
        let (group, sense) = (group.clone(), sense.clone());
        let mut watch = Self { stop, thread: None, child: None, dir: None };
        watch.thread = Some(std::thread::spawn(move || {
            let (mut freeing, mut stalls) = (false, Stalls::default());
            while !stops_within(&stopped, REFRESH) {
                let is_stalled = stalls.is_long(stall_of(&sense, &group));
                // What was ended in the last interval may not have freed its memory yet.
                freeing = !freeing && (is_stalled || is_short(&group)) && {
                    stalls = Stalls::default();
                    roster.take_oldest().is_some_and(|entry| end(&entry.member))
                };
            }
        }));
        Ok(watch)
    }

    /// Runs earlyoom for the phone's group, with its files below `state`.
    pub(crate) fn earlyoom(group: &MemoryGroup, roster: Roster, state: &Path) -> Result<Self> {
        let program = earlyoom()?;
        let dir = state.join("earlyoom");
        let stop = eventfd(0, EventfdFlags::CLOEXEC).map_err(failed("make an eventfd"))?;
        let stopped = stop.try_clone().map_err(failed("copy a descriptor"))?;
        let mut watch = Self { stop, thread: None, child: None, dir: Some(dir.clone()) };
        let view = View::make(&dir, group.clone())?;
        let mut command = Command::new("sh");
        command.args(["-ec", SCRIPT, "sh"]);
        command.arg(dir.join("real")).arg(dir.join("proc")).args([program, "-m", EARLYOOM_PERCENT, "-r", "0"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        brisk_program::child::with_own_mounts(&mut command);
        brisk_program::child::end_with_parent(&mut command, brisk_program::child::Signal::KILL);
        let mut child = command.spawn().map_err(failed("run earlyoom with mounts of its own"))?;
        let said = child.stderr.take();
        watch.child = Some(child);
        let mut lines = BufReader::new(said.ok_or_else(|| missing("it has no standard error"))?);
        // It says what it found before it watches; when it ends instead, that is the reason.
        let mut first = String::new();
        loop {
            let mut line = String::new();
            match lines.read_line(&mut line) {
                Ok(0) | Err(_) => return Err(missing(first.trim())),
                Ok(_) if line.starts_with("mem total") => break,
                Ok(_) => first.push_str(&line),
            }
        }
        let names = view.names.clone();
        std::thread::spawn(move || {
            for line in lines.lines().map_while(std::result::Result::ok) {
                let name = victim(&line)
                    .and_then(|pid| names.lock().unwrap_or_else(PoisonError::into_inner).get(&pid).cloned());
                if let Some(name) = name {
                    roster.blame(&name, EndedBy::Earlyoom);
                }
            }
        });
        watch.thread = Some(std::thread::spawn(move || {
            let mut view = view;
            while !stops_within(&stopped, REFRESH) {
                // What cannot be read now can be read the next time; without a group there is nothing to watch.
                let _ = view.refresh();
            }
        }));
        Ok(watch)
    }
}

/// The daemon answers on its socket within this time.
const READY_TIMEOUT: Duration = Duration::from_secs(20);
/// It restores its settings and thaws what it froze within this time after SIGTERM.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

impl Watch {
    /// Runs the daemon of brisk with these engines. With the engine for swap it is in the phone's group, as what it
    /// reads ahead counts there.
    pub(crate) fn brisk(engine: Option<&Engine>, brisk: Brisk, group: &MemoryGroup) -> Result<Self> {
        let failed_to = |reason: &str| Error::Killer { program: BRISK, reason: reason.to_owned() };
        let Some(Engine { command, socket, files, forgotten, .. }) = engine else {
            return Err(failed_to("it is not installed: build it with this program, or leave this policy out"));
        };
        for path in forgotten {
            match fs::remove_file(path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(failed(format!("remove {}", path.display()))(error));
                }
                _ => {}
            }
        }
        for (_, path, text) in files.iter().filter(|(of, ..)| *of == brisk) {
            let dir = path.parent().unwrap_or(Path::new("/"));
            let written = fs::create_dir_all(dir).and_then(|()| fs::write(path, text));
            written.map_err(failed(format!("write {}", path.display())))?;
        }
        let (program, arguments) = command.split_first().ok_or_else(|| failed_to("no program is named"))?;
        let mut start = Command::new(program);
        start.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        brisk_program::child::end_with_parent(&mut start, brisk_program::child::Signal::TERM);
        let mut child = start.spawn().map_err(failed(format!("run {}", program.display())))?;
        let said = child.stderr.take();
        if brisk.learns_from_returns() {
            group.child(BRISK)?.add(child.id())?;
        }
        let mut watch = Self {
            stop: eventfd(0, EventfdFlags::CLOEXEC).map_err(failed("make an eventfd"))?,
            thread: None,
            child: Some(child),
            dir: None,
        };
        let deadline = Instant::now() + READY_TIMEOUT;
        while UnixStream::connect(socket).is_err() {
            let child = watch.child.as_mut().ok_or_else(|| failed_to("it did not start"))?;
            if child.try_wait().map_err(failed("wait for briskd"))?.is_some() {
                let mut text = String::new();
                // Without words the exit alone is told.
                let _ = said.map(|mut said| said.read_to_string(&mut text));
                return Err(failed_to(&format!("it ended: {}", text.trim())));
            }
            if Instant::now() >= deadline {
                return Err(failed_to("it does not answer"));
            }
            std::thread::sleep(REFRESH);
        }
        // Its words must not fill the pipe, which would stop it.
        if let Some(mut said) = said {
            watch.thread = Some(std::thread::spawn(move || {
                let _ = std::io::copy(&mut said, &mut std::io::sink());
            }));
        }
        Ok(watch)
    }
}

/// Name of the daemon in messages.
pub(crate) const BRISK: &str = "briskd";

/// Asks a program to end, and ends it when it has not after [`EXIT_TIMEOUT`].
fn end_child(child: &mut Child) {
    let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid
        && rustix::process::kill_process(pid, rustix::process::Signal::TERM).is_ok()
    {
        let deadline = Instant::now() + EXIT_TIMEOUT;
        while Instant::now() < deadline {
            if child.try_wait().is_ok_and(|ended| ended.is_some()) {
                return;
            }
            std::thread::sleep(REFRESH);
        }
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Time for which tasks of the phone waited for memory so far, by the pressure files of the control groups of version 2
/// that its processes are in. A process that has ended meanwhile, or a kernel that has no such files, counts nothing.
fn stall_of(sense: &Sense, group: &MemoryGroup) -> BTreeMap<PathBuf, Duration> {
    let Some(mount) = sense.cgroups().ok().and_then(|groups| groups.v2) else { return BTreeMap::new() };
    let pids = group.processes_by_child().unwrap_or_default();
    let in_v2 = |(pid, _): (u32, String)| {
        let groups = sense.process_cgroups(pid).ok()??;
        let of_v2 = groups.into_iter().find(|group| group.hierarchy == 0)?;
        Some(mount.mount_point.join(of_v2.path.strip_prefix("/").unwrap_or(&of_v2.path)))
    };
    let dirs: BTreeSet<PathBuf> = pids.into_iter().filter_map(in_v2).collect();
    let stalled = |dir: PathBuf| {
        let pressure = sense.cgroup_pressure(&dir, Resource::Memory).ok()??;
        Some((dir, Duration::from_micros(pressure.some.total_us)))
    };
    dirs.into_iter().filter_map(stalled).collect()
}

/// Waits for memory by group, sampled every [`REFRESH`].
#[derive(Debug, Default)]
struct Stalls(VecDeque<BTreeMap<PathBuf, Duration>>);

impl Stalls {
    /// Adds the totals now; whether that of any group grew by [`STALL`] within [`STALL_WINDOW`]. A group that is new
    /// has not waited.
    fn is_long(&mut self, totals: BTreeMap<PathBuf, Duration>) -> bool {
        let is_long = totals.iter().any(|(group, total)| {
            let first = self.0.iter().find_map(|totals| totals.get(group));
            first.is_some_and(|first| total.saturating_sub(*first) >= STALL)
        });
        self.0.push_back(totals);
        if self.0.len() > (STALL_WINDOW.as_millis() / REFRESH.as_millis()) as usize {
            self.0.pop_front();
        }
        is_long
    }
}

/// Whether less than a tenth of the limit is available; a group that is gone needs no memory.
fn is_short(group: &MemoryGroup) -> bool {
    let bytes = || -> crate::phone::Result<(u64, u64)> {
        let (limit_bytes, usage_bytes) = (group.limit_bytes()?, group.usage_bytes()?);
        Ok((limit_bytes, limit_bytes.saturating_sub(usage_bytes).saturating_add(group.file_bytes()?)))
    };
    bytes().is_ok_and(|(limit_bytes, available_bytes)| available_bytes < limit_bytes / AVAILABLE_SHARE)
}

/// Ends it; what has ended already is no error. Gives whether there is something to end.
fn end(member: &Member) -> bool {
    match member {
        Member::Group(group) => fs::write(group.join("cgroup.kill"), "1").is_ok(),
        Member::Process(pid) => {
            let pid = i32::try_from(*pid).ok().and_then(rustix::process::Pid::from_raw);
            pid.is_some_and(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL).is_ok())
        }
        Member::Launching => false,
    }
}

/// Mounts the real /proc where the links point to, and the made one over it.
const SCRIPT: &str = r#"mount --bind /proc "$1"; mount --bind "$2" /proc; shift 2; exec "$@""#;

/// Refuses the policy of that name where the program is missing.
///
/// # Errors
/// What to install.
pub fn check_earlyoom() -> Result<()> {
    earlyoom().map(|_| ())
}

fn earlyoom() -> Result<&'static str> {
    let found = ["/usr/bin/earlyoom", "/usr/local/bin/earlyoom"].into_iter().find(|path| Path::new(path).exists());
    found.ok_or_else(|| missing("it is not installed: apt install earlyoom, or leave this policy out"))
}

fn missing(reason: &str) -> Error {
    Error::Killer { program: "earlyoom", reason: reason.to_owned() }
}

/// The process that a line of earlyoom says it ends.
fn victim(line: &str) -> Option<u32> {
    let (_, rest) = line.split_once("to process ")?;
    line.starts_with("sending SIG").then(|| rest.split_whitespace().next()?.parse().ok())?
}

/// Waits for so long; whether it is to stop.
fn stops_within(stop: &OwnedFd, time: Duration) -> bool {
    let time = Timespec { tv_sec: 0, tv_nsec: i64::from(time.subsec_nanos()) };
    match poll(&mut [PollFd::new(stop, PollFlags::IN)], Some(&time)) {
        Ok(events) => events > 0,
        Err(error) => error != rustix::io::Errno::INTR,
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = rustix::io::write(self.stop.as_fd(), &1_u64.to_ne_bytes());
        // Before the threads: one of them reads what it says.
        if let Some(child) = &mut self.child {
            end_child(child);
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if let Some(dir) = &self.dir {
            let _ = fs::remove_dir_all(dir);
        }
    }
}

/// What earlyoom sees as /proc.
#[derive(Debug)]
struct View {
    proc: PathBuf,
    real: PathBuf,
    group: MemoryGroup,
    meminfo: File,
    /// Processes with the app that each belongs to.
    names: Arc<Mutex<BTreeMap<u32, String>>>,
}

impl View {
    fn make(dir: &Path, group: MemoryGroup) -> Result<Self> {
        let (proc, real) = (dir.join("proc"), dir.join("real"));
        for dir in [&proc, &real] {
            fs::create_dir_all(dir).map_err(failed(format!("make {}", dir.display())))?;
        }
        for name in ["self", "sys", "pressure"] {
            symlink(real.join(name), proc.join(name)).map_err(failed(format!("make links in {}", proc.display())))?;
        }
        let path = proc.join("meminfo");
        let meminfo = File::create(&path).map_err(failed(format!("make {}", path.display())))?;
        let mut view = Self { proc, real, group, meminfo, names: Arc::default() };
        view.refresh()?;
        Ok(view)
    }

    fn refresh(&mut self) -> Result<()> {
        let text = meminfo(self.group.limit_bytes()?, self.group.usage_bytes()?, self.group.file_bytes()?);
        // In place, and always of the same length: earlyoom keeps the file open.
        self.meminfo
            .write_all_at(text.as_bytes(), 0)
            .and_then(|()| self.meminfo.flush())
            .map_err(failed("write meminfo"))?;
        let found = self.group.processes_by_child()?;
        let now: BTreeMap<u32, String> = found.into_iter().filter(|(_, name)| name != BUS_GROUP).collect();
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let (new, old): (BTreeSet<u32>, BTreeSet<u32>) =
            (now.keys().copied().collect(), names.keys().copied().collect());
        for pid in new.difference(&old) {
            let name = pid.to_string();
            symlink(self.real.join(&name), self.proc.join(name)).map_err(failed("link a process"))?;
        }
        for pid in old.difference(&new) {
            let _ = fs::remove_file(self.proc.join(pid.to_string()));
        }
        *names = now;
        Ok(())
    }
}

/// The lines of /proc/meminfo that earlyoom reads, for a group without swap.
fn meminfo(limit_bytes: u64, usage_bytes: u64, file_bytes: u64) -> String {
    let free_bytes = limit_bytes.saturating_sub(usage_bytes);
    let lines = [
        ("MemTotal:", limit_bytes),
        ("MemFree:", free_bytes),
        ("MemAvailable:", free_bytes.saturating_add(file_bytes).min(limit_bytes)),
        ("Buffers:", 0),
        ("Cached:", file_bytes),
        ("AnonPages:", usage_bytes.saturating_sub(file_bytes)),
        ("SwapTotal:", 0),
        ("SwapFree:", 0),
    ];
    lines.iter().map(|(name, bytes)| format!("{name:<16}{:>12} kB\n", bytes >> 10)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_earlyoom_reads_has_always_the_same_length() {
        let (small, large) = (meminfo(64 << 20, 0, 0), meminfo(u64::MAX >> 8, u64::MAX >> 9, 1 << 40));
        assert_eq!(small.lines().next(), Some("MemTotal:              65536 kB"));
        assert_eq!(small.len(), meminfo(600 << 20, 599 << 20, 5 << 20).len());
        assert!(large.contains("MemAvailable:"));
        let available = meminfo(100 << 20, 90 << 20, 30 << 20);
        assert!(available.contains("MemAvailable:          40960 kB"), "{available}");
    }

    #[test]
    fn a_stall_counts_within_its_window_only() {
        let mut stalls = Stalls::default();
        let of = |group: &str, total_ms: u64| (PathBuf::from(group), Duration::from_millis(total_ms));
        // 5 ms in each interval of 50: 95 ms in the window.
        assert!((0..100).all(|n| !stalls.is_long(BTreeMap::from([of("a", 5 * n), of("b", 0)]))));
        assert!(stalls.is_long(BTreeMap::from([of("a", 700)])));
        assert!(!stalls.is_long(BTreeMap::from([of("b", 5), of("c", 1_000_000)])), "what was before does not count");
    }

    #[test]
    fn the_process_that_earlyoom_ends_is_read_from_what_it_says() {
        let line = "sending SIGTERM to process 4711 uid 1000 \"evince\": badness 812, VmRSS 90 MiB";
        assert_eq!(victim(line), Some(4711));
        assert_eq!(victim("mem avail:  100 of  600 MiB (16.67%)"), None);
        assert_eq!(victim("process 4711 exited after 0.1 seconds"), None);
    }
}
