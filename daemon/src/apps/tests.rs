use super::*;

const SECOND_NS: u64 = 1_000_000_000;

fn group(dir: &str) -> Group {
    let dir = PathBuf::from(dir);
    Group { key: last_name(&dir), dir, ..Group::default() }
}

/// Begins at 0 and looks whenever asked for; when the launch ended.
fn ended_ns(waited_us: impl Fn(u64) -> Option<u64>) -> u64 {
    let mut apps = Apps::default();
    assert!(apps.began(group("/c/app-x-1.scope"), 0).is_some());
    while let Some(due_ns) = apps.next_sample_ns() {
        assert!(due_ns <= LAUNCH_NS_MAX + SAMPLE_NS, "a launch has no end");
        if let [event] = apps.sample_launches(due_ns, |_| waited_us(due_ns)).as_slice() {
            assert_eq!(event.kind, EventKind::LaunchEnded { group: "app-x-1.scope".to_owned() });
            assert_eq!(apps.next_sample_ns(), None);
            return event.at_ns;
        }
    }
    panic!("no launch is sampled");
}

#[test]
fn a_launch_ends_a_second_after_its_last_wait_for_storage() {
    // It waits for half of the time in the first four seconds.
    let end = ended_ns(|at_ns| Some(at_ns.min(4 * SECOND_NS) / 2000));
    assert!((5 * SECOND_NS..=5 * SECOND_NS + 2 * SAMPLE_NS).contains(&end), "{end}");
    assert!((SECOND_NS..=SECOND_NS + 2 * SAMPLE_NS).contains(&ended_ns(|_| Some(7))));
    // Always waiting, and without a kernel that counts it.
    assert_eq!(ended_ns(|at_ns| Some(at_ns / 1000)), LAUNCH_NS_MAX);
    assert_eq!(ended_ns(|_| None), LAUNCH_NS_MAX);
}

#[test]
fn only_apps_are_launched_and_what_was_there_is_not() {
    let mut apps = Apps::default();
    apps.was_there(group("/c/app-old-1.scope"));
    assert_eq!(apps.began(group("/c/system.slice/cron.service"), 5), None);
    assert_eq!(apps.next_sample_ns(), None);
    assert_eq!(apps.gone(&group("/c/system.slice/cron.service"), 6), None);
    let gone = apps.gone(&group("/c/app-old-1.scope"), 7).expect("an app");
    assert_eq!(gone.kind, EventKind::AppGone { group: "app-old-1.scope".to_owned() });
    assert_eq!(apps.gone(&group("/c/app-old-1.scope"), 8), None);
}

fn session(id: u32, of_user: bool) -> ProcessSession {
    ProcessSession { id, pid: id, program: "foot".to_owned(), of_user, user: None }
}

#[test]
fn a_session_of_a_person_is_an_app_where_there_are_no_groups() {
    let mut apps = Apps::default();
    apps.session_was_there(session(1, false));
    assert_eq!(apps.session_began(session(40, false), 0), None);
    let began = apps.session_began(session(41, true), 0).expect("a launch");
    assert_eq!(began.kind, EventKind::LaunchBegan { group: "session-41".to_owned() });
    let of = |apps: &Apps| {
        apps.list(&Choices::default(), &Services::default()).pop().map(|app| (app.id, app.tolerance, app.launching))
    };
    assert_eq!(of(&apps), Some(("foot".to_owned(), Tolerance::Interactive, true)));
    // It rests when the machine does.
    let due_ns = apps.next_sample_ns().expect("sampled");
    apps.sample_launches(due_ns, |dir| is_session(dir).then_some(7));
    let ended =
        (1..9).flat_map(|look| apps.sample_launches(due_ns + look * SAMPLE_NS, |_| Some(7))).next().expect("an end");
    assert_eq!(ended.kind, EventKind::LaunchEnded { group: "session-41".to_owned() });
    // The sampler knows groups alone.
    assert_eq!(apps.groups().count(), 0);
    assert_eq!(apps.session_gone(40, 9), None);
    assert!(apps.session_gone(41, 9).is_some());
}

