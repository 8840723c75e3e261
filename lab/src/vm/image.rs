//! Initramfs of the guest: busybox, the probe, modules with their dependencies, file system tools, the plan.

use std::collections::BTreeSet;
use std::io::{Cursor, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use cpio::{NewcBuilder, write_cpio};

use crate::vm::error::{Error, Result};
use crate::vm::sources::Kernel;

/// Content of an initramfs.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Required modules; they may be built into the kernel.
    pub modules: Vec<String>,
    pub modules_if_there: Vec<String>,
    /// Programs of this machine in addition to busybox and the probe.
    pub programs: Vec<(&'static str, &'static str)>,
    /// Paths of programs for /bin.
    pub own: Vec<PathBuf>,
    /// Files and their paths in the guest, without leading slash.
    pub files: Vec<(String, PathBuf)>,
    /// Files that are made here: paths in the guest, and content.
    pub texts: Vec<(String, Vec<u8>)>,
    /// A static busybox for a guest of another architecture, which has no probe.
    pub busybox: Option<PathBuf>,
}

/// Files by their paths in the guest.
struct Files(Vec<(String, u32, Vec<u8>)>);

/// Builds the initramfs. `init` and `plan` are scripts.
///
/// # Errors
/// When a module, a program or a file is missing.
pub fn initramfs(kernel: &Kernel, wanted: &Wanted, init: &Path, plan: &str) -> Result<Vec<u8>> {
    let mut files = Files(Vec::new());
    for dir in ["bin", "dev", "proc", "sys", "run", "tmp", "mnt", "root", "etc", "lab", "lab/modules"] {
        files.0.push((dir.to_owned(), 0o040_755, Vec::new()));
    }
    match &wanted.busybox {
        Some(path) => files.file("bin/busybox", 0o755, path)?,
        None => {
            files.program("busybox", "busybox-static")?;
            files.file("bin/probe", 0o755, &kernel.built().join("probe"))?;
        }
    }
    for (program, package) in &wanted.programs {
        files.program(program, package)?;
    }
    for path in &wanted.own {
        files.own(path)?;
    }
    for (place, path) in &wanted.files {
        files.parents(place);
        files.file(place, 0o644, path)?;
    }
    for (place, content) in &wanted.texts {
        files.parents(place);
        files.0.push((place.clone(), 0o100_644, content.clone()));
    }
    // Defaults of mkfs.ext4, which determine the features of the file system.
    if wanted.programs.iter().any(|(program, _)| *program == "mkfs.ext4") {
        files.file("etc/mke2fs.conf", 0o644, Path::new("/etc/mke2fs.conf"))?;
    }
    files.file("init", 0o755, init)?;
    let mut modules = Modules { kernel, order: Vec::new(), seen: BTreeSet::new() };
    for name in &wanted.modules {
        modules.load(name, true, &mut files)?;
    }
    for name in &wanted.modules_if_there {
        modules.load(name, false, &mut files)?;
    }
    let order = modules.order.iter().fold(String::new(), |text, name| text + name + "\n");
    files.0.push(("lab/modules/order".to_owned(), 0o100_644, order.into_bytes()));
    files.0.push(("lab/plan".to_owned(), 0o100_644, plan.as_bytes().to_vec()));
    files.pack()
}

impl Files {
    fn file(&mut self, place: &str, mode: u32, from: &Path) -> Result<()> {
        if !self.0.iter().any(|(other, ..)| other == place) {
            let content = std::fs::read(from).map_err(Error::io("read", from))?;
            self.0.push((place.to_owned(), 0o100_000 | mode, content));
        }
        Ok(())
    }

    /// Adds a program and its libraries, at their own paths.
    fn program(&mut self, program: &'static str, package: &'static str) -> Result<()> {
        let path = find(program).ok_or(Error::NoProgram { program, package })?;
        self.file(&format!("bin/{program}"), 0o755, &path)?;
        // Fails for a static program.
        let Ok(listed) = Command::new("ldd").arg(&path).output() else { return Ok(()) };
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        if program == "busybox" && listed.contains('/') {
            // The guest's first program must not need libraries; distributions have both variants.
            return Err(Error::NoProgram { program: "a static busybox", package });
        }
        self.libraries(&listed)
    }

    /// Adds a program by its path, and its libraries.
    fn own(&mut self, path: &Path) -> Result<()> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.file(&format!("bin/{name}"), 0o755, path)?;
        let Ok(listed) = Command::new("ldd").arg(path).output() else { return Ok(()) };
        self.libraries(&String::from_utf8_lossy(&listed.stdout))
    }

    /// Adds the libraries in the output of ldd.
    fn libraries(&mut self, listed: &str) -> Result<()> {
        for library in listed.split_whitespace().filter(|word| word.starts_with('/')) {
            self.parents(library);
            self.file(library.trim_start_matches('/'), 0o755, Path::new(library))?;
        }
        Ok(())
    }

    fn parents(&mut self, place: &str) {
        let parents: Vec<&Path> = Path::new(place).ancestors().skip(1).collect();
        for parent in parents.iter().rev() {
            let parent = parent.to_string_lossy().trim_start_matches('/').to_owned();
            if !parent.is_empty() && !self.0.iter().any(|(other, ..)| *other == parent) {
                self.0.push((parent, 0o040_755, Vec::new()));
            }
        }
    }

    fn pack(self) -> Result<Vec<u8>> {
        let entries = self.0.into_iter().zip(1..).map(|((place, mode, content), inode)| {
            (NewcBuilder::new(&place).mode(mode).ino(inode).nlink(1), Cursor::new(content))
        });
        let mut archive = write_cpio(entries, Vec::new()).map_err(Error::io("pack", "the initramfs"))?;
        archive.flush().map_err(Error::io("pack", "the initramfs"))?;
        Ok(archive)
    }
}

