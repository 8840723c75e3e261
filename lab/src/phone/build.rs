//! Builds the preload library that disables syncs; it is embedded in the program.

use std::path::Path;

pub(crate) fn build() {
    let source = "src/phone/preload/nosync.c";
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    let library = Path::new(&out).join("nosync.so");
    let mut command = cc::Build::new().opt_level(2).pic(true).get_compiler().to_command();
    // No fortified sources: their inline functions would conflict with ours.
    command.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-U_FORTIFY_SOURCE", "-fvisibility=hidden", "-shared"]);
    let status = command
        .arg("-I")
        .arg("../machine/sync/c")
        .arg("-o")
        .arg(&library)
        .arg(source)
        .status()
        .expect("the C compiler runs");
    assert!(status.success(), "cannot compile {source}");
    for file in [source, "../machine/sync/c/opens.h", "src/phone/build.rs"] {
        println!("cargo:rerun-if-changed={file}");
    }
}
