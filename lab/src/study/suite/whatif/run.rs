//! `brisk suite whatif`: the launches of a suite, and SQLite, with parts of the storage bypassed.

use std::process::ExitCode;

use crate::command::device::phone as lab_phone;
use crate::launch::Launcher;
use crate::phone::suite::{self, Study};
use crate::phone::{SqliteSpec, Variant};
use crate::results::{Document, WhatIfReport};
use crate::study::launch::settings;
use crate::study::other_daemons;
use crate::study::suite::bed::{self, Bed, Made, end, stopped, warn};
use crate::study::suite::whatif::arguments::WhatIfArgs;
use crate::study::suite::{FEW_APPS, temperatures};

pub(crate) fn run(args: &WhatIfArgs) -> anyhow::Result<ExitCode> {
    let (launches, every) = (&args.launches, &args.launches.every);
    let Bed { session, mut phone, mut display, mut head, apps, runs } = match bed::make(every, &FEW_APPS)? {
        Made::Bed(bed) => *bed,
        Made::Stopped(code) => return Ok(code),
    };
    let mut variants = vec![Variant::Baseline];
    let wanted = match args.variants.as_slice() {
        [] => Variant::ALL.to_vec(),
        names => names.iter().map(|name| lab_phone::variant(name)).collect(),
    };
    variants.extend(wanted.into_iter().filter(|variant| *variant != Variant::Baseline));
    let name = display.name().to_owned();
    let study = Study {
        variants,
        temperatures: temperatures(launches),
        rounds: usize::from(runs),
        sqlite: SqliteSpec { span: args.sqlite, ..SqliteSpec::default() },
        display: &name,
    };
    let sense = session.sense();
    let facts = phone.facts()?;
    let settings = settings(&every.watching, !launches.keep_caches);
    let launcher = Launcher { sense: &sense, settings, stop: session.stop_flag() };
    let mut progress = |done: f64, doing: &str| session.show(done, doing);
    let outcome = suite::what_if(&launcher, &mut phone, &apps, &study, display.needed()?, &mut progress);
    session.clear();
    let (outcome, sqlite) = match outcome {
        Err(crate::phone::Error::Stopped) => return stopped(&session, phone),
        other => other?,
    };
    let failed = warn(&mut head, &phone, &outcome, runs)?;
    head.warn(other_daemons::warnings(&sense, &phone)?);
    let report = WhatIfReport {
        header: end(head, &facts, 0),
        phone: facts,
        conditions: outcome.conditions,
        apps: outcome.apps,
        sqlite,
    };
    phone.down(true)?.iter().for_each(|sentence| brisk_program::info!("{sentence}"));
    session.finish(Document::from(report), &every.outputs)?;
    Ok(ExitCode::from(u8::from(failed)))
}
