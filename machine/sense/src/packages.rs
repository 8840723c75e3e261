//! Names of Android's apps, by the list of packages that the system keeps, and whether the system is Android at all.

use std::path::Path;
use std::time::SystemTime;

use brisk_formats::group_name::android_uid;
use brisk_formats::{Packages, parse_packages};

use crate::machine::Sense;

/// The list of packages.
const LIST: &str = "/data/system/packages.list";
/// What every Android has, and what reads its properties.
pub(crate) const GETPROP: &str = "/system/bin/getprop";

/// The list as it was read, and again when another has replaced it: each installation writes it anew.
#[derive(Debug, Clone, Default)]
pub(crate) struct PackageNames {
    written: Option<SystemTime>,
    packages: Packages,
}

impl PackageNames {
    /// The package that the group of an app at `dir` is of; `None` where that is no app of Android's, where the list
    /// cannot be read, and where it cannot be told yet.
    pub(crate) fn of(&mut self, sense: &Sense, dir: &Path) -> Option<String> {
        let uid = android_uid(dir)?;
        let written = std::fs::metadata(sense.path(LIST)).and_then(|list| list.modified()).ok()?;
        if self.written != Some(written) {
            self.packages = sense.parse(LIST, parse_packages).ok()?;
            self.written = Some(written);
        }
        if let Some(name) = self.packages.name(uid, None) {
            return Some(name.to_owned());
        }
        let pid = sense.cgroup_processes(dir).ok().flatten()?.into_iter().next()?;
        let words = sense.command_line(pid).ok().flatten()?;
        self.packages.name(uid, Some(&words.first()?.to_string_lossy())).map(str::to_owned)
    }
}

impl Sense {
    /// Whether this system is Android, by what is there.
    #[must_use]
    pub fn is_android(&self) -> bool {
        self.path(GETPROP).exists()
    }

    /// How many packages Android lists; `None` where there is no list.
    ///
    /// # Errors
    /// When the list is not readable or not understood.
    pub fn package_count(&self) -> crate::Result<Option<usize>> {
        Ok(self.parse_optional(LIST, parse_packages)?.map(|packages| packages.count()))
    }
}
