//! Images of phones: made by the phone itself, in virtual time, and kept by the hash of what they are made of.
//!
//! 1. `kernel/packages` downloads Debian's packages of the architecture, and makes one archive of their files and of
//!    dpkg's records that they are unpacked. It goes behind an empty file system into a file that is a machine's
//!    memory.
//! 2. A machine that keeps what it writes unpacks the archive (`guest/unpack`) and has the packages configured by their
//!    own scripts (`guest/install`); each app runs once. Nothing of the host but the packages and QEMU has a part in
//!    it.
//! 3. A copy of that starts as a phone does, installs brisk's packages as a user would, and shuts down in order.
//!
//! Both are kept, with [`About`], in a folder named by their key; what measures maps the file privately.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rapidhash::v3::rapidhash_v3;
use rustix::fs::{FallocateFlags, fallocate};
use serde::{Deserialize, Serialize};

use crate::flash::PAGE_BYTES;
use crate::phone::architecture::Architecture;
use crate::phone::machine::Machine;
use crate::phone::memory_map::{FLASH_MIB, KERNEL_MIB, PAGES_PER_MIB, file_mib, packages_at_mib};
use crate::phone::plan;
use crate::phone::port::Port;
use crate::phone::{App, Catalogue};
use crate::vm::Watch;
use crate::vm::error::{Error, Result};
use crate::vm::image::{Wanted, initramfs};
use crate::vm::sources::{Kernel, Source};

/// Raised when what is made changes and no input does.
const VERSION: &str = "2";
/// Packages of every phone, besides the essential ones, those of the catalogue and those of its apps.
const BASE: [&str; 18] = [
    "busybox-static",
    "dbus",
    "dbus-user-session",
    "e2fsprogs",
    "kmod",
    "libgcc-s1",
    "libpam-systemd",
    "libsqlite3-0",
    "matchbox-window-manager",
    "mount",
    "passwd",
    "procps",
    "systemd-sysv",
    "udev",
    "util-linux",
    "xfonts-base",
    "xkb-data",
    "xvfb",
];
/// Modules of a phone, where the kernel has them and has not built them in: schedulers before the flash, which takes
/// its default from those that are there.
const MODULES: [&str; 8] =
    ["mq_deadline", "bfq", "kyber_iosched", "crc32c_generic", "ext4", "zram", "autofs4", "brisk_flash"];
/// Guest scripts, which are part of the key.
const SCRIPTS: [&str; 3] = ["init", "unpack", "install"];
/// Those of brisk.
const PACKAGES: [&str; 3] = ["brisk", "brisk-session", "brisk-lab"];
/// Memory of the machine that makes an image.
const MAKER_MIB: u64 = 1_800;
/// Room for the model of the second flash.
const PACKAGES_SPARE_MIB: u64 = 16;
/// Most time on the host.
const MAKE_MAX: Duration = Duration::from_secs(7_200);
const MIB: u64 = 1 << 20;

/// What is known about an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    pub key: String,
    pub apps: Vec<String>,
    /// Kernel that it was made with.
    pub kernel: String,
    /// Files of the packages that were installed.
    pub packages: Vec<String>,
    /// Hash of the content of its flash.
    pub content: String,
}

/// A finished image.
#[derive(Debug, Clone)]
pub struct Made {
    /// Memory of its machine.
    pub memory: PathBuf,
    /// A static busybox of its architecture.
    pub busybox: PathBuf,
    pub about: About,
}

/// Where images are made and kept.
#[derive(Debug)]
pub struct Images<'a> {
    pub source: &'a Source,
    pub architecture: Architecture,
    pub kernel: &'a Kernel,
}

