//! Builds the programs of the guest, which do the storage work of an app and check what a power cut leaves; they are
//! embedded in the crate.

use std::path::Path;

pub(crate) fn build() {
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    for program in ["app", "crash"] {
        let source = format!("src/cures/c/{program}.c");
        let mut command = cc::Build::new().opt_level(2).get_compiler().to_command();
        command.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", &source, "-lsqlite3", "-o"]);
        let status = command.arg(Path::new(&out).join(program)).status().expect("the C compiler runs");
        assert!(status.success(), "cannot compile {source}: the headers of SQLite are in libsqlite3-dev");
        println!("cargo:rerun-if-changed={source}");
    }
    println!("cargo:rerun-if-changed=src/cures/build.rs");
}
