//! What a day of use shows: how far it is, and what its report says of trace and meter.

use std::time::Instant;

use crate::memory::day::{Plan, PlannedVisit};
use brisk_command::session::Session;

/// How far the days are, with the time that is left.
pub(super) struct Progress<'a> {
    session: &'a Session,
    runs: usize,
    visits: usize,
    begin: Instant,
    done: usize,
    doing: String,
}

impl<'a> Progress<'a> {
    /// Of so many runs of `plan`.
    pub(super) fn new(session: &'a Session, runs: usize, plan: &Plan) -> Self {
        Self { session, runs, visits: plan.visits.len(), begin: Instant::now(), done: 0, doing: String::new() }
    }

    pub(super) fn begin(&mut self, policy: &str, position: u32) {
        self.done = position as usize - 1;
        self.doing = format!("{policy}, run {position} of {}", self.runs);
        self.session.show(self.share(0), &format!("{}: beginning without apps", self.doing));
    }

    pub(super) fn at(&mut self, n: usize, visit: &PlannedVisit) {
        let share = self.share(n);
        let left = left(self.begin.elapsed().as_secs_f64(), share);
        let words = format!("{}: switch {} of {}, {}{left}", self.doing, n + 1, self.visits, visit.app);
        self.session.show(share, &words);
    }

    fn share(&self, visit: usize) -> f64 {
        (self.done as f64 + visit as f64 / self.visits.max(1) as f64) / self.runs.max(1) as f64
    }
}

/// The time that is left when `share` took `spent_s`, once that tells something.
pub(super) fn left(spent_s: f64, share: f64) -> String {
    if share < 0.02 {
        return String::new();
    }
    let left_s = spent_s / share * (1.0 - share);
    if left_s < 90.0 {
        format!(", about {:.0} s left", (left_s / 10.0).ceil() * 10.0)
    } else {
        format!(", about {:.0} min left", (left_s / 60.0).ceil())
    }
}

/// Parts of the report.
pub(crate) mod days {
    use crate::memory::day::Plan;
    use crate::results::{DayApp, DayTrace, ProfileMeter};
    use crate::study::suite::day::arguments::Replayed;
    use brisk_profile::meter::About;

    /// What was replayed, and how.
    pub(crate) fn trace(args: &Replayed, plan: &Plan, name: &str) -> DayTrace {
        let app = |one: &crate::memory::day::RankedApp| DayApp {
            trace_app: one.app.clone(),
            app: one.phone_app.clone(),
            switches: plan.visits.iter().filter(|visit| visit.app == one.phone_app).count() as u64,
        };
        DayTrace {
            name: name.to_owned(),
            user: plan.user.clone(),
            from_s: args.from.as_secs_f64(),
            span_s: plan.span_ms as f64 / 1e3,
            switches: plan.visits.len() as u64,
            dropped_sessions: plan.dropped_sessions,
            dropped_apps: plan.dropped_apps,
            speed: args.speed,
            dwell_ms_min: args.dwell_min.as_secs_f64() * 1e3,
            dwell_ms_max: args.dwell_max.as_secs_f64() * 1e3,
            lengthened: plan.lengthened,
            shortened: plan.shortened,
            apps: plan.apps.iter().map(app).collect(),
        }
    }

    pub(in super::super) fn meter(about: &About) -> ProfileMeter {
        ProfileMeter {
            name: about.kind.name().to_owned(),
            what: about.what.clone(),
            uncertainty: about.uncertainty.clone(),
        }
    }
}
