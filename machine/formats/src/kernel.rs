//! Which kernel runs: /proc/sys/kernel/osrelease.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The two numbers of a kernel release that say what it can do. Vendors' kernels may have back-ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KernelVersion {
    /// 6 of `6.12.48-arm64`.
    pub major: u32,
    /// 12 of `6.12.48-arm64`.
    pub minor: u32,
}

impl KernelVersion {
    /// Reads the head of a release such as `6.12.48-arm64`; `None` when it does not begin with two numbers.
    #[must_use]
    pub fn of(release: &str) -> Option<Self> {
        let mut parts = release.trim().split(|c: char| !c.is_ascii_digit());
        let (major, minor) = (parts.next()?, parts.next()?);
        release.trim().strip_prefix(major)?.strip_prefix('.')?;
        Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

impl fmt::Display for KernelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn vendors_tails_do_not_matter() {
        for (release, version) in [
            ("6.18.44-cloud-1", Some((6, 18))),
            ("5.10.101-android12-9-g0123", Some((5, 10))),
            ("3.4.0\n", Some((3, 4))),
            ("6.13-rc1", Some((6, 13))),
            ("6", None),
            ("v6.1", None),
            ("6-1", None),
            ("", None),
            ("99999999999.1", None),
        ] {
            let version = version.map(|(major, minor)| KernelVersion { major, minor });
            assert_eq!(KernelVersion::of(release), version, "{release}");
        }
        assert!(KernelVersion { major: 5, minor: 10 } > KernelVersion { major: 5, minor: 4 });
    }

    proptest! {
        #[test]
        fn a_version_comes_back(major in any::<u32>(), minor in any::<u32>(), tail in "([.-][a-z0-9.-]*)?") {
            let version = KernelVersion { major, minor };
            prop_assert_eq!(KernelVersion::of(&format!("{version}{tail}")), Some(version));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            let _ = KernelVersion::of(&text);
        }
    }
}
