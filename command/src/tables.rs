//! Tables that a user names: read by the one reader (`brisk_program::files::table`), with a note of the columns that
//! are not used.

use std::path::Path;

use anyhow::Context as _;
use brisk_program::files::table::{Layout, Table};

/// The name of `-`.
const STANDARD_INPUT: &str = "standard input";

/// What `parse` makes of the table `file` (`-` is standard input) of at most `limit_bytes`, which has one of `layouts`;
/// `what` names the kind of table in an error, as in `a usage trace`.
///
/// # Errors
/// When it cannot be read, or `parse` refuses it.
pub fn read<T, E: std::error::Error + Send + Sync + 'static>(
    file: &Path,
    what: &str,
    limit_bytes: u64,
    layouts: &[Layout],
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> anyhow::Result<T> {
    let text = brisk_program::files::table::read(file, limit_bytes)?;
    let shown = if file.as_os_str() == "-" { Path::new(STANDARD_INPUT) } else { file };
    let parsed = parse(&text).with_context(|| format!("{} is not {what}", shown.display()))?;
    note_ignored(file, &text, layouts);
    Ok(parsed)
}

/// What a table is called in documents and messages: by its file, where it has one.
#[must_use]
pub fn name(file: &Path) -> String {
    if file.as_os_str() == "-" {
        STANDARD_INPUT.to_owned()
    } else if ["/dev/fd", "/proc/self/fd"].iter().any(|dir| file.starts_with(dir)) {
        "a pipe".to_owned()
    } else {
        file.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// Says which columns of a table are not used.
pub fn note_ignored(file: &Path, text: &str, layouts: &[Layout]) {
    let Ok((table, _)) = Table::begin(text, layouts) else { return };
    let ignored = table.ignored();
    if !ignored.is_empty() {
        let names: Vec<String> = ignored.iter().map(|name| name.escape_debug().to_string()).collect();
        brisk_program::notice!("brisk: note: {}: columns that are not used: {}", name(file), names.join(", "));
    }
}
