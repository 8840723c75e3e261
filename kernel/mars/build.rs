//! Compiles the pure part of the patch under the constraints of kernel code: freestanding, no floating point.

fn main() {
    const FILES: [&str; 2] = ["mm/mars_extents.c", "mm/mars_extents.h"];
    cc::Build::new()
        .file(FILES[0])
        .std("gnu11")
        .flag("-ffreestanding")
        .flag_if_supported("-mgeneral-regs-only")
        .extra_warnings(true)
        .warnings_into_errors(true)
        .opt_level(2)
        .compile("mars_extents");
    for file in FILES.iter().chain(&["build.rs"]) {
        println!("cargo:rerun-if-changed={file}");
    }
}
