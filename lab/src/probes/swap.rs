//! Events of one swap area: pages that are written to it and read from it, and faults on pages that are not mapped.
//!
//! Reclaim is done by any process for any other, so these programs watch a device and not a group. Whose a page is, the
//! kernel knows of the page itself: the memory group that is charged, and the page's number in its mapping.

use aya::maps::{Array, MapData, RingBuf};
use aya::programs::{BtfTracePoint, ProgramError};
use aya::{Btf, Ebpf, EbpfLoader};

use crate::probes::error::Error;
use crate::probes::load::{explain, permitted};
use crate::probes::record::Fields;
use crate::probes::trace::ring_bytes;

#[cfg(not(brisk_no_bpf))]
static OBJECT: Option<&[u8]> = Some(aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/swap.bpf.o")));
#[cfg(brisk_no_bpf)]
static OBJECT: Option<&[u8]> = None;

/// `SWP_TYPE_SHIFT` of the kernel (include/linux/swapops.h): 63 bits, of which the highest 5 have the number of the
/// area.
const AREA_SHIFT: u32 = 58;
const AREA_MASK: u64 = 31;

/// A slot of a swap area, as the kernel numbers both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SwapPlace {
    /// Number of the area, as in /proc/PID/pagemap.
    pub area: u8,
    /// Slot in it, in pages from its begin.
    pub slot: u64,
}

/// What happened to pages of the watched area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwapWhat {
    /// Pages were submitted for writing to, or reading from, adjacent slots.
    Pages {
        /// Written; else read.
        is_out: bool,
        /// The first slot.
        place: SwapPlace,
        pages: u32,
        /// Id of the memory group that is charged for them: the inode number of its directory. `None` when they are
        /// charged to none.
        group: Option<u64>,
        /// Number of the first page in its mapping; of a process's own memory that is mostly its virtual page number.
        /// Known for pages that are written.
        index: u64,
        /// Pages of a process; else of shared memory, or read.
        anonymous: bool,
    },
    /// A process used a page that is not mapped: swapped, in the swap cache, of a file, or new. Faults of all areas are
    /// reported.
    Fault {
        page: u64,
        /// Id of the memory group of the process.
        group: Option<u64>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwapEvent {
    pub at_ns: u64,
    /// The thread that submitted the request or faulted; of a write, any thread that reclaims.
    pub tid: u32,
    pub pid: u32,
    pub what: SwapWhat,
}

/// A watched swap area. Dropping it ends the trace.
pub struct SwapTrace {
    /// Keeps the programs attached.
    _bpf: Ebpf,
    ring: RingBuf<MapData>,
    lost: Array<MapData, u64>,
    missing: Vec<String>,
}

impl std::fmt::Debug for SwapTrace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SwapTrace").field("missing", &self.missing).finish_non_exhaustive()
    }
}

impl SwapTrace {
    /// Begins to watch the swap area on the block device with this number (as the kernel encodes it,
    /// [`crate::probes::major_minor`]); a file in a file system on that device is one too. `buffer_bytes` is rounded to
    /// a power of two; an event takes 48 bytes, and [`SwapTrace::drain`] is to be called before it is full. Faults are
    /// those of all processes.
    ///
    /// # Errors
    /// When this process or this kernel cannot run the programs.
    pub fn start(device: u32, buffer_bytes: u32) -> Result<Self, Error> {
        let buffer_bytes = ring_bytes(buffer_bytes)?;
        let object = OBJECT.ok_or(Error::NotBuiltIn)?;
        if !permitted() {
            return Err(Error::NotPermitted);
        }
        let set_up = |error: aya::EbpfError| Error::SetUp(error.into());
        let btf = Btf::from_sys_fs().map_err(|error| Error::NoTypes(error.into()))?;
        let page_bytes = rustix::param::page_size() as u64;
        let mut bpf = EbpfLoader::new()
            .btf(Some(&btf))
            .override_global("watched_device", &device, true)
            .override_global("page_bytes", &page_bytes, true)
            .map_max_entries("ring", buffer_bytes)
            .load(object)
            .map_err(set_up)?;
        let mut missing = Vec::new();
        for (program, tracepoint) in [("user_fault", "page_fault_user"), ("kernel_fault", "page_fault_kernel")] {
            if let Err(error) = attach(&mut bpf, &btf, program, tracepoint) {
                missing.push(format!("faults (tracepoint {tracepoint}: {})", explain(&error)));
            }
        }
        let (program, tracepoint) = ("swap_queued", "block_bio_queue");
        attach(&mut bpf, &btf, program, tracepoint).map_err(|error| Error::Refused {
            program,
            tracepoint,
            reason: explain(&error),
        })?;
        let map = |bpf: &mut Ebpf, name| bpf.take_map(name).expect("the object was built with its maps");
        let ring = RingBuf::try_from(map(&mut bpf, "ring")).map_err(|error| Error::SetUp(error.into()))?;
        let lost = Array::try_from(map(&mut bpf, "lost")).map_err(|error| Error::SetUp(error.into()))?;
        Ok(Self { _bpf: bpf, ring, lost, missing })
    }

