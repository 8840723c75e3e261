//! No document makes the views panic, print `NaN`, or break a page: numbers here are any bit pattern of a double.

mod samples;

use brisk_core::stats::Summary;
use brisk_results::{DeviceTime, Document, LaunchComparison, LaunchSet, Split, StorageUse, SuiteApp};
use proptest::prelude::*;
use roxmltree::ParsingOptions;

fn any_summary() -> impl Strategy<Value = Summary> {
    (0usize..9, any::<[f64; 7]>()).prop_map(|(count, [median, low, high, confidence, min, max, variation])| Summary {
        count,
        median,
        low,
        high,
        confidence,
        min,
        max,
        variation,
    })
}

/// What replaces the good values of the samples.
#[derive(Debug, Clone)]
struct Noise {
    summaries: Vec<Summary>,
    numbers: Vec<f64>,
    counts: Vec<u64>,
    text: String,
    kept: usize,
}

fn any_noise() -> impl Strategy<Value = Noise> {
    (
        prop::collection::vec(any_summary(), 1..6),
        prop::collection::vec(any::<f64>(), 1..6),
        prop::collection::vec(any::<u64>(), 1..6),
        any::<String>(),
        0usize..50,
    )
        .prop_map(|(summaries, numbers, counts, text, kept)| Noise { summaries, numbers, counts, text, kept })
}

impl Noise {
    fn summary(&self, i: usize) -> Summary {
        self.summaries[i % self.summaries.len()]
    }

    fn number(&self, i: usize) -> f64 {
        self.numbers[i % self.numbers.len()]
    }

    fn count(&self, i: usize) -> u64 {
        self.counts[i % self.counts.len()]
    }

    fn split(&self, split: &mut Split, i: usize) {
        split.wall_ms = self.number(i);
        split.lost_events = self.count(i);
        split.parts.truncate(self.kept);
        for (j, part) in split.parts.iter_mut().enumerate() {
            part.time_ms = self.number(i + j + 1);
        }
    }

    fn storage(&self, storage: &mut StorageUse, i: usize) {
        storage.in_flight_ms = self.number(i);
        storage.files_count = self.count(i);
        for (j, flow) in [&mut storage.read, &mut storage.swap_in, &mut storage.write].into_iter().enumerate() {
            (flow.bytes, flow.requests, flow.sequential_requests) =
                (self.count(i + j), self.count(i * j), self.count(j));
            for (k, class) in flow.by_size_bytes.iter_mut().enumerate() {
                *class = (self.count(i + k), self.count(k));
            }
        }
        for (j, file) in storage.files.iter_mut().enumerate() {
            (file.bytes, file.requests, file.first_ms) = (self.count(j), self.count(i + j), self.number(i + j));
            file.path.clone_from(&self.text);
        }
    }

    fn sets(&self, sets: &mut [LaunchSet]) {
        for (i, set) in sets.iter_mut().enumerate() {
            if i % 2 == 1 {
                set.label.clone_from(&self.text);
            }
            set.stages.truncate(self.kept);
            for (j, stage) in set.stages.iter_mut().enumerate() {
                stage.at_ms = self.summary(i + j);
            }
            set.settled_less_cpu_wait_ms = (i % 3 < 2).then(|| self.summary(i));
            if let Some(split) = &mut set.split {
                self.split(split, i);
            }
            set.runs.truncate(self.kept);
            for (j, run) in set.runs.iter_mut().enumerate() {
                run.watch_cpu_percent = self.number(i + j);
                run.settled_less_cpu_wait_ms = Some(self.number(i * j));
                for (k, stage) in run.stages.iter_mut().enumerate() {
                    stage.at_ms = self.number(j + k);
                    if let Some(split) = &mut stage.split {
                        self.split(split, i + j + k);
                    }
                }
                if let Some(storage) = &mut run.storage {
                    self.storage(storage, i + j);
                }
                run.device = Some(DeviceTime { busy_ms: self.number(i), in_flight_ms: self.number(j) });
                if let Some(cold) = &mut run.cold {
                    (cold.files, cold.cached_before_bytes, cold.cached_after_bytes) =
                        (self.count(j), self.count(j + 1), self.count(i));
                    cold.stayed[0].reason.clone_from(&self.text);
                }
            }
        }
    }

