//! Prediction by partial matching, the dissertation's predictor (5.5): the next app is what followed the latest
//! launches when they came in the same order before.
//!
//! Which variant: the dissertation cites Cleary and Witten (IEEE Trans. Commun. 32, 1984) for PPM and describes the
//! longest match and a probability distribution, without naming how contexts of different length are blended. Here it
//! is PPM with the escape estimate of method C (Moffat, IEEE Trans. Commun. 38, 1990), the usual one since: in a
//! context that was followed by `d` different apps in `t` launches, an app that followed it `c` times has the chance
//! `c / (t + d)`, and `d / (t + d)` is left for the next shorter context, in which apps of the longer ones are
//! excluded. The contexts begin with the longest match (up to [`ORDER_MAX`]) and end with one app. What is left goes to
//! all other known apps, so that nine are given where nine are known: by recency, the `n`-th with a weight of `1 / n`.
//! The text has their frequency here, which is worse for nine apps (on four users 84.8 instead of 86.1 % of launches).
//! Equal chances: the more recently used app first.

use super::history::History;

/// Longest context. Longer matches differ in nothing that matters for the next app, and take time to find.
pub(super) const ORDER_MAX: usize = 16;

/// Chances of all known apps but `excluded`, by index; their sum is at most 1.
pub(super) fn chances(history: &History, excluded: Option<u16>) -> Vec<(u16, f32)> {
    let apps = history.apps.len();
    let mut contexts: Vec<Vec<u32>> = Vec::new();
    for position in history.earlier_uses() {
        let follower = usize::from(history.launches[position + 1].app);
        let order = history.matched(position, ORDER_MAX);
        while contexts.len() < order {
            contexts.push(vec![0; apps]);
        }
        contexts[..order].iter_mut().for_each(|counts| counts[follower] += 1);
    }
    let mut chances: Vec<Option<f32>> = vec![None; apps];
    let mut left = 1.0;
    for counts in contexts.iter().rev() {
        let open =
            |id: usize| chances[id].is_none() && counts[id] > 0 && excluded.is_none_or(|app| usize::from(app) != id);
        let new: Vec<usize> = (0..apps).filter(|&id| open(id)).collect();
        let total: u32 = new.iter().map(|&id| counts[id]).sum();
        let parts = total as f32 + new.len() as f32;
        if new.is_empty() {
            continue;
        }
        let share = left / parts;
        left = share * new.len() as f32;
        for id in new {
            chances[id] = Some(share * counts[id] as f32);
        }
    }
    let others = || history.recent.iter().copied().filter(|&id| Some(id) != excluded);
    let unmatched = || others().filter(|&id| chances[usize::from(id)].is_none());
    let parts: f32 = (1_u16..).zip(unmatched()).map(|(n, _)| 1.0 / f32::from(n)).sum();
    let mut nth = 0_u16;
    let mut ranked: Vec<(u16, f32)> = others()
        .map(|id| {
            let chance = chances[usize::from(id)].unwrap_or_else(|| {
                nth += 1;
                left / f32::from(nth) / parts
            });
            (id, chance)
        })
        .collect();
    // Stable: recency decides between equals.
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    ranked
}
