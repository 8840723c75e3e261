//! What the flash device of the kernel lab's guest has done (kernel/flash): `counters` in its folder of debugfs.

use crate::machine::Sense;
use brisk_formats::ParseError;

use crate::error::Result;

/// Counts since the device was made, or since they were reset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GuestFlash {
    /// Energy of its operations, by the preset's figures.
    pub energy_nj: u64,
    /// Time with at least one request in the device.
    pub busy_ns: u64,
}

/// Reads lines of `name value`.
///
/// # Errors
/// When a count that is wanted lacks or is no number.
pub fn parse_guest_flash(bytes: &[u8]) -> std::result::Result<GuestFlash, ParseError> {
    let text = String::from_utf8_lossy(bytes);
    let count = |field: &'static str| {
        let found = text.lines().zip(1..).find_map(|(line, number)| match line.split_once(' ') {
            Some((name, value)) if name == field => Some((number, value.trim())),
            _ => None,
        });
        let (line, value) = found.ok_or(ParseError::MissingLine(field))?;
        value.parse().map_err(|_| ParseError::BadField { field, line, text: value.to_owned() })
    };
    Ok(GuestFlash { energy_nj: count("energy_nj")?, busy_ns: count("busy_ns")? })
}

impl Sense {
    /// What the guest's flash device of this name has done; `None` where there is no such device.
    ///
    /// # Errors
    /// When its file cannot be read or understood.
    pub fn guest_flash(&self, disk: &str) -> Result<Option<GuestFlash>> {
        self.parse_optional(format!("/sys/kernel/debug/brisk_flash/{disk}/counters"), parse_guest_flash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_wanted_is_found_and_what_lacks_is_named() {
        let text = b"requests 7\nlateness_max_ns 9\nbusy_ns 1200\nreads 3\nenergy_nj 456\n";
        assert_eq!(parse_guest_flash(text), Ok(GuestFlash { energy_nj: 456, busy_ns: 1_200 }));
        let error = parse_guest_flash(b"energy_nj 5\n").expect_err("no busy time").to_string();
        assert!(error.contains("busy_ns"), "{error}");
        assert!(parse_guest_flash(b"energy_nj many\nbusy_ns 1\n").is_err());
    }

    #[test]
    fn a_machine_without_the_device_has_none() {
        let root = tempfile::tempdir().expect("a directory");
        assert_eq!(Sense::new(root.path()).guest_flash("flash0").expect("nothing to read"), None);
        let folder = root.path().join("sys/kernel/debug/brisk_flash/flash0");
        std::fs::create_dir_all(&folder).expect("made");
        std::fs::write(folder.join("counters"), "energy_nj 1\nbusy_ns 2\n").expect("written");
        let found = Sense::new(root.path()).guest_flash("flash0").expect("read");
        assert_eq!(found, Some(GuestFlash { energy_nj: 1, busy_ns: 2 }));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_guest_flash(&bytes);
        }
    }
}
