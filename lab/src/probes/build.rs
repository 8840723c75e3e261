//! Compiles the eBPF programs, so that they are part of the binary.
//!
//! `BRISK_NO_BPF=1` builds without them and without clang: brisk then behaves as on a kernel that refuses eBPF.
//! `CLANG` names another compiler than `clang`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

pub(crate) fn build() {
    println!("cargo::rustc-check-cfg=cfg(brisk_no_bpf)");
    println!("cargo::rerun-if-changed=src/probes/bpf");
    println!("cargo::rerun-if-changed=src/probes/build.rs");
    for variable in ["BRISK_NO_BPF", "CLANG"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    if env::var_os("BRISK_NO_BPF").is_some_and(|value| !value.is_empty() && value != "0") {
        println!("cargo::rustc-cfg=brisk_no_bpf");
        return;
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names a folder for what is built"));
    for name in ["probes", "swap"] {
        compile(name, &out.join(format!("{name}.bpf.o")));
    }
}

fn compile(name: &str, object: &Path) {
    let source = format!("src/probes/bpf/{name}.bpf.c");
    let arch = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo names the processor");
    let target = match arch.as_str() {
        "x86_64" => "-D__TARGET_ARCH_x86",
        // 32-bit programs mostly run on a 64-bit kernel; a 32-bit one refuses these programs, as one without eBPF does.
        "aarch64" | "arm" => "-D__TARGET_ARCH_arm64",
        _ => fail(&[
            &format!("brisk-lab does not know where {arch} keeps the number of a system call"),
            "build without the eBPF programs: BRISK_NO_BPF=1, or add this processor in lab/src/probes/bpf",
        ]),
    };
    let clang = env::var_os("CLANG").unwrap_or_else(|| "clang".into());
    let result = Command::new(&clang)
        .args(["-O2", "-g", "-target", "bpf", "-mcpu=v3", target])
        .args(["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-c", &source, "-o"])
        .arg(object)
        .output();
    let clang = clang.to_string_lossy();
    match result {
        Ok(output) if output.status.success() => {}
        Ok(output) => fail(&[
            &format!("{clang} could not compile lab/{source} (clang 12 or newer is needed):"),
            &String::from_utf8_lossy(&output.stderr),
        ]),
        Err(error) => fail(&[
            &format!("brisk-lab needs clang to compile its eBPF programs, and {clang} cannot be run: {error}"),
            "install it (Debian: apt-get install clang), or build without the programs: BRISK_NO_BPF=1",
        ]),
    }
}

#[allow(clippy::print_stderr, reason = "cargo shows it")]
fn fail(lines: &[&str]) -> ! {
    for line in lines {
        eprintln!("{line}");
    }
    exit(1);
}
