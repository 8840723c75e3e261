//! Kills brisk, its keeper, or both at random moments, while brisk freezes and thaws groups with real processes, and
//! checks that nothing stays frozen. Needs root.
//!
//! A round: a *controller* process freezes and thaws all groups in turns, guarded by a keeper. After a random time the
//! victim gets SIGKILL. When brisk or brisk and its second keeper die, the keeper must have thawed everything by the
//! time it ends; when both die at once, the next brisk does by the journal. Then each process of the groups has to
//! answer. The moments follow from a seed, as far as the machine's scheduling does.

#![allow(clippy::print_stdout, reason = "a test reports to its output")]

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use brisk_act::{Actuator, Keeper, Paths, Sensed, Tended, restore_leftovers};
use brisk_core::action::Once;
use brisk_core::app::{Activity, App, AppFacts, Role, classify};
use brisk_core::group::GroupKey;
use brisk_core::outcome::Outcome;
use brisk_core::random::Random;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

/// Tell the controller where its journals are, and its groups, joined by colons.
const RUN_DIR: &str = "BRISK_KILLS_RUN_DIR";
const GROUPS: &str = "BRISK_KILLS_GROUPS";

/// A guard against hanging, no measure of anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// The longest time before a kill: a few turns of freezing and thawing.
const DELAY_US_MAX: u64 = 12_000;

/// What became of the rounds.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Processes that got SIGKILL.
    pub(crate) kills: u32,
    /// Rounds in which brisk was killed, the keeper and then brisk, and both at once.
    pub(crate) of_brisk: u32,
    /// See above.
    pub(crate) of_keeper: u32,
    /// See above.
    pub(crate) of_both: u32,
    /// Rounds of both in which a group was still frozen, and the next brisk thawed it.
    pub(crate) by_journal: u32,
    /// Groups that stayed frozen.
    pub(crate) left_frozen: u32,
    /// Processes that did not answer afterwards.
    pub(crate) silent: u32,
}

/// An app as the actuator gets it: nothing keeps it from being frozen.
pub(crate) fn idle_app(group: &str) -> App {
    let activity = Activity { audible: Some(false), inhibits: Some(false), works: Some(false), ..Activity::default() };
    let (role, focused) = (Role::App, Some(false));
    classify(&AppFacts { group: group.to_owned(), of_user: true, role, focused, activity, ..AppFacts::default() })
}

/// The controller: freezes and thaws its groups in turns until its input ends. `keeper` is the program of the keeper.
pub(crate) fn control(keeper: Vec<OsString>) {
    let (Some(run_dir), Ok(groups)) = (std::env::var_os(RUN_DIR), std::env::var(GROUPS)) else { return };
    let actuator = Actuator::new(&Paths::with_run_dir(run_dir), "briskd", false).expect("a journal");
    let mut actuator = actuator.guarded_by(Keeper::new(keeper));
    let mut known = None;
    loop {
        for thaws in [false, true] {
            for group in groups.split(':') {
                let group = group.to_owned();
                let once = if thaws { Once::Thaw { group } } else { Once::Freeze { group } };
                let app = idle_app(once.group());
                let outcome = actuator.perform(&once, &Sensed { app: Some(&app), killers: &[] }, 0);
                assert!(matches!(outcome, Outcome::Done | Outcome::Unchanged), "{once}: {outcome:?}");
            }
        }
        if let Some(tended) = actuator.tend_keeper() {
            assert!(matches!(tended, Tended::Replaced { .. }), "{tended:?}");
        }
        let pid = actuator.keeper().and_then(Keeper::pid);
        if pid != known {
            known = pid;
            println!("keeper {}", pid.expect("one that froze has a keeper"));
        }
        let input = std::io::stdin();
        if is_readable(&input, Duration::ZERO) {
            return;
        }
    }
}

/// Does so many rounds with these programs; prints nothing.
pub(crate) fn run(rounds: u32, seed: u64, controller: &dyn Fn() -> Command, hierarchies: &[(PathBuf, &str)]) -> Tally {
    let dir = tempfile::tempdir().expect("temporary directory");
    let paths = Paths::with_run_dir(dir.path().join("run"));
    let mut groups: Vec<Frozen> = hierarchies.iter().map(|(root, file)| Frozen::new(root, file)).collect();
    let names: Vec<&str> = groups.iter().map(|group| group.key.as_str()).collect();
    let names = names.join(":");
    let (mut tally, mut random) = (Tally::default(), Random(seed));
    for _ in 0..rounds {
        let mut brisk = Controller::start(controller().env(RUN_DIR, dir.path().join("run")).env(GROUPS, &names));
        let keeper = brisk.keeper();
        // Not to synchronise: the moment of the kill is what is random.
        std::thread::sleep(Duration::from_micros(random.below(DELAY_US_MAX)));
        let mut thaws_by_keeper = Some(keeper);
        match random.below(3) {
            0 => tally.of_brisk += 1,
            1 => {
                tally.of_keeper += 1;
                tally.kills += 1;
                kill(thaws_by_keeper.as_ref().expect("set above"));
                thaws_by_keeper = Some(brisk.keeper());
                std::thread::sleep(Duration::from_micros(random.below(DELAY_US_MAX)));
            }
            _ => {
                tally.of_both += 1;
                tally.kills += 1;
                let keeper = thaws_by_keeper.take().expect("set above");
                if random.below(2) == 0 {
                    kill(&keeper);
                } else {
                    let _ = brisk.child.kill();
                    kill(&keeper);
                }
            }
        }
        brisk.child.kill().expect("it runs, or is not reaped");
        brisk.child.wait().expect("a child");
        tally.kills += 1;
        match thaws_by_keeper {
            Some(keeper) => {
                assert!(is_readable(&keeper, PATIENCE), "the keeper does not end with brisk");
                tally.left_frozen += count(&groups, Frozen::is_frozen);
            }
            None => tally.by_journal += u32::from(groups.iter().any(Frozen::is_frozen)),
        }
        restore_leftovers(&paths).expect("everything can be undone");
        tally.left_frozen += count(&groups, Frozen::is_frozen);
        assert_eq!(fs::read_dir(&paths.journal).map_or(0, Iterator::count), 0, "a journal is left");
        tally.silent += groups.iter_mut().map(Frozen::silent).sum::<u32>();
    }
    tally
}

