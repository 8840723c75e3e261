//! Builds the C core of the model under the limits that a kernel module has: freestanding, no floating point.

pub(crate) fn build() {
    let sources = ["src/flash/c/core.c", "src/flash/c/setup.c", "src/flash/c/buffer.c", "src/flash/c/mapping.c"];
    cc::Build::new()
        .files(sources)
        .include("src/flash/c")
        .std("c11")
        .flag("-ffreestanding")
        .flag_if_supported("-mgeneral-regs-only")
        .extra_warnings(true)
        .opt_level(2)
        .compile("brisk_flash");
    for file in sources.iter().chain(&["src/flash/c/brisk_flash.h", "src/flash/c/internal.h", "src/flash/build.rs"]) {
        println!("cargo:rerun-if-changed={file}");
    }
}
