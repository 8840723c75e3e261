use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;

fn ann() -> Homes {
    Homes {
        home: "/home/ann".into(),
        data: "/home/ann/.local/share".into(),
        config: "/home/ann/.config".into(),
        state: "/home/ann/.local/state".into(),
        cache: "/home/ann/.cache".into(),
    }
}

fn rules(text: &str) -> Rules {
    Policy::parse(text).expect("a policy").rules(&ann()).expect("rules")
}

fn class(rules: &Rules, path: &str) -> &'static str {
    rules.class_of(path).name()
}

const READER: &str = r#"
seconds = 7
[[database]]
path = "$XDG_DATA_HOME/reader/positions.db"
class = "ordered"
why = "positions in documents"
[[directory]]
path = "~/.reader/*/thumbnails"
class = "cache"
[[file]]
path = "$XDG_CACHE_HOME/reader/outbox"
class = "durable"
[[file]]
path = "/srv/reader/log"
class = "ordered"
seconds = 20
"#;

#[test]
fn a_policy_names_files_directories_and_databases() {
    let rules = rules(READER);
    for (path, expected) in [
        ("/home/ann/.local/share/reader/positions.db", "ordered"),
        ("/home/ann/.local/share/reader/positions.db-wal", "ordered"),
        ("/home/ann/.local/share/reader/positions.db-journal", "ordered"),
        ("/home/ann/.local/share/reader/positions.db-shm", "durable"),
        ("/home/ann/.local/share/reader/positions.db2", "durable"),
        ("/home/ann/.local/share/reader", "durable"),
        ("/home/ann/.reader/profile 1/thumbnails", "cache"),
        ("/home/ann/.reader/profile 1/thumbnails/a/b.png", "cache"),
        ("/home/ann/.reader/a/b/thumbnails/c", "durable"),
        ("/home/ann/.reader/thumbnails", "durable"),
        ("/home/ann/.cache/reader/outbox", "durable"),
        ("/home/ann/.cache/reader/other", "cache"),
        ("/home/ann/.cache", "cache"),
        ("/home/ann/.cachet/x", "durable"),
        ("/home/bob/.cache/reader/other", "durable"),
        ("/srv/reader/log", "ordered"),
        ("/srv/reader/log/x", "durable"),
    ] {
        assert_eq!(class(&rules, path), expected, "{path}");
    }
    let seconds = |path| rules.rule_for(path).map(|rule| rule.seconds);
    assert_eq!(seconds("/srv/reader/log"), Some(20));
    assert_eq!(seconds("/home/ann/.local/share/reader/positions.db"), Some(7));
    assert_eq!(Policy::parse("").expect("empty").seconds(), SECONDS);
}

#[test]
fn what_the_policy_does_not_name_is_durable() {
    let only_cache = Policy::default().rules(&ann()).expect("rules");
    assert_eq!(class(&only_cache, "/home/ann/.cache/x"), "cache");
    for path in ["/home/ann/mail.db", "/home/ann/.local/share/x", "/", "", "/home/ann", "/var/lib/x", "/home/ann/.cach"]
    {
        assert_eq!(class(&only_cache, path), "durable", "{path}");
    }
    let nothing = rules("cache_directory = false");
    assert_eq!((class(&nothing, "/home/ann/.cache/x"), nothing.all().len()), ("durable", 0));
}

#[test]
fn the_strictest_rule_holds() {
    let rules = rules(
        r#"
[[directory]]
path = "~/.app/a"
class = "ordered"
seconds = 30
[[file]]
path = "~/.app/a/b"
class = "ordered"
seconds = 2
[[file]]
path = "~/.app/a/c"
class = "durable"
[[directory]]
path = "~/.app/*"
class = "cache"
[[directory]]
path = "$XDG_CACHE_HOME/db"
class = "ordered"
"#,
    );
    let of = |path| rules.rule_for(path).map(|rule| (rule.class.name(), rule.seconds));
    assert_eq!(of("/home/ann/.app/a/x"), Some(("ordered", 30)));
    assert_eq!(of("/home/ann/.app/a/b"), Some(("ordered", 2)));
    assert_eq!(of("/home/ann/.app/a/c"), Some(("durable", 0)));
    assert_eq!(of("/home/ann/.app/z/x"), Some(("cache", 0)));
    assert_eq!(of("/home/ann/.cache/db/1"), Some(("ordered", 5)));
}

