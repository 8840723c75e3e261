//! All texts of the page, in English and German, and numbers as each language writes them. What the daemon says is
//! known by forms and rules (`german.rs`); messages of the system and of tools are English, and marked so for screen
//! readers.
//!
//! Properties: `each_text_has_the_same_places_in_all_languages`; `no_text_is_left_out_of_a_language`.

use std::fmt::Display;

use brisk_api::{Part, Said};
use brisk_core::reason::{Fact, Reason, Value};
use brisk_core::trial::{Figure, Phase, Why};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::german;

/// A language of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    English,
    German,
}

/// A text in all languages; `{0}`, `{1}` are places for values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text {
    english: &'static str,
    german: &'static str,
}

impl Language {
    /// The language of this name, or of the beginning of a list as browsers send it (`de-AT,de;q=0.9,en;q=0.8`).
    pub(crate) fn of(name: &str) -> Self {
        if name.trim_start().to_ascii_lowercase().starts_with("de") { Self::German } else { Self::English }
    }

    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
        }
    }

    /// The code of the language that a person may change to.
    pub(crate) fn other(self) -> &'static str {
        match self {
            Self::English => Self::German.code(),
            Self::German => Self::English.code(),
        }
    }

    pub(crate) fn say(self, text: Text) -> &'static str {
        match self {
            Self::English => text.english,
            Self::German => text.german,
        }
    }

    /// The text with values in its places.
    pub(crate) fn fill(self, text: Text, values: &[&dyn Display]) -> String {
        let mut filled = String::new();
        let mut rest = self.say(text);
        while let Some((before, after)) = rest.split_once('{') {
            filled += before;
            let (place, others) = after.split_once('}').unwrap_or((after, ""));
            if let Some(value) = place.parse::<usize>().ok().and_then(|place| values.get(place)) {
                filled += &value.to_string();
            }
            rest = others;
        }
        filled + rest
    }

    /// Why an engine decided so.
    pub(crate) fn reason(self, reason: &Reason) -> String {
        if self == Self::English {
            return reason.to_string();
        }
        let value = |value: &Value| match value {
            Value::Number(number) => self.number(&((number * 100.0).round() / 100.0).to_string()),
            Value::Word(word) => word.clone(),
        };
        let name = |fact: &Fact| german::fact(&fact.name).map_or_else(|| fact.name.to_string(), str::to_owned);
        let facts: Vec<String> =
            reason.facts.iter().map(|fact| format!("{}: {}", name(fact), value(&fact.value))).collect();
        let rule = german::rule(&reason.rule).map_or_else(|| reason.rule.replace('_', " "), str::to_owned);
        if facts.is_empty() { rule } else { format!("{rule} ({})", facts.join("; ")) }
    }

    /// A sentence of the daemon.
    pub(crate) fn said(self, said: &Said) -> String {
        let form = match self {
            Self::English => None,
            Self::German => german::form(&said.form),
        };
        Said::fill(form.unwrap_or(&said.form), &said.values, |part| match part {
            Part::Text(text) => text.clone(),
            Part::Said(said) => self.said(said),
            Part::Reason(reason) => self.reason(reason),
        })
    }

    /// A number as the language writes it; `text` is as in English.
    pub(crate) fn number(self, text: &str) -> String {
        match self {
            Self::English => text.to_owned(),
            Self::German => text.replace('.', ","),
        }
    }

    /// A share of 1 in whole percent, or in tenths below one.
    pub(crate) fn percent(self, percent: f64) -> String {
        let digits = usize::from(percent.abs() < 9.95 && percent != 0.0);
        self.number(&format!("{percent:.digits$}")) + "\u{a0}%"
    }

    /// How a tick of an axis reads.
    pub(crate) fn tick(self) -> fn(f64) -> String {
        match self {
            Self::English => brisk_report::format::tick,
            Self::German => |value| brisk_report::format::tick(value).replace('.', ","),
        }
    }

    pub(crate) fn bytes(self, bytes: u64) -> String {
        self.number(&brisk_core::units::format_bytes(bytes)).replace(' ', "\u{a0}")
    }

    /// A moment in local time: the time of today, the day of the week and time within a week, or the date.
    pub(crate) fn moment(self, unix_ms: u64, now_unix_ms: u64) -> String {
        let Some((then, now)) = local(unix_ms).zip(local(now_unix_ms)) else { return "–".to_owned() };
        let time = then.strftime("%H:%M").to_string();
        if then.date() == now.date() {
            return time;
        }
        if now_unix_ms.saturating_sub(unix_ms) < 6 * 86_400_000 {
            let days = self.say(WEEKDAYS);
            let day = then.weekday().to_monday_zero_offset();
            let day = days.split(' ').nth(usize::try_from(day).unwrap_or(0)).unwrap_or_default();
            return format!("{day}\u{a0}{time}");
        }
        then.strftime("%F").to_string()
    }

    pub(crate) fn engine(self, name: &str) -> (String, &'static str) {
        let (title, purpose) = match name {
            "prefetch" => (self.say(PREFETCH), PREFETCH_FOR),
            "ready" => (self.say(READY), READY_FOR),
            "smartio" => ("SmartIO", SMARTIO_FOR),
            "smartstorage" => ("SmartStorage", SMARTSTORAGE_FOR),
            "mars" => ("MARS", MARS_FOR),
            "iram" => ("iRAM", IRAM_FOR),
            other => return (other.to_owned(), ""),
        };
        (title.to_owned(), self.say(purpose))
    }

    pub(crate) fn phase(self, phase: Phase) -> &'static str {
        self.say(match phase {
            Phase::Observing => OBSERVING,
            Phase::OnTrial => ON_TRIAL,
            Phase::Acting => ACTING,
            Phase::Resting => RESTING,
        })
    }

    pub(crate) fn why(self, why: Why) -> &'static str {
        self.say(match why {
            Why::New => WHY_NEW,
            Why::Learned => WHY_LEARNED,
            Why::Gains => WHY_GAINS,
            Why::Harms => WHY_HARMS,
            Why::GainsTooLittle => WHY_GAINS_TOO_LITTLE,
            Why::NotShown => WHY_NOT_SHOWN,
            Why::NotShownAgain => WHY_NOT_SHOWN_AGAIN,
            Why::Rested => WHY_RESTED,
            Why::Changed => WHY_CHANGED,
            Why::Named => WHY_NAMED,
            Why::Person => WHY_PERSON,
        })
    }

    /// What becomes less, and what becomes more, by `{0}`.
    pub(crate) fn figure(self, figure: Figure) -> (Text, Text) {
        match figure {
            Figure::StorageWait => (LAUNCHES_LESS, LAUNCHES_MORE),
            Figure::StorageShare => (STORAGE_LESS, STORAGE_MORE),
            Figure::StallShare => (STALL_LESS, STALL_MORE),
            Figure::BusyTime => (BUSY_LESS, BUSY_MORE),
        }
    }
}

