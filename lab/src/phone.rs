//! An emulated phone with real apps: a small Debian on an ext4 file system on a lab device, in which apps are launched
//! and measured from outside.
//!
//! [`Images`] builds and caches the root; [`Phones`] brings a phone up from it in seconds and takes it down; a
//! [`Phone`] gives commands for [`crate::launch`], a background writer, and the variants of the what-if study.
//!
//! Properties: only processes in the phone access its flash; an image contains nothing of the machine that built it; no
//! process or mount is left behind, whether a phone ends by `down`, by a kill of its owner or by a crash of its device;
//! only resources of the phone are changed.
//!
//! Files: `catalogue` has the apps, `documents` their documents; `image` builds and finds roots; `extents` copies one
//! to the device; `memory` limits what runs in a phone and `swap_area` makes its swap; `mounts` mounts what a root
//! needs, `inside` enters it, `bus` runs in it; `phones`, `lifecycle` and `phone` bring a phone up, `teardown` takes it
//! down, with `state`, `group` and `processes` to find its resources; `whatif` changes a phone, `writer` loads it,
//! `sqlite` measures databases on it, `companion` runs a program during launches, `daemon` ends one that was left.

mod bus;
mod catalogue;
mod companion;
mod daemon;
mod documents;
mod error;
mod extents;
mod group;
mod home;
mod image;
mod inside;
mod lifecycle;
mod memory;
mod mounts;
mod phones;
mod processes;
mod running;
mod sqlite;
mod state;
pub mod suite;
mod swap_area;
mod teardown;
mod tree;
mod variant;
mod whatif;
mod writer;

pub use catalogue::{App, Catalogue, WindowMark};
pub(crate) use catalogue::{TEXT as CATALOGUE_TEXT, on_this_machine};
pub use companion::Companion;
pub(crate) use documents::all as documents;
pub use error::{Error, Result};
pub use home::Home;
pub use image::{About, FirstRun, Image, Images, make_image};
pub use inside::{Inside, become_app, command};
pub use memory::{LIMIT_MIN_BYTES, MemoryGroup, MemorySpec, SwapKind};
pub(crate) use mounts::environment;
pub use phones::{Listed, NewPhone, Phones};
pub use running::Phone;
pub use sqlite::{JournalMode, SqliteRates, SqliteSpec};
pub use variant::Variant;
pub use writer::{BEHIND_MAX, Writer, WriterRates, WriterSpec, Written, serve_writer};