#[test]
fn no_path_leaves_its_directory() {
    for path in [
        "../x",
        "x/y",
        "~/a/../../b",
        "~/./a",
        "~//a",
        "/a/b/..",
        "$HOME/x",
        "$XDG_RUNTIME_DIR/x",
        "~ann/x",
        "~/a*",
        "~/**/a",
        "~/a/$XDG_DATA_HOME/b",
        "~/a\\nb",
        "~/",
        "/",
        "",
        "~/x (deleted)",
    ] {
        let text = format!("[[file]]\npath = \"{path}\"\nclass = \"cache\"\n");
        let error = Policy::parse(&text).expect_err(path);
        assert!(matches!(error, PolicyError::Path { .. }), "{path}: {error}");
    }
    // The kernel's path of an open file has none of these; should one come, it is durable.
    let rules = rules(READER);
    for path in ["/home/ann/.cache/../mail", "/home/ann/.cache/./x", "/home/ann/.cache//x", "home/ann/.cache/x"] {
        assert_eq!(class(&rules, path), "durable", "{path}");
    }
}

#[test]
fn too_much_is_not_loosened() {
    for path in ["/home", "/*/x", "/home/*", "~/*", "~/*/x", "$XDG_DATA_HOME/*", "/etc/app/x", "/usr/share/x", "/srv"] {
        for class in ["cache", "ordered"] {
            let text = format!("[[directory]]\npath = \"{path}\"\nclass = \"{class}\"\n");
            let error = Policy::parse(&text).expect_err(path);
            assert!(matches!(error, PolicyError::TooWide { .. }), "{path}: {error}");
        }
        let durable = format!("[[directory]]\npath = \"{path}\"\nclass = \"durable\"\n");
        assert!(Policy::parse(&durable).is_ok(), "{path}");
    }
    for (path, holds) in [
        ("/home/ann", "$HOME"),
        ("~/.local", "$XDG_DATA_HOME"),
        ("~/.local/share", "$XDG_DATA_HOME"),
        ("~/.local/*", "$XDG_DATA_HOME"),
        ("~/.config", "$XDG_CONFIG_HOME"),
    ] {
        let text = format!("[[directory]]\npath = \"{path}\"\nclass = \"cache\"\n");
        let error = Policy::parse(&text).expect("a policy").rules(&ann()).expect_err(path);
        assert!(error.to_string().contains(holds), "{path}: {error}");
    }
}

#[test]
fn a_directory_of_caches_that_holds_other_data_is_refused() {
    for cache in [
        "/",
        "/home",
        "/home/ann",
        "/home/ann/.local",
        "/home/ann/.local/share",
        "/home/ann/.local/share/x",
        "/home/ann/.config",
        "/etc/cache/x",
        "/tmp",
        "/home/ann/a*b",
        "/home/ann/a\nb",
    ] {
        let homes = Homes { cache: cache.into(), ..ann() };
        assert!(Policy::default().rules(&homes).is_err(), "{cache}");
    }
    let elsewhere = Homes { cache: "/mnt/card/cache".into(), ..ann() };
    let rules = Policy::default().rules(&elsewhere).expect("rules");
    assert_eq!((class(&rules, "/mnt/card/cache/x"), class(&rules, "/home/ann/.cache/x")), ("cache", "durable"));
}

