//! Builds the preload library and the SQLite extension; both are embedded in the crate.

use std::path::Path;

const FILES: &[&str] = &["preload.c", "sqlite_vfs.c", "mapped.h", "opens.h", "order.h", "pending.h", "rules.h"];

/// What Debian builds with: `dpkg-buildflags` with hardening=+all, as far as libraries have it.
const HARDENED: &[&str] =
    &["-fstack-protector-strong", "-fstack-clash-protection", "-Wformat", "-Werror=format-security"];
const LINKED: &[&str] = &["-shared", "-Wl,-z,relro", "-Wl,-z,now", "-Wl,-z,noexecstack"];

fn run(command: &mut std::process::Command) {
    let status = command.status().expect("the C compiler runs");
    assert!(status.success(), "{command:?} fails: the headers of SQLite are in libsqlite3-dev");
}

fn build(library: &str, arguments: &[&str], sources: &[&str]) {
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    let out = Path::new(&out);
    // These are shared, however programs are linked.
    #[allow(deprecated, reason = "cc links as programs are linked, and has no other way to say no")]
    let compiler = cc::Build::new().opt_level(2).pic(true).static_flag(false).get_compiler();
    let mut link = compiler.to_command();
    for source in sources {
        let object = out.join(format!("{library}.{source}.o"));
        let mut compile = compiler.to_command();
        compile.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-U_FORTIFY_SOURCE", "-fvisibility=hidden"]);
        // Where calls of the C library are defined, the inline functions of fortified sources would conflict with
        // these.
        if *source != "preload.c" {
            compile.arg("-D_FORTIFY_SOURCE=2");
        }
        run(compile.args(HARDENED).args(arguments).arg("-c").arg(format!("c/{source}")).arg("-o").arg(&object));
        link.arg(object);
    }
    run(link.args(LINKED).arg("-o").arg(out.join(library)));
}

fn main() {
    build("brisk_sync.so", &["-DBRISK_PRELOADED"], &["preload.c", "sqlite_vfs.c"]);
    build("brisk_sync_sqlite.so", &[], &["sqlite_vfs.c"]);
    for file in FILES {
        println!("cargo:rerun-if-changed=c/{file}");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