    fn comparisons(&self, comparisons: &mut [LaunchComparison]) {
        for (i, comparison) in comparisons.iter_mut().enumerate() {
            comparison.settled_ratio = self.summary(i);
            comparison.settled_less_cpu_wait_ratio = Some(self.summary(i + 1));
        }
    }

    fn apps(&self, apps: &mut Vec<SuiteApp>) {
        apps.truncate(self.kept);
        for (i, app) in apps.iter_mut().enumerate() {
            app.group.clone_from(&self.text);
            if i % 3 == 1 {
                app.name.clone_from(&self.text);
                app.failure = Some(self.text.clone());
            }
            self.sets(&mut app.sets);
            self.comparisons(&mut app.comparisons);
        }
    }

    /// The samples about apps with this noise.
    fn documents_of_apps(&self) -> Vec<Document> {
        let mut launch = samples::apps::launch_vs();
        launch.app.clone_from(&self.text);
        launch.command = vec![self.text.clone()];
        self.sets(&mut launch.sets);
        self.comparisons(&mut launch.comparisons);
        let mut latency = samples::apps::latency();
        latency.script.clone_from(&self.text);
        latency.steps.truncate(self.kept);
        for (i, step) in latency.steps.iter_mut().enumerate() {
            step.name.clone_from(&self.text);
            step.latency_ms = (i % 4 > 0).then(|| self.summary(i));
            if let Some(split) = &mut step.split {
                self.split(split, i);
            }
            for (j, run) in step.runs.iter_mut().enumerate() {
                (run.latency_ms, run.first_change_ms) = (self.number(i + j), Some(self.number(j)));
                if let Some(storage) = &mut run.storage {
                    self.storage(storage, i + j);
                }
            }
        }
        if let Some(delay) = &mut latency.runtime_delay {
            (delay.events, delay.total_ms) = (self.count(0), self.summary(0));
        }
        let mut suite = samples::apps::suite();
        self.apps(&mut suite.apps);
        suite.conditions.truncate(self.kept);
        if let Some(writer) = suite.conditions.get_mut(1).and_then(|c| c.writer.as_mut()) {
            writer.target_bytes_per_s = self.number(0);
            writer.reached_bytes_per_s = Some(self.summary(1));
        }
        let mut what_if = samples::apps::what_if();
        self.apps(&mut what_if.apps);
        what_if.conditions.truncate(self.kept);
        what_if.sqlite.truncate(self.kept);
        for (i, result) in what_if.sqlite.iter_mut().enumerate() {
            (result.insert_per_s, result.delete_per_s) = (self.summary(i), self.summary(i + 2));
        }
        let mut prove = samples::apps::prove();
        self.apps(&mut prove.apps);
        prove.conditions.truncate(self.kept);
        for (i, gain) in prove.gains.iter_mut().enumerate() {
            gain.app.clone_from(&self.text);
            (gain.loaded_ratio, gain.idle_ratio) = (Some(self.summary(i)), (i % 2 == 0).then(|| self.summary(i + 1)));
            (gain.added_ms, gain.gone_percent) = (Some(self.number(i)), Some(self.number(i + 1)));
        }
        if let Some(storage) = &mut prove.storage {
            storage.meter.name.clone_from(&self.text);
            for (i, jobs) in storage.jobs.iter_mut().enumerate() {
                jobs.streams = self.kept as u32;
                jobs.read_alone_us = self.summary(i);
                for both in [&mut jobs.read_us, &mut jobs.write_slowdown, &mut jobs.bytes_per_s, &mut jobs.energy_uj] {
                    (both.without, both.with, both.ratio) = (self.summary(i), self.summary(i + 1), self.summary(i + 2));
                }
            }
        }
        prove.set_ups = vec![self.text.clone(); self.kept];
        for setting in &mut prove.settings {
            (setting.knob, setting.before) = (self.text.clone(), self.text.clone());
            setting.values = vec![self.text.clone()];
        }
        vec![
            Document::Launch(Box::new(launch)),
            Document::Latency(Box::new(latency)),
            Document::Suite(Box::new(suite)),
            Document::WhatIf(Box::new(what_if)),
            Document::Prove(Box::new(prove)),
        ]
    }