    /// Takes all events out of the buffer, about in the order of time: those of different processors may be some
    /// microseconds off.
    pub fn drain(&mut self, mut take: impl FnMut(SwapEvent)) {
        while let Some(record) = self.ring.next() {
            if let Some(event) = parse(&record) {
                take(event);
            }
        }
    }

    /// Events that did not fit into the buffer so far.
    #[must_use]
    pub fn lost(&self) -> u64 {
        // An array always has its first element.
        self.lost.get(&0, 0).unwrap_or(0)
    }

    /// What this kernel does not show, with reasons.
    #[must_use]
    pub fn missing(&self) -> &[String] {
        &self.missing
    }
}

fn attach(bpf: &mut Ebpf, btf: &Btf, program: &str, tracepoint: &str) -> Result<(), ProgramError> {
    let program = bpf.program_mut(program).expect("the object was built with all programs");
    let program: &mut BtfTracePoint = program.try_into()?;
    program.load(tracepoint, btf)?;
    program.attach().map(|_| ())
}

/// Parses `swap_pages` and `swap_fault` of `bpf/record.h`; `None` when they are neither.
fn parse(bytes: &[u8]) -> Option<SwapEvent> {
    let mut fields = Fields(bytes);
    let (at_ns, tid, kind, flags) = (fields.u64()?, fields.u32()?, fields.u16()?, fields.u16()?);
    let (pid, what) = match kind {
        19 => {
            let (entry, group, index) = (fields.u64()?, fields.u64()?, fields.u64()?);
            let (pages, pid) = (fields.u32()?, fields.u32()?);
            let place =
                SwapPlace { area: (entry >> AREA_SHIFT & AREA_MASK) as u8, slot: entry & ((1 << AREA_SHIFT) - 1) };
            let (is_out, anonymous) = (flags & 1 != 0, flags & 2 != 0);
            (pid, SwapWhat::Pages { is_out, place, pages, group: (group != 0).then_some(group), index, anonymous })
        }
        20 => {
            let (page, group, pid) = (fields.u64()?, fields.u64()?, fields.u32()?);
            (pid, SwapWhat::Fault { page, group: (group != 0).then_some(group) })
        }
        _ => return None,
    };
    Some(SwapEvent { at_ns, tid, pid, what })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn head(kind: u16, flags: u16) -> Vec<u8> {
        [&77_u64.to_ne_bytes()[..], &42_u32.to_ne_bytes(), &kind.to_ne_bytes(), &flags.to_ne_bytes()].concat()
    }

    #[test]
    fn pages_have_their_place_and_owner() {
        let rest = [(3_u64 << 58 | 1000).to_ne_bytes(), 0_u64.to_ne_bytes(), 0x7f00_u64.to_ne_bytes()].concat();
        let ends = [2_u32.to_ne_bytes(), 41_u32.to_ne_bytes()].concat();
        let what = SwapWhat::Pages {
            is_out: true,
            place: SwapPlace { area: 3, slot: 1000 },
            pages: 2,
            group: None,
            index: 0x7f00,
            anonymous: true,
        };
        let event = SwapEvent { at_ns: 77, tid: 42, pid: 41, what };
        assert_eq!(parse(&[head(19, 3), rest.clone(), ends].concat()), Some(event));
        assert_eq!(parse(&[head(19, 3), rest].concat()), None, "cut off");
    }

    #[test]
    fn a_fault_has_its_page_and_group() {
        let rest = [0x7f00_u64.to_ne_bytes(), 9_u64.to_ne_bytes(), 41_u64.to_ne_bytes()].concat();
        let what = SwapWhat::Fault { page: 0x7f00, group: Some(9) };
        assert_eq!(parse(&[head(20, 0), rest].concat()), Some(SwapEvent { at_ns: 77, tid: 42, pid: 41, what }));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(kind in 17u16..22, flags: u16, rest in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = parse(&[head(kind, flags), rest.clone()].concat());
            let _ = parse(&rest);
        }
    }
}
