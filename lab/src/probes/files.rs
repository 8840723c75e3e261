//! Composes paths from names of files in their directories.

use std::collections::HashMap;

use crate::probes::event::Inode;

/// Deeper than any path that the kernel takes (PATH_MAX), so that a circle of renamed directories ends.
const DEEPEST: usize = 2048;

/// Reported names, each with its directory.
#[derive(Debug, Default)]
pub(crate) struct Names {
    by_inode: HashMap<Inode, (u64, Vec<u8>)>,
}

impl Names {
    /// Adds a name. The first name of a file is kept.
    pub(crate) fn learn(&mut self, inode: Inode, parent: u64, name: Vec<u8>) {
        self.by_inode.entry(inode).or_insert((parent, name));
    }

    /// The path of a file from the root of its file system, `None` when a part is unknown.
    pub(crate) fn path(&self, inode: Inode) -> Option<Vec<u8>> {
        let mut names: Vec<&Vec<u8>> = Vec::new();
        let mut at = inode;
        for _ in 0..DEEPEST {
            let (parent, name) = self.by_inode.get(&at)?;
            if *parent == at.number {
                let mut path = Vec::new();
                for name in names.iter().rev() {
                    path.push(b'/');
                    path.extend_from_slice(name);
                }
                return Some(if path.is_empty() { b"/".to_vec() } else { path });
            }
            names.push(name);
            at.number = *parent;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn inode(number: u64) -> Inode {
        Inode { device: 1, number }
    }

    #[test]
    fn a_path_begins_at_the_root_of_its_file_system() {
        let mut names = Names::default();
        names.learn(inode(30), 20, b"libc.so\xff\n6".to_vec());
        assert_eq!(names.path(inode(30)), None, "its directory is not known");
        names.learn(inode(20), 2, b"usr".to_vec());
        names.learn(inode(2), 2, b"/".to_vec());
        assert_eq!(names.path(inode(30)).unwrap(), b"/usr/libc.so\xff\n6");
        assert_eq!(names.path(inode(2)).unwrap(), b"/");
        assert_eq!(names.path(Inode { device: 7, number: 30 }), None, "the same number elsewhere is another file");
    }

    #[test]
    fn directories_that_contain_each_other_end() {
        let mut names = Names::default();
        names.learn(inode(3), 4, b"a".to_vec());
        names.learn(inode(4), 3, b"b".to_vec());
        assert_eq!(names.path(inode(3)), None);
    }
}
