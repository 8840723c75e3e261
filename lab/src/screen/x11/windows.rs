//! Top-level windows.
//!
//! With a window manager these are the clients that it lists on the root (EWMH `_NET_CLIENT_LIST`); without one, the
//! children of the root except those with override-redirect, which are menus and tooltips. In both cases only viewable
//! windows count. A window manager without EWMH is not recognised; its frames count as the windows.
//!
//! Events only trigger a scan; the state comes from a scan of all windows, so the order of events does not matter.

use std::collections::{BTreeMap, BTreeSet};

use x11rb::connection::RequestConnection as _;
use x11rb::protocol::Event;
use x11rb::protocol::res::{self, ConnectionExt as _};
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ChangeWindowAttributesAux, ClientMessageEvent, ConnectionExt as _, EventMask, GetPropertyReply,
    MapState, Window, WindowClass,
};

use super::link::Link;
use crate::screen::interface::{Kind, Rect, Result, WindowInfo};

x11rb::atom_manager! {
    pub(super) Atoms: AtomsCookie {
        _NET_ACTIVE_WINDOW,
        _NET_CLIENT_LIST,
        _NET_SUPPORTING_WM_CHECK,
        _NET_WM_NAME,
        _NET_WM_PID,
        UTF8_STRING,
    }
}

/// Longest title and class, in units of four bytes.
const TEXT_WORDS_MAX: u32 = 4096;

/// The known windows, and whether a scan is due.
#[derive(Debug)]
pub(super) struct Windows {
    root: Window,
    atoms: Atoms,
    server_knows_pids: bool,
    known: BTreeMap<Window, WindowInfo>,
    order: Vec<Window>,
    watched: BTreeSet<Window>,
    managed: bool,
    stale: bool,
    renamed: BTreeSet<Window>,
}

impl Windows {
    /// Starts watching the root; existing windows are known and not reported.
    pub(super) fn new(link: &Link) -> Result<Self> {
        let root = link.screen().root;
        let atoms = link.sent("names of properties", Atoms::new(&link.conn))?;
        let atoms = link.answer("names of properties", atoms.reply())?;
        let mask = EventMask::SUBSTRUCTURE_NOTIFY | EventMask::STRUCTURE_NOTIFY | EventMask::PROPERTY_CHANGE;
        let select = ChangeWindowAttributesAux::new().event_mask(mask);
        link.sent("events of the root", link.conn.change_window_attributes(root, &select))?;
        let extension =
            link.sent("the X-Resource extension", link.conn.extension_information(res::X11_EXTENSION_NAME))?;
        let mut server_knows_pids = false;
        if extension.is_some() {
            let version = link.sent("the X-Resource extension", link.conn.res_query_version(1, 2))?;
            let version = link.answer("the X-Resource extension", version.reply())?;
            server_knows_pids = (version.server_major, version.server_minor) >= (1, 2);
        }
        let mut windows = Self {
            root,
            atoms,
            server_knows_pids,
            known: BTreeMap::new(),
            order: Vec::new(),
            watched: BTreeSet::new(),
            managed: false,
            stale: true,
            renamed: BTreeSet::new(),
        };
        windows.scan(link)?;
        Ok(windows)
    }

    /// The windows of the last scan.
    pub(super) fn known(&self) -> impl Iterator<Item = &WindowInfo> {
        self.known.values()
    }

    /// The newest existing window.
    pub(super) fn newest(&self) -> Option<Window> {
        self.order.last().copied()
    }

    /// The message by which a window manager is asked to bring a window to the front (EWMH).
    pub(super) fn activation(&self, window: Window) -> ClientMessageEvent {
        // 2: on behalf of the user, which no manager refuses in favour of the window in front.
        ClientMessageEvent::new(32, window, self.atoms._NET_ACTIVE_WINDOW, [2, x11rb::CURRENT_TIME, 0, 0, 0])
    }

    /// Whether a window manager answers.
    pub(super) fn managed(&self) -> bool {
        self.managed
    }

    /// Marks a scan as due if `event` requires it.
    pub(super) fn note(&mut self, event: &Event) {
        match event {
            // Frames may have override-redirect; their clients become viewable with them.
            Event::MapNotify(event) => self.stale |= self.managed || !event.override_redirect,
            Event::UnmapNotify(event) => self.stale |= self.managed || self.known.contains_key(&event.window),
            Event::ReparentNotify(_) => self.stale = true,
            Event::DestroyNotify(event) => {
                self.stale |= self.known.contains_key(&event.window);
                self.watched.remove(&event.window);
            }
            Event::PropertyNotify(event) if event.window == self.root => {
                let lists = [self.atoms._NET_CLIENT_LIST, self.atoms._NET_SUPPORTING_WM_CHECK];
                self.stale |= lists.contains(&event.atom);
            }
            Event::PropertyNotify(event) if self.known.contains_key(&event.window) => {
                let class = Atom::from(AtomEnum::WM_CLASS);
                let name = Atom::from(AtomEnum::WM_NAME);
                if [class, name, self.atoms._NET_WM_NAME, self.atoms._NET_WM_PID].contains(&event.atom) {
                    self.renamed.insert(event.window);
                }
            }
            _ => {}
        }
    }

