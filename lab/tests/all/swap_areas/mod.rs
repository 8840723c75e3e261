//! Swap areas of this machine, for tests of phones with swap.

use brisk_requires::Capability;
use std::path::PathBuf;

/// Swap areas are the kernel's: one phone with swap at a time. `None`, with the skip recorded, where other swap is on,
/// to which pages of the phone could go.
pub(crate) fn alone_with_swap() -> Option<std::sync::MutexGuard<'static, ()>> {
    brisk_requires::available(&[Capability::Swap])?;
    static SWAP: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let alone = SWAP.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
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
