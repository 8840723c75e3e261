//! The machine: QEMU's emulator with virtual time, and what it says while it runs.
//!
//! Counting instructions is not enough for two starts to be the same once the kernel takes pages back. It chooses them
//! by the marks of access in page tables, which the emulator sets when it translates an address anew, and that depends
//! on the host's clock twice: by it QEMU shrinks its tables of translations (`steady.c`), and when its threads meet
//! decides whether a jump is followed directly or looked up, which translates the address of the code (`-d nochain`
//! looks up always, and takes half as long again).

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::phone::architecture::Architecture;
use crate::phone::memory_map::{KERNEL_MIB, file_mib};
use crate::vm::Watch;
use crate::vm::error::{Error, Result};
use crate::vm::run::{Ended, Line, run_polled};

/// A machine to boot.
#[derive(Debug, Clone, Copy)]
pub struct Machine<'a> {
    pub architecture: Architecture,
    pub kernel: &'a Path,
    pub initramfs: &'a Path,
    /// Its memory: see [`crate::phone::memory_map`].
    pub memory: &'a Path,
    /// Size of packages behind the flash in `memory`, while an image is made.
    pub packages_mib: u64,
    /// Whether the file keeps what the machine writes; else each start has the same bytes.
    pub keeps: bool,
    /// Memory of its kernel.
    pub memory_mib: u64,
    /// Slowness of the processor: 2^shift nanoseconds an instruction.
    pub shift: u8,
    /// The library made of `steady.c`; `None` while an image is made.
    pub steady: Option<&'a Path>,
    /// Whether its kernel will take pages back.
    pub is_short: bool,
}

impl Machine<'_> {
    /// Arguments of QEMU, with `log` for the serial port. A file never blocks the machine; a pipe would, by the host's
    /// clock.
    fn arguments(&self, log: &Path) -> Vec<String> {
        let [machine, cpu] = self.architecture.machine();
        let size_mib = file_mib(self.packages_mib);
        let share = if self.keeps { "on" } else { "off" };
        let kernel = self.architecture.kernel_arguments(self.memory_mib, size_mib - KERNEL_MIB);
        let memory = comma_doubled(self.memory);
        let words = [
            ("-machine", machine.to_owned()),
            ("-cpu", cpu.to_owned()),
            ("-smp", "1".to_owned()),
            ("-m", format!("{size_mib}M")),
            (
                "-object",
                format!("memory-backend-file,id=memory,size={size_mib}M,share={share},reserve=off,mem-path={memory}"),
            ),
            ("-icount", format!("shift={},sleep=off", self.shift)),
            ("-rtc", "clock=vm,base=2026-01-01".to_owned()),
            ("-display", "none".to_owned()),
            ("-serial", format!("file:{}", log.display())),
            ("-kernel", self.kernel.display().to_string()),
            ("-initrd", self.initramfs.display().to_string()),
            ("-append", format!("{kernel} quiet nokaslr panic=-1 systemd.show_status=no")),
        ];
        let flags = ["-nodefaults", "-no-user-config", "-no-reboot"].into_iter();
        let flags = flags.chain(["-d", "nochain"].into_iter().filter(|_| self.is_short)).map(str::to_owned);
        flags.chain(words.into_iter().flat_map(|(option, value)| [option.to_owned(), value])).collect()
    }

    /// Boots it, writes what it says to `log`, and passes each line to `on_line`.
    ///
    /// # Errors
    /// When QEMU is missing or fails, the limit passes, or the user cancels.
    pub fn boot(&self, log: &Path, limit: Duration, watch: Watch<'_>, mut on_line: impl FnMut(&str)) -> Result<()> {
        let mut said = Follow { file: None, rest: Vec::new() };
        File::create(log).map_err(Error::io("write", log))?;
        let (program, package) = self.architecture.program();
        let mut command = Command::new(program);
        command.args(self.arguments(log));
        if let Some(steady) = self.steady {
            command.env("LD_PRELOAD", steady);
        }
        let mut words = String::new();
        let complained = |line| match line {
            Line::Said(line) | Line::Complained(line) => words = words.clone() + &line + "\n",
        };
        let ended =
            run_polled(command, (program, package), limit, watch, complained, || said.lines(log, &mut on_line))?;
        said.lines(log, &mut on_line)?;
        match ended {
            Ended::Status(status) if status.success() => Ok(()),
            Ended::Status(status) => {
                Err(Error::Failed { what: program.to_owned(), words: format!("{status}: {}", words.trim()) })
            }
            Ended::TimeLimit => Err(Error::TimeLimit { limit_s: limit.as_secs(), log: log.to_owned() }),
        }
    }
}

