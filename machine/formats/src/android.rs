//! Apps of Android: users, packages, and where their control groups are.
//!
//! Each app is a user of its own (system/core/include/private/android_filesystem_config.h): `user * 100000 + app`, apps
//! from 10000 on. `/data/system/packages.list` has a line for each package, the name first and the user second
//! (frameworks/base, `Settings.writePackageListLPr`); packages that share a user are told apart by their processes,
//! whose name begins with the package's, as in `com.example.app:sync`. A process that runs isolated has a user that
//! belongs to no package.
//!
//! Groups are `uid_N/pid_M` (system/core/libprocessgroup/processgroup.cpp): of version 2, since Android 15 below
//! `apps`; before, of version 1 in the memory controller below `apps`, or in that of processor time (`/acct`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::fields::lines;
use crate::group_name::last_name;
use crate::{Mount, ParseError, fields};

/// Users of one person (AID_USER_OFFSET).
const PERSON: u32 = 100_000;
/// The first user that is an app (AID_APP_START).
const APP_MIN: u32 = 10_000;
/// Users of the sandboxes of apps' advertisements (AID_SDK_SANDBOX_PROCESS_START), in the order of the apps'.
const SANDBOX_MIN: u32 = 20_000;
/// Users of isolated processes: of zygotes of apps (AID_APP_ZYGOTE_START), and others (AID_ISOLATED_START).
const ISOLATED_MIN: u32 = 90_000;

/// Where groups of apps lie below the memory controller, and since Android 15 below version 2.
const APPS: &str = "apps";

/// Names of packages, by the user that each is for every person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Packages(BTreeMap<u32, Vec<String>>);

/// Reads `/data/system/packages.list`.
///
/// # Errors
/// When a line has no user.
pub fn parse_packages(bytes: &[u8]) -> Result<Packages, ParseError> {
    let mut packages = Packages::default();
    for mut words in lines(bytes) {
        let name = fields::text(words.word("package")?);
        packages.0.entry(words.number("uid")?).or_default().push(name);
    }
    Ok(packages)
}

impl Packages {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// The package that runs as the user `uid`; where that is one of several, or of none, by the name of the `process`.
    #[must_use]
    pub fn name(&self, uid: u32, process: Option<&str>) -> Option<&str> {
        let of = |app: u32| self.0.get(&app).map(Vec::as_slice).unwrap_or_default();
        let base = process.and_then(|process| process.split(':').next());
        let is_base = |name: &&String| Some(name.as_str()) == base;
        let candidates = match uid % PERSON {
            ISOLATED_MIN.. => return self.0.values().flatten().find(is_base).map(String::as_str),
            sandbox @ SANDBOX_MIN..ISOLATED_MIN => of(sandbox - SANDBOX_MIN + APP_MIN),
            app => of(app),
        };
        match candidates {
            [only] => Some(only),
            several => several.iter().find(is_base).map(String::as_str),
        }
    }
}

/// Whether a user is an app, of any person.
#[must_use]
pub fn is_app_user(uid: u32) -> bool {
    uid % PERSON >= APP_MIN
}

/// Whether a group is that of an app's user.
#[must_use]
fn is_group_of_app_user(dir: &Path) -> bool {
    last_name(dir).strip_prefix("uid_").and_then(|uid| uid.parse().ok()).is_some_and(is_app_user)
}

/// The hierarchy in which apps have groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppGroups {
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// The folder in it that has them.
    pub root: PathBuf,
    /// Of version 1, the controller: no group says there whether it is empty.
    pub v1: Option<&'static str>,
}

impl AppGroups {
    /// Where the group that is at `dir` here may be in the hierarchy that begins at `other`: the same way down, on
    /// Android maybe below another folder for apps.
    #[must_use]
    pub fn in_other(&self, other: &Path, dir: &Path) -> Vec<PathBuf> {
        let same = dir.strip_prefix(&self.mount_point).ok().map(|below| other.join(below));
        let below = dir.strip_prefix(&self.root).ok();
        same.into_iter()
            .chain(below.into_iter().flat_map(|below| [other.join(below), other.join(APPS).join(below)]))
            .collect()
    }
}