    pub(super) fn due(&self) -> bool {
        self.stale || !self.renamed.is_empty()
    }

    /// Scans if due, and returns the changes.
    pub(super) fn changes(&mut self, link: &Link) -> Result<Vec<Kind>> {
        let mut found = Vec::new();
        if self.stale {
            found = self.scan(link)?;
        }
        for window in std::mem::take(&mut self.renamed) {
            let Some(before) = self.known.get(&window) else { continue };
            let Some(now) = self.info(link, window)? else { continue };
            let said = (before.title != now.title) || (before.app_id != now.app_id) || (before.pid != now.pid);
            if said {
                found.push(Kind::WindowChanged(now.clone()));
            }
            self.known.insert(window, now);
        }
        Ok(found)
    }

    /// Scans all windows, which updates their places too.
    pub(super) fn refresh(&mut self, link: &Link) -> Result<Vec<Kind>> {
        let found = self.scan(link)?;
        for window in self.order.clone() {
            if let Some(rect) = self.place(link, window)?
                && let Some(info) = self.known.get_mut(&window)
            {
                info.rect = Some(rect);
            }
        }
        Ok(found)
    }

    fn scan(&mut self, link: &Link) -> Result<Vec<Kind>> {
        self.stale = false;
        let clients = self.clients(link)?;
        self.managed = clients.is_some();
        let candidates = match clients {
            Some(clients) => clients,
            None => {
                let tree = link.sent("the windows", link.conn.query_tree(self.root))?;
                link.answer("the windows", tree.reply())?.children
            }
        };
        // Events are selected before reading, so that later changes cause an event.
        let select = EventMask::STRUCTURE_NOTIFY | EventMask::PROPERTY_CHANGE;
        let select = ChangeWindowAttributesAux::new().event_mask(select);
        let mut asked = Vec::with_capacity(candidates.len());
        for window in candidates {
            if self.watched.insert(window) {
                link.sent("events of a window", link.conn.change_window_attributes(window, &select))?.ignore_error();
            }
            let attributes = link.sent("a window", link.conn.get_window_attributes(window))?;
            asked.push((window, attributes));
        }
        let mut shown = BTreeSet::new();
        let mut new = Vec::new();
        for (window, attributes) in asked {
            let Some(attributes) = link.answer_if_there("a window", attributes.reply())? else { continue };
            let menu = attributes.override_redirect && !self.managed;
            if attributes.map_state != MapState::VIEWABLE || attributes.class == WindowClass::INPUT_ONLY || menu {
                continue;
            }
            shown.insert(window);
            if !self.known.contains_key(&window) {
                new.push(window);
            }
        }
        let gone: Vec<Window> = self.known.keys().filter(|window| !shown.contains(window)).copied().collect();
        let mut found = Vec::new();
        for window in gone {
            self.known.remove(&window);
            found.push(Kind::WindowGone { id: window.into() });
        }
        self.order.retain(|window| shown.contains(window));
        for window in new {
            let Some(info) = self.info(link, window)? else { continue };
            self.known.insert(window, info.clone());
            self.order.push(window);
            found.push(Kind::WindowShown(info));
        }
        Ok(found)
    }

    /// The window manager's list of clients; `None` when there is no window manager.
    fn clients(&self, link: &Link) -> Result<Option<Vec<Window>>> {
        let windows = |window, property| {
            let reply = link.conn.get_property(false, window, property, AtomEnum::WINDOW, 0, TEXT_WORDS_MAX);
            let reply = link.answer_if_there("the window manager", link.sent("the window manager", reply)?.reply())?;
            Ok(reply.as_ref().and_then(GetPropertyReply::value32).map(Iterator::collect::<Vec<Window>>))
        };
        // The property outlives a dead window manager; the window that it names does not.
        let check = self.atoms._NET_SUPPORTING_WM_CHECK;
        let Some(own) = windows(self.root, check)?.and_then(|named| named.first().copied()) else { return Ok(None) };
        if windows(own, check)? != Some(vec![own]) {
            return Ok(None);
        }
        windows(self.root, self.atoms._NET_CLIENT_LIST)
    }

