//! Defaults of measurements: where they are found, what goes before what, and what is refused.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct UserHome {
    dir: tempfile::TempDir,
}

impl UserHome {
    /// A user whose file has this text.
    fn new(text: &str) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join("brisk")).expect("a directory");
        let place = Self { dir };
        std::fs::write(place.file(), text).expect("written");
        place
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn file(&self) -> PathBuf {
        self.path().join("brisk/brisk.toml")
    }

    fn brisk(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brisk"));
        command.args(arguments).env("XDG_CONFIG_HOME", self.path()).env("BRISK_RUN_DIR", self.path().join("run"));
        command.output().expect("brisk runs")
    }
}

fn refusal(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_path_is_that_of_the_file_unless_an_argument_names_one() {
    let place = UserHome::new("[bench]\npath = \"/no/such/place\"\n");
    for command in [&["bench"][..], &["study", "slowdown"], &["study", "footprint"]] {
        assert!(refusal(&place.brisk(command)).contains("/no/such/place"), "{command:?}");
        let other = refusal(&place.brisk(&[command, &["/nor/this"]].concat()));
        assert!(other.contains("/nor/this") && !other.contains("/no/such/place"), "{command:?}: {other}");
    }
    let help = place.brisk(&["bench", "--help"]);
    assert!(String::from_utf8_lossy(&help.stdout).contains("[default: /no/such/place]"), "{help:?}");
}

#[test]
fn a_file_that_is_named_goes_before_the_others() {
    let place = UserHome::new("[bench]\npath = \"/no/such/place\"\n");
    let named = place.path().join("named.toml");
    std::fs::write(&named, "[bench]\npath = \"/named\"\n").expect("written");
    let named = named.to_str().expect("UTF-8");
    assert!(refusal(&place.brisk(&["bench", "--defaults", named])).contains("/named"));
    let missing = refusal(&place.brisk(&["bench", "--defaults", "/no/such.toml"]));
    assert!(missing.contains("cannot read /no/such.toml"), "{missing}");
}

#[test]
fn a_bad_file_is_refused_by_measurements_and_by_nothing_else() {
    let place = UserHome::new("[bench]\nmax_writen = \"4G\"\n");
    let said = refusal(&place.brisk(&["bench", "/no/such/place"]));
    let file = place.file();
    assert!(said.starts_with(&format!("brisk: {}:2:1: unknown field `max_writen`", file.display())), "{said}");
    assert!(said.ends_with("did you mean 'max_written'?\n"), "{said}");
    assert!(place.brisk(&["reset"]).status.success());
    let checked = place.brisk(&["config", "check", file.to_str().expect("UTF-8")]);
    assert_eq!(checked.status.code(), Some(1), "{checked:?}");
    assert!(String::from_utf8_lossy(&checked.stderr).contains("did you mean 'max_written'?"), "{checked:?}");
}

#[test]
fn a_default_conflicts_with_no_argument_and_verbose_names_the_file() {
    let place = UserHome::new("[bench]\neffort = \"quick\"\n");
    let said = refusal(&place.brisk(&["--verbose", "bench", "--full", "/no/such/place"]));
    assert!(
        said.contains(&format!("defaults: {}", place.file().display())) && said.contains("/no/such/place"),
        "{said}"
    );
}

#[test]
fn the_default_configuration_documents_the_section() {
    let place = UserHome::new("");
    let text = String::from_utf8(place.brisk(&["config", "default"]).stdout).expect("UTF-8");
    let (_, section) = text.split_once("\n[bench]\n").expect("a section");
    // Every key as it is documented can be used.
    let keys: String =
        section.lines().filter(|line| line.contains(" = ")).map(|line| format!("{}\n", &line[2..])).collect();
    std::fs::write(place.file(), format!("[bench]\n{keys}")).expect("written");
    let checked = place.brisk(&["config", "check", place.file().to_str().expect("UTF-8")]);
    assert!(checked.status.success(), "{keys}: {checked:?}");
    assert_eq!(keys.lines().count(), 8, "{keys}");
}
