//! The control socket: varlink over a Unix socket (`brisk_api`).
//!
//! The kernel's check of the socket file decides who may connect (root, and the group of the configuration); who may
//! change something is decided by the credentials of the peer.
//!
//! Properties: a client that sends without reading, sends nonsense, connects again and again or holds its connection
//! idle costs a bounded number of bytes and a bounded number of wake-ups a second, and others are still served.

mod connection;
mod server;

pub use connection::Peer;
pub use server::{ClientCall, Server, ServerError};
