//! A synthetic usage trace: a person with habits, not recorded from a real one.
//!
//! The next app is the one before the current with a fixed probability (people go back and forth), else one of the
//! others: popular apps more often (Zipf), and each app has a follower to which people often go on. Dwell times have a
//! log-normal distribution. The shape is that of four real users: quartile and median of the dwell are the geometric
//! means over them (4 to 21 s and 16 to 71 s), the share of returns is the middle of theirs (31 to 57 %).
//!
//! The same seed gives the same trace.

use brisk_core::random::Random;

use super::usage::{Session, UsageTrace, UserTrace};

/// The apps, the most popular first.
const APPS: [&str; 12] =
    ["messages", "browser", "mail", "photos", "news", "music", "maps", "calendar", "notes", "game", "shop", "clock"];
/// When the trace begins, in ms of Unix time.
const BEGIN_MS: u64 = 1_700_000_000_000;
/// Share of switches that return to the app before.
const RETURN_SHARE: f64 = 0.44;
/// How much more often an app is followed by its usual follower than its popularity says.
const FOLLOWER_WEIGHT: f64 = 4.0;
/// First quartile and median of the dwell.
const DWELL_S_P25: f64 = 8.0;
const DWELL_S_P50: f64 = 32.0;
const DWELL_S_MAX: f64 = 1_800.0;
/// The first quartile of the normal distribution, in standard deviations below the mean.
const NORMAL_P25: f64 = 0.674_489_75;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Synthetic {
    /// Seed of all that is random.
    pub seed: u64,
    pub sessions: usize,
}

impl Synthetic {
    /// The trace. It has one user, whose name contains the seed.
    #[must_use]
    pub fn trace(&self) -> UsageTrace {
        let mut random = Random(self.seed);
        let followers: Vec<usize> =
            (0..APPS.len()).map(|app| draw(&mut random, |other| other != app, |_| 1.0)).collect();
        let (mut current, mut before) = (0, None);
        let mut at_ms = BEGIN_MS;
        let mut sessions = Vec::with_capacity(self.sessions);
        for _ in 0..self.sessions {
            let front_ms = dwell_ms(&mut random);
            sessions.push(Session { at_ms, app: APPS[current].to_owned(), front_ms });
            at_ms += front_ms;
            let next = match before {
                Some(before) if random.unit() < RETURN_SHARE => before,
                _ => draw(
                    &mut random,
                    |app| app != current && Some(app) != before,
                    |app| {
                        let popularity = 1.0 / (app + 1) as f64;
                        if app == followers[current] { popularity * FOLLOWER_WEIGHT } else { popularity }
                    },
                ),
            };
            (before, current) = (Some(current), next);
        }
        UsageTrace { users: vec![UserTrace { user: format!("synthetic-{}", self.seed), sessions }] }
    }
}

/// One of the apps that may be, by weight.
fn draw(random: &mut Random, may_be: impl Fn(usize) -> bool, weight: impl Fn(usize) -> f64) -> usize {
    let weights: Vec<f64> = (0..APPS.len()).map(|app| if may_be(app) { weight(app) } else { 0.0 }).collect();
    let mut left = random.unit() * weights.iter().sum::<f64>();
    for (app, weight) in weights.iter().enumerate() {
        if *weight > 0.0 && left < *weight {
            return app;
        }
        left -= weight;
    }
    // Rounding may leave a rest behind the last.
    weights.iter().rposition(|weight| *weight > 0.0).unwrap_or(0)
}

/// A log-normal dwell, by the method of Box and Muller.
fn dwell_ms(random: &mut Random) -> u64 {
    let sigma = (DWELL_S_P50 / DWELL_S_P25).ln() / NORMAL_P25;
    // 1 less a number below 1 is above 0, as the logarithm needs.
    let (u, v) = (1.0 - random.unit(), random.unit());
    let normal = (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos();
    let dwell_s = (DWELL_S_P50.ln() + sigma * normal).exp().min(DWELL_S_MAX);
    (dwell_s * 1e3).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions(seed: u64, sessions: usize) -> Vec<Session> {
        Synthetic { seed, sessions }.trace().users.remove(0).sessions
    }

    #[test]
    fn the_same_seed_gives_the_same_trace_and_another_seed_another() {
        assert_eq!(sessions(7, 50), sessions(7, 50));
        assert_ne!(sessions(7, 50), sessions(8, 50));
        // A longer trace begins alike.
        assert_eq!(sessions(7, 50), sessions(7, 80)[..50]);
    }

    #[test]
    fn the_shape_is_that_of_real_users() {
        let all = sessions(3, 20_000);
        let mut dwells_s: Vec<f64> = all.iter().map(|session| session.front_ms as f64 / 1e3).collect();
        dwells_s.sort_by(f64::total_cmp);
        let quantile = |share: f64| dwells_s[(share * dwells_s.len() as f64) as usize];
        // Of 20,000 draws the quartiles are within 5 % of those of the distribution (standard error below 2 %).
        assert!((quantile(0.25) / 8.0 - 1.0).abs() < 0.05, "{}", quantile(0.25));
        assert!((quantile(0.5) / 32.0 - 1.0).abs() < 0.05, "{}", quantile(0.5));
        let returns = all.windows(3).filter(|three| three[0].app == three[2].app).count();
        let share = returns as f64 / all.len() as f64;
        assert!((0.42..0.46).contains(&share), "{share}");
        assert!(all.windows(2).all(|two| two[0].app != two[1].app));
        assert!(all.windows(2).all(|two| two[0].at_ms + two[0].front_ms == two[1].at_ms));
    }

    #[test]
    fn the_trace_is_in_the_format_of_traces() {
        let trace = Synthetic { seed: 1, sessions: 40 }.trace();
        assert_eq!(UsageTrace::parse(&trace.to_text()), Ok(trace));
    }
}
