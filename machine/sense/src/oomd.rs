//! What systemd tells systemd-oomd of a unit (`ManagedOOMPreference=` of systemd.resource-control(5)), by extended
//! attributes of its control group.

use std::path::Path;

use rustix::io::Errno;

use crate::machine::Sense;

/// A preference for when a unit is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OomdPreference {
    Avoid,
    Omit,
}

impl Sense {
    /// The preference of the control group in `dir`; that of a group above it counts for it too. `None` where there is
    /// none, or no such group.
    #[must_use]
    pub fn oomd_preference(&self, dir: &Path) -> Option<OomdPreference> {
        let of = |dir: &Path| {
            let has = |name: &str| {
                // systemd writes `1`.
                let mut value = [0; 1];
                let read = rustix::fs::getxattr(self.path(dir), name, &mut value);
                matches!(read, Ok(1) if value != *b"0") || read == Err(Errno::RANGE)
            };
            let any = |word: &str| ["user", "trusted"].iter().any(|space| has(&format!("{space}.oomd_{word}")));
            if any("omit") { Some(OomdPreference::Omit) } else { any("avoid").then_some(OomdPreference::Avoid) }
        };
        let is_group = |dir: &&Path| dir.parent().is_some();
        dir.ancestors().take_while(is_group).filter_map(of).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_attributes_of_a_group_and_of_those_above_it_are_its_preference() {
        let root = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(root.path().join("user.slice/app.scope/below")).expect("made");
        let sense = Sense::new(root.path());
        let of = |dir: &str| sense.oomd_preference(Path::new(dir));
        let set = |dir: &str, name: &str, value: &[u8]| {
            let flags = rustix::fs::XattrFlags::empty();
            rustix::fs::setxattr(root.path().join(dir), name, value, flags)
        };
        assert_eq!(of("/user.slice/app.scope"), None);
        if set("user.slice/app.scope", "user.oomd_avoid", b"1").is_err() {
            let lack = "the file system of temporary files has no extended attributes";
            return brisk_requires::skip(brisk_requires::Capability::Disk, lack);
        }
        assert_eq!(of("/user.slice/app.scope"), Some(OomdPreference::Avoid));
        assert_eq!(of("/user.slice/app.scope/below"), Some(OomdPreference::Avoid));
        assert_eq!(of("/user.slice"), None);
        set("user.slice", "user.oomd_omit", b"1").expect("set");
        assert_eq!(of("/user.slice/app.scope"), Some(OomdPreference::Omit));
        set("user.slice", "user.oomd_omit", b"0").expect("set");
        assert_eq!(of("/user.slice/app.scope"), Some(OomdPreference::Avoid));
        assert_eq!(of("/gone/app.scope"), None);
    }
}
