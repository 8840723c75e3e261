//! Swap areas of this machine, for tests of phones with swap.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use brisk_requires::Capability;

/// Swap areas are the kernel's, so one test has one at a time.
pub(crate) fn one_at_a_time() -> MutexGuard<'static, ()> {
    static SWAP: Mutex<()> = Mutex::new(());
    SWAP.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `None`, with the skip recorded, where other swap is on, to which pages of the phone could go.
pub(crate) fn alone_with_swap() -> Option<MutexGuard<'static, ()>> {
    brisk_requires::available(&[Capability::Swap])?;
    let alone = one_at_a_time();
    let areas = swaps();
    if areas.is_empty() {
        return Some(alone);
    }
    brisk_requires::skip(Capability::SwapFile, format!("other swap is on: {areas:?}"));
    None
}

/// The swap areas that are on.
pub(crate) fn swaps() -> Vec<PathBuf> {
    let areas = brisk_sense::Sense::default().swaps().expect("the kernel has swap");
    areas.into_iter().map(|area| area.path).collect()
}