impl Images<'_> {
    fn dir(&self) -> PathBuf {
        self.source.phones().join(self.architecture.name())
    }

    fn guest(&self, name: &str) -> PathBuf {
        self.source.path("lab/src/phone/guest").join(name)
    }

    /// Builds the library that QEMU is run with (`steady.c`).
    ///
    /// # Errors
    /// When there is no compiler, or it fails.
    pub(super) fn steady(&self, to: &Path) -> Result<()> {
        self.library("gcc", "gcc", &[], "lab/src/phone/steady.c", to)
    }

    /// The library that turns syncs off in apps of the phone (`preload/nosync.c`), built in the folder `work`.
    ///
    /// # Errors
    /// When there is no compiler for the phone's architecture, or it fails.
    pub(super) fn without_sync(&self, work: &Path) -> Result<Vec<u8>> {
        let (compiler, package) = self.architecture.compiler();
        let to = work.join("nosync.so");
        // As lab/src/phone/build.rs builds it for this machine.
        let plain = ["-std=gnu11", "-U_FORTIFY_SOURCE", "-fvisibility=hidden"];
        self.library(compiler, package, &plain, "lab/src/phone/preload/nosync.c", &to)?;
        fs::read(&to).map_err(Error::io("read", &to))
    }

    fn library(
        &self,
        compiler: &'static str,
        package: &'static str,
        flags: &[&str],
        code: &str,
        to: &Path,
    ) -> Result<()> {
        run(compiler, package, |command| {
            command.args(["-O2", "-shared", "-fPIC"]).args(flags).arg("-I").arg(self.source.path("machine/sync/c"));
            command.arg("-o").arg(to).arg(self.source.path(code));
        })
    }

    /// A guest script of the source tree.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn script(&self, name: &str) -> Result<String> {
        let path = self.guest(name);
        fs::read_to_string(&path).map_err(Error::io("read", &path))
    }

    /// The image with these apps and packages of brisk; made, where it is missing.
    ///
    /// # Errors
    /// When packages cannot be downloaded, a machine fails, or the user cancels.
    pub fn get(&self, apps: &[&App], brisk: &[PathBuf], watch: Watch<'_>) -> Result<Made> {
        let key = self.key(apps, brisk)?;
        if let Some(made) = self.read(&key)? {
            return Ok(made);
        }
        let base_key = self.base_key(apps)?;
        let base = self.kept(&base_key, |building| self.make(apps, &base_key, building, watch))?;
        self.kept(&key, |building| self.install_brisk(&base, brisk, &key, building, watch))
    }

    /// The image with these apps and packages of brisk, where it was made before.
    ///
    /// # Errors
    /// When files cannot be read.
    pub fn find(&self, apps: &[&App], brisk: &[PathBuf]) -> Result<Option<Made>> {
        self.read(&self.key(apps, brisk)?)
    }

    fn key(&self, apps: &[&App], brisk: &[PathBuf]) -> Result<String> {
        let mut parts = vec![self.base_key(apps)?];
        for package in brisk {
            parts.push(rapidhash_v3(&fs::read(package).map_err(Error::io("read", package))?).to_string());
        }
        Ok(hashed(parts))
    }

    /// The key of the image without brisk.
    fn base_key(&self, apps: &[&App]) -> Result<String> {
        let mut parts =
            vec![VERSION.to_owned(), BASE.join(" "), MODULES.join(" "), crate::phone::CATALOGUE_TEXT.to_owned()];
        parts.extend(apps.iter().map(|app| app.name.clone()));
        for script in SCRIPTS {
            parts.push(self.script(script)?);
        }
        parts.push(self.kernel.release.clone());
        Ok(hashed(parts))
    }

    /// The image of a key; none where there is none.
    fn read(&self, key: &str) -> Result<Option<Made>> {
        let place = self.dir().join(key);
        let path = place.join("about.json");
        let text = match fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(Error::io("read", &path))?,
        };
        let about = serde_json::from_slice(&text).map_err(|error| Error::BadFile { path, why: error.to_string() })?;
        Ok(Some(Made { memory: place.join("memory"), busybox: place.join("busybox"), about }))
    }

    /// The image of a key, which `make` makes in a folder where it is missing.
    fn kept(&self, key: &str, make: impl FnOnce(&Path) -> Result<About>) -> Result<Made> {
        if let Some(made) = self.read(key)? {
            return Ok(made);
        }
        fs::create_dir_all(self.dir()).map_err(Error::io("make", self.dir()))?;
        let building = tempfile::Builder::new().prefix("building-").tempdir_in(self.dir());
        let building = building.map_err(Error::io("make a folder in", self.dir()))?;
        let about = make(building.path())?;
        let path = building.path().join("about.json");
        let text = serde_json::to_vec_pretty(&about).map_err(|error| Error::io("write", &path)(error.into()))?;
        fs::write(&path, text).map_err(Error::io("write", &path))?;
        let place = self.dir().join(key);
        // Another one may have made the same meanwhile.
        if !place.exists() {
            fs::rename(building.keep(), &place).map_err(Error::io("keep", &place))?;
        }
        Ok(Made { memory: place.join("memory"), busybox: place.join("busybox"), about })
    }

    fn make(&self, apps: &[&App], key: &str, building: &Path, watch: Watch<'_>) -> Result<About> {
        let packages = self.download(apps, watch)?;
        let archive = packages.join("root.tar");
        let busybox = take_busybox(&archive, building)?;
        let archive_mib = fs::metadata(&archive).map_err(Error::io("read", &archive))?.len().div_ceil(MIB);
        let packages_mib = archive_mib + PACKAGES_SPARE_MIB;
        let memory = building.join("memory");
        self.empty(&memory, packages_mib)?;
        copy_to(&archive, &memory, (KERNEL_MIB + packages_at_mib()) * MIB)?;
        let flash_at_mib = self.architecture.flash_at_mib();
        let devices = format!(
            "{}\nname=flash1,pages={},memory_at_mib={}\n",
            flash_device(flash_at_mib),
            archive_mib * PAGES_PER_MIB,
            flash_at_mib + packages_at_mib(),
        );
        let plan = self.script("unpack")?;
        let texts = self.inputs(apps)?;
        let boot = Boot { memory: &memory, packages_mib, busybox: &busybox, devices: &devices, plan: &plan, texts };
        self.boot(&boot, building, "making the phone", watch)?;
        forget_kernel(&memory)?;
        let file = File::options().write(true).open(&memory).map_err(Error::io("open", &memory))?;
        file.set_len(file_mib(0) * MIB).map_err(Error::io("cut", &memory))?;
        run("fallocate", "util-linux", |fallocate| {
            fallocate.arg("--dig-holes").arg(&memory);
        })?;
        let names = packages.join("packages");
        let mut packages: Vec<String> =
            fs::read_to_string(&names).map_err(Error::io("read", &names))?.lines().map(str::to_owned).collect();
        packages.sort_unstable();
        Ok(About {
            key: key.to_owned(),
            apps: apps.iter().map(|app| app.name.clone()).collect(),
            kernel: self.kernel.release.clone(),
            packages,
            content: content(&memory)?,
        })
    }

    /// Downloads the packages; returns the folder with their archive.
    fn download(&self, apps: &[&App], watch: Watch<'_>) -> Result<PathBuf> {
        let catalogue = Catalogue::builtin().base.iter();
        let mut names: Vec<&str> =
            catalogue.chain(apps.iter().flat_map(|app| &app.packages)).map(String::as_str).collect();
        names.extend(BASE);
        names.sort_unstable();
        names.dedup();
        let folder = self.dir().join("packages");
        let place = folder.to_string_lossy().into_owned();
        let arguments = [&[self.architecture.name(), place.as_str()], names.as_slice()].concat();
        self.source.script("kernel/packages", &arguments, watch)?;
        Ok(folder)
    }

    /// What the machine gets besides packages: the script that sets them up, documents, commands of the apps.
    fn inputs(&self, apps: &[&App]) -> Result<Vec<(String, Vec<u8>)>> {
        let mut inputs = vec![("phone/install".to_owned(), self.script("install")?.into_bytes())];
        for document in crate::phone::documents() {
            inputs.push((format!("phone/documents/{}", document.name), document.bytes));
        }
        let variables = crate::phone::environment().into_iter();
        let variables = variables.map(|(name, value)| format!("{}={}\n", name.display(), value.display()));
        // A bus of the app's own runs with it.
        let variables = variables.filter(|line| !line.starts_with("DBUS_SESSION_BUS_ADDRESS="));
        inputs.push(("phone/environment".to_owned(), variables.collect::<String>().into_bytes()));
        let mut runs = String::new();
        for app in apps {
            if !app.prepare.is_empty() {
                runs += &format!("document {} {}\n", app.name, plan::command_line(&app.prepare));
            }
            let files = app.command.iter().filter_map(|word| word.find("/home/").map(|at| &word[at..]));
            runs.extend(files.map(|file| format!("file {} {file}\n", app.name)));
            runs += &format!("app {} {}\n", app.name, plan::command_line(&app.command));
        }
        inputs.push(("phone/apps".to_owned(), runs.into_bytes()));
        Ok(inputs)
    }

    /// A file for the machine's memory with an empty file system on its flash.
    fn empty(&self, memory: &Path, packages_mib: u64) -> Result<()> {
        let file = File::create(memory).map_err(Error::io("make", memory))?;
        file.set_len(file_mib(packages_mib) * MIB).map_err(Error::io("make", memory))?;
        run("mke2fs", "e2fsprogs", |mke2fs| {
            // Nothing in it depends on the clock, chance, or the defaults of this machine.
            let features = "none,has_journal,ext_attr,resize_inode,dir_index,filetype,extent,64bit,flex_bg,\
                            sparse_super,large_file,huge_file,dir_nlink,extra_isize,metadata_csum";
            let options = format!(
                "offset={},hash_seed=6272736b-0000-4000-8000-000000000002,assume_storage_prezeroed=1,nodiscard,\
                 root_owner=0:0",
                KERNEL_MIB * MIB
            );
            mke2fs.env("E2FSPROGS_FAKE_TIME", "1767225600").env("MKE2FS_CONFIG", "/dev/null");
            mke2fs
                .args(["-q", "-F", "-t", "ext4", "-O", features, "-b", "4096", "-I", "256", "-i", "16384", "-m", "0"]);
            mke2fs.args(["-G", "16", "-g", "32768", "-L", "brisk-phone", "-U", "6272736b-0000-4000-8000-000000000001"]);
            mke2fs.args(["-J", "size=64", "-E", &options]).arg(memory).arg(format!("{}k", FLASH_MIB * 1024));
        })
    }

    fn install_brisk(
        &self,
        base: &Made,
        brisk: &[PathBuf],
        key: &str,
        building: &Path,
        watch: Watch<'_>,
    ) -> Result<About> {
        (watch.progress)(0.0, "copying the image");
        let (memory, busybox) = (building.join("memory"), building.join("busybox"));
        copy_flash(&base.memory, &memory)?;
        fs::copy(&base.busybox, &busybox).map_err(Error::io("copy", &base.busybox))?;
        let mut texts = vec![
            ("phone/plan".to_owned(), plan::installation(&self.script("functions.sh")?).into_bytes()),
            ("phone/off".to_owned(), Vec::new()),
        ];
        for (package, name) in brisk.iter().zip(PACKAGES) {
            let name = format!("phone/{name}.deb");
            texts.push((name, fs::read(package).map_err(Error::io("read", package))?));
        }
        let devices = flash_device(self.architecture.flash_at_mib()) + "\n";
        let plan = self.script("start")?;
        let boot = Boot { memory: &memory, packages_mib: 0, busybox: &busybox, devices: &devices, plan: &plan, texts };
        self.boot(&boot, building, "installing brisk", watch)?;
        forget_kernel(&memory)?;
        let mut about = About { key: key.to_owned(), content: content(&memory)?, ..base.about.clone() };
        for package in brisk {
            about.packages.push(package.file_name().unwrap_or_default().to_string_lossy().into_owned());
        }
        Ok(about)
    }

    /// Boots a machine that keeps what it writes, to its end.
    fn boot(&self, boot: &Boot<'_>, building: &Path, doing: &str, watch: Watch<'_>) -> Result<()> {
        let initramfs = building.join("initramfs");
        self.pack(&initramfs, boot.busybox, boot.devices, boot.plan, 1, boot.texts.clone())?;
        let log = self.dir().join("made.log");
        let machine = Machine {
            architecture: self.architecture,
            kernel: &self.kernel.image(),
            initramfs: &initramfs,
            memory: boot.memory,
            packages_mib: boot.packages_mib,
            keeps: true,
            memory_mib: MAKER_MIB,
            shift: 0,
            steady: None,
            is_short: false,
        };
        let mut port = Port::default();
        machine.boot(&log, MAKE_MAX, watch, |line| {
            if let Some(step) = port.take(line) {
                (watch.progress)(0.0, &format!("{doing}: {step}"));
            }
        })?;
        fs::remove_file(&initramfs).map_err(Error::io("remove", &initramfs))?;
        match port.trouble() {
            None => Ok(()),
            Some(why) => {
                let said = port.outputs.last().map(|output| output.errors.trim().to_owned()).unwrap_or_default();
                Err(Error::Refused { why: format!("{why} {said}").trim_end().to_owned(), log })
            }
        }
    }

    /// Packs an initramfs for a phone.
    pub(super) fn pack(
        &self,
        to: &Path,
        busybox: &Path,
        devices: &str,
        plan: &str,
        seed: u64,
        texts: Vec<(String, Vec<u8>)>,
    ) -> Result<()> {
        let mut wanted = Wanted {
            modules_if_there: MODULES.map(str::to_owned).to_vec(),
            busybox: Some(busybox.to_owned()),
            texts,
            ..Wanted::default()
        };
        wanted.texts.push(("lab/devices".to_owned(), devices.as_bytes().to_vec()));
        wanted.texts.push(("lab/seed".to_owned(), format!("{seed}\n").into_bytes()));
        let packed = initramfs(self.kernel, &wanted, &self.guest("init"), plan)?;
        fs::write(to, packed).map_err(Error::io("write", to))
    }
}

