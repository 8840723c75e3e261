//! Serialisation of numbers in native byte order, as in the structures of both kernel protocols.

/// A structure under construction.
#[derive(Default)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Bytes {
    pub(crate) fn u8(mut self, value: u8) -> Self {
        self.0.push(value);
        self
    }

    pub(crate) fn u16(mut self, value: u16) -> Self {
        self.0.extend(value.to_ne_bytes());
        self
    }

    pub(crate) fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_ne_bytes());
        self
    }

    pub(crate) fn u64(mut self, value: u64) -> Self {
        self.0.extend(value.to_ne_bytes());
        self
    }

    /// The bytes, padded with zeroes to `N`.
    pub(crate) fn padded<const N: usize>(self) -> [u8; N] {
        let mut all = [0; N];
        all[..self.0.len()].copy_from_slice(&self.0);
        all
    }
}
