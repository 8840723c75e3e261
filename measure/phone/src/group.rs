//! The control group of one phone: what it started for itself, and the background writer.
//!
//! The group makes sure that all of it can be ended as one. Apps that are launched have groups of their own; they are found by
//! their root directory.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use brisk_sense::Sense;
use rustix::event::{PollFd, PollFlags, poll};

use crate::error::{Error, Result, io as failed};

/// How long the kernel may take to end a group's processes.
const END_WITHIN: Duration = Duration::from_secs(30);
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// A control group of the second version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    dir: PathBuf,
}

impl Group {
    /// Makes it; one that is there already is taken over.
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

    /// The one at a folder, which may be gone.
    pub(crate) fn at(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// A group in this one.
    pub(crate) fn child(&self, name: &str) -> Result<Self> {
        let dir = self.dir.join(name);
        match fs::create_dir(&dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(failed(format!("make the control group {}", dir.display()))(error))
            }
            _ => Ok(Self { dir }),
        }
    }

    /// Moves a process into it.
    pub(crate) fn add(&self, pid: u32) -> Result<()> {
        let file = self.dir.join("cgroup.procs");
        fs::write(&file, pid.to_string()).map_err(failed(format!("move process {pid} into {}", self.dir.display())))
    }

    /// Processes in it and in its groups.
    pub(crate) fn processes(&self) -> BTreeSet<u32> {
        let sense = Sense::default();
        let inner = fs::read_dir(&self.dir).into_iter().flatten().flatten().map(|entry| entry.path());
        let dirs = inner.filter(|path| path.is_dir()).chain([self.dir.clone()]);
        dirs.flat_map(|dir| sense.cgroup_processes(&dir).ok().flatten().unwrap_or_default()).collect()
    }

    /// Ends every process in it and below, and removes it. One that is gone is removed.
    pub(crate) fn remove(&self) -> Result<()> {
        let removed = end_all(&self.dir).and_then(|()| remove_tree(&self.dir));
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound && error.raw_os_error() != Some(libc::ENODEV) => {
                Err(failed(format!("remove the control group {}", self.dir.display()))(error))
            }
            _ => Ok(()),
        }
    }
}

fn end_all(dir: &Path) -> io::Result<()> {
    let mut events = File::open(dir.join("cgroup.events"))?;
    let deadline = Instant::now() + END_WITHIN;
    loop {
        let mut text = String::new();
        events.seek(SeekFrom::Start(0))?;
        events.read_to_string(&mut text)?;
        if !text.lines().any(|line| line == "populated 1") {
            return Ok(());
        }
        // Linux 5.14.
        fs::write(dir.join("cgroup.kill"), "1")?;
        if Instant::now() >= deadline {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "its processes do not end"));
        }
        // The kernel says when the file changed; a second look covers what was forked meanwhile.
        let wait = rustix::time::Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK_AGAIN_AFTER.subsec_nanos()) };
        poll(&mut [PollFd::new(&events, PollFlags::PRI)], Some(&wait))?;
    }
}

/// Removes a group after those in it.
fn remove_tree(dir: &Path) -> io::Result<()> {
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
    fn a_group_goes_with_all_that_runs_in_it() {
        let name = format!("brisk-phone-test-{}", std::process::id());
        brisk_requires::requires!(Root, Cgroup2);
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