/// A path in a list of QEMU, where a comma ends a value.
fn comma_doubled(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

/// A file that grows, line by line.
struct Follow {
    file: Option<File>,
    rest: Vec<u8>,
}

impl Follow {
    fn lines(&mut self, path: &Path, on_line: &mut impl FnMut(&str)) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(File::open(path).map_err(Error::io("read", path))?),
        };
        // QEMU empties the file when it starts.
        if file.metadata().map_err(Error::io("read", path))?.len() == 0 {
            file.seek(SeekFrom::Start(0)).map_err(Error::io("read", path))?;
        }
        file.read_to_end(&mut self.rest).map_err(Error::io("read", path))?;
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else { return Ok(()) };
        let later = self.rest.split_off(end + 1);
        String::from_utf8_lossy(&self.rest).lines().for_each(&mut *on_line);
        self.rest = later;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn machine(architecture: Architecture, keeps: bool) -> Vec<String> {
        let machine = Machine {
            steady: None,
            is_short: keeps,
            architecture,
            kernel: Path::new("/k"),
            initramfs: Path::new("/i"),
            memory: Path::new("/a,b"),
            packages_mib: 0,
            keeps,
            memory_mib: 600,
            shift: 1,
        };
        machine.arguments(Path::new("/log"))
    }

    #[test]
    fn nothing_of_the_host_reaches_the_machine() {
        for architecture in [Architecture::Arm64, Architecture::Amd64] {
            let arguments = machine(architecture, false).join(" ");
            for wanted in ["-icount shift=1,sleep=off", "-rtc clock=vm", "-smp 1", "-serial file:/log", "-nodefaults"] {
                assert!(arguments.contains(wanted), "{arguments}");
            }
            for device in ["-drive", "-device", "-netdev", "virtio"] {
                assert!(!arguments.contains(device), "{arguments}");
            }
        }
        assert!(machine(Architecture::Arm64, false).join(" ").contains("dtb-randomness=off"));
        assert!(machine(Architecture::Amd64, false).join(" ").contains("-rdrand"));
    }

    #[test]
    fn only_a_machine_that_is_made_keeps_what_it_writes() {
        assert!(machine(Architecture::Amd64, true).join(" ").contains("share=on,reserve=off,mem-path=/a,,b"));
        assert!(machine(Architecture::Amd64, false).join(" ").contains("share=off"));
    }

    #[test]
    fn jumps_are_looked_up_where_pages_are_taken_back() {
        for is_short in [true, false] {
            let arguments = machine(Architecture::Amd64, is_short).join(" ");
            assert_eq!(arguments.contains("-d nochain"), is_short, "{arguments}");
        }
    }

    #[test]
    fn a_line_is_passed_on_when_it_is_complete() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("log");
        let mut file = File::create(&path).expect("a file");
        let (mut follow, mut lines) = (Follow { file: None, rest: Vec::new() }, Vec::new());
        for (part, expected) in
            [("one\ntw", vec!["one"]), ("o\n\n", vec!["one", "two", ""]), ("", vec!["one", "two", ""])]
        {
            file.write_all(part.as_bytes()).expect("written");
            follow.lines(&path, &mut |line| lines.push(line.to_owned())).expect("read");
            assert_eq!(lines, expected);
        }
    }
}
