//! Where the pages of an app are, for `brisk explain`.

use std::fmt::Write as _;

use brisk_api::{AppPages, Pages};
use brisk_core::group::is_meant;
use brisk_core::units::{format_bytes, three_digits};

/// The lines of one app; nothing where none has that id or group.
pub(crate) fn explain(pages: &Pages, name: &str) -> String {
    of(pages, name).map(|row| lines(pages, row)).collect()
}

/// The apps with that id or group.
pub(crate) fn of<'a>(pages: &'a Pages, name: &'a str) -> impl Iterator<Item = &'a AppPages> {
    pages.survey.apps.iter().filter(move |row| row.id == name || is_meant(&row.group, name))
}

fn lines(pages: &Pages, row: &AppPages) -> String {
    let mut text = String::new();
    if let Some(at) = &row.pages {
        let _ = writeln!(
            text,
            "  its own pages: in memory {} that returns touch, {} that they left in swap, {} of which nothing is \
             known; in swap {} that returns touch",
            format_bytes(at.hot_bytes),
            format_bytes(at.cold_bytes),
            format_bytes(at.unknown_bytes),
            format_bytes(at.hot_swapped_bytes)
        );
        if at.hot_swapped_bytes > 0 {
            let _ = writeln!(text, "  a return reads these back in {} ms", three_digits(at.read_us / 1e3));
        }
    }
    match (row.need_bytes, row.lost) {
        (Some(bytes), lost) => {
            let kept = lost.map_or_else(String::new, |lost| {
                format!("; by itself the kernel keeps {:.0} % of the pages that returns touch", (1.0 - lost) * 100.0)
            });
            let _ = writeln!(text, "  a return needs {} of memory{kept}", format_bytes(bytes));
        }
        (None, _) => text += "  no return to it was seen yet, so its pages are left to the kernel\n",
    }
    if !pages.active {
        text += "  the engine for swap does not run: add \"mars\" to [engines] order, before \"iram\"\n";
    } else if let Some(reason) = &row.spared {
        let _ = writeln!(text, "  it is not written to swap: {reason}");
    } else {
        let away_s = pages.survey.at_ns.saturating_sub(row.left_ns) / 1_000_000_000;
        let frozen = if row.frozen { ", and is frozen" } else { "" };
        let _ = writeln!(text, "  it may be written to swap: it left the foreground {away_s} s ago{frozen}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pages(active: bool, row: serde_json::Value) -> Pages {
        let mut app = json!({
            "group": "app-game-1.scope", "id": "game", "left_ns": 1_000_000_000_u64, "spared": null, "frozen": true,
            "need_bytes": 20 << 20, "lost": 0.25,
            "pages": {
                "scanned_ns": 5, "cold_bytes": 30 << 20, "unknown_bytes": 0, "hot_bytes": 4 << 20,
                "hot_swapped_bytes": 1 << 20,
                "read_us": 16_500.0,
            },
        });
        app.as_object_mut().expect("a map").extend(row.as_object().expect("a map").clone());
        let all = json!({
            "active": active, "at_ns": 91_000_000_000_u64, "available_bytes": 1, "wanted_bytes": 2,
            "wear_left_bytes": 3,
            "written_bytes": 4, "apps": [app],
        });
        serde_json::from_value(all).expect("pages")
    }

    #[test]
    fn an_app_is_explained_by_where_its_pages_are_and_why() {
        let text = explain(&pages(true, json!({})), "game");
        let expected = "  its own pages: in memory 4 MiB that returns touch, 30 MiB that they left in swap, 0 B of \
                        which nothing is known; in swap 1 MiB that returns touch\n  a return reads these back in 16.5 \
                        ms\n  a return needs 20 MiB of memory; by itself the kernel keeps 75 % of the pages that \
                        returns touch\n  it may be written to swap: it left the foreground 90 s ago, and is frozen\n";
        assert_eq!(text, expected);
        assert_eq!(explain(&pages(true, json!({})), "other"), "");
        let new = json!({ "pages": null, "need_bytes": null, "lost": null, "spared": { "rule": "audible" } });
        let expected = "  no return to it was seen yet, so its pages are left to the kernel\n  it is not written to \
                        swap: audible\n";
        assert_eq!(explain(&pages(true, new), "app-game-1.scope"), expected);
        assert!(
            explain(&pages(false, json!({})), "game").ends_with("add \"mars\" to [engines] order, before \"iram\"\n")
        );
    }
}
