//! Compiles the policy header under the limits that kernel code has: freestanding, no floating point.

fn main() {
    cc::Build::new()
        .file("policy_host.c")
        .std("gnu11")
        .flag("-ffreestanding")
        .flag_if_supported("-mgeneral-regs-only")
        .extra_warnings(true)
        .warnings_into_errors(true)
        .opt_level(2)
        .compile("smartio_policy");
    for file in ["policy_host.c", "smartio_policy.h", "build.rs"] {
        println!("cargo:rerun-if-changed={file}");
    }
}
