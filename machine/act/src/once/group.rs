//! An app's group: its directories in each hierarchy, and its processes.
//!
//! It is in the hierarchy in which apps have groups, where its key says ([`crate::groups`]); where the controllers are
//! still those of version 1, the groups of the same way down in those of the freezer and of the memory controller are
//! the app's too (kernel: Documentation/admin-guide/cgroup-v1). A session of processes has none of them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use brisk_core::group::{GroupKey, name, parse};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::groups::Hierarchies;
use crate::setting_file::By;
use crate::{Error, Paths, groups};

#[derive(Debug)]
pub(super) struct Group<'a> {
    pub(super) paths: &'a Paths,
    pub(super) key: &'a str,
    /// In the hierarchy of apps; or, of a session, those of its processes in /proc.
    pub(super) unified: Vec<PathBuf>,
    /// In that of the freezer of version 1.
    pub(super) freezer: Vec<PathBuf>,
    /// In that of the memory controller of version 1: in the same place, or else the one that has its processes.
    pub(super) memory: Vec<PathBuf>,
    /// What /proc/PID/cgroup may call it.
    shown: Vec<PathBuf>,
}

impl<'a> Group<'a> {
    /// Finds it.
    ///
    /// # Errors
    /// When `key` is none.
    pub(super) fn find(paths: &'a Paths, key: &'a str) -> Result<Self, Error> {
        let mut group =
            Self { paths, key, unified: Vec::new(), freezer: Vec::new(), memory: Vec::new(), shown: Vec::new() };
        let Some(GroupKey::Control { inode, path }) = parse(key) else {
            group.unified = groups::dirs(paths, key)?;
            return Ok(group);
        };
        let hierarchies = match Hierarchies::of(paths) {
            Err(Error::NoGroups) => return Ok(group),
            found => found?,
        };
        let Some(dir) = hierarchies.dir(inode, path) else { return Ok(group) };
        group.shown = hierarchies.shown(&dir);
        group.freezer.extend(hierarchies.in_version_1("freezer", &dir));
        let memory = hierarchies.in_version_1("memory", &dir).or_else(|| {
            let root = &hierarchies.version_1("memory")?.mount_point;
            own_group(paths, root, std::slice::from_ref(&dir))
        });
        group.memory.extend(memory);
        group.unified.push(dir);
        Ok(group)
    }

    /// What people call it.
    pub(super) fn name(&self) -> String {
        name(self.key).to_owned()
    }

    pub(super) fn is_session(&self) -> bool {
        groups::session(self.key).is_some()
    }

    /// For what actions on it write a file.
    pub(super) fn by(&self) -> By {
        By::Group(self.key.to_owned())
    }

    /// Whether it is no more.
    pub(super) fn is_gone(&self) -> bool {
        self.dirs().next().is_none()
    }

    fn dirs(&self) -> impl Iterator<Item = &PathBuf> {
        self.unified.iter().chain(&self.freezer).chain(&self.memory)
    }

    /// Numbers of its processes.
    pub(super) fn pids(&self) -> BTreeSet<u32> {
        if self.is_session() {
            return self.unified.iter().filter_map(|dir| dir.file_name()?.to_str()?.parse().ok()).collect();
        }
        pids_in(self.dirs())
    }

    /// Whether it has this process now.
    pub(super) fn has(&self, pid: u32) -> bool {
        let dir = self.paths.proc.join(pid.to_string());
        if let Some(session) = groups::session(self.key) {
            return groups::session_of(&dir) == Some(session);
        }
        fs::read_to_string(dir.join("cgroup")).is_ok_and(|text| is_below(&text, &self.shown))
    }

    /// A descriptor of one of its processes; `None` when there is no such process in it. The process is checked while
    /// the descriptor is held: a later one of its number is never acted on.
    ///
    /// # Errors
    /// When there are no more descriptors.
    pub(super) fn open(&self, pid: u32) -> io::Result<Option<OwnedFd>> {
        let Some(pid_raw) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(None) };
        let pidfd = match pidfd_open(pid_raw, PidfdFlags::empty()) {
            // Gone, or a thread that leads no process.
            Err(Errno::SRCH | Errno::INVAL | Errno::NOENT) => return Ok(None),
            pidfd => pidfd?,
        };
        // What was read between was of this process, unless it has ended meanwhile.
        Ok((self.has(pid) && !has_ended(&pidfd)).then_some(pidfd))
    }

    /// Error of an action that needs a control group, when this is none.
    ///
    /// # Errors
    /// When it is a session.
    pub(super) fn must_be_a_control_group(&self, file: &'static str) -> Result<(), Error> {
        if self.is_session() {
            return Err(Error::Session { group: self.name(), file });
        }
        Ok(())
    }
}

/// Numbers of the processes of these control groups and of all below them.
pub(super) fn pids_in<'a>(dirs: impl Iterator<Item = &'a PathBuf>) -> BTreeSet<u32> {
    let mut pids = BTreeSet::new();
    for dir in dirs.flat_map(|dir| tree(dir)) {
        let text = fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default();
        // Processes of another namespace are shown as 0.
        pids.extend(text.lines().filter_map(|line| line.parse::<u32>().ok()).filter(|pid| *pid != 0));
    }
    pids
}

