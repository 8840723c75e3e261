//! Compiles the pure parts under the constraints of kernel code: freestanding, no floating point. Of the scheduler that
//! is all of it: `host/kernel.h` replaces the kernel's headers, under all the names that the scheduler includes.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Files of the kernel that the scheduler includes.
const OF_THE_KERNEL: [&str; 14] = [
    "linux/blkdev.h",
    "linux/blk-mq.h",
    "linux/hash.h",
    "linux/hrtimer.h",
    "linux/ioprio.h",
    "linux/rbtree.h",
    "linux/sched.h",
    "linux/version.h",
    "trace/events/block.h",
    "elevator.h",
    "blk.h",
    "blk-mq.h",
    "blk-mq-debugfs.h",
    "blk-mq-sched.h",
];

const SMARTIO: &str = "../smartio";
const SOURCES: [&str; 4] = ["policy_host.c", "host/scheduler.c", "insert.c", "sched.c"];
const HEADERS: [&str; 3] = ["smartio_policy.h", "smartio.h", "host/kernel.h"];

const EXTENTS: [&str; 2] = ["../mars/mm/mars_extents.c", "../mars/mm/mars_extents.h"];

fn main() {
    let stubs = PathBuf::from(env::var_os("OUT_DIR").expect("cargo tells build scripts where to write")).join("kernel");
    for name in OF_THE_KERNEL {
        let path = stubs.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder in OUT_DIR");
        fs::write(path, "#include \"kernel.h\"\n").expect("a file in OUT_DIR");
    }
    let smartio = |file: &&str| Path::new(SMARTIO).join(file);
    as_kernel_code()
        .files(SOURCES.iter().map(smartio))
        .include(smartio(&"host"))
        .include(&stubs)
        .include(SMARTIO)
        // As the kernel's own build has it.
        .flag("-Wno-sign-compare")
        .flag("-Wno-unused-parameter")
        .compile("smartio_policy");
    as_kernel_code().file(EXTENTS[0]).compile("mars_extents");
    let files = SOURCES.iter().chain(&HEADERS).map(smartio).chain(EXTENTS.map(PathBuf::from));
    for file in files.chain(["build.rs".into()]) {
        println!("cargo:rerun-if-changed={}", file.display());
    }
}

fn as_kernel_code() -> cc::Build {
    let mut build = cc::Build::new();
    build
        .std("gnu11")
        .flag("-ffreestanding")
        .flag_if_supported("-mgeneral-regs-only")
        .extra_warnings(true)
        .warnings_into_errors(true)
        .opt_level(2);
    build
}
