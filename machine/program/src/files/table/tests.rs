use super::*;
use proptest::prelude::*;

const LAYOUT: Layout = Layout { needed: &["time_s", "app"], optional: &["note"] };

/// Line, time, app and note of each row.
fn rows(text: &str) -> Vec<(u64, f64, String, String)> {
    let (mut table, _) = Table::begin(text, &[LAYOUT]).unwrap_or_else(|error| panic!("{text:?}: {error}"));
    let mut rows = Vec::new();
    while let Some(row) = table.next_row().unwrap_or_else(|error| panic!("{text:?}: {error}")) {
        let time_s = row.number("time_s", 0.0..=1e9).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        rows.push((row.line, time_s, row.text("app").to_owned(), row.text("note").to_owned()));
    }
    rows
}

fn refused(text: &str) -> String {
    let all = || -> Result<(), TableError> {
        let (mut table, _) = Table::begin(text, &[LAYOUT])?;
        while let Some(row) = table.next_row()? {
            row.number("time_s", 0.0..=1e9)?;
            row.filled("app")?;
        }
        Ok(())
    };
    all().expect_err(text).to_string()
}

#[test]
fn each_form_of_a_table_has_the_same_rows() {
    let plain = [(2, 0.5, "mail".to_owned(), "a".to_owned()), (3, 1.0, "maps".to_owned(), "b".to_owned())];
    for text in [
        "time_s,app,note\n0.5,mail,a\n1,maps,b\n",
        "\u{feff}time_s,app,note\n0.5,mail,a\n1,maps,b\n",
        "time_s,app,note\r\n0.5,mail,a\r\n1,maps,b\r\n",
        "time_s,app,note\n0.5,mail,a\n1,maps,b",
        "\"time_s\",\"app\",\"note\"\n\"0.5\",\"mail\",\"a\"\n\"1\",\"maps\",\"b\"\n",
        "time_s, app, note\n0.5, mail, a\n 1 ,\tmaps , b\n",
        "time_s, \"app\", \"note\"\n0.5, \"mail\" ,\"a\"\n 1, \"maps\",b\n",
        "time_s;app;note\n0.5;mail;a\n1;maps;b\n",
        "time_s;app;note\n0,5;mail;a\n1,0;maps;b\n",
        "time_s\tapp\tnote\n0.5\tmail\ta\n1\tmaps\tb\n",
        "note,Time_S,APP\na,0.5,mail\nb,1,maps\n",
        "Time S,App,further,Note\n0.5,mail,x,a\n1,maps,y,b\n",
        "\ttime_s\tapp\tnote\t\n0\t0.5\tmail\ta\n1\t1\tmaps\tb\n",
        ",time_s,app,note\n0,0.5,mail,a\n1,1,maps,b\n",
        "time_s,app,note,,\n0.5,mail,a,,\n1,maps,b,\n",
        "#time_s,app,note\n0.5,mail,a\n1,maps,b\n",
        "# time_s, app, note\n0.5,mail,a\n1,maps,b\n",
    ] {
        assert_eq!(rows(text), plain, "{text:?}");
    }
}

#[test]
fn lines_are_counted_as_an_editor_counts_them() {
    let lines = |text: &str| rows(text).iter().map(|row| row.0).collect::<Vec<_>>();
    assert_eq!(lines("# a\n\n#b\ntime_s,app\n\n1,x\n  \n,,\n# c\r\n\r\n2,y\n\n#d, \"\n3,z\n"), [6, 11, 14]);
    assert_eq!(lines("sep=;\ntime_s;app\n1;\"x\ny\"\n\n2;z\n"), [3, 6]);
    assert_eq!(lines("time_s,app\r\n\r\n1,x\r\n2,y\r\n"), [3, 4]);
    assert_eq!(lines("\u{feff}# a\ntime_s,app\n1,x\n"), [3]);
    assert_eq!(lines("\u{feff}sep=\t\ntime_s\tapp\n1\tx\n"), [3]);
    assert_eq!(lines("time_s,app\n1, \"x, #\ny\"\n2,z\n"), [2, 4]);
}

#[test]
fn a_line_may_lack_cells_and_a_cell_may_hold_anything_in_quotes() {
    assert_eq!(rows("time_s,app,note\n1,x\n2\n")[1], (3, 2.0, String::new(), String::new()));
    assert_eq!(rows("time_s,app\n1,\"a, \"\"b\"\"; c\"\n")[0].2, "a, \"b\"; c");
    assert_eq!(rows("time_s,app\n1, \"a, b\"\n")[0].2, "a, b");
    assert_eq!(rows("time_s,app\n1,5\" disk\n")[0].2, "5\" disk");
    assert_eq!(rows("time_s,app\n1,\"#1\"\n")[0].2, "#1");
}

