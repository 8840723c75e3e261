//! What the daemon says, in German: sentences by their form, reasons by the name of their rule, facts by their name. A
//! form or rule that is not here, as of a later daemon, is shown in English.
//!
//! Properties: `each_form_that_the_daemon_says_is_here`; `each_reason_of_an_engine_is_here`;
//! `a_text_has_the_places_of_its_form`.

/// The German form of a sentence.
pub(crate) fn form(english: &str) -> Option<&'static str> {
    FORMS.iter().find(|(known, _)| *known == english).map(|(_, german)| *german)
}

/// What the rule of this name says.
pub(crate) fn rule(name: &str) -> Option<&'static str> {
    RULES.iter().find(|(known, _)| *known == name).map(|(_, german)| *german)
}

/// What a value of this name is.
pub(crate) fn fact(name: &str) -> Option<&'static str> {
    FACTS.iter().find(|(known, _)| *known == name).map(|(_, german)| *german)
}

const FORMS: &[(&str, &str)] = &[
    // Events.
    ("{0} is being launched", "{0} wird gestartet"),
    ("launch of {0} ended", "Start von {0} ist beendet"),
    ("{0} ended", "{0} ist beendet"),
    ("{0} came to the foreground", "{0} kam in den Vordergrund"),
    ("the pages of {0} were scanned", "die Seiten von {0} wurden durchgesehen"),
    ("the return to {0} ended", "die Rückkehr zu {0} ist beendet"),
    ("{0} has used {1} files in its launch", "{0} hat beim Start {1} Dateien benutzt"),
    ("the screen was switched on", "der Bildschirm wurde eingeschaltet"),
    ("the screen was switched off", "der Bildschirm wurde ausgeschaltet"),
    ("the user is idle", "der Benutzer ist untätig"),
    ("the user is active again", "der Benutzer ist wieder tätig"),
    ("local time is UTC{0}", "Ortszeit ist UTC{0}"),
    (
        "the kernel ended a process of {0}: memory had run out",
        "der Kernel hat einen Prozess von {0} beendet: Der Arbeitsspeicher war erschöpft",
    ),
    ("{0} is managed from now on", "{0} wird ab jetzt verwaltet"),
    ("{0} is not managed any more", "{0} wird nicht mehr verwaltet"),
    (
        "{0} was changed externally to {1}; brisk leaves it alone",
        "{0} wurde von einem anderen Programm auf {1} gesetzt; brisk lässt es in Ruhe",
    ),
    ("{0} is refused: {1}", "{0} wird abgelehnt: {1}"),
    ("{0}: {1}", "{0}: {1}"),
    ("tasks stalled on {0}", "Programme warteten auf {0}"),
    (
        "the machine was suspended or its clock was set: {0} ms",
        "das Gerät schlief, oder seine Uhr wurde gestellt: {0} ms",
    ),
    ("the configuration was read", "die Konfiguration wurde gelesen"),
    ("{0} is out of use: its settings are as before brisk", "{0} ist außer Gebrauch: Einstellungen sind wie vor brisk"),
    ("the next return to {0} will teach", "aus der nächsten Rückkehr zu {0} wird gelernt"),
    ("a measurement began: {0}", "eine Messung begann: {0}"),
    ("the measurement {0} is complete", "die Messung {0} ist fertig"),
    ("the measurement {0} was stopped", "die Messung {0} wurde abgebrochen"),
    ("the measurement {0} failed", "die Messung {0} ist gescheitert"),
    ("{0}", "{0}"),
    // Trials.
    ("{0} is observing for {1}: {2}", "{0} beobachtet {1}: {2}"),
    ("{0} is on trial for {1}: {2}", "{0} wird für {1} erprobt: {2}"),
    ("{0} is acting for {1}: {2}", "{0} ist für {1} aktiv: {2}"),
    ("{0} is resting for {1}: {2}", "{0} ruht für {1}: {2}"),
    ("nothing was seen yet", "noch nichts gesehen"),
    ("it has learned enough", "genug gelernt"),
    ("it gains", "es bringt etwas"),
    ("it makes things worse", "es macht es schlechter"),
    ("it gains too little", "es bringt zu wenig"),
    ("no gain was found", "kein Gewinn gefunden"),
    ("its gain was not found again", "Gewinn nicht wieder gefunden"),
    ("its rest is over", "Ruhezeit vorbei"),
    ("a package, the kernel or the device changed", "Paket, Kernel oder Gerät ist anders"),
    ("the configuration names it", "in der Konfiguration genannt"),
    ("switched by a person", "von einem Menschen geschaltet"),
    // Outcomes.
    ("in force", "in Kraft"),
    ("begun", "begonnen"),
    ("done", "erledigt"),
    ("ended early: an app returned", "vorzeitig beendet: Eine App kam zurück"),
    ("{0} KiB read from the device", "{0} KiB vom Datenträger gelesen"),
    ("{0}; {1} files are not as they were learned", "{0}; {1} Dateien sind anders als gelernt"),
    ("{0}; ended early", "{0}; vorzeitig beendet"),
    ("pending, it is tried again: {0}", "steht aus, wird wieder versucht: {0}"),
    ("planned: this is a dry run", "geplant: Dies ist ein Probelauf"),
    ("left alone: changed externally to {0}", "in Ruhe gelassen: von einem anderen Programm auf {0} gesetzt"),
    ("gone", "nicht mehr da"),
    ("refused: {0}", "abgelehnt: {0}"),
    ("paused: as before brisk until 'brisk config reload'", "pausiert: wie vor brisk bis zu 'brisk config reload'"),
    ("dropped by the arbiter", "vom Schiedsrichter verworfen"),
    ("left out by the engine's trial", "für die Erprobung des Verfahrens ausgelassen"),
    // Settings and actions.
    ("{0} is {1}, was {2}", "{0} ist {1}, war {2}"),
    ("{0} would be {1}, is {2}", "{0} würde {1}, ist {2}"),
    (
        "{0} is {1} again: released, no engine requests it",
        "{0} ist wieder {1}: freigegeben, kein Verfahren verlangt es",
    ),
    ("{0} is unchanged", "{0} ist unverändert"),
    ("{0} is {1}", "{0} ist {1}"),
    ("{0}; {1}: {2}; {3}", "{0}; {1}: {2}; {3}"),
    ("{0} ({1})", "{0} ({1})"),
    ("{0}: {1}; {2}: {3}", "{0}: {1}; {2}: {3}"),
    ("thaw {0}", "auftauen: {0}"),
    ("freeze {0}", "einfrieren: {0}"),
    ("page in {0}", "einlagern: {0}"),
    ("page out {0}", "auslagern: {0}"),
    ("map in {0}", "Seiten einblenden: {0}"),
    ("read ahead {0}", "vorauslesen: {0}"),
    ("prefetch {0}", "für den Start vorauslesen: {0}"),
    ("make ready {0}", "bereithalten: {0}"),
    ("end prefetch {0}", "Vorauslesen beenden: {0}"),
    ("reclaim {0}", "Speicher zurückholen: {0}"),
    ("drop page cache {0}", "Zwischenspeicher leeren: {0}"),
    ("end app {0}", "beenden: {0}"),
    ("end process {0}", "einen Prozess beenden: {0}"),
    ("all of it", "ganz"),
    ("{0} ranges, {1} KiB", "{0} Bereiche, {1} KiB"),
    ("{0} files, {1} KiB", "{0} Dateien, {1} KiB"),
    ("{0} KiB", "{0} KiB"),
    ("killed after {0} ms", "nach {0} ms erzwungen"),
    ("process {0}, killed after {1} ms", "Prozess {0}, nach {1} ms erzwungen"),
    // Disks that are not managed.
    (
        "listed under [daemon] devices, but not there at present; managed from when it appears",
        "unter [daemon] devices genannt, aber zurzeit nicht da; verwaltet, sobald er erscheint",
    ),
    ("no medium in it", "kein Medium darin"),
    ("not listed under [daemon] devices", "nicht unter [daemon] devices genannt"),
    (
        "no mounted file system and no swap area is on it",
        "weder ein eingehängtes Dateisystem noch eine Auslagerung liegt darauf",
    ),
    (
        "an emulated phone runs on it, with settings of its own",
        "ein emuliertes Telefon läuft darauf, mit eigenen Einstellungen",
    ),
    (
        "a file, a disc, a program or the network serves it; list it under [daemon] devices to manage it",
        "eine Datei, eine CD, ein Programm oder das Netz stellt ihn bereit; verwaltet, wo [daemon] devices ihn nennt",
    ),
    (
        "a rotating disk, as it says itself; list it under [daemon] devices to manage it",
        "eine drehende Platte, wie sie selbst sagt; zum Verwalten unter [daemon] devices nennen",
    ),
    (
        "on USB, where the kernel cannot tell flash from a rotating disk; list it under [daemon] devices to manage it",
        "an USB, wo der Kernel Flash nicht von einer drehenden Platte unterscheidet; zum Verwalten unter [daemon] \
         devices nennen",
    ),
    ("its queue has no I/O scheduler", "seine Warteschlange hat keinen Scheduler"),
    (
        "the kernel's files of its queue are not readable or not understood",
        "die Dateien des Kernels zu seiner Warteschlange sind nicht lesbar oder unverständlich",
    ),
    // Rules of the arbiter.
    (
        "the configuration fixes it, which goes before every engine",
        "die Konfiguration legt es fest, was vor jedem Verfahren gilt",
    ),
    ("the foreground waits, and its latency goes before energy", "der Vordergrund wartet, und das geht vor Energie"),
    (
        "several engines request it for the same purpose; this one is first in the configuration",
        "mehrere Verfahren verlangen es zum selben Zweck; dieses steht in der Konfiguration zuerst",
    ),
    ("no other engine requests it", "kein anderes Verfahren verlangt es"),
    (
        "tunable without scheduler: another scheduler is in force on the device",
        "Wert ohne seinen Scheduler: Auf dem Datenträger ist ein anderer in Kraft",
    ),
    ("the configuration protects the app (class system)", "die Konfiguration schützt die App (Klasse system)"),
    ("the app is ended anyway", "die App wird ohnehin beendet"),
    ("another engine swaps out in this round", "ein anderes Verfahren lagert in dieser Runde aus"),
    (
        "held out, to compare with the times when the engine acts ('brisk trial')",
        "ausgelassen, zum Vergleich mit den Malen, in denen das Verfahren aktiv ist",
    ),
    (
        "the engine only observes so far, and changes nothing ('brisk trial')",
        "das Verfahren beobachtet bisher nur und verändert nichts",
    ),
    ("the engine rests, since it did not pay here ('brisk trial')", "das Verfahren ruht, weil es hier nichts brachte"),
    ("the engine is switched off ('brisk trial NAME auto' lets evidence decide)", "das Verfahren ist ausgeschaltet"),
    ("decided by a rule of another version of brisk", "nach einer Regel einer anderen Version von brisk entschieden"),
];

