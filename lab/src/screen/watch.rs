//! Visible changes: damage that changed pixels.
//!
//! Apps redraw unchanged content, and a display server reports that as damage. A [`Watcher`] keeps a hash of each tile
//! of the screen; after damage it compares the damaged tiles, at a rate that keeps its own cost near half a percent of
//! a processor, and returns the changed ones, each with the time of its damage. Periodic changes (a caret: A, B, A, B)
//! are not filtered here; the hashes allow it.
//!
//! Properties, each with a test of the same name:
//! - damage that changed no pixel is no visible change;
//! - the last state of the screen is always compared: all changes before [`Watcher::sure_until_ns`] have been returned;
//! - a change is dated by its damage, not by its comparison.

mod budget;
mod tiles;

use std::time::Duration;

use crate::screen::clock::{monotonic_ns, thread_cpu_ns};
use crate::screen::interface::{Change, Error, Input, Kind, Picture, Rect, Result, Screen, WindowInfo};

use self::budget::Budget;
use self::tiles::Grid;
pub use self::tiles::TILE_SIDE;

/// A tile with new content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tile {
    /// Number of the tile, row by row from the top; fixed as long as the screen keeps its size.
    pub index: u32,
    pub rect: Rect,
    /// First damage since the last comparison; CLOCK_MONOTONIC.
    pub first_ns: u64,
    /// Last damage before the comparison.
    pub at_ns: u64,
    /// Hash of the new content; `None` when the server refused the picture. The content may then be unchanged; the tile
    /// is returned again with its hash when the server delivers it.
    pub hash: Option<u64>,
}

/// Tiles that changed between two comparisons, at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visible {
    /// First damage of the tiles; CLOCK_MONOTONIC.
    pub first_ns: u64,
    /// Last damage of the tiles.
    pub at_ns: u64,
    /// In ascending order.
    pub tiles: Vec<Tile>,
}

impl Visible {
    /// Whether the pixels were compared. False only when the server refused a picture, as under a grab of the whole
    /// server.
    #[must_use]
    pub fn verified(&self) -> bool {
        self.tiles.iter().all(|tile| tile.hash.is_some())
    }
}

/// Result of watching.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// The screen has new content.
    Visible(Visible),
    /// A window appeared, disappeared or changed its name; never [`Kind::Damage`].
    Window(Change),
}

/// Damage of a tile before its comparison.
#[derive(Debug, Clone, Copy)]
struct Damaged {
    first_ns: u64,
    at_ns: u64,
    /// Whether it was already returned as unverified.
    given: bool,
}

#[derive(Debug, Default)]
struct Pending {
    tiles: Vec<Option<Damaged>>,
    /// First and last time of all.
    span_ns: Option<(u64, u64)>,
}

impl Pending {
    fn new(tiles: u32) -> Self {
        Self { tiles: vec![None; tiles as usize], span_ns: None }
    }

    fn add(&mut self, tile: u32, damaged: Damaged) {
        let Damaged { first_ns, at_ns, .. } = damaged;
        match &mut self.tiles[tile as usize] {
            Some(before) => before.at_ns = at_ns,
            empty => *empty = Some(damaged),
        }
        let (first, last) = self.span_ns.unwrap_or((first_ns, at_ns));
        self.span_ns = Some((first.min(first_ns), last.max(at_ns)));
    }

    /// Removes and returns the tiles in ascending order.
    fn take(&mut self) -> Vec<(u32, Damaged)> {
        if self.span_ns.take().is_none() {
            return Vec::new();
        }
        let tiles = (0u32..).zip(&mut self.tiles);
        tiles.filter_map(|(tile, damaged)| Some((tile, damaged.take()?))).collect()
    }
}

pub struct Watcher<'a> {
    screen: &'a mut dyn Screen,
    grid: Grid,
    /// Hash of each tile; `None` where it is unknown.
    hashes: Vec<Option<u64>>,
    pending: Pending,
    budget: Budget,
    read_until_ns: u64,
    own_cpu_ns: u64,
    looks: u64,
    scratch: Vec<u8>,
}

impl std::fmt::Debug for Watcher<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let screen = self.screen.display();
        f.debug_struct("Watcher")
            .field("screen", &screen)
            .field("pending_ns", &self.pending.span_ns)
            .finish_non_exhaustive()
    }
}

