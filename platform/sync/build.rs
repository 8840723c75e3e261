//! Builds the preload library and the SQLite extension; both are embedded in the crate.

use std::path::Path;

const FILES: &[&str] = &["preload.c", "sqlite_vfs.c", "mapped.h", "order.h", "pending.h", "rules.h"];

fn build(library: &str, arguments: &[&str], sources: &[&str]) {
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    let mut command = cc::Build::new().opt_level(2).pic(true).get_compiler().to_command();
    // No fortified sources: their inline functions would conflict with ours.
    command.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-U_FORTIFY_SOURCE", "-fvisibility=hidden", "-shared"]);
    command.args(arguments).arg("-o").arg(Path::new(&out).join(library));
    let status =
        command.args(sources.iter().map(|source| format!("c/{source}"))).status().expect("the C compiler runs");
    assert!(status.success(), "cannot compile {sources:?}: the headers of SQLite are in libsqlite3-dev");
}

fn main() {
    build("brisk_sync.so", &["-DBRISK_PRELOADED"], &["preload.c", "sqlite_vfs.c"]);
    build("brisk_sync_sqlite.so", &[], &["sqlite_vfs.c"]);
    for file in FILES {
        println!("cargo:rerun-if-changed=c/{file}");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
