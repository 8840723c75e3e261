//! Control groups of apps that come to life and go: of the second version, or those that Android made in one of the
//! first.
//!
//! An *app's group* is one that a desktop named as such (`app-*.scope`, `app-*.service`), with all below it; where no
//! groups have such names, every group without groups below it stands for what runs in it. It lives while a process is
//! in it (`populated` of cgroup.events, Documentation/admin-guide/cgroup-v2.rst). The first version has no such file:
//! there a group lives from the first process that is put into it until it is removed, which Android does when the
//! process has ended.
//!
//! Properties: a group is reported once when it comes to life and once when it goes; what came before its directory was
//! watched is found by listing it; when the kernel dropped events, all groups are listed again.

use std::collections::{BTreeMap, HashMap};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use brisk_core::group::GroupKey;
use brisk_formats::group_name::{is_app, is_service_manager, last_name, user_by_place};
use brisk_formats::{parse_cgroup_processes, parse_populated};
use rustix::fs::inotify::{ReadFlags, WatchFlags};

use super::inotify::{Inotify, Notice};
use crate::error::{Error, Result};
use crate::machine::Sense;
use crate::packages::PackageNames;

/// Directories that are watched at most: on a machine with more groups than that, apps are not distinguished by them.
const DIRS_MAX: usize = 4096;
/// Of these, those of one user: any user to whom a service manager delegates a group can make any number below it.
const DIRS_OF_USER_MAX: usize = 1024;

/// Groups lie less deep than this below the mount point.
const DEPTH: usize = 12;

/// A control group that stands for an app.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    pub dir: PathBuf,
    /// What it goes by ([`brisk_core::group`]).
    pub key: String,
    /// The user whose app it is: the owner of its directory, which no other user can make; of a directory of root's
    /// the user whose slice it is below, or that of its first process. `None` when unknown.
    pub user: Option<u32>,
    /// The package of Android that it is of, or the desktop entry of an app that the bus started, as far as known.
    pub package: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupChange {
    /// It came to life.
    Began(Group),
    /// No process is left in it.
    Gone(Group),
}

/// Watches all control groups in the hierarchy of apps.
#[derive(Debug)]
pub struct GroupWatch {
    sense: Sense,
    inotify: Inotify,
    /// Where the hierarchy is mounted: keys begin there.
    mount_point: PathBuf,
    root: PathBuf,
    is_v1: bool,
    packages: PackageNames,
    /// Directories, with whether a process is in them or below.
    nodes: BTreeMap<PathBuf, Node>,
    watches: HashMap<i32, PathBuf>,
    living: BTreeMap<PathBuf, Group>,
    shares: Shares,
}

/// How many directories are watched for each user.
#[derive(Debug, Default)]
struct Shares {
    dirs: BTreeMap<u32, usize>,
    all: usize,
    /// Users of whom directories are left out, and `None` where the machine has too many; told once.
    left_out: BTreeMap<Option<u32>, bool>,
}

impl Shares {
    /// Whether one more of this user is watched; `None` is the system's.
    fn has_room(&mut self, user: Option<u32>) -> bool {
        let of_user = user.and_then(|user| self.dirs.get(&user)).copied().unwrap_or(0);
        let full = if self.all >= DIRS_MAX { Some(None) } else { (of_user >= DIRS_OF_USER_MAX).then_some(user) };
        let Some(full) = full else { return true };
        self.left_out.entry(full).or_insert(false);
        false
    }

    fn add(&mut self, user: Option<u32>) {
        self.all += 1;
        user.into_iter().for_each(|user| *self.dirs.entry(user).or_default() += 1);
    }

    fn remove(&mut self, user: Option<u32>) {
        self.all = self.all.saturating_sub(1);
        let of_user = user.and_then(|user| self.dirs.get_mut(&user));
        of_user.into_iter().for_each(|dirs| *dirs = dirs.saturating_sub(1));
    }
}

