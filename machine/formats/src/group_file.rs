//! Groups of users: `/etc/group` (group(5)), a group in a line, `NAME:PASSWORD:GID:MEMBERS`.

/// The number of the group `name`; `None` where no line has it.
#[must_use]
pub fn group_id(groups: &str, name: &str) -> Option<u32> {
    groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(name) && !name.is_empty()).then(|| fields.nth(1)?.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::group_id;

    #[test]
    fn a_group_is_found_by_its_whole_name() {
        let groups = "root:x:0:\nbriskers:x:7:\n# brisk:x:8:\nbrisk:x:998:anna,ben\nbrisk:x:5:\n";
        assert_eq!(group_id(groups, "brisk"), Some(998));
        assert_eq!(group_id(groups, "root"), Some(0));
        assert_eq!(group_id(groups, "bris"), None);
    }

    #[test]
    fn lines_that_name_no_group_are_passed_over() {
        assert_eq!(group_id(":x:7:\n\nbrisk\nbrisk:x:many:\n", ""), None);
        assert_eq!(group_id("brisk\nbrisk:x\nbrisk:x:many:\nbrisk:x:9:\n", "brisk"), Some(9));
    }
}
