//! Compressed memory as a block device: /sys/block/zramN (Documentation/admin-guide/blockdev/zram.rst).

use serde::{Deserialize, Serialize};

use crate::Sense;
use crate::block::checked_name;
use crate::error::{ParseError, Result};
use crate::fields::{self, lines};

/// One zram device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zram {
    /// Kernel name.
    pub name: String,
    /// Size that it shows; 0 when it is not set up.
    pub disk_bytes: u64,
    /// Bytes stored, before compression.
    pub original_bytes: u64,
    /// The same after compression.
    pub compressed_bytes: u64,
    /// Memory that it takes.
    pub memory_bytes: u64,
    /// Device to which it writes pages back; `None` when it has none or the kernel cannot.
    pub backing_device: Option<String>,
}

/// Reads original, compressed and used bytes from the text of mm_stat.
fn parse_mm_stat(bytes: &[u8]) -> std::result::Result<[u64; 3], ParseError> {
    let mut words = lines(bytes).next().ok_or(ParseError::MissingLine("mm_stat"))?;
    Ok([words.number("orig_data_size")?, words.number("compr_data_size")?, words.number("mem_used_total")?])
}

impl Sense {
    /// The zram devices, set up or not, from /sys/block/zramN.
    ///
    /// # Errors
    /// When /sys is missing, or a file is not readable or not understood.
    pub fn zrams(&self) -> Result<Vec<Zram>> {
        let mut devices = Vec::new();
        for name in self.block_device_names()?.into_iter().filter(|name| name.starts_with("zram")) {
            let dir = format!("/sys/block/{}", checked_name(&name)?);
            let disk_bytes = self.parse(format!("{dir}/disksize"), |bytes| fields::only_number("disksize", bytes))?;
            let [original_bytes, compressed_bytes, memory_bytes] =
                self.parse(format!("{dir}/mm_stat"), parse_mm_stat)?;
            let backing_device = self.text_optional(format!("{dir}/backing_dev"))?.filter(|device| device != "none");
            devices.push(Zram { name, disk_bytes, original_bytes, compressed_bytes, memory_bytes, backing_device });
        }
        Ok(devices)
    }
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
        fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = parse_mm_stat(&bytes);
        }

        #[test]
        fn what_the_kernel_renders_is_read_back(sizes in any::<[u64; 3]>()) {
            let [a, b, c] = sizes;
            prop_assert_eq!(parse_mm_stat(format!("{a:8} {b:8} {c:8}        0\n").as_bytes()), Ok(sizes));
        }
    }
}