#[derive(Debug, Default)]
struct Node {
    populated: bool,
    /// The inode number of the directory, and its owner.
    id: (u64, u32),
    /// In whose share it counts.
    user: Option<u32>,
    watches: [Option<i32>; 2],
}

impl GroupWatch {
    /// Watches the groups that there are, and those that come; `None` where no hierarchy has groups of apps.
    ///
    /// # Errors
    /// When /proc is missing, or the kernel gives no inotify.
    pub fn new(sense: &Sense) -> Result<Option<Self>> {
        let Some(apps) = sense.app_groups()? else { return Ok(None) };
        let root = apps.root;
        let inotify = Inotify::new().map_err(|source| Error::reading(root.clone(), source))?;
        let mut watch = Self {
            sense: sense.clone(),
            inotify,
            mount_point: apps.mount_point,
            root,
            is_v1: apps.v1.is_some(),
            packages: PackageNames::default(),
            nodes: BTreeMap::new(),
            watches: HashMap::new(),
            living: BTreeMap::new(),
            shares: Shares::default(),
        };
        watch.invalidate();
        watch.changes();
        Ok(Some(watch))
    }

    /// Groups with a process in them, in the order of their directories.
    pub fn living(&self) -> impl Iterator<Item = &Group> {
        self.living.values()
    }

    /// The package of Android that the group at `dir` is of: of several that share a user, it is known only when the
    /// process has its name, a moment after it began.
    pub fn package(&mut self, dir: &Path) -> Option<String> {
        self.packages.of(&self.sense, dir)
    }

