//! One page for each device, and an index of them: what a run of several measurements leaves.

use crate::results::Document;
use maud::{Markup, html};

use super::{article, frame, ordered, render};
use crate::facts::device_name;
use crate::kind::{Kinds, Rank};
use crate::section::Section;
use crate::{Link, Page, format, papers};

/// File of the index.
const INDEX: &str = "index.html";

/// The documents of one device.
struct Device {
    /// As pages are headed.
    name: String,
    /// As a person would call it.
    words: String,
    file: String,
    documents: Vec<Document>,
}

/// See [`crate::pages`].
pub(crate) fn pages(kinds: Kinds, documents: &[Document]) -> Vec<Page> {
    let devices = devices(documents);
    let index = Page { name: INDEX.to_owned(), html: index(kinds, documents, &devices) };
    let page = |device: &Device| {
        let others = devices.iter().filter(|other| other.file != device.file);
        let links = std::iter::once(Link { href: INDEX.to_owned(), words: "All results".to_owned() })
            .chain(others.map(|other| Link { href: other.file.clone(), words: other.words.clone() }));
        Page { name: device.file.clone(), html: render(&device.documents, &links.collect::<Vec<_>>()) }
    };
    std::iter::once(index).chain(devices.iter().map(page)).collect()
}

/// Documents by device, proofs first.
fn devices(documents: &[Document]) -> Vec<Device> {
    let mut devices: Vec<Device> = Vec::new();
    for document in ordered(documents) {
        let name = device_name(document.header(), &document.section());
        if let Some(known) = devices.iter_mut().find(|device| device.name == name) {
            known.documents.push(document.clone());
            continue;
        }
        let taken = |file: &str| file == INDEX || devices.iter().any(|device| device.file == file);
        let stem = file_stem(&name);
        let numbered = (2..).map(|n| format!("{stem}-{n}.html"));
        let file = std::iter::once(format!("{stem}.html")).chain(numbered).find(|file| !taken(file));
        let file = file.expect("one of endless names is free");
        let words = in_words(&name, document);
        devices.push(Device { name, words, file, documents: vec![document.clone()] });
    }
    devices
}

/// A device as a person would call it: the phone of a preset, the disk of this machine.
fn in_words(name: &str, document: &Document) -> String {
    let preset = name.strip_suffix(" (emulated)");
    match (preset, preset.and_then(papers::for_preset), document.rank()) {
        (_, Some(known), _) => format!("{} (emulated)", known.name()),
        (None, None, Rank::Benchmark) => format!("The disk of this machine ({name})"),
        _ => name.to_owned(),
    }
}

/// The name of a file for a device: what is no letter or digit becomes a hyphen.
fn file_stem(name: &str) -> String {
    let name = name.strip_suffix(" (emulated)").unwrap_or(name).to_ascii_lowercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let stem: String = words.join("-").chars().take(60).collect();
    if stem.is_empty() { "device".to_owned() } else { stem }
}

fn index(kinds: Kinds, documents: &[Document], devices: &[Device]) -> String {
    let sections = |device: &Device| -> Vec<Section> {
        ordered(&device.documents).into_iter().map(|document| document.section()).collect()
    };
    let verdict = crate::verdict(kinds, documents);
    // The first page's first result leads here too.
    let first = devices.first().and_then(|device| Some((device, sections(device).into_iter().next()?)));
    let entry = |device: &Device| -> Markup {
        let sections = sections(device);
        html! {
            section {
                h3 { a href=(device.file) { (device.words) } }
                dl.leads { @for section in &sections { dt { (section.title) } dd { (format::tight(&section.lead)) } } }
            }
        }
    };
    let content = html! {
        article {
            div.head { h2.kind { "Results" @if let Some((device, _)) = &first { " " span { (device.words) } } } }
            @if let Some((_, section)) = &first {
                p.lead { (format::tight(&section.lead)) }
                @if let (Some(figure), _) = section.pictured() {
                    section.picture { (article::drawings(&article::heading(figure), figure, "first")) }
                }
            }
            ul.points { @for sentence in verdict.iter().rev() { li { (format::tight(sentence)) } } }
            @for device in devices { (entry(device)) }
        }
    };
    let footer = html! { p { "Each page stands alone: it can be copied without the others." } };
    frame("Results · brisk", "", &html! {}, &content, &footer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_gives_a_name_that_every_file_system_bears() {
        for (name, stem) in [
            ("galaxy-s5-emmc (emulated)", "galaxy-s5-emmc"),
            ("ACME NV3 512GB", "acme-nv3-512gb"),
            ("/home/user", "home-user"),
            ("../../etc/passwd", "etc-passwd"),
            ("", "device"),
            ("\u{202e}\u{1b}[2J", "2j"),
        ] {
            assert_eq!(file_stem(name), stem);
        }
        assert_eq!(file_stem(&"x".repeat(300)).len(), 60);
    }
}
