//! The watched control group, by its id and depth.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::probes::error::Error;

/// Magic number of cgroup2 (include/uapi/linux/magic.h).
const CGROUP2_SUPER_MAGIC: i64 = 0x6367_7270;

/// A control group of the second version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Group {
    /// Its id: the inode number of its directory (Documentation/admin-guide/cgroup-v2.rst).
    pub(crate) id: u64,
    /// Lower bound of its depth: below the mounted root of groups, which may itself be below the kernel's.
    pub(crate) level: u32,
}

impl Group {
    /// The group of this directory.
    pub(crate) fn open(directory: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Group { path: directory.to_owned(), source };
        let path = directory.canonicalize().map_err(failed)?;
        let system = rustix::fs::statfs(&path).map_err(|error| failed(error.into()))?;
        #[allow(clippy::unnecessary_cast, reason = "the type of f_type differs between processors")]
        if system.f_type as i64 != CGROUP2_SUPER_MAGIC {
            return Err(Error::NotAGroup { path });
        }
        let own = path.metadata().map_err(failed)?;
        let same = |parent: &&Path| parent.metadata().is_ok_and(|parent| parent.dev() == own.dev());
        let level = path.ancestors().skip(1).take_while(same).count();
        Ok(Self { id: own.ino(), level: u32::try_from(level).unwrap_or(u32::MAX) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_control_group_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let error = Group::open(folder.path()).unwrap_err();
        assert!(matches!(error, Error::NotAGroup { .. }));
        assert!(error.to_string().contains(folder.path().file_name().unwrap().to_str().unwrap()), "{error}");
        let missing = folder.path().join("missing");
        let error = Group::open(&missing).unwrap_err();
        assert_eq!(error.to_string(), format!("cannot use the control group {}", missing.display()));
    }
}
