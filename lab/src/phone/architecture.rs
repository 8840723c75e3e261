//! What differs between the architectures of a virtual phone.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::phone::memory_map::KERNEL_MIB;

/// An architecture, by Debian's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    /// 64-bit ARM: QEMU's machine virt with a Cortex-A57
    Arm64,
    /// x86-64: QEMU's machine q35 with qemu64
    Amd64,
}

impl Architecture {
    /// Debian's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Arm64 => "arm64",
            Self::Amd64 => "amd64",
        }
    }

    /// QEMU's program, and Debian's package that has it.
    #[must_use]
    pub fn program(self) -> (&'static str, &'static str) {
        match self {
            Self::Arm64 => ("qemu-system-aarch64", "qemu-system-arm"),
            Self::Amd64 => ("qemu-system-x86_64", "qemu-system-x86"),
        }
    }

    /// Compiler of C for it on a machine with x86-64, and Debian's package that has it.
    pub(super) fn compiler(self) -> (&'static str, &'static str) {
        match self {
            Self::Arm64 => ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
            Self::Amd64 => ("gcc", "gcc"),
        }
    }

    /// Machine and processor. What draws random numbers from the host is left out.
    pub(super) fn machine(self) -> [&'static str; 2] {
        match self {
            Self::Arm64 => ["virt,accel=tcg,memory-backend=memory,dtb-randomness=off", "cortex-a57"],
            Self::Amd64 => ["q35,accel=tcg,memory-backend=memory", "qemu64,-rdrand"],
        }
    }

    /// Series of the kernel lab's kernel.
    #[must_use]
    pub fn kernel_series(self, series: &str) -> String {
        match self {
            Self::Arm64 => format!("{series}-arm64"),
            Self::Amd64 => series.to_owned(),
        }
    }

    /// Address of the flash: behind the kernel's memory. A PC has a hole below 4 GiB.
    #[must_use]
    pub fn flash_at_mib(self) -> u64 {
        match self {
            Self::Arm64 => 1024 + KERNEL_MIB,
            Self::Amd64 => 4096,
        }
    }

    /// Kernel arguments that leave the flash's memory alone.
    pub(super) fn kernel_arguments(self, memory_mib: u64, behind_mib: u64) -> String {
        match self {
            Self::Arm64 => format!("console=ttyAMA0 mem={memory_mib}M"),
            Self::Amd64 => format!("console=ttyS0 mitigations=off mem={memory_mib}M memmap={behind_mib}M$4G"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flash_is_behind_the_kernels_memory() {
        assert_eq!((Architecture::Amd64.flash_at_mib(), Architecture::Arm64.flash_at_mib()), (4096, 3072));
        assert!(Architecture::Amd64.kernel_arguments(600, 3200).ends_with("mem=600M memmap=3200M$4G"));
        assert!(Architecture::Arm64.kernel_arguments(600, 3200).ends_with("mem=600M"));
    }
}
