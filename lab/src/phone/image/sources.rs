//! Package sources of this machine for the build: its Debian mirror, proxy and certificates.
//!
//! The machine's apt sources are searched for a Debian mirror, of any release, and its apt settings for access to it.
//! Both are written into a directory that is mounted over the root's /etc/apt while packages are installed, and removed
//! with the build. Hooks, third-party sources and pinning are not copied.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::recipe::SUITE;

/// Debian's own mirrors, the default.
const MIRROR: &str = "http://deb.debian.org/debian";
const SECURITY: &str = "http://deb.debian.org/debian-security";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Addresses of Debian's archives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mirrors {
    pub(super) main: String,
    pub(super) security: String,
}

/// The mirrors of this machine, or Debian's own.
pub(super) fn mirrors() -> Mirrors {
    let mut texts = vec![fs::read_to_string("/etc/apt/sources.list").unwrap_or_default()];
    for file in listing(Path::new("/etc/apt/sources.list.d")) {
        if file.extension().is_some_and(|kind| kind == "list" || kind == "sources") {
            texts.push(fs::read_to_string(&file).unwrap_or_default());
        }
    }
    mirrors_in(texts.iter().map(String::as_str))
}

fn listing(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
}

/// The first address of each archive in source files of either format (sources.list(5)).
fn mirrors_in<'a>(texts: impl Iterator<Item = &'a str>) -> Mirrors {
    let (mut main, mut security) = (None, None);
    for text in texts {
        for uri in one_line_uris(text).chain(deb822_uris(text)) {
            let uri = uri.trim_end_matches('/');
            let known = uri.starts_with("http://") || uri.starts_with("https://");
            match uri.rsplit('/').next() {
                Some("debian") if known && main.is_none() => main = Some(uri.to_owned()),
                Some("debian-security") if known && security.is_none() => security = Some(uri.to_owned()),
                _ => {}
            }
        }
    }
    let own = |uri: Option<String>, default: &str| uri.unwrap_or_else(|| default.to_owned());
    Mirrors { main: own(main, MIRROR), security: own(security, SECURITY) }
}

/// `deb [options] URI suite components`.
fn one_line_uris(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let mut rest = line.trim().strip_prefix("deb ")?.trim_start();
        if rest.starts_with('[') {
            rest = rest.split_once(']')?.1;
        }
        rest.split_whitespace().next()
    })
}

/// Paragraphs with `Types`, `URIs` and perhaps `Enabled: no`.
fn deb822_uris(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n\n").flat_map(|paragraph| {
        let field = |name: &str| {
            paragraph.lines().find_map(|line| line.split_once(':').filter(|(key, _)| key.eq_ignore_ascii_case(name)))
        };
        let on = field("Enabled").is_none_or(|(_, value)| !matches!(value.trim(), "no" | "false" | "0"));
        let binary = field("Types").is_some_and(|(_, value)| value.split_whitespace().any(|kind| kind == "deb"));
        let uris = field("URIs").filter(|_| on && binary).map_or("", |(_, value)| value);
        uris.split_whitespace()
    })
}

/// Writes the directory that is mounted over /etc/apt.
///
/// # Errors
/// When a file cannot be written.
pub(super) fn write(dir: &Path, mirrors: &Mirrors) -> io::Result<()> {
    fs::create_dir_all(dir.join("apt.conf.d"))?;
    fs::create_dir_all(dir.join("preferences.d"))?;
    fs::create_dir_all(dir.join("trusted.gpg.d"))?;
    fs::create_dir_all(dir.join("sources.list.d"))?;
    let Mirrors { main, security } = mirrors;
    let signed = format!("[signed-by={KEYRING}]");
    let list = format!("deb {signed} {main} {SUITE} main\ndeb {signed} {security} {SUITE}-security main\n");
    fs::write(dir.join("sources.list"), list)?;

    let mut settings = String::from("Acquire::Languages \"none\";\nAPT::Update::Error-Mode \"any\";\n");
    let mut has_certificates = false;
    for (key, value) in acquire_settings() {
        let mut value = value;
        if names_a_file(&key) {
            // The path exists on this machine only.
            let copy = format!("file-{}", settings.lines().count());
            if fs::copy(&value, dir.join(&copy)).is_err() {
                continue;
            }
            has_certificates |= key.eq_ignore_ascii_case("Acquire::https::CaInfo");
            value = format!("/etc/apt/{copy}");
        }
        settings += &format!("{key} \"{value}\";\n");
    }
    let machine = std::env::var_os("SSL_CERT_FILE").unwrap_or_else(|| "/etc/ssl/certs/ca-certificates.crt".into());
    if !has_certificates && fs::copy(machine, dir.join("ca.pem")).is_ok() {
        settings += "Acquire::https::CaInfo \"/etc/apt/ca.pem\";\n";
    }
    fs::write(dir.join("apt.conf"), settings)?;
    copy_credentials(dir)
}

