//! Which control groups this machine has: /proc/cgroups, the mounts, and `cgroup.controllers` of the second version
//! (Documentation/admin-guide/cgroup-v1/cgroups.rst, cgroup-v2.rst).

use std::path::{Path, PathBuf};

use brisk_core::knob::GroupSetting;
use brisk_formats::{AppGroups, Mount, app_groups, parse_controllers_v1, parse_controllers_v2};
use serde::{Deserialize, Serialize};

use crate::activity::Hierarchies;
use crate::error::{Absent as _, Error, Result};
use crate::machine::Sense;

/// One hierarchy of the first version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgroupV1 {
    /// Controllers that it holds; empty for a named hierarchy.
    pub controllers: Vec<String>,
    pub mount_point: PathBuf,
}

/// The hierarchy of the second version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgroupV2 {
    /// Controllers that it holds: those that no hierarchy of the first version has.
    pub controllers: Vec<String>,
    pub mount_point: PathBuf,
    /// Files of its first group below the root, sorted, such as `cgroup.freeze`, `cgroup.kill` and `io.pressure`; the
    /// root itself has not all of them. `None` when there is no group yet.
    pub group_files: Option<Vec<String>>,
}

/// All control groups.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cgroups {
    /// Hierarchies of the first version that are mounted.
    pub v1: Vec<CgroupV1>,
    /// The second version, if mounted.
    pub v2: Option<CgroupV2>,
}

impl Cgroups {
    /// Where the first version has `controller`.
    #[must_use]
    pub fn v1_with(&self, controller: &str) -> Option<&CgroupV1> {
        self.v1.iter().find(|hierarchy| hierarchy.controllers.iter().any(|name| name == controller))
    }

    /// The second version, if it has `controller`.
    #[must_use]
    pub fn v2_with(&self, controller: &str) -> Option<&CgroupV2> {
        self.v2.as_ref().filter(|hierarchy| hierarchy.controllers.iter().any(|name| name == controller))
    }
}

impl Sense {
    /// The control groups that are mounted.
    ///
    /// # Errors
    /// When /proc is missing, or a file is not readable or not understood.
    pub fn cgroups(&self) -> Result<Cgroups> {
        let known = self.parse_optional("/proc/cgroups", parse_controllers_v1)?.unwrap_or_default();
        let mut cgroups = Cgroups::default();
        for mount in self.mounts()? {
            match mount.fs_type.as_str() {
                "cgroup" => cgroups.v1.push(CgroupV1 {
                    controllers: mount.super_options.into_iter().filter(|option| known.contains(option)).collect(),
                    mount_point: mount.mount_point,
                }),
                "cgroup2" if cgroups.v2.is_none() => cgroups.v2 = Some(self.cgroup_v2(mount)?),
                _ => {}
            }
        }
        Ok(cgroups)
    }

    /// The hierarchy in which apps have groups; `None` where none is mounted.
    ///
    /// # Errors
    /// When /proc is missing, or the mounts are not readable or not understood.
    pub fn app_groups(&self) -> Result<Option<AppGroups>> {
        let groups_in = |dir: &Path| self.groups_below(dir).unwrap_or_default();
        Ok(app_groups(&self.mounts()?, |dir| groups_in(dir).into_iter().map(|name| dir.join(name)).collect()))
    }

    /// Settings that the group in `dir` offers: those of controllers that are enabled for it, that this kernel has, and
    /// that this process may write. Groups that a user's service manager made belong to the user. The memory controller
    /// of the first version has a group of the same path.
    #[must_use]
    pub fn cgroup_settings(&self, hierarchies: &Hierarchies, dir: &Path) -> Vec<GroupSetting> {
        let old_memory = hierarchies.in_old_memory(self, dir);
        let offers = |setting: &GroupSetting| {
            let dir = match setting {
                GroupSetting::MemorySoftLimit => old_memory.as_deref(),
                _ => Some(dir),
            };
            let path = dir.map(|dir| self.path(dir.join(setting.to_string())));
            path.is_some_and(|path| rustix::fs::access(&path, rustix::fs::Access::WRITE_OK).is_ok() && path.is_file())
        };
        GroupSetting::ALL.into_iter().filter(offers).collect()
    }

