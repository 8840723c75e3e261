use brisk_core::app::{Activity, Preference, Tolerance};
use proptest::prelude::*;

use super::*;
use crate::iram::tests::{MIB, any_world, app, memory};

fn totals(name: &str, memory_mib: u64) -> AppTotals {
    AppTotals { name: name.to_owned(), memory_bytes: Some(memory_mib * MIB), ..AppTotals::default() }
}

/// Ids in order, of apps with these memories in MiB, chances and ranks.
fn order(config: &Config, of: &[(&str, u64, f64, usize)]) -> Vec<(String, bool)> {
    let apps: Vec<App> = of.iter().map(|(id, ..)| app(id, |_| ())).collect();
    let totals: Vec<AppTotals> = of.iter().map(|(id, mib, ..)| totals(&format!("app-{id}.scope"), *mib)).collect();
    let outlook = |id: &str| {
        let known = of.iter().find(|(known, ..)| *known == id);
        known.map_or_else(Outlook::default, |(_, _, chance, rank)| Outlook {
            chance: *chance,
            rank: Some(*rank),
            relaunch_s: Some(2.0),
        })
    };
    let all = all(config, 0, &apps, &totals, &memory(500), outlook);
    all.iter().map(|one| (one.app.id.clone(), one.spared.is_some())).collect()
}

#[test]
fn the_cheapest_memory_comes_first() {
    let config = Config { protected_apps: 0, ..Config::default() };
    let of = [("a", 100, 0.5, 0), ("b", 100, 0.1, 1), ("c", 400, 0.3, 2), ("d", 10, 0.1, 3)];
    // Seconds for 100 MiB: a 1.0, b 0.2, c 0.15, d 2.0.
    let expected = ["c", "b", "a", "d"].map(|id| (id.to_owned(), false));
    assert_eq!(order(&config, &of), expected);
}

#[test]
fn likely_next_apps_are_protected_as_far_as_they_fit() {
    let config = Config { protected_apps: 3, ..Config::default() };
    let spared = |config: &Config, of: &[(&str, u64, f64, usize)]| {
        let order = order(config, of);
        let mut spared: Vec<String> = order.into_iter().filter(|(_, spared)| *spared).map(|(id, _)| id).collect();
        spared.sort();
        spared.concat()
    };
    // Of 1000 MiB, 400 may be protected.
    let of = [("a", 100, 0.5, 0), ("b", 100, 0.3, 1), ("c", 100, 0.1, 2), ("d", 100, 0.1, 3)];
    assert_eq!(spared(&config, &of), "abc");
    let of = [("a", 300, 0.5, 0), ("b", 200, 0.3, 1), ("c", 50, 0.1, 2)];
    assert_eq!(
        spared(&config, &of),
        "a",
        "what is less likely than the first that does not fit is not protected either"
    );
    let paper = Config { mode: Mode::Paper, protected_apps: 3, ..Config::default() };
    assert_eq!(spared(&paper, &of), "abc");
    // Ranks are those of all apps, running or not.
    assert_eq!(spared(&config, &[("a", 100, 0.1, 2), ("b", 100, 0.1, 3)]), "a");
}

#[test]
fn each_step_is_for_its_apps() {
    let config = Config { freeze: true, ..Config::default() };
    let steps = |config: &Config, controller: bool, change: fn(&mut Activity)| -> Vec<&str> {
        let apps = [app("a", change)];
        let of =
            AppTotals { memory_bytes: controller.then_some(MIB), rss_bytes: Some(MIB), ..totals("app-a.scope", 0) };
        let all = all(config, 100 * crate::iram::schedule::S_NS, &apps, &[of], &memory(500), |_| Outlook::default());
        Step::ALL.into_iter().filter(|step| all[0].allows(config, *step)).map(Step::name).collect()
    };
    assert_eq!(steps(&config, true, |_| ()), ["free_caches", "reclaim", "freeze", "end"]);
    assert_eq!(steps(&config, false, |_| ()), ["page_out", "freeze", "end"]);
    assert_eq!(steps(&Config::default(), false, |_| ()), ["page_out", "end"]);
    // Where the system does not tell what is in front, an app could not be thawed in time.
    assert_eq!(steps(&config, true, |activity| activity.focused = None), ["free_caches", "reclaim", "end"]);
    // An app that works, or of which that is not known, goes on.
    assert_eq!(steps(&config, true, |activity| activity.works = None), ["free_caches", "reclaim", "end"]);
    let kept: [fn(&mut Activity); 3] = [
        |activity| activity.role = Role::Other,
        |activity| activity.audible = Some(true),
        |activity| activity.audible = None,
    ];
    for change in kept {
        assert_eq!(steps(&config, true, change), Vec::<&str>::new());
    }
    let nothing = Config { reclaim: false, ends: Ends::Never, ..Config::default() };
    assert_eq!(steps(&nothing, true, |_| ()), Vec::<&str>::new());
}