/// Copies credentials for mirrors.
fn copy_credentials(dir: &Path) -> io::Result<()> {
    let host_auth = Path::new("/etc/apt/auth.conf");
    if host_auth.is_file() {
        fs::copy(host_auth, dir.join("auth.conf"))?;
    }
    let into = dir.join("auth.conf.d");
    fs::create_dir_all(&into)?;
    for file in listing(Path::new("/etc/apt/auth.conf.d")) {
        if let Some(name) = file.file_name().filter(|_| file.is_file()) {
            fs::copy(&file, into.join(name))?;
        }
    }
    Ok(())
}

/// Settings of this machine's apt for access to its sources; empty where there is no apt.
fn acquire_settings() -> Vec<(String, String)> {
    let output = Command::new("apt-config").arg("dump").stdin(Stdio::null()).stderr(Stdio::null()).output();
    output.map(|output| acquire_settings_in(&String::from_utf8_lossy(&output.stdout))).unwrap_or_default()
}

/// Settings such as `Acquire::http::Proxy "http://proxy:3128";` from the output of `apt-config dump`.
fn acquire_settings_in(dump: &str) -> Vec<(String, String)> {
    dump.lines()
        .filter_map(|line| {
            let (key, value) = line.strip_suffix("\";")?.split_once(" \"")?;
            let wanted = key.starts_with("Acquire::") && !key.ends_with("::") && !value.is_empty();
            let ours = ["Acquire::IndexTargets", "Acquire::Languages", "Acquire::Changelogs"];
            // A script of this machine does not exist in the root.
            let script = key.to_ascii_lowercase().contains("proxy-auto-detect");
            (wanted && !script && !ours.iter().any(|own| key.starts_with(own)) && !value.contains('"'))
                .then(|| (key.to_owned(), value.to_owned()))
        })
        .collect()
}

fn names_a_file(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    ["::cainfo", "::sslcert", "::sslkey", "::crlfile"].iter().any(|end| key.ends_with(end))
}

/// The proxy of apt, for tools that only read the environment.
pub(super) fn proxy() -> Option<String> {
    let found = acquire_settings().into_iter().find(|(key, _)| key.eq_ignore_ascii_case("Acquire::http::Proxy"));
    found.map(|(_, value)| value).filter(|value| value != "DIRECT")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(texts: &[&str]) -> (String, String) {
        let Mirrors { main, security } = mirrors_in(texts.iter().copied());
        (main, security)
    }

    #[test]
    fn the_machines_mirror_is_found_in_both_forms() {
        let own = (MIRROR.to_owned(), SECURITY.to_owned());
        assert_eq!(found(&[]), own);
        let list = "# deb http://old/debian x main\ndeb [arch=amd64 signed-by=/k] https://mirror.example/pub/debian/ \
                    trixie main\n\
                    deb-src http://src/debian trixie main\ndeb http://mirror.example/debian-security trixie-security \
                    main";
        let wanted =
            ("https://mirror.example/pub/debian".to_owned(), "http://mirror.example/debian-security".to_owned());
        assert_eq!(found(&[list]), wanted);
        let sources = "Types: deb deb-src\n# why\nURIs: https://mirror.example/pub/debian\nSuites: sid\n\n\
                       Types: deb\nURIs: http://mirror.example/debian-security/\n";
        assert_eq!(found(&[sources]), wanted);
    }

    #[test]
    fn disabled_sources_and_other_distributions_are_ignored() {
        let own = (MIRROR.to_owned(), SECURITY.to_owned());
        for text in [
            "Types: deb\nEnabled: no\nURIs: http://a/debian\n",
            "Types: deb-src\nURIs: http://a/debian\n",
            "Types: deb\nURIs: http://archive.ubuntu.com/ubuntu\n",
            "deb http://deb.nodesource.com/node_20.x nodistro main",
            "deb cdrom:[Debian 12]/debian bookworm main",
            "deb [ broken http://a/debian",
            "deb",
        ] {
            assert_eq!(found(&[text]), own, "{text}");
        }
    }

    #[test]
    fn only_settings_for_access_to_mirrors_are_copied() {
        let dump = "APT \"\";\nAcquire \"\";\nAcquire::http::Proxy \"http://proxy:3128\";\nAcquire::Check-Valid-Until \
                    \"false\";\n\
                    Acquire::IndexTargets::deb::Packages::MetaKey \"x\";\nAcquire::Languages:: \"none\";\n\
                    Acquire::http::Proxy-Auto-Detect \"/usr/bin/find-proxy\";\nDPkg::Post-Invoke:: \"rm x\";\n\
                    Acquire::https::CaInfo \"/etc/ca.pem\";";
        let wanted = [
            ("Acquire::http::Proxy", "http://proxy:3128"),
            ("Acquire::Check-Valid-Until", "false"),
            ("Acquire::https::CaInfo", "/etc/ca.pem"),
        ];
        let wanted: Vec<_> = wanted.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
        assert_eq!(acquire_settings_in(dump), wanted);
        assert!(names_a_file("Acquire::https::CaInfo") && names_a_file("Acquire::https::host::SslCert"));
        assert!(!names_a_file("Acquire::http::Proxy"));
    }
}
