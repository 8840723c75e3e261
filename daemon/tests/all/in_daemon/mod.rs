//! An app whose memory a daemon writes out and reads back. A test program that uses this module has the modules
//! `harness` and `swapped`.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use brisk_act::{Actuator, Paths};
use brisk_api::{AppPages, Pages, Status};
use brisk_core::action::{AddressRange, Once};
use brisk_core::group::{GroupKey, is_meant};
use brisk_core::outcome::Outcome;
use brisk_sense::Sense;
use serde_json::Value;

use crate::harness::Briskd;
use crate::swapped::{App, Kind, PAGE, PAGES, perform};

/// Size of a swap area, much more than the app needs: a kernel that pages out whatever is cold (DAMON) fills an area
/// that it finds.
pub(crate) const AREA_MIB: u64 = 1024;
/// Memory is short whatever is available, and an app that was left has no grace.
pub(crate) const SHORT: &str = "[engines]\norder = [\"mars\"]\ntrial = false\nwear_mib_per_day = 0\n[mars]\n\
                     grace_s = 0\n\
                     reserve_min_percent = 99.99\nreserve_max_percent = 100\n";

/// An app in a group of its own, with the address of its memory and a way to have that swapped.
pub(crate) struct Swapped {
    pub(crate) app: App,
    pub(crate) name: String,
    pub(crate) address: u64,
    actuator: Actuator,
}

impl Swapped {
    pub(crate) fn start(id: &str, kind: Kind, dir: &Path) -> Self {
        let v2 = Sense::default().cgroups().expect("Linux").v2.expect("mounted");
        let name = format!("app-{id}-{}.scope", std::process::id());
        let (app, address) = App::start(Some(&v2.mount_point.join(&name)), kind);
        let paths = Paths::with_run_dir(dir.join("of-the-test"));
        let mut actuator = Actuator::new(&paths, "test", false).expect("a journal");
        actuator.start_worker("test").expect("threads");
        Self { app, name, address, actuator }
    }

    pub(crate) fn range(&self, first_page: u64, pages: u64) -> AddressRange {
        let (start, size_bytes) = (self.address + first_page * PAGE as u64, pages * PAGE as u64);
        AddressRange { pid: self.app.pid(), start, size_bytes }
    }

    /// Pages of its memory that are in swap, from one to another.
    pub(crate) fn swapped(&self, from: u64, to: u64) -> u64 {
        let scan = Sense::default().app_pages(&[self.app.pid()]).expect("readable");
        let (from, to) = (self.range(from, 0).start, self.range(to, 0).start);
        let mappings = scan.processes.iter().flat_map(|process| &process.mappings);
        let pages = mappings.flat_map(|of| {
            let address = |page: u64| of.mapping.start + (page - of.mapping.range.first_page) * PAGE as u64;
            let within = move |at: u64| (from..to).contains(&at);
            let ranges = of.swapped.iter().map(|swapped| swapped.range);
            ranges.flat_map(|range| range.first_page..range.end_page()).map(address).filter(move |at| within(*at))
        });
        pages.count() as u64
    }

    pub(crate) fn is_frozen(&self) -> bool {
        let pid = self.app.pid();
        let own = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).expect("it runs");
        let of = |line: &str| line.split_once("freezer:").map(|(_, path)| path.to_owned());
        let freezer = own.lines().find_map(of).filter(|path| path != "/");
        let v2 = Sense::default().cgroups().expect("Linux").v2.expect("mounted").mount_point.join(&self.name);
        let unified = std::fs::read_to_string(v2.join("cgroup.events")).is_ok_and(|text| text.contains("frozen 1"));
        unified
            || freezer.is_some_and(|path| {
                let state =
                    Path::new("/sys/fs/cgroup/freezer").join(path.trim_start_matches('/')).join("freezer.state");
                std::fs::read_to_string(state).is_ok_and(|state| state.trim() != "THAWED")
            })
    }

    pub(crate) fn swap_out(&mut self) {
        let v2 = Sense::default().cgroups().expect("Linux").v2.expect("mounted");
        let inode = std::fs::metadata(v2.mount_point.join(&self.name)).expect("a group").ino();
        let group = GroupKey::Control { inode, path: &self.name }.text();
        let out = Once::PageOut { group, ranges: vec![self.range(0, PAGES)] };
        assert_eq!(perform(&mut self.actuator, &out), Outcome::Done);
    }
}

pub(crate) fn front(daemon: &Briskd, group: Option<&str>) {
    let named: Vec<(&str, Value)> = group.iter().map(|group| ("group", Value::from(*group))).collect();
    let _: Option<String> = daemon.client().call("SetFront", &named, "group").expect("it answers");
}

/// What the daemon knows of the pages of the app.
pub(crate) fn pages(daemon: &Briskd, name: &str) -> AppPages {
    let pages: Pages = daemon.client().call("GetPages", &[("app", name.into())], "pages").expect("it answers");
    assert!(pages.active);
    pages.survey.apps.into_iter().find(|row| brisk_core::group::is_meant(&row.group, name)).expect("it runs")
}

/// What was read back of the app so far.
pub(crate) fn read_back(status: &Status, name: &str) -> Vec<AddressRange> {
    let of = |state: &brisk_core::state::ActionState| match &state.resolved.what {
        Once::PageIn { group, ranges } if is_meant(group, name) => ranges.clone(),
        _ => Vec::new(),
    };
    status.actions.iter().flat_map(of).collect()
}

/// What was written out of the app so far, without what was dropped.
pub(crate) fn written_out(status: &Status, name: &str) -> bool {
    let is_it = |state: &brisk_core::state::ActionState| {
        matches!(&state.resolved.what, Once::PageOut { group, .. } if is_meant(group, name))
            && state.outcome != Outcome::Dropped
    };
    status.actions.iter().any(is_it)
}
