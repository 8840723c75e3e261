//! Whether the multi-generational LRU runs: /sys/kernel/mm/lru_gen (Documentation/admin-guide/mm/multigen_lru.rst).

use crate::Sense;
use crate::error::Result;
use crate::fields;

impl Sense {
    /// The bits of /sys/kernel/mm/lru_gen/enabled: 0 when it is off, 0x0007 when all of it runs; `None` when the kernel
    /// has none (before Linux 6.1, or built without).
    ///
    /// # Errors
    /// When the file is not readable or not understood.
    pub fn lru_gen(&self) -> Result<Option<u32>> {
        self.parse_optional("/sys/kernel/mm/lru_gen/enabled", |bytes| fields::only_hex(1, "enabled", bytes))
    }
}
