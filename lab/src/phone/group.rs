//! Control group of one phone: its own processes and the background writer.
//!
//! The group allows to kill all of them at once. Launched apps have control groups of their own; they are found by
//! their root directory.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use brisk_sense::Sense;

use crate::phone::error::{Error, Result, io as failed};

/// A cgroup2 control group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    dir: PathBuf,
}

impl Group {
    /// Creates it, or reuses an existing one.
    pub(crate) fn make(name: &str) -> Result<Self> {
        let root = Sense::default().cgroups()?.v2.ok_or(Error::NoCgroup2)?.mount_point;
        let dir = root.join(name);
        match fs::create_dir(&dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(failed(format!("make the control group {}", dir.display()))(error))
            }
            _ => Ok(Self { dir }),
        }
    }

    /// The group at a directory, which may not exist.
    pub(crate) fn at(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Creates or reuses a child group.
    pub(crate) fn child(&self, name: &str) -> Result<Self> {
        let dir = self.dir.join(name);
        match fs::create_dir(&dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(failed(format!("make the control group {}", dir.display()))(error))
            }
            _ => Ok(Self { dir }),
        }
    }

    /// Moves a process into the group.
    pub(crate) fn add(&self, pid: u32) -> Result<()> {
        let file = self.dir.join("cgroup.procs");
        fs::write(&file, pid.to_string()).map_err(failed(format!("move process {pid} into {}", self.dir.display())))
    }

    /// Processes in the group and its descendants.
    pub(crate) fn processes(&self) -> BTreeSet<u32> {
        let sense = Sense::default();
        let inner = fs::read_dir(&self.dir).into_iter().flatten().flatten().map(|entry| entry.path());
        let dirs = inner.filter(|path| path.is_dir()).chain([self.dir.clone()]);
        dirs.flat_map(|dir| sense.cgroup_processes(&dir).ok().flatten().unwrap_or_default()).collect()
    }

    /// Kills all processes in the group and its descendants, and removes it, if it exists.
    pub(crate) fn remove(&self) -> Result<()> {
        let removed = crate::launch::scope::end_group(&self.dir).and_then(|()| remove_tree(&self.dir));
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound && error.raw_os_error() != Some(libc::ENODEV) => {
                Err(failed(format!("remove the control group {}", self.dir.display()))(error))
            }
            _ => Ok(()),
        }
    }
}

/// Removes a group after its descendants.
pub(crate) fn remove_tree(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_tree(&entry.path())?;
        }
    }
    fs::remove_dir(dir)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn removing_a_group_kills_its_processes() {
        let name = format!("brisk-phone-test-{}", std::process::id());
        brisk_requires::requires!(Groups);
        let group = Group::make(&name).expect("root makes groups");
        let inner = group.child("inner").expect("made");
        let mut sleepers: Vec<_> =
            (0..3).map(|_| Command::new("sleep").arg("1000").spawn().expect("sleep starts")).collect();
        group.add(sleepers[0].id()).expect("moved");
        inner.add(sleepers[1].id()).expect("moved");
        inner.add(sleepers[2].id()).expect("moved");
        assert_eq!(group.processes(), sleepers.iter().map(std::process::Child::id).collect());
        group.remove().expect("removed");
        for sleeper in &mut sleepers {
            assert!(!sleeper.wait().expect("ended").success());
        }
        assert!(!group.dir().exists());
        group.remove().expect("gone is removed");
        assert_eq!(Group::at(group.dir()), group);
    }
}
