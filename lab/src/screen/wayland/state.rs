//! State received from the compositor.

use std::collections::HashMap;

use wayland_client::backend::ObjectId;
use wayland_client::protocol::{
    wl_buffer::WlBuffer, wl_callback::WlCallback, wl_output::WlOutput, wl_registry, wl_registry::WlRegistry,
    wl_seat::WlSeat, wl_shm::WlShm, wl_shm_pool::WlShmPool,
};
use wayland_client::{Connection, Dispatch, Proxy as _, QueueHandle, WEnum, delegate_noop, event_created_child};
use wayland_protocols_misc::zwp_virtual_keyboard_v1::client::{
    zwp_virtual_keyboard_manager_v1::ZwpVirtualKeyboardManagerV1, zwp_virtual_keyboard_v1::ZwpVirtualKeyboardV1,
};
use wayland_protocols_wlr::foreign_toplevel::v1::client::{
    zwlr_foreign_toplevel_handle_v1::{self, ZwlrForeignToplevelHandleV1},
    zwlr_foreign_toplevel_manager_v1::{self, ZwlrForeignToplevelManagerV1},
};
use wayland_protocols_wlr::screencopy::v1::client::{
    zwlr_screencopy_frame_v1::{self, Flags, ZwlrScreencopyFrameV1},
    zwlr_screencopy_manager_v1::ZwlrScreencopyManagerV1,
};
use wayland_protocols_wlr::virtual_pointer::v1::client::{
    zwlr_virtual_pointer_manager_v1::ZwlrVirtualPointerManagerV1, zwlr_virtual_pointer_v1::ZwlrVirtualPointerV1,
};

use crate::screen::clock::monotonic_ns;
use crate::screen::interface::{Change, Kind, Rect, WindowInfo};

/// Age up to which the compositor's time of a frame is assumed to be of our clock.
const FRAME_AGE_MAX_NS: u64 = 1_000_000_000;

/// A global of the compositor.
#[derive(Debug, Clone)]
pub(super) struct Global {
    pub(super) name: u32,
    pub(super) interface: String,
    pub(super) version: u32,
}

/// Layout of a frame's pixels in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    /// Number of the format in wl_shm.
    pub(super) format: u32,
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) stride_bytes: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Progress {
    /// Its layout is unknown.
    #[default]
    Asked,
    /// It is ready for a buffer.
    Described,
    /// The pixels are complete.
    Ready {
        at_ns: u64,
    },
    Failed,
}

#[derive(Debug, Default)]
pub(super) struct Frame {
    /// Its number; events of others are outdated.
    pub(super) serial: u32,
    pub(super) progress: Progress,
    pub(super) layout: Option<Layout>,
    pub(super) damage: Vec<Rect>,
    pub(super) upside_down: bool,
}

/// A window under construction.
#[derive(Debug, Default)]
struct Toplevel {
    info: WindowInfo,
    handle: Option<ZwlrForeignToplevelHandleV1>,
    shown: bool,
    changed: bool,
    /// Number of its activation among all, while it is activated.
    activation: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) globals: Vec<Global>,
    pub(super) synced: bool,
    pub(super) frame: Frame,
    /// Changes not yet returned.
    pub(super) changes: Vec<Change>,
    toplevels: HashMap<ObjectId, Toplevel>,
    windows_so_far: u64,
    activations_so_far: u64,
}

impl State {
    pub(super) fn windows(&self) -> Vec<WindowInfo> {
        self.toplevels.values().filter(|window| window.shown).map(|window| window.info.clone()).collect()
    }

    /// The protocol's object for a window.
    pub(super) fn handle(&self, window: u64) -> Option<&ZwlrForeignToplevelHandleV1> {
        let found = self.toplevels.values().find(|toplevel| toplevel.shown && toplevel.info.id == window);
        found.and_then(|toplevel| toplevel.handle.as_ref())
    }

    /// Whether a window has the keys.
    pub(super) fn is_activated(&self, window: u64) -> bool {
        self.toplevels.values().any(|toplevel| toplevel.info.id == window && toplevel.activation.is_some())
    }

    fn change(&mut self, kind: Kind) {
        self.changes.push(Change { at_ns: monotonic_ns(), kind });
    }
}

impl Dispatch<WlRegistry, ()> for State {
    fn event(
        state: &mut Self,
        _: &WlRegistry,
        event: wl_registry::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        match event {
            wl_registry::Event::Global { name, interface, version } => {
                state.globals.push(Global { name, interface, version });
            }
            wl_registry::Event::GlobalRemove { name } => state.globals.retain(|global| global.name != name),
            _ => {}
        }
    }
}

impl Dispatch<WlCallback, ()> for State {
    fn event(
        state: &mut Self,
        _: &WlCallback,
        _: <WlCallback as wayland_client::Proxy>::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        state.synced = true;
    }
}

