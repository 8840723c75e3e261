//! Screen of the launcher: repaints by tile, new windows, and inputs.

use std::time::Duration;

use crate::screen::{Input, Kind, Rect, Screen, Seen, Watcher, WindowInfo};

use crate::launch::error::Result;
use crate::launch::settle::Repaint;

/// A watched screen.
pub(crate) struct View<'a> {
    watcher: Watcher<'a>,
    size: (u32, u32),
    display: String,
    /// Existing new windows, oldest first.
    windows: Vec<WindowInfo>,
}

/// Changes since the last poll.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Tiles with new content.
    pub(crate) repaints: Vec<Repaint>,
    /// Time and place of visible drawing.
    pub(crate) drawn: Vec<(u64, Rect)>,
    pub(crate) shown: Vec<(u64, WindowInfo)>,
}

impl<'a> View<'a> {
    /// Takes the current screen as the reference of later changes.
    pub(crate) fn open(screen: &'a mut dyn Screen) -> Result<Self> {
        let (size, display) = (screen.size(), screen.display().to_owned());
        Ok(Self { watcher: Watcher::new(screen)?, size, display, windows: Vec::new() })
    }

    /// Waits for changes, at most `wait`.
    pub(crate) fn poll(&mut self, wait: Duration) -> Result<Changes> {
        let mut looked = Changes::default();
        for seen in self.watcher.watch(wait)? {
            match seen {
                Seen::Visible(visible) => {
                    for tile in visible.tiles {
                        // Content that could not be compared counts as changed.
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

    /// Time until which all changes have been returned.
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

    /// The newest existing window.
    pub(crate) fn newest_window(&self) -> Option<&WindowInfo> {
        self.windows.last()
    }

    /// All windows of the display.
    pub(crate) fn all_windows(&mut self) -> Result<Vec<WindowInfo>> {
        Ok(self.watcher.windows()?)
    }

    /// Brings a window to the front.
    pub(crate) fn activate(&mut self, window: u64) -> Result<u64> {
        Ok(self.watcher.activate(window)?)
    }

    /// Sends an input; returns its time.
    pub(crate) fn send(&mut self, input: &Input) -> Result<u64> {
        Ok(self.watcher.send(input)?)
    }
}
