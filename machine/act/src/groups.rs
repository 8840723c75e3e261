//! I/O priorities of the threads of a control group (kernel: Documentation/admin-guide/cgroup-v2.rst).
//!
//! Where no control groups stand for apps, sessions do: the group `session-N` is all processes of the session N
//! (setsid(2)), and its directories are those of the processes in /proc.
//!
//! Only threads without a priority get one, and only threads that have it from brisk lose it again; what such a thread
//! makes has inherited it. Groups and threads come and go while one looks: what is gone is passed over.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use brisk_core::app::SESSION;
use brisk_formats::{app_groups, parse_cgroup_processes, parse_mounts, parse_process_session};

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

/// Where the control groups of apps are: of the second version, or those that Android made in one of the first.
///
/// # Errors
/// When there are none.
fn root(paths: &Paths) -> Result<PathBuf, Error> {
    let path = paths.proc.join("self/mountinfo");
    let mounts = parse_mounts(&fs::read(&path).map_err(|source| Error::Read { path, source })?).unwrap_or_default();
    app_groups(&mounts, |dir| dirs_in(dir).collect()).map(|groups| groups.root).ok_or(Error::NoGroups)
}

/// All that goes by this name: the processes of a session, or control groups.
///
/// # Errors
/// When it is a control group that is asked for, and there are none.
pub(crate) fn named(paths: &Paths, name: &str) -> Result<Vec<PathBuf>, Error> {
    match session(name) {
        Some(session) => Ok(processes(paths, session)),
        None => Ok(find(&root(paths)?, name)),
    }
}

/// The control groups of this name that the memory controller of the first version has.
pub(crate) fn named_in_old_memory(paths: &Paths, name: &str) -> Vec<PathBuf> {
    let mounts = fs::read(paths.proc.join("self/mountinfo")).unwrap_or_default();
    let mounts = parse_mounts(&mounts).unwrap_or_default();
    let has_memory = |mount: &brisk_formats::Mount| {
        mount.fs_type == "cgroup" && mount.super_options.iter().any(|option| option == "memory")
    };
    mounts.into_iter().find(has_memory).map_or_else(Vec::new, |mount| find(&mount.mount_point, name))
}

/// The control groups of each of these names that there are.
///
/// # Errors
/// When there are no control groups.
pub(crate) fn all_named(paths: &Paths, names: &[&str]) -> Result<BTreeMap<String, Vec<PathBuf>>, Error> {
    Ok(find_all(&root(paths)?, names))
}

/// The session that a name stands for.
pub(crate) fn session(name: &str) -> Option<u32> {
    name.strip_prefix(SESSION)?.parse().ok()
}

/// Directories of the processes of a session.
fn processes(paths: &Paths, session: u32) -> Vec<PathBuf> {
    let is_process = |dir: &PathBuf| dir.file_name().is_some_and(|name| name.as_encoded_bytes()[0].is_ascii_digit());
    dirs_in(&paths.proc).filter(is_process).filter(|dir| session_of(dir) == Some(session)).collect()
}

/// The session of a process. It is near the beginning of `stat`, and all processes of the machine are asked: one read
/// is enough.
pub(crate) fn session_of(dir: &Path) -> Option<u32> {
    let mut begin = [0; STAT_BYTES];
    let length = fs::File::open(dir.join("stat")).ok()?.read(&mut begin).ok()?;
    u32::try_from(parse_process_session(&begin[..length]).ok()?).ok()
}

/// All groups of this name (or end of a path) below `root`, such as those of two users.
pub(crate) fn find(root: &Path, name: &str) -> Vec<PathBuf> {
    find_all(root, &[name]).remove(name).unwrap_or_default()
}

