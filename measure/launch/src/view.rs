//! The screen as the launcher needs it: repaints by tile, new windows, and inputs.

use std::time::Duration;

use brisk_screen::{Input, Kind, Rect, Screen, Seen, Watcher, WindowInfo};

use crate::error::Result;
use crate::settle::Repaint;

/// A watched screen.
pub(crate) struct View<'a> {
    watcher: Watcher<'a>,
    size: (u32, u32),
    display: String,
    /// Windows that came up, oldest first, those that went again left out.
    windows: Vec<WindowInfo>,
}

/// What was seen since the last look.
#[derive(Debug, Default)]
pub(crate) struct Looked {
    /// Tiles that show something else.
    pub(crate) repaints: Vec<Repaint>,
    /// When and where something was drawn that can be seen.
    pub(crate) drawn: Vec<(u64, Rect)>,
    /// Windows that came up.
    pub(crate) shown: Vec<(u64, WindowInfo)>,
}

impl<'a> View<'a> {
    /// Looks at the screen as it is; all later changes are held against that.
    pub(crate) fn open(screen: &'a mut dyn Screen) -> Result<Self> {
        let (size, display) = (screen.size(), screen.display().to_owned());
        Ok(Self { watcher: Watcher::new(screen)?, size, display, windows: Vec::new() })
    }

    /// Waits at most `wait` for something to be seen.
    pub(crate) fn look(&mut self, wait: Duration) -> Result<Looked> {
        let mut looked = Looked::default();
        for seen in self.watcher.watch(wait)? {
            match seen {
                Seen::Visible(visible) => {
                    for tile in visible.tiles {
                        // What could not be compared counts as a change.
                        let hash = tile.hash.unwrap_or(tile.at_ns);
                        looked.repaints.push(Repaint { at_ns: tile.at_ns, tile: tile.index, hash });
                        looked.drawn.push((tile.first_ns, tile.rect));
                    }
                }
                Seen::Window(change) => match change.kind {
                    Kind::WindowShown(window) => {
                        self.windows.retain(|known| known.id != window.id);
                        self.windows.push(window.clone());
                        looked.shown.push((change.at_ns, window));
                    }
                    Kind::WindowGone { id } => self.windows.retain(|known| known.id != id),
                    Kind::WindowChanged(window) => {
                        if let Some(known) = self.windows.iter_mut().find(|known| known.id == window.id) {
                            *known = window;
                        }
                    }
                    Kind::Damage(_) => {}
                },
            }
        }
        looked.drawn.sort_unstable();
        Ok(looked)
    }

    /// Up to when everything that changed was given.
    pub(crate) fn sure_until_ns(&self) -> u64 {
        self.watcher.sure_until_ns()
    }

    pub(crate) fn tiles(&self) -> u32 {
        self.watcher.tiles()
    }

    pub(crate) fn size(&self) -> (u32, u32) {
        self.size
    }

    pub(crate) fn display(&self) -> &str {
        &self.display
    }

    /// The window that came up last and is still there.
    pub(crate) fn newest_window(&self) -> Option<&WindowInfo> {
        self.windows.last()
    }

    /// All windows of the display.
    pub(crate) fn all_windows(&mut self) -> Result<Vec<WindowInfo>> {
        Ok(self.watcher.windows()?)
    }

    /// Sends an input; gives when it left.
    pub(crate) fn send(&mut self, input: &Input) -> Result<u64> {
        Ok(self.watcher.send(input)?)
    }
}
