//! Numbers and layouts of the ublk driver (kernel: include/uapi/linux/ublk_cmd.h) for a single-queue device.
//!
//! Pure conversions between values and bytes; arbitrary bytes never cause a panic. Numbers are in native byte order, as
//! the kernel writes them.

use crate::device::bytes::Bytes;

pub(super) const QUEUE: u16 = 0;
/// Largest request that moves data.
pub(super) const BUFFER_BYTES: u32 = 512 << 10;
/// Most tags that the driver gives a queue.
pub(crate) const DEPTH_MAX: u32 = 4096;
/// Bytes of a request descriptor.
pub(super) const DESCRIPTOR_BYTES: usize = 24;
/// Bytes of a device description.
pub(super) const INFO_BYTES: usize = 64;
/// Device number for commands without a device.
pub(super) const NO_DEVICE: u32 = u32::MAX;

const SECTOR_BYTES: u64 = 512;
const BLOCK_SHIFT: u8 = 12;

const READ: u32 = 2;
const READ_WRITE: u32 = 3;
const CONTROL_BYTES: u32 = 32;
const IO_BYTES: u32 = 16;

/// An ioctl number of the driver.
const fn code(direction: u32, number: u32, bytes: u32) -> u32 {
    direction << 30 | bytes << 16 | (b'u' as u32) << 8 | number
}

pub(super) const GET_DEV_INFO: u32 = code(READ, 0x02, CONTROL_BYTES);
pub(super) const ADD_DEV: u32 = code(READ_WRITE, 0x04, CONTROL_BYTES);
pub(super) const DEL_DEV: u32 = code(READ_WRITE, 0x05, CONTROL_BYTES);
pub(super) const START_DEV: u32 = code(READ_WRITE, 0x06, CONTROL_BYTES);
pub(super) const STOP_DEV: u32 = code(READ_WRITE, 0x07, CONTROL_BYTES);
pub(super) const SET_PARAMS: u32 = code(READ_WRITE, 0x08, CONTROL_BYTES);
pub(super) const GET_FEATURES: u32 = code(READ, 0x13, CONTROL_BYTES);
pub(super) const FETCH: u32 = code(READ_WRITE, 0x20, IO_BYTES);
pub(super) const COMMIT_AND_FETCH: u32 = code(READ_WRITE, 0x21, IO_BYTES);

/// Commands are encoded as ioctls; drivers before Linux 6.4 use other numbers.
const FEATURE_IOCTL_CODES: u64 = 1 << 6;
/// Data is read and written through the device's file, without a bounce buffer.
const FEATURE_USER_COPY: u64 = 1 << 7;
/// Features that the lab requires.
pub(super) const FEATURES: u64 = FEATURE_IOCTL_CODES | FEATURE_USER_COPY;

const STATE_LIVE: u16 = 1;
const ATTRIBUTE_VOLATILE_CACHE: u32 = 1 << 2;
const PARAMETERS_BASIC: u32 = 1 << 0;
const PARAMETERS_DISCARD: u32 = 1 << 1;

/// `struct ublksrv_ctrl_cmd`, with zeroes up to the end of a large submission entry.
pub(super) fn control_command(device: u32, len: usize, address: u64, data: u64) -> [u8; 80] {
    Bytes::default().u32(device).u16(u16::MAX).u16(len as u16).u64(address).u64(data).padded()
}

/// `struct ublksrv_io_cmd`: the result of the tag's last request.
pub(super) fn io_command(tag: u16, result: i32) -> [u8; 16] {
    Bytes::default().u16(QUEUE).u16(tag).u32(result.cast_unsigned()).u64(0).padded()
}

/// Offset of a tag's data in the device's file.
pub(super) fn data_offset(tag: u16) -> u64 {
    const DATA: u64 = 0x8000_0000;
    DATA + (u64::from(QUEUE) << 41 | u64::from(tag) << 25)
}

/// `struct ublksrv_ctrl_dev_info` of a new device. The mark is stored in a field for the server.
pub(super) fn new_device(depth: u16, mark: u64) -> [u8; INFO_BYTES] {
    Bytes::default()
        .u16(1) // queues
        .u16(depth)
        .u32(0) // state
        .u32(BUFFER_BYTES)
        .u32(NO_DEVICE)
        .u32(u32::MAX) // no server yet
        .u32(0)
        .u64(FEATURES)
        .u64(mark)
        .padded()
}

/// Facts on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Info {
    pub(super) device: u32,
    /// Whether it has a block device.
    pub(super) live: bool,
    pub(super) mark: u64,
}

/// Parses `struct ublksrv_ctrl_dev_info`.
pub(super) fn info(bytes: &[u8; INFO_BYTES]) -> Info {
    Info {
        device: u32::from_ne_bytes(field(bytes, 12)),
        live: u16::from_ne_bytes(field(bytes, 4)) == STATE_LIVE,
        mark: u64::from_ne_bytes(field(bytes, 32)),
    }
}

