//! What each right that the service lacks costs, engine by engine. `packaging/briskd.service` grants all of them.
//!
//! The daemon tries them, since its service may allow less than a person who asks; without a daemon `brisk doctor`
//! tries them for itself.
//!
//! Properties: `each_right_has_its_price`; `engines_are_named_as_in_the_configuration`.

use brisk_api::LackingRight;
use brisk_sense::{Right, Sense};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

/// Engines that need a right, and what goes missing without it.
fn price(right: Right) -> (&'static [&'static str], &'static str) {
    match right {
        Right::Nice => (
            &["smartio", "mars", "iram"],
            "launching apps get no real-time I/O priority, and memory of apps is neither written out nor read back",
        ),
        Right::Kill => (&["iram"], "apps of users cannot be asked to end when memory is short"),
        Right::DacOverride => (&["mars", "iram"], "groups of users' apps are neither frozen nor reclaimed"),
        Right::Fowner => {
            (&["prefetch"], "files of users are not read ahead, as that would change their time of access")
        }
        Right::Ptrace => (
            &["prefetch", "smartio", "mars"],
            "what apps map and open is unknown: launches are not learned, every disk counts as theirs, no memory is \
             written out",
        ),
        Right::Admin => (
            &["prefetch", "mars"],
            "files that a launch reads without mapping them are not learned, and memory is read back by address, not \
             in the order of the swap area",
        ),
        Right::QueueFiles => (&["smartio", "smartstorage"], "scheduler and queue depth of disks cannot be changed"),
        Right::VmFiles => (&["smartio"], "settings of virtual memory (/proc/sys/vm) cannot be changed"),
        Right::GroupFiles => {
            (&["smartio", "mars", "iram"], "apps are neither frozen nor limited, and get no I/O weight")
        }
        Right::IoPriority => (&["smartio"], "no app gets an I/O priority"),
        Right::ProcessMadvise => (&["mars", "iram"], "memory of an app is neither written out nor read back"),
        Right::Mincore => {
            (&["prefetch"], "which pages of a file are in memory is unknown, so launches are not learned")
        }
        Right::Capset => (&[], "the hook of a maker is not run"),
        Right::Netlink => (&["smartio", "smartstorage"], "disks that come or go are noticed late"),
    }
}

/// The rights that this process lacks, with what goes missing.
#[must_use]
pub fn lacking(sense: &Sense) -> Vec<LackingRight> {
    let lacks = |right: &&Right| sense.is_granted(**right) == Some(false);
    let one = |right: &Right| {
        let (engines, costs) = price(*right);
        let engines = engines.iter().map(|&engine| engine.to_owned()).collect();
        LackingRight { right: right.name().to_owned(), engines, costs: costs.to_owned() }
    };
    Right::ALL.iter().filter(lacks).map(one).collect()
}

/// Gives up CAP_NET_ADMIN, which only the start needs, to ask for the kernel's messages of processes. To be called
/// before there is a second thread: each has capabilities of its own.
///
/// # Errors
/// When a filter of system calls refuses capset.
pub fn give_up_net_admin() -> rustix::io::Result<()> {
    let mut own = capabilities(None)?;
    own.effective -= CapabilitySet::NET_ADMIN;
    own.permitted -= CapabilitySet::NET_ADMIN;
    own.inheritable -= CapabilitySet::NET_ADMIN;
    set_capabilities(None, own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_right_has_its_price() {
        let prices: BTreeSet<&str> = Right::ALL.iter().map(|right| price(*right).1).collect();
        assert_eq!(prices.len(), Right::ALL.len());
    }

    #[test]
    fn engines_are_named_as_in_the_configuration() {
        let named: BTreeSet<&str> = Right::ALL.iter().flat_map(|right| price(*right).0).copied().collect();
        assert_eq!(named, crate::engines::NAMES.iter().copied().collect());
    }

    #[test]
    fn the_right_over_the_network_is_given_up() {
        // In a thread of its own: others keep theirs.
        let left = std::thread::spawn(|| {
            give_up_net_admin().expect("less is always allowed");
            capabilities(None).expect("Linux")
        });
        let left = left.join().expect("no panic");
        assert!(!(left.effective | left.permitted | left.inheritable).contains(CapabilitySet::NET_ADMIN));
    }
}