/// A machine that makes an image.
struct Boot<'a> {
    memory: &'a Path,
    packages_mib: u64,
    busybox: &'a Path,
    devices: &'a str,
    plan: &'a str,
    texts: Vec<(String, Vec<u8>)>,
}

/// A flash that takes no time.
fn flash_device(at_mib: u64) -> String {
    format!("name=flash0,pages={},memory_at_mib={at_mib}", FLASH_MIB * PAGES_PER_MIB)
}

fn hashed(parts: impl IntoIterator<Item = String>) -> String {
    let mut text = Vec::new();
    for part in parts {
        text.extend_from_slice(part.as_bytes());
        text.push(0);
    }
    format!("{:016x}", rapidhash_v3(&text))
}

/// Runs a program of this machine.
fn run(program: &'static str, package: &'static str, with: impl FnOnce(&mut Command)) -> Result<()> {
    let mut command = Command::new(program);
    command.env("PATH", format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default()));
    with(&mut command);
    let output = command.stdin(Stdio::null()).output().map_err(|_| Error::NoProgram { program, package })?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Error::Failed { what: program.to_owned(), words: format!("{}: {words}", output.status) })
}

/// Takes the static busybox out of the archive.
fn take_busybox(archive: &Path, building: &Path) -> Result<PathBuf> {
    let busybox = building.join("busybox");
    run("tar", "tar", |tar| {
        tar.arg("-xf").arg(archive).arg("-C").arg(building).args(["--strip-components=2", "./bin/busybox"]);
    })?;
    Ok(busybox)
}

