//! A whole phone in virtual time: a Debian with systemd, real apps, brisk's packages and one flash, for arm64 and
//! amd64.
//!
//! ```text
//! host:  brisk phone ── image, plan ──> QEMU (-icount) ── lines of the serial port ──> documents
//! guest: init ─> modules, flash ─> systemd ─> briskd, session of the user ─> plan ─> brisk-lab launch ... --json
//! ```
//!
//! - *Who drives.* `brisk phone` on the host makes the image, starts machines side by side and reads what they say. The
//!   plan, a shell script that comes with the initramfs and runs as a service, calls brisk's own commands inside: the
//!   code that measures is that of the host.
//! - *Virtual time.* The clock advances a nanosecond with each instruction and leaps when idle; one processor of about
//!   10^9 instructions a second, near a Cortex-A53 core. Load on the host changes no figure. No device of QEMU that
//!   completes by the host's clock is there: no disk, no network, and the serial port goes to a file, which never
//!   blocks.
//! - *The flash* is a part of the machine's memory that its kernel does not use ([`memory_map`]); the module
//!   `brisk_flash` makes a block device of it, with the times of a preset. The memory is a file of the host, mapped
//!   privately: every start has the same bytes, machines share them, and only written pages take memory.
//! - *The image is installed in the machine itself*, in virtual time ([`image`]): packages are downloaded by apt, and
//!   unpacked and set up by the phone's own processor, on a mapping that keeps what is written. So no right, no chroot,
//!   no loop device and no emulation of programs is needed for either architecture, and the same packages give the same
//!   image byte for byte.
//! - *What is on it*: the apps and their documents, its user, the service that writes in the background
//!   (`brisk phone`, `brisk day`, `brisk launch --as-phone` share them).
//! - *Documents* come out by the serial port, line by line ([`port`]).
//!
//! Properties: the same image, plan and seed give the same documents byte for byte; a seed changes all random numbers
//! inside, the order of launches and their offsets; nothing on the host changes but files in `target/phone`.

pub mod architecture;
mod catalogue;
pub(crate) mod command;
mod documents;
mod error;
mod gain;
pub mod image;
pub mod machine;
pub mod measure;
pub mod memory_map;
pub mod plan;
pub mod port;
#[cfg(test)]
mod samples;
mod user;
mod writer;

pub use catalogue::{App, Catalogue};
pub(crate) use catalogue::{TEXT as CATALOGUE_TEXT, of_command, on_this_machine};
pub(crate) use documents::all as documents;
pub use error::{Error, Result};
pub(crate) use gain::gains;
pub(crate) use user::environment;
pub use writer::{WriterSpec, serve_writer};
