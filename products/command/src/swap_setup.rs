//! Arguments of `brisk swap setup`, `start` and `undo`, which the program `brisk` runs itself: a device has no
//! laboratory.

use std::path::PathBuf;

use crate::json::Json;
use crate::size;

const AFTER_HELP: &str = "\
Examples:
  brisk swap setup --dry-run                 # what it would make, and what swapping costs in wear
  brisk swap setup                           # the same, then a question
  brisk swap setup --yes --size 1GiB --zram 300M /data/swapfile
  brisk swap setup --destroy-data /dev/disk/by-id/mmc-SEM16G_0x1234-part7
  brisk swap undo

Sizes: up to 8 GiB of memory the area has twice the memory, at most 4 GiB and half of what is free: more apps than fit into memory \
stay, and the area stays less than half full, so that each app's pages keep adjacent slots. Compressed memory (zram) has half the \
memory, at most 2 GiB, where the kernel has it, and is filled before the flash, which spares wear. With more memory apps fit: the area \
has 1 GiB for what is never read again, and there is no zram. Swap that is on already counts. File systems: ext4, ext3, ext2, f2fs, xfs.

After a restart a unit of systemd (brisk-swap.service) switches the areas on; without systemd a line of /etc/fstab does so for the \
area on flash, and 'brisk swap start' for both. Where /etc cannot be written, as on systems with an immutable root, nothing does: the \
areas are on until the next restart, and 'brisk swap start' switches them on again. Give a partition by a name that stays, such as one \
below /dev/disk/by-id; it is known by its UUID. Exit codes: 0 done, 1 declined, 2 not possible: what was made is removed, or named.";

/// Arguments of `brisk swap setup`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Setup {
    /// New file for the area, or a partition [default: /swapfile; /var/swapfile or /home/swapfile where the root takes
    /// none]
    #[arg(value_name = "FILE|PARTITION")]
    pub path: Option<PathBuf>,
    /// Size of the file [default: by memory and free space, see below]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub size: Option<u64>,
    /// Compressed memory before it; 0 is none [default: by memory, see below]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub zram: Option<u64>,
    /// Allow that the content of the partition is lost
    #[arg(long)]
    pub destroy_data: bool,
    /// Make it for the next restart, and leave it switched off until then
    #[arg(long)]
    pub later: bool,
    /// Agree without being asked
    #[arg(long)]
    pub yes: bool,
    /// Check and say what would be made, and make nothing
    #[arg(long)]
    pub dry_run: bool,
    /// What was made, for programs.
    #[command(flatten)]
    pub json: Json,
}

/// Arguments of `brisk swap start`.
#[derive(Debug, clap::Args)]
#[command(after_help = "The unit brisk-swap.service calls it. Exit codes: 0 all areas are on, 2 one of them is not.")]
pub struct Start {
    /// What is on, for programs.
    #[command(flatten)]
    pub json: Json,
}

/// Arguments of `brisk swap undo`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
What is in the areas is read back into memory first, which takes a while. What cannot be removed is named, with the way to remove it by \
hand, and the rest is removed; a second undo goes on with it. Exit codes: 0 removed, 2 not possible, or something is left.")]
pub struct Undo {
    /// What was removed, for programs.
    #[command(flatten)]
    pub json: Json,
}