#[test]
fn sessions_stay_beside_groups_of_apps_and_what_a_group_holds_is_that_app() {
    let login = Path::new("/c/user.slice/user-1000.slice/session-2.scope");
    let flatpak = "/c/user.slice/user-1000.slice/user@1000.service/app.slice/app-flatpak-org.example.Game-991.scope";
    let service = Path::new("/c/user.slice/user-1000.slice/user@1000.service/session.slice/pipewire.service");
    for (dir, watches, counts) in [
        (None, true, true),
        (Some(login), true, true),
        (Some(Path::new(flatpak)), true, false),
        (Some(service), true, false),
        // Without a watch of groups, those of apps are no reason to know of none.
        (Some(Path::new(flatpak)), false, true),
        (Some(service), false, false),
    ] {
        assert_eq!(is_told_by_session(dir, watches), counts, "{dir:?} {watches}");
    }
    let mut apps = Apps::default();
    apps.session_was_there(session(40, true));
    // A leader that has ended; the program is that of its child.
    apps.session_was_there(ProcessSession { pid: 51, ..session(50, true) });
    apps.began(group(flatpak), 0);
    let groups = |apps: &Apps| -> Vec<String> {
        apps.list(&Choices::default(), &Services::default()).into_iter().map(|app| app.group).collect()
    };
    assert_eq!(groups(&apps), ["app-flatpak-org.example.Game-991.scope", "session-40", "session-50"]);
    assert_eq!(apps.sessions_of(&[50, 51, 52]), [50]);
    assert_eq!(apps.sessions_of(&[50]), [0; 0]);
}

