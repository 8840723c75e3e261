//! Settings of the kernel: /proc/sys (Documentation/admin-guide/sysctl).

use crate::Sense;
use crate::error::{Error, Result};

impl Sense {
    /// The setting `name`, such as `vm.swappiness`, as its text; `None` when this kernel has no such setting.
    ///
    /// # Errors
    /// When `name` is not a name, or the file is not readable.
    pub fn sysctl(&self, name: &str) -> Result<Option<String>> {
        if name.is_empty() || name.contains('/') || name.split('.').any(str::is_empty) {
            return Err(Error::Name { name: name.to_owned() });
        }
        self.text_optional(format!("/proc/sys/{}", name.replace('.', "/")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_below_proc_sys() {
        for name in ["", "..", "vm..swappiness", "vm/../../stat", "/vm"] {
            assert!(Sense::new("/").sysctl(name).is_err(), "{name}");
        }
    }
}
