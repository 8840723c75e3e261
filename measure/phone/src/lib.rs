//! An emulated phone with real apps: a small Debian on an ext4 file system on a lab device, in which apps are launched and
//! measured from outside.
//!
//! [`Images`] builds the root once and keeps it; [`Phones`] brings a phone up from it in seconds and takes it down; a
//! [`Phone`] gives commands that `brisk_launch` can run in it, a background writer, and the variants of the what-if study.
//!
//! Properties: only what runs in the phone touches its flash; nothing of the machine that built an image is in it; nothing
//! is left running or mounted, whether a phone goes by `down`, its maker by a kill or its device by a crash; what is not the
//! phone's own is not touched.
//!
//! Files: `catalogue` has the apps, `documents` what they open; `image` builds and finds roots; `extents` copies one to the
//! device; `room` mounts what a root needs, `inside` enters it, `bus` runs in it; `phones` and `phone` are the way up,
//! `take_down` the way down, with `state`, `group` and `processes` to know what is whose; `whatif` changes a phone, `writer`
//! loads it, `sqlite` measures databases on it, `beside` runs a program while apps launch.

mod beside;
mod bus;
mod catalogue;
mod documents;
mod error;
mod extents;
mod group;
mod home;
mod image;
mod inside;
mod phone;
mod phones;
mod processes;
mod room;
mod sqlite;
mod state;
pub mod suite;
mod take_down;
mod tree;
mod whatif;
mod writer;

pub use beside::Beside;
pub use catalogue::{App, Catalogue, WindowMark};
pub use error::{Error, Result};
pub use home::Home;
pub use image::{About, FirstRun, Image, Images, make_image};
pub use inside::{Inside, become_app, command};
pub use phone::Phone;
pub use phones::{Listed, NewPhone, Phones};
pub use sqlite::{JournalMode, SqliteRates, SqliteSpec};
pub use whatif::Variant;
pub use writer::{BEHIND_MAX, Writer, WriterRates, WriterSpec, Written, serve_writer};