/// A directory and all below it.
pub(super) fn tree(dir: &Path) -> Vec<PathBuf> {
    let mut found = vec![dir.to_owned()];
    let mut next = 0;
    while let Some(dir) = found.get(next) {
        let inner: Vec<PathBuf> = groups::dirs_in(dir).collect();
        found.extend(inner);
        next += 1;
    }
    found
}

/// Whether the process of a pidfd has ended (pidfd_open(2): it can be read then).
pub(super) fn has_ended(pidfd: &OwnedFd) -> bool {
    let mut watched = [PollFd::from_borrowed_fd(pidfd.as_fd(), PollFlags::IN)];
    poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
}

/// The group of the memory controller of version 1 that has processes of the groups at `unified` and no others,
/// whatever its name is: what puts an app into its groups may name them differently. Neither the root nor a group with
/// others below it is an app's own.
fn own_group(paths: &Paths, root: &Path, unified: &[PathBuf]) -> Option<PathBuf> {
    let pids = pids_in(unified.iter());
    let text = fs::read(paths.proc.join(pids.first()?.to_string()).join("cgroup")).ok()?;
    let of_memory = |group: &brisk_formats::ProcessCgroup| group.controllers.iter().any(|name| name == "memory");
    let group = brisk_formats::parse_process_cgroups(&text).ok()?.into_iter().find(of_memory)?;
    let dir = root.join(group.path.strip_prefix("/").unwrap_or(&group.path));
    let all = pids_in(std::iter::once(&dir));
    let is_own = dir != root && !all.is_empty() && all.is_subset(&pids) && groups::dirs_in(&dir).next().is_none();
    is_own.then_some(dir)
}

/// Whether the text of /proc/PID/cgroup (`ID:controllers:path`, cgroups(7)) has one of these groups, or one below it.
fn is_below(text: &str, groups: &[PathBuf]) -> bool {
    let mut paths = text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    paths.any(|path| groups.iter().any(|group| Path::new(path).starts_with(group)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_process_is_in_its_group_and_those_above_and_in_none_of_their_names() {
        let text = "4:memory:/phone/app-x-1.scope/inner\n0::/my-app-y-1.scope\n";
        for (group, is_in) in [
            ("/phone/app-x-1.scope", true),
            ("/phone", true),
            ("/app-x-1.scope", false),
            ("/app-y-1.scope", false),
            ("/phone/app-x-1", false),
        ] {
            assert_eq!(is_below(text, &[group.into()]), is_in, "{group}");
        }
        assert!(!is_below(text, &[]));
    }

    #[test]
    fn a_memory_group_of_another_name_is_the_apps_when_all_its_processes_are() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let put = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().expect("a directory")).expect("fixture");
            fs::write(path, text).expect("fixture");
        };
        let at = |name: &str| dir.path().join(name);
        let paths = Paths { sysfs: at("sys"), proc: at("proc"), journal: at("run/journal") };
        let mounts = format!(
            "1 0 0:1 / {} rw - cgroup2 cgroup2 rw\n2 0 0:2 / {} rw - cgroup cgroup rw,memory\n",
            at("two").display(),
            at("memory").display()
        );
        put("proc/self/mountinfo", &mounts);
        put("two/app-x-1.scope/cgroup.procs", "7\n9\n");
        put("proc/7/cgroup", "4:memory:/phone/x\n0::/app-x-1.scope\n");
        put("memory/phone/x/cgroup.procs", "7\n9\n");
        let inode = fs::metadata(at("two/app-x-1.scope")).expect("a group").ino();
        let key = GroupKey::Control { inode, path: "app-x-1.scope" }.text();
        let memory = || Group::find(&paths, &key).expect("a key").memory;
        assert_eq!(memory(), [at("memory/phone/x")]);
        put("memory/phone/x/cgroup.procs", "7\n8\n9\n");
        assert_eq!(memory(), [""; 0].map(PathBuf::from), "8 is another's");
        put("memory/phone/x/cgroup.procs", "7\n9\n");
        put("memory/phone/x/inner/cgroup.procs", "");
        assert_eq!(memory(), [""; 0].map(PathBuf::from), "it has groups below it");
        put("proc/7/cgroup", "4:memory:/\n0::/app-x-1.scope\n");
        put("memory/cgroup.procs", "7\n9\n");
        assert_eq!(memory(), [""; 0].map(PathBuf::from), "the root is no app's");
        // One in the same place goes before, one of its name elsewhere does not.
        put("memory/user/app-x-1.scope/cgroup.procs", "");
        assert_eq!(memory(), [""; 0].map(PathBuf::from), "another user's");
        put("memory/app-x-1.scope/cgroup.procs", "");
        assert_eq!(memory(), [at("memory/app-x-1.scope")]);
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let paths = Paths { proc: "/nonexistent".into(), ..Paths::default() };
        for name in ["", "/", "..", "7/a/../b", "7//a", "7/a\nb", "app-x-1.scope", "system.slice"] {
            assert!(matches!(Group::find(&paths, name), Err(Error::NotAGroup(found)) if found == name), "{name:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in ".*", group in ".*") {
            let _ = is_below(&text, &[group.into()]);
        }
    }
}