    /// Whether there are groups below the one at `dir`: its processes are not all in its own list then. By the number
    /// of links, which cgroup file systems keep as others do; false where they do not.
    #[must_use]
    pub fn has_groups_below(&self, dir: &Path) -> bool {
        rustix::fs::stat(self.path(dir)).is_ok_and(|stat| stat.st_nlink > 2)
    }

    /// The names of the groups directly below the one at `dir`. Empty when there is no such group.
    ///
    /// # Errors
    /// When the directory is not readable.
    pub fn groups_below(&self, dir: &Path) -> Result<Vec<String>> {
        let path = self.path(dir);
        let Some(entries) = std::fs::read_dir(&path).map_err(|source| Error::reading(path, source)).or_absent()? else {
            return Ok(Vec::new());
        };
        // A group that is removed meanwhile is left out.
        let group = |entry: std::fs::DirEntry| {
            let is_group = entry.file_type().is_ok_and(|kind| kind.is_dir());
            is_group.then(|| entry.file_name().to_string_lossy().into_owned())
        };
        let mut groups: Vec<_> = entries.flatten().filter_map(group).collect();
        groups.sort();
        Ok(groups)
    }

    fn cgroup_v2(&self, mount: Mount) -> Result<CgroupV2> {
        let dir = mount.mount_point;
        let controllers = self.read_optional(dir.join("cgroup.controllers"))?;
        let groups = self.names_in(&dir)?;
        let group = groups.iter().map(|name| dir.join(name)).find(|path| self.path(path).is_dir());
        Ok(CgroupV2 {
            controllers: parse_controllers_v2(&controllers.unwrap_or_default()),
            group_files: group.map(|group| self.names_in(group)).transpose()?,
            mount_point: dir,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_of_this_machine_knows_of_those_below() {
        brisk_requires::requires!(Groups);
        let sense = Sense::default();
        let root = sense.cgroups().expect("Linux").v2.expect("mounted").mount_point;
        let group = root.join(format!("brisk-test-below-{}", std::process::id()));
        std::fs::create_dir(&group).expect("root makes groups");
        let before = sense.has_groups_below(&group);
        std::fs::create_dir(group.join("inner")).expect("root makes groups");
        let after = sense.has_groups_below(&group);
        let below = sense.groups_below(&group).expect("readable");
        std::fs::remove_dir(group.join("inner")).and_then(|()| std::fs::remove_dir(&group)).expect("removed");
        assert_eq!((before, after), (false, true));
        assert_eq!(below, ["inner"]);
        assert_eq!(sense.groups_below(&group).expect("gone"), [""; 0]);
    }

    #[test]
    fn a_group_offers_what_has_a_file_there() {
        let root = tempfile::tempdir().expect("a directory");
        let group = root.path().join("sys/fs/cgroup/app.slice");
        std::fs::create_dir_all(group.join("io.weight")).expect("a directory is no setting");
        std::fs::write(group.join("io.prio.class"), "no-change\n").expect("a file");
        let sense = Sense::new(root.path());
        let none = Hierarchies::default();
        assert_eq!(sense.cgroup_settings(&none, Path::new("/sys/fs/cgroup/app.slice")), [GroupSetting::IoPrioClass]);
        assert_eq!(sense.cgroup_settings(&none, Path::new("/sys/fs/cgroup/gone")), []);
        // The memory controller is still that of the first version.
        let old = root.path().join("sys/fs/cgroup/memory/app.slice");
        std::fs::create_dir_all(&old).expect("a directory");
        std::fs::write(old.join("memory.soft_limit_in_bytes"), "9223372036854771712\n").expect("a file");
        std::fs::create_dir_all(root.path().join("proc/self")).expect("a directory");
        let mounts = "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n\
                      2 0 0:2 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
        std::fs::write(root.path().join("proc/self/mountinfo"), mounts).expect("a file");
        let known = "#subsys_name\thierarchy\tnum_cgroups\tenabled\nmemory\t2\t1\t1\n";
        std::fs::write(root.path().join("proc/cgroups"), known).expect("a file");
        let expected = [GroupSetting::IoPrioClass, GroupSetting::MemorySoftLimit];
        let both = Hierarchies::of(&sense).expect("readable");
        assert_eq!(sense.cgroup_settings(&both, Path::new("/sys/fs/cgroup/app.slice")), expected);
    }
}
