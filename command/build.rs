//! Names the commit that this is built from: `BRISK_COMMIT` of the environment (for packagers, such as
//! `a1b2c3d4e5f6 2026-11-26`), else what git says of the source tree. Without both, as from a tarball, the build knows
//! no commit, and is none the worse.
//!
//! The date is the commit's, so that builds of a commit are alike. Git is asked again when the tree's HEAD has moved.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=BRISK_COMMIT");
    println!("cargo:rerun-if-changed=build.rs");
    let given = std::env::var("BRISK_COMMIT").ok().map(|text| text.trim().to_owned());
    let commit = match given {
        Some(given) => Some(given).filter(|given| !given.is_empty()),
        None => of_tree(),
    };
    let commit = commit.filter(|commit| commit.chars().all(|c| c.is_ascii_alphanumeric() || " .:+-_".contains(c)));
    println!("cargo:rustc-env=BRISK_COMMIT_OF_BUILD={}", commit.unwrap_or_default());
}

/// Commit and day of the source tree; `None` where it is no git tree, or lies within another one.
fn of_tree() -> Option<String> {
    let root = Path::new(&std::env::var_os("CARGO_MANIFEST_DIR")?).join("..").canonicalize().ok()?;
    let git = |arguments: &[&str]| -> Option<String> {
        let output = Command::new("git").arg("-C").arg(&root).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    };
    if PathBuf::from(git(&["rev-parse", "--show-toplevel"])?).canonicalize().ok()? != root {
        return None;
    }
    // A path that does not exist would run this at each build.
    for name in ["HEAD", "logs/HEAD"] {
        let path = root.join(git(&["rev-parse", "--git-path", name])?);
        if path.exists() {
            println!("cargo:rerun-if-changed={}", path.display());
        }
    }
    git(&["log", "-1", "--format=%H %cs", "--abbrev=12"]).map(|text| {
        let (hash, day) = text.split_once(' ').unwrap_or((&text, ""));
        format!("{} {day}", &hash[..hash.len().min(12)]).trim_end().to_owned()
    })
}
