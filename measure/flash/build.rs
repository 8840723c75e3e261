//! Builds the C core of the model under the limits that a kernel module has: freestanding, no floating point.

fn main() {
    let sources = ["c/core.c", "c/setup.c", "c/buffer.c", "c/mapping.c"];
    cc::Build::new()
        .files(sources)
        .include("c")
        .std("c11")
        .flag("-ffreestanding")
        .flag_if_supported("-mgeneral-regs-only")
        .extra_warnings(true)
        .opt_level(2)
        .compile("brisk_flash");
    for file in sources.iter().chain(&["c/brisk_flash.h", "c/internal.h", "build.rs"]) {
        println!("cargo:rerun-if-changed={file}");
    }
}
