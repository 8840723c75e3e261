//! The laboratory of brisk: what measures on emulated devices, and never on a user's.
//!
//! [`flash`] is the pure model of a device, [`preset`] reads its files; [`vm`] runs whole kernels in virtual time, and
//! [`phone`] a whole Debian with apps; [`screen`] sees and presses what [`launch`]
//! times; [`probes`] has the eBPF programs that say what a launch waits for.
//! [`memory`], [`swap`], [`swap_io`] and [`cures`] are what the studies of their names are made of. [`command`] is the
//! program `brisk-lab`, whose subcommands are in `study`.

pub mod command;
pub mod cures;
pub mod flash;
pub mod launch;
pub mod memory;
pub mod phone;
pub mod preset;
pub mod probes;
pub mod results;
pub mod screen;
pub mod swap;
pub mod swap_io;
pub mod vm;

mod study;
