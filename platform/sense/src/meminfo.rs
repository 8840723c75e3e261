//! What the memory is used for: /proc/meminfo (Documentation/filesystems/proc.rst).

use serde::{Deserialize, Serialize};

use crate::Sense;
use crate::error::{ParseError, Result};
use crate::fields::lines;

/// The lines of /proc/meminfo that brisk uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemInfo {
    /// All memory that the kernel manages.
    pub total_bytes: u64,
    /// Used for nothing.
    pub free_bytes: u64,
    /// What new programs can have without swapping: the kernel's estimate; `None` before Linux 3.14.
    pub available_bytes: Option<u64>,
    /// Pages of block devices.
    pub buffers_bytes: u64,
    /// Pages of files, those of tmpfs included.
    pub cached_bytes: u64,
    /// In memory and still in its swap slot.
    pub swap_cached_bytes: u64,
    /// Anonymous, used not long ago.
    pub active_anon_bytes: u64,
    /// Anonymous, next to go.
    pub inactive_anon_bytes: u64,
    /// Of files, used not long ago.
    pub active_file_bytes: u64,
    /// Of files, next to go.
    pub inactive_file_bytes: u64,
    /// Waits to be written.
    pub dirty_bytes: u64,
    /// Is being written.
    pub writeback_bytes: u64,
    /// All swap.
    pub swap_total_bytes: u64,
    /// Swap that is not used.
    pub swap_free_bytes: u64,
}

/// Reads the text of /proc/meminfo. Lines that it does not know are passed over.
///
/// # Errors
/// When `MemTotal` or `MemFree` is missing, or a value is not a number.
pub fn parse_mem_info(bytes: &[u8]) -> std::result::Result<MemInfo, ParseError> {
    let mut info = MemInfo::default();
    let (mut total, mut free) = (None, None);
    for mut words in lines(bytes) {
        let Some(name) = words.next_word().and_then(|word| word.strip_suffix(b":")) else { continue };
        let slot = match name {
            b"MemTotal" => total.insert(0),
            b"MemFree" => free.insert(0),
            b"MemAvailable" => info.available_bytes.insert(0),
            b"Buffers" => &mut info.buffers_bytes,
            b"Cached" => &mut info.cached_bytes,
            b"SwapCached" => &mut info.swap_cached_bytes,
            b"Active(anon)" => &mut info.active_anon_bytes,
            b"Inactive(anon)" => &mut info.inactive_anon_bytes,
            b"Active(file)" => &mut info.active_file_bytes,
            b"Inactive(file)" => &mut info.inactive_file_bytes,
            b"Dirty" => &mut info.dirty_bytes,
            b"Writeback" => &mut info.writeback_bytes,
            b"SwapTotal" => &mut info.swap_total_bytes,
            b"SwapFree" => &mut info.swap_free_bytes,
            _ => continue,
        };
        *slot = words.number::<u64>("size in kB")?.saturating_mul(1024);
    }
    info.total_bytes = total.ok_or(ParseError::MissingLine("MemTotal"))?;
    info.free_bytes = free.ok_or(ParseError::MissingLine("MemFree"))?;
    Ok(info)
}

impl Sense {
    /// What the memory is used for, from /proc/meminfo.
    ///
    /// # Errors
    /// When the file is missing, not readable or not understood.
    pub fn mem_info(&self) -> Result<MemInfo> {
        self.parse("/proc/meminfo", parse_mem_info)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_lines_are_taken_and_others_passed_over() {
        let info = parse_mem_info(
            b"MemTotal:        1024 kB\nMemFree:          512 kB\nMemAvailable:   7 kB\nActive(anon):  3 kB\nHugePages_Total:       0\nSwapFree: 2 kB\n",
        )
        .expect("a text");
        assert_eq!((info.total_bytes, info.free_bytes, info.available_bytes), (1 << 20, 1 << 19, Some(7 << 10)));
        assert_eq!((info.active_anon_bytes, info.swap_free_bytes), (3 << 10, 2 << 10));
    }

    #[test]
    fn without_a_total_it_is_not_meminfo() {
        assert_eq!(parse_mem_info(b"MemFree: 1 kB\n"), Err(ParseError::MissingLine("MemTotal")));
        assert!(parse_mem_info(b"MemTotal: many kB\n").is_err());
        assert!(parse_mem_info(b"MemTotal:\n").is_err());
        let huge = parse_mem_info(b"MemTotal: 18446744073709551615 kB\nMemFree: 0 kB\n").expect("saturates");
        assert_eq!(huge.total_bytes, u64::MAX);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_mem_info(&bytes);
        }

        #[test]
        fn what_the_kernel_renders_is_read_back(kib in prop::array::uniform4(0u64..1 << 50)) {
            let [total, free, available, dirty] = kib;
            let text = format!(
                "MemTotal:       {total:8} kB\nMemFree:        {free:8} kB\nMemAvailable:   {available:8} kB\n\
                 Dirty:          {dirty:8} kB\n"
            );
            let info = parse_mem_info(text.as_bytes()).expect("rendered");
            prop_assert_eq!(info.total_bytes, total << 10);
            prop_assert_eq!(info.free_bytes, free << 10);
            prop_assert_eq!(info.available_bytes, Some(available << 10));
            prop_assert_eq!(info.dirty_bytes, dirty << 10);
        }
    }
}
