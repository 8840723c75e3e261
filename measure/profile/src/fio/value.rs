//! Values of fio's options: directions and numbers.

use crate::results::Pattern;

/// Which way requests go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Read,
    Write,
    Mix,
}

/// Order and way of `rw=`.
pub(super) fn direction(key: &str, value: &str) -> std::result::Result<(Pattern, Way), String> {
    Ok(match value {
        "read" => (Pattern::Sequential, Way::Read),
        "write" => (Pattern::Sequential, Way::Write),
        "rw" | "readwrite" => (Pattern::Sequential, Way::Mix),
        "randread" => (Pattern::Random, Way::Read),
        "randwrite" => (Pattern::Random, Way::Write),
        "randrw" => (Pattern::Random, Way::Mix),
        other => {
            return Err(format!("{key}={other} cannot be run: use read, write, rw, randread, randwrite or randrw"));
        }
    })
}

/// A number as fio reads it: hexadecimal, or with a unit. `k` and `ki` are `kb_base`, `kib` is the other of 1000 and
/// 1024 (HOWTO, "Parameter types"; `get_mult_bytes` of parse.c).
pub(super) fn number(text: &str, kb_base: u64) -> Option<u64> {
    let lower = text.trim().to_ascii_lowercase();
    if let Some(digits) = lower.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    let split = lower.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(lower.len());
    let (digits, unit) = lower.split_at(split);
    let power = match unit.chars().next() {
        None | Some('b') => 0,
        Some('k') => 1,
        Some('m') => 2,
        Some('g') => 3,
        Some('t') => 4,
        Some('p') => 5,
        Some(_) => return None,
    };
    let base = match unit.get(1..) {
        None | Some("" | "b" | "i") => kb_base,
        Some("ib") => {
            if kb_base == 1024 {
                1000
            } else {
                1024
            }
        }
        Some(_) => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(base.checked_pow(power)?)
}
