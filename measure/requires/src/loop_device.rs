//! Loop devices of tests.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{FlockOperation, flock};

/// The device file that allocates loop devices, locked: of two that were given the same free device, the kernel lets
/// the later one claim it before it sees that it is attached, and refuses it meanwhile to the program that the first
/// one started. The laboratory takes the same lock.
///
/// # Errors
/// When the file cannot be opened.
pub fn loop_control() -> io::Result<File> {
    let control = File::options().read(true).write(true).open("/dev/loop-control")?;
    flock(&control, FlockOperation::LockExclusive)?;
    Ok(control)
}

/// A loop device, detached when dropped.
#[derive(Debug)]
pub struct LoopDevice {
    node: PathBuf,
}

impl LoopDevice {
    /// Attaches a free one to `file`, with further options of `losetup`.
    ///
    /// # Panics
    /// When it cannot be attached: a test names `Loop` and `Program("losetup")` as required before.
    #[must_use]
    pub fn attach(file: &Path, options: &[&str]) -> Self {
        let _control = loop_control().expect("/dev/loop-control");
        let output = Command::new("losetup").args(options).args(["--find", "--show"]).arg(file).output();
        let output = output.expect("losetup runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self { node: String::from_utf8(output.stdout).expect("a path").trim().into() }
    }

    /// For instance `/dev/loop3`.
    #[must_use]
    pub fn node(&self) -> &Path {
        &self.node
    }

    /// For instance `loop3`.
    ///
    /// # Panics
    /// Never: losetup prints the path of a node.
    #[must_use]
    pub fn name(&self) -> &str {
        self.node.file_name().and_then(|name| name.to_str()).expect("a node")
    }

    /// Detaches it now. The kernel completes this when its last user closes it.
    pub fn detach(&self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.node).stderr(Stdio::null()).status();
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        self.detach();
    }
}