/// `struct ublk_params` with its first two parts: the size, blocks of 4 KiB, discards of any length.
pub(super) fn parameters(size_bytes: u64, write_cache: bool) -> Vec<u8> {
    const PARAMETERS_BYTES: u32 = 60;
    const DISCARD_SECTORS_MAX: u32 = u32::MAX >> 9 & !7;
    Bytes::default()
        .u32(PARAMETERS_BYTES)
        .u32(PARAMETERS_BASIC | PARAMETERS_DISCARD)
        .u32(if write_cache { ATTRIBUTE_VOLATILE_CACHE } else { 0 })
        .u8(BLOCK_SHIFT) // logical block
        .u8(BLOCK_SHIFT) // physical block
        .u8(BLOCK_SHIFT) // best and smallest request
        .u8(BLOCK_SHIFT)
        .u32(BUFFER_BYTES / SECTOR_BYTES as u32)
        .u32(0) // no boundaries
        .u64(size_bytes / SECTOR_BYTES)
        .u64(0)
        .u32(0) // discards: alignment, granularity, most sectors, most sectors zeroed
        .u32(1 << BLOCK_SHIFT)
        .u32(DISCARD_SECTORS_MAX)
        .u32(DISCARD_SECTORS_MAX)
        .u16(1) // ranges
        .u16(0)
        .0
}

/// Operation of a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Read,
    Write,
    Flush,
    /// A range discarded or zeroed: both read as zeroes afterwards.
    Discard,
    /// Not supported, or longer than a buffer.
    Unknown,
}

/// A request of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Descriptor {
    pub(super) operation: Operation,
    pub(super) offset_bytes: u64,
    pub(super) len_bytes: u64,
}

/// Parses `struct ublksrv_io_desc`.
pub(super) fn descriptor(bytes: &[u8; DESCRIPTOR_BYTES]) -> Descriptor {
    let sectors = u32::from_ne_bytes(field(bytes, 4));
    let len_bytes = u64::from(sectors) * SECTOR_BYTES;
    let fits = len_bytes <= u64::from(BUFFER_BYTES);
    let operation = match bytes[..4].first_chunk().map(|op| u32::from_ne_bytes(*op) & 0xff) {
        Some(0) if fits => Operation::Read,
        Some(1) if fits => Operation::Write,
        Some(2) => Operation::Flush,
        Some(3 | 5) => Operation::Discard,
        _ => Operation::Unknown,
    };
    Descriptor { operation, offset_bytes: u64::from_ne_bytes(field(bytes, 8)).saturating_mul(SECTOR_BYTES), len_bytes }
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..].first_chunk().copied().expect("the fields lie inside their structs")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_codes_are_the_kernels() {
        assert_eq!(ADD_DEV, 0xc020_7504);
        assert_eq!(GET_DEV_INFO, 0x8020_7502);
        assert_eq!(FETCH, 0xc010_7520);
    }

    #[test]
    fn parameters_have_the_length_that_they_name() {
        let bytes = parameters(64 << 20, true);
        assert_eq!(bytes.len() as u32, u32::from_ne_bytes(field(&bytes, 0)));
        assert_eq!(u64::from_ne_bytes(field(&bytes, 24)), (64 << 20) / 512);
        assert_eq!(u32::from_ne_bytes(field(&bytes, 8)), 4);
        assert_eq!(u32::from_ne_bytes(field(&parameters(64 << 20, false), 8)), 0);
    }

    #[test]
    fn a_device_keeps_its_mark() {
        let mut bytes = new_device(4, 77);
        assert_eq!(info(&bytes), Info { device: NO_DEVICE, live: false, mark: 77 });
        bytes[4] = 1;
        bytes[12..16].copy_from_slice(&3u32.to_ne_bytes());
        assert_eq!(info(&bytes), Info { device: 3, live: true, mark: 77 });
    }

    #[test]
    fn commands_lie_where_the_driver_looks() {
        let io = io_command(5, -libc::EIO);
        assert_eq!(u16::from_ne_bytes(field(&io, 2)), 5);
        assert_eq!(i32::from_ne_bytes(field(&io, 4)), -libc::EIO);
        assert_eq!(u64::from_ne_bytes(field(&io, 8)), 0, "no address where data goes through the file");
        assert_eq!((data_offset(0), data_offset(3)), (0x8000_0000, 0x8600_0000));
        let control = control_command(2, 64, 0x2000, 99);
        assert_eq!(u16::from_ne_bytes(field(&control, 4)), u16::MAX);
        assert_eq!(u16::from_ne_bytes(field(&control, 6)), 64);
        assert_eq!(u64::from_ne_bytes(field(&control, 16)), 99);
    }

    #[test]
    fn a_request_longer_than_a_buffer_is_refused() {
        let bytes =
            |op: u32, sectors: u32| Bytes::default().u32(op).u32(sectors).u64(8).u64(0).padded::<DESCRIPTOR_BYTES>();
        let read = Descriptor { operation: Operation::Read, offset_bytes: 4096, len_bytes: 512 << 10 };
        assert_eq!(descriptor(&bytes(0, 1024)), read);
        assert_eq!(descriptor(&bytes(0, 1025)).operation, Operation::Unknown);
        assert_eq!(descriptor(&bytes(1, 8)).operation, Operation::Write);
        assert_eq!(descriptor(&bytes(2 | 1 << 13, 0)).operation, Operation::Flush);
        assert_eq!(descriptor(&bytes(3, 1 << 20)).operation, Operation::Discard);
        assert_eq!(descriptor(&bytes(5, 1 << 20)).operation, Operation::Discard);
        assert_eq!(descriptor(&bytes(4, 8)).operation, Operation::Unknown);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic_the_parser(bytes in prop::array::uniform24(any::<u8>())) {
            let request = descriptor(&bytes);
            let moves_data = matches!(request.operation, Operation::Read | Operation::Write);
            prop_assert!(!moves_data || request.len_bytes <= u64::from(BUFFER_BYTES));
        }
    }
}
