//! The two moments between the steps of a freeze, each with brisk's end of the socket closed as its death closes it.
//! Needs root.

use std::fs;

use brisk_requires::{Capability, available};

use super::*;

#[test]
#[ignore = "is started by others with a socket as its input"]
fn child_that_keeps() {
    if rustix::net::sockopt::socket_type(std::io::stdin()).is_ok() {
        let _ = keep();
    }
}

fn keeper() -> Keeper {
    let program = std::env::current_exe().expect("this program").into_os_string();
    let words = ["--exact", "keeper::tests::child_that_keeps", "--ignored", "--nocapture"].map(OsString::from);
    Keeper::new(std::iter::once(program).chain(words))
}

/// A group without processes, removed when dropped.
struct Group(PathBuf);

impl Group {
    fn new(name: &str) -> Option<Self> {
        available(&[Capability::Groups])?;
        let mounts = fs::read_to_string("/proc/self/mounts").expect("mounts");
        let root = mounts.lines().find_map(|line| {
            let mut words = line.split(' ').skip(1);
            let dir = words.next()?;
            (words.next()? == "cgroup2").then(|| PathBuf::from(dir))
        });
        let dir = root.expect("mounted").join(format!("brisk-keeper-{name}-{}", std::process::id()));
        fs::create_dir(&dir).expect("root makes groups");
        Some(Self(dir))
    }

    fn file(&self) -> PathBuf {
        self.0.join("cgroup.freeze")
    }

    fn state(&self) -> String {
        fs::read_to_string(self.file()).expect("a file").trim().to_owned()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_death_between_telling_the_keeper_and_freezing_changes_nothing() {
    let (Some(told), Some(other)) = (Group::new("told"), Group::new("other")) else { return };
    // Of someone else, whom the keeper has not heard of.
    fs::write(other.file(), "1").expect("frozen");
    let mut keeper = keeper();
    keeper.hold(&[told.file()]).expect("it confirms");
    drop(keeper);
    assert_eq!((told.state().as_str(), other.state().as_str()), ("0", "1"));
    fs::write(other.file(), "0").expect("thawed");
}

#[test]
fn a_death_between_freezing_and_journaling_leaves_nothing_frozen() {
    let Some(group) = Group::new("frozen") else { return };
    let mut keeper = keeper();
    keeper.hold(&[group.file()]).expect("it confirms");
    fs::write(group.file(), "1").expect("frozen");
    drop(keeper);
    assert_eq!(group.state(), "0");
}

#[test]
fn a_group_that_is_gone_hinders_no_thaw_of_others() {
    let (Some(gone), Some(left)) = (Group::new("gone"), Group::new("left")) else { return };
    let mut keeper = keeper();
    keeper.hold(&[gone.file(), left.file(), PathBuf::from("/nonexistent/cgroup.freeze")]).expect("it confirms");
    fs::write(left.file(), "1").expect("frozen");
    drop(gone);
    drop(keeper);
    assert_eq!(left.state(), "0");
}
