//! Pixels from the server: through shared memory where possible, otherwise through the connection.

use std::os::fd::AsFd as _;

use x11rb::connection::RequestConnection as _;
use x11rb::protocol::shm::{self, ConnectionExt as _};
use x11rb::protocol::xproto::{ConnectionExt as _, ImageFormat, ImageOrder, Window};

use super::link::Link;
use crate::screen::interface::{Error, Picture, Rect, Result};
use crate::screen::shared_memory::SharedMemory;

const BYTES_PER_PIXEL: usize = 4;

/// A segment shared with the server.
#[derive(Debug)]
struct Segment {
    id: u32,
    memory: SharedMemory,
}

/// Access to the pixels of the root window.
#[derive(Debug)]
pub(super) struct Pixels {
    root: Window,
    /// Whether attaching by file descriptor works (MIT-SHM 1.2, a local server).
    can_share: bool,
    segment: Option<Segment>,
}

impl Pixels {
    /// Finds the access method.
    ///
    /// # Errors
    /// When the screen's pixels are not 24 bits in four bytes, blue first.
    pub(super) fn new(link: &Link) -> Result<Self> {
        let screen = link.screen();
        let setup = x11rb::connection::Connection::setup(&link.conn);
        let format = setup.pixmap_formats.iter().find(|format| format.depth == screen.root_depth);
        let mut visuals = screen.allowed_depths.iter().flat_map(|depth| &depth.visuals);
        let visual = visuals.find(|visual| visual.visual_id == screen.root_visual);
        let masks = visual.map(|visual| (visual.red_mask, visual.green_mask, visual.blue_mask));
        let bits = format.map(|format| (format.bits_per_pixel, format.scanline_pad));
        let first = setup.image_byte_order;
        if masks != Some((0xff_0000, 0xff00, 0xff)) || bits != Some((32, 32)) || first != ImageOrder::LSB_FIRST {
            return Err(Error::Lacks {
                display: link.display.clone(),
                what: "a screen of 24 bits colour in four bytes".into(),
                remedy: format!("start it with depth 24 (it has depth {})", screen.root_depth),
            });
        }
        let what = "the MIT-SHM extension";
        let mut can_share = false;
        if link.sent(what, link.conn.extension_information(shm::X11_EXTENSION_NAME))?.is_some() {
            let version = link.sent(what, link.conn.shm_query_version())?;
            let version = link.answer(what, version.reply())?;
            can_share = (version.major_version, version.minor_version) >= (1, 2);
        }
        Ok(Self { root: screen.root, can_share, segment: None })
    }

    /// The pixels of `rect`, which lies inside of a screen of `size`.
    pub(super) fn picture(&mut self, link: &Link, rect: Rect, size: (u32, u32)) -> Result<Picture> {
        let len_bytes = rect.width as usize * rect.height as usize * BYTES_PER_PIXEL;
        let mut bgrx = Vec::with_capacity(len_bytes);
        let root = self.root;
        if len_bytes > 0 {
            match self.segment(link, len_bytes, size)? {
                Some(segment) => fetch_shared(link, root, segment, rect, &mut bgrx)?,
                None => fetch(link, root, rect, &mut bgrx)?,
            }
            if bgrx.len() < len_bytes {
                let reason = format!("{} bytes came, {len_bytes} were due", bgrx.len());
                return Err(Error::Refused { what: "a picture".into(), reason });
            }
            bgrx.truncate(len_bytes);
        }
        for pixel in bgrx.chunks_exact_mut(BYTES_PER_PIXEL) {
            pixel[3] = 0;
        }
        Ok(Picture { rect, bgrx })
    }

    /// A segment of at least `len_bytes`, preferably of the whole screen; `None` without shared memory.
    fn segment(&mut self, link: &Link, len_bytes: usize, size: (u32, u32)) -> Result<Option<&Segment>> {
        if self.segment.as_ref().is_some_and(|segment| segment.memory.len_bytes() < len_bytes)
            && let Some(small) = self.segment.take()
        {
            link.sent("shared memory", link.conn.shm_detach(small.id))?.ignore_error();
        }
        if self.segment.is_none() && self.can_share {
            let whole = size.0 as usize * size.1 as usize * BYTES_PER_PIXEL;
            self.segment = attach(link, whole.max(len_bytes))?;
            self.can_share = self.segment.is_some();
        }
        Ok(self.segment.as_ref())
    }
}

/// Shares memory with the server; `None` when the server is remote or refuses.
fn attach(link: &Link, len_bytes: usize) -> Result<Option<Segment>> {
    let Ok(memory) = SharedMemory::new(len_bytes) else { return Ok(None) };
    let Ok(fd) = memory.as_fd().try_clone_to_owned() else { return Ok(None) };
    let id = link.new_id()?;
    let Ok(attached) = link.conn.shm_attach_fd(id, fd, false) else { return Ok(None) };
    let attached = link.answer_if_there("shared memory", attached.check())?;
    Ok(attached.map(|()| Segment { id, memory }))
}

fn fetch_shared(link: &Link, root: Window, segment: &Segment, rect: Rect, out: &mut Vec<u8>) -> Result<()> {
    let (x, y, width, height) = wire(rect)?;
    let format = ImageFormat::Z_PIXMAP.into();
    let asked = link.conn.shm_get_image(root, x, y, width, height, u32::MAX, format, segment.id, 0);
    let reply = link.answer("a picture", link.sent("a picture", asked)?.reply())?;
    segment.memory.append_to(0..reply.size as usize, out);
    Ok(())
}

fn fetch(link: &Link, root: Window, rect: Rect, out: &mut Vec<u8>) -> Result<()> {
    let (x, y, width, height) = wire(rect)?;
    let asked = link.conn.get_image(ImageFormat::Z_PIXMAP, root, x, y, width, height, u32::MAX);
    let reply = link.answer("a picture", link.sent("a picture", asked)?.reply())?;
    out.extend_from_slice(&reply.data);
    Ok(())
}

/// A rectangle as the protocol has it.
fn wire(rect: Rect) -> Result<(i16, i16, u16, u16)> {
    let place = i16::try_from(rect.x).ok().zip(i16::try_from(rect.y).ok());
    let size = u16::try_from(rect.width).ok().zip(u16::try_from(rect.height).ok());
    place.zip(size).map(|((x, y), (width, height))| (x, y, width, height)).ok_or_else(|| Error::Refused {
        what: "a picture".into(),
        reason: format!("{rect:?} is beyond what X11 can name"),
    })
}
