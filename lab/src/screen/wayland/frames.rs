//! Frames of the screen: one request is always pending, and is answered after drawing.
//!
//! The compositor accumulates damage while no request is pending, and answers the next one at once. A late request
//! therefore gives a change a late time, but loses none. Pixels are those of the last frame: later drawing is reported
//! with the next.

use std::os::fd::AsFd as _;

use brisk_core::token_bucket::TokenBucket;
use wayland_client::protocol::wl_buffer::WlBuffer;
use wayland_client::protocol::wl_output::WlOutput;
use wayland_client::protocol::wl_shm::{Format, WlShm};
use wayland_protocols_wlr::screencopy::v1::client::{
    zwlr_screencopy_frame_v1::ZwlrScreencopyFrameV1, zwlr_screencopy_manager_v1::ZwlrScreencopyManagerV1,
};

use super::link::{ANSWER_NS, Link};
use super::state::{Frame, Layout, Progress};
use crate::screen::clock::monotonic_ns;
use crate::screen::interface::{Change, Error, Kind, Picture, Rect, Result};
use crate::screen::shared_memory::SharedMemory;

const BYTES_PER_PIXEL: usize = 4;
/// Time between frames in the long run.
const INTERVAL_NS: u64 = 40_000_000;
/// Frames that may follow each other at once after a quiet time, so that single changes are dated exactly.
const BURST_FRAMES: u64 = 16;

/// Memory that the compositor copies a frame into.
#[derive(Debug)]
struct Buffer {
    memory: SharedMemory,
    buffer: WlBuffer,
    layout: Layout,
    upside_down: bool,
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.buffer.destroy();
    }
}

#[derive(Debug)]
struct Request {
    frame: ZwlrScreencopyFrameV1,
    /// Whether the buffer was sent.
    copying: bool,
}

#[derive(Debug)]
pub(super) struct Frames {
    manager: ZwlrScreencopyManagerV1,
    output: WlOutput,
    shm: WlShm,
    request: Option<Request>,
    /// The last frame, and the next one.
    last: Option<Buffer>,
    next: Option<Buffer>,
    /// Each frame costs the compositor a copy of the screen, about a millisecond, so frames are rationed.
    pace: TokenBucket,
}

impl Frames {
    /// Waits for the first frame, so that pixels are available.
    pub(super) fn new(link: &mut Link) -> Result<Self> {
        let mut frames = Self {
            manager: link.needed(3)?,
            output: link.needed(2)?,
            shm: link.needed(1)?,
            request: None,
            last: None,
            next: None,
            pace: TokenBucket::new(BURST_FRAMES, INTERVAL_NS),
        };
        if wayland_client::Proxy::version(&frames.manager) < 2 {
            return Err(Error::Lacks {
                display: link.display.clone(),
                what: "damage of frames (version 2 of zwlr_screencopy_manager_v1)".into(),
                remedy: "update the compositor".into(),
            });
        }
        let until_ns = monotonic_ns() + ANSWER_NS;
        while frames.last.is_none() {
            frames.advance(link)?;
            if frames.last.is_none() && !link.pump(until_ns)? {
                return Err(link.silent("a picture of the screen"));
            }
        }
        // The first frame is entirely damaged.
        link.state.changes.retain(|change| !matches!(change.kind, Kind::Damage(_)));
        Ok(frames)
    }

    /// Width and height of the last frame.
    pub(super) fn size(&self) -> (u32, u32) {
        self.last.as_ref().map_or((0, 0), |buffer| (buffer.layout.width, buffer.layout.height))
    }

    /// Time when [`Frames::advance`] has work without an event; `None` while a request is pending.
    pub(super) fn due_ns(&self) -> Option<u64> {
        self.request.is_none().then(|| self.pace.ready_ns())
    }

