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

/// Compressed memory in front of swap areas (Documentation/admin-guide/mm/zswap.rst), while it is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zswap {
    pub compressor: Option<String>,
    /// Share of the memory that it takes at most.
    pub max_pool_percent: Option<u32>,
}

impl Sense {
    /// What compresses pages before they go to a swap area, where that is on; `None` where it is off or not there.
    ///
    /// # Errors
    /// When a file of it is not readable or not understood.
    pub fn zswap(&self) -> Result<Option<Zswap>> {
        const DIR: &str = "/sys/module/zswap/parameters";
        if self.text_optional(format!("{DIR}/enabled"))?.is_none_or(|on| on != "Y") {
            return Ok(None);
        }
        let max_pool_percent = self.number_optional(DIR, "max_pool_percent").ok().flatten();
        Ok(Some(Zswap { compressor: self.text_if_any(format!("{DIR}/compressor")), max_pool_percent }))
    }

    /// Whether this kernel has zram, or a module of it that is not loaded, as after the installation of a distribution.
    #[must_use]
    pub fn has_zram(&self) -> bool {
        let is_module = || {
            let list = format!("/lib/modules/{}/modules.dep", self.kernel_release().ok()?);
            let text = std::fs::read_to_string(self.path(list)).ok()?;
            let mut names = text.lines().filter_map(|line| line.split(':').next()?.rsplit('/').next());
            Some(names.any(|name| name == "zram.ko" || name.starts_with("zram.ko.")))
        };
        self.path("/sys/class/zram-control").exists() || is_module().unwrap_or(false)
    }

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
            let backing_device = self.text_if_any(format!("{dir}/backing_dev")).filter(|device| device != "none");
            devices.push(Zram { name, disk_bytes, original_bytes, compressed_bytes, memory_bytes, backing_device });
        }
        Ok(devices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zswap_counts_while_it_is_on() {
        let root = tempfile::tempdir().expect("a directory");
        let dir = root.path().join("sys/module/zswap/parameters");
        let sense = Sense::new(root.path());
        assert_eq!(sense.zswap().expect("no error"), None);
        std::fs::create_dir_all(&dir).expect("made");
        for (file, text) in [("enabled", "N\n"), ("compressor", "zstd\n"), ("max_pool_percent", "20\n")] {
            std::fs::write(dir.join(file), text).expect("written");
        }
        assert_eq!(sense.zswap().expect("readable"), None);
        std::fs::write(dir.join("enabled"), "Y\n").expect("written");
        let on = Zswap { compressor: Some("zstd".to_owned()), max_pool_percent: Some(20) };
        assert_eq!(sense.zswap().expect("readable"), Some(on));
    }

    #[test]
    fn zram_is_there_loaded_or_as_a_module() {
        let root = tempfile::tempdir().expect("a directory");
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().expect("below the root")).expect("made");
            std::fs::write(path, text).expect("written");
        };
        let has = || Sense::new(root.path()).has_zram();
        let list = "lib/modules/6.12.1-arm64/modules.dep";
        write("proc/sys/kernel/osrelease", "6.12.1-arm64\n");
        assert!(!has());
        write(list, "kernel/mm/zsmalloc.ko:\nkernel/x/not-zram.ko: kernel/zram.ko\n");
        assert!(!has());
        write(list, "kernel/drivers/block/zram/zram.ko.xz: kernel/mm/zsmalloc.ko.xz\n");
        assert!(has());
        write(list, "");
        write("sys/class/zram-control/hot_add", "");
        assert!(has());
    }
}