    /// The samples with this noise in all numbers and names.
    fn documents(&self) -> Vec<Document> {
        let mut bench = samples::bench();
        bench.header.environment.path.clone_from(&self.text);
        bench.header.started.clone_from(&self.text);
        bench.header.duration_s = self.number(0);
        bench.cache.text.clone_from(&self.text);
        bench.verdict = vec![self.text.clone()];
        for jobs in [&mut bench.jobs, &mut bench.block_sweep, &mut bench.depth_sweep] {
            jobs.truncate(self.kept);
            for (i, job) in jobs.iter_mut().enumerate() {
                job.bandwidth_bytes_per_s = self.summary(i);
                job.requests_per_s = self.summary(i + 1);
                job.block_bytes = self.count(i);
                job.depth_requests = self.count(i / 3) as u32;
                job.latency.count = self.count(i);
                job.latency.p50_us = self.number(i);
                job.latency.max_us = self.number(i + 1);
                job.cpu_us_per_request = self.number(i + 2);
                for (j, (percent, us)) in job.latency.percentiles_us.iter_mut().enumerate() {
                    (*percent, *us) = (self.number(i + j), self.number(i * j));
                }
            }
        }
        for (i, sync) in bench.syncs.iter_mut().enumerate() {
            sync.call.clone_from(&self.text);
            (sync.latency.p50_us, sync.latency.p99_us, sync.latency.max_us) =
                (self.number(i), self.number(i + 1), self.number(i + 2));
        }
        let mut slowdown = samples::slowdown();
        slowdown.rows.truncate(self.kept);
        for (i, row) in slowdown.rows.iter_mut().enumerate() {
            row.streams = self.count(i) as u32;
            (row.read_alone_us, row.read_beside_us, row.read_slowdown) =
                (self.summary(i), self.summary(i + 1), self.summary(i + 2));
            row.write_slowdown = self.summary(i + 3);
            row.write_peers_us = Some(self.summary(i));
        }
        let mut concurrency = samples::concurrency();
        concurrency.points.truncate(self.kept);
        for (i, point) in concurrency.points.iter_mut().enumerate() {
            point.speedup = self.summary(i);
            point.serial_s = self.summary(i + 1);
            point.streams = self.count(i) as u32;
        }
        for (i, parameter) in concurrency.parameters.iter_mut().enumerate() {
            (parameter.streams, parameter.speedup) = (self.count(i) as u32, self.number(i));
        }
        let mut schedulers = samples::schedulers();
        schedulers.points.truncate(self.kept);
        schedulers.mix_bytes = self.count(0);
        for (i, point) in schedulers.points.iter_mut().enumerate() {
            point.response_s = self.summary(i);
            point.read_slowdown = Some(self.number(i));
            point.read_percent = self.count(i) as u32;
            if i % 3 == 0 {
                point.scheduler.clone_from(&self.text);
            }
        }
        let mut footprint = samples::footprint();
        footprint.points.truncate(self.kept);
        for (i, point) in footprint.points.iter_mut().enumerate() {
            (point.range_bytes, point.bandwidth_bytes_per_s) = (self.count(i), self.summary(i));
        }
        for (i, drop) in footprint.drops.iter_mut().enumerate() {
            (drop.after_range_bytes, drop.factor) = (self.count(i), self.number(i));
        }
        let mut frontier = samples::frontier();
        frontier.points.truncate(self.kept);
        (frontier.trial_s, frontier.write_min_percent) = (self.number(0), self.number(1));
        for (i, point) in frontier.points.iter_mut().enumerate() {
            (point.read_ratio, point.write_percent) = (self.number(i), self.number(i + 1));
            point.on_frontier = self.count(i).is_multiple_of(2);
            point.loads.truncate(self.kept % 3);
            for (j, load) in point.loads.iter_mut().enumerate() {
                (load.read_us, load.write_us_max) = (self.summary(i + j), self.summary(i));
                (load.read_us_p99, load.write_bytes_per_s) = (self.summary(j), self.summary(i + 1));
            }
            if i % 3 == 1 {
                point.label.clone_from(&self.text);
            }
        }
        for (i, load) in frontier.loads.iter_mut().enumerate() {
            (load.read_alone_us, load.read_interval_us) = (self.number(i), self.number(i + 1));
            load.name.clone_from(&self.text);
        }
        let mut profile = samples::profile();
        profile.workloads.truncate(self.kept);
        (profile.device_model, profile.meter.what) = (self.text.clone(), self.text.clone());
        for (i, workload) in profile.workloads.iter_mut().enumerate() {
            workload.name.clone_from(&self.text);
            for (j, cell) in workload.cells.iter_mut().enumerate() {
                (cell.requests_per_s, cell.request_uj_mean) = (self.number(i + j), self.number(i * j));
                (cell.energy_ratio, cell.delay_ratio) = (self.number(j), self.number(j + 1));
                cell.read_us_mean = (j % 2 == 0).then(|| self.number(i + 2 * j));
            }
        }
        for pick in profile.judged.iter_mut().flat_map(|one| &mut one.picks) {
            (pick.over_best, pick.energy_ratio) = (self.number(0), self.number(1));
        }
        let mut kernel = samples::kernel();
        for scenario in &mut kernel.scenarios {
            scenario.rows.truncate(self.kept);
            (scenario.scale, scenario.write_min_percent) = (self.number(0), self.number(1));
            (scenario.fidelity.lateness_ns_mean, scenario.fidelity.repeat_percent) = (self.number(2), self.number(3));
            scenario.loads[0].name.clone_from(&self.text);
            for (i, row) in scenario.rows.iter_mut().enumerate() {
                row.loads.truncate(self.kept % 4);
                for (j, side) in row.loads.iter_mut().flat_map(|load| &mut load.sides).enumerate() {
                    (side.delay_us_mean, side.delay_us_p99) = (self.summary(i + j), self.summary(i));
                    (side.bytes_per_s, side.requests_per_s) = (self.summary(j), self.summary(i * j));
                    side.slowdown = Some(self.summary(j + 1));
                    side.job_s = (j % 2 == 0).then(|| self.summary(i + 2));
                }
            }
        }
        let mut documents = vec![
            Document::Kernel(Box::new(kernel)),
            Document::Profile(Box::new(profile)),
            Document::Frontier(Box::new(frontier)),
            Document::Bench(Box::new(bench.clone())),
            Document::Slowdown(Box::new(slowdown)),
            Document::Concurrency(Box::new(concurrency)),
            Document::Schedulers(Box::new(schedulers)),
            Document::Footprint(Box::new(footprint)),
            Document::Bench(Box::new(bench)),
        ];
        documents.extend(self.documents_of_apps());
        documents
    }
}

