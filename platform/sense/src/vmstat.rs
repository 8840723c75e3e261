//! What memory management has done since boot: /proc/vmstat.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Sense;
use crate::error::{ParseError, Result};
use crate::fields::{self, lines};

/// The counters of /proc/vmstat by the kernel's names, such as `pswpin` and `workingset_refault_file`, in pages or
/// events. Which there are depends on the kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmStat(BTreeMap<String, u64>);

impl VmStat {
    /// The counter `name`; `None` when this kernel has none of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.get(name).copied()
    }

    /// All counters, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }
}

/// Reads the text of /proc/vmstat or of a cgroup's `memory.stat`.
///
/// # Errors
/// When a line has no value, or one that is not a number. A count of pages that the kernel shows below zero for a moment
/// is zero.
pub fn parse_vm_stat(bytes: &[u8]) -> std::result::Result<VmStat, ParseError> {
    let mut counters = BTreeMap::new();
    for mut words in lines(bytes) {
        let name = fields::text(words.word("name")?);
        let value: i128 = words.number("value")?;
        let value = u64::try_from(value.max(0));
        let too_large = |_| ParseError::BadField { line: words.line, field: "value", text: name.clone() };
        counters.insert(name.clone(), value.map_err(too_large)?);
    }
    Ok(VmStat(counters))
}

impl Sense {
    /// What memory management has done since boot, from /proc/vmstat.
    ///
    /// # Errors
    /// When the file is missing, not readable or not understood.
    pub fn vm_stat(&self) -> Result<VmStat> {
        self.parse("/proc/vmstat", parse_vm_stat)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counters_are_found_by_name() {
        let stat = parse_vm_stat(b"pswpin 12\npswpout 18446744073709551615\nnr_dirty -1\n").expect("three");
        assert_eq!(stat.get("pswpin"), Some(12));
        assert_eq!(stat.get("pswpout"), Some(u64::MAX));
        assert_eq!(stat.get("nr_dirty"), Some(0));
        assert_eq!(stat.get("nothing"), None);
        assert!(parse_vm_stat(b"pswpin\n").is_err());
        assert!(parse_vm_stat(b"pswpin 18446744073709551616\n").is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            let _ = parse_vm_stat(&bytes);
        }

        #[test]
        fn what_the_kernel_renders_is_read_back(
            counters in prop::collection::btree_map("[a-z_]{1,20}", any::<u64>(), 0..20),
        ) {
            let text: String = counters.iter().map(|(name, value)| format!("{name} {value}\n")).collect();
            prop_assert_eq!(parse_vm_stat(text.as_bytes()), Ok(VmStat(counters)));
        }
    }
}
