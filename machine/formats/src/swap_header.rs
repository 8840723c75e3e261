//! The first page of a swap area (include/linux/swap.h, `union swap_header`), as mkswap(8) writes it.

/// The mark at the end of the page.
const MARK: &[u8] = b"SWAPSPACE2";
/// Where the area's UUID is: behind 1,024 bytes for a boot sector, the version, the last page and the number of bad
/// pages.
const UUID_AT: usize = 1024 + 3 * 4;
const UUID_BYTES: usize = 16;

/// The UUID of the area whose first page this is, in its usual form; `None` where it is no area.
#[must_use]
pub fn parse_swap_uuid(page: &[u8]) -> Option<String> {
    if !page.ends_with(MARK) {
        return None;
    }
    let uuid = page.get(UUID_AT..UUID_AT + UUID_BYTES)?;
    let mut text = String::with_capacity(36);
    for (at, byte) in uuid.iter().enumerate() {
        if [4, 6, 8, 10].contains(&at) {
            text.push('-');
        }
        text += &format!("{byte:02x}");
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_has_its_uuid_and_others_have_none() {
        let mut page = vec![0; 4096];
        page[1036..1052].copy_from_slice(&[0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0, 1, 2, 3, 4, 5, 6, 255]);
        assert_eq!(parse_swap_uuid(&page), None);
        page[4086..].copy_from_slice(b"SWAPSPACE2");
        assert_eq!(parse_swap_uuid(&page).as_deref(), Some("01234567-89ab-cdef-0001-0203040506ff"));
        // A suspended system, and an area cut short.
        page[4086..].copy_from_slice(b"S1SUSPEND\0");
        assert_eq!(parse_swap_uuid(&page), None);
        assert_eq!(parse_swap_uuid(b"SWAPSPACE2"), None);
    }
}
