//! Where the group of a key is ([`brisk_core::group`]), and I/O priorities of its threads (kernel:
//! Documentation/admin-guide/cgroup-v2.rst).
//!
//! A control group is the directory that the key says, if it has the inode number of the key. No group is searched for
//! by its name: another user can make one of the same name.
//!
//! Where no control groups stand for apps, sessions do: the group `session-N` is all processes of the session N
//! (setsid(2)), and its directories are those of the processes in /proc.
//!
//! Only threads without a priority get one, and only threads that have it from brisk lose it again ([`Ours`]). What
//! such a thread makes inherits it, and may have left the group by the time that the priority is taken back: so all
//! threads of the machine are asked then ([`sweep`]). Groups and threads come and go while one looks: what is gone is
//! passed over.
//!
//! Properties: `a_group_is_the_directory_of_its_key_and_no_other`; `a_group_that_was_made_again_is_another`.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use brisk_core::group::{GroupKey, parse};
use brisk_formats::parse_process_stat;
use brisk_formats::{AppGroups, Mount, app_groups, parse_cgroup_processes, parse_mounts, parse_process_session};
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};

use crate::ioprio::{self, IoPriority};
use crate::journal::PriorityEntry;
use crate::{Error, Paths};

/// The value that a thread without a priority shows.
pub(crate) const NONE: &str = "none";

/// What is read of a process's `stat`: its name has 15 bytes or, that of a kernel thread, 63, and a number at most 10
/// digits.
const STAT_BYTES: usize = 256;

/// How often threads are looked for that were made meanwhile by one that had no priority yet.
const PASSES_MAX: u32 = 4;

/// Where control groups are mounted.
#[derive(Debug)]
pub(crate) struct Hierarchies {
    mounts: Vec<Mount>,
    /// The hierarchy in which apps have groups: of the second version, or Android's of the first.
    apps: AppGroups,
}

impl Hierarchies {
    /// Those of the machine.
    ///
    /// # Errors
    /// When there are none for apps.
    pub(crate) fn of(paths: &Paths) -> Result<Self, Error> {
        let path = paths.proc.join("self/mountinfo");
        let mounts = parse_mounts(&fs::read(&path).map_err(|source| Error::Read { path, source })?).unwrap_or_default();
        let apps = app_groups(&mounts, |dir| dirs_in(dir).collect()).ok_or(Error::NoGroups)?;
        Ok(Self { mounts, apps })
    }

    /// The directory of a control group in the hierarchy of apps; `None` when it is gone.
    pub(crate) fn dir(&self, inode: u64, path: &str) -> Option<PathBuf> {
        let dir = self.apps.mount_point.join(path);
        is_group(&dir, inode).then_some(dir)
    }

    /// Where a controller of version 1 has the group that is at `dir` in the hierarchy of apps.
    pub(crate) fn in_version_1(&self, controller: &str, dir: &Path) -> Option<PathBuf> {
        let root = &self.version_1(controller)?.mount_point;
        self.apps.in_other(root, dir).into_iter().find(|dir| dir.is_dir())
    }

    /// The mount of a controller of version 1.
    pub(crate) fn version_1(&self, controller: &str) -> Option<&Mount> {
        let has_it = |mount: &&Mount| mount.super_options.iter().any(|option| option == controller);
        self.mounts.iter().filter(|mount| mount.fs_type == "cgroup").find(has_it)
    }

    /// What /proc/PID/cgroup may call the group at `dir`.
    pub(crate) fn shown(&self, dir: &Path) -> Vec<PathBuf> {
        let is_it = |mount: &&Mount| mount.mount_point == self.apps.mount_point;
        let top = self.mounts.iter().rfind(is_it).map_or(Path::new("/"), |mount| mount.root.as_path());
        self.apps.in_other(top, dir)
    }
}

/// Whether the group of this number is at `dir`.
pub(crate) fn is_group(dir: &Path, inode: u64) -> bool {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = openat(CWD, dir, flags, Mode::empty()).and_then(fstat);
    found.is_ok_and(|stat| stat.st_ino == inode && FileType::from_raw_mode(stat.st_mode).is_dir())
}

/// Where the group of a key is: the processes of a session, or one directory; nowhere when it is gone.
///
/// # Errors
/// When that is no key, or it is one of a control group and there are none.
pub(crate) fn dirs(paths: &Paths, key: &str) -> Result<Vec<PathBuf>, Error> {
    match parse(key) {
        None => Err(Error::NotAGroup(key.to_owned())),
        Some(GroupKey::Told { .. }) => Ok(Vec::new()),
        Some(GroupKey::Session(session)) => Ok(processes(paths, session)),
        Some(GroupKey::Control { inode, path }) => Ok(Hierarchies::of(paths)?.dir(inode, path).into_iter().collect()),
    }
}

