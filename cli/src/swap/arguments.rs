//! Arguments of `brisk swap`, as far as this program runs it: a device has no laboratory.

use std::path::PathBuf;

use brisk_command::json::Json;
use brisk_command::size;

const EXAMPLES: &str = "\
Examples:
  brisk swap setup --dry-run                          # a swap area on flash, and zram before it, for this machine
  brisk swap record --duration 60s --output day.swap  # what this machine swaps";

const AFTER_HELP: &str = "\
Examples:
  brisk swap setup --dry-run                 # what it would make, and what swapping costs in wear
  brisk swap setup                           # the same, then a question
  brisk swap setup --yes --size 1GiB --zram 300M /data/swapfile
  brisk swap setup --destroy-data /dev/disk/by-id/mmc-SEM16G_0x1234-part7
  brisk swap undo

Sizes: up to 8 GiB of memory the area has twice the memory, at most 4 GiB and half of what is free: more apps than fit \
into memory stay, and the area stays less than half full, so that each app's pages keep adjacent slots. Compressed \
memory (zram) has half the memory, at most 2 GiB, where the kernel has it, and is filled before the flash, which \
spares wear. With more memory apps fit: the area has 1 GiB for what is never read again, and there is no zram. Swap \
that is on already counts. File systems: ext4, ext3, ext2, f2fs, xfs.

After a restart a unit of systemd (brisk-swap.service) switches the areas on; without systemd a line of /etc/fstab \
does so for the area on flash, and 'brisk swap start' for both. Where /etc cannot be written, as on systems with an \
immutable root, nothing does: the areas are on until the next restart, and 'brisk swap start' switches them on again. \
Give a partition by a name that stays, such as one below /dev/disk/by-id; it is known by its UUID. Exit codes: 0 done, \
1 declined, 2 not possible: what was made is removed, or named.";

/// Arguments of `brisk swap`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(super) command: Command,
}

/// The subcommands.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Make a swap area on flash, and compressed memory before it, which stay after a restart
    Setup(Setup),
    /// Switch on what setup made, as the unit does after a restart
    Start(Start),
    /// Switch off and remove what setup made
    Undo(Undo),
}

/// Arguments of `brisk swap setup`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Setup {
    /// New file for the area, or a partition [default: /swapfile; /var/swapfile or /home/swapfile where the root takes
    /// none]
    #[arg(value_name = "FILE|PARTITION")]
    pub(super) path: Option<PathBuf>,
    /// Size of the file [default: by memory and free space, see below]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(super) size: Option<u64>,
    /// Compressed memory before it; 0 is none [default: by memory, see below]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(super) zram: Option<u64>,
    /// Allow that the content of the partition is lost
    #[arg(long)]
    pub(super) destroy_data: bool,
    /// Make it for the next restart, and leave it switched off until then
    #[arg(long)]
    pub(super) later: bool,
    /// Agree without being asked
    #[arg(long)]
    pub(super) yes: bool,
    /// Check and say what would be made, and make nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// What was made, for programs.
    #[command(flatten)]
    pub(super) json: Json,
}

/// Arguments of `brisk swap start`.
#[derive(Debug, clap::Args)]
#[command(after_help = "The unit brisk-swap.service calls it. Exit codes: 0 all areas are on, 2 one of them is not.")]
pub(super) struct Start {
    /// What is on, for programs.
    #[command(flatten)]
    pub(super) json: Json,
}

/// Arguments of `brisk swap undo`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
What is in the areas is read back into memory first, which takes a while. What cannot be removed is named, with the \
way to remove it by hand, and the rest is removed; a second undo goes on with it. Exit codes: 0 removed, 2 not \
possible, or something is left.")]
pub(super) struct Undo {
    /// What was removed, for programs.
    #[command(flatten)]
    pub(super) json: Json,
}
