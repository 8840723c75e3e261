//! The control socket: varlink over a Unix socket.
//!
//! Varlink (varlink.org) is JSON objects with a zero byte after each; every service describes itself, so that `varlinkctl`
//! and its like work without knowing brisk. The protocol is so small, and the crates for it either block a thread for each
//! client or bring an async runtime, that it is written here.
//!
//! The kernel's check of the socket file decides who may connect (root, and the group of the configuration); who may change
//! something is decided by the credentials of the peer.
//!
//! Properties: a client that sends without reading, sends nonsense, connects again and again or holds its connection idle
//! costs a bounded number of bytes and a bounded number of wake-ups a second, and others are still served.

mod client;
mod connection;
pub mod protocol;
mod server;
mod service;

pub use client::{Client, ClientError};
pub use connection::Peer;
pub use server::{Asked, Server, ServerError};
pub use service::{Ask, Fault, reply_with};

/// Name of the socket in the run directory.
pub const SOCKET: &str = "briskd.varlink";
