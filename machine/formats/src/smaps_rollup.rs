//! Memory of a process as a whole: /proc/PID/smaps_rollup (Documentation/filesystems/proc.rst).

use serde::{Deserialize, Serialize};

use crate::ParseError;
use crate::fields::lines;

/// What /proc/PID/smaps_rollup says of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SmapsRollup {
    /// Pages in memory (`Rss`).
    pub resident_bytes: u64,
    /// The same, where a page that several processes map counts by its share (`Pss`).
    pub proportional_bytes: u64,
    /// Pages that were accessed since the referenced bits were cleared (`Referenced`).
    pub referenced_bytes: u64,
    /// Pages in swap (`Swap`).
    pub swapped_bytes: u64,
}

/// Reads the text of /proc/PID/smaps_rollup; `None` for a process without memory of its own, whose file is empty.
///
/// # Errors
/// When a line is missing or not understood.
pub fn parse_smaps_rollup(bytes: &[u8]) -> Result<Option<SmapsRollup>, ParseError> {
    if bytes.trim_ascii().is_empty() {
        return Ok(None);
    }
    let mut found = [None; 4];
    for mut words in lines(bytes) {
        let place = match words.next_word() {
            Some(b"Rss:") => 0,
            Some(b"Pss:") => 1,
            Some(b"Referenced:") => 2,
            Some(b"Swap:") => 3,
            _ => continue,
        };
        found[place] = Some(words.number::<u64>("kilobytes")?.saturating_mul(1024));
    }
    let [resident, proportional, referenced, swapped] = found;
    Ok(Some(SmapsRollup {
        resident_bytes: resident.ok_or(ParseError::MissingLine("Rss"))?,
        proportional_bytes: proportional.ok_or(ParseError::MissingLine("Pss"))?,
        referenced_bytes: referenced.ok_or(ParseError::MissingLine("Referenced"))?,
        swapped_bytes: swapped.ok_or(ParseError::MissingLine("Swap"))?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_missing_is_an_error_and_no_zero() {
        assert_eq!(parse_smaps_rollup(b""), Ok(None));
        let head = "55c3aafb4000-7ffdad25f000 ---p 00000000 00:00 0 [rollup]\n";
        let lacking = format!("{head}Rss: 8 kB\nPss: 4 kB\nSwap: 0 kB\n");
        assert_eq!(parse_smaps_rollup(lacking.as_bytes()), Err(ParseError::MissingLine("Referenced")));
        let bad = format!("{head}Rss: much kB\n");
        assert!(matches!(parse_smaps_rollup(bad.as_bytes()), Err(ParseError::BadField { line: 2, .. })));
    }

    proptest! {
        #[test]
        fn what_the_kernel_renders_is_read_back(kib in prop::array::uniform4(0u64..1 << 40)) {
            let [rss, pss, referenced, swap] = kib;
            let text = format!(
                "55c3-7ffd ---p 00000000 00:00 0    [rollup]\nRss:      {rss:>8} kB\nPss:   {pss:>8} kB\n\
                 Pss_Anon:  7 kB\nReferenced:  {referenced:>8} kB\nAnonymous: 7 kB\nSwap:    {swap:>8} kB\n\
                 SwapPss:  7 kB\nLocked:  0 kB\n"
            );
            let [resident_bytes, proportional_bytes, referenced_bytes, swapped_bytes] = kib.map(|kib| kib * 1024);
            let rollup = SmapsRollup { resident_bytes, proportional_bytes, referenced_bytes, swapped_bytes };
            prop_assert_eq!(parse_smaps_rollup(text.as_bytes()), Ok(Some(rollup)));
        }
    }
}
