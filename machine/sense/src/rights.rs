//! Rights of this process, and messages that name a missing one with a remedy.
//!
//! User 0 is no right: in a container it lacks most of what it has on the machine itself, and a service of another user
//! may have one of its rights. Callers name the capabilities that a step needs.

use brisk_formats::{Capability, ProcessStatus};
use thiserror::Error;

use crate::Sense;

/// A step needs rights that this process lacks.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{purpose} needs {}, which this process lacks: {}", in_words(.lacking), remedy(.lacking, *.is_root))]
pub struct MissingRights {
    /// The step, as the subject of a sentence: `the lab`.
    pub purpose: &'static str,
    pub lacking: Vec<Capability>,
    pub is_root: bool,
}

impl Sense {
    /// Checks that this process has `needed`. Where /proc does not tell, the step itself has to show it.
    ///
    /// # Errors
    /// When it lacks some of them.
    pub fn require_rights(&self, purpose: &'static str, needed: &[Capability]) -> Result<(), MissingRights> {
        self.process_status().map_or(Ok(()), |status| check(&status, purpose, needed))
    }
}

fn check(status: &ProcessStatus, purpose: &'static str, needed: &[Capability]) -> Result<(), MissingRights> {
    let lacking: Vec<Capability> = needed.iter().copied().filter(|&capability| !status.has(capability)).collect();
    let is_root = status.effective_uid == 0;
    if lacking.is_empty() { Ok(()) } else { Err(MissingRights { purpose, lacking, is_root }) }
}

fn in_words(lacking: &[Capability]) -> String {
    lacking.iter().map(|capability| capability.name()).collect::<Vec<_>>().join(" and ")
}

fn remedy(lacking: &[Capability], is_root: bool) -> String {
    if !is_root {
        return "run it as root (sudo brisk ...)".to_owned();
    }
    let options: Vec<String> =
        lacking.iter().map(|one| format!("--cap-add={}", one.name().trim_start_matches("CAP_"))).collect();
    format!(
        "it is root with fewer rights, as in a container: run it on the machine itself, or start the container with {} \
         or --privileged",
        options.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_right_is_named_with_a_remedy_that_fits_the_user() {
        let has = |uid, bits| ProcessStatus { effective_uid: uid, effective_capabilities: bits };
        let needed = [Capability::SysAdmin, Capability::SysNice];
        let said = |status: &ProcessStatus| check(status, "the lab", &needed).expect_err("it lacks some").to_string();
        assert_eq!(check(&has(1000, 1 << 21 | 1 << 23), "the lab", &needed), Ok(()));
        // The usual rights of a container.
        let contained = said(&has(0, 0xa804_25fb));
        assert!(
            contained.starts_with("the lab needs CAP_SYS_ADMIN and CAP_SYS_NICE, which this process lacks: it is root")
        );
        assert!(contained.contains("with --cap-add=SYS_ADMIN --cap-add=SYS_NICE or --privileged"), "{contained}");
        let user = said(&has(1000, 1 << 21));
        assert_eq!(user, "the lab needs CAP_SYS_NICE, which this process lacks: run it as root (sudo brisk ...)");
    }

    #[test]
    fn without_proc_the_step_itself_has_to_show_it() {
        let root = tempfile::tempdir().expect("a directory");
        assert_eq!(Sense::new(root.path()).require_rights("the lab", &[Capability::SysAdmin]), Ok(()));
    }
}
