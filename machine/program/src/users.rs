//! Names of users, as /etc/passwd has them.

use std::path::Path;

use crate::files::{TEXT_BYTES_MAX, read_text};

/// What people call a user: the name, or the number of one that this machine has no name of.
#[must_use]
pub fn called(user: u32) -> String {
    let text = read_text(Path::new("/etc/passwd"), TEXT_BYTES_MAX).unwrap_or_default();
    name_in(&text, user).map_or_else(|| user.to_string(), str::to_owned)
}

/// The name of a user in the text of passwd(5).
fn name_in(text: &str, user: u32) -> Option<&str> {
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, number) = (fields.next()?, fields.nth(1)?);
        (!name.is_empty() && number.parse() == Ok(user)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_a_name_or_a_number() {
        let text = "root:x:0:0:root:/root:/bin/sh\nbroken\n:x:7:7:::\nanna:x:1000:1000:Anna,,,:/home/anna:/bin/sh\n";
        assert_eq!([0, 1000, 7, 1001].map(|user| name_in(text, user)), [Some("root"), Some("anna"), None, None]);
        assert_eq!((called(0).as_str(), called(u32::MAX - 7).as_str()), ("root", "4294967288"));
    }
}
