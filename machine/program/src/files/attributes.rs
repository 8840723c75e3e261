//! What a file has besides its content and name: mode, owner, extended attributes (xattr(7), among them access control
//! lists and the labels of security modules), and flags of its inode (chattr(1)).

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{IFlags, XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr, getxattr, listxattr};
use rustix::io::Errno;

/// Limits of the kernel for the list of names, and for a value (include/uapi/linux/limits.h).
const BYTES_MAX: usize = 65_536;
/// Sums over the content, which the kernel makes anew.
const OF_THE_CONTENT: [&[u8]; 2] = [b"security.ima", b"security.evm"];
/// The access control list that a new file has from its directory, although the earlier file has none.
const ACCESS_LIST: &[u8] = b"system.posix_acl_access";
/// Flags that a file may have or not without being another file to its readers.
const KEPT_FLAGS: IFlags =
    IFlags::SYNC.union(IFlags::JOURNALING).union(IFlags::NOATIME).union(IFlags::NODUMP).union(IFlags::COMPRESSED);

/// Gives the file `to` what `earlier`, the file at `from`, has.
///
/// # Errors
/// When one of these cannot be given: without the right to, or because the file system has it no more.
pub(crate) fn give(from: &Path, earlier: &Metadata, to: &File) -> io::Result<()> {
    let now = to.metadata()?;
    if (now.uid(), now.gid()) != (earlier.uid(), earlier.gid()) {
        std::os::unix::fs::fchown(to, Some(earlier.uid()), Some(earlier.gid()))?;
    }
    extended(from, to)?;
    // Last: a change of the owner takes the set-user-ID bit.
    to.set_permissions(earlier.permissions())?;
    flags(from, to);
    Ok(())
}

fn extended(from: &Path, to: &File) -> io::Result<()> {
    let wanted = names(|buffer| listxattr(from, buffer))?;
    for name in wanted.iter().filter(|name| !OF_THE_CONTENT.contains(&name.as_slice())) {
        let value = bytes(|buffer| getxattr(from, name.as_slice(), buffer))?;
        if bytes(|buffer| fgetxattr(to, name.as_slice(), buffer)).is_ok_and(|there| there == value) {
            continue;
        }
        fsetxattr(to, name.as_slice(), &value, XattrFlags::empty())?;
    }
    if !wanted.iter().any(|name| name == ACCESS_LIST)
        && names(|buffer| flistxattr(to, buffer))?.iter().any(|name| name == ACCESS_LIST)
    {
        fremovexattr(to, ACCESS_LIST)?;
    }
    Ok(())
}

/// Names of attributes; none where the file system has no attributes.
fn names(list: impl FnOnce(&mut [u8]) -> rustix::io::Result<usize>) -> io::Result<Vec<Vec<u8>>> {
    match bytes(list) {
        Ok(bytes) => Ok(bytes.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect()),
        Err(Errno::OPNOTSUPP) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

fn bytes(read: impl FnOnce(&mut [u8]) -> rustix::io::Result<usize>) -> rustix::io::Result<Vec<u8>> {
    let mut buffer = vec![0; BYTES_MAX];
    let length = read(&mut buffer)?;
    buffer.truncate(length);
    Ok(buffer)
}

/// Flags are advice to the file system: a file without them is as good.
fn flags(from: &Path, to: &File) {
    let flags_of = |file: &File| rustix::fs::ioctl_getflags(file).ok();
    let wanted = File::open(from).ok().as_ref().and_then(flags_of).map(|flags| flags & KEPT_FLAGS);
    if let (Some(wanted), Some(now)) = (wanted, flags_of(to))
        && now & KEPT_FLAGS != wanted
    {
        let _ = rustix::fs::ioctl_setflags(to, (now - KEPT_FLAGS) | wanted);
    }
}