#[test]
fn directories_follow_their_variables_and_defaults() {
    let homes = |variables: &[(&str, &str)]| {
        let find = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, path)| PathBuf::from(path));
        Homes::new(find, |path| Ok(path.to_owned()))
    };
    assert_eq!(homes(&[("HOME", "/home/ann")]).expect("homes"), ann());
    let relative = homes(&[("HOME", "/home/ann"), ("XDG_CACHE_HOME", "cache"), ("XDG_DATA_HOME", "")]).expect("homes");
    assert_eq!(relative, ann());
    let moved = homes(&[("HOME", "/home/ann"), ("XDG_CACHE_HOME", "/var/tmp/ann")]).expect("homes");
    assert_eq!(moved.cache, Path::new("/var/tmp/ann"));
    for none in [&[][..], &[("HOME", "ann")], &[("HOME", "")]] {
        assert!(matches!(homes(none), Err(RulesError::NoHome)));
    }
}

#[test]
fn contradictions_and_unknown_words_are_refused() {
    let entry = |kind: &str, path: &str, class: &str| format!("[[{kind}]]\npath = \"{path}\"\nclass = \"{class}\"\n");
    let parse = |parts: &[String]| Policy::parse(&parts.concat()).expect_err("refused");
    for (first, second) in [("cache", "durable"), ("ordered", "ordered")] {
        let error = parse(&[entry("file", "~/.a/b", first), entry("file", "~/.a/b", second)]);
        assert!(matches!(error, PolicyError::Conflict { .. }), "{error}");
    }
    for (kind, inner) in
        [("directory", "~/.a/b/c"), ("file", "~/.a/b/c"), ("database", "~/.a/x/c"), ("directory", "~/.a/*")]
    {
        let error = parse(&[entry("directory", "~/.a", "ordered"), entry(kind, inner, "cache")]);
        assert!(matches!(error, PolicyError::NoEffect { .. }), "{inner}: {error}");
    }
    for text in [
        "[[file]]\npath = \"~/.a/b\"\nclass = \"fast\"\n",
        "[[file]]\npath = \"~/.a/b\"\n",
        "[[file]]\nclass = \"cache\"\n",
        "[[files]]\npath = \"~/.a/b\"\nclass = \"cache\"\n",
        "second = 4\n",
        "seconds = \"4\"\n",
        "seconds = -1\n",
        "= 3",
    ] {
        assert!(matches!(Policy::parse(text), Err(PolicyError::Text(_))), "{text}");
    }
    let any_database = parse(&[entry("database", "~/.a/*", "cache")]);
    assert!(matches!(any_database, PolicyError::Path { .. }), "{any_database}");
    let unknown = Policy::parse("[[file]]\npath = \"~/.a/b\"\nclass = \"fast\"\n").expect_err("refused").to_string();
    assert!(unknown.contains("line 3") && unknown.contains("`durable`"), "{unknown}");
    for text in ["seconds = 0", "seconds = 301"] {
        assert!(matches!(Policy::parse(text), Err(PolicyError::Seconds { .. })), "{text}");
    }
    let bounded = entry("file", "~/.a/b", "cache") + "seconds = 3\n";
    assert!(matches!(Policy::parse(&bounded), Err(PolicyError::SecondsWithout { .. })));
    let many: String = (0..=RULES_MAX).map(|n| entry("file", &format!("~/.a/{n}"), "cache")).collect();
    assert!(matches!(Policy::parse(&many), Err(PolicyError::TooMany { .. })));
}

#[test]
fn rules_that_the_libraries_could_not_hold_are_refused() {
    let long = "x".repeat(900);
    let entry = |n| format!("[[file]]\npath = \"~/.a/{long}/{n}\"\nclass = \"cache\"\n");
    let text: String = (0..RULES_MAX).map(entry).collect();
    let error = Policy::parse(&text).expect("a policy").rules(&ann()).expect_err("too long");
    assert!(matches!(error, RulesError::TooLong { .. }), "{error}");
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[ab]", 1 => Just("*".to_owned())]
}

