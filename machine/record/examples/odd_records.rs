//! Records as machines leave them that have no clock at boot, disks that come and go, and apps of any name: what each
//! reader of an export has to take. `cargo run -p brisk-record --example odd_records -- DIR` writes them;
//! `scripts/exports-test` has them read.

#![allow(clippy::print_stdout, reason = "an example shows what it wrote")]

use std::path::{Path, PathBuf};

use brisk_core::snapshot::{AppTotals, CpuTotals, DiskTotals, IoTotals, NetTotals, Snapshot};
use brisk_record::{Session, Writer};

/// Begin of a session whose clock is right.
const UNIX_MS: u64 = 1_700_000_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args_os().nth(1).ok_or("usage: odd_records DIR")?;
    for path in write(Path::new(&dir))? {
        println!("{}", path.display());
    }
    Ok(())
}

/// A sample: counters after `second` seconds of work.
fn sample(second: u64, wall_unix_ms: u64, disks: &[&str], apps: &[&str]) -> Snapshot {
    let io = IoTotals { requests: second * 40, bytes: second * 40 * 4096, time_ms: second * 30 };
    let disk = |name: &&str| DiskTotals { name: (*name).to_owned(), read: io, write: io, ..DiskTotals::default() };
    let app =
        |name: &&str| AppTotals { name: (*name).to_owned(), memory_bytes: Some(4096 * second), ..AppTotals::default() };
    let cpu =
        CpuTotals { processors: 2, user_us: second * 500_000, idle_us: second * 1_500_000, ..CpuTotals::default() };
    Snapshot {
        at_ns: second * 1_000_000_000,
        wall_unix_ms,
        cpu,
        disks: disks.iter().map(disk).collect(),
        nets: vec![NetTotals { name: "wlan0".to_owned(), ..NetTotals::default() }],
        apps: apps.iter().map(app).collect(),
        ..Snapshot::default()
    }
}

/// Appends a session: samples of each second from `from`, each with its wall clock.
fn session(path: &Path, started_unix_ms: u64, samples: &[Snapshot]) -> brisk_record::Result<()> {
    let session = Session { started_unix_ms, interval_ms: 1000, ..Session::default() };
    let mut writer = Writer::begin(path, session, None)?;
    samples.iter().try_for_each(|sample| writer.snapshot(sample))
}

/// Writes all records into `dir`.
pub(crate) fn write(dir: &Path) -> Result<Vec<PathBuf>, Box<dyn std::error::Error>> {
    let at = |name: &str| dir.join(format!("{name}.brisk"));
    let steady = |from: u64, unix_ms: u64| -> Vec<Snapshot> {
        (from..from + 5)
            .map(|second| sample(second, unix_ms + (second - from) * 1000, &["mmcblk0"], &["mail"]))
            .collect()
    };

    // The clock was right, then the machine was started anew and has none.
    let backwards = at("second-session-earlier");
    session(&backwards, UNIX_MS, &steady(100, UNIX_MS))?;
    session(&backwards, 5000, &steady(5, 5000))?;
    session(&backwards, UNIX_MS + 2000, &steady(7, UNIX_MS + 2000))?;

    // The wall clock is set forward and back while it is recorded, and the machine sleeps.
    let stepped = at("clock-steps");
    let walls = [0_i64, 1000, 3_600_000, 3_601_000, -7_200_000, -7_199_000, 86_400_000];
    let samples = (10_u64..)
        .zip(walls)
        .map(|(second, step_ms)| sample(second, UNIX_MS.saturating_add_signed(step_ms), &["sda"], &[]));
    session(&stepped, UNIX_MS, &samples.collect::<Vec<_>>())?;

    // Disks come and go and count anew; names hold what names may hold; two apps have one name.
    let odd = at("odd-names");
    let app = "a \"quoted\"\nname, with = all; of\\it { } # \u{1F600} \u{FFFD}\r\t";
    let first = sample(1, UNIX_MS, &["mmcblk0"], &[app, "mail", "mail"]);
    let samples = [
        first,
        sample(2, UNIX_MS + 1000, &["mmcblk0", "sda"], &[app, "mail", "mail"]),
        sample(3, UNIX_MS + 2000, &["sda", "mmcblk0"], &["mail"]),
        sample(4, UNIX_MS + 3000, &["mmcblk0"], &["mail", app, "mail"]),
        Snapshot { at_ns: 5_000_000_000, ..sample(0, UNIX_MS + 4000, &["mmcblk0", "sda"], &["mail", app]) },
        Snapshot { at_ns: 6_000_000_000, ..sample(u64::from(u32::MAX), UNIX_MS + 5000, &["mmcblk0", "sda"], &[app]) },
    ];
    session(&odd, UNIX_MS, &samples)?;

    // The end is cut off in the middle of a sample, and bytes in the middle are damaged.
    let cut = at("cut-off");
    session(&cut, UNIX_MS, &steady(100, UNIX_MS))?;
    session(&cut, 5000, &steady(5, 5000))?;
    let mut bytes = std::fs::read(&cut)?;
    bytes.truncate(bytes.len() - 3);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    std::fs::write(&cut, bytes)?;
    Ok(vec![backwards, stepped, odd, cut])
}
