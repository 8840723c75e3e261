//! Cures of slow storage on app workloads: what each solution of Revisiting storage (sect. 5) makes of an app's run
//! time.
//!
//! [`workload`] draws the storage work of the paper's WebBench and Facebook runs (pure); `c/app.c` carries it out, on
//! any machine. [`solution`] lists the solutions: what is in memory, file systems, devices, SQLite's settings, the
//! policy of selective sync. [`paper`] has the paper's amounts and gains. [`guest`] measures in the kernel lab's
//! virtual machine, whose time passes with its instructions: load of the host has no effect, and a card that takes
//! minutes costs seconds.
//!
//! Properties, each with a test: the same seed gives the same work; the amounts are those of the paper's tables; a case
//! of a solution uses the libraries and rules that a device gets.

pub mod crash;
pub mod guest;
pub mod paper;
pub mod report;
pub mod solution;
pub mod workload;

/// The program that does the storage work of an app (`c/app.c`), for the architecture of this machine.
pub const APP: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/app"));

/// The program that writes until a power cut, and checks what is left (`c/crash.c`), for the architecture of this
/// machine.
pub const CRASH: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/crash"));