/// Where the memory controller of the first version has the control group of a key.
pub(crate) fn in_old_memory(paths: &Paths, key: &str) -> Option<PathBuf> {
    let Some(GroupKey::Control { inode, path }) = parse(key) else { return None };
    let hierarchies = Hierarchies::of(paths).ok()?;
    hierarchies.in_version_1("memory", &hierarchies.dir(inode, path)?)
}

/// The session that a key stands for.
pub(crate) fn session(key: &str) -> Option<u32> {
    match parse(key) {
        Some(GroupKey::Session(session)) => Some(session),
        _ => None,
    }
}

/// Directories of the processes of a session.
fn processes(paths: &Paths, session: u32) -> Vec<PathBuf> {
    all_processes(paths).filter(|dir| session_of(dir) == Some(session)).collect()
}

fn all_processes(paths: &Paths) -> impl Iterator<Item = PathBuf> {
    let is_process = |dir: &PathBuf| dir.file_name().is_some_and(|name| name.as_encoded_bytes()[0].is_ascii_digit());
    dirs_in(&paths.proc).filter(is_process)
}

/// The session of a process. It is near the beginning of `stat`, and all processes of the machine are asked: one read
/// is enough.
pub(crate) fn session_of(dir: &Path) -> Option<u32> {
    let mut begin = [0; STAT_BYTES];
    let length = fs::File::open(dir.join("stat")).ok()?.read(&mut begin).ok()?;
    u32::try_from(parse_process_session(&begin[..length]).ok()?).ok()
}

/// Threads of these processes, or of these groups and all below them.
fn threads(groups: &[PathBuf]) -> BTreeSet<u32> {
    let mut threads = BTreeSet::new();
    let mut to_look = groups.to_vec();
    while let Some(dir) = to_look.pop() {
        if dir.join("task").is_dir() {
            let tasks = dir.join("task");
            threads.extend(dirs_in(&tasks).filter_map(|task| task.file_name()?.to_str()?.parse::<u32>().ok()));
            continue;
        }
        // The second name is that of the first version.
        let text = fs::read(dir.join("cgroup.threads")).or_else(|_| fs::read(dir.join("tasks"))).unwrap_or_default();
        threads.extend(parse_cgroup_processes(&text).unwrap_or_default());
        to_look.extend(dirs_in(&dir));
    }
    threads
}

pub(crate) fn dirs_in(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path())
}

/// Which threads have their priority from brisk.
#[derive(Debug, Default)]
pub(crate) struct Ours {
    proc: PathBuf,
    /// Values that were given, with when the first thread got each: a thread that began after that, and has the value,
    /// inherited it.
    given: Vec<(IoPriority, u64)>,
    /// Threads that had such a value before, from another program.
    not_ours: BTreeSet<u32>,
}

impl Ours {
    /// By what is journaled.
    pub(crate) fn of<'a>(paths: &Paths, entries: impl IntoIterator<Item = &'a PriorityEntry>) -> Self {
        let mut ours = Self { proc: paths.proc.clone(), ..Self::default() };
        for entry in entries {
            let values = entry.values.iter().filter_map(|value| value.parse().ok());
            ours.given.extend(values.map(|value| (value, entry.since_ticks)));
            ours.not_ours.extend(&entry.not_ours);
        }
        ours
    }

    /// Whether a thread inherited the value that it has.
    fn is_heir(&self, thread: u32, now: IoPriority) -> bool {
        let since = self.given.iter().filter(|(value, _)| *value == now).map(|(_, since_ticks)| *since_ticks).min();
        let began = || {
            let stat = fs::read(self.proc.join(thread.to_string()).join("stat")).ok()?;
            parse_process_stat(&stat).ok().map(|stat| stat.start_ticks)
        };
        !self.not_ours.contains(&thread) && since.is_some_and(|since| began().is_some_and(|began| began >= since))
    }
}

/// Now, in the unit in which /proc tells when a thread began.
pub(crate) fn now_ticks() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let per_s = rustix::param::clock_ticks_per_second();
    let of_s = u64::try_from(now.tv_sec).unwrap_or_default().saturating_mul(per_s);
    of_s.saturating_add(u64::try_from(now.tv_nsec).unwrap_or_default().saturating_mul(per_s) / 1_000_000_000)
}

/// Threads that have `value` already, from another program.
pub(crate) fn holders(groups: &[PathBuf], value: IoPriority, ours: &Ours) -> Vec<u32> {
    let has_it = |thread: &u32| matches!(ioprio::get(*thread), Ok(Some(now)) if now == value);
    threads(groups).into_iter().filter(|thread| has_it(thread) && !ours.is_heir(*thread, value)).collect()
}

