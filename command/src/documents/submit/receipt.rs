//! Receipts: the secret that deletes a submission, one file for each, readable by its owner alone.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};

/// A receipt has a hundred bytes or two.
const BYTES_MAX: u64 = 4096;

/// What deletes a submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Receipt {
    pub(super) id: String,
    /// 128 random bits in hexadecimal digits.
    pub(super) secret: String,
}

#[derive(Debug)]
pub(super) struct Receipts {
    folder: PathBuf,
}

impl Receipts {
    /// The folder that was asked for, or that of the user.
    pub(super) fn at(folder: Option<PathBuf>) -> anyhow::Result<Self> {
        let state = || {
            let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
            absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))
        };
        let folder = folder.or_else(|| Some(state()?.join("brisk/submissions")));
        Ok(Self { folder: folder.context("there is no home directory for receipts: give --receipts")? })
    }

    pub(super) fn file(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    /// The receipt of a submission that was made before, or a new one: the same content has the same secret.
    pub(super) fn of(&self, id: &str) -> anyhow::Result<Receipt> {
        if self.file(id).exists() {
            return self.read(id);
        }
        let mut random = [0u8; 16];
        let filled = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
        let filled = filled.context("the kernel gives no random numbers")?;
        anyhow::ensure!(filled == random.len(), "the kernel gives too few random numbers");
        let secret = random.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Receipt { id: id.to_owned(), secret })
    }

    /// Reads the receipt of a submission.
    pub(super) fn read(&self, id: &str) -> anyhow::Result<Receipt> {
        if id.len() != 64 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            bail!("'{id}' is no id of a submission: those have 64 hexadecimal digits");
        }
        let file = self.file(id);
        let text = brisk_program::files::read(&file, BYTES_MAX)
            .context("without the receipt a submission cannot be deleted")?;
        let receipt: Receipt =
            serde_json::from_slice(&text).with_context(|| format!("{} is no receipt", file.display()))?;
        if receipt.id != id {
            bail!("{} is the receipt of another submission", file.display());
        }
        Ok(receipt)
    }

    pub(super) fn keep(&self, receipt: &Receipt) -> anyhow::Result<()> {
        let file = self.file(&receipt.id);
        let text = serde_json::to_string(receipt).context("cannot write JSON")? + "\n";
        make(&self.folder)?;
        crate::output::replace(&file, text.as_bytes())?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600))
            .with_context(|| format!("cannot make {} private", file.display()))
    }
}

/// Makes the folder, for its owner alone.
fn make(folder: &Path) -> anyhow::Result<()> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.with_context(|| format!("cannot make the folder of receipts, {}: give --receipts", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_is_kept_privately_and_found_again() {
        let dir = tempfile::tempdir().expect("a directory");
        let receipts = Receipts::at(Some(dir.path().join("a/b"))).expect("a folder");
        let id = "ab".repeat(32);
        let receipt = receipts.of(&id).expect("new");
        assert_ne!(receipt, receipts.of(&id).expect("another, as none is kept"));
        assert_eq!(receipt.secret.len(), 32);
        receipts.keep(&receipt).expect("kept");
        assert_eq!(receipts.of(&id).expect("kept"), receipt);
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!((mode(&receipts.file(&id)), mode(&dir.path().join("a/b"))), (0o600, 0o700));
        assert!(receipts.read("../x").expect_err("no id").to_string().contains("64 hexadecimal"));
        assert!(receipts.read(&"cd".repeat(32)).expect_err("none").to_string().contains("without the receipt"));
    }
}