#[test]
fn what_is_wrong_is_named_with_line_and_column() {
    for (text, words) in [
        ("", "it is empty: line 1 is to name the columns time_s, app (and note)"),
        ("# time\n\n", "it is empty"),
        (
            "time_s,note\n1,x\n",
            "line 1 names no column 'app': it has time_s, note; expected are time_s, app (and note)",
        ),
        ("\n#x\nfoo\n", "line 3 names no column 'time_s': it has foo"),
        ("1,mail\n", "line 1 names no column 'time_s': it has 1, mail"),
        ("time_s,app,TIME_S\n", "line 1 names the column 'time_s' twice"),
        ("time_s,app\n1,a\nsoon,b\n", "line 3, column time_s: 'soon' is no number from 0 to 1e9"),
        ("time_s,app\nNaN,b\n", "line 2, column time_s: 'NaN' is no number"),
        ("time_s,app\n0,5,b\n", "line 2: it has 3 cells, and the heading 2 columns: put a cell with a ',' in quotes"),
        ("time_s\tapp\n1\tb\tc\n", "put a cell with a '\\t' in quotes"),
        ("time_s,app\n\n1,\n", "line 3, column app: it is empty"),
        ("time_s,app\n1,x\n2,\"y\n3,z\n", "line 3: a quote begins here and does not end"),
    ] {
        let said = refused(text);
        assert!(said.contains(words), "{text:?}: {said}");
    }
    assert!(refused(&"x".repeat(1000)).len() < 250);
}

#[test]
fn whole_numbers_may_have_a_fraction_of_zero() {
    for (cell, number) in
        [("7", Some(7)), ("7.0", Some(7)), ("7.", Some(7)), ("7.5", None), ("-1", None), ("", None), ("1e3", None)]
    {
        let text = format!("time_s,app\n{cell},x\n");
        let (mut table, _) = Table::begin(&text, &[LAYOUT]).expect("a table");
        let row = table.next_row().expect("a row").expect("a row");
        assert_eq!(row.whole("time_s").ok(), number, "{cell}");
    }
}

#[test]
fn the_first_layout_that_fits_is_chosen_and_further_columns_are_named() {
    let other = Layout { needed: &["run", "kb"], optional: &[] };
    let (table, index) = Table::begin("kb;fps;run;App\n", &[LAYOUT, other]).expect("a table");
    assert_eq!((index, table.ignored()), (1, vec!["fps", "app"]));
    let error = Table::begin("run,x\n", &[LAYOUT, other]).expect_err("no table").to_string();
    assert!(error.contains("no column 'kb'") && error.contains("time_s, app (and note); or run, kb"), "{error}");
    let (table, _) = Table::begin("# one\n#two\ntime_s,app\n#three\n", &[LAYOUT]).expect("a table");
    assert_eq!(table.comments(), ["# one", "#two"]);
}

proptest! {
    #[test]
    fn a_quoted_cell_is_read_back(cell in "\\PC{0,12}|[#,;\"\n a]{0,8}") {
        prop_assume!(cell.trim() == cell && !cell.is_empty());
        let text = format!("app,time_s\n{},1\n", quoted(&cell));
        let rows = rows(&text);
        prop_assert_eq!(rows.len(), 1);
        prop_assert_eq!(&rows[0].2, &cell);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "(time_s[,;\t ]app\n)?[#0-9a\", ;\t\r\n]{0,60}|\\PC{0,60}") {
        if let Ok((mut table, _)) = Table::begin(&text, &[LAYOUT]) {
            while let Ok(Some(row)) = table.next_row() {
                let _ = (row.number("time_s", 0.0..=9.0), row.whole("app"), row.text("note"));
            }
        }
    }

    #[test]
    fn quotes_in_all_cells_change_nothing(cells in prop::collection::vec("[a-c ,;\n]{1,5}", 1..8)) {
        let bare: Vec<&String> = cells.iter().filter(|cell| !cell.trim().is_empty()).collect();
        let lines: String = bare.iter().map(|cell| format!("1,  \"{cell}\" , \"n\"\n")).collect();
        let read: Vec<String> = rows(&format!("time_s,app,note\n{lines}")).into_iter().map(|row| row.2).collect();
        prop_assert_eq!(read, bare.iter().map(|cell| cell.trim().to_owned()).collect::<Vec<_>>());
    }
}
