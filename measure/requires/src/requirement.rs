//! What `BRISK_REQUIRE` says that the machine has.

use std::str::FromStr;

use crate::Capability;

/// Capabilities that have to be there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Requirement {
    capabilities: Vec<Capability>,
    programs: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{word}' is not a capability; there are {}, and program:NAME",
    Capability::words().collect::<Vec<_>>().join(", "))]
pub(crate) struct UnknownWord {
    word: String,
}

impl FromStr for Requirement {
    type Err = UnknownWord;

    fn from_str(words: &str) -> Result<Self, UnknownWord> {
        let mut requirement = Self::default();
        for word in words.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            if let Some(program) = word.strip_prefix("program:") {
                requirement.programs.push(program.to_owned());
            } else {
                let unknown = || UnknownWord { word: word.to_owned() };
                requirement.capabilities.push(Capability::of_word(word).ok_or_else(unknown)?);
            }
        }
        Ok(requirement)
    }
}

impl Requirement {
    /// Whether `capability` has to be there.
    pub(crate) fn contains(&self, capability: Capability) -> bool {
        let by_name =
            matches!(capability, Capability::Program(name) if self.programs.iter().any(|program| program == name));
        let by_root = self.capabilities.contains(&Capability::Root) && capability.is_implied_by_root();
        by_name || by_root || self.capabilities.contains(&capability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requirement(words: &str) -> Requirement {
        words.parse().expect("known words")
    }

    #[test]
    fn root_implies_what_a_prepared_machine_has_and_nothing_of_its_place() {
        let root = requirement("root");
        for implied in [Capability::Root, Capability::Loop, Capability::Bpf, Capability::Program("Xvfb")] {
            assert!(root.contains(implied), "{implied}");
        }
        for other in [Capability::Disk, Capability::Kernel, Capability::Program("openbox")] {
            assert!(!root.contains(other), "{other}");
        }
    }

    #[test]
    fn a_list_requires_what_it_names_and_no_more() {
        let list = requirement("disk, program:openbox,");
        assert!(list.contains(Capability::Disk) && list.contains(Capability::Program("openbox")));
        assert!(!list.contains(Capability::Root) && !list.contains(Capability::Program("sway")));
        assert_eq!(requirement(""), Requirement::default());
    }

    #[test]
    fn a_misspelt_word_is_refused_with_those_that_exist() {
        let error = "root,lop".parse::<Requirement>().expect_err("misspelt").to_string();
        assert!(error.starts_with("'lop' is not a capability; there are root, mount, swap,"), "{error}");
    }
}