impl Dispatch<ZwlrScreencopyFrameV1, u32> for State {
    fn event(
        state: &mut Self,
        proxy: &ZwlrScreencopyFrameV1,
        event: zwlr_screencopy_frame_v1::Event,
        serial: &u32,
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        use zwlr_screencopy_frame_v1::Event;
        let frame = &mut state.frame;
        if *serial != frame.serial {
            return;
        }
        match event {
            Event::Buffer { format, width, height, stride } => {
                let format = match format {
                    WEnum::Value(format) => format.into(),
                    WEnum::Unknown(format) => format,
                };
                frame.layout = Some(Layout { format, width, height, stride_bytes: stride });
                // Since version 3, other kinds of buffers may follow, and the end of the list is signalled.
                if proxy.version() < 3 {
                    frame.progress = Progress::Described;
                }
            }
            Event::BufferDone => frame.progress = Progress::Described,
            Event::Flags { flags } => {
                frame.upside_down = matches!(flags, WEnum::Value(flags) if flags.contains(Flags::YInvert));
            }
            Event::Damage { x, y, width, height } => {
                let corner = i32::try_from(x).ok().zip(i32::try_from(y).ok());
                frame.damage.extend(corner.map(|(x, y)| Rect { x, y, width, height }));
            }
            Event::Ready { tv_sec_hi, tv_sec_lo, tv_nsec } => {
                let seconds = u64::from(tv_sec_hi) << 32 | u64::from(tv_sec_lo);
                let shown_ns = seconds.saturating_mul(1_000_000_000).saturating_add(tv_nsec.into());
                let now_ns = monotonic_ns();
                let of_our_clock = shown_ns <= now_ns && now_ns - shown_ns < FRAME_AGE_MAX_NS;
                frame.progress = Progress::Ready { at_ns: if of_our_clock { shown_ns } else { now_ns } };
            }
            Event::Failed => frame.progress = Progress::Failed,
            _ => {}
        }
    }
}

impl Dispatch<ZwlrForeignToplevelManagerV1, ()> for State {
    fn event(
        state: &mut Self,
        _: &ZwlrForeignToplevelManagerV1,
        event: zwlr_foreign_toplevel_manager_v1::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        if let zwlr_foreign_toplevel_manager_v1::Event::Toplevel { toplevel } = event {
            // The protocol reuses its own ids for other windows.
            state.windows_so_far += 1;
            let info = WindowInfo { id: state.windows_so_far, ..WindowInfo::default() };
            let id = toplevel.id();
            state.toplevels.insert(id, Toplevel { info, handle: Some(toplevel), ..Toplevel::default() });
        }
    }

    event_created_child!(State, ZwlrForeignToplevelManagerV1, [
        zwlr_foreign_toplevel_manager_v1::EVT_TOPLEVEL_OPCODE => (ZwlrForeignToplevelHandleV1, ())
    ]);
}

impl Dispatch<ZwlrForeignToplevelHandleV1, ()> for State {
    fn event(
        state: &mut Self,
        proxy: &ZwlrForeignToplevelHandleV1,
        event: zwlr_foreign_toplevel_handle_v1::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        use zwlr_foreign_toplevel_handle_v1::Event;
        let Some(window) = state.toplevels.get_mut(&proxy.id()) else { return };
        match event {
            Event::Title { title } => {
                window.changed |= window.info.title != title;
                window.info.title = title;
            }
            Event::AppId { app_id } => {
                window.changed |= window.info.app_id != app_id;
                window.info.app_id = app_id;
            }
            Event::State { state: words } => {
                // Four bytes each, in the order of this machine; 2 is activated.
                let activated = words.chunks_exact(4).any(|word| word == 2_u32.to_ne_bytes());
                // It is told again with other words.
                if activated && window.activation.is_none() {
                    state.activations_so_far += 1;
                }
                window.activation = activated.then(|| window.activation.unwrap_or(state.activations_so_far));
            }
            Event::Done if !window.shown => {
                (window.shown, window.changed) = (true, false);
                let info = window.info.clone();
                state.change(Kind::WindowShown(info));
            }
            Event::Done if std::mem::take(&mut window.changed) => {
                let info = window.info.clone();
                state.change(Kind::WindowChanged(info));
            }
            Event::Closed => {
                let (id, shown) = (window.info.id, window.shown);
                state.toplevels.remove(&proxy.id());
                proxy.destroy();
                if shown {
                    state.change(Kind::WindowGone { id });
                }
            }
            _ => {}
        }
    }
}

delegate_noop!(State: ignore WlOutput);
delegate_noop!(State: ignore WlSeat);
delegate_noop!(State: ignore WlShm);
delegate_noop!(State: ignore WlShmPool);
delegate_noop!(State: ignore WlBuffer);
delegate_noop!(State: ignore ZwlrScreencopyManagerV1);
delegate_noop!(State: ignore ZwlrVirtualPointerManagerV1);
delegate_noop!(State: ignore ZwlrVirtualPointerV1);
delegate_noop!(State: ignore ZwpVirtualKeyboardManagerV1);
delegate_noop!(State: ignore ZwpVirtualKeyboardV1);
