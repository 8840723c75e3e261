//! Control groups and processes of a test's own, in any hierarchy.

use std::fs;
use std::io::BufReader;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use brisk_act::{Actuator, Paths};
use brisk_core::action::Once;
use brisk_core::group::GroupKey;
use brisk_requires::{Capability, available, end_of, line_with, skip, until};
use rustix::process::{Pid, Signal, kill_process};

/// A hierarchy of control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hierarchy {
    Unified,
    Freezer,
    Memory,
}

impl Hierarchy {
    pub(crate) fn root(self) -> Option<PathBuf> {
        let mounts = fs::read_to_string("/proc/self/mounts").expect("mounts");
        mounts.lines().find_map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let has = |option: &str| words[2] == "cgroup" && words[3].split(',').any(|found| found == option);
            let is_it = match self {
                Self::Unified => words[2] == "cgroup2",
                Self::Freezer => has("freezer"),
                Self::Memory => has("memory"),
            };
            is_it.then(|| PathBuf::from(words[1]))
        })
    }
}

/// An app of which all is known that could keep it from being stopped, and does not.
pub(crate) fn idle(group: &str) -> brisk_core::app::App {
    use brisk_core::app::{Activity, AppFacts, Role, classify};
    let activity = Activity { audible: Some(false), inhibits: Some(false), works: Some(false), ..Activity::default() };
    let (role, focused) = (Role::App, Some(false));
    classify(&AppFacts { group: group.to_owned(), of_user: true, role, focused, activity, ..AppFacts::default() })
}

/// An app's group in one hierarchy, and a directory for files and journals.
pub(crate) struct App {
    pub(crate) name: String,
    pub(crate) key: String,
    pub(crate) group: PathBuf,
    /// The group in the hierarchy of apps: the same, or an empty one in the same place.
    of_apps: PathBuf,
    pub(crate) dir: tempfile::TempDir,
}

impl App {
    /// `None`, with the reason printed, where there is no such hierarchy or no right to make groups.
    pub(crate) fn new(hierarchy: Hierarchy) -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let controller = match hierarchy {
            Hierarchy::Unified => Capability::Groups,
            Hierarchy::Freezer => Capability::FreezerV1,
            Hierarchy::Memory => Capability::MemoryController,
        };
        available(&[controller])?;
        let name = format!("app-once-{}-{}.scope", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let Some(root) = hierarchy.root() else {
            skip(controller, "version 1 of the controller is not mounted");
            return None;
        };
        let group = root.join(&name);
        let of_apps = Hierarchy::Unified.root().expect("cgroup2 is mounted").join(&name);
        fs::create_dir(&group).expect("root makes groups");
        fs::create_dir_all(&of_apps).expect("root makes groups");
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("temporary directory");
        let mut app = Self { name, key: String::new(), group, of_apps, dir };
        app.key = app.key();
        Some(app)
    }

    /// The key of the group that has its name now.
    pub(crate) fn key(&self) -> String {
        let inode = fs::metadata(&self.of_apps).expect("a group").ino();
        GroupKey::Control { inode, path: &self.name }.text()
    }

    pub(crate) fn paths(&self) -> Paths {
        Paths::with_run_dir(self.dir.path().join("run"))
    }

    pub(crate) fn actuator(&self) -> Actuator {
        Actuator::new(&self.paths(), "briskd", false).expect("a journal")
    }

    pub(crate) fn journals(&self) -> usize {
        fs::read_dir(self.paths().journal).map_or(0, Iterator::count)
    }

    /// A process in the group that runs a script of the shell, which has said `here` when this returns. The length of
    /// its third file is [`Self::count`].
    pub(crate) fn run(&self, script: &str) -> Process {
        let count = self.dir.path().join("count");
        let enters = format!("exec 3>>\"$1\"; echo $$ >\"$2/cgroup.procs\" || exit; {script}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &enters, "sh", count.to_str().expect("UTF-8"), self.group.to_str().expect("UTF-8")]);
        let mut process = Process::start(&mut shell);
        process.wait_for("here");
        process
    }

    pub(crate) fn count(&self) -> u64 {
        fs::metadata(self.dir.path().join("count")).expect("made by the shell").len()
    }

    pub(crate) fn counts_on(&self) {
        let before = self.count();
        until("the app's next count", || self.count() != before);
    }

    pub(crate) fn wait_until(&self, file: &str, line: &str) {
        let text = || fs::read_to_string(self.group.join(file)).expect("a file of the group");
        until(line, || text().lines().any(|found| found == line));
    }

    /// The kernel says that all is frozen, and nothing moves.
    pub(crate) fn is_frozen(&self, hierarchy: Hierarchy) {
        match hierarchy {
            Hierarchy::Unified => self.wait_until("cgroup.events", "frozen 1"),
            _ => self.wait_until("freezer.state", "FROZEN"),
        }
        let before = self.count();
        for _ in 0..1000 {
            std::thread::yield_now();
            assert_eq!(self.count(), before, "{hierarchy:?}");
        }
    }

    pub(crate) fn freeze(&self) -> Once {
        Once::Freeze { group: self.key.clone() }
    }

    pub(crate) fn end(&self) -> Once {
        Once::EndApp { group: self.key.clone(), grace_ms: 5000 }
    }
}

impl Drop for App {
    fn drop(&mut self) {
        for (file, value) in [("cgroup.kill", "1"), ("freezer.state", "THAWED")] {
            let file = self.group.join(file);
            if file.exists() {
                let _ = fs::write(file, value);
            }
        }
        // What was killed takes a moment to leave.
        until("the end of the group", || {
            let procs = fs::read_to_string(self.group.join("cgroup.procs")).unwrap_or_default();
            for pid in procs.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)) {
                let _ = kill_process(pid, Signal::KILL);
            }
            !fs::remove_dir(&self.group).is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY))
        });
        let _ = fs::remove_dir(&self.of_apps);
    }
}

/// A child, killed with this.
pub(crate) struct Process {
    pub(crate) child: Child,
    pub(crate) to_it: Option<ChildStdin>,
    pub(crate) said: BufReader<ChildStdout>,
}

impl Process {
    /// Starts a program, with pipes.
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a program");
        let said = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { to_it: child.stdin.take(), said, child }
    }

    pub(crate) fn wait_for(&mut self, word: &str) -> String {
        line_with(&mut self.said, word, |line| line.contains(word))
    }

    pub(crate) fn ended_by(&mut self) -> Option<i32> {
        end_of(&mut self.child).signal()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        // One that is frozen ends with its group, which is dropped after it.
        let _ = self.child.try_wait();
    }
}
