//! A phone with limited memory and swap: the limit holds for its apps, swap goes to its own flash, and all of it goes
//! with the phone.

use crate::lab_guard;
use crate::phone_bench;
use crate::swap_areas;

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use brisk_lab::phone::{MemorySpec, NewPhone, Phone, Phones, SwapKind};
use brisk_requires::requires;
use lab_guard::run;
use phone_bench::{Bench, run_in};
use swap_areas::{alone_with_swap, swaps};

const MIB: u64 = 1 << 20;

fn with_memory(bench: &Bench, swap: SwapKind) -> NewPhone {
    let spec = MemorySpec { limit_bytes: 64 * MIB, swap, swap_bytes: 128 * MIB };
    NewPhone { size_bytes: 512 * MIB, memory: Some(spec), ..bench.new_phone(false) }
}

fn up(bench: &Bench, swap: SwapKind) -> Phone {
    let never = AtomicBool::new(false);
    Phones::new(bench.lab.dir()).up(&with_memory(bench, swap), &never, &mut |_: &str| {}).expect("a phone").0
}

/// Fills 100 MiB of a tmpfs of the phone, which are swapped like heaps.
fn use_memory(phone: &Phone) {
    run_in(phone, &["sh", "-c", "dd if=/dev/urandom of=/tmp/pages bs=1M count=100 2>/dev/null"]);
}

#[test]
fn what_does_not_fit_is_swapped_to_the_flash_of_the_phone() {
    requires!(MemoryController);
    let Some(_alone) = alone_with_swap() else { return };
    let Some(bench) = Bench::new() else { return };
    let phone = up(&bench, SwapKind::Flash);
    let group = phone.memory_group().expect("limited");
    let before = phone.flash().expect("the lab answers").requests.write.bytes;
    assert!(run_in(&phone, &["sh", "-c", "cat /proc/self/cgroup"]).contains("others"), "an app is in the group");
    use_memory(&phone);
    assert!(group.usage_bytes().expect("read") <= 64 * MIB);
    let written = phone.flash().expect("the lab answers").requests.write.bytes - before;
    assert!(written > 30 * MIB, "{written} bytes were swapped out");
    let area = phone.root().join("swapfile");
    assert_eq!(swaps(), [area]);
    phone.down(false).expect("down");
    assert_eq!(swaps(), Vec::<PathBuf>::new());
    assert!(!group.dir().exists());
    bench.nothing_is_left();
}

#[test]
fn compressed_memory_comes_before_the_flash_and_is_charged_on_demand() {
    requires!(MemoryController, Zram);
    let Some(_alone) = alone_with_swap() else { return };
    let Some(bench) = Bench::new() else { return };
    let phone = up(&bench, SwapKind::ZramFlash);
    let group = phone.memory_group().expect("limited");
    let before = phone.flash().expect("the lab answers").requests.write.bytes;
    use_memory(&phone);
    let charged = phone.charge().expect("charged");
    // Random data cannot be compressed.
    assert!(charged > 30 * MIB, "{charged}");
    let left = group.limit_bytes().expect("read");
    assert!(left.abs_diff(64 * MIB - charged) <= 4096, "{left}");
    let written = phone.flash().expect("the lab answers").requests.write.bytes - before;
    assert!(written < 8 * MIB, "{written} bytes went to the flash, and zram was not full");
    let areas = swaps();
    assert!(areas.len() == 2 && areas.iter().any(|area| area.starts_with("/dev")), "{areas:?}");
    // A second phone with swap would share these areas.
    let never = AtomicBool::new(false);
    let second = Phones::new(bench.lab.dir()).up(&with_memory(&bench, SwapKind::Zram), &never, &mut |_: &str| {});
    let said = second.expect_err("refused").to_string();
    assert!(said.contains("swap areas of others are in use") && said.contains("--swap none"), "{said}");
    phone.down(false).expect("down");
    assert_eq!(swaps(), Vec::<PathBuf>::new());
    bench.nothing_is_left();
}

/// Compressed memory as a swap area that is not of a phone.
struct OtherSwap(String);

impl OtherSwap {
    fn on() -> Self {
        let number = fs::read_to_string("/sys/class/zram-control/hot_add").expect("added").trim().to_owned();
        let other = Self(number);
        fs::write(format!("/sys/block/zram{}/disksize", other.0), "32M").expect("sized");
        run("mkswap", &[&other.device()]);
        run("swapon", &[&other.device()]);
        other
    }