/// Names of the files in a folder, sorted.
fn names_in(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).map_err(Error::io("list", folder))?;
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    Ok(names)
}

/// Copies a file into another one.
fn copy_to(from: &Path, to: &Path, at_bytes: u64) -> Result<()> {
    let mut input = File::open(from).map_err(Error::io("read", from))?;
    let mut output = File::options().write(true).open(to).map_err(Error::io("write", to))?;
    output.seek(SeekFrom::Start(at_bytes)).map_err(Error::io("write", to))?;
    std::io::copy(&mut input, &mut output).map_err(Error::io("write", to))?;
    Ok(())
}

/// Copies what the machine's memory has behind the kernel's part, without pages of zeroes.
fn copy_flash(from: &Path, to: &Path) -> Result<()> {
    let input = File::open(from).map_err(Error::io("read", from))?;
    let output = File::create(to).map_err(Error::io("make", to))?;
    output.set_len(file_mib(0) * MIB).map_err(Error::io("make", to))?;
    let (mut chunk, zeroes) = (vec![0; MIB as usize], vec![0; PAGE_BYTES as usize]);
    for mib in KERNEL_MIB..file_mib(0) {
        input.read_exact_at(&mut chunk, mib * MIB).map_err(Error::io("read", from))?;
        for (page, bytes) in chunk.chunks_exact(PAGE_BYTES as usize).enumerate().filter(|(_, bytes)| *bytes != zeroes) {
            output.write_all_at(bytes, mib * MIB + page as u64 * PAGE_BYTES).map_err(Error::io("write", to))?;
        }
    }
    Ok(())
}

