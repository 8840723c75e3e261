//! The phone's root file system as an image file: built once from Debian packages, cached, and found by its recipe.
//!
//! `CACHE_DIR/phone/KEY/` holds `root.ext4` (sparse), `about.json` and a picture of each app's first run. A build works
//! in a directory of its own and renames the result into place, so an image is complete or absent. The next build
//! removes the leftovers of a killed one; a lock shows that no build is running.
//!
//! debootstrap makes the base, apt installs the apps' packages, each app runs once, and `mke2fs -d` turns the tree into
//! a file system without mounting it.

mod build;
mod first_run;
mod recipe;
mod sources;
pub(crate) mod steps;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use brisk_sense::Sense;
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

pub(crate) use self::build::LEAST_BYTES;
use self::build::{Build, Tools};
pub use self::first_run::FirstRun;
pub(crate) use self::recipe::Fnv;
use self::steps::{Steps, tool};
use crate::phone::catalogue::{App, Catalogue};
use crate::phone::error::{Error, Result, io as failed};
use crate::phone::phones::RIGHTS;

const SCHEMA_VERSION: u32 = 1;
/// Disk space of a build: the base, and for each app its packages, their files and their part of the image.
const BASE_BYTES: u64 = 1 << 30;
const APP_BYTES: u64 = 360 << 20;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Image {
    pub path: PathBuf,
    pub about: About,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct About {
    pub schema_version: u32,
    pub key: String,
    /// Apps by name, in the order of the catalogue.
    pub apps: Vec<String>,
    /// Size of the file system.
    pub size_bytes: u64,
    /// Bytes in use after the build.
    pub used_bytes: u64,
    pub build_s: f64,
    /// Date of the build (RFC 3339).
    pub built_at: String,
    /// Results of the apps' first runs.
    pub first_runs: Vec<FirstRun>,
    /// Version of each installed Debian package.
    pub packages: BTreeMap<String, String>,
}

#[derive(Debug, Clone)]
pub struct Images {
    dir: PathBuf,
    inside: Vec<OsString>,
}

impl Images {
    /// The cache in `cache_dir`, normally `/var/cache/brisk`. `inside` is the command that runs
    /// [`crate::phone::Inside`]; arguments are appended to it.
    #[must_use]
    pub fn new(cache_dir: &Path, inside: Vec<OsString>) -> Self {
        let cache_dir = std::path::absolute(cache_dir).unwrap_or_else(|_| cache_dir.to_owned());
        Self { dir: cache_dir.join("phone"), inside }
    }

    /// The image with these apps (all for no name), if it is built; otherwise the smallest of this recipe that contains
    /// them.
    ///
    /// # Errors
    /// When an app name is unknown.
    pub fn find(&self, names: &[String]) -> Result<Option<Image>> {
        let chosen = Catalogue::builtin().choose(names)?;
        Ok(self.load(&recipe::key(&chosen)).or_else(|| self.larger(&chosen)))
    }

    /// The smallest image that contains more than these apps.
    fn larger(&self, chosen: &[&App]) -> Option<Image> {
        let keys = fs::read_dir(&self.dir).ok()?.flatten().map(|entry| entry.file_name());
        let images = keys.filter_map(|key| {
            let key = key.to_str()?;
            let image = self.load(key)?;
            let has = Catalogue::builtin().choose(&image.about.apps).ok()?;
            let is_current = recipe::key(&has) == key;
            let serves = chosen.iter().all(|app| image.about.apps.contains(&app.name));
            (is_current && serves).then_some(image)
        });
        images.min_by_key(|image| image.about.size_bytes)
    }

    fn load(&self, key: &str) -> Option<Image> {
        let dir = self.dir.join(key);
        let about: About = serde_json::from_slice(&fs::read(dir.join("about.json")).ok()?).ok()?;
        let path = dir.join("root.ext4");
        (about.schema_version == SCHEMA_VERSION && check_image(&path).is_ok()).then_some(Image { path, about })
    }

    /// The image with these apps; built if it does not exist, after a wait for a build that is under way.
    ///
    /// # Errors
    /// As [`Self::find`] and [`Self::build`].
    pub fn get(&self, names: &[String], stop: &AtomicBool, progress: &mut dyn FnMut(&str)) -> Result<Image> {
        if let Some(image) = self.find(names)? {
            return Ok(image);
        }
        let building = self.begin(names, stop, progress)?;
        // Another process may have built it while this one waited.
        match self.find(names)? {
            Some(image) => Ok(image),
            None => self.build_now(building, stop, progress),
        }
    }

    /// Builds the image with these apps (all for no name), even if it exists, from the current packages.
    ///
    /// # Errors
    /// When a right, a tool or space is missing, a step fails, or `stop` is set; then only the log is left.
    pub fn build(&self, names: &[String], stop: &AtomicBool, progress: &mut dyn FnMut(&str)) -> Result<Image> {
        let building = self.begin(names, stop, progress)?;
        self.build_now(building, stop, progress)
    }

    /// Checks what a build needs, and waits until no other one is under way.
    fn begin(&self, names: &[String], stop: &AtomicBool, progress: &mut dyn FnMut(&str)) -> Result<Building> {
        let apps = Catalogue::builtin().choose(names)?;
        let tools = Tools::find()?;
        Sense::default().require_rights("building the phone's image", RIGHTS)?;
        fs::create_dir_all(&self.dir).map_err(failed(format!("make {}", self.dir.display())))?;
        let one_at_a_time = self.lock(stop, progress)?;
        Ok(Building { apps, tools, _one_at_a_time: one_at_a_time })
    }

    fn build_now(&self, building: Building, stop: &AtomicBool, progress: &mut dyn FnMut(&str)) -> Result<Image> {
        let Building { apps, tools, _one_at_a_time } = building;
        self.remove_leftovers()?;
        self.check_space(&apps)?;
        let work = self.dir.join(format!("{BUILDING}{}", std::process::id()));
        fs::create_dir(&work).map_err(failed(format!("make {}", work.display())))?;
        let mut steps = Steps::new(self.dir.join("build.log"), stop, progress)?;
        let built = Build { images: self, tools: &tools, apps: &apps, work: &work }.run(&mut steps);
        steps.report("clearing up");
        let removed = remove_tree(&work);
        let image = built?;
        removed?;
        self.remove_outdated(&image.about);
        Ok(image)
    }

    /// Waits for exclusive access to the cache.
    fn lock(&self, stop: &AtomicBool, progress: &mut dyn FnMut(&str)) -> Result<File> {
        let path = self.dir.join("lock");
        let lock = File::options().create(true).truncate(false).write(true).open(&path);
        let lock = lock.map_err(failed(format!("open {}", path.display())))?;
        loop {
            match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(lock),
                Err(rustix::io::Errno::WOULDBLOCK) => {}
                Err(errno) => return Err(failed(format!("lock {}", path.display()))(errno)),
            }
            if stop.load(std::sync::atomic::Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            progress(WAITING);
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Removes leftovers of killed builds; the lock shows that no build is running.
    fn remove_leftovers(&self) -> Result<()> {
        let entries = fs::read_dir(&self.dir).map_err(failed(format!("read {}", self.dir.display())))?;
        for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(BUILDING)) {
            remove_tree(&entry.path())?;
        }
        Ok(())
    }

    /// Removes images with the same apps from older recipes. A failure to remove one does not prevent using the new
    /// one.
    fn remove_outdated(&self, about: &About) {
        for entry in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            let dir = entry.path();
            let other =
                fs::read(dir.join("about.json")).ok().and_then(|text| serde_json::from_slice::<About>(&text).ok());
            if other.is_some_and(|other| other.apps == about.apps && other.key != about.key) {
                let _ = remove_tree(&dir);
            }
        }
    }

    fn check_space(&self, apps: &[&App]) -> Result<()> {
        let needed_bytes = BASE_BYTES + APP_BYTES * apps.len() as u64;
        let about = rustix::fs::statvfs(&self.dir).map_err(failed(format!("examine {}", self.dir.display())))?;
        let free_bytes = about.f_bavail * about.f_frsize;
        if free_bytes < needed_bytes {
            return Err(Error::Space { dir: self.dir.clone(), needed_bytes, free_bytes });
        }
        Ok(())
    }
}

/// A build that may begin: its apps and tools, and the lock of the cache.
struct Building {
    apps: Vec<&'static App>,
    tools: Tools,
    _one_at_a_time: File,
}

/// What a process reports that waits for the build of another one.
const WAITING: &str = "waiting for another image build";

/// Prefix of a build's directory; the process id follows.
const BUILDING: &str = "building-";

/// Removes a tree without mounts in it.
fn remove_tree(dir: &Path) -> Result<()> {
    if steps::is_mounted_below(dir)? {
        let source = std::io::ErrorKind::ResourceBusy.into();
        return Err(Error::Io { action: format!("remove {}, in which something is mounted", dir.display()), source });
    }
    fs::remove_dir_all(dir).map_err(failed(format!("remove {}", dir.display())))
}

/// Checks that a file is a cleanly unmounted ext4 image; returns the size of its file system.
///
/// # Errors
/// When it is not.
pub(crate) fn check_image(path: &Path) -> Result<u64> {
    let bad = |reason: String| Error::Image { path: path.to_owned(), reason };
    let mut file = File::open(path).map_err(|error| bad(error.to_string()))?;
    // Linux: fs/ext4/ext4.h, struct ext4_super_block at 1024.
    let mut head = [0; 2048];
    file.read_exact(&mut head).map_err(|_| bad("it is too short".to_owned()))?;
    let short = |at: usize| u16::from_le_bytes([head[1024 + at], head[1025 + at]]);
    let long = |at: usize| u32::from(short(at)) | u32::from(short(at + 2)) << 16;
    if short(0x38) != 0xef53 {
        return Err(bad("it is no ext4 file system".to_owned()));
    }
    let block_bytes = 1024u64.checked_shl(long(0x18)).unwrap_or(0);
    let size_bytes = block_bytes * (u64::from(long(0x04)) | u64::from(long(0x150)) << 32);
    let there_bytes = file.metadata().map_err(failed(format!("examine {}", path.display())))?.len();
    if there_bytes < size_bytes {
        return Err(bad(format!("it ends after {there_bytes} of {size_bytes} bytes")));
    }
    Ok(size_bytes)
}

/// Makes an image of any directory tree, for tests or a custom root.
///
/// # Errors
/// When `mke2fs` is missing or refuses.
pub fn make_image(root: &Path, size_bytes: u64, image: &Path) -> Result<()> {
    let mke2fs = tool("mke2fs", "makes the phone's file system", "e2fsprogs")?;
    let mut command = Command::new(mke2fs);
    command.args(["-q", "-F", "-t", "ext4", "-b", "4096", "-E", "lazy_itable_init=0,nodiscard", "-d"]);
    command.arg(root).arg(image).arg(format!("{}k", size_bytes / 1024));
    let output = command.output().map_err(failed("run mke2fs"))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Error::Image { path: image.to_owned(), reason });
    }
    fs::set_permissions(image, fs::Permissions::from_mode(0o600))
        .map_err(failed(format!("keep {} private", image.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_validated_by_its_superblock_and_length() {
        brisk_requires::requires!(Program("mke2fs"));
        let dir = tempfile::tempdir().expect("temporary directory");
        let (tree, image) = (dir.path().join("tree"), dir.path().join("image"));
        fs::create_dir_all(tree.join("etc")).expect("made");
        make_image(&tree, 32 << 20, &image).expect("made");
        assert_eq!(check_image(&image).expect("an image"), 32 << 20);
        File::options().write(true).open(&image).and_then(|file| file.set_len(20 << 20)).expect("cut");
        assert!(check_image(&image).expect_err("cut").to_string().contains("it ends after"));
        assert!(check_image(&tree).is_err());
        fs::write(&image, [0; 4096]).expect("written");
        assert!(check_image(&image).expect_err("zeroes").to_string().contains("no ext4"));
    }

    #[test]
    fn an_unfinished_image_is_not_found_and_leftovers_are_removed() {
        let cache = tempfile::tempdir().expect("temporary directory");
        let images = Images::new(cache.path(), Vec::new());
        assert_eq!(images.find(&[]).expect("known apps"), None);
        let key = recipe::key(&Catalogue::builtin().choose(&[]).expect("all"));
        let dir = cache.path().join("phone").join(key);
        fs::create_dir_all(&dir).expect("made");
        fs::write(dir.join("root.ext4"), "half").expect("written");
        assert_eq!(images.find(&[]).expect("known apps"), None);
        let left = cache.path().join("phone/building-1");
        fs::create_dir_all(left.join("root/etc")).expect("made");
        images.remove_leftovers().expect("removable");
        assert!(!left.exists() && dir.exists());
    }

    const CACHE: &str = "BRISK_PHONE_TEST_CACHE";

    #[test]
    #[ignore = "is a process of another test"]
    fn child_that_builds_an_image_with_two_apps() {
        let cache = PathBuf::from(std::env::var_os(CACHE).expect("set by the test that starts this"));
        let images = Images::new(&cache, Vec::new());
        fs::create_dir_all(&images.dir).expect("made");
        let _lock = images.lock(&AtomicBool::new(false), &mut |_| ()).expect("free");
        println!("building");
        std::io::stdin().read_line(&mut String::new()).expect("a line when the other waits");
        let apps = ["evince", "xterm"];
        let key = recipe::key(&Catalogue::builtin().choose(&apps.map(str::to_owned)).expect("known"));
        let (dir, tree) = (images.dir.join(&key), cache.join("tree"));
        fs::create_dir_all(&dir).expect("made");
        fs::create_dir_all(&tree).expect("made");
        make_image(&tree, 32 << 20, &dir.join("root.ext4")).expect("made");
        let text = serde_json::to_vec(&about(&key, &apps, 7)).expect("JSON");
        fs::write(dir.join("about.json"), text).expect("written");
    }

    /// Asks for an image with xterm while another process builds; `other` gets that process when this one waits. Gives
    /// the image and what was reported.
    fn get_while_another_builds(
        mut other: impl FnMut(&mut std::process::Child),
    ) -> Option<(Result<Image>, Vec<String>)> {
        use brisk_requires::Capability::{Mount, Program};
        let needed = [Mount, Program("mke2fs"), Program("debootstrap"), Program("Xvfb"), Program("unshare")];
        brisk_requires::available(&needed)?;
        let cache = tempfile::tempdir().expect("temporary directory");
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args([
                "--exact",
                "phone::image::tests::child_that_builds_an_image_with_two_apps",
                "--ignored",
                "--nocapture",
            ])
            .env(CACHE, cache.path())
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("this program runs");
        let said = std::io::BufReader::new(child.stdout.take().expect("piped"));
        let mut lines = std::io::BufRead::lines(said);
        let _limit = brisk_requires::killed_late(child.id(), "the other build");
        assert!(lines.any(|line| line.expect("text").contains("building")), "the other process ended");
        let (stop, mut reported) = (AtomicBool::new(false), Vec::<String>::new());
        let images = Images::new(cache.path(), Vec::new());
        let image = images.get(&["xterm".to_owned()], &stop, &mut |doing| {
            if doing == WAITING {
                other(&mut child);
            } else {
                // Instead of a build of minutes.
                stop.store(true, std::sync::atomic::Ordering::Relaxed);
            }
            if reported.last().is_none_or(|last| last != doing) {
                reported.push(doing.to_owned());
            }
        });
        drop(child.stdin.take());
        child.wait().expect("ended");
        Some((image, reported))
    }

    #[test]
    fn who_waited_for_a_build_takes_its_image() {
        let mut is_first = true;
        let let_it_build = |child: &mut std::process::Child| {
            if std::mem::take(&mut is_first) {
                let mut to_it = child.stdin.take().expect("piped");
                std::io::Write::write_all(&mut to_it, b"go\n").expect("it reads");
            }
        };
        let Some((image, reported)) = get_while_another_builds(let_it_build) else { return };
        // One app more than was asked for.
        assert_eq!(
            image.map(|image| image.about.apps).ok(),
            Some(vec!["evince".into(), "xterm".into()]),
            "{reported:?}"
        );
        assert_eq!(reported, [WAITING]);
    }

    #[test]
    fn who_waited_for_a_build_that_was_killed_builds() {
        let kill = |child: &mut std::process::Child| child.kill().expect("killed");
        let Some((image, reported)) = get_while_another_builds(kill) else { return };
        assert!(matches!(image, Err(Error::Stopped)), "{image:?}");
        assert!(reported.len() > 1 && reported[0] == WAITING, "{reported:?}");
    }

    fn about(key: &str, apps: &[&str], size_bytes: u64) -> About {
        About {
            schema_version: SCHEMA_VERSION,
            key: key.to_owned(),
            apps: apps.iter().map(|&app| app.to_owned()).collect(),
            size_bytes,
            used_bytes: 0,
            build_s: 0.0,
            built_at: String::new(),
            first_runs: Vec::new(),
            packages: BTreeMap::new(),
        }
    }

    #[test]
    fn the_smallest_image_with_more_apps_is_found_and_other_recipes_are_ignored() {
        brisk_requires::requires!(Program("mke2fs"));
        let cache = tempfile::tempdir().expect("temporary directory");
        let images = Images::new(cache.path(), Vec::new());
        let (tree, made) = (cache.path().join("tree"), cache.path().join("made"));
        fs::create_dir_all(&tree).expect("made");
        make_image(&tree, 32 << 20, &made).expect("made");
        let keep = |apps: &[&str], size_bytes: u64, key: Option<&str>| {
            let names: Vec<String> = apps.iter().map(|&app| app.to_owned()).collect();
            let own = recipe::key(&Catalogue::builtin().choose(&names).expect("known"));
            let dir = images.dir.join(key.unwrap_or(&own));
            fs::create_dir_all(&dir).expect("made");
            fs::copy(&made, dir.join("root.ext4")).expect("copied");
            let text = serde_json::to_vec(&about(&own, apps, size_bytes)).expect("JSON");
            fs::write(dir.join("about.json"), text).expect("written");
        };
        keep(&["evince", "mousepad", "xterm"], 3, None);
        keep(&["evince", "xterm"], 2, None);
        keep(&["evince", "gimp"], 1, Some("of-another-recipe"));
        let size = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            images.find(&names).expect("known").map(|image| image.about.size_bytes)
        };
        assert_eq!(size(&["evince", "xterm"]), Some(2));
        assert_eq!((size(&["evince"]), size(&["xterm", "mousepad"])), (Some(2), Some(3)));
        assert_eq!((size(&["gimp"]), size(&[])), (None, None));
    }

    #[test]
    fn an_image_of_an_older_recipe_is_removed_after_its_successor_is_built() {
        let cache = tempfile::tempdir().expect("temporary directory");
        let images = Images::new(cache.path(), Vec::new());
        for (key, apps) in [("old", ["evince"]), ("new", ["evince"]), ("other", ["xterm"])] {
            let dir = images.dir.join(key);
            fs::create_dir_all(&dir).expect("made");
            let text = serde_json::to_vec(&about(key, &apps, 0)).expect("JSON");
            fs::write(dir.join("about.json"), text).expect("written");
        }
        fs::create_dir(images.dir.join("not ours")).expect("made");
        images.remove_outdated(&about("new", &["evince"], 0));
        let left = |name: &str| images.dir.join(name).exists();
        assert!(!left("old") && left("new") && left("other") && left("not ours"));
    }
}