    fn device(&self) -> String {
        format!("/dev/zram{}", self.0)
    }
}

impl Drop for OtherSwap {
    fn drop(&mut self) {
        run("swapoff", &[&self.device()]);
        fs::write(format!("/sys/block/zram{}/reset", self.0), "1").expect("reset");
        fs::write("/sys/class/zram-control/hot_remove", &self.0).expect("removed");
    }
}

#[test]
fn swap_that_comes_on_while_the_phone_comes_up_is_noticed() {
    requires!(MemoryController, Zram);
    let Some(_alone) = alone_with_swap() else { return };
    let Some(bench) = Bench::new() else { return };
    let mut other = None;
    let mut progress = |what: &str| {
        if what == "making swap" {
            other = Some(OtherSwap::on());
        }
    };
    let never = AtomicBool::new(false);
    let up = Phones::new(bench.lab.dir()).up(&with_memory(&bench, SwapKind::Flash), &never, &mut progress);
    let said = up.map(|_| ()).expect_err("refused").to_string();
    let other = other.expect("it came that far");
    assert!(said.contains("swap areas of others are in use") && said.contains(&other.device()), "{said}");
    assert_eq!(swaps(), [PathBuf::from(other.device())]);
    drop(other);
    bench.nothing_is_left();
}

#[test]
fn a_phone_without_swap_has_no_part_in_the_area_of_another() {
    requires!(MemoryController);
    let Some(_alone) = alone_with_swap() else { return };
    let Some(bench) = Bench::new() else { return };
    let with = up(&bench, SwapKind::Flash);
    let without = up(&bench, SwapKind::None);
    let fill = |phone: &Phone| {
        let words = ["sh", "-c", "dd if=/dev/urandom of=/tmp/pages bs=1M count=100 2>/dev/null"];
        let app = phone.command(words.iter().map(Into::into).collect(), None);
        brisk_lab::phone::command(&app).expect("it is there").status().expect("it starts").success()
    };
    // More than its memory: the kernel ends what fills it.
    assert_eq!([fill(&with), fill(&without)], [true, false]);
    // An area that it gets later is its own to use.
    let mut without = without;
    with.down(false).expect("down");
    without.change_swap(SwapKind::Flash).expect("changed");
    assert!(fill(&without));
    without.down(false).expect("down");
    bench.nothing_is_left();
}

#[test]
fn a_phone_made_by_the_command_takes_its_swap_with_it() {
    requires!(MemoryController);
    let Some(_alone) = alone_with_swap() else { return };
    let Some(bench) = Bench::new() else { return };
    let words = ["phone", "up", "--image", bench.image(), "--size", "512M", "--memory", "64M", "--swap-size", "64M"];
    let made = bench.lab.json(&words);
    assert_eq!(made["memory"]["limit_bytes"], 64 * MIB);
    assert_eq!(swaps().len(), 1);
    let id = made["id"].to_string();
    bench.lab.brisk(&["phone", "down", &id, "--force"]);
    assert_eq!(swaps(), Vec::<PathBuf>::new());
    bench.nothing_is_left();
}

#[test]
fn bad_sizes_are_refused_before_anything_is_made() {
    requires!(MemoryController);
    let Some(bench) = Bench::new() else { return };
    let cases: &[(&[&str], &str)] = &[
        (&["--memory", "1M"], "the limit is too small: at least 64 MiB"),
        (&["--memory", "64M", "--swap-size", "1M"], "the swap area is too small: at least 16 MiB"),
        (&["--swap", "zram"], "--memory"),
        (&["--memory", "64M", "--swap", "disk"], "zram+flash"),
    ];
    for (more, said) in cases {
        let words = [&["phone", "up", "--image", bench.image(), "--size", "256M"], *more].concat();
        let output = bench.lab.command(&words).output().expect("brisk starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{more:?}: {text}");
        assert!(text.contains(said), "{more:?}: {text}");
    }
    // Found when it is made, and all that was made is removed.
    let Some(_alone) = alone_with_swap() else { return };
    let words = ["phone", "up", "--image", bench.image(), "--size", "256M", "--memory", "64M", "--swap-size", "2G"];
    let output = bench.lab.command(&words).output().expect("brisk starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && text.contains("no room for a swap file of 2 GiB"), "{text}");
    assert_eq!(swaps(), Vec::<PathBuf>::new());
    bench.nothing_is_left();
}