/// Makes the kernel's part a hole again: what the machine that made the image had in its memory is no part of it.
fn forget_kernel(memory: &Path) -> Result<()> {
    let file = File::options().write(true).open(memory).map_err(Error::io("open", memory))?;
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    fallocate(&file, flags, 0, KERNEL_MIB * MIB).map_err(|error| Error::io("cut", memory)(error.into()))
}

/// Hash of the flash's content, whichever of its zeroes are holes of the file.
fn content(memory: &Path) -> Result<String> {
    let file = File::open(memory).map_err(Error::io("read", memory))?;
    let mut hashes = Vec::new();
    let mut chunk = vec![0; MIB as usize];
    let zeroes = vec![0; PAGE_BYTES as usize];
    for mib in 0..FLASH_MIB {
        file.read_exact_at(&mut chunk, (KERNEL_MIB + mib) * MIB).map_err(Error::io("read", memory))?;
        for (page, bytes) in chunk.chunks_exact(PAGE_BYTES as usize).enumerate() {
            if bytes != zeroes {
                hashes.extend_from_slice(&(mib * PAGES_PER_MIB + page as u64).to_le_bytes());
                hashes.extend_from_slice(&rapidhash_v3(bytes).to_le_bytes());
            }
        }
    }
    Ok(format!("{:016x}", rapidhash_v3(&hashes)))
}