    /// Continues the request as far as events allow.
    pub(super) fn advance(&mut self, link: &mut Link) -> Result<()> {
        match (&mut self.request, link.state.frame.progress) {
            (None, _) if monotonic_ns() < self.pace.ready_ns() => {}
            (request @ None, _) => {
                let serial = link.state.frame.serial.wrapping_add(1);
                link.state.frame = Frame { serial, ..Frame::default() };
                let frame = self.manager.capture_output(0, &self.output, &link.handle(), serial);
                *request = Some(Request { frame, copying: false });
            }
            (Some(request @ Request { copying: false, .. }), Progress::Described) => {
                let Some(layout) = link.state.frame.layout else {
                    return Err(refused("the compositor offers no shared memory for it"));
                };
                if self.next.as_ref().is_none_or(|buffer| buffer.layout != layout) {
                    self.next = Some(buffer(link, &self.shm, layout)?);
                }
                if let Some(next) = &self.next {
                    request.frame.copy_with_damage(&next.buffer);
                    request.copying = true;
                }
            }
            (Some(_), Progress::Ready { at_ns }) => {
                self.finish();
                self.pace.spend(monotonic_ns());
                std::mem::swap(&mut self.last, &mut self.next);
                if let Some(last) = &mut self.last {
                    last.upside_down = link.state.frame.upside_down;
                    let height = last.layout.height;
                    for rect in std::mem::take(&mut link.state.frame.damage) {
                        let rect = if last.upside_down { flipped(rect, height) } else { rect };
                        link.state.changes.push(Change { at_ns, kind: Kind::Damage(rect) });
                    }
                }
                // Drawing meanwhile is requested at once.
                return self.advance(link);
            }
            (Some(_), Progress::Failed) => {
                self.finish();
                self.pace.spend(monotonic_ns());
                if self.last.is_none() {
                    return Err(refused("the compositor failed to copy it; the output may be switched off"));
                }
            }
            (Some(_), _) => {}
        }
        link.flush()
    }

    fn finish(&mut self) {
        if let Some(request) = self.request.take() {
            request.frame.destroy();
        }
    }

    /// Pixels of the last frame.
    pub(super) fn picture(&self, rect: Rect) -> Result<Picture> {
        let rect = rect.clipped_to(self.size());
        let mut bgrx = Vec::with_capacity(rect.width as usize * rect.height as usize * BYTES_PER_PIXEL);
        let Some(Buffer { memory, layout, upside_down, .. }) = &self.last else { return Err(refused("there is none")) };
        for row in rect.y.unsigned_abs()..rect.y.unsigned_abs() + rect.height {
            let row = if *upside_down { layout.height - 1 - row } else { row };
            let begin = row as usize * layout.stride_bytes as usize + rect.x.unsigned_abs() as usize * BYTES_PER_PIXEL;
            memory.append_to(begin..begin + rect.width as usize * BYTES_PER_PIXEL, &mut bgrx);
        }
        let red_first = is_red_first(layout.format) == Some(true);
        for pixel in bgrx.chunks_exact_mut(BYTES_PER_PIXEL) {
            if red_first {
                pixel.swap(0, 2);
            }
            pixel[3] = 0;
        }
        Ok(Picture { rect, bgrx })
    }
}

/// Allocates a buffer for frames.
fn buffer(link: &Link, shm: &WlShm, layout: Layout) -> Result<Buffer> {
    let Layout { format, width, height, stride_bytes } = layout;
    let len_bytes = stride_bytes as usize * height as usize;
    let known = is_red_first(format).and_then(|_| Format::try_from(format).ok());
    let sides = i32::try_from(width).ok().zip(i32::try_from(height).ok()).zip(i32::try_from(stride_bytes).ok());
    let (Some(format), Some(((width, height), stride)), Ok(len)) = (known, sides, i32::try_from(len_bytes)) else {
        return Err(Error::Lacks {
            display: link.display.clone(),
            what: format!("frames of 24 bits colour in four bytes (it has format {format:#x}, {width} x {height})"),
            remedy: "choose another format of the output in the compositor's configuration".into(),
        });
    };
    if len_bytes == 0 || stride_bytes as usize != layout.width as usize * BYTES_PER_PIXEL {
        return Err(refused(&format!("its rows have {stride_bytes} bytes for {width} pixels")));
    }
    let memory = SharedMemory::new(len_bytes).map_err(|error| refused(&format!("no memory for it: {error}")))?;
    let pool = shm.create_pool(memory.as_fd(), len, &link.handle(), ());
    let buffer = pool.create_buffer(0, width, height, stride, format, &link.handle(), ());
    pool.destroy();
    Ok(Buffer { memory, buffer, layout, upside_down: false })
}

/// Order of bytes in memory; `None` for a format that is not 24 bits in four bytes.
fn is_red_first(format: u32) -> Option<bool> {
    match Format::try_from(format).ok()? {
        Format::Argb8888 | Format::Xrgb8888 => Some(false),
        Format::Abgr8888 | Format::Xbgr8888 => Some(true),
        _ => None,
    }
}

/// A rectangle counted from the lower edge.
fn flipped(rect: Rect, height: u32) -> Rect {
    let below = i64::from(height) - i64::from(rect.y) - i64::from(rect.height);
    Rect { y: i32::try_from(below).unwrap_or(0), ..rect }
}

fn refused(reason: &str) -> Error {
    Error::Refused { what: "a picture of the screen".into(), reason: reason.to_owned() }
}
