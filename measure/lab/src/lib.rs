//! The flash model as a real block device on this machine.
//!
//! `up` starts a *server* process that holds the data in memory, and gives it a block device: a ublk device where the
//! kernel has that, else a file over FUSE with a loop device on it. To the kernel it is a block device like any other:
//! schedulers, file systems, flush, discard and swap work on it. The server holds each reply back until the instant that
//! the flash model names, so the device behaves like a phone's.
//!
//! Terms: *model time* is what the flash model says; *lateness* is how far behind it a reply left the server; *overhead*
//! is what the way from the block layer to the server and back costs, calibrated at start and taken off; *driver tags*
//! are the requests that the device accepts at once.
//!
//! Properties: a result can be judged, because [`Status::fidelity`] says when the device was late, the machine busy or
//! the calibration off; nothing is left behind, whether a device goes by `down` or its server by a crash; no loop
//! device, mount or setting of anyone else is touched; what was flushed survives a power cut, and what was not survives
//! as an arbitrary seeded subset.
//!
//! Files: `backend` chooses the way to the kernel, `front` is the border to it with `fuse` (whose protocol `wire` parses)
//! and `loopdev`, or `ublk`, behind; `emulated` is the device, `store` its memory and `undo` what a power cut takes back,
//! `server` the thread, `calibrate`, `lateness` and `fidelity` the judgement, `lab` and `take_down` the way up and the way
//! down. Directories, messages and the client's side are `measure/lab-client`.

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
mod loopdev;
mod peer;
mod preset;
mod realtime;
mod server;
mod store;
mod take_down;
mod ublk;
mod undo;
mod wire;

pub use backend::Backend;
pub use brisk_lab_client::{
    CpuPressure, FaultOrder, Fidelity, KindCount, Lateness, Overhead, Requests, Status, numbered,
};
pub use error::{Error, Result};
pub use fidelity::FAITHFUL_FROM_US;
pub use lab::{Lab, Listed, NewDevice, Repaired, SIZE_BYTES_MIN};
pub use preset::kind_of_preset;
pub use server::serve;