fn count(groups: &[Frozen], of: impl Fn(&Frozen) -> bool) -> u32 {
    u32::try_from(groups.iter().filter(|group| of(group)).count()).expect("few")
}

/// Where groups can be frozen: the root of each hierarchy that this machine has, and the file that shows the state.
pub(crate) fn hierarchies() -> Vec<(PathBuf, &'static str)> {
    let mounts = fs::read_to_string("/proc/self/mounts").expect("mounts");
    let of = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        match (words.get(1)?, *words.get(2)?, words.get(3)?) {
            (dir, "cgroup2", _) => Some((PathBuf::from(dir), "cgroup.freeze")),
            (dir, "cgroup", options) if options.split(',').any(|option| option == "freezer") => {
                Some((PathBuf::from(dir), "freezer.state"))
            }
            _ => None,
        }
    };
    mounts.lines().filter_map(of).collect()
}

/// A group with two processes that answer.
pub(crate) struct Frozen {
    pub(crate) key: String,
    pub(crate) dir: PathBuf,
    /// The group in the hierarchy of apps: the same, or an empty one in the same place.
    of_apps: PathBuf,
    file: &'static str,
    processes: Vec<(Child, BufReader<ChildStdout>)>,
}

impl Frozen {
    pub(crate) fn new(root: &Path, file: &str) -> Self {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let file = if file == "cgroup.freeze" { "cgroup.freeze" } else { "freezer.state" };
        let name = format!("brisk-kills-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let dir = root.join(&name);
        fs::create_dir(&dir).expect("root makes groups");
        let unified = hierarchies().into_iter().find(|(_, file)| *file == "cgroup.freeze").expect("cgroup2 is mounted");
        let of_apps = unified.0.join(&name);
        fs::create_dir_all(&of_apps).expect("root makes groups");
        let inode = fs::metadata(&of_apps).expect("made").ino();
        let key = GroupKey::Control { inode, path: &name }.text();
        let mut group = Self { key, dir, of_apps, file, processes: Vec::new() };
        for _ in 0..2 {
            let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("cat");
            fs::write(group.dir.join("cgroup.procs"), child.id().to_string()).expect("moved");
            let said = BufReader::new(child.stdout.take().expect("a pipe"));
            group.processes.push((child, said));
        }
        group
    }

    /// Whether the kernel is to keep it frozen.
    pub(crate) fn is_frozen(&self) -> bool {
        let state = fs::read_to_string(self.dir.join(self.file)).expect("the state of the group");
        !matches!(state.trim(), "0" | "THAWED")
    }

    /// How many of its processes do not answer.
    pub(crate) fn silent(&mut self) -> u32 {
        let mut silent = 0;
        for (child, said) in &mut self.processes {
            let asked = child.stdin.as_mut().expect("a pipe").write_all(b"there?\n");
            let answers = asked.is_ok() && is_readable(said.get_ref(), PATIENCE);
            let mut line = String::new();
            if !answers || said.read_line(&mut line).is_err() || line != "there?\n" {
                silent += 1;
            }
        }
        silent
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = fs::write(self.dir.join(self.file), if self.file == "cgroup.freeze" { "0" } else { "THAWED" });
        for (child, _) in &mut self.processes {
            let _ = child.kill();
            let _ = child.wait();
        }
        let begun = std::time::Instant::now();
        while fs::remove_dir(&self.dir).is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY)) {
            assert!(begun.elapsed() < PATIENCE, "waited in vain for the end of {}", self.dir.display());
            std::thread::yield_now();
        }
        let _ = fs::remove_dir(&self.of_apps);
    }
}

/// A controller, killed with this.
struct Controller {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Controller {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a program");
        let said = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, said }
    }

    /// The next keeper that it names.
    fn keeper(&mut self) -> OwnedFd {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(!self.said.buffer().is_empty() || is_readable(self.said.get_ref(), PATIENCE), "no keeper comes");
            assert_ne!(self.said.read_line(&mut line).expect("a line"), 0, "it ended before it had a keeper");
            if let Some((_, pid)) = line.trim().split_once("keeper ") {
                let pid = pid.parse().ok().and_then(Pid::from_raw).expect("a pid");
                return pidfd_open(pid, PidfdFlags::empty())
                    .expect("it is not reaped while brisk has not seen its end");
            }
        }
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn kill(pidfd: &OwnedFd) {
    let _ = pidfd_send_signal(pidfd, Signal::KILL);
}

/// Kills a process that is known to run.
pub(crate) fn kill_pid(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a pid");
    kill_process(pid, Signal::KILL).expect("it runs");
}

/// Whether something can be read, or has ended, within this time.
pub(crate) fn is_readable(fd: &impl std::os::fd::AsFd, within: Duration) -> bool {
    let deadline = Instant::now() + within;
    loop {
        let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).ok();
        match poll(&mut [PollFd::new(fd, PollFlags::IN)], left.as_ref()) {
            Err(rustix::io::Errno::INTR) => {}
            ready => return ready.is_ok_and(|ready| ready > 0),
        }
    }
}
