//! The control groups of apps: found by their names, and what each has used.

use std::path::{Path, PathBuf};

use brisk_core::snapshot::AppTotals;
use brisk_formats::Resource;
use brisk_formats::group_name::{android_uid, is_app, last_name};

use super::source::Failing;
use super::weight::Weight;
use super::{Sampler, stall_totals};
use crate::activity::Hierarchies;
use crate::error::Result;
use crate::group_io::GroupIo;

/// How often groups of apps are searched for.
const SEARCH_NS: u64 = 10_000_000_000;

/// Groups of apps lie less deep than this below the mount point.
pub(super) const DEPTH: usize = 10;

/// Where the mount points of control groups are listed.
const GROUPS: &str = "/proc/self/mountinfo";

/// The control group of an app.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) dir: PathBuf,
    /// It and the groups below it.
    pub(super) members: Vec<PathBuf>,
    /// What its tasks have read and written; `None` when that is not asked for.
    pub(super) io: Option<GroupIo>,
    pub(super) weight: Option<Weight>,
}

impl Sampler {
    /// What the groups of apps have used; those that are gone have no row.
    pub(super) fn apps(&mut self, at_ns: u64) -> Vec<AppTotals> {
        if self.search_at_ns.is_some_and(|search_at_ns| search_at_ns <= at_ns) {
            self.search_at_ns = Some(at_ns.saturating_add(SEARCH_NS));
            match self.search() {
                Ok(groups) => {
                    self.failing.forget(Path::new(GROUPS));
                    self.groups = groups;
                }
                // Those that are known are sampled on.
                Err(error) => self.failing.note(Path::new(GROUPS), &error),
            }
        }
        if self.hierarchies.is_none() && !self.groups.is_empty() {
            self.hierarchies = Hierarchies::of(&self.sense).ok();
        }
        let mut groups = std::mem::take(&mut self.groups);
        let mut failing = std::mem::take(&mut self.failing);
        failing.begin_apps();
        let apps: Vec<AppTotals> = groups.iter_mut().filter_map(|group| self.app(group, at_ns, &mut failing)).collect();
        (self.groups, self.failing) = (groups, failing);
        apps
    }

    /// What a group has used; `None` when it is gone.
    fn app(&self, group: &mut Group, at_ns: u64, failing: &mut Failing) -> Option<AppTotals> {
        let dir = group.dir.clone();
        let cpu = failing.take(&dir, self.sense.cgroup_cpu(&dir));
        let io_pressure = failing.take(&dir, self.sense.cgroup_pressure(&dir, Resource::Io));
        let mut memory_bytes = failing.take(&dir, self.sense.cgroup_memory_bytes(&dir));
        // Groups of version 1 have none of these files.
        let is_there = cpu.is_some() || self.sense.path(&dir).is_dir();
        if memory_bytes.is_none() && is_there {
            memory_bytes = failing.take(&dir, self.memory_in_version_1(&dir));
        }
        if !is_there {
            return None;
        }
        let weight = self.weigh(group, at_ns, cpu.map(|cpu| cpu.usage_us));
        let waited_us = io_pressure.as_ref().map(|pressure| pressure.some.total_us);
        let moved = match &mut group.io {
            Some(io) => failing.take(&dir, io.read(&self.sense, &group.dir, waited_us)),
            None => None,
        };
        Some(AppTotals {
            name: group.name.clone(),
            cpu_us: cpu.map(|cpu| cpu.usage_us),
            memory_bytes,
            rss_bytes: match (memory_bytes, weight) {
                (None, Some(weight)) => Some(weight.anonymous_bytes.saturating_add(weight.file_bytes)),
                (None, None) if self.with_resident => failing.take(&dir, self.resident_bytes(&group.members)),
                _ => None,
            },
            io_pressure: io_pressure.map(stall_totals),
            memory_pressure: failing
                .take(&dir, self.sense.cgroup_pressure(&group.dir, Resource::Memory))
                .map(stall_totals),
            read_bytes: moved.map(|moved| moved.read_bytes),
            write_bytes: moved.map(|moved| moved.write_bytes),
            anon_bytes: weight.map(|weight| weight.anonymous_bytes),
            swap_bytes: weight.map(|weight| weight.swapped_bytes),
            cpu_stall_us: failing
                .take(&dir, self.sense.cgroup_pressure(&dir, Resource::Cpu))
                .map(|pressure| pressure.some.total_us),
        })
    }

    /// Memory that version 1 charges to the app's group; `None` where there is none.
    fn memory_in_version_1(&self, dir: &Path) -> Result<Option<u64>> {
        let own = self.hierarchies.as_ref().and_then(|hierarchies| hierarchies.in_old_memory(&self.sense, dir));
        own.map_or(Ok(None), |own| self.sense.memory_usage_bytes(&own))
    }

    /// What the processes in `groups` have in memory; a process that ends meanwhile has nothing.
    fn resident_bytes(&self, groups: &[PathBuf]) -> Result<Option<u64>> {
        let page_bytes = rustix::param::page_size() as u64;
        let mut sum_bytes = None;
        for group in groups {
            for pid in self.sense.cgroup_processes(group)?.into_iter().flatten() {
                let pages = self.sense.process_stat(pid)?.map_or(0, |process| process.resident_pages);
                sum_bytes = Some(pages.saturating_mul(page_bytes).saturating_add(sum_bytes.unwrap_or(0)));
            }
        }
        Ok(sum_bytes)
    }

    /// The groups that were chosen, or those of apps.
    fn search(&self) -> Result<Vec<Group>> {
        let mut dirs = self.choice.groups.clone();
        let mut root = PathBuf::from("/");
        if dirs.is_empty() {
            let Some(apps) = self.sense.app_groups()? else { return Ok(Vec::new()) };
            root = apps.root;
            self.walk(&root, DEPTH, &mut |dir, name| {
                let found = is_app(name) || android_uid(dir).is_some();
                if found {
                    dirs.push(dir.to_owned());
                }
                !found
            });
            dirs.sort();
        }
        let names: Vec<String> = dirs.iter().map(|dir| last_name(dir)).collect();
        let groups = dirs.into_iter().enumerate().map(|(index, dir)| {
            // Two users may run an app under the same name.
            let twice = names.iter().filter(|name| **name == names[index]).count() > 1;
            let path = dir.strip_prefix(&root).unwrap_or(&dir).to_string_lossy().into_owned();
            let mut members = vec![dir.clone()];
            self.walk(&dir, DEPTH, &mut |below, _| {
                members.push(below.to_owned());
                true
            });
            let name = if twice { path } else { names[index].clone() };
            Group { name, dir, members, io: None, weight: None }
        });
        Ok(groups.collect())
    }

    /// Calls `visit` for each directory below `dir`, and goes on below it when that says so. What went meanwhile or may
    /// not be seen is skipped.
    pub(super) fn walk(&self, dir: &Path, depth: usize, visit: &mut dyn FnMut(&Path, &str) -> bool) {
        let Ok(entries) = std::fs::read_dir(self.sense.path(dir)) else { return };
        for entry in entries.flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let below = dir.join(entry.file_name());
            if visit(&below, &entry.file_name().to_string_lossy()) && depth > 0 {
                self.walk(&below, depth - 1, visit);
            }
        }
    }
}
