//! The policies that are compared: where memory goes when it is short, and who ends apps.

use crate::phone::SwapKind;

use crate::memory::error::{Error, Result};

/// What the daemon of brisk runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Brisk {
    /// The memory engine, which frees memory in several ways and ends apps.
    Iram,
    /// The same by the rules of the dissertation.
    IramPaper,
    /// The engine for swap, which ends none: the kernel does.
    Mars,
    MarsPaper,
}

impl Brisk {
    pub const ALL: [Self; 4] = [Self::Iram, Self::IramPaper, Self::Mars, Self::MarsPaper];

    /// Whether it learns from what returns touch.
    #[must_use]
    pub fn learns_from_returns(self) -> bool {
        matches!(self, Self::Mars | Self::MarsPaper)
    }
}

/// Who ends apps when memory has run out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Killer {
    /// The kernel: the largest process.
    Kernel,
    /// The app that was in front longest ago, as the phones of the dissertation do (5.3).
    Oldest,
    /// earlyoom, which ends the process with the highest badness when little memory is available.
    Earlyoom,
    /// Engines of brisk, which also act on memory in other ways.
    Brisk(Brisk),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    pub name: &'static str,
    pub text: &'static str,
    /// Where pages go.
    pub swap: SwapKind,
    /// Whether apps in the background are frozen.
    pub frozen: bool,
    /// `vm.page-cluster`: binary logarithm of the pages that a swap-in reads; the machine's own without.
    pub page_cluster: Option<u8>,
    /// Who ends apps.
    pub killer: Killer,
}

const FROZEN_FLASH: Policy = Policy {
    name: "default",
    text: "swap on flash as the kernel does it, apps in the background frozen",
    swap: SwapKind::Flash,
    frozen: true,
    page_cluster: None,
    killer: Killer::Kernel,
};

impl Policy {
    /// All policies, the baseline first. Those with the same swap areas follow each other: changing areas takes
    /// seconds.
    pub const ALL: [Self; 17] = [
        FROZEN_FLASH,
        Self {
            name: "unfrozen",
            text: "swap on flash, apps in the background go on running",
            frozen: false,
            ..FROZEN_FLASH
        },
        Self {
            name: "page-cluster-0",
            text: "as default, and a swap-in reads 1 page (vm.page-cluster 0)",
            page_cluster: Some(0),
            ..FROZEN_FLASH
        },
        Self {
            name: "page-cluster-3",
            text: "as default, and a swap-in reads 8 pages (vm.page-cluster 3)",
            page_cluster: Some(3),
            ..FROZEN_FLASH
        },
        Self {
            name: "page-cluster-5",
            text: "as default, and a swap-in reads 32 pages (vm.page-cluster 5)",
            page_cluster: Some(5),
            ..FROZEN_FLASH
        },
        Self {
            name: "iram",
            text: "as default, with the memory engine of brisk",
            killer: Killer::Brisk(Brisk::Iram),
            ..FROZEN_FLASH
        },
        Self {
            name: "mars",
            text: "as default, with the engine for swap of brisk",
            killer: Killer::Brisk(Brisk::Mars),
            ..FROZEN_FLASH
        },
        Self {
            name: "mars-paper",
            text: "as mars, as published: all of an app out, all of it back in (mode = \"paper\")",
            killer: Killer::Brisk(Brisk::MarsPaper),
            ..FROZEN_FLASH
        },
        Self {
            name: "zram",
            text: "compressed memory instead of flash; what it takes is deducted from the limit",
            swap: SwapKind::Zram,
            ..FROZEN_FLASH
        },
        Self {
            name: "iram-zram",
            text: "as zram, with the memory engine of brisk",
            swap: SwapKind::Zram,
            killer: Killer::Brisk(Brisk::Iram),
            ..FROZEN_FLASH
        },
        Self {
            name: "mars-zram",
            text: "as zram, with the engine for swap of brisk",
            swap: SwapKind::Zram,
            killer: Killer::Brisk(Brisk::Mars),
            ..FROZEN_FLASH
        },
        Self {
            name: "zram+flash",
            text: "compressed memory, and flash when that is full",
            swap: SwapKind::ZramFlash,
            ..FROZEN_FLASH
        },
        Self {
            name: "mars-zram+flash",
            text: "as zram+flash, with the engine for swap of brisk",
            swap: SwapKind::ZramFlash,
            killer: Killer::Brisk(Brisk::Mars),
            ..FROZEN_FLASH
        },
        Self {
            name: "none",
            text: "no swap: the app that was in front longest ago is ended when a tenth of the memory is available",
            swap: SwapKind::None,
            killer: Killer::Oldest,
            ..FROZEN_FLASH
        },
        Self {
            name: "earlyoom",
            text: "no swap: earlyoom ends the largest app when a tenth of the memory is available",
            swap: SwapKind::None,
            killer: Killer::Earlyoom,
            ..FROZEN_FLASH
        },
        Self {
            name: "iram-none",
            text: "no swap: the memory engine of brisk ends apps",
            swap: SwapKind::None,
            killer: Killer::Brisk(Brisk::Iram),
            ..FROZEN_FLASH
        },
        Self {
            name: "iram-none-paper",
            text: "as iram-none, by the rules of the dissertation (mode = \"paper\")",
            swap: SwapKind::None,
            killer: Killer::Brisk(Brisk::IramPaper),
            ..FROZEN_FLASH
        },
    ];

    /// The policy of that name.
    ///
    /// # Errors
    /// When there is none.
    pub fn named(name: &str) -> Result<&'static Self> {
        Self::ALL_OF.iter().find(|policy| policy.name == name).ok_or_else(|| Error::NoPolicy {
            name: name.to_owned(),
            known: Self::ALL.map(|policy| policy.name).join(", "),
        })
    }

    /// [`Self::ALL`] at one address.
    const ALL_OF: &'static [Self] = &Self::ALL;

    /// Whether it learns from what returns touch, so that the first ones differ from later ones.
    #[must_use]
    pub fn learns_from_returns(&self) -> bool {
        matches!(self.killer, Killer::Brisk(brisk) if brisk.learns_from_returns())
    }

    /// Whether pages have a place to go.
    #[must_use]
    pub fn has_swap(&self) -> bool {
        self.swap != SwapKind::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_of_the_same_swap_areas_follow_each_other_and_names_are_unique() {
        let kinds: Vec<_> = Policy::ALL.iter().map(|policy| policy.swap).collect();
        for (n, kind) in kinds.iter().enumerate() {
            let first = kinds.iter().position(|one| one == kind).expect("it is in there");
            assert!(kinds[first..=n].iter().all(|one| one == kind), "{kind:?}");
        }
        for (n, policy) in Policy::ALL.iter().enumerate() {
            assert_eq!(Policy::named(policy.name).expect("there"), &Policy::ALL[n]);
        }
        let said = Policy::named("best").expect_err("none").to_string();
        assert!(said.contains("'best'") && said.contains("zram+flash"), "{said}");
    }
}
