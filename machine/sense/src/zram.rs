//! Compressed memory as a block device: /sys/block/zramN (Documentation/admin-guide/blockdev/zram.rst).

use brisk_formats::parse_mm_stat;
use serde::{Deserialize, Serialize};

use crate::block::checked_name;
use crate::error::Result;
use crate::machine::Sense;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zram {
    pub name: String,
    /// Size that it shows; 0 when it is not set up.
    pub disk_bytes: u64,
    /// Bytes stored, before compression.
    pub original_bytes: u64,
    /// The same after compression.
    pub compressed_bytes: u64,
    pub memory_bytes: u64,
    /// Device to which it writes pages back; `None` when it has none or the kernel cannot.
    pub backing_device: Option<String>,
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
            let disk_bytes = self.number(&dir, "disksize")?;
            let [original_bytes, compressed_bytes, memory_bytes] =
                self.parse(format!("{dir}/mm_stat"), parse_mm_stat)?;
            let backing_device = self.text_optional(format!("{dir}/backing_dev"))?.filter(|device| device != "none");
            devices.push(Zram { name, disk_bytes, original_bytes, compressed_bytes, memory_bytes, backing_device });
        }
        Ok(devices)
    }
}
