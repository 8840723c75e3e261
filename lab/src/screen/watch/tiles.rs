//! The screen as a grid of tiles, and the cheapest pictures to cover some of them.

use crate::screen::interface::{Picture, Rect};

/// Side of a tile in pixels; a tile is 4 KiB.
pub const TILE_SIDE: u32 = 32;

/// Cost of one more picture, in tiles that could be copied and hashed meanwhile (about 60 us against 1.5 us).
const PICTURE_TILES: u32 = 40;

/// A screen cut into tiles, numbered row by row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grid {
    pub(super) size: (u32, u32),
}

/// A block of tiles; the ends are exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Block {
    columns: (u32, u32),
    rows: (u32, u32),
}

impl Block {
    fn tiles(self) -> u32 {
        (self.columns.1 - self.columns.0) * (self.rows.1 - self.rows.0)
    }

    /// The smallest block that contains both.
    fn with(self, other: Self) -> Self {
        let around = |a: (u32, u32), b: (u32, u32)| (a.0.min(b.0), a.1.max(b.1));
        Self { columns: around(self.columns, other.columns), rows: around(self.rows, other.rows) }
    }
}

impl Grid {
    fn columns(self) -> u32 {
        self.size.0.div_ceil(TILE_SIDE)
    }

    pub(super) fn tiles(self) -> u32 {
        self.columns() * self.size.1.div_ceil(TILE_SIDE)
    }

    /// The tiles that overlap `rect`.
    pub(super) fn touched(self, rect: Rect) -> impl Iterator<Item = u32> {
        let inside = rect.clipped_to(self.size);
        let span = |start: i32, length: u32| {
            let start = start.unsigned_abs();
            if inside.area() == 0 { 0..0 } else { start / TILE_SIDE..(start + length).div_ceil(TILE_SIDE) }
        };
        let columns = span(inside.x, inside.width);
        let all_columns = self.columns();
        span(inside.y, inside.height).flat_map(move |row| columns.clone().map(move |column| row * all_columns + column))
    }

    /// Place of a tile; those at the right and lower edge may be smaller.
    pub(super) fn rect(self, tile: u32) -> Rect {
        let (column, row) = (tile % self.columns(), tile / self.columns());
        self.rect_of(Block { columns: (column, column + 1), rows: (row, row + 1) })
    }

    fn rect_of(self, block: Block) -> Rect {
        // The sides of screens are far below i32::MAX.
        let at = |tile: u32| (tile * TILE_SIDE) as i32;
        let length = |(from, to): (u32, u32)| (to - from) * TILE_SIDE;
        let rect = Rect {
            x: at(block.columns.0),
            y: at(block.rows.0),
            width: length(block.columns),
            height: length(block.rows),
        };
        rect.clipped_to(self.size)
    }

    /// Rectangles that cover `tiles` (in ascending order): few where that is cheaper than exact ones.
    pub(super) fn cover(self, tiles: impl IntoIterator<Item = u32>) -> Vec<Rect> {
        let mut blocks: Vec<Block> = Vec::new();
        for tile in tiles {
            let (column, row) = (tile % self.columns(), tile / self.columns());
            match blocks.last_mut() {
                Some(block) if block.rows.0 == row && block.columns.1 == column => block.columns.1 += 1,
                _ => blocks.push(Block { columns: (column, column + 1), rows: (row, row + 1) }),
            }
        }
        // Greedy: each run joins the block if that does not increase the cost; runs come from the top, so blocks grow
        // downwards.
        let mut joined: Vec<Block> = Vec::new();
        for run in blocks {
            let dearer = |block: &Block| block.with(run).tiles() - block.tiles();
            let best = joined.iter_mut().min_by_key(|block| dearer(block));
            match best {
                Some(block) if dearer(block) <= run.tiles() + PICTURE_TILES => *block = block.with(run),
                _ => joined.push(run),
            }
        }
        joined.into_iter().map(|block| self.rect_of(block)).collect()
    }
}

