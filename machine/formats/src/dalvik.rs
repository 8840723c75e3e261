//! Limits of the heaps of Android's apps: properties of the runtime, as `getprop` lists them, one in a line:
//! `[name]: [value]` (frameworks/base/core/jni/AndroidRuntime.cpp, startVm; art/runtime/parsed_options.cc).

use serde::{Deserialize, Serialize};

use crate::ParseError;

const SIZE: &str = "dalvik.vm.heapsize";
const GROWTH_LIMIT: &str = "dalvik.vm.heapgrowthlimit";

/// What the heap of one process may take. It is set when the zygote starts, for all apps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DalvikHeap {
    /// `dalvik.vm.heapsize`; `None` when unset.
    pub size_bytes: Option<u64>,
    /// `dalvik.vm.heapgrowthlimit`, which holds for apps that do not ask for a large heap; `None` when unset, then the
    /// size holds for all.
    pub growth_limit_bytes: Option<u64>,
}

/// Reads the list of all properties. Lines that are none belong to a value of more than one line.
///
/// # Errors
/// When the value of one of the two is no size.
pub fn parse_dalvik_heap(bytes: &[u8]) -> Result<DalvikHeap, ParseError> {
    let text = String::from_utf8_lossy(bytes);
    let mut heap = DalvikHeap::default();
    for (number, line) in text.lines().enumerate() {
        let property = line.trim_end().strip_prefix('[').and_then(|line| line.strip_suffix(']'));
        let Some((name, value)) = property.and_then(|property| property.split_once("]: [")) else { continue };
        let (field, place) = match name {
            SIZE => (SIZE, &mut heap.size_bytes),
            GROWTH_LIMIT => (GROWTH_LIMIT, &mut heap.growth_limit_bytes),
            _ => continue,
        };
        // An empty value is as good as none.
        if !value.is_empty() {
            let bad = || ParseError::BadField { line: number + 1, field, text: value.to_owned() };
            *place = Some(size_bytes(value).ok_or_else(bad)?);
        }
    }
    Ok(heap)
}

/// `512m`, `1g`, `65536k` or bytes, in multiples of 1024 (ParseMemoryOption).
fn size_bytes(text: &str) -> Option<u64> {
    let (digits, unit) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], 1 << 10),
        (at, 'm' | 'M') => (&text[..at], 1 << 20),
        (at, 'g' | 'G') => (&text[..at], 1 << 30),
        _ => (text, 1_u64),
    };
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = digits.parse().ok().filter(|_| is_number)?;
    number.checked_mul(unit).filter(|bytes| *bytes > 0 && bytes % 1024 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn both_limits_are_read_from_the_list_of_properties() {
        let text = "[dalvik.vm.appimageformat]: [lz4]\n[dalvik.vm.heapgrowthlimit]: [192m]\n\
                    [dalvik.vm.heapmaxfree]: [8m]\n[dalvik.vm.heapsize]: [512m]\r\n[a.b]: [first line\n\
                    [dalvik.vm.heapsize\nlast line]\n[ro.x]: []\n";
        let heap = parse_dalvik_heap(text.as_bytes()).expect("a list");
        assert_eq!(heap, DalvikHeap { size_bytes: Some(512 * MIB), growth_limit_bytes: Some(192 * MIB) });
        for text in ["", "[dalvik.vm.heapsize]: []\n", "[ro.product.model]: [x]\n"] {
            assert_eq!(parse_dalvik_heap(text.as_bytes()), Ok(DalvikHeap::default()), "{text}");
        }
    }

    #[test]
    fn sizes_are_those_of_the_runtime() {
        for (text, bytes) in [
            ("512m", Some(512 * MIB)),
            ("1G", Some(1024 * MIB)),
            ("65536K", Some(64 * MIB)),
            ("1048576", Some(MIB)),
            ("1000", None),
            ("0m", None),
            ("m", None),
            ("+5m", None),
            ("0.5g", None),
            ("12é", None),
            ("99999999999999999g", None),
        ] {
            let list = format!("[x]: [y]\n[dalvik.vm.heapsize]: [{text}]\n");
            let read = parse_dalvik_heap(list.as_bytes());
            match bytes {
                Some(_) => assert_eq!(read.map(|heap| heap.size_bytes), Ok(bytes), "{text}"),
                None => {
                    let error = read.expect_err(text).to_string();
                    assert_eq!(error, format!("line 2: '{text}' is not a value of the field 'dalvik.vm.heapsize'"));
                }
            }
        }
    }
}