/// Threads that would get a priority.
pub(crate) fn takers(groups: &[PathBuf]) -> usize {
    threads(groups).into_iter().filter(|thread| matches!(ioprio::get(*thread), Ok(None))).count()
}

/// What came of giving a priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Given {
    pub threads: usize,
    /// Those of them that got it, and did not have it.
    pub changed: usize,
}

/// Gives `value` to threads that have none, or one from brisk: by this entry, or inherited, as `ours` knows.
///
/// # Errors
/// When the kernel refuses one; those before it have it.
pub(crate) fn give(
    entry: &PriorityEntry,
    groups: &[PathBuf],
    value: Option<IoPriority>,
    ours: &Ours,
) -> Result<Given, Error> {
    let given: Vec<IoPriority> = entry.values.iter().filter_map(|text| text.parse().ok()).collect();
    let may_change =
        |thread: u32, now: Option<IoPriority>| now.is_none_or(|now| given.contains(&now) || ours.is_heir(thread, now));
    let mut changed = 0;
    let mut seen = BTreeSet::new();
    for _ in 0..PASSES_MAX {
        let fresh: Vec<u32> = threads(groups).into_iter().filter(|thread| seen.insert(*thread)).collect();
        if fresh.is_empty() {
            break;
        }
        for thread in fresh.into_iter().filter(|thread| !entry.not_ours.contains(thread)) {
            match ioprio::get(thread) {
                Ok(now) if now != value && may_change(thread, now) => {}
                _ => continue,
            }
            match ioprio::set(thread, value) {
                Ok(()) => changed += 1,
                Err(error) if is_gone(&error) => {}
                Err(source) => {
                    let value = value.map_or_else(|| NONE.to_owned(), |value| value.to_string());
                    let group = brisk_core::group::name(&entry.group).to_owned();
                    return Err(Error::Priority { thread, group, value, source });
                }
            }
        }
    }
    Ok(Given { threads: seen.len(), changed })
}

/// The threads of these groups with the values that an entry says they are to have.
pub(crate) fn kept(entry: &PriorityEntry, groups: &[PathBuf]) -> BTreeSet<(u32, IoPriority)> {
    let values: Vec<IoPriority> = entry.values.iter().filter_map(|value| value.parse().ok()).collect();
    threads(groups).into_iter().flat_map(|thread| values.iter().map(move |value| (thread, *value))).collect()
}

/// Takes what was inherited from threads anywhere on the machine that have a value of `ours`, but for those that are to
/// have it.
///
/// # Errors
/// When the kernel refuses a thread; the others have none.
pub(crate) fn sweep(paths: &Paths, ours: &Ours, kept: &BTreeSet<(u32, IoPriority)>) -> Result<(), Error> {
    if ours.given.is_empty() {
        return Ok(());
    }
    let mut seen = BTreeSet::new();
    let mut refused = None;
    for _ in 0..PASSES_MAX {
        let all: Vec<PathBuf> = all_processes(paths).collect();
        let fresh: Vec<u32> = threads(&all).into_iter().filter(|thread| seen.insert(*thread)).collect();
        let is_heir = |thread: u32, now: IoPriority| !kept.contains(&(thread, now)) && ours.is_heir(thread, now);
        let heirs: Vec<u32> = fresh
            .into_iter()
            .filter(|thread| matches!(ioprio::get(*thread), Ok(Some(now)) if is_heir(*thread, now)))
            .collect();
        // What one of these has made meanwhile is found in the next pass.
        if heirs.is_empty() {
            break;
        }
        for thread in heirs {
            match ioprio::set(thread, None) {
                Ok(()) => {}
                Err(error) if is_gone(&error) => {}
                Err(source) => {
                    let group = format!("process {thread}");
                    refused = Some(Error::Priority { thread, group, value: NONE.to_owned(), source });
                }
            }
        }
    }
    refused.map_or(Ok(()), Err)
}

/// Takes away what an entry says was given. `false` when the group is gone. What its threads have made elsewhere is for
/// [`sweep`].
///
/// # Errors
/// When the kernel refuses a thread.
pub(crate) fn put_back(entry: &PriorityEntry, paths: &Paths) -> Result<bool, Error> {
    let groups = match dirs(paths, &entry.group) {
        Err(Error::NoGroups | Error::NotAGroup(_)) => Vec::new(),
        found => found?,
    };
    give(entry, &groups, None, &Ours::default())?;
    Ok(!groups.is_empty())
}