/// The same for several names in one walk; a group below one of the same name is part of it.
fn find_all(root: &Path, names: &[&str]) -> BTreeMap<String, Vec<PathBuf>> {
    let mut found: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    let mut to_look = vec![(root.to_owned(), names.to_vec())];
    while let Some((dir, names)) = to_look.pop() {
        for inner in dirs_in(&dir) {
            let is_named = |name: &&str| inner.strip_prefix(root).is_ok_and(|below| below.ends_with(name));
            let (here, deeper): (Vec<&str>, Vec<&str>) = names.iter().partition(|name| is_named(name));
            here.into_iter().for_each(|name| found.entry(name.to_owned()).or_default().push(inner.clone()));
            if !deeper.is_empty() {
                to_look.push((inner, deeper));
            }
        }
    }
    found
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

/// Threads that have `value` already, from another program.
pub(crate) fn holders(groups: &[PathBuf], value: IoPriority) -> Vec<u32> {
    threads(groups).into_iter().filter(|thread| matches!(ioprio::get(*thread), Ok(Some(now)) if now == value)).collect()
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

/// Gives `value` to threads that have none, or one from us.
///
/// # Errors
/// When the kernel refuses one; those before it have it.
pub(crate) fn give(entry: &PriorityEntry, groups: &[PathBuf], value: Option<IoPriority>) -> Result<Given, Error> {
    let ours: Vec<IoPriority> = entry.values.iter().filter_map(|text| text.parse().ok()).collect();
    let mut changed = 0;
    let mut seen = BTreeSet::new();
    for _ in 0..PASSES_MAX {
        let fresh: Vec<u32> = threads(groups).into_iter().filter(|thread| seen.insert(*thread)).collect();
        if fresh.is_empty() {
            break;
        }
        for thread in fresh.into_iter().filter(|thread| !entry.not_ours.contains(thread)) {
            match ioprio::get(thread) {
                Ok(now) if now != value && now.is_none_or(|now| ours.contains(&now)) => {}
                _ => continue,
            }
            match ioprio::set(thread, value) {
                Ok(()) => changed += 1,
                Err(error) if is_gone(&error) => {}
                Err(source) => {
                    let value = value.map_or_else(|| NONE.to_owned(), |value| value.to_string());
                    return Err(Error::Priority { thread, group: entry.group.clone(), value, source });
                }
            }
        }
    }
    Ok(Given { threads: seen.len(), changed })
}

/// Takes away what an entry says was given. `false` when the group is gone.
///
/// # Errors
/// When the kernel refuses a thread.
pub(crate) fn put_back(entry: &PriorityEntry, paths: &Paths) -> Result<bool, Error> {
    let groups = match named(paths, &entry.group) {
        Err(Error::NoGroups) => Vec::new(),
        found => found?,
    };
    give(entry, &groups, None)?;
    Ok(!groups.is_empty())
}

fn is_gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ESRCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_one_name_are_all_found_and_others_not() {
        let dir = tempfile::tempdir().expect("temporary directory");
        for group in ["user-1/app.scope/inner", "user-2/app.scope", "user-2/my-app.scope", "app.scope.d"] {
            fs::create_dir_all(dir.path().join(group)).expect("fixture");
        }
        let mut found = find(dir.path(), "app.scope");
        found.sort();
        assert_eq!(found, [dir.path().join("user-1/app.scope"), dir.path().join("user-2/app.scope")]);
        assert_eq!(find(dir.path(), "user-2/app.scope"), [dir.path().join("user-2/app.scope")]);
        assert!(find(dir.path(), "none.scope").is_empty());
        // Several names give what each gives alone.
        let names = ["app.scope", "user-2/app.scope", "inner", "none.scope", "app.scope.d"];
        let mut all = find_all(dir.path(), &names);
        for name in names {
            let (mut together, mut alone) = (all.remove(name).unwrap_or_default(), find(dir.path(), name));
            together.sort();
            alone.sort();
            assert_eq!(together, alone, "{name}");
        }
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
        for name in ["pid_400", "uid_10123/pid_400"] {
            let found = named(&paths, name).expect("mounted");
            assert_eq!((found.as_slice(), threads(&found)), (&[group.clone()][..], BTreeSet::from([400, 402])));
        }
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
        let found = named(&paths, "session-40").expect("no control groups are needed");
        assert_eq!(threads(&found), BTreeSet::from([40, 41]));
        assert!(named(&paths, "session-7").expect("none").is_empty());
        assert_eq!(session("session-c1.scope"), None);
    }
}
