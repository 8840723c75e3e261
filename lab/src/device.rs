//! The flash model as a real block device on this machine.
//!
//! `up` starts a *server* process that holds the data in memory, and connects a block device to it: a ublk device where
//! the kernel has ublk, otherwise a file over FUSE with a loop device on it. Schedulers, file systems, flush, discard
//! and swap work as on any block device. The server delays each reply until the time that the flash model gives, so the
//! device behaves like a phone's.
//!
//! Terms: *model time* is the service time of the flash model; *lateness* is the delay of a reply beyond it; *overhead*
//! is the cost of the path from the block layer to the server and back, calibrated at start and compensated; *driver
//! tags* are the requests that the device accepts at once.
//!
//! Properties: [`Status::fidelity`] reports when the device was late, the machine busy or the calibration off; no
//! resource is left behind, whether a device ends by `down` or its server by a crash; loop devices, mounts and settings
//! of other programs are not changed; flushed data survives a power cut, and of unflushed data an arbitrary seeded
//! subset.
//!
//! Files: `backend` chooses the connection to the kernel, `front` is its interface, with `request` as its messages and
//! `fuse` (protocol in `wire`) and `loopdev`, or `ublk`, behind it; `emulated` is the device, `store` its memory and
//! `undo` the data that a power cut reverts; `server` is the thread, `calibrate` and `fidelity` check it; `state` is
//! the state on disk, in `numbered` directories; `lab` creates devices and `teardown` removes them.

mod backend;
mod bytes;
mod calibrate;
mod emulated;
mod error;
mod fidelity;
mod front;
mod fuse;
mod lab;
mod lateness;
mod log;
mod loopdev;
mod peer;
mod preset;
mod realtime;
mod request;
mod server;
mod store;
mod teardown;
mod ublk;
mod undo;
mod wire;

pub use backend::Backend;
pub use brisk_profile::lab_client::{
    CpuPressure, FaultOrder, Fidelity, KindCount, Lateness, Overhead, Requests, Status, numbered,
};
pub use error::{Error, Result};
pub use fidelity::FAITHFUL_FROM_US;
pub use lab::{Lab, Listed, NewDevice, Repaired, SIZE_BYTES_MIN};
pub use preset::{kind_of_preset, load as load_preset};
pub use server::serve;