/// Hash of the part of `picture` at `rect`; `None` when it is not entirely in the picture. `scratch` saves an
/// allocation.
pub(super) fn hash(picture: &Picture, rect: Rect, scratch: &mut Vec<u8>) -> Option<u64> {
    let right = u32::try_from(rect.x.checked_sub(picture.rect.x)?).ok()?;
    let down = u32::try_from(rect.y.checked_sub(picture.rect.y)?).ok()?;
    if right + rect.width > picture.rect.width {
        return None;
    }
    scratch.clear();
    for row in down..down + rect.height {
        let begin = (row as usize * picture.rect.width as usize + right as usize) * 4;
        scratch.extend_from_slice(picture.bgrx.get(begin..begin + rect.width as usize * 4)?);
    }
    Some(rapidhash::v3::rapidhash_v3(scratch))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GRID: Grid = Grid { size: (100, 70) };

    fn rect(x: i32, y: i32, width: u32, height: u32) -> Rect {
        Rect { x, y, width, height }
    }

    #[test]
    fn a_screen_has_the_tiles_that_cover_it() {
        assert_eq!((GRID.tiles(), Grid { size: (64, 32) }.tiles(), Grid { size: (0, 0) }.tiles()), (12, 2, 0));
        assert_eq!(GRID.rect(0), rect(0, 0, 32, 32));
        assert_eq!(GRID.rect(3), rect(96, 0, 4, 32));
        assert_eq!(GRID.rect(11), rect(96, 64, 4, 6));
    }

    #[test]
    fn a_rectangle_touches_the_tiles_below_it() {
        let touched = |at| GRID.touched(at).collect::<Vec<_>>();
        assert_eq!(touched(rect(0, 0, 32, 32)), [0]);
        assert_eq!(touched(rect(31, 31, 2, 2)), [0, 1, 4, 5]);
        assert_eq!(touched(rect(98, 65, 500, 500)), [11]);
        assert_eq!(touched(rect(-10, -10, 10, 10)), [0_u32; 0]);
        assert_eq!(touched(rect(10, 10, 0, 5)), [0_u32; 0]);
    }

    #[test]
    fn adjacent_tiles_share_a_picture_and_distant_ones_do_not() {
        assert_eq!(GRID.cover([]), []);
        assert_eq!(GRID.cover([0, 1, 4, 5]), [rect(0, 0, 64, 64)]);
        assert_eq!(GRID.cover([0, 11]), [rect(0, 0, 100, 70)]);
        let wide = Grid { size: (3200, 3200) };
        assert_eq!(wide.cover([0, 9999]), [rect(0, 0, 32, 32), rect(3168, 3168, 32, 32)]);
    }

    #[test]
    fn the_hash_is_of_the_tile_alone() {
        let mut picture = Picture { rect: rect(32, 0, 64, 32), bgrx: vec![7; 64 * 32 * 4] };
        let (left, right) = (rect(32, 0, 32, 32), rect(64, 0, 32, 32));
        let both = |picture: &Picture| [left, right].map(|tile| hash(picture, tile, &mut Vec::new()).unwrap());
        let before = both(&picture);
        assert_eq!(before[0], before[1]);
        picture.bgrx[(31 * 64 + 63) * 4] = 8;
        let after = both(&picture);
        assert_eq!(after[0], before[0]);
        assert_ne!(after[1], before[1]);
        for outside in [rect(0, 0, 32, 32), rect(96, 0, 32, 32), rect(32, 32, 32, 32)] {
            assert_eq!(hash(&picture, outside, &mut Vec::new()), None);
        }
    }

    proptest! {
        #[test]
        fn the_cover_of_tiles_contains_all_of_them(tiles in prop::collection::btree_set(0u32..400, 0..60)) {
            let grid = Grid { size: (20 * 32 - 5, 20 * 32 - 7) };
            let cover = grid.cover(tiles.iter().copied());
            for tile in tiles {
                let at = grid.rect(tile);
                let holds = |by: &&Rect| {
                    by.x <= at.x && by.y <= at.y
                        && by.x + by.width as i32 >= at.x + at.width as i32
                        && by.y + by.height as i32 >= at.y + at.height as i32
                };
                prop_assert!(cover.iter().any(|by| holds(&by)), "{tile} in {cover:?}");
            }
        }

        #[test]
        fn a_tile_is_touched_by_its_own_rectangle_alone(tile in 0u32..12) {
            prop_assert_eq!(GRID.touched(GRID.rect(tile)).collect::<Vec<_>>(), [tile]);
        }
    }
}
