//! Processor time and waits for storage of one control group, to be read many times a second: the files stay open.

use std::path::Path;

use brisk_formats::{CgroupCpu, ParseError, Pressure, Resource, parse_cgroup_cpu, parse_pressure};

use crate::error::{Absent as _, Result};
use crate::kept::Kept;
use crate::machine::Sense;

/// Reads cpu.stat and io.pressure of one control group of the second version.
#[derive(Debug)]
pub struct CgroupMeter {
    cpu: Option<Kept>,
    io_pressure: Option<Kept>,
}

impl CgroupMeter {
    /// Opens the files of the group at `dir`; those that the kernel has not are `None` in every reading.
    ///
    /// # Errors
    /// When a file is there and cannot be opened.
    pub fn open(sense: &Sense, dir: &Path) -> Result<Self> {
        let kept = |name: String| Kept::open(sense, dir.join(name)).or_absent();
        Ok(Self { cpu: kept("cpu.stat".to_owned())?, io_pressure: kept(format!("{}.pressure", Resource::Io))? })
    }

    /// What it has used so far and waited for; `None` without the file, and once the group is gone.
    ///
    /// # Errors
    /// When a file is no longer readable or not understood.
    pub fn read(&mut self) -> Result<(Option<CgroupCpu>, Option<Pressure>)> {
        Ok((value(&mut self.cpu, parse_cgroup_cpu)?, value(&mut self.io_pressure, parse_pressure)?))
    }
}

fn value<T>(kept: &mut Option<Kept>, parser: fn(&[u8]) -> std::result::Result<T, ParseError>) -> Result<Option<T>> {
    kept.as_mut().map_or(Ok(None), |kept| kept.parse(parser).or_absent())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reading_is_fresh_and_what_is_missing_is_none() {
        let root = tempfile::tempdir().expect("a directory");
        let sense = Sense::new(root.path());
        let group = Path::new("/group");
        std::fs::create_dir(root.path().join("group")).expect("a group");
        let cpu = |user: u64| {
            let text = format!("usage_usec {}\nuser_usec {user}\nsystem_usec 1\n", user + 1);
            std::fs::write(root.path().join("group/cpu.stat"), text).expect("written");
        };
        cpu(10);
        let mut meter = CgroupMeter::open(&sense, group).expect("readable");
        assert_eq!(
            meter.read().expect("understood"),
            (Some(CgroupCpu { usage_us: 11, user_us: 10, system_us: 1 }), None)
        );
        cpu(20);
        assert_eq!(meter.read().expect("understood").0.expect("there").user_us, 20);
        std::fs::write(root.path().join("group/cpu.stat"), "nonsense").expect("written");
        assert!(meter.read().expect_err("no counters").to_string().contains("cpu.stat"));
        let mut none = CgroupMeter::open(&sense, Path::new("/gone")).expect("absent is no failure");
        assert_eq!(none.read().expect("nothing"), (None, None));
    }

    #[test]
    fn a_reading_agrees_with_files_just_opened() {
        brisk_requires::requires!(Cgroup2);
        let sense = Sense::default();
        let root = sense.cgroups().expect("Linux").v2.expect("mounted").mount_point;
        let mut meter = CgroupMeter::open(&sense, &root).expect("readable");
        let before = sense.cgroup_cpu(&root).expect("readable").unwrap_or_default();
        let kept = meter.read().expect("readable").0.unwrap_or_default();
        let after = sense.cgroup_cpu(&root).expect("readable").unwrap_or_default();
        assert!(before.usage_us <= kept.usage_us && kept.usage_us <= after.usage_us, "{before:?} {kept:?} {after:?}");
    }
}
