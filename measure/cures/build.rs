//! Builds the program that does the storage work of an app; it is embedded in the crate.

use std::path::Path;

fn main() {
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    let mut command = cc::Build::new().opt_level(2).get_compiler().to_command();
    command.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "c/app.c", "-lsqlite3", "-o"]);
    let status = command.arg(Path::new(&out).join("app")).status().expect("the C compiler runs");
    assert!(status.success(), "cannot compile c/app.c: the headers of SQLite are in libsqlite3-dev");
    println!("cargo:rerun-if-changed=c/app.c");
    println!("cargo:rerun-if-changed=build.rs");
}
