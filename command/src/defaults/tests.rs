use clap::{Arg, ArgAction, value_parser};

use super::*;

/// Commands as those of the programs.
fn brisk() -> Command {
    let words = Arg::new("words").num_args(0..).trailing_var_arg(true);
    let file = Arg::new("defaults").long("defaults").value_parser(value_parser!(PathBuf));
    let timeout = Arg::new("timeout").long("timeout").value_parser(duration::parse);
    let launch = Command::new("launch").args([words, file, timeout]);
    Command::new("brisk").subcommand(launch).subcommand(Command::new("study").subcommand(Command::new("slowdown")))
}

fn bench(text: &str) -> Bench {
    Bench::parse(text).expect(text)
}

#[test]
fn unknown_keys_and_values_are_refused_with_what_was_meant() {
    for (text, begin, rest) in [
        ("[bench]\npth = \"/mnt\"\n", "2:1: unknown field `pth`", "did you mean 'path'?"),
        ("[bench]\npath = \"mnt\"\n", "2:8: 'mnt' is not an absolute path", ""),
        ("[bench]\nmax_written = \"4 parsecs\"\n", "2:15: ", "'parsecs'"),
        ("[bench]\nmax_written = 4\n", "2:15: ", "string"),
        ("[bench]\nbudget = \"soon\"\n", "2:10: 'soon' is not a duration", "10s"),
        ("[bench]\neffort = \"quik\"\n", "2:10: unknown variant `quik`", "did you mean 'quick'?"),
        ("[bench]\nengine = \"aio\"\n", "2:10: there is no engine 'aio'", "io_uring"),
        ("[benhc]\n", " unknown section 'benhc'", "did you mean 'bench'?"),
        ("[nothing_like_it]\n", " unknown section", "there are bench, daemon"),
        ("[bench\n", "1:", ""),
    ] {
        let complaint = Bench::parse(text).expect_err(text);
        assert!(complaint.starts_with(begin) && complaint.contains(rest), "{text:?}: {complaint}");
    }
    assert_eq!(bench("[daemon]\ndevices = 7\n"), Bench::default(), "sections of the daemon are the daemon's");
}

#[test]
fn a_key_of_the_user_goes_before_that_of_the_machine() {
    let machine = bench("[bench]\npath = \"/data\"\nmax_written = \"4G\"\n");
    let both = bench("[bench]\npath = \"/home\"\n").or(machine);
    assert_eq!(both, bench("[bench]\npath = \"/home\"\nmax_written = \"4G\"\n"));
}

#[test]
fn the_file_of_the_user_is_where_xdg_says() {
    let at = |all: &[(&str, &str)]| {
        of_user(|name| all.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into()))
    };
    assert_eq!(at(&[("XDG_CONFIG_HOME", "/c"), ("HOME", "/h")]), Some("/c/brisk/brisk.toml".into()));
    assert_eq!(at(&[("XDG_CONFIG_HOME", "relative"), ("HOME", "/h")]), Some("/h/.config/brisk/brisk.toml".into()));
    assert_eq!(at(&[]), None);
}

#[test]
fn defaults_reach_the_option_and_arguments_win() {
    let defaults = bench("[bench]\ntimeout = \"7s\"\n");
    for (arguments, expected_s) in
        [(&["brisk", "launch", "x"][..], 7), (&["brisk", "launch", "--timeout", "9s", "x"], 9)]
    {
        let matches = with(brisk(), &["launch"], &defaults).try_get_matches_from(arguments).expect("good");
        let (_, launch) = matches.subcommand().expect("launch");
        assert_eq!(launch.get_one::<std::time::Duration>("timeout").map(|time| time.as_secs()), Some(expected_s));
    }
}

#[test]
fn the_file_that_is_named_is_found_wherever_it_stands() {
    let asked =
        |line: &str| asked(&brisk(), &line.split(' ').map(OsString::from).collect::<Vec<_>>()).expect("understood");
    assert_eq!(asked("brisk launch --defaults a.toml x"), (vec!["launch".to_owned()], Some("a.toml".into())));
    assert_eq!(asked("brisk study slowdown --help").0, ["study", "slowdown"]);
    assert_eq!(asked("brisk launch --no-such-option -- x --defaults b.toml").1, None);
    assert!(
        is_measurement(&["study", "slowdown"]) && !is_measurement(&["phone", "apps"]) && !is_measurement(&["study"])
    );
}

#[test]
fn an_effort_is_the_default_of_flags_that_arguments_overrule() {
    let flag = |name: &'static str, against: &'static str| {
        Arg::new(name).long(name).action(ArgAction::SetTrue).conflicts_with(against)
    };
    let command =
        || Command::new("brisk").subcommand(Command::new("bench").args([flag("quick", "full"), flag("full", "quick")]));
    for (effort, arguments, expected) in [
        ("quick", &["brisk", "bench"][..], (true, false)),
        ("quick", &["brisk", "bench", "--full"], (false, true)),
        ("full", &["brisk", "bench"], (false, true)),
        ("full", &["brisk", "bench", "--quick"], (true, false)),
        ("normal", &["brisk", "bench"], (false, false)),
    ] {
        let defaults = bench(&format!("[bench]\neffort = \"{effort}\"\n"));
        let matches = with(command(), &["bench"], &defaults).try_get_matches_from(arguments).expect("no conflict");
        let (_, found) = matches.subcommand().expect("bench");
        assert_eq!((found.get_flag("quick"), found.get_flag("full")), expected, "{effort} {arguments:?}");
    }
}

#[test]
fn no_file_means_no_defaults() {
    assert_eq!(load(Some(Path::new(NO_FILE))).expect("usable"), (Bench::default(), Vec::new()));
    assert!(load(Some(Path::new("/dev/zero"))).is_err());
}
