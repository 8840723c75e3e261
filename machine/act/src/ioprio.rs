//! I/O priorities of threads (kernel: Documentation/block/ioprio.rst, include/uapi/linux/ioprio.h).
//!
//! A thread without one of its own follows its nice value: class `none`. Children get that of the thread that made
//! them.

use std::fmt;
use std::io;
use std::str::FromStr;

use crate::Error;

const CLASS_SHIFT: u32 = 13;
/// Bits of the level; those between it and the class are hints of the device.
const LEVEL_MASK: u32 = 0b111;
const WHO_PROCESS: libc::c_int = 1;

/// Class and level that were chosen for a thread, in the order of precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum IoPriority {
    Realtime(u8),
    /// Shares what is left; 0 has the most.
    BestEffort(u8),
    /// Served when the device has no other requests.
    Idle,
}

impl IoPriority {
    fn to_bits(self) -> u32 {
        let (class, level) = match self {
            Self::Realtime(level) => (1, level),
            Self::BestEffort(level) => (2, level),
            Self::Idle => (3, 0),
        };
        class << CLASS_SHIFT | u32::from(level)
    }

    fn of_bits(bits: u32) -> Option<Self> {
        let level = u8::try_from(bits & LEVEL_MASK).ok()?;
        match bits >> CLASS_SHIFT {
            1 => Some(Self::Realtime(level)),
            2 => Some(Self::BestEffort(level)),
            3 => Some(Self::Idle),
            _ => None,
        }
    }
}

impl FromStr for IoPriority {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let level = |text: &str| text.parse().ok().filter(|level| u32::from(*level) <= LEVEL_MASK);
        match words.as_slice() {
            ["realtime", n] => level(n).map(Self::Realtime),
            ["best-effort", n] => level(n).map(Self::BestEffort),
            ["idle"] => Some(Self::Idle),
            _ => None,
        }
        .ok_or_else(|| Error::NotAPriority(text.to_owned()))
    }
}

impl fmt::Display for IoPriority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Realtime(level) => write!(f, "realtime {level}"),
            Self::BestEffort(level) => write!(f, "best-effort {level}"),
            Self::Idle => f.write_str("idle"),
        }
    }
}

/// What a thread was given; `None` when nothing.
///
/// # Errors
/// When there is no such thread (`ESRCH`).
pub(crate) fn get(thread: u32) -> io::Result<Option<IoPriority>> {
    // SAFETY: ioprio_get(2) takes two numbers and touches no memory of ours.
    let bits = unsafe { libc::syscall(libc::SYS_ioprio_get, WHO_PROCESS, thread) };
    u32::try_from(bits).map(IoPriority::of_bits).map_err(|_| io::Error::last_os_error())
}

/// Gives a thread a priority, or takes it away.
///
/// # Errors
/// When there is no such thread (`ESRCH`), it belongs to another user or `realtime` needs more rights (`EPERM`).
pub(crate) fn set(thread: u32, priority: Option<IoPriority>) -> io::Result<()> {
    let bits = priority.map_or(0, IoPriority::to_bits);
    // SAFETY: ioprio_set(2) takes three numbers and touches no memory of ours.
    let failed = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, thread, bits) };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn priorities() -> impl Strategy<Value = IoPriority> {
        prop_oneof![
            (0..8u8).prop_map(IoPriority::Realtime),
            (0..8u8).prop_map(IoPriority::BestEffort),
            Just(IoPriority::Idle)
        ]
    }

    #[test]
    fn texts_that_are_no_priority_are_refused() {
        for text in ["", "none", "idle 1", "realtime", "realtime 8", "best-effort -1", "best effort 4", "realtime 4 4"]
        {
            assert!(matches!(text.parse::<IoPriority>(), Err(Error::NotAPriority(t)) if t == text), "{text}");
        }
    }

    #[test]
    fn a_thread_keeps_its_priority_until_it_is_cleared() {
        std::thread::spawn(|| {
            let me = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
            assert_eq!(get(me).expect("this thread"), None);
            set(me, Some(IoPriority::BestEffort(6))).expect("allowed to everybody");
            assert_eq!(get(me).expect("this thread"), Some(IoPriority::BestEffort(6)));
            set(me, None).expect("allowed to everybody");
            assert_eq!(get(me).expect("this thread"), None);
        })
        .join()
        .expect("no panic");
        // Larger than the kernel ever makes a number (PID_MAX_LIMIT).
        assert_eq!(get(1 << 23).expect_err("no thread").raw_os_error(), Some(libc::ESRCH));
    }

    proptest! {
        #[test]
        fn every_priority_is_read_back_from_its_text_and_its_bits(priority in priorities(), hint in 0..1024u32) {
            prop_assert_eq!(priority.to_string().parse::<IoPriority>().ok(), Some(priority));
            prop_assert_eq!(IoPriority::of_bits(priority.to_bits() | hint << 3), Some(priority));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in ".*") {
            let _ = text.parse::<IoPriority>();
        }
    }
}
