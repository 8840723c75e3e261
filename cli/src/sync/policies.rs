//! Where policies are, and whose they may be.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use brisk_sync::policy::{Homes, Policy, RulesError};

/// Directories of policies: the administrator's before those of packages.
const DIRS: [&str; 2] = ["/etc/brisk/sync", "/usr/share/brisk/sync"];

/// A policy, and its file where it has one.
pub(super) struct PolicyFile {
    pub(super) file: Option<PathBuf>,
    pub(super) policy: Policy,
}

/// The policy of an app; without a file the default one.
pub(super) fn policy_of(app: &str) -> anyhow::Result<PolicyFile> {
    check_id(app)?;
    for dir in DIRS {
        let file = Path::new(dir).join(format!("{app}.toml"));
        if file.try_exists().with_context(|| format!("cannot look for {}", file.display()))? {
            return read(&file);
        }
    }
    Ok(PolicyFile { file: None, policy: Policy::default() })
}

/// Refuses ids that are no name of a file.
pub(super) fn check_id(app: &str) -> anyhow::Result<()> {
    let is_plain = app.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    if app.is_empty() || app.starts_with(['.', '-']) || !is_plain {
        bail!("'{app}' is no id of an app: name its desktop entry without .desktop, such as org.gnome.Evince");
    }
    Ok(())
}

/// Reads a policy that no other user can change.
pub(super) fn read(file: &Path) -> anyhow::Result<PolicyFile> {
    let text = brisk_program::files::read_text(file, brisk_program::files::TEXT_BYTES_MAX)?;
    let about = file.metadata().with_context(|| format!("cannot read the policy {}", file.display()))?;
    let own = rustix::process::geteuid().as_raw();
    if (about.uid() != 0 && about.uid() != own) || about.mode() & 0o022 != 0 {
        bail!(
            "the policy {} can be changed by other users: 'chmod go-w' it, and make it yours or root's",
            file.display()
        );
    }
    let policy = Policy::parse(&text).with_context(|| format!("the policy {}", file.display()))?;
    Ok(PolicyFile { file: Some(file.to_owned()), policy })
}

/// The directories of this user, without symbolic links.
pub(super) fn homes() -> anyhow::Result<Homes> {
    Ok(Homes::new(|name| std::env::var_os(name).map(PathBuf::from), canonical)?)
}

/// The path without symbolic links; of one that does not exist yet, of the part that does.
fn canonical(path: &Path) -> Result<PathBuf, RulesError> {
    let mut missing = Vec::new();
    let mut existing = path;
    loop {
        match existing.canonicalize() {
            Ok(found) => return Ok(missing.iter().rev().fold(found, |path, name| path.join(name))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let (Some(parent), Some(name)) = (existing.parent(), existing.file_name()) else {
                    return Err(RulesError::Resolve { path: path.to_owned(), source: error });
                };
                missing.push(name);
                existing = parent;
            }
            Err(source) => return Err(RulesError::Resolve { path: path.to_owned(), source }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn ids_of_apps_are_names_of_files() {
        for good in ["org.gnome.Evince", "reader", "a-b_c.1"] {
            assert!(check_id(good).is_ok(), "{good}");
        }
        for bad in ["", ".", "..", "../x", "a/b", "-x", "a b", "a\n"] {
            assert!(check_id(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_policy_that_others_can_change_is_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("app.toml");
        fs::write(&file, "seconds = 4").expect("a file");
        for (mode, is_good) in [(0o644, true), (0o600, true), (0o664, false), (0o646, false)] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("a mode");
            assert_eq!(read(&file).is_ok(), is_good, "{mode:o}");
        }
    }

    #[test]
    fn links_are_resolved_as_far_as_the_path_exists() {
        let dir = tempfile::tempdir().expect("a directory");
        let real = dir.path().canonicalize().expect("a path");
        std::os::unix::fs::symlink(&real, real.join("link")).expect("a link");
        assert_eq!(canonical(&real.join("link/x/y")).expect("a path"), real.join("x/y"));
    }
}