fn local(unix_ms: u64) -> Option<Zoned> {
    let at = Timestamp::from_millisecond(i64::try_from(unix_ms).ok()?).ok()?;
    Some(at.to_zoned(TimeZone::system()))
}

/// Declares texts: a row has the name, English and German.
macro_rules! texts {
    ($($name:ident: $english:literal, $german:literal;)+) => {
        $(pub(crate) const $name: Text = Text { english: $english, german: $german };)+
        #[cfg(test)]
        const ALL: &[(&str, Text)] = &[$((stringify!($name), $name)),+];
    };
}

texts! {
    WEEKDAYS: "Mon Tue Wed Thu Fri Sat Sun", "Mo Di Mi Do Fr Sa So";
    TITLE: "brisk on this device", "brisk auf diesem Gerät";
    SKIP: "Skip to the content", "Zum Inhalt springen";
    CONTENTS: "On this page", "Auf dieser Seite";
    OTHER_LANGUAGE: "Deutsch", "English";
    OFFLINE: "This page is not live: brisk web has ended or does not answer. Open it again with: brisk web --open",
        "Diese Seite ist nicht aktuell: brisk web ist beendet oder antwortet nicht. Neu öffnen mit: brisk web --open";
    NO_SCRIPT: "Without JavaScript this page is loaded anew every 10 seconds.",
        "Ohne JavaScript wird diese Seite alle 10 Sekunden neu geladen.";
    CANCEL: "Cancel", "Abbrechen";
    COPY: "Copy", "Kopieren";
    COPIED: "Copied", "Kopiert";

    NO_DAEMON: "brisk does not work: its service does not run.",
        "brisk arbeitet nicht: Der Dienst läuft nicht.";
    NO_DAEMON_HOW: "Nothing on this device is changed by it now. To start it, run as root:",
        "Zurzeit verändert es nichts auf diesem Gerät. Zum Starten als root ausführen:";
    NOT_ALLOWED: "You may not ask the service of brisk.", "Sie dürfen den Dienst von brisk nicht fragen.";
    NOT_ALLOWED_HOW: "Users of the group 'brisk' may. As root, add yourself, then log in again:",
        "Benutzer der Gruppe 'brisk' dürfen es. Als root sich hinzufügen, dann neu anmelden:";
    NO_ANSWER: "The service of brisk does not answer as expected.",
        "Der Dienst von brisk antwortet nicht wie erwartet.";
    PAUSED: "brisk is paused: everything is as it was before brisk.",
        "brisk pausiert: Alles ist so, wie es ohne brisk war.";
    DRY_RUN: "brisk only plans: its service was started with --dry-run, and changes nothing.",
        "brisk plant nur: Der Dienst wurde mit --dry-run gestartet und verändert nichts.";
    NO_ENGINE: "brisk changes nothing: the configuration names no engine.",
        "brisk verändert nichts: Die Konfiguration nennt kein Verfahren.";
    ALL_OFF: "brisk changes nothing: all engines are switched off.",
        "brisk verändert nichts: Alle Verfahren sind ausgeschaltet.";
    GAINS: "brisk works: {0}.", "brisk wirkt: {0}.";
    HARMS: "An engine makes this device slower: {0} acts, and {1}.",
        "Ein Verfahren macht dieses Gerät langsamer: {0} ist aktiv, und {1}.";
    ACTS_UNKNOWN: "brisk works; what you gain by it is not certain yet.",
        "brisk arbeitet; was Sie davon haben, ist noch nicht sicher.";
    TRIES: "brisk is finding out what you gain: {0} of {1} engines are on trial.",
        "brisk prüft, was Sie davon haben: {0} von {1} Verfahren werden erprobt.";
    LEARNS: "brisk is learning how you use this device, and changes nothing yet.",
        "brisk lernt, wie Sie dieses Gerät benutzen, und verändert noch nichts.";
    ALL_REST: "brisk rests: its engines were tried here and did not pay.",
        "brisk ruht: Die Verfahren wurden hier erprobt und brachten nichts.";
    GAIN_OF: "{0}: {1}.", "{0}: {1}.";
    LAUNCHES_LESS: "launches wait {0} less for storage", "Apps warten beim Start {0} kürzer auf den Speicher";
    LAUNCHES_MORE: "launches wait {0} longer for storage", "Apps warten beim Start {0} länger auf den Speicher";
    STORAGE_LESS: "while others write, apps wait {0} less for storage",
        "während andere schreiben, warten Apps {0} kürzer auf den Speicher";
    STORAGE_MORE: "while others write, apps wait {0} longer for storage",
        "während andere schreiben, warten Apps {0} länger auf den Speicher";
    STALL_LESS: "apps wait {0} less for storage and memory", "Apps warten {0} kürzer auf Speicher und Arbeitsspeicher";
    STALL_MORE: "apps wait {0} longer for storage and memory",
        "Apps warten {0} länger auf Speicher und Arbeitsspeicher";
    BUSY_LESS: "the disk is busy {0} less for a request", "der Datenträger ist je Auftrag {0} kürzer beschäftigt";
    BUSY_MORE: "the disk is busy {0} longer for a request", "der Datenträger ist je Auftrag {0} länger beschäftigt";
    RANGE: "{0} ({1} to {2})", "{0} ({1} bis {2})";
    PAIRS: "from {0} comparisons; the range holds with 95 %", "aus {0} Vergleichen; der Bereich gilt mit 95 %";
    NO_DIFFERENCE: "no difference is certain ({0} to {1} times as long; {2} comparisons)",
        "kein Unterschied ist sicher ({0}- bis {1}-mal so lang; {2} Vergleiche)";
    NOT_KNOWN: "not known yet", "noch nicht bekannt";
    SAVED_DELAY: "Since {0} reads and writes took {1} s less in all (between {2} and {3}).",
        "Seit {0} dauerten Lese- und Schreibaufträge zusammen {1} s weniger (zwischen {2} und {3}).";
    LOST_DELAY: "Since {0} reads and writes took {1} s longer in all (between {2} and {3}).",
        "Seit {0} dauerten Lese- und Schreibaufträge zusammen {1} s länger (zwischen {2} und {3}).";
    SAVED_ENERGY: "Energy of storage saved since {0}: {1} J (between {2} and {3}, by a model).",
        "Seit {0} gesparte Energie des Datenträgers: {1} J (zwischen {2} und {3}, nach einem Modell).";
    PREFETCHED: "Read ahead of {0} launches: {1}, of which launches used {2}.",
        "Vor {0} Starts vorausgelesen: {1}, davon benutzt: {2}.";

    PICTURE_GAINS: "Waiting with brisk, as a multiple of waiting without",
        "Warten mit brisk, als Vielfaches des Wartens ohne";
    PICTURE_GAINS_AXIS: "times as long", "mal so lang";
    PICTURE_GAINS_LEVEL: "no difference", "kein Unterschied";
    PICTURE_GAINS_HOW: "A point left of 1 is a gain. The line is the range in which the true value lies with 95 %.",
        "Ein Punkt links von 1 ist ein Gewinn. Die Linie zeigt den Bereich, in dem der wahre Wert mit 95 % liegt.";
    PICTURE_TRIALS: "How far the trial of each engine is", "Wie weit die Erprobung jedes Verfahrens ist";

    NOW: "Now", "Jetzt";
    AT_MOMENT: "At this moment", "Zu diesem Zeitpunkt";
    IN_FRONT: "In front", "Im Vordergrund";
    NOTHING_IN_FRONT: "no app", "keine App";
    UNKNOWN_FRONT: "unknown: nothing tells which app is in front (install brisk-session)",
        "unbekannt: Nichts meldet, welche App vorn ist (brisk-session installieren)";
    LAUNCHING: "Being launched", "Wird gestartet";
    STORAGE: "Waiting for storage", "Warten auf den Speicher";
    MEMORY: "Waiting for memory", "Warten auf Arbeitsspeicher";
    SHARE_OF_TIME: "share of the time in which something waits", "Anteil der Zeit, in der etwas wartet";
    AVAILABLE: "Memory available", "Freier Arbeitsspeicher";
    OF_ALL: "{0} of {1}", "{0} von {1}";
    SWAPPED: "Swap used", "Auslagerung belegt";
    NO_SWAP: "no swap", "keine Auslagerung";
    NOT_COUNTED: "not counted by this kernel", "von diesem Kernel nicht gezählt";
    TO_FREE: "{0} are to be freed", "{0} sind freizugeben";
    LAST_MINUTES: "Last minutes", "Letzte Minuten";
    LAST_DAY: "Since {0}", "Seit {0}";
    MINUTES_AGO: "{0} min ago", "vor {0} min";
    NOW_TICK: "now", "jetzt";
    PRESSURE: "Pressure", "Wartezeiten";
    DAY: "Last day", "Letzter Tag";
    NO_DAY: "There are no figures of the day yet: they begin with the service.",
        "Für den Tag gibt es noch keine Zahlen: Sie beginnen mit dem Dienst.";

    ENGINES: "Engines", "Verfahren";
    ENGINES_HOW: "Each is tried in daily use: a coin decides when it is left out, and both are compared. One that does \
                  not pay rests.",
        "Jedes wird im Alltag erprobt: Eine Münze entscheidet, wann es ausgelassen wird, und beides wird verglichen. \
         Was nichts bringt, ruht.";
    PREFETCH: "Launch prefetch", "Vorauslesen beim Start";
    PREFETCH_FOR: "What a launch reads is read ahead, in one go.",
        "Was ein Start liest, wird in einem Zug vorausgelesen.";
    READY: "Ready before the tap", "Bereit vor dem Antippen";
    READY_FOR: "What the likely next apps read is in memory before they are opened.",
        "Was die wahrscheinlich nächsten Apps lesen, ist im Arbeitsspeicher, bevor man sie öffnet.";
    SMARTIO_FOR: "Reads of the app in front go before background writes.",
        "Lesen der App im Vordergrund geht vor Schreiben im Hintergrund.";
    SMARTSTORAGE_FOR: "Storage settings that suit the present load.",
        "Einstellungen des Datenträgers, die zur jetzigen Last passen.";
    MARS_FOR: "Swap laid out so that apps return quickly.", "Auslagerung so gelegt, dass Apps schnell zurückkehren.";
    IRAM_FOR: "Memory for the apps that come next.", "Arbeitsspeicher für die Apps, die als Nächstes kommen.";
    OBSERVING: "observing", "beobachtet";
    ON_TRIAL: "on trial", "in Erprobung";
    ACTING: "acting", "aktiv";
    RESTING: "resting", "ruht";
    OFF: "off", "aus";
    UNTRIED: "acting, not tried", "aktiv, nicht erprobt";
    WHY_NEW: "nothing was seen yet", "noch nichts gesehen";
    WHY_LEARNED: "it has learned enough", "genug gelernt";
    WHY_GAINS: "it gains", "es bringt etwas";
    WHY_HARMS: "it makes things worse", "es macht es schlechter";
    WHY_GAINS_TOO_LITTLE: "it gains too little", "es bringt zu wenig";
    WHY_NOT_SHOWN: "no gain was found", "kein Gewinn gefunden";
    WHY_NOT_SHOWN_AGAIN: "its gain was not found again", "Gewinn nicht wieder gefunden";
    WHY_RESTED: "its rest is over", "Ruhezeit vorbei";
    WHY_CHANGED: "a package, the kernel or the device changed", "Paket, Kernel oder Gerät ist anders";
    WHY_NAMED: "the configuration names it", "in der Konfiguration genannt";
    WHY_PERSON: "switched by a person", "von einem Menschen geschaltet";
    SINCE: "since {0}: {1}", "seit {0}: {1}";
    HAD_NOTHING: "it had nothing to do yet", "es hatte noch nichts zu tun";
    GAIN: "Gain", "Gewinn";
    STATE: "State", "Zustand";
    EVIDENCE: "Evidence", "Belege";
    EVIDENCE_OF: "Evidence by app, disk or machine: {0}", "Belege nach App, Datenträger oder Gerät: {0}";
    SUBJECT: "Of", "Für";
    EPISODES: "Times with it, without it", "Male mit, ohne";
    SWITCH: "Switch {0}", "{0} schalten";
    SWITCH_AUTO: "By evidence", "Nach Belegen";
    SWITCH_ON: "On", "An";
    SWITCH_OFF: "Off", "Aus";

    APPS: "Apps", "Apps";
    APPS_HOW: "When memory is short, it is taken from the first app first. Nothing is taken from an app in front, one \
               that plays or records, one that is likely next, or a protected one.",
        "Wird der Arbeitsspeicher knapp, wird zuerst der ersten App genommen. Nichts genommen wird der App im \
         Vordergrund, einer, die spielt oder aufnimmt, einer, die wohl als Nächste kommt, und einer geschützten.";
    APPS_IDLE: "The memory engine does not act now, so nothing is taken. Otherwise:",
        "Das Verfahren für Arbeitsspeicher ist jetzt nicht aktiv, also wird nichts genommen. Sonst:";
    NO_APPS: "No app runs in a group of its own.", "Keine App läuft in einer eigenen Gruppe.";
    FILTER: "Filter apps", "Apps filtern";
    APP: "App", "App";
    ROLE: "State", "Zustand";
    HAS_MEMORY: "Memory", "Arbeitsspeicher";
    IN_SWAP: "In swap", "Ausgelagert";
    NEXT: "Next app", "Nächste App";
    TAKEN: "Taken", "Genommen";
    WHY: "Why", "Warum";
    WISH: "Your choice", "Ihre Wahl";
    WISH_FOR: "Choice for {0}", "Wahl für {0}";
    PROTECT: "Protect", "Schützen";
    END_FIRST: "End first", "Zuerst beenden";
    DONE_PROTECT: "{0} is protected: nothing is taken from it.", "{0} ist geschützt: Nichts wird ihr genommen.";
    DONE_END_FIRST: "{0} ends first, where an app has to end.",
        "{0} wird zuerst beendet, wenn eine App beendet werden muss.";
    DONE_NO_WISH: "{0} is treated like any other app.", "{0} wird wie jede andere App behandelt.";
    WISH_ELSEWHERE: "Another entry means {0} too, such as a pattern: change the configuration.",
        "Ein anderer Eintrag meint {0} auch, etwa ein Muster: Die Konfiguration ändern.";
    ALL_APPS: "Show all apps", "Alle Apps zeigen";
    NEVER: "never", "nie";
    NUMBER: "{0}.", "{0}.";
    STEPS: "{0}; its end would cost {1} s of waiting for 100 MiB", "{0}; ihr Ende kostete {1} s Warten je 100 MiB";
    NOTHING_TO_TAKE: "nothing can be taken", "nichts zu nehmen";
    FROZEN: "frozen", "eingefroren";
    OTHER_GROUPS: "and {0} services and other groups, from which nothing is taken",
        "und {0} Dienste und andere Gruppen, denen nichts genommen wird";
    IMPORTANCE_SYSTEM: "system", "System";
    IMPORTANCE_PERSISTENT: "always needed", "immer nötig";
    IMPORTANCE_FOREGROUND: "in front", "im Vordergrund";
    IMPORTANCE_VISIBLE: "visible", "sichtbar";
    IMPORTANCE_PERCEPTIBLE: "perceptible", "wahrnehmbar";
    IMPORTANCE_SERVICE: "service", "Dienst";
    IMPORTANCE_BACKGROUND: "background", "im Hintergrund";
    IMPORTANCE_EMPTY: "nothing to miss", "nichts zu vermissen";
    STEP_FREE_CACHES: "free caches", "Zwischenspeicher leeren";
    STEP_RECLAIM: "reclaim", "zurückholen";
    STEP_PAGE_OUT: "write to swap", "auslagern";
    STEP_FREEZE: "freeze", "einfrieren";
    STEP_END: "end", "beenden";

    SETTINGS_SHORT: "Settings", "Einstellungen";
    EVENTS_SHORT: "Events", "Ereignisse";
    SETTINGS: "Settings that brisk has changed", "Einstellungen, die brisk geändert hat";
    NO_SETTINGS: "None: every setting is the system's own.", "Keine: Alle Einstellungen sind die des Systems.";
    SETTING: "Setting", "Einstellung";
    VALUE: "Value", "Wert";
    BEFORE: "Before brisk", "Vor brisk";
    BY: "By", "Von";
    SINCE_HEAD: "Since", "Seit";
    CONFIGURATION: "configuration", "Konfiguration";
    CHANGED: "{0} was changed by another program to {1}; brisk leaves it alone.",
        "{0} wurde von einem anderen Programm auf {1} gesetzt; brisk lässt es in Ruhe.";

    TITLE_RECORD: "Record of brisk", "Aufzeichnung von brisk";
    EMPTY_RECORD: "This record has nothing in it.", "Diese Aufzeichnung ist leer.";
    RECORD_DAMAGED: "A part of the record is lost; this is what is left.",
        "Ein Teil der Aufzeichnung fehlt; dies ist der Rest.";
    RECORD_TOO_MUCH: "The record is too large for a page: its first {0} moments are left out.",
        "Die Aufzeichnung ist zu groß für eine Seite: Ihre ersten {0} Zeitpunkte fehlen.";
    MOMENT: "{0}: decision {1} of {2}", "{0}: Entscheidung {1} von {2}";
    MOMENT_OF: "brisk {0} on {1}, Linux {2}", "brisk {0} auf {1}, Linux {2}";
    DECISIONS: "Decisions over time", "Entscheidungen im Lauf der Zeit";
    EARLIER: "Earlier", "Früher";
    LATER: "Later", "Später";
    SHOW: "Show", "Zeigen";
    SEEN: "What was seen", "Was gesehen wurde";
    DECIDED: "What was decided", "Was entschieden wurde";
    WRITTEN: "What was written", "Was geschrieben wurde";
    NOTHING_DECIDED: "No setting and no action was requested.",
        "Es wurde keine Einstellung und kein Eingriff verlangt.";
    NOTHING_WRITTEN: "Nothing new was written.", "Es wurde nichts Neues geschrieben.";
    PROCESSOR: "Processor", "Prozessor";
    OUTCOME: "Outcome", "Ergebnis";
    NEW: "new", "neu";
    NOTES: "Messages of engines", "Meldungen der Verfahren";
    LEFT_OUT: "Left out for trials", "Für Erprobungen ausgelassen";
    ARM_HELD_OUT: "held out, to compare", "ausgelassen, zum Vergleich";

    EVENTS: "What happened", "Was geschah";
    EVENTS_SINCE: "Since {0}, when this page's program began.", "Seit {0}, als das Programm dieser Seite begann.";
    EVENTS_BEFORE: "Since the decision before:", "Seit der vorigen Entscheidung:";
    NO_EVENTS: "Nothing yet.", "Noch nichts.";
    ACTIONS: "Last actions on apps", "Letzte Eingriffe bei Apps";

    ATTENTION: "To look at", "Zu beachten";
    LACKS_RIGHT: "The service lacks the right {0}: {1}", "Dem Dienst fehlt das Recht {0}: {1}";
    RESTS: "brisk does without this part, as the service ended in it {0} times: {1}. Tried again by: {2}",
        "brisk verzichtet auf diesen Teil, weil der Dienst darin {0}-mal endete: {1}. Neuer Versuch mit: {2}";
    KILLERS: "{0} ends apps when memory is short, so brisk ends none.",
        "{0} beendet Apps, wenn Arbeitsspeicher knapp ist, also beendet brisk keine.";

    DEVICES: "Disks", "Datenträger";
    MANAGED: "managed", "verwaltet";
    MEASURED: "measured: {0}", "gemessen: {0}";
    NOT_MEASURED: "not measured yet (brisk tune)", "noch nicht gemessen (brisk tune)";
    LEFT_ALONE: "left alone", "nicht verwaltet";

    MEASURE: "Measure", "Messen";
    JOB_HOW: "A measurement takes one to fifteen minutes and writes work files, up to a gigabyte or some, which it \
              removes. Meanwhile brisk changes nothing. It can be stopped at any time.",
        "Eine Messung dauert eine bis fünfzehn Minuten und schreibt Arbeitsdateien von bis zu einigen Gigabyte, die \
         sie wieder löscht. Währenddessen verändert brisk nichts. Sie lässt sich jederzeit abbrechen.";
    JOB_ASK: "Begin this measurement?", "Diese Messung beginnen?";
    JOB_TUNE: "Find settings", "Einstellungen finden";
    JOB_BENCH: "Benchmark", "Geschwindigkeit messen";
    JOB_PROFILE: "Costs of settings", "Kosten der Einstellungen";
    JOB_SYSTEM: "Storage of the system", "Datenträger des Systems";
    JOB_RUNS: "runs since {0}", "läuft seit {0}";
    JOB_DONE: "complete, {0}", "fertig, {0}";
    JOB_FAILED: "failed, {0}", "gescheitert, {0}";
    JOB_STOPPED: "stopped, {0}", "abgebrochen, {0}";
    JOB_STOP: "Stop", "Abbrechen";
    JOB_SAID: "What it said", "Was sie meldete";
    DONE_JOB: "The measurement has begun.", "Die Messung hat begonnen.";
    DONE_STOP: "The measurement stops, and puts everything back.", "Die Messung endet und setzt alles zurück.";

    CONFIG: "Configuration", "Konfiguration";
    CONFIG_EDIT: "Edit the configuration", "Konfiguration bearbeiten";
    TO_PAGE: "To the page", "Zur Seite";
    CONFIG_HOW: "This is {0}. The service checks a text before it takes it, with all its other files, and reads it at \
                 once; comments stay.",
        "Dies ist {0}. Der Dienst prüft einen Text mit allen seinen anderen Dateien, bevor er ihn übernimmt, und liest \
         ihn sofort; Kommentare bleiben.";
    CONFIG_TEXT: "Text of the file", "Text der Datei";
    CONFIG_CHECK: "Check", "Prüfen";
    CONFIG_SAVE: "Save", "Speichern";
    CONFIG_DISCARD: "Discard changes", "Änderungen verwerfen";
    CONFIG_DIFF: "What changes", "Was sich ändert";
    CONFIG_SAME: "This is the text that is in use.", "Dieser Text ist in Gebrauch.";
    CONFIG_USABLE: "This text can be used. Save it to have it read.",
        "Dieser Text ist brauchbar. Zum Übernehmen speichern.";
    CONFIG_SAVED: "It is saved, and the service has read it.", "Er ist gespeichert, und der Dienst hat ihn gelesen.";
    LINES_LEFT_OUT: "{0} unchanged lines", "{0} unveränderte Zeilen";

    BACK: "Put everything back", "Alles zurücksetzen";
    BACK_HOW: "Every setting gets its value from before brisk, and brisk pauses until you let it go on.",
        "Jede Einstellung erhält ihren Wert von vor brisk, und brisk pausiert, bis Sie es weiterlaufen lassen.";
    BACK_ASK: "Put every setting back and pause brisk?", "Alle Einstellungen zurücksetzen und brisk pausieren?";
    GO_ON: "Let brisk go on", "brisk weiterlaufen lassen";
    DONE: "Done.", "Erledigt.";
    DONE_BACK: "Everything is as before brisk: {0} settings were put back.",
        "Alles ist wie vor brisk: {0} Einstellungen wurden zurückgesetzt.";
    DONE_LEFT: "{0} settings were put back; these stay as they are: {1}",
        "{0} Einstellungen wurden zurückgesetzt; diese bleiben, wie sie sind: {1}";
    DONE_SWITCH: "{0} is switched: {1}.", "{0} ist geschaltet: {1}.";
    REFUSED: "The service refuses: {0}. As root, run: {1}", "Der Dienst lehnt ab: {0}. Als root ausführen: {1}";
    FAILED: "That did not work: {0}", "Das hat nicht geklappt: {0}";

    COST: "What brisk itself costs: {0} of memory, and {1} s of processor time since {2}. This page's program: {3} of \
           memory, while it runs.",
        "Was brisk selbst kostet: {0} Arbeitsspeicher und {1} s Rechenzeit seit {2}. Das Programm dieser Seite: {3} \
         Arbeitsspeicher, solange es läuft.";
    LOCAL: "This page stays on this device: it asks no other machine.",
        "Diese Seite bleibt auf diesem Gerät: Sie fragt keine andere Maschine.";
    VERSION: "brisk {0}, configuration {1}", "brisk {0}, Konfiguration {1}";
    DENIED: "This browser was not let in", "Dieser Browser wurde nicht eingelassen";
    DENIED_HOW: "A link of brisk web works once. For a new one, run: brisk web --open",
        "Ein Link von brisk web gilt einmal. Für einen neuen ausführen: brisk web --open";
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_text_has_the_same_places_in_all_languages() {
        for (name, text) in ALL {
            let places = |of: &str| -> BTreeSet<String> {
                of.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0.to_owned())).collect()
            };
            assert_eq!(places(text.english), places(text.german), "{name}");
        }
    }

    #[test]
    fn no_text_is_left_out_of_a_language() {
        // These are the same words in both.
        let same = ["GAIN_OF", "APPS", "APP", "NUMBER"];
        for (name, text) in ALL {
            assert!(!text.english.is_empty() && !text.german.is_empty(), "{name}");
            assert!(text.english != text.german || same.contains(name), "{name}");
        }
    }

    #[test]
    fn values_stand_in_their_places_and_change_no_other_text() {
        let filled = Language::English.fill(RANGE, &[&"{1}", &2, &"<3>"]);
        assert_eq!(filled, "{1} (2 to <3>)");
        assert_eq!(Language::German.percent(3.25), "3,2\u{a0}%");
        assert_eq!(Language::English.percent(38.2), "38\u{a0}%");
        assert_eq!(Language::of("de-AT,en;q=0.5"), Language::German);
        assert_eq!(Language::of("fr,de"), Language::English);
    }

    #[test]
    fn a_moment_says_as_much_as_is_needed() {
        let now = 1_795_000_000_000;
        let say = |ago_ms: u64| Language::English.moment(now - ago_ms, now);
        assert_eq!(say(0).len(), 5);
        assert!(say(3 * 86_400_000).starts_with(char::is_alphabetic));
        assert!(say(30 * 86_400_000).starts_with("20"));
    }
}