#[test]
fn the_paper_takes_the_lowest_importance_first_and_the_front_never() {
    let paper =
        |aggression_level| Config { mode: Mode::Paper, aggression_level, protected_apps: 0, ..Config::default() };
    let of = |adj: i16| {
        let mut app = app(&format!("uid_{adj}"), |_| ());
        (app.activity.oom_score_adj, app.activity.is_rated) = (Some(adj), true);
        app
    };
    let apps = [0, 900, 100, 950, 200, 500, -800].map(of);
    let memories: Vec<AppTotals> = apps.iter().map(|app| totals(&app.group, 10)).collect();
    let ended = |level: u8| -> Vec<&str> {
        let config = paper(level);
        let all = all(&config, 0, &apps, &memories, &memory(500), |_| Outlook::default());
        let ended = all.into_iter().filter(|one| one.allows(&config, Step::End));
        ended.map(|one| one.rated.level.name()).collect()
    };
    assert_eq!(ended(1), ["empty", "background"]);
    assert_eq!(ended(2), ["empty", "background"]);
    assert_eq!(ended(3), ["empty", "background", "service", "visible"]);
}

fn whatever(mode: Mode) -> Config {
    Config { mode, freeze: true, aggression_level: 3, ..Config::default() }
}

/// Checks of all apps of random worlds that what `is_kept` holds for allows no step in either mode.
fn keeps_everything(world: &crate::iram::tests::World, is_kept: impl Fn(&App) -> bool) -> Result<(), TestCaseError> {
    for mode in [Mode::Adaptive, Mode::Paper] {
        let config = whatever(mode);
        let now = &world.now;
        let all = all(&config, now.at_ns, &world.apps, &now.apps, &now.memory, |_| Outlook::default());
        prop_assert_eq!(all.len(), world.apps.len());
        for one in all.iter().filter(|one| is_kept(one.app)) {
            prop_assert!(Step::ALL.into_iter().all(|step| !one.allows(&config, step)), "{:?}", one);
            prop_assert!(one.spared.is_some());
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn from_the_app_in_front_and_above_nothing_is_taken(world in any_world()) {
        let is_above = |app: &App| app.activity.oom_score_adj.is_some_and(|adj| adj < 100);
        let is_android = |app: &App| app.activity.is_rated && is_above(app);
        keeps_everything(&world, |app| app.activity.focused == Some(true) || app.launching || is_android(app))?;
    }

    #[test]
    fn a_holder_of_an_inhibitor_keeps_everything(world in any_world()) {
        keeps_everything(&world, |app| app.activity.inhibits == Some(true))?;
    }

    #[test]
    fn an_app_that_is_not_known_to_be_silent_keeps_everything(world in any_world()) {
        let is_rated = |app: &App| app.activity.is_rated && app.activity.oom_score_adj.is_some();
        keeps_everything(&world, |app| match app.activity.audible {
            None => !is_rated(app),
            Some(plays) => plays,
        })?;
    }

    #[test]
    fn what_the_configuration_protects_keeps_everything(world in any_world()) {
        let is_by_configuration = |app: &App| ["chosen", "protected"].contains(&app.reason.rule.as_ref());
        keeps_everything(&world, |app| app.tolerance == Tolerance::System && is_by_configuration(app))?;
    }

    #[test]
    fn brisk_itself_keeps_everything(world in any_world()) {
        keeps_everything(&world, |app| app.id == "briskd")?;
    }

    #[test]
    fn a_likely_next_app_keeps_everything(world in any_world(), next in 0_usize..6) {
        let config = Config { protected_max_percent: 100.0, protected_apps: next, ..whatever(Mode::Adaptive) };
        let now = &world.now;
        let rank = |id: &str| id.parse::<usize>().ok();
        let outlook = |id: &str| Outlook { chance: 0.1, rank: rank(id), relaunch_s: None };
        let all = all(&config, now.at_ns, &world.apps, &now.apps, &now.memory, outlook);
        let is_next = |one: &&Candidate| one.rank.is_some_and(|rank| rank < next);
        for one in all.iter().filter(|one| one.app.activity.role == Role::App).filter(is_next) {
            let fits = all.iter().filter_map(|one| one.memory_bytes).sum::<u64>() <= now.memory.total_bytes;
            prop_assert!(!fits || Step::ALL.into_iter().all(|step| !one.allows(&config, step)), "{:?}", one);
        }
    }

    #[test]
    fn protected_apps_fit_into_their_share(world in any_world(), percent in 0.0..100.0) {
        let config = Config { protected_max_percent: percent, ..Config::default() };
        let now = &world.now;
        let outlook = |id: &str| Outlook { chance: 0.1, rank: id.parse().ok(), relaunch_s: None };
        let all = all(&config, now.at_ns, &world.apps, &now.apps, &now.memory, outlook);
        let is_next = |one: &&Candidate<'_>| one.spared.as_ref().is_some_and(|reason| reason.rule == "likely_next");
        let bytes: u64 = all.iter().filter(is_next).filter_map(|one| one.memory_bytes).sum();
        prop_assert!(bytes <= share_bytes(now.memory.total_bytes, percent));
    }

    #[test]
    fn a_larger_chance_never_comes_first(mib in 1_u64..500, chance in 0.0_f64..1.0, more in 0.0_f64..1.0) {
        let config = Config { protected_apps: 0, ..Config::default() };
        let (less, more) = (chance.max(CHANCE_MIN), (chance + more).max(CHANCE_MIN) + 0.001);
        let order = order(&config, &[("likelier", mib, more, 0), ("rarer", mib, less, 1)]);
        prop_assert_eq!(&order[0].0, "rarer");
    }
}

fn branch(pid: u32, memory_mib: u64, growth_mib: u64, order: Option<EndOrder>) -> Branch {
    let preference = order.map(|order| Preference { order, by: "earlyoom".to_owned() });
    let (memory_bytes, growth_bytes) = (memory_mib * MIB, growth_mib * MIB);
    Branch { pid, start_ticks: u64::from(pid), name: format!("p{pid}"), memory_bytes, growth_bytes, preference }
}

/// The end of a terminal with these branches; `None` when nothing of it may be ended.
fn end_of(branches: Option<Vec<Branch>>) -> Option<Once> {
    let apps = [app("a", |activity| activity.branches = branches)];
    let totals = [totals("app-a.scope", 2_000)];
    let all = all(&Config::default(), 100 * crate::iram::schedule::S_NS, &apps, &totals, &memory(500), |_| {
        Outlook::default()
    });
    all[0].allows(&Config::default(), Step::End).then(|| all[0].end(500))
}

#[test]
fn of_a_terminal_the_process_that_grows_ends_and_never_the_shell() {
    let group = || "app-a.scope".to_owned();
    let process = |pid: u32| Some(Once::EndProcess { group: group(), pid, start_ticks: u64::from(pid), grace_ms: 500 });
    assert_eq!(end_of(None), Some(Once::EndApp { group: group(), grace_ms: 500 }));
    let with = |of: &[(u32, u64, u64)]| {
        end_of(Some(of.iter().map(|(pid, has, grew)| branch(*pid, *has, *grew, None)).collect()))
    };
    assert_eq!(with(&[(7, 300, 0), (8, 900, 0), (9, 100, 0)]), process(8));
    // What grows will be the larger one soon.
    assert_eq!(with(&[(7, 900, 0), (8, 700, 650)]), process(8));
    assert_eq!(with(&[(7, 900, 0), (8, 700, 100)]), process(7));
    // A shell, and what is not worth it.
    assert_eq!((with(&[]), with(&[(7, 3, 3)])), (None, None));
    let reason = {
        let apps = [app("a", |activity| activity.branches = Some(vec![branch(8, 700, 650, Some(EndOrder::First))]))];
        let all = all(&Config::default(), 0, &apps, &[], &memory(500), |_| Outlook::default());
        all[0].facts_of_end("end").to_string()
    };
    assert!(reason.contains("process p8, pid 8, process_mib 700, growth_mib 650, preference earlyoom"), "{reason}");
}

#[test]
fn preferences_of_other_killers_order_the_ends() {
    let with = |of: &[(u32, u64, Option<EndOrder>)]| {
        let branches = of.iter().map(|(pid, has, order)| branch(*pid, *has, 0, *order)).collect();
        match end_of(Some(branches)) {
            Some(Once::EndProcess { pid, .. }) => Some(pid),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(with(&[(7, 100, None), (8, 900, Some(EndOrder::Last))]), Some(7));
    assert_eq!(with(&[(7, 100, Some(EndOrder::First)), (8, 900, None)]), Some(7));
    assert_eq!(with(&[(7, 100, Some(EndOrder::Last)), (8, 900, Some(EndOrder::Never))]), Some(7));
    assert_eq!(end_of(Some(vec![branch(8, 900, 0, Some(EndOrder::Never))])), None);
    // Of whole apps.
    let preferred =
        |order| app("a", |activity| activity.preference = Some(Preference { order, by: "systemd".to_owned() }));
    let totals = [totals("app-a.scope", 900)];
    let of = |order| {
        let apps = [preferred(order)];
        let all = all(&Config::default(), 100 * crate::iram::schedule::S_NS, &apps, &totals, &memory(500), |_| {
            Outlook::default()
        });
        (
            all[0].allows(&Config::default(), Step::End),
            all[0].allows(&Config::default(), Step::Reclaim),
            all[0].end_place(),
        )
    };
    assert_eq!(of(EndOrder::Never), (false, true, 3));
    assert_eq!((of(EndOrder::First), of(EndOrder::Last)), ((true, true, 0), (true, true, 2)));
}
