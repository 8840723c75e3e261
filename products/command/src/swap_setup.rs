//! Arguments of `brisk swap setup`, `start` and `undo`, which the program `brisk` runs itself: a device has no laboratory.

use std::path::PathBuf;

use crate::json::Json;
use crate::size;

const AFTER_HELP: &str = "\
Examples:
  brisk swap setup --dry-run                 # what it would make, and what swapping costs in wear
  brisk swap setup
  brisk swap setup --size 1GiB --zram 300M /data/swapfile
  brisk swap setup --destroy-data /dev/mmcblk0p7
  brisk swap undo

Without --size the area has twice the memory, at most 4 GiB and half of what is free: more apps than fit into memory stay, and the area \
stays less than half full, so that each app's pages keep adjacent slots. Compressed memory (zram) has half the memory where the kernel \
has it, and is filled before the flash. File systems: ext4, ext3, ext2, f2fs, xfs.

After a restart a unit of systemd (brisk-swap.service) switches the areas on; without systemd a line of /etc/fstab does so for the \
area on flash, and 'brisk swap start' for both. Exit codes: 0 done, 2 not possible, and nothing is left behind.";

/// Arguments of `brisk swap setup`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Setup {
    /// New file for the area, or a partition
    #[arg(value_name = "FILE|PARTITION", default_value = "/swapfile")]
    pub path: PathBuf,
    /// Size of the file [default: by memory and free space, see below]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub size: Option<u64>,
    /// Compressed memory before it; 0 is none [default: half the memory where the kernel has it]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub zram: Option<u64>,
    /// Allow that the content of the partition is lost
    #[arg(long)]
    pub destroy_data: bool,
    /// Make it for the next restart, and leave it switched off until then
    #[arg(long)]
    pub later: bool,
    /// Say what would be made, and make nothing
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
What is in the areas is read back into memory first, which takes a while. Exit codes: 0 removed, 2 not possible: when memory does not \
suffice, all stays as it is.")]
pub struct Undo {
    /// What was removed, for programs.
    #[command(flatten)]
    pub json: Json,
}