/// Finds a program, also in system directories outside of PATH.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(system).map(|dir| dir.join(program)).find(|path| path.is_file())
}

struct Modules<'a> {
    kernel: &'a Kernel,
    order: Vec<String>,
    seen: BTreeSet<String>,
}

impl Modules<'_> {
    /// Adds a module after its dependencies, which it names itself.
    fn load(&mut self, name: &str, needed: bool, files: &mut Files) -> Result<()> {
        let name = name.replace('-', "_");
        if !self.seen.insert(name.clone()) {
            return Ok(());
        }
        let Some(path) = self.find(&name) else {
            if !needed || self.is_built_in(&name) {
                return Ok(());
            }
            return Err(Error::Io {
                doing: "find",
                path: self.kernel.modules().join(format!("{name}.ko")),
                source: std::io::ErrorKind::NotFound.into(),
            });
        };
        let content = content(&path)?;
        for dependency in dependencies(&content) {
            self.load(&dependency, true, files)?;
        }
        files.0.push((format!("lab/modules/{name}.ko"), 0o100_644, content));
        self.order.push(name);
        Ok(())
    }

    fn find(&self, name: &str) -> Option<PathBuf> {
        let built = self.kernel.built().join(format!("{name}.ko"));
        if built.exists() {
            return Some(built);
        }
        search(&self.kernel.modules().join("kernel"), name)
    }

    fn is_built_in(&self, name: &str) -> bool {
        let list = std::fs::read_to_string(self.kernel.modules().join("modules.builtin")).unwrap_or_default();
        list.lines().any(|line| is_module(Path::new(line), name))
    }
}

/// Whether a module is available: built in, as a file of the kernel, or built here.
#[must_use]
pub fn has_module(kernel: &Kernel, name: &str) -> bool {
    let modules = Modules { kernel, order: Vec::new(), seen: BTreeSet::new() };
    let name = name.replace('-', "_");
    modules.find(&name).is_some() || modules.is_built_in(&name)
}

/// The unpacked bytes of a module; none where it is built in or missing.
///
/// # Errors
/// When its file cannot be read.
pub fn module(kernel: &Kernel, name: &str) -> Result<Option<Vec<u8>>> {
    let modules = Modules { kernel, order: Vec::new(), seen: BTreeSet::new() };
    modules.find(&name.replace('-', "_")).map(|path| content(&path)).transpose()
}

/// Whether a path is that of the module; dashes and underscores are equal.
fn is_module(path: &Path, name: &str) -> bool {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    file.split_once(".ko").is_some_and(|(stem, _)| stem.replace('-', "_") == name)
}

fn search(dir: &Path, name: &str) -> Option<PathBuf> {
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(dir).ok()?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            folders.push(path);
        } else if is_module(&path, name) {
            return Some(path);
        }
    }
    folders.iter().find_map(|folder| search(folder, name))
}

/// Unpacked bytes of a module.
fn content(path: &Path) -> Result<Vec<u8>> {
    if path.extension().is_none_or(|ending| ending != "xz") {
        return std::fs::read(path).map_err(Error::io("read", path));
    }
    let output = Command::new("xz").args(["-dc", "--"]).arg(path).output();
    let output = output.map_err(|_| Error::NoProgram { program: "xz", package: "xz-utils" })?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(Error::Failed { what: format!("xz -dc {}", path.display()), words })
    }
}

fn dependencies(module: &[u8]) -> Vec<String> {
    let said = module.split(|byte| *byte == 0).find_map(|text| text.strip_prefix(b"depends="));
    let said = String::from_utf8_lossy(said.unwrap_or_default()).into_owned();
    said.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_name_what_they_depend_on() {
        assert_eq!(dependencies(b"\x7fELF\0license=GPL\0depends=jbd2,mbcache\0name=ext4\0"), ["jbd2", "mbcache"]);
        assert_eq!(dependencies(b"license=GPL\0depends=\0"), [""; 0]);
        assert_eq!(dependencies(b"nothing"), [""; 0]);
    }

    #[test]
    fn dashes_and_underscores_in_module_names_are_equal() {
        assert!(is_module(Path::new("kernel/block/mq-deadline.ko.xz"), "mq_deadline"));
        assert!(is_module(Path::new("kernel/block/kyber-iosched.ko"), "kyber_iosched"));
        assert!(!is_module(Path::new("kernel/block/bfq.ko"), "bf"));
    }

    #[test]
    fn directories_precede_their_content_in_the_archive() {
        let mut files = Files(vec![("bin".to_owned(), 0o040_755, Vec::new())]);
        files.parents("/usr/lib/x.so");
        files.0.push(("usr/lib/x.so".to_owned(), 0o100_755, b"content".to_vec()));
        let archive = files.pack().expect("packed");
        let mut reader = cpio::NewcReader::new(Cursor::new(archive)).expect("an archive");
        let mut seen = Vec::new();
        while !reader.entry().is_trailer() {
            seen.push((reader.entry().name().to_owned(), reader.entry().file_size()));
            reader = cpio::NewcReader::new(reader.skip().expect("whole")).expect("the next");
        }
        let expected = [("bin", 0), ("usr", 0), ("usr/lib", 0), ("usr/lib/x.so", 7)];
        assert_eq!(seen, expected.map(|(name, size)| (name.to_owned(), size)));
    }
}
