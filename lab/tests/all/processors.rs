//! The programs are for more than one kind of processor, of which a build compiles for one only.

use std::process::Command;

#[test]
fn the_programs_compile_for_each_processor_without_a_warning() {
    let clang = std::env::var_os("CLANG").unwrap_or_else(|| "clang".into());
    if let Err(error) = Command::new(&clang).arg("--version").output() {
        let reason = format!("cannot run {}: {error}", clang.display());
        return brisk_requires::skip(brisk_requires::Capability::Program("clang"), reason);
    }
    for processor in ["x86", "arm64"] {
        let output = Command::new(&clang)
            .args(["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"])
            .arg(format!("-D__TARGET_ARCH_{processor}"))
            .args(["-c", "src/probes/bpf/probes.bpf.c", "-o", "/dev/null"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .expect("clang runs");
        assert!(output.status.success(), "{processor}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