/// Kind, names below ~/.app, class.
type Named = (String, Vec<String>, &'static str);

fn an_entry() -> impl Strategy<Value = Named> {
    let kind = prop_oneof![Just("file"), Just("directory"), Just("database")].prop_map(str::to_owned);
    let class = prop_oneof![Just("cache"), Just("ordered"), Just("durable")];
    (kind, proptest::collection::vec(name(), 1..4), class)
}

/// The policy of these entries below ~/.app, each that makes it contradictory left out.
fn policy_of(entries: &[Named]) -> (Policy, Vec<Named>) {
    let mut kept = Vec::new();
    let parse = |entries: &[Named]| {
        let text: String = entries
            .iter()
            .map(|(kind, names, class)| {
                format!("[[{kind}]]\npath = \"~/.app/{}\"\nclass = \"{class}\"\n", names.join("/"))
            })
            .collect();
        Policy::parse(&text)
    };
    for entry in entries {
        kept.push(entry.clone());
        if parse(&kept).is_err() {
            kept.pop();
        }
    }
    (parse(&kept).expect("checked"), kept)
}

/// By the meaning of the words alone: the strictest class among the entries whose names fit.
fn oracle(entries: &[Named], path: &[String]) -> &'static str {
    let fits = |(kind, names, _): &&Named| {
        let mut names = names.clone();
        let Some(last) = path.last() else { return false };
        let suffix =
            ["-journal", "-wal"].into_iter().find(|suffix| last.ends_with(suffix)).filter(|_| kind == "database");
        if let (Some(suffix), Some(last)) = (suffix, names.last_mut()) {
            last.push_str(suffix);
        }
        let long = if kind == "directory" { path.len() >= names.len() } else { path.len() == names.len() };
        long && names.iter().zip(path).all(|(name, part)| name == "*" || name == part)
    };
    let classes: Vec<_> = entries.iter().filter(fits).map(|(_, _, class)| *class).collect();
    ["durable", "ordered", "cache"].into_iter().find(|class| classes.contains(class)).unwrap_or("durable")
}

proptest! {
    #[test]
    fn any_text_is_a_policy_or_an_error(text in ".{0,200}", path in ".{0,20}") {
        let _ = Policy::parse(&text);
        let quoted = format!("[[directory]]\npath = {path:?}\nclass = \"cache\"\n");
        if let Ok(policy) = Policy::parse(&quoted)
            && let Ok(rules) = policy.rules(&ann())
        {
            for (_, precious) in ann().precious() {
                prop_assert_eq!(rules.class_of(precious.to_str().expect("text")), Class::Durable);
            }
        }
    }

    #[test]
    fn the_oracle_of_components_and_the_matcher_agree(
        entries in proptest::collection::vec(an_entry(), 0..6),
        path in proptest::collection::vec("[ab](-wal|-journal)?", 1..5),
    ) {
        let (policy, kept) = policy_of(&entries);
        let rules = policy.rules(&ann()).expect("rules");
        let found = rules.class_of(&format!("/home/ann/.app/{}", path.join("/")));
        prop_assert_eq!(found.name(), oracle(&kept, &path));
    }

    #[test]
    fn a_further_rule_never_loosens_what_another_one_keeps(
        entries in proptest::collection::vec(an_entry(), 1..6),
        path in proptest::collection::vec("[ab]", 1..5),
    ) {
        let (_, kept) = policy_of(&entries);
        let path = format!("/home/ann/.app/{}", path.join("/"));
        let mut before: Option<Rule> = None;
        for count in 0..=kept.len() {
            let (policy, taken) = policy_of(&kept[..count]);
            prop_assert_eq!(taken.len(), count);
            let rules = policy.rules(&ann()).expect("rules");
            let now = rules.rule_for(&path).cloned();
            if let Some(before) = &before {
                prop_assert!(now.as_ref().is_some_and(|now| now.class >= before.class), "{:?} {:?}", before, now);
            }
            before = now;
        }
    }
}
