//! Local time: by the variable TZ of the environment, by the file /etc/localtime (localtime(5)), or as Android keeps
//! it.
//!
//! Nothing announces another time zone, so the file is compared at most once a minute when it is asked for: two calls
//! of stat.

use std::os::unix::fs::MetadataExt as _;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::machine::Sense;

/// The file, mostly a link to a file of the time zone database.
const FILE: &str = "/etc/localtime";
/// How long the zone counts as known.
const FRESH_NS: u64 = 60_000_000_000;

/// By how much local time differs from UTC.
#[derive(Debug, Clone, Default)]
pub struct LocalTime {
    zone: Option<TimeZone>,
    /// Link and file as they were when the zone was read.
    stamps: Option<[Stamp; 2]>,
    checked_ns: Option<u64>,
}

/// Device, inode, and time of the last change of a file.
type Stamp = (u64, u64, i64, i64);

impl LocalTime {
    /// What is added to UTC at the time `at_unix_ms` of the wall clock, s; `None` where no zone is set, or its file is
    /// damaged. `now_ns`: CLOCK_MONOTONIC.
    pub fn utc_offset_s(&mut self, sense: &Sense, now_ns: u64, at_unix_ms: u64) -> Option<i32> {
        if self.checked_ns.is_none_or(|then_ns| now_ns.saturating_sub(then_ns) >= FRESH_NS) {
            self.checked_ns = Some(now_ns);
            self.refresh(sense);
        }
        let at = Timestamp::from_millisecond(i64::try_from(at_unix_ms).ok()?).ok()?;
        Some(self.zone.as_ref()?.to_offset(at).seconds())
    }

    fn refresh(&mut self, sense: &Sense) {
        let stamps = if std::env::var_os("TZ").is_some() { None } else { stamps(sense) };
        match stamps {
            // By the environment, which stays, or by a property of Android, which jiff keeps for some minutes.
            None => self.zone = TimeZone::try_system().ok(),
            Some(_) if stamps == self.stamps => {}
            Some(_) => {
                let bytes = sense.read(FILE).ok();
                self.zone = bytes.and_then(|bytes| TimeZone::tzif("local", &bytes).ok());
            }
        }
        self.stamps = stamps;
    }
}

/// The file may be replaced, or the database below the link.
fn stamps(sense: &Sense) -> Option<[Stamp; 2]> {
    let path = sense.path(FILE);
    let stamp = |file: std::fs::Metadata| (file.dev(), file.ino(), file.ctime(), file.ctime_nsec());
    Some([std::fs::symlink_metadata(&path).map(stamp).ok()?, std::fs::metadata(&path).map(stamp).ok()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-01-15 and 2026-07-15, 12:00 UTC.
    const WINTER_MS: u64 = 1_768_478_400_000;
    const SUMMER_MS: u64 = 1_784_116_800_000;

    /// A file of the database with nothing but a rule (RFC 9636): a header and a block of version 1, the same of
    /// version 2, and the rule.
    fn tzif(rule: &str) -> Vec<u8> {
        let mut header = b"TZif2".to_vec();
        header.extend([0; 15]);
        // isut, isstd, leap, time, type and char counts.
        for count in [0u32, 0, 0, 0, 1, 4] {
            header.extend(count.to_be_bytes());
        }
        let mut file = Vec::new();
        for _ in 0..2 {
            file.extend(&header);
            // One type: UTC, no summer time, its name at 0.
            file.extend([0, 0, 0, 0, 0, 0]);
            file.extend(b"UTC\0");
        }
        file.extend(format!("\n{rule}\n").bytes());
        file
    }

    #[test]
    fn another_zone_and_summer_time_are_seen() {
        if std::env::var_os("TZ").is_some() {
            return brisk_requires::skip(brisk_requires::Capability::Root, "TZ is set, and goes before the file");
        }
        let root = tempfile::tempdir().expect("a directory");
        let file = root.path().join("etc/localtime");
        std::fs::create_dir(root.path().join("etc")).expect("made");
        std::fs::write(&file, tzif("CET-1CEST,M3.5.0,M10.5.0/3")).expect("written");
        let (sense, mut local) = (Sense::new(root.path()), LocalTime::default());
        assert_eq!(local.utc_offset_s(&sense, 0, WINTER_MS), Some(3_600));
        assert_eq!(local.utc_offset_s(&sense, 1, SUMMER_MS), Some(7_200));
        // Replaced as timedatectl does it: by another file under the name.
        let other = root.path().join("etc/localtime.new");
        std::fs::write(&other, tzif("IST-5:30")).expect("written");
        std::fs::rename(&other, &file).expect("replaced");
        assert_eq!(local.utc_offset_s(&sense, FRESH_NS - 1, WINTER_MS), Some(3_600));
        assert_eq!(local.utc_offset_s(&sense, FRESH_NS, WINTER_MS), Some(19_800));
        std::fs::write(&file, "TZif").expect("damaged");
        assert_eq!(local.utc_offset_s(&sense, 2 * FRESH_NS, WINTER_MS), None);
    }
}
