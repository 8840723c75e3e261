//! What the flash device of the kernel lab's guest has done (kernel/flash): `counters` in its folder of debugfs.

use std::io::ErrorKind;
use std::path::PathBuf;

use brisk_sense::Sense;

use super::MeterKind;
use crate::error::Result;

/// Counts since the device was made, or since they were reset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct GuestFlash {
    /// Energy of its operations, by the preset's figures.
    pub(crate) energy_nj: u64,
    /// Time with at least one request in the device.
    pub(crate) busy_ns: u64,
}

/// What the guest's flash device of this name has done; `None` where there is no such device.
///
/// # Errors
/// When its file cannot be read or understood.
pub(crate) fn read(sense: &Sense, disk: &str) -> Result<Option<GuestFlash>> {
    let path = sense.path(PathBuf::from("/sys/kernel/debug/brisk_flash").join(disk).join("counters"));
    let unusable = |why: String| MeterKind::Modelled.unusable(format!("{}: {why}", path.display()));
    match std::fs::read_to_string(&path) {
        Ok(text) => parse(&text).map(Some).map_err(unusable),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unusable(error.to_string())),
    }
}

/// Reads lines of `name value`.
fn parse(text: &str) -> std::result::Result<GuestFlash, String> {
    let count = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let value = value.ok_or_else(|| format!("it has no line '{name}'"))?.trim();
        value.parse().map_err(|_| format!("'{value}' is no {name}"))
    };
    Ok(GuestFlash { energy_nj: count("energy_nj")?, busy_ns: count("busy_ns")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name_and_a_missing_one_is_named() {
        let text = "requests 7\nlateness_max_ns 9\nbusy_ns 1200\nreads 3\nenergy_nj 456\n";
        assert_eq!(parse(text), Ok(GuestFlash { energy_nj: 456, busy_ns: 1_200 }));
        assert!(parse("energy_nj 5\n").expect_err("no busy time").contains("busy_ns"));
        assert!(parse("energy_nj many\nbusy_ns 1\n").is_err());
    }

    #[test]
    fn a_machine_without_the_device_has_none() {
        let root = tempfile::tempdir().expect("a directory");
        assert_eq!(read(&Sense::new(root.path()), "flash0").expect("nothing to read"), None);
        let folder = root.path().join("sys/kernel/debug/brisk_flash/flash0");
        std::fs::create_dir_all(&folder).expect("made");
        std::fs::write(folder.join("counters"), "energy_nj 1\nbusy_ns 2\n").expect("written");
        let found = read(&Sense::new(root.path()), "flash0").expect("read");
        assert_eq!(found, Some(GuestFlash { energy_nj: 1, busy_ns: 2 }));
    }
}
