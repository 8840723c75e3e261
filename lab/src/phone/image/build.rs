//! The steps of an image build.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::steps::{Steps, contained, tool};
use super::{About, Image, Images, SCHEMA_VERSION, first_run, recipe, sources};
use crate::phone::catalogue::{App, Catalogue};
use crate::phone::error::{Result, io as failed};
use crate::phone::{documents, mounts, tree};

/// Size of ext4's own data and free space in the image; the file system grows with the larger device.
const JOURNAL_BYTES: u64 = 64 << 20;
const FREE_BYTES: u64 = 128 << 20;
const MIB: u64 = 1 << 20;
/// No image is smaller: ext4's own data, free space, and a base system.
pub(crate) const LEAST_BYTES: u64 = JOURNAL_BYTES + FREE_BYTES + 64 * MIB;

/// External programs of a build.
pub(super) struct Tools {
    debootstrap: PathBuf,
    mke2fs: PathBuf,
}

impl Tools {
    pub(super) fn find() -> Result<Self> {
        tool("unshare", "keeps a build's mounts and processes apart", "util-linux")?;
        first_run::check()?;
        Ok(Self {
            debootstrap: tool("debootstrap", "makes the phone's root", "debootstrap")?,
            mke2fs: tool("mke2fs", "makes the phone's file system", "e2fsprogs")?,
        })
    }
}

pub(super) struct Build<'a> {
    pub(super) images: &'a Images,
    pub(super) tools: &'a Tools,
    pub(super) apps: &'a [&'a App],
    pub(super) work: &'a Path,
}