/// Packages of brisk of an architecture in a folder: the newest of each.
///
/// # Errors
/// When one is missing.
pub fn brisk_packages(folder: &Path, architecture: Architecture) -> Result<Vec<PathBuf>> {
    let find = |package: &str| {
        let ending = format!("_{}.deb", architecture.name());
        let mut names = names_in(folder).unwrap_or_default().into_iter();
        let found = names.rfind(|name| name.starts_with(&format!("{package}_")) && name.ends_with(&ending));
        found.map(|name| folder.join(name)).ok_or_else(|| Error::Failed {
            what: "finding packages".to_owned(),
            words: format!(
                "{} has no {package} for {name}: build it with make deb{}",
                folder.display(),
                if architecture == Architecture::Arm64 { " ARCH=arm64" } else { "" },
                name = architecture.name(),
            ),
        })
    };
    PACKAGES.into_iter().map(find).collect()
}

/// Packages and their versions, from names of files.
#[must_use]
pub fn versions(packages: &[String]) -> BTreeMap<&str, &str> {
    packages
        .iter()
        .filter_map(|file| file.split_once('_'))
        .filter_map(|(name, rest)| Some((name, rest.rsplit_once('_')?.0)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_depends_on_each_part_and_where_it_ends() {
        let key = |parts: &[&str]| hashed(parts.iter().map(|&part| part.to_owned()));
        assert_eq!(key(&["a", "b"]), key(&["a", "b"]));
        assert_ne!(key(&["a", "b"]), key(&["ab"]));
        assert_ne!(key(&["a", "b"]), key(&["b", "a"]));
    }

    #[test]
    fn the_makers_memory_is_no_part_of_an_image() {
        let dir = tempfile::tempdir().expect("a folder");
        let memory = dir.path().join("memory");
        let file = File::create(&memory).expect("a file");
        file.set_len(file_mib(0) * MIB).expect("sparse");
        file.write_all_at(b"of the maker", 5 * MIB).expect("written");
        file.write_all_at(b"of the flash", KERNEL_MIB * MIB).expect("written");
        let before = content(&memory).expect("readable");
        let copy = dir.path().join("copy");
        copy_flash(&memory, &copy).expect("copied");
        assert_eq!(content(&copy).expect("readable"), before);
        forget_kernel(&memory).expect("cut");
        assert_eq!(content(&memory).expect("readable"), before);
        let read = File::open(&memory).expect("there");
        let mut bytes = [1; 12];
        read.read_exact_at(&mut bytes, 5 * MIB).expect("as long as before");
        assert_eq!(bytes, [0; 12]);
        assert_eq!(read.metadata().expect("there").len(), file_mib(0) * MIB);
    }

    #[test]
    fn versions_come_from_names_of_files() {
        let files = ["evince_43.1-2+b1_arm64.deb".to_owned(), "readme".to_owned()];
        assert_eq!(versions(&files).into_iter().collect::<Vec<_>>(), [("evince", "43.1-2+b1")]);
    }

    #[test]
    fn packages_of_brisk_are_found_by_architecture() {
        let dir = tempfile::tempdir().expect("a folder");
        for name in [
            "brisk_0.1.0_amd64",
            "brisk_0.2.0_amd64",
            "brisk-session_0.2.0_amd64",
            "brisk-lab_0.2.0_amd64",
            "brisk_0.1.0_arm64",
            "brisk-session_0.1.0_arm64",
        ] {
            fs::write(dir.path().join(format!("{name}.deb")), "").expect("written");
        }
        let found = brisk_packages(dir.path(), Architecture::Amd64).expect("all");
        let expected = PACKAGES.map(|name| dir.path().join(format!("{name}_0.2.0_amd64.deb")));
        assert_eq!(found, expected);
        let missing = brisk_packages(dir.path(), Architecture::Arm64).expect_err("no laboratory").to_string();
        assert!(missing.contains("brisk-lab") && missing.contains("ARCH=arm64"), "{missing}");
    }
}
