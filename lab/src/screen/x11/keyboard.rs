//! Keys of symbols, and spare keys for symbols that the keyboard lacks.
//!
//! A symbol without a key gets a spare key (a keycode without symbols) until the connection ends: apps read the new
//! keymap when the key arrives, so restoring it at once would make the key useless. When all spare keys are assigned,
//! the oldest assignment is replaced.

use std::collections::VecDeque;

use x11rb::protocol::xproto::ConnectionExt as _;
use xkeysym::Keysym;

use super::link::Link;
use crate::screen::interface::{Error, Result};

/// Symbols of a key without and with Shift come first; further columns belong to other layouts and levels.
const COLUMNS: usize = 2;

/// A key, and whether it needs Shift.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) keycode: u8,
    pub(super) shift: bool,
}

/// The server's keymap.
#[derive(Debug, Default)]
pub(super) struct Keyboard {
    map: Map,
    fresh: bool,
    lent: VecDeque<u8>,
}

impl Keyboard {
    /// Called after another client changed the keymap.
    pub(super) fn outdated(&mut self) {
        self.fresh = false;
    }

    /// The keys for `keysyms`, with spare keys where needed.
    pub(super) fn keys(&mut self, link: &Link, keysyms: &[Keysym]) -> Result<Vec<Key>> {
        if !self.fresh {
            self.map = Map::read(link)?;
            self.fresh = true;
        }
        keysyms
            .iter()
            .map(|keysym| match self.map.find(*keysym) {
                Some(key) => Ok(key),
                None => self.assign(link, *keysym),
            })
            .collect()
    }

    fn assign(&mut self, link: &Link, keysym: Keysym) -> Result<Key> {
        let keycode = match self.map.spare() {
            Some(keycode) => keycode,
            None => self.lent.pop_front().ok_or_else(|| Error::Input {
                input: format!("key {keysym:?}"),
                reason: "no key has it, and every key of the keyboard is in use".into(),
            })?,
        };
        set(link, keycode, keysym)?;
        self.map.set(keycode, keysym);
        self.lent.push_back(keycode);
        Ok(Key { keycode, shift: false })
    }

    /// Restores the keymap, and waits for the server.
    pub(super) fn restore(&mut self, link: &Link) -> Result<()> {
        if self.lent.is_empty() {
            return Ok(());
        }
        self.lent.drain(..).try_for_each(|keycode| set(link, keycode, Keysym::NoSymbol))?;
        // The server discards requests of a connection that is closed with unread data, so they are awaited.
        let done = link.sent("the map of keys", link.conn.get_input_focus())?;
        link.answer("the map of keys", done.reply()).map(|_| ())
    }
}

/// Gives a key one symbol, with and without Shift.
fn set(link: &Link, keycode: u8, keysym: Keysym) -> Result<()> {
    let symbols = [keysym.raw(); COLUMNS];
    link.sent("a map of keys", link.conn.change_keyboard_mapping(1, keycode, COLUMNS as u8, &symbols))?.ignore_error();
    Ok(())
}

#[derive(Debug, Default)]
struct Map {
    first_keycode: u8,
    /// Symbols of one key.
    columns: usize,
    symbols: Vec<u32>,
}

impl Map {
    fn read(link: &Link) -> Result<Self> {
        let setup = x11rb::connection::Connection::setup(&link.conn);
        let (first_keycode, last) = (setup.min_keycode, setup.max_keycode);
        let count = last.saturating_sub(first_keycode).saturating_add(1);
        let asked = link.sent("the map of keys", link.conn.get_keyboard_mapping(first_keycode, count))?;
        let reply = link.answer("the map of keys", asked.reply())?;
        Ok(Self { first_keycode, columns: reply.keysyms_per_keycode.into(), symbols: reply.keysyms })
    }

    fn keys(&self) -> impl Iterator<Item = (u8, &[u32])> {
        (self.first_keycode..=u8::MAX).zip(self.symbols.chunks_exact(self.columns.max(1)))
    }

    /// The key that has a symbol; rather one that needs no Shift.
    fn find(&self, keysym: Keysym) -> Option<Key> {
        let at = |column: usize| {
            let has = |symbols: &&[u32]| symbols.get(column) == Some(&keysym.raw());
            self.keys().find(|(_, symbols)| has(symbols)).map(|(keycode, _)| Key { keycode, shift: column == 1 })
        };
        (0..COLUMNS).find_map(at)
    }

    /// A key without symbols.
    fn spare(&self) -> Option<u8> {
        let free = |symbols: &[u32]| symbols.iter().all(|symbol| *symbol == Keysym::NoSymbol.raw());
        self.keys().find(|(_, symbols)| free(symbols)).map(|(keycode, _)| keycode)
    }

    fn set(&mut self, keycode: u8, keysym: Keysym) {
        let key = usize::from(keycode.saturating_sub(self.first_keycode));
        if let Some(symbols) = self.symbols.chunks_exact_mut(self.columns.max(1)).nth(key) {
            symbols.fill(Keysym::NoSymbol.raw());
            symbols.iter_mut().take(COLUMNS).for_each(|symbol| *symbol = keysym.raw());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> Map {
        Map {
            first_keycode: 8,
            columns: 3,
            symbols: [[0x61, 0x41, 0], [0, 0, 0], [0x31, 0x21, 0x41], [0xff0d, 0, 0]].concat(),
        }
    }

    #[test]
    fn a_symbol_is_found_on_its_key_with_or_without_shift() {
        let map = map();
        assert_eq!(map.find(Keysym::a), Some(Key { keycode: 8, shift: false }));
        assert_eq!(map.find(Keysym::A), Some(Key { keycode: 8, shift: true }));
        assert_eq!(map.find(Keysym::exclam), Some(Key { keycode: 10, shift: true }));
        assert_eq!(map.find(Keysym::Return), Some(Key { keycode: 11, shift: false }));
        assert_eq!(map.find(Keysym::eacute), None);
    }

    #[test]
    fn an_assigned_key_has_its_symbol_and_is_no_longer_spare() {
        let mut map = map();
        assert_eq!(map.spare(), Some(9));
        map.set(9, Keysym::eacute);
        assert_eq!(map.find(Keysym::eacute), Some(Key { keycode: 9, shift: false }));
        assert_eq!(map.spare(), None);
    }

    #[test]
    fn a_map_without_columns_has_no_key() {
        let map = Map { first_keycode: 8, columns: 0, symbols: Vec::new() };
        assert_eq!((map.find(Keysym::a), map.spare()), (None, None));
    }
}
