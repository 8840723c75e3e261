//! Programs that a test writes.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a program that can be run at once. It is written by another process: a file that one thread has open for
/// writing cannot be run while a process that another thread starts meanwhile still has it open as well (ETXTBSY).
///
/// # Panics
/// When it cannot be written.
pub fn executable(path: &Path, content: impl AsRef<[u8]>) {
    let mut shell = Command::new("sh")
        .args(["-c", "cat >\"$1\" && chmod 755 \"$1\"", "sh"])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .expect("a shell");
    let written = shell.stdin.take().expect("a pipe").write_all(content.as_ref());
    let status = shell.wait().expect("it ends");
    assert!(written.is_ok() && status.success(), "{} is not written: {written:?}, {status}", path.display());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_runs_while_other_threads_start_processes() {
        let dir = tempfile::tempdir().expect("a directory");
        let program = |number: u32| {
            let path = dir.path().join(number.to_string());
            executable(&path, "#!/bin/sh\nexit 3\n");
            Command::new(path).status().expect("it starts").code()
        };
        std::thread::scope(|scope| {
            let program = &program;
            let threads = [0, 20, 40, 60].map(|first| scope.spawn(move || (first..first + 20).map(program).collect()));
            for thread in threads {
                let codes: Vec<Option<i32>> = thread.join().expect("it ends");
                assert_eq!(codes, [Some(3); 20]);
            }
        });
    }
}
