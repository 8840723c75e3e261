//! What is on a phone: the apps and their documents, its user, the service that writes in the background, and what
//! brisk gains for an app. [`crate::virtual_phone`] is the device that has them.

mod catalogue;
mod documents;
mod error;
mod gain;
#[cfg(test)]
mod samples;
mod user;
mod writer;

pub use catalogue::{App, Catalogue, WindowMark};
pub(crate) use catalogue::{TEXT as CATALOGUE_TEXT, of_command, on_this_machine};
pub(crate) use documents::all as documents;
pub use error::{Error, Result};
pub use gain::gains;
pub(crate) use user::environment;
pub use writer::{WriterSpec, serve_writer};
