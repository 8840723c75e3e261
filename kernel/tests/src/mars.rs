//! Swap slots by memory group, the pure part of the kernel patch, callable from tests outside of the kernel.
//!
//! `mm/mars_extents.h` says what it does, and its properties. The kernel calls it under the lock of a swap area; this
//! crate compiles the same file with the system's compiler and wraps it safely, to compare it with a naive model under
//! random loads (`tests/all/extents.rs`).

/// What [`Area::next`] answers when the kernel's own allocator decides; of the C part `MARS_NONE`.
const NONE: u32 = u32::MAX;
/// `MARS_BUCKETS`.
const BUCKETS: usize = 256;
/// `MARS_LOOKS`: extents with holes that are compared.
pub const LOOKS: usize = 32;

/// State of an extent: `enum mars_state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// Empty, nothing to discard.
    Trimmed = 0,
    /// Empty, to be discarded.
    Stale = 1,
    /// Being discarded.
    Trimming = 2,
    /// Takes the swap-outs of its owner.
    Current = 3,
    /// Has an owner, took its swap-outs before.
    Left = 4,
    /// Used by the kernel's own allocator alone.
    Stock = 5,
}

const STATES: usize = 6;

impl State {
    fn of(number: u8) -> Self {
        const ALL: [State; STATES] =
            [State::Trimmed, State::Stale, State::Trimming, State::Current, State::Left, State::Stock];
        ALL[usize::from(number)]
    }
}

/// `struct mars_extent`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Extent {
    prev: u32,
    next: u32,
    nr_used: u32,
    cursor: u32,
    owner: u16,
    state: u8,
    listed: u8,
}

/// `struct mars_list`.
#[derive(Clone, Copy)]
#[repr(C)]
struct List {
    first: u32,
    last: u32,
}

/// `struct mars_area`.
#[repr(C)]
struct RawArea {
    extents: *mut Extent,
    nr_extents: u32,
    extent_slots: u32,
    reserve: u32,
    nr_in: [u32; STATES],
    trimmed: List,
    stale: List,
    current_of: [List; BUCKETS],
    holes_of: [List; BUCKETS],
    nr_began: u64,
    nr_filled: u64,
    nr_refused: u64,
}

unsafe extern "C" {
    fn mars_area_init(area: *mut RawArea, extents: *mut Extent, nr_extents: u32, extent_slots: u32, reserve: u32);
    fn mars_next(area: *mut RawArea, owner: u16) -> u32;
    fn mars_advance(area: *mut RawArea, owner: u16, slot: u32);
    fn mars_taken(area: *mut RawArea, slot: u32, nr_slots: u32);
    fn mars_freed(area: *mut RawArea, slot: u32, nr_slots: u32);
    fn mars_covers(area: *const RawArea, slot: u32) -> bool;
    fn mars_reserved(area: *const RawArea, slot: u32) -> bool;
    fn mars_nr_free(area: *const RawArea) -> u32;
    fn mars_plenty(area: *const RawArea) -> bool;
    fn mars_trim_begin(area: *mut RawArea, batch: *mut u32, nr_max: u32) -> u32;
    fn mars_trim_end(area: *mut RawArea, extent: u32);
}

/// Extents of a swap area.
pub struct Area {
    raw: Box<RawArea>,
    /// What `raw.extents` points to. The C part writes to it in calls that borrow `self` mutably, and at no other time.
    extents: Box<[Extent]>,
}

impl Area {
    /// An area of `nr_extents` extents, all free; below `reserve` free ones, holes are filled.
    #[must_use]
    pub fn new(nr_extents: u32, extent_slots: u32, reserve: u32) -> Self {
        let empty = Extent { prev: 0, next: 0, nr_used: 0, cursor: 0, owner: 0, state: 0, listed: 0 };
        let mut extents = vec![empty; nr_extents as usize].into_boxed_slice();
        // SAFETY: all fields are integers or a pointer that nothing follows before mars_area_init() has set it.
        let mut raw: Box<RawArea> = Box::new(unsafe { std::mem::zeroed() });
        // SAFETY: `extents` has that many elements, and lives in a box as long as `raw`.
        unsafe { mars_area_init(&raw mut *raw, extents.as_mut_ptr(), nr_extents, extent_slots, reserve) };
        Self { raw, extents }
    }

    /// The first slot that a page of the owner may get, or none.
    pub fn next(&mut self, owner: u16) -> Option<u32> {
        // SAFETY: the area was initialized, and its extents live as long.
        let slot = unsafe { mars_next(&raw mut *self.raw, owner) };
        (slot != NONE).then_some(slot)
    }

    /// The owner's extent has no free slot for it before `slot`.
    pub fn advance(&mut self, owner: u16, slot: u32) {
        // SAFETY: as in next(); any slot is allowed.
        unsafe { mars_advance(&raw mut *self.raw, owner, slot) }
    }

    pub fn taken(&mut self, slot: u32) {
        // SAFETY: as in next(); slots behind the last extent are ignored.
        unsafe { mars_taken(&raw mut *self.raw, slot, 1) }
    }

    pub fn freed(&mut self, slot: u32) {
        // SAFETY: as in taken().
        unsafe { mars_freed(&raw mut *self.raw, slot, 1) }
    }

    /// Whether a slot is in an extent.
    #[must_use]
    pub fn covers(&self, slot: u32) -> bool {
        // SAFETY: as in next().
        unsafe { mars_covers(&raw const *self.raw, slot) }
    }

    /// Whether the kernel's own allocator should look elsewhere than in this slot.
    #[must_use]
    pub fn reserved(&self, slot: u32) -> bool {
        // SAFETY: as in taken().
        unsafe { mars_reserved(&raw const *self.raw, slot) }
    }

    /// Empty extents.
    #[must_use]
    pub fn nr_free(&self) -> u32 {
        // SAFETY: as in next().
        unsafe { mars_nr_free(&raw const *self.raw) }
    }

    /// Whether more extents than the reserve are free.
    #[must_use]
    pub fn plenty(&self) -> bool {
        // SAFETY: as in next().
        unsafe { mars_plenty(&raw const *self.raw) }
    }

    /// Extents to discard, at most `nr_max`.
    pub fn trim_begin(&mut self, nr_max: u32) -> Vec<u32> {
        let mut batch = vec![0; nr_max as usize];
        // SAFETY: as in next(); the batch has room for `nr_max`.
        let nr = unsafe { mars_trim_begin(&raw mut *self.raw, batch.as_mut_ptr(), nr_max) };
        batch.truncate(nr as usize);
        batch
    }

    /// An extent of a batch was discarded.
    pub fn trim_end(&mut self, extent: u32) {
        assert!((extent as usize) < self.extents.len(), "extent {extent} of {}", self.extents.len());
        // SAFETY: as in next(); the extent exists.
        unsafe { mars_trim_end(&raw mut *self.raw, extent) }
    }

    /// State, owner and slots in use of an extent.
    #[must_use]
    pub fn extent(&self, extent: u32) -> (State, u16, u32) {
        let e = self.extents[extent as usize];
        (State::of(e.state), e.owner, e.nr_used)
    }

    /// Extents in a state, as counted.
    #[must_use]
    pub fn nr_in(&self, state: State) -> u32 {
        self.raw.nr_in[state as usize]
    }

    /// Calls of [`Self::next`] without a slot.
    #[must_use]
    pub fn nr_refused(&self) -> u64 {
        self.raw.nr_refused
    }
}
