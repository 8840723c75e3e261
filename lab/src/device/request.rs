//! Requests of the kernel, independent of the connection over which they arrive.

/// Operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call<'a> {
    Read { offset_bytes: u64, len_bytes: u64 },
    Write { offset_bytes: u64, data: &'a [u8] },
    Flush,
    Discard { offset_bytes: u64, len_bytes: u64 },
}

/// A request; it gets exactly one reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request<'a> {
    /// Number of the request, unique among the pending ones; the reply carries it.
    pub(crate) unique: u64,
    pub(crate) call: Call<'a>,
}

/// Result of receiving from the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Received<'a> {
    Request(Request<'a>),
    /// A protocol message that the front has handled.
    Own,
    Nothing,
    /// The kernel has released the device: there will be no more requests.
    Gone,
}