const RULES: &[(&str, &str)] = &[
    // Of apps.
    ("chosen", "von der Konfiguration bestimmt"),
    ("protected", "von der Konfiguration geschützt"),
    ("listed", "in der Konfiguration genannt"),
    ("launching", "wird gestartet"),
    ("nice", "hat eine niedrige Priorität"),
    ("background_slice", "läuft in einer Gruppe für Hintergrundarbeit"),
    ("service", "ist ein Dienst"),
    ("focused", "ist im Vordergrund"),
    ("not_focused", "ist nicht im Vordergrund"),
    ("scope_of_a_user", "gehört zu einer Sitzung"),
    ("session_of_a_user", "ist die Sitzung eines Benutzers"),
    ("app_in_the_background", "ist im Hintergrund"),
    ("no_app", "ist keine App"),
    ("brisk_itself", "ist brisk selbst"),
    ("system_service", "ist ein Dienst des Systems"),
    ("protected_by_configuration", "von der Konfiguration geschützt"),
    ("protected_by_the_system", "vom System geschützt"),
    ("work_without_window", "arbeitet ohne Fenster"),
    ("may_be_in_front", "ist vielleicht im Vordergrund"),
    ("front_lately", "war eben noch im Vordergrund"),
    ("never_in_front", "war nie im Vordergrund"),
    ("not_in_front", "ist nicht im Vordergrund"),
    ("returning", "kommt gerade in den Vordergrund zurück"),
    ("too_many_launches", "zu viele Starts zugleich"),
    ("audible", "gibt Ton wieder oder nimmt auf"),
    ("may_be_audible", "gibt vielleicht Ton wieder oder nimmt auf"),
    ("perceptible", "für Android hört oder sieht der Benutzer sie"),
    ("may_hold_an_inhibitor", "hält vielleicht eine Sperre, etwa gegen Ruhezustand"),
    ("works", "arbeitete in der letzten Minute oder benutzte das Netz"),
    ("may_work", "arbeitet vielleicht"),
    ("frozen_by_the_system", "das System friert sie selbst ein"),
    ("no_freezer", "hat keine Kontrollgruppe"),
    ("kept_by_preference", "ein anderes Programm soll sie behalten"),
    ("inhibitor", "hält eine Sperre, etwa gegen Ruhezustand"),
    ("streaming", "überträgt fortlaufend"),
    ("oom_score_adj", "nach dem Wert, den das System dem Prozess gab"),
    ("likely_next", "ist wohl die nächste App"),
    ("the_app_before", "ist die vorige App"),
    ("just_left", "wurde eben verlassen"),
    ("least_recent_app", "wurde am längsten nicht benutzt"),
    ("lowest_importance", "ist am unwichtigsten"),
    // Storage.
    ("default", "Vorgabe"),
    ("fixed_choice", "feste Wahl der Konfiguration"),
    ("reads_wait", "Lesen wartet"),
    ("reads_before_writes", "Lesen geht vor Schreiben"),
    ("reads_with_writes", "Lesen neben Schreiben"),
    ("foreground_waits", "der Vordergrund wartet"),
    ("foreground_waits_elsewhere", "der Vordergrund wartet auf einen anderen Datenträger"),
    ("no_foreground_request", "kein Auftrag des Vordergrunds"),
    ("launch_with_writes", "ein Start neben Schreiben"),
    ("launch_may_wait", "ein Start wartet vielleicht"),
    ("launch_ended", "der Start ist beendet"),
    ("nothing_runs_in_the_background", "nichts läuft im Hintergrund"),
    ("hold_off", "eben erst geändert: wartet"),
    ("safe_for_all_known", "für alle bekannten Datenträger sicher"),
    ("nearest_rate_proportion", "nächstes gemessenes Verhältnis von Lesen zu Schreiben"),
    ("nearest_pattern", "nächstes gemessenes Muster"),
    ("unknown_pattern", "unbekanntes Muster"),
    ("no_profile", "der Datenträger ist nicht vermessen"),
    ("not_in_this_kernel", "fehlt in diesem Kernel"),
    ("scheduler_not_offered", "diesen Scheduler bietet der Kernel hier nicht"),
    ("requests_divided", "Aufträge werden geteilt"),
    ("left_to_others", "anderen überlassen"),
    (
        "kernel_scheduler_smartio_is_dominated_on_such_devices",
        "der Scheduler smartio ist auf solchen Datenträgern unterlegen",
    ),
    (
        "kernel_scheduler_smartio_was_not_measured_on_such_devices",
        "der Scheduler smartio wurde auf solchen Datenträgern nicht gemessen",
    ),
    // Memory.
    ("memory_is_short", "Arbeitsspeicher ist knapp"),
    ("memory_is_not_short", "Arbeitsspeicher ist nicht knapp"),
    ("memory_is_plenty", "Arbeitsspeicher ist reichlich"),
    ("short_in_back_off", "knapp, aber eben erst geholfen: wartet"),
    ("predicted_need", "vorhergesagter Bedarf"),
    ("freeing_does_not_help", "Freigeben hilft nicht"),
    ("reclaimed_memory_is_read_back", "Zurückgeholtes wird wieder gelesen"),
    ("made_things_worse", "es hat es schlechter gemacht"),
    ("ends_are_limited", "so viele Apps dürfen nicht beendet werden"),
    ("app_ended", "die App ist beendet"),
    ("frozen_app_is_needed", "die eingefrorene App wird gebraucht"),
    ("frozen_app_is_used", "die eingefrorene App wird benutzt"),
    ("paper_freezes_nothing", "die Veröffentlichung friert nichts ein"),
    ("memory_of_the_machine_unreadable", "der Arbeitsspeicher des Geräts ist nicht lesbar"),
    ("system_caches", "Zwischenspeicher des Systems"),
    ("working_set_of_a_protected_app", "was eine geschützte App benutzt"),
    ("reserve_for_the_largest_return", "Vorrat für die größte Rückkehr"),
    ("reserve_for_the_next_return", "Vorrat für die nächste Rückkehr"),
    ("room_for_a_return", "Platz für eine Rückkehr"),
    ("heap_arx", "Bedarf nach einem Modell der Reihe"),
    ("heap_curve", "Bedarf nach einer Kurve"),
    ("heap_default", "Bedarf nach Vorgabe"),
    ("heap_default_raised", "Bedarf nach angehobener Vorgabe"),
    ("heap_need", "Bedarf der App"),
    // Swap and launches.
    ("frozen_before_page_out", "vor dem Auslagern eingefroren"),
    ("page_out_left_its_pages", "Auslagern ließ Seiten zurück"),
    ("written_pages_leave_the_swap_cache", "geschriebene Seiten verlassen den Zwischenspeicher"),
    ("scattered_hot_set", "oft benutzte Seiten liegen verstreut"),
    ("hot_set_is_in_swap", "oft benutzte Seiten sind ausgelagert"),
    ("little_of_the_hot_set_is_in_swap", "wenige oft benutzte Seiten sind ausgelagert"),
    ("hot_files_are_dropped", "oft benutzte Dateien sind nicht im Speicher"),
    ("reading_gains_little", "Lesen bringt wenig"),
    ("all_of_the_app_is_read", "die ganze App wird gelesen"),
    ("nothing_may_be_written", "nichts darf geschrieben werden"),
    ("return_of_the_group", "Rückkehr der App"),
    ("return_without_swap_out", "Rückkehr ohne Auslagern"),
    ("return_without_writes", "Rückkehr ohne Schreiben"),
    ("launch_uses_these_pages", "der Start benutzt diese Seiten"),
    ("launch_diverges", "der Start verläuft anders als gelernt"),
    ("likely_next_app", "wahrscheinlich nächste App"),
    ("it_runs", "sie läuft"),
    ("it_is_being_read", "sie wird gerade gelesen"),
    ("a_cold_launch_has_to_teach_what_it_uses", "ein kalter Start muss zeigen, was sie benutzt"),
    ("held_out_until_its_next_launch", "bis zum nächsten Start zum Vergleich ausgelassen"),
    ("not_among_the_likely_next_apps", "nicht unter den wahrscheinlich nächsten Apps"),
    ("no_page_of_it_is_likely_enough", "keine Seite ist wahrscheinlich genug"),
    ("others_come_first", "andere kommen zuerst"),
    ("reading_takes_too_long", "das Lesen dauert zu lange"),
    ("reading_was_cut_short", "das Lesen wurde abgebrochen"),
    ("not_done", "nicht geschehen"),
    ("an_app_is_launched", "eine App wird gestartet"),
    ("an_app_came_to_the_foreground", "eine App kam in den Vordergrund"),
    ("an_app_waits_for_storage", "eine App wartet auf den Datenträger"),
    ("storage_is_busy", "der Datenträger ist beschäftigt"),
    ("storage_is_not_quiet_for_long", "der Datenträger ruht noch nicht lange"),
    ("what_goes_on_is_not_known_yet", "was vorgeht, ist noch nicht bekannt"),
    ("enough_was_read_today", "heute wurde genug gelesen"),
    ("little_memory_is_free", "wenig Arbeitsspeicher ist frei"),
    ("memory_is_full_and_is_read_into_slowly", "der Arbeitsspeicher ist voll: es wird langsam gelesen"),
    ("others_missed_what_was_dropped_for_it", "andere haben vermisst, was dafür verdrängt wurde"),
    ("pages_are_read_again", "verdrängte Seiten werden erneut gelesen"),
    ("pages_are_swapped_out", "Seiten werden ausgelagert"),
    ("the_kernel_does_not_tell_who_wants_memory", "der Kern zählt nicht, wem Arbeitsspeicher fehlt"),
    ("learn_which_pages_a_launch_uses", "lernen, welche Seiten ein Start benutzt"),
    ("package_changed", "das Paket ist anders"),
    ("configured_anew", "neu konfiguriert"),
    ("engine_rests", "das Verfahren ruht"),
];