/// The hierarchy in which apps have groups: where Android's have some, as `groups_in` a directory says, else version 2.
#[must_use]
pub fn app_groups(mounts: &[Mount], groups_in: impl Fn(&Path) -> Vec<PathBuf>) -> Option<AppGroups> {
    let second = mounts.iter().find(|mount| mount.fs_type == "cgroup2").map(|mount| AppGroups {
        mount_point: mount.mount_point.clone(),
        root: mount.mount_point.clone(),
        v1: None,
    });
    let first = |controller: &'static str, below: Option<&str>| {
        let has_it = |mount: &&Mount| mount.super_options.iter().any(|option| option == controller);
        let mount = mounts.iter().filter(|mount| mount.fs_type == "cgroup").find(has_it)?;
        let root = below.map_or_else(|| mount.mount_point.clone(), |below| mount.mount_point.join(below));
        Some(AppGroups { mount_point: mount.mount_point.clone(), root, v1: Some(controller) })
    };
    let candidates = [second.clone(), first("memory", Some(APPS)), first("memory", None), first("cpuacct", None)];
    let has_apps = |groups: &AppGroups| {
        let deeper = groups.v1.is_none().then(|| groups.root.join(APPS));
        let dirs = [Some(groups.root.clone()), deeper].into_iter().flatten();
        dirs.flat_map(|dir| groups_in(&dir)).any(|dir| is_group_of_app_user(&dir))
    };
    candidates.into_iter().flatten().find(has_apps).or(second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_mounts;
    use proptest::prelude::*;

    const LIST: &[u8] =
        b"com.android.systemui 10088 0 /data/user_de/0/com.android.systemui platform:privapp 3002 0 34 1\n\
        com.example.mail 10123 0 /data/user/0/com.example.mail default:targetSdkVersion=33 3003 0 7 1\n\
        \n\
        com.google.android.gms 10110 0 /data/user/0/com.google.android.gms default 3003 0 1 1\n\
        com.google.android.gsf 10110 0 /data/user/0/com.google.android.gsf default 3003 0 1 1\n";

    #[test]
    fn a_package_is_known_by_its_user_and_else_by_its_process() {
        let packages = parse_packages(LIST).expect("a list");
        for (uid, process, name) in [
            (10_123, None, Some("com.example.mail")),
            (10_123, Some("com.example.mail:sync"), Some("com.example.mail")),
            // Of a second person.
            (1_010_123, Some("zygote64"), Some("com.example.mail")),
            (10_110, Some("com.google.android.gsf:x"), Some("com.google.android.gsf")),
            (10_110, Some("com.google.process.gapps"), None),
            (10_110, Some("zygote64"), None),
            (99_007, Some("com.example.mail:sandboxed_process0:a.b:0"), Some("com.example.mail")),
            (99_007, Some("webview_zygote"), None),
            (20_123, None, Some("com.example.mail")),
            (10_999, Some("com.example.mail"), None),
        ] {
            assert_eq!(packages.name(uid, process), name, "{uid} {process:?}");
        }
        assert!(parse_packages(b"com.example\n").is_err());
        assert!(parse_packages(b"com.example x\n").is_err());
        assert_eq!(parse_packages(b"").expect("none").name(10_123, None), None);
    }

    #[test]
    fn users_of_apps_are_those_of_every_person() {
        for (uid, is_app) in [(0, false), (1000, false), (10_000, true), (1_001_000, false), (1_010_123, true)] {
            assert_eq!(is_app_user(uid), is_app, "{uid}");
        }
    }

    #[test]
    fn groups_of_apps_are_where_android_made_some_and_else_of_version_2() {
        const V2: &str = "30 22 0:23 / /sys/fs/cgroup rw - cgroup2 none rw\n";
        const MEMORY: &str = "31 20 0:24 / /dev/memcg rw - cgroup none rw,memory\n";
        const ACCT: &str = "32 20 0:25 / /acct rw - cgroup none rw,cpuacct\n";
        for (mounts, there, root, v1) in [
            // A desktop; a phone of today, and of Android 15.
            (V2.to_owned(), "/sys/fs/cgroup/user.slice", Some("/sys/fs/cgroup"), None),
            ([V2, MEMORY].concat(), "/sys/fs/cgroup/uid_10100", Some("/sys/fs/cgroup"), None),
            ([V2, MEMORY].concat(), "/sys/fs/cgroup/apps/uid_10100", Some("/sys/fs/cgroup"), None),
            // Older ones, with and without a memory controller for each app; version 2 is there for other things.
            ([V2, ACCT, MEMORY].concat(), "/dev/memcg/apps/uid_10100", Some("/dev/memcg/apps"), Some("memory")),
            ([ACCT, V2].concat(), "/acct/uid_10100", Some("/acct"), Some("cpuacct")),
            (ACCT.to_owned(), "/acct/uid_10100", Some("/acct"), Some("cpuacct")),
            // The system's are no apps.
            ([V2, ACCT].concat(), "/acct/uid_1000", Some("/sys/fs/cgroup"), None),
            (ACCT.to_owned(), "/acct/uid_1000", None, None),
        ] {
            let mounts = parse_mounts(mounts.as_bytes()).expect("mounts");
            let there = Path::new(there);
            let groups_in = |dir: &Path| there.parent().filter(|parent| *parent == dir).map(|_| there.to_owned());
            let found = app_groups(&mounts, |dir| groups_in(dir).into_iter().collect());
            let found = found.map(|found| (found.root, found.v1));
            assert_eq!(found, root.map(|root| (PathBuf::from(root), v1)), "{}", there.display());
        }
    }

    proptest! {
        #[test]
        fn any_list_is_read_or_refused(bytes: Vec<u8>, uid: u32, process: Option<String>) {
            if let Ok(packages) = parse_packages(&bytes) {
                let _ = packages.name(uid, process.as_deref());
            }
        }
    }
}