fn is_gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ESRCH)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    fn inode(dir: &Path) -> u64 {
        fs::metadata(dir).expect("a directory").ino()
    }

    /// A tree whose groups of version 2 are below `two`.
    fn tree(groups: &[&str]) -> (tempfile::TempDir, Paths) {
        let dir = tempfile::tempdir().expect("temporary directory");
        for group in groups {
            fs::create_dir_all(dir.path().join("two").join(group)).expect("fixture");
        }
        fs::create_dir_all(dir.path().join("self")).expect("fixture");
        let mounts = format!("1 0 0:1 / {} rw - cgroup2 cgroup2 rw\n", dir.path().join("two").display());
        fs::write(dir.path().join("self/mountinfo"), mounts).expect("fixture");
        let paths = Paths { proc: dir.path().to_owned(), ..Paths::default() };
        (dir, paths)
    }

    #[test]
    fn a_group_is_the_directory_of_its_key_and_no_other() {
        let all = ["user-1/app.scope", "user-2/app.scope", "system.slice", "user-2/x/system.slice"];
        let (dir, paths) = tree(&all);
        for group in all {
            let at = dir.path().join("two").join(group);
            let key = GroupKey::Control { inode: inode(&at), path: group }.text();
            assert_eq!(dirs(&paths, &key).expect("mounted"), [at], "{key}");
        }
        // A name, the end of a way, and a way with the number of another group are none.
        for text in ["app.scope", "user-2/app.scope", "system.slice"] {
            assert!(matches!(dirs(&paths, text), Err(Error::NotAGroup(found)) if found == text), "{text}");
        }
        let other = GroupKey::Control { inode: inode(&dir.path().join("two/user-1/app.scope")), path: "system.slice" };
        assert!(dirs(&paths, &other.text()).expect("mounted").is_empty());
        // Neither is a link, which no hierarchy has, nor what was told and has no process yet.
        std::os::unix::fs::symlink("system.slice", dir.path().join("two/link")).expect("fixture");
        let link = GroupKey::Control { inode: inode(&dir.path().join("two/system.slice")), path: "link" };
        assert!(dirs(&paths, &link.text()).expect("mounted").is_empty());
        assert!(dirs(&paths, &GroupKey::Told { user: "7", id: "system.slice" }.text()).expect("a key").is_empty());
    }

    #[test]
    fn a_group_that_was_made_again_is_another() {
        let (dir, paths) = tree(&["app.scope"]);
        let at = dir.path().join("two/app.scope");
        let key = GroupKey::Control { inode: inode(&at), path: "app.scope" }.text();
        // Held, so that the file system of the test cannot give its number again.
        let _held = fs::File::open(&at).expect("a directory");
        fs::remove_dir(&at).expect("empty");
        assert!(dirs(&paths, &key).expect("mounted").is_empty());
        fs::create_dir(&at).expect("fixture");
        assert!(dirs(&paths, &key).expect("mounted").is_empty());
    }

    #[test]
    fn groups_that_android_made_in_the_first_version_are_found_with_their_threads() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let root = dir.path().join("memcg");
        let group = root.join("apps/uid_10123/pid_400");
        fs::create_dir_all(&group).expect("fixture");
        fs::write(group.join("tasks"), "400\n402\n").expect("fixture");
        fs::create_dir_all(dir.path().join("self")).expect("fixture");
        let mounts = format!("1 0 0:1 / {} rw - cgroup none rw,memory\n", root.display());
        fs::write(dir.path().join("self/mountinfo"), mounts).expect("fixture");
        let paths = Paths { proc: dir.path().to_owned(), ..Paths::default() };
        let key = GroupKey::Control { inode: inode(&group), path: "apps/uid_10123/pid_400" }.text();
        let found = dirs(&paths, &key).expect("mounted");
        assert_eq!((found.as_slice(), threads(&found)), (&[group.clone()][..], BTreeSet::from([400, 402])));
        assert_eq!(in_old_memory(&paths, &key), Some(group));
    }

    #[test]
    fn a_session_is_its_processes_whatever_they_are_called() {
        let dir = tempfile::tempdir().expect("temporary directory");
        for (pid, stat) in
            [("40", "40 (x) S 1 40 40 0"), ("41", "41 (a) S 9 9 9) S 40 41 40 0"), ("42", "42 (x) S 1 42 42")]
        {
            fs::create_dir_all(dir.path().join(pid).join("task").join(pid)).expect("fixture");
            fs::write(dir.path().join(pid).join("stat"), stat).expect("fixture");
        }
        fs::create_dir(dir.path().join("self")).expect("fixture");
        let paths = Paths { proc: dir.path().to_owned(), ..Paths::default() };
        let found = dirs(&paths, "session-40").expect("no control groups are needed");
        assert_eq!(threads(&found), BTreeSet::from([40, 41]));
        assert!(dirs(&paths, "session-7").expect("none").is_empty());
    }
}