    /// Properties of a window; `None` when it was closed.
    fn info(&self, link: &Link, window: Window) -> Result<Option<WindowInfo>> {
        let property = |property: Atom| {
            let kind = AtomEnum::ANY;
            let asked = link.conn.get_property(false, window, property, kind, 0, TEXT_WORDS_MAX);
            link.sent("a property", asked)
        };
        let class = property(AtomEnum::WM_CLASS.into())?;
        let name = property(AtomEnum::WM_NAME.into())?;
        let net_name = property(self.atoms._NET_WM_NAME)?;
        let pid = property(self.atoms._NET_WM_PID)?;
        let Some(class) = link.answer_if_there("the class of a window", class.reply())? else { return Ok(None) };
        let Some(name) = link.answer_if_there("the title of a window", name.reply())? else { return Ok(None) };
        let Some(net_name) = link.answer_if_there("the title of a window", net_name.reply())? else { return Ok(None) };
        let Some(pid) = link.answer_if_there("the process of a window", pid.reply())? else { return Ok(None) };
        let said = pid.value32().and_then(|mut values| values.next()).filter(|pid| *pid != 0);
        let pid = match said {
            Some(pid) => Some(pid),
            None => self.pid_by_server(link, window)?,
        };
        let title = if net_name.value.is_empty() { self.text(&name) } else { self.text(&net_name) };
        let rect = self.place(link, window)?;
        Ok(Some(WindowInfo { id: window.into(), title, app_id: class_of(&class.value), pid, rect }))
    }

    /// The process that created the window, for local connections.
    fn pid_by_server(&self, link: &Link, window: Window) -> Result<Option<u32>> {
        if !self.server_knows_pids {
            return Ok(None);
        }
        let spec = res::ClientIdSpec { client: window, mask: res::ClientIdMask::LOCAL_CLIENT_PID };
        let ids = link.sent("the process of a window", link.conn.res_query_client_ids(&[spec]))?;
        let ids = link.answer_if_there("the process of a window", ids.reply())?;
        Ok(ids.and_then(|ids| ids.ids.first().and_then(|id| id.value.first().copied())).filter(|pid| *pid != 0))
    }

    fn place(&self, link: &Link, window: Window) -> Result<Option<Rect>> {
        let geometry = link.sent("the place of a window", link.conn.get_geometry(window))?;
        let corner = link.sent("the place of a window", link.conn.translate_coordinates(window, self.root, 0, 0))?;
        let geometry = link.answer_if_there("the place of a window", geometry.reply())?;
        let corner = link.answer_if_there("the place of a window", corner.reply())?;
        Ok(geometry.zip(corner).map(|(geometry, corner)| Rect {
            x: corner.dst_x.into(),
            y: corner.dst_y.into(),
            width: geometry.width.into(),
            height: geometry.height.into(),
        }))
    }

    fn text(&self, property: &GetPropertyReply) -> String {
        text(&property.value, property.type_ == self.atoms.UTF8_STRING)
    }
}

/// Text of a property. Many apps use UTF-8 without declaring it; otherwise it is Latin-1 (ICCCM 2.7.1).
fn text(bytes: &[u8], utf8: bool) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) if utf8 => String::from_utf8_lossy(bytes).into_owned(),
        Err(_) => bytes.iter().copied().map(char::from).collect(),
    }
}

/// The class in WM_CLASS, which holds instance and class, each zero-terminated (ICCCM 4.1.2.5); the instance where the
/// class is missing.
fn class_of(bytes: &[u8]) -> String {
    let mut parts = bytes.split(|byte| *byte == 0);
    let instance = parts.next().unwrap_or_default();
    let class = parts.next().filter(|class| !class.is_empty()).unwrap_or(instance);
    text(class, false)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_class_is_the_second_part_of_wm_class() {
        for (bytes, class) in [
            (&b"xterm\0XTerm\0"[..], "XTerm"),
            (b"xterm\0XTerm", "XTerm"),
            (b"xterm\0\0", "xterm"),
            (b"xterm", "xterm"),
            (b"", ""),
            (b"a\0b\0c\0", "b"),
            (b"a\0caf\xe9\0", "café"),
            ("a\0café\0".as_bytes(), "café"),
        ] {
            assert_eq!(class_of(bytes), class, "{bytes:?}");
        }
    }

    #[test]
    fn titles_with_invalid_bytes_stay_readable() {
        assert_eq!(text(b"caf\xe9", false), "café");
        assert_eq!(text("café".as_bytes(), false), "café");
        assert_eq!(text(b"caf\xe9", true), "caf\u{fffd}");
        assert_eq!(text(b"a\x1b[31m\nb\0", true), "a\x1b[31m\nb\0");
    }

    proptest! {
        #[test]
        fn no_bytes_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..64), utf8: bool) {
            text(&bytes, utf8);
            class_of(&bytes);
        }
    }
}
