//! Where pages are swapped to: /proc/swaps (proc_swaps(5)).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::ParseError;
use crate::fields::{self, lines};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swap {
    /// Device node or file.
    pub path: PathBuf,
    /// `partition` (any block device) or `file`.
    pub kind: String,
    pub size_bytes: u64,
    /// What of it holds pages.
    pub used_bytes: u64,
    /// The highest is filled first.
    pub priority: i32,
}

/// Reads the text of /proc/swaps, whose first line is a heading.
///
/// # Errors
/// When a line lacks a field or a value is not a number.
pub fn parse_swaps(bytes: &[u8]) -> Result<Vec<Swap>, ParseError> {
    lines(bytes)
        .filter(|words| words.line > 1)
        .map(|mut words| {
            Ok(Swap {
                path: OsString::from_vec(fields::unescape_octal(words.word("filename")?)).into(),
                kind: fields::text(words.word("type")?),
                size_bytes: words.number::<u64>("size")?.saturating_mul(1024),
                used_bytes: words.number::<u64>("used")?.saturating_mul(1024),
                priority: words.number("priority")?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADING: &str = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";

    #[test]
    fn the_heading_is_no_swap() {
        assert_eq!(parse_swaps(HEADING.as_bytes()), Ok(vec![]));
        assert_eq!(parse_swaps(b""), Ok(vec![]));
    }

    #[test]
    fn files_and_devices_are_read() {
        let text = format!("{HEADING}/dev/zram0 partition\t2097148\t\t512\t\t-2\n/swap\\040file file 8 0 5\n");
        let swaps = parse_swaps(text.as_bytes()).expect("two");
        assert_eq!((swaps[0].kind.as_str(), swaps[0].used_bytes, swaps[0].priority), ("partition", 512 << 10, -2));
        assert_eq!(swaps[1].path, PathBuf::from("/swap file"));
        assert!(parse_swaps(format!("{HEADING}/dev/zram0 partition 1\n").as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn what_the_kernel_renders_is_read_back(
            size in 0u64..1 << 50, used in 0u64..1 << 50, priority in any::<i32>(),
        ) {
            let text = format!("{HEADING}{:40}partition\t{size}\t\t{used}\t\t{priority}\n", "/dev/mmcblk0p3");
            let swap = Swap {
                path: "/dev/mmcblk0p3".into(),
                kind: "partition".into(),
                size_bytes: size << 10,
                used_bytes: used << 10,
                priority,
            };
            prop_assert_eq!(parse_swaps(text.as_bytes()), Ok(vec![swap]));
        }
    }
}