impl<'a> Watcher<'a> {
    /// Takes the current screen as the reference of later changes. Pending changes of `screen` are dropped.
    ///
    /// # Errors
    /// When the connection to the display server is lost or it refuses a picture.
    pub fn new(screen: &'a mut dyn Screen) -> Result<Self> {
        let begin_ns = thread_cpu_ns();
        screen.changes(Duration::ZERO)?;
        let grid = Grid { size: screen.size() };
        let mut watcher = Self {
            screen,
            grid,
            hashes: vec![None; grid.tiles() as usize],
            pending: Pending::new(grid.tiles()),
            budget: Budget::new(monotonic_ns()),
            read_until_ns: 0,
            own_cpu_ns: 0,
            looks: 0,
            scratch: Vec::new(),
        };
        watcher.read_until_ns = monotonic_ns();
        let picture = watcher.picture(Rect { x: 0, y: 0, width: grid.size.0, height: grid.size.1 })?;
        for tile in 0..grid.tiles() {
            watcher.hashes[tile as usize] = tiles::hash(&picture, grid.rect(tile), &mut watcher.scratch);
        }
        watcher.own_cpu_ns = thread_cpu_ns() - begin_ns;
        Ok(watcher)
    }

    /// Returns all visible changes, oldest first; waits at most `timeout` for the first one.
    ///
    /// # Errors
    /// When the connection to the display server is lost.
    pub fn watch(&mut self, timeout: Duration) -> Result<Vec<Seen>> {
        let timeout_ns = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        let until_ns = monotonic_ns().saturating_add(timeout_ns);
        let mut seen = Vec::new();
        loop {
            let wait_until_ns = self.due_ns().unwrap_or(u64::MAX).min(until_ns);
            self.receive(wait_until_ns, &mut seen)?;
            if self.due_ns().is_some_and(|due_ns| due_ns <= monotonic_ns()) {
                seen.extend(self.verify()?.map(Seen::Visible));
            }
            if !seen.is_empty() || monotonic_ns() >= until_ns {
                return Ok(seen);
            }
        }
    }

    /// Compares all damaged tiles at once; for the end of a measurement.
    ///
    /// # Errors
    /// When the connection to the display server is lost.
    pub fn look(&mut self) -> Result<Vec<Seen>> {
        let mut seen = Vec::new();
        self.receive(0, &mut seen)?;
        seen.extend(self.verify()?.map(Seen::Visible));
        Ok(seen)
    }

    /// All changes until this time have been returned; CLOCK_MONOTONIC. Later ones may be pending, for 0.4 s at most
    /// after drawing stopped.
    #[must_use]
    pub fn sure_until_ns(&self) -> u64 {
        self.pending.span_ns.map_or(self.read_until_ns, |(first_ns, _)| first_ns.saturating_sub(1))
    }

    /// Number of tiles of the screen.
    #[must_use]
    pub fn tiles(&self) -> u32 {
        self.grid.tiles()
    }

    /// CPU time of watching so far, in the calling threads; without that of the display server.
    #[must_use]
    pub fn own_cpu_ns(&self) -> u64 {
        self.own_cpu_ns
    }

    /// Number of comparisons so far.
    #[must_use]
    pub fn looks(&self) -> u64 {
        self.looks
    }

    /// As [`Screen::send`].
    ///
    /// # Errors
    /// As there.
    pub fn send(&mut self, input: &Input) -> Result<u64> {
        self.screen.send(input)
    }

    /// As [`Screen::activate`].
    ///
    /// # Errors
    /// As there.
    pub fn activate(&mut self, window: u64) -> Result<u64> {
        self.screen.activate(window)
    }

    /// As [`Screen::windows`].
    ///
    /// # Errors
    /// As there.
    pub fn windows(&mut self) -> Result<Vec<WindowInfo>> {
        self.screen.windows()
    }

    /// As [`Screen::picture`].
    ///
    /// # Errors
    /// As there.
    pub fn picture(&mut self, rect: Rect) -> Result<Picture> {
        self.screen.picture(rect)
    }