impl Build<'_> {
    pub(super) fn run(&self, steps: &mut Steps<'_>) -> Result<Image> {
        let begun = Instant::now();
        let root = self.work.join("root");
        self.base(steps, &root)?;
        self.install(steps, &root)?;
        tree::cut_times(&root).map_err(failed("set the times of the files"))?;
        self.enter(steps, "fonts", &root, false, &["fc-cache", "--force", "--system-only"])?;
        self.documents(steps, &root)?;
        let pictures = self.work.join("done/first-runs");
        let first_runs = match first_run::run(steps, &self.images.inside, &root, self.apps, &pictures) {
            Ok(first_runs) => first_runs,
            Err(error) => {
                self.keep_failed_picture(&pictures);
                return Err(error);
            }
        };
        self.enter(steps, "tidying", &root, false, &["/bin/sh", "-c", recipe::TIDY])?;
        let packages = take_packages(&root)?;
        let (size_bytes, used_bytes) = self.file_system(steps, &root)?;
        let key = recipe::key(self.apps);
        let about = About {
            schema_version: SCHEMA_VERSION,
            apps: self.apps.iter().map(|app| app.name.clone()).collect(),
            size_bytes,
            used_bytes,
            build_s: begun.elapsed().as_secs_f64(),
            built_at: jiff::Timestamp::now().to_string(),
            first_runs,
            packages,
            key,
        };
        steps.check()?;
        self.keep(about)
    }

    /// Installs the base system.
    fn base(&self, steps: &mut Steps<'_>, root: &Path) -> Result<()> {
        let mirror = sources::mirrors().main;
        let words = ["--variant=minbase", recipe::SUITE].map(OsString::from);
        let words = [words.as_slice(), &[root.into(), mirror.into()]].concat();
        let mut command = contained(&self.tools.debootstrap, &words);
        if let Some(proxy) = sources::proxy().filter(|_| std::env::var_os("http_proxy").is_none()) {
            command.env("http_proxy", proxy);
        }
        steps.run("base system", command)
    }

    fn install(&self, steps: &mut Steps<'_>, root: &Path) -> Result<()> {
        let apt = self.work.join("apt");
        sources::write(&apt, &sources::mirrors()).map_err(failed("write the sources of packages"))?;
        // Host names that resolve without a name server.
        let _ = fs::copy("/etc/hosts", root.join("etc/hosts"));
        let mut script: Vec<&str> = vec!["/bin/sh", "-c", recipe::INSTALL, "install.sh"];
        let uid = mounts::UID.to_string();
        script.push(&uid);
        let packages = recipe::packages(Catalogue::builtin(), self.apps);
        script.extend(packages.iter().map(String::as_str));
        let bind = format!("{}:/etc/apt", apt.display());
        let mut words = self.images.inside.clone();
        words.extend(["--bind", &bind].map(OsString::from));
        self.enter_with(steps, "packages", words, root, &script)
    }

    /// Writes documents into the user's home, and runs the apps' commands that create their own.
    fn documents(&self, steps: &mut Steps<'_>, root: &Path) -> Result<()> {
        let dir = mounts::inside(root, mounts::HOME).join("Documents");
        for document in documents::all() {
            let file = dir.join(document.name);
            let written = fs::write(&file, &document.bytes)
                .and_then(|()| std::os::unix::fs::chown(&file, Some(mounts::UID), Some(mounts::UID)));
            written.map_err(failed(format!("write {}", file.display())))?;
        }
        for app in self.apps.iter().filter(|app| !app.prepare.is_empty()) {
            let words: Vec<&str> = app.prepare.iter().map(String::as_str).collect();
            self.enter(steps, &format!("document for {}", app.name), root, true, &words)?;
        }
        Ok(())
    }

    fn enter(&self, steps: &mut Steps<'_>, step: &str, root: &Path, as_user: bool, words: &[&str]) -> Result<()> {
        let mut inside = self.images.inside.clone();
        if as_user {
            inside.push("--as-user".into());
        }
        self.enter_with(steps, step, inside, root, words)
    }

    fn enter_with(
        &self,
        steps: &mut Steps<'_>,
        step: &str,
        mut words: Vec<OsString>,
        root: &Path,
        command: &[&str],
    ) -> Result<()> {
        words.push(root.into());
        words.push("--".into());
        words.extend(command.iter().map(OsString::from));
        let program = words.remove(0);
        steps.run(step, contained(program, &words))
    }

    /// Turns the tree into an image; returns its size and the bytes in use.
    fn file_system(&self, steps: &mut Steps<'_>, root: &Path) -> Result<(u64, u64)> {
        let files_bytes = tree::size_bytes(root).map_err(failed(format!("measure {}", root.display())))?;
        // Inodes, bitmaps and block maps take less than a twentieth.
        let size_bytes = (files_bytes + files_bytes / 16 + JOURNAL_BYTES + FREE_BYTES).next_multiple_of(MIB);
        let image = self.work.join("done/root.ext4");
        let mut command = Command::new(&self.tools.mke2fs);
        command.args(["-q", "-F", "-t", "ext4", "-b", "4096", "-m", "0", "-L", "brisk-phone"]);
        command.args([
            "-J",
            &format!("size={}", JOURNAL_BYTES / MIB),
            "-E",
            "lazy_itable_init=0,nodiscard,root_owner=0:0",
        ]);
        command.arg("-d").arg(root).arg(&image).arg(format!("{}k", size_bytes / 1024));
        steps.run("file system", command)?;
        let file = File::open(&image).and_then(|file| file.sync_all().map(|()| file));
        let about = file.and_then(|file| file.metadata()).map_err(failed(format!("write {}", image.display())))?;
        Ok((size_bytes, about.blocks() * 512))
    }

    /// Moves the result into place; an earlier one is moved away first.
    fn keep(&self, about: About) -> Result<Image> {
        let (done, place) = (self.work.join("done"), self.images.dir.join(&about.key));
        let kept = serde_json::to_vec_pretty(&about).map_err(std::io::Error::from).and_then(|text| {
            fs::write(done.join("about.json"), text)?;
            if place.exists() {
                fs::rename(&place, self.work.join("old"))?;
            }
            fs::rename(&done, &place)
        });
        kept.map_err(failed(format!("keep the image in {}", place.display())))?;
        Ok(Image { path: place.join("root.ext4"), about })
    }

    /// Keeps the picture of a failed first run, which usually shows the reason.
    fn keep_failed_picture(&self, pictures: &Path) {
        for entry in fs::read_dir(pictures).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if name.to_string_lossy().starts_with("failed-") {
                // The error is reported even without the picture.
                let _ = fs::copy(entry.path(), self.images.dir.join(name));
            }
        }
    }
}

/// Reads and removes the list of packages that tidying left in the root.
fn take_packages(root: &Path) -> Result<BTreeMap<String, String>> {
    let file = root.join("packages");
    let text = fs::read_to_string(&file).map_err(failed(format!("read {}", file.display())))?;
    fs::remove_file(&file).map_err(failed(format!("remove {}", file.display())))?;
    Ok(text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, version)| (name.into(), version.into()))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_packages_is_moved_out_of_the_root() {
        let root = tempfile::tempdir().expect("temporary directory");
        fs::write(root.path().join("packages"), "evince 43.1-2\nxterm 379-1\n").expect("written");
        let packages = take_packages(root.path()).expect("read");
        assert_eq!(packages.get("evince").map(String::as_str), Some("43.1-2"));
        assert!(!root.path().join("packages").exists());
    }
}