/// `NaN` and `inf` as a number would print them, not as part of a word.
fn is_number_gone_wrong(word: &str) -> bool {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).trim_end_matches('x');
    ["NaN", "inf"].contains(&bare)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_document_makes_the_views_panic_or_print_nan(noise in any_noise(), width in prop::option::of(0u16..200)) {
        let documents = noise.documents();
        let mut shown: Vec<String> = documents.iter().map(|d| brisk_report::terminal(d, width)).collect();
        shown.extend(brisk_report::comparison(&documents, width));
        let page = brisk_report::html(&documents);
        let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
        let xml = roxmltree::Document::parse_with_options(&page, options);
        prop_assert!(xml.is_ok(), "{}", xml.err().map_or_else(String::new, |e| e.to_string()));
        shown.push(page);
        for text in shown {
            prop_assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
            if !["NaN", "inf"].iter().any(|word| noise.text.contains(word)) {
                let wrong = text.split(|c: char| c.is_whitespace() || "\"<>,();:".contains(c)).find(|w| is_number_gone_wrong(w));
                prop_assert!(wrong.is_none(), "{:?}", wrong);
            }
        }
    }
}

#[test]
fn every_kind_that_is_written_is_read() {
    for document in samples::all() {
        let text = serde_json::to_string(&document).expect("JSON");
        let read = brisk_report::parse(text.as_bytes()).expect("read");
        let kinds: Vec<_> = read.iter().map(std::mem::discriminant).collect();
        assert_eq!(kinds, [std::mem::discriminant(&document)]);
    }
}