    /// Receives events until `until_ns`.
    fn receive(&mut self, until_ns: u64, seen: &mut Vec<Seen>) -> Result<()> {
        let begin_ns = thread_cpu_ns();
        let now_ns = monotonic_ns();
        let rest_ns = self.budget.rest_ns(now_ns).min(until_ns.saturating_sub(now_ns));
        if rest_ns > 0 {
            std::thread::sleep(Duration::from_nanos(rest_ns));
        }
        let now_ns = monotonic_ns();
        let outcome = self.screen.changes(Duration::from_nanos(until_ns.saturating_sub(now_ns)));
        // Events that arrived during the call are not yet included.
        self.read_until_ns = now_ns;
        outcome.map(|changes| self.take(changes, seen))?;
        let used_ns = thread_cpu_ns() - begin_ns;
        self.own_cpu_ns += used_ns;
        self.budget.book_reports(monotonic_ns(), used_ns);
        Ok(())
    }

    fn due_ns(&self) -> Option<u64> {
        self.pending.span_ns.map(|(first_ns, last_ns)| self.budget.due_ns(first_ns, last_ns))
    }

    fn take(&mut self, changes: Vec<Change>, seen: &mut Vec<Seen>) {
        for change in changes {
            let at_ns = change.at_ns;
            match change.kind {
                Kind::Damage(rect) => {
                    for tile in self.grid.touched(rect) {
                        self.pending.add(tile, Damaged { first_ns: at_ns, at_ns, given: false });
                    }
                }
                _ => seen.push(Seen::Window(change)),
            }
        }
        if self.screen.size() != self.grid.size {
            // A new grid: the content of its tiles is unknown, and all of them count as changed.
            let now_ns = monotonic_ns();
            self.grid = Grid { size: self.screen.size() };
            self.hashes = vec![None; self.grid.tiles() as usize];
            self.pending = Pending::new(self.grid.tiles());
            for tile in 0..self.grid.tiles() {
                self.pending.add(tile, Damaged { first_ns: now_ns, at_ns: now_ns, given: false });
            }
        }
    }

    /// Compares the damaged tiles with their last content.
    fn verify(&mut self) -> Result<Option<Visible>> {
        let begin_ns = thread_cpu_ns();
        let damaged = self.pending.take();
        if damaged.is_empty() {
            return Ok(None);
        }
        self.looks += 1;
        let hashes = self.hashes_of(&damaged)?;
        let mut changed = Vec::new();
        for ((index, mut damaged), hash) in damaged.into_iter().zip(hashes) {
            let before = std::mem::replace(&mut self.hashes[index as usize], hash);
            let Damaged { first_ns, at_ns, given } = damaged;
            if hash.is_none() {
                // The result is unknown, so they are compared again.
                damaged.given = true;
                self.pending.add(index, damaged);
            }
            if hash != before || (hash.is_none() && !given) {
                changed.push(Tile { index, rect: self.grid.rect(index), first_ns, at_ns, hash });
            }
        }
        let used_ns = thread_cpu_ns() - begin_ns;
        self.own_cpu_ns += used_ns;
        self.budget.book_look(monotonic_ns(), used_ns);
        let first_ns = changed.iter().map(|tile| tile.first_ns).min();
        let at_ns = changed.iter().map(|tile| tile.at_ns).max();
        Ok(first_ns.zip(at_ns).map(|(first_ns, at_ns)| Visible { first_ns, at_ns, tiles: changed }))
    }

    /// Current hashes of tiles; `None` where the server refuses the picture.
    fn hashes_of(&mut self, tiles: &[(u32, Damaged)]) -> Result<Vec<Option<u64>>> {
        let mut hashes = vec![None; tiles.len()];
        for rect in self.grid.cover(tiles.iter().map(|(tile, _)| *tile)) {
            let picture = match self.screen.picture(rect) {
                Ok(picture) => picture,
                Err(Error::Refused { .. }) => break,
                Err(error) => return Err(error),
            };
            for (hash, (tile, _)) in hashes.iter_mut().zip(tiles).filter(|(hash, _)| hash.is_none()) {
                *hash = tiles::hash(&picture, self.grid.rect(*tile), &mut self.scratch);
            }
        }
        Ok(hashes)
    }
}
