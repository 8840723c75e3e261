//! What the memory is used for, /proc/meminfo, and what memory management has done since boot, /proc/vmstat
//! (Documentation/filesystems/proc.rst). The table of counters says which lines are read; all others are skipped.

use brisk_core::snapshot::{Counted, MemoryLevels, PagingTotals};

use crate::ParseError;
use crate::fields::lines;

/// Reads the text of /proc/meminfo.
///
/// # Errors
/// When `MemTotal` or `MemFree` is missing, or a value is not a number.
pub fn parse_mem_info(bytes: &[u8]) -> Result<MemoryLevels, ParseError> {
    let mut levels = MemoryLevels::default();
    let (mut total, mut free) = (Err(ParseError::MissingLine("MemTotal")), Err(ParseError::MissingLine("MemFree")));
    for mut words in lines(bytes) {
        let Some(name) = words.next_word().and_then(|word| word.strip_suffix(b":")) else { continue };
        let Some(slot) = levels.slot_of(name) else { continue };
        *slot = slot.saturating_add(words.number::<u64>("size in kB")?.saturating_mul(1024));
        match name {
            b"MemTotal" => total = Ok(()),
            b"MemFree" => free = Ok(()),
            _ => {}
        }
    }
    total.and(free).map(|()| levels)
}

/// Reads the text of /proc/vmstat. Counters that it lacks are zero events, or unknown where kernels differ.
///
/// # Errors
/// When it has neither a known counter nor a level (`nr_...`), which every kernel writes first, a line is empty, or a
/// known counter has no value or one that is not a number.
pub fn parse_paging(bytes: &[u8]) -> Result<PagingTotals, ParseError> {
    let mut paging = PagingTotals::default();
    let mut is_vmstat = false;
    for mut words in lines(bytes) {
        let name = words.word("name")?;
        is_vmstat |= name.starts_with(b"nr_");
        if let Some(slot) = paging.slot_of(name) {
            *slot = slot.saturating_add(words.number("value")?);
            is_vmstat = true;
        }
    }
    if is_vmstat { Ok(paging) } else { Err(ParseError::MissingLine("nr_free_pages")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_lines_are_read_and_others_skipped() {
        let text = b"MemTotal:        1024 kB\nMemFree:          512 kB\nMemAvailable:   7 kB\nActive(anon):  3 kB\n\
            Inactive(anon):  2 kB\nHugePages_Total:       0\nSwapFree: 2 kB\n";
        let levels = parse_mem_info(text).expect("a text");
        assert_eq!((levels.total_bytes, levels.free_bytes, levels.available_bytes), (1 << 20, 1 << 19, Some(7 << 10)));
        assert_eq!((levels.anon_bytes, levels.swap_free_bytes), (5 << 10, 2 << 10));
    }

    #[test]
    fn without_a_total_it_is_not_meminfo() {
        assert_eq!(parse_mem_info(b"MemFree: 1 kB\n"), Err(ParseError::MissingLine("MemTotal")));
        assert!(parse_mem_info(b"MemTotal: many kB\n").is_err());
        assert!(parse_mem_info(b"MemTotal:\n").is_err());
        let huge = parse_mem_info(b"MemTotal: 18446744073709551615 kB\nMemFree: 0 kB\n").expect("saturates");
        assert_eq!(huge.total_bytes, u64::MAX);
    }

    #[test]
    fn paging_is_what_the_kernel_says_of_it() {
        let text = b"nr_free_pages 7\npswpin 1\npswpout 2\npgmajfault 3\nworkingset_refault_anon 4\n\
            workingset_refault_file 5\npgscan_kswapd 6\npgscan_direct 8\npgsteal_kswapd 9\npgsteal_direct 10\n";
        let paging = parse_paging(text).expect("understood");
        assert_eq!((paging.swap_in_pages, paging.swap_out_pages, paging.major_faults), (1, 2, 3));
        assert_eq!((paging.refault_anon_pages, paging.refault_file_pages), (Some(4), Some(5)));
        assert_eq!((paging.scan_kswapd_pages, paging.scan_direct_pages), (Some(6), Some(8)));
        assert_eq!((paging.steal_kswapd_pages, paging.steal_direct_pages), (Some(9), Some(10)));
        let old = parse_paging(b"pswpin 1\nworkingset_refault 6\n").expect("4.14");
        assert_eq!((old.refault_anon_pages, old.refault_file_pages, old.scan_direct_pages), (None, Some(6), None));
        assert!(parse_paging(b"pswpin\n").is_err() && parse_paging(b"pswpin x\n").is_err());
    }

    proptest! {
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
