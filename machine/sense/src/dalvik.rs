//! Limits of the heaps of Android's apps. Its properties lie in memory that Android's own library reads, so `getprop`
//! is run for them.
//!
//! Not tested on a device: the test runs a script of a made-up tree that prints a list as `getprop` does.

use std::io;
use std::process::{Command, Stdio};

use brisk_formats::{DalvikHeap, parse_dalvik_heap};

use crate::error::{Absent as _, Error, Result};
use crate::machine::Sense;
use crate::packages::GETPROP;

impl Sense {
    /// What the heap of an app may take; `None` where the system is not Android.
    ///
    /// # Errors
    /// When `getprop` cannot be run, fails, or lists what is not understood.
    pub fn dalvik_heap(&self) -> Result<Option<DalvikHeap>> {
        let Some(list) = self.properties().or_absent()? else { return Ok(None) };
        let heap = parse_dalvik_heap(&list).map_err(|source| Error::Parse { path: self.path(GETPROP), source })?;
        Ok(Some(heap))
    }

    /// The list of all properties.
    fn properties(&self) -> Result<Vec<u8>> {
        let path = self.path(GETPROP);
        let mut command = Command::new(&path);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        let output = command.output().map_err(|source| Error::reading(path.clone(), source))?;
        if output.status.success() {
            Ok(output.stdout)
        } else {
            let source = io::Error::other(format!("it ended with {}", output.status));
            Err(Error::Read { path, source })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn without_getprop_it_is_no_android_and_one_that_fails_is_named() {
        let dir = tempfile::tempdir().expect("a directory");
        let sense = Sense::new(dir.path());
        assert!(matches!(sense.dalvik_heap(), Ok(None)));
        let program = sense.path(GETPROP);
        fs::create_dir_all(program.parent().expect("a folder")).expect("made");
        symlink("/bin/false", &program).expect("made");
        let error = sense.dalvik_heap().expect_err("it fails");
        assert!(matches!(&error, Error::Read { path, .. } if *path == program), "{error}");
    }
}