const FACTS: &[(&str, &str)] = &[
    ("app", "App"),
    ("apps", "Apps"),
    ("available_mib", "verfügbar, MiB"),
    ("away_s", "weg seit, s"),
    ("benchmark", "Vergleichslast"),
    ("chance_percent", "Chance, %"),
    ("counts", "Zahlen"),
    ("delta_mib", "Unterschied, MiB"),
    ("device", "Datenträger"),
    ("dirty_mib", "ungeschrieben, MiB"),
    ("distance", "Abstand"),
    ("ends_per_minute", "beendet je Minute"),
    ("expected_cost", "erwartete Kosten"),
    ("expected_mib", "erwartet, MiB"),
    ("free_mib", "frei, MiB"),
    ("gained_mib", "gewonnen, MiB"),
    ("grace_s", "Schonzeit, s"),
    ("group", "Gruppe"),
    ("growth_mib", "Zuwachs, MiB"),
    ("hold_ms", "Wartezeit, ms"),
    ("hot_mib", "oft benutzt, MiB"),
    ("in_flight_writes", "Schreibaufträge unterwegs"),
    ("in_swap_mib", "ausgelagert, MiB"),
    ("kib", "KiB"),
    ("kind", "Art"),
    ("lacks", "es fehlt"),
    ("left_alone_s", "in Ruhe seit, s"),
    ("level", "Stufe"),
    ("limit_mib", "Grenze, MiB"),
    ("loads", "Lasten"),
    ("margin_percent", "Spielraum, %"),
    ("mb_per_s", "MB/s"),
    ("memory_mib", "Arbeitsspeicher, MiB"),
    ("mib", "MiB"),
    ("nearest", "nächstes"),
    ("need_mib", "Bedarf, MiB"),
    ("pages", "Seiten"),
    ("part_mib", "Teil, MiB"),
    ("percent", "%"),
    ("planned_mib", "geplant, MiB"),
    ("preference", "Vorliebe"),
    ("process", "Prozess"),
    ("process_mib", "Prozess, MiB"),
    ("profile", "Profil"),
    ("rank", "Rang"),
    ("read_mib", "gelesen, MiB"),
    ("read_ms", "Lesen, ms"),
    ("reads_per_s", "Lesen je s"),
    ("refaults_before_per_s", "Wiederlesen vorher je s"),
    ("refaults_per_s", "Wiederlesen je s"),
    ("relaunch_s", "neuer Start, s"),
    ("reserve_mib", "Vorrat, MiB"),
    ("setting", "Einstellung"),
    ("share_percent", "Anteil, %"),
    ("short_mib", "es fehlen, MiB"),
    ("situation", "Lage"),
    ("source", "Quelle"),
    ("stall_percent", "Wartezeit, %"),
    ("stall_us", "Wartezeit, us"),
    ("swap_free_mib", "Auslagerung frei, MiB"),
    ("waiting_windows", "wartende Teile"),
    ("wanted_mib", "gewünscht, MiB"),
    ("wear_left_mib", "noch zu schreiben, MiB"),
    ("why", "Grund"),
    ("writes_per_s", "Schreiben je s"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    /// The texts in quotes that follow this in a source, without its tests.
    fn quoted_after<'a>(source: &'a str, begin: &str) -> Vec<&'a str> {
        let source = source.split("#[cfg(test)]").next().unwrap_or_default();
        let rest = source.split(begin).skip(1);
        rest.filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next()).collect()
    }

    #[test]
    fn each_form_that_the_daemon_says_is_here() {
        let source = include_str!("../../api/src/render.rs");
        let forms = quoted_after(source, "say!(");
        assert!(forms.len() > 60, "{forms:?}");
        use brisk_api::Why::*;
        let of_disks = [Missing, Empty, NotListed, NotUsed, Phone, NotLocal, Rotating, UnknownMedium, NoScheduler];
        let forms: Vec<&str> = forms.into_iter().chain(of_disks.map(|why| why.text())).collect();
        let missing: Vec<&&str> = forms.iter().filter(|text| form(text).is_none()).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn each_reason_of_an_engine_is_here() {
        let mut found = BTreeSet::new();
        let mut dirs = vec![PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../engine/src")];
        while let Some(dir) = dirs.pop() {
            for entry in std::fs::read_dir(&dir).expect("the source") {
                let path = entry.expect("the source").path();
                let is_test = path.file_name().is_some_and(|name| name == "tests" || name == "tests.rs");
                match path.is_dir() {
                    _ if is_test => {}
                    true => dirs.push(path),
                    false => found.extend(rules_of(&path)),
                }
            }
        }
        assert!(found.len() > 25, "{found:?}");
        let missing: Vec<&String> = found.iter().filter(|name| rule(name).is_none()).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    fn rules_of(path: &Path) -> Vec<String> {
        let source = std::fs::read_to_string(path).expect("the source");
        let rules = quoted_after(&source, "Reason::rule(").into_iter();
        // What tests beside the source say.
        rules.filter(|rule| *rule != "test").map(str::to_owned).collect()
    }

    #[test]
    fn a_text_has_the_places_of_its_form() {
        let places = |of: &str| -> BTreeSet<String> {
            of.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0.to_owned())).collect()
        };
        for (english, german) in FORMS {
            assert_eq!(places(english), places(german), "{english}");
        }
        for table in [FORMS, RULES, FACTS] {
            let names: BTreeSet<&str> = table.iter().map(|(name, _)| *name).collect();
            assert_eq!(names.len(), table.len(), "a name is there twice");
        }
    }
}