    /// What became of groups since the last time; to be called when the descriptor is readable.
    ///
    /// # Errors
    /// When inotify cannot be read.
    pub fn take(&mut self) -> Result<Vec<GroupChange>> {
        let notices = self.inotify.take().map_err(|source| Error::reading(self.root.clone(), source))?;
        for Notice { watch, flags, name } in notices {
            if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                self.invalidate();
                continue;
            }
            let Some(path) = self.watches.get(&watch).cloned() else { continue };
            if flags.contains(ReadFlags::IGNORED) {
                self.watches.remove(&watch);
            }
            match name {
                Some(name) if flags.contains(ReadFlags::ISDIR) => {
                    let below = path.join(name);
                    if flags.contains(ReadFlags::CREATE) {
                        self.add(&below);
                    } else if flags.contains(ReadFlags::DELETE) {
                        self.remove(&below);
                    }
                }
                // Of a directory, other than what is in it; of the file that says whether it lives, that it changed.
                _ => self.look_at(&path),
            }
        }
        Ok(self.changes())
    }

    /// Of whose groups some are left out since the last call, a sentence each.
    pub fn take_left_out(&mut self) -> Vec<String> {
        let all = self.shares.left_out.iter_mut();
        let new = all.filter_map(|(user, is_told)| (!std::mem::replace(is_told, true)).then_some(*user));
        let text = |user| match user {
            Some(user) => format!(
                "user {user} has more than {DIRS_OF_USER_MAX} control groups: apps in further ones are not seen"
            ),
            None => format!("there are more than {DIRS_MAX} control groups: apps in further ones are not seen"),
        };
        new.map(text).collect()
    }

    /// Forgets everything and lists all directories.
    fn invalidate(&mut self) {
        (self.shares.dirs, self.shares.all) = (BTreeMap::new(), 0);
        for node in std::mem::take(&mut self.nodes).into_values() {
            node.watches.into_iter().flatten().for_each(|watch| self.inotify.remove(watch));
        }
        self.watches.clear();
        let root = self.root.clone();
        self.add(&root);
    }

    /// Watches `dir` and what is below it.
    fn add(&mut self, dir: &Path) {
        let depth = dir.strip_prefix(&self.root).map_or(0, |below| below.components().count());
        if self.nodes.contains_key(dir) || depth > DEPTH {
            return;
        }
        let path = self.sense.path(dir);
        // One that is gone again has no process.
        let id = std::fs::symlink_metadata(&path).map(|found| (found.ino(), found.uid())).unwrap_or_default();
        // The place first: below it a user may give directories to further users of a namespace.
        let of_place = user_by_place(dir.strip_prefix(&self.mount_point).unwrap_or(dir));
        let user = of_place.or_else(|| Some(id.1).filter(|owner| *owner != 0));
        if !self.shares.has_room(user) {
            return;
        }
        let in_it = WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::ONLYDIR;
        // A limit of the kernel (fs.inotify.max_user_watches) leaves a group unseen, no more.
        let Ok(Some(inside)) = self.inotify.add(&path, in_it) else { return };
        let events = self.inotify.add(&path.join(self.life()), WatchFlags::MODIFY).ok().flatten();
        for watch in [Some(inside), events].into_iter().flatten() {
            self.watches.insert(watch, dir.to_owned());
        }
        self.nodes.insert(dir.to_owned(), Node { populated: false, id, user, watches: [Some(inside), events] });
        self.shares.add(user);
        self.look_at(dir);
        // Listed after the watch was set: what is made from now on gives an event.
        for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.add(&dir.join(entry.file_name()));
            }
        }
    }

    fn remove(&mut self, dir: &Path) {
        let gone: Vec<PathBuf> = self
            .nodes
            .range(dir.to_owned()..)
            .map(|(path, _)| path)
            .take_while(|path| path.starts_with(dir))
            .cloned()
            .collect();
        for path in gone {
            let Some(node) = self.nodes.remove(&path) else { continue };
            self.shares.remove(node.user);
            for watch in node.watches.into_iter().flatten() {
                self.inotify.remove(watch);
                self.watches.remove(&watch);
            }
        }
    }

    fn look_at(&mut self, dir: &Path) {
        let file = self.life();
        let Some(node) = self.nodes.get_mut(dir) else { return };
        // A group that went just now has no process; the root has no such file and is no app.
        let parse = |bytes: &[u8]| match self.is_v1 {
            true => parse_cgroup_processes(bytes).map(|pids| !pids.is_empty()),
            false => parse_populated(bytes),
        };
        let populated = self.sense.parse_optional(dir.join(file), parse).ok().flatten();
        node.populated = populated.unwrap_or(false);
    }

    /// The file of a group that says whether a process is in it.
    fn life(&self) -> &'static str {
        if self.is_v1 { "cgroup.procs" } else { "cgroup.events" }
    }

    /// Compares what lives with what lived. A group that was removed and made again meanwhile is another.
    fn changes(&mut self) -> Vec<GroupChange> {
        let of = |dir: &PathBuf| self.nodes.get(dir).filter(|node| node.populated).map(|node| node.id);
        let living = apps(&self.root, self.nodes.keys()).into_iter().filter_map(|dir| Some((dir.clone(), of(dir)?)));
        let living: Vec<_> = living.collect();
        let mut now = BTreeMap::new();
        for (dir, (inode, owner)) in living {
            let path = dir.strip_prefix(&self.mount_point).unwrap_or(&dir).to_string_lossy();
            let key = GroupKey::Control { inode, path: &path }.text();
            let group = match self.living.get(&dir).filter(|known| known.key == key) {
                Some(known) => known.clone(),
                None => {
                    let package = self.packages.of(&self.sense, &dir).or_else(|| self.sense.bus_app(&dir));
                    let user = user_of(&self.sense, &path, owner, &dir);
                    Group { dir: dir.clone(), key, user, package }
                }
            };
            now.insert(dir, group);
        }
        let is_in = |all: &BTreeMap<PathBuf, Group>, group: &Group| {
            all.get(&group.dir).is_some_and(|other| other.key == group.key)
        };
        let gone = self.living.values().filter(|group| !is_in(&now, group)).cloned().map(GroupChange::Gone);
        let began = now.values().filter(|group| !is_in(&self.living, group)).cloned().map(GroupChange::Began);
        let changes = gone.chain(began).collect();
        self.living = now;
        changes
    }
}

