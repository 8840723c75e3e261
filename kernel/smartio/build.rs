//! Compiles the policy header and the scheduler around it under the constraints of kernel code: freestanding, no
//! floating point. `host/kernel.h` replaces the kernel's headers, under all the names that the scheduler includes.

use std::env;
use std::fs;
use std::path::PathBuf;

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

const SOURCES: [&str; 5] = ["policy_host.c", "host/scheduler.c", "insert.c", "sched.c", "learn.c"];
const HEADERS: [&str; 3] = ["smartio_policy.h", "smartio.h", "host/kernel.h"];

fn main() {
    let stubs = PathBuf::from(env::var_os("OUT_DIR").expect("cargo tells build scripts where to write")).join("kernel");
    let put = |name: &str, text: &str| {
        let path = stubs.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder in OUT_DIR");
        fs::write(path, text).expect("a file in OUT_DIR");
    };
    for name in OF_THE_KERNEL {
        put(name, "#include \"kernel.h\"\n");
    }
    cc::Build::new()
        .files(SOURCES)
        .include("host")
        .include(&stubs)
        .include(".")
        .std("gnu11")
        .flag("-ffreestanding")
        .flag_if_supported("-mgeneral-regs-only")
        // As the kernel's own build has it.
        .flag("-Wno-sign-compare")
        .flag("-Wno-unused-parameter")
        .extra_warnings(true)
        .warnings_into_errors(true)
        .opt_level(2)
        .compile("smartio_policy");
    for file in SOURCES.iter().chain(&HEADERS).chain(&["build.rs"]) {
        println!("cargo:rerun-if-changed={file}");
    }
}
