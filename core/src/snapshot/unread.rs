//! Parts of a snapshot that could not be read: absent, and not zero.

use serde::{Deserialize, Serialize};

use super::Part;

/// The parts of a snapshot that could not be read. What stands in its fields for them says nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// A bit for each part; `None` where all were read. As one number it is a counter of the record like any other.
    pub(super) bits: Option<u64>,
}

impl Unread {
    /// Counts a part as unread.
    pub fn add(&mut self, part: Part) {
        self.bits = Some(self.bits.unwrap_or(0) | part.bit());
    }

    /// Whether a part is unread.
    #[must_use]
    pub fn has(self, part: Part) -> bool {
        self.bits.unwrap_or(0) & part.bit() != 0
    }

    /// Whether any part is unread.
    #[must_use]
    pub fn is_any(self) -> bool {
        self.bits.unwrap_or(0) != 0
    }

    /// Parts that are unread in one of two moments, which have no rates between them.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let bits = self.bits.unwrap_or(0) | other.bits.unwrap_or(0);
        Self { bits: (bits != 0).then_some(bits) }
    }

    /// The parts that are unread.
    pub fn parts(self) -> impl Iterator<Item = Part> {
        Part::ALL.into_iter().filter(move |part| self.has(*part))
    }
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Cpu, Self::Memory, Self::Paging, Self::Disks, Self::Nets];

    fn bit(self) -> u64 {
        1 << self as u64
    }
}