#[test]
fn who_is_in_front_is_said_only_where_something_says_it() {
    let mut apps = Apps::default();
    let launched = apps.began(group("/sys/fs/cgroup/uid_10123/pid_400"), 0).expect("an app of Android");
    assert_eq!(launched.kind, EventKind::LaunchBegan { group: "pid_400".to_owned() });
    assert_eq!(apps.began(group("/sys/fs/cgroup/uid_1000/pid_300"), 0), None);
    apps.was_there(group("/sys/fs/cgroup/uid_10200/pid_500"));
    let processes = |dir: &Path| if dir.ends_with("pid_400") { vec![400, 401] } else { vec![500] };
    let rules = |apps: &Apps| {
        apps.list(&Choices::default(), &Services::default())
            .into_iter()
            .map(|app| app.reason.rule.into_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(apps.update_front(1, None, processes), []);
    assert_eq!(rules(&apps), ["service", "launching", "app_in_the_background"]);
    let focused = |name: &str, at_ns| Event { at_ns, kind: EventKind::Focused { group: name.to_owned() } };
    assert_eq!(apps.update_front(2, Some(&BTreeSet::from([500])), processes), [focused("pid_500", 2)]);
    assert_eq!(rules(&apps), ["service", "launching", "focused"]);
    assert_eq!(apps.update_front(3, Some(&BTreeSet::from([500])), processes), []);
    assert_eq!(apps.update_front(4, Some(&BTreeSet::from([401])), processes), [focused("pid_400", 4)]);
    assert_eq!(rules(&apps), ["service", "launching", "not_focused"]);
}

#[test]
fn an_app_of_android_is_launched_when_it_comes_to_the_front_soon_and_not_for_its_services() {
    let (launched, served) = ("/acct/uid_10123/pid_400", "/acct/uid_10200/pid_500");
    let processes = |dir: &Path| if dir.ends_with("pid_400") { vec![400] } else { vec![500] };
    let front = |pids: &[u32]| BTreeSet::from_iter(pids.iter().copied());
    let began = |name: &str, at_ns| Event { at_ns, kind: EventKind::LaunchBegan { group: name.to_owned() } };
    let focused = |name: &str, at_ns| Event { at_ns, kind: EventKind::Focused { group: name.to_owned() } };
    let mut apps = Apps::default();
    apps.expect_front(true);
    assert_eq!(apps.began(group(launched), 1), None);
    assert_eq!(apps.began(group(served), 1), None);
    assert_eq!(apps.update_front(2, Some(&front(&[1])), processes), []);
    let expected = [began("pid_400", 3), focused("pid_400", 3)];
    assert_eq!(apps.update_front(3, Some(&front(&[400])), processes), expected);
    assert!(apps.that_returns("pid_400").is_none(), "a launch is no return");
    assert_eq!(apps.update_front(4, Some(&front(&[400])), processes), []);
    // The other has run for its service, so that its user returns to it.
    assert_eq!(apps.update_front(STARTS_NS + 1, Some(&front(&[500])), processes), [focused("pid_500", STARTS_NS + 1)]);
    assert!(apps.that_returns("pid_500").is_some());
}

#[test]
fn an_app_of_android_goes_by_its_package_as_soon_as_that_is_known() {
    let mut apps = Apps::default();
    let package = Some("com.example.mail".to_owned());
    apps.was_there(Group { package, ..group("/sys/fs/cgroup/apps/uid_10123/pid_400") });
    apps.was_there(group("/sys/fs/cgroup/apps/uid_10110/pid_500"));
    apps.was_there(group("/sys/fs/cgroup/system/uid_1000/pid_300"));
    let ids = |apps: &Apps| {
        let listed = apps.list(&Choices::default(), &Services::default()).into_iter();
        listed.map(|app| (app.id, app.activity.is_rated)).collect::<Vec<_>>()
    };
    let rated = |id: &str| (id.to_owned(), true);
    assert_eq!(ids(&apps), [rated("uid_10110"), rated("com.example.mail"), ("pid_300".to_owned(), false)]);
    let nameless: Vec<PathBuf> = apps.nameless().map(Path::to_owned).collect();
    assert_eq!(nameless, [Path::new("/sys/fs/cgroup/apps/uid_10110/pid_500")]);
    apps.name(&nameless[0], "com.google.android.gms".to_owned());
    assert_eq!((ids(&apps)[0].clone(), apps.nameless().count()), (rated("com.google.android.gms"), 0));
}

fn class(id: &str, class: Tolerance) -> Choices {
    Choices { class: [(id.to_owned(), class)].into(), ..Choices::default() }
}

#[test]
fn classes_follow_place_and_choice() {
    let mut apps = Apps::default();
    apps.was_there(group("/c/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-org.x.Mail-7.scope"));
    apps.was_there(group("/c/user.slice/user-1000.slice/user@1000.service/app.slice/app-updater.service"));
    apps.was_there(group("/c/phone/writer"));
    apps.began(group("/c/app-brisk-xterm-1.scope"), 0);
    let chosen = class("org.x.Mail", Tolerance::Streaming);
    let mut found: Vec<(String, Tolerance, bool)> = apps
        .list(&chosen, &Services::default())
        .into_iter()
        .map(|app| (app.id, app.tolerance, app.launching))
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let expected = [
        ("org.x.Mail", Tolerance::Streaming, false),
        ("updater", Tolerance::Background, false),
        ("writer", Tolerance::Background, false),
        ("xterm", Tolerance::Interactive, true),
    ];
    assert_eq!(found, expected.map(|(id, tolerance, launching)| (id.to_owned(), tolerance, launching)));
}

#[test]
fn what_apps_wait_for_is_not_put_behind() {
    let user = "/c/user.slice/user-1000.slice/user@1000.service";
    for (dir, tolerance, rule) in [
        ("/c/init.scope".to_owned(), Tolerance::System, "protected"),
        ("/c/system.slice/dbus.service".to_owned(), Tolerance::System, "protected"),
        ("/c/system.slice/systemd-journald.service".to_owned(), Tolerance::System, "protected"),
        ("/c/system.slice/systemd-logind.service".to_owned(), Tolerance::System, "protected"),
        ("/c/system.slice/briskd.service".to_owned(), Tolerance::System, "protected"),
        ("/c/system.slice/postgresql@15-main.service".to_owned(), Tolerance::System, "service"),
        ("/c/system.slice/system-getty.slice/getty@tty1.service".to_owned(), Tolerance::System, "service"),
        ("/c/system.slice/snapd.service/inner".to_owned(), Tolerance::System, "service"),
        ("/c/openrc.cron".to_owned(), Tolerance::System, "service"),
        ("/c/system.slice/apt-daily-upgrade.service".to_owned(), Tolerance::Background, "listed"),
        ("/c/system.slice/docker-0a1b.scope".to_owned(), Tolerance::Background, "no_app"),
        (format!("{user}/session.slice/org.gnome.Shell@wayland.service"), Tolerance::System, "protected"),
        (format!("{user}/session.slice/pipewire.service"), Tolerance::System, "protected"),
        (format!("{user}/app.slice/dbus.service"), Tolerance::System, "protected"),
        (format!("{user}/app.slice/app-org.x.Sync@autostart.service"), Tolerance::Background, "app_in_the_background"),
        (format!("{user}/app.slice/ssh-agent.service"), Tolerance::System, "service"),
        (format!("{user}/app.slice/app-ibus@autostart.service"), Tolerance::System, "protected"),
        (format!("{user}/background.slice/mail-index.service"), Tolerance::Background, "background_slice"),
        (format!("{user}/app.slice/tracker-miner-fs-3.service"), Tolerance::Background, "listed"),
    ] {
        let mut apps = Apps::default();
        apps.was_there(group(&dir));
        let app = apps.list(&Choices::default(), &Services::default()).remove(0);
        assert_eq!((app.tolerance, app.reason.rule.as_ref()), (tolerance, rule), "{dir}");
    }
    // A daemon where there are no groups.
    let mut apps = Apps::default();
    apps.session_was_there(ProcessSession { program: "dbus-daemon".to_owned(), ..session(7, false) });
    assert_eq!(apps.list(&Choices::default(), &Services::default()).remove(0).tolerance, Tolerance::System);
    // Who knows better says so.
    let mut apps = Apps::default();
    apps.was_there(group("/c/system.slice/postgresql@15-main.service"));
    let services = Services { background: vec!["postgresql@*".to_owned()], ..Services::default() };
    assert_eq!(apps.list(&Choices::default(), &services).remove(0).tolerance, Tolerance::Background);
    let chosen = class("postgresql@15-main", Tolerance::Batch);
    assert_eq!(apps.list(&chosen, &services).remove(0).tolerance, Tolerance::Batch);
}

#[test]
fn a_protected_app_keeps_its_class_and_one_that_ends_first_goes_before_what_others_were_told() {
    let mut apps = Apps::default();
    apps.was_there(group("/c/app-org.signal.Signal-1.scope"));
    let list = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let of = |choices: &Choices| apps.list(choices, &Services::default()).remove(0);
    let before = of(&Choices::default());
    let protected = of(&Choices { protect: list(&["signal"]), ..Choices::default() });
    assert_eq!(protected.activity.protected.as_deref(), Some("signal"));
    assert_eq!((protected.tolerance, protected.protection().is_some()), (before.tolerance, true));
    let first = of(&Choices { end_first: list(&["signal"]), ..Choices::default() });
    assert_eq!(first.activity.end_order(), Some(brisk_core::app::EndOrder::First));
}

#[test]
fn what_groups_offer_is_looked_at_once_a_minute_and_sessions_offer_nothing() {
    let mut apps = Apps::default();
    apps.was_there(group("/c/app-x-1.scope"));
    apps.session_was_there(session(7, true));
    let offers = |apps: &Apps| -> Vec<usize> {
        apps.list(&Choices::default(), &Services::default()).iter().map(|app| app.offers.len()).collect()
    };
    apps.refresh(0, |_| Some(0), |_| GroupSetting::ALL.into());
    assert_eq!(offers(&apps), [GroupSetting::ALL.len(), 0]);
    apps.refresh(1, |_| Some(0), |_| Vec::new());
    assert_eq!(offers(&apps), [GroupSetting::ALL.len(), 0]);
    apps.refresh(REFRESH_NS, |_| Some(0), |_| Vec::new());
    assert_eq!(offers(&apps), [0, 0]);
}

#[test]
fn the_disks_of_a_launch_add_up_and_those_of_others_are_known_for_five_seconds() {
    let mut apps = Apps::default();
    apps.was_there(group("/c/backup.scope"));
    apps.was_there(group("/c/system.slice/dbus.service"));
    apps.session_was_there(session(7, true));
    apps.began(group("/c/app-x-1.scope"), 0);
    let mut asked = Vec::new();
    let mut locate = |apps: &mut Apps, at_ns: u64, front_only: bool, disk: Option<&str>| {
        asked.clear();
        apps.locate(at_ns, front_only, (&Choices::default(), &Services::default()), |dir, launching| {
            asked.push((last_name(dir), launching));
            disk.map(|disk| BTreeSet::from([disk.to_owned()]))
        });
        let listed = apps.list(&Choices::default(), &Services::default());
        let of = |group: &str| listed.iter().find(|app| app.group == group).expect("there").disks.clone();
        assert_eq!(
            (of("dbus.service"), of("session-7")),
            (None, None),
            "their priority, or their processes, are not known"
        );
        let asked: Vec<&str> = asked.iter().map(|(name, _)| name.as_str()).collect();
        (
            asked.join(" "),
            of("app-x-1.scope").map(|disks| disks.join(" ")),
            of("backup.scope").map(|disks| disks.join(" ")),
        )
    };
    let some = |disks: &str| Some(disks.to_owned());
    assert_eq!(locate(&mut apps, 0, true, Some("sda")), ("app-x-1.scope".to_owned(), some("sda"), None));
    assert_eq!(
        locate(&mut apps, 1, false, Some("sdb")),
        ("app-x-1.scope backup.scope".to_owned(), some("sda sdb"), some("sdb"))
    );
    assert_eq!(locate(&mut apps, 2, false, None), ("app-x-1.scope".to_owned(), None, some("sdb")));
    let due_ns = LOCATED_NS + 1;
    assert_eq!(
        locate(&mut apps, due_ns, false, Some("sdc")),
        ("app-x-1.scope backup.scope".to_owned(), some("sdc"), some("sdc"))
    );
}

#[test]
fn who_gives_way_is_a_batch_once_that_is_seen() {
    let mut apps = Apps::default();
    let class = |apps: &Apps| apps.list(&Choices::default(), &Services::default()).remove(0).tolerance;
    apps.was_there(group("/c/system.slice/backup.service"));
    apps.refresh(0, |_| Some(0), |_| Vec::new());
    assert_eq!(class(&apps), Tolerance::System);
    apps.refresh(REFRESH_NS - 1, |_| Some(19), |_| Vec::new());
    assert_eq!(class(&apps), Tolerance::System);
    apps.refresh(REFRESH_NS, |_| Some(19), |_| Vec::new());
    assert_eq!(class(&apps), Tolerance::Batch);
}

#[test]
fn what_the_bus_started_is_an_app_where_a_desktop_entry_names_it() {
    let dir = "/c/user.slice/user-1000.slice/user@1000.service/app.slice/dbus-:1.2-org.gnome.Nautilus@0.service";
    for (package, role) in [(Some("org.gnome.Nautilus"), Role::App), (None, Role::Service)] {
        let mut apps = Apps::default();
        apps.was_there(Group { package: package.map(str::to_owned), ..group(dir) });
        let app = apps.list(&Choices::default(), &Services::default()).remove(0);
        assert_eq!((app.id.as_str(), app.activity.role), ("org.gnome.Nautilus", role));
    }
}
