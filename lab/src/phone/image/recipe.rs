//! The recipe of an image, and the key that names it in the cache.
//!
//! The key is a hash of all input to the image: catalogue, scripts, documents' version, chosen apps and architecture. A
//! changed recipe therefore causes a new build. Package versions are not part of it: an image stays until it is rebuilt
//! explicitly.

use crate::phone::catalogue::{self, App, Catalogue};

/// Debian's name of the release.
pub(super) const SUITE: &str = "bookworm";
pub(super) const INSTALL: &str = include_str!("../recipe/install.sh");
pub(super) const TIDY: &str = include_str!("../recipe/tidy.sh");

/// Key of the image with these apps.
pub(super) fn key(apps: &[&App]) -> String {
    let mut hash = Fnv::default();
    let names = apps.iter().map(|app| app.name.as_str());
    for part in [SUITE, catalogue::TEXT, INSTALL, TIDY].into_iter().chain(names) {
        hash.add(part);
    }
    format!("debian-12-{}-{:016x}", std::env::consts::ARCH, hash.0)
}

/// Packages of these apps and of every image, sorted, without duplicates.
pub(super) fn packages(catalogue: &Catalogue, apps: &[&App]) -> Vec<String> {
    let of_apps = apps.iter().flat_map(|app| app.packages.iter());
    let mut packages: Vec<String> = catalogue.base.iter().chain(of_apps).cloned().collect();
    packages.sort();
    packages.dedup();
    packages
}

/// FNV-1a of 64 bits (Fowler, Noll, Vo), to distinguish recipes; not for security.
pub(crate) struct Fnv(pub(crate) u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Adds a text and a terminator, so that moving a border between two texts changes the hash.
    pub(crate) fn add(&mut self, text: &str) {
        for byte in text.bytes().chain([0]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv_1a() {
        let mut hash = Fnv::default();
        hash.add("");
        // One zero byte, from the reference vectors.
        assert_eq!(hash.0, 0xaf63_bd4c_8601_b7df);
    }

    #[test]
    fn the_key_depends_on_the_apps() {
        let catalogue = Catalogue::builtin();
        let all: Vec<&App> = catalogue.apps.iter().collect();
        assert_eq!(key(&all), key(&all));
        assert_ne!(key(&all), key(&all[1..]));
        assert_ne!(key(&all[..1]), key(&all[1..2]));
        assert!(key(&all).bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'));
    }

    #[test]
    fn packages_are_listed_once() {
        let catalogue = Catalogue::builtin();
        let all: Vec<&App> = catalogue.apps.iter().chain(&catalogue.apps).collect();
        let packages = packages(catalogue, &all);
        assert!(packages.is_sorted_by(|a, b| a < b));
        assert!(packages.iter().any(|package| package == "dbus-daemon"));
        assert!(packages.iter().any(|package| package == "evince"));
    }
}