impl AsFd for GroupWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}

/// Which of these directories, given in their order, are groups of apps.
fn apps<'a>(root: &Path, dirs: impl Iterator<Item = &'a PathBuf>) -> Vec<&'a PathBuf> {
    let mut found: Vec<&PathBuf> = Vec::new();
    for dir in dirs.filter(|dir| *dir != root && !is_service_manager(&last_name(dir))) {
        match found.last() {
            // Below an app's group everything is of that app.
            Some(last) if dir.starts_with(last) && is_app(&last_name(last)) => {}
            // What has a group below it is none itself.
            Some(last) if dir.starts_with(last) => {
                found.pop();
                found.push(dir);
            }
            _ => found.push(dir),
        }
    }
    found
}

/// The user whose app the group at `dir` is.
fn user_of(sense: &Sense, path: &str, owner: u32, dir: &Path) -> Option<u32> {
    let of_first = || {
        let pid = sense.cgroup_processes(dir).ok().flatten()?.into_iter().next()?;
        sense.process_user(pid).ok().flatten()
    };
    if owner != 0 { Some(owner) } else { user_by_place(Path::new(path)).or_else(of_first) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(dirs: &[&str]) -> Vec<String> {
        let mut dirs: Vec<PathBuf> = dirs.iter().map(PathBuf::from).collect();
        dirs.sort();
        apps(Path::new("/c"), dirs.iter()).into_iter().map(|dir| dir.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn an_app_is_a_named_group_or_one_with_none_below() {
        let all = found(&[
            "/c",
            "/c/init.scope",
            "/c/system.slice",
            "/c/system.slice/cron.service",
            "/c/user.slice",
            "/c/user.slice/user@1000.service",
            "/c/user.slice/user@1000.service/app.slice",
            "/c/user.slice/user@1000.service/app.slice/app-x-1.scope",
            "/c/user.slice/user@1000.service/app.slice/app-x-1.scope/tab-1",
            "/c/user.slice/user@1000.service/init.scope",
            "/c/phone",
            "/c/phone/writer",
        ]);
        let expected = [
            "/c/phone/writer",
            "/c/system.slice/cron.service",
            "/c/user.slice/user@1000.service/app.slice/app-x-1.scope",
        ];
        assert_eq!(all, expected);
        assert_eq!(found(&["/c", "/c/alone"]), ["/c/alone"]);
    }

    #[test]
    fn the_groups_of_one_user_leave_room_for_others_and_that_is_told() {
        let mut shares = Shares::default();
        let watched = |shares: &mut Shares, user: Option<u32>, count: usize| {
            (0..count).filter(|_| shares.has_room(user).then(|| shares.add(user)).is_some()).count()
        };
        assert_eq!(watched(&mut shares, Some(65534), 4200), DIRS_OF_USER_MAX);
        assert_eq!((watched(&mut shares, Some(1000), 300), watched(&mut shares, None, 700)), (300, 700));
        assert_eq!(shares.left_out.keys().collect::<Vec<_>>(), [&Some(65534)]);
        shares.remove(Some(65534));
        assert_eq!(watched(&mut shares, Some(65534), 2), 1, "one went");
        // The system's own have no share, and all together a bound.
        assert_eq!(watched(&mut shares, None, 4096), DIRS_MAX - DIRS_OF_USER_MAX - 1000);
        assert!(shares.left_out.contains_key(&None));
    }

    proptest! {
        #[test]
        fn no_group_of_an_app_lies_in_another(
            dirs in prop::collection::btree_set("/c(/(a|b|app-x\\.scope)){0,4}", 0..12),
        ) {
            let dirs: Vec<PathBuf> = dirs.iter().map(PathBuf::from).collect();
            let all = apps(Path::new("/c"), dirs.iter());
            for one in &all {
                prop_assert!(all.iter().all(|other| other == one || !other.starts_with(one)));
            }
        }
    }
}
