//! What compressed memory holds: `mm_stat` of /sys/block/zramN (Documentation/admin-guide/blockdev/zram.rst).

use crate::ParseError;
use crate::fields::lines;

/// Reads original, compressed and used bytes from the text of mm_stat.
///
/// # Errors
/// When one of them is missing or not a number.
pub fn parse_mm_stat(bytes: &[u8]) -> Result<[u64; 3], ParseError> {
    let mut words = lines(bytes).next().ok_or(ParseError::MissingLine("mm_stat"))?;
    Ok([words.number("orig_data_size")?, words.number("compr_data_size")?, words.number("mem_used_total")?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_columns_are_padded() {
        assert_eq!(parse_mm_stat(b"    4096       74    12288        0\n"), Ok([4096, 74, 12288]));
        assert!(parse_mm_stat(b"4096 74\n").is_err());
        assert!(parse_mm_stat(b"\n").is_err());
    }

    proptest! {
        #[test]
        fn what_the_kernel_renders_is_read_back(sizes in any::<[u64; 3]>()) {
            let [a, b, c] = sizes;
            prop_assert_eq!(parse_mm_stat(format!("{a:8} {b:8} {c:8}        0\n").as_bytes()), Ok(sizes));
        }
    }
}
