//! Documents in the phone user's `~/Documents`: a page, a letter, a report, a sheet, notes and a picture.
//!
//! They are generated from a seed, so that images are reproducible, need no app for their creation, and contain no
//! private text. Sizes are those of everyday documents: some pages, a thousand rows, a photograph of a megapixel.

use std::fmt::Write as _;
use std::sync::LazyLock;

use brisk_core::random::Random;

const SEED: u64 = 0x62_7269_736b;
const PAGES: usize = 12;
const ROWS: u32 = 1_000;
const PICTURE: (u32, u32) = (1280, 720);

static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "about after again along always another answer around because before begin below between carry change city \
     close country different earth every example family father follow found great group house important keep \
     large later learn leave letter light little might mother mountain never often other paper people picture \
     place plant point question right river school second sentence should small something sometimes sound \
     spell still story study their there thing think those thought three together turn under until water where \
     which while white without world would write young"
        .split(' ')
        .collect()
});

/// A document and its file name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Document {
    pub(crate) name: &'static str,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) fn all() -> Vec<Document> {
    let text = |name, text: String| Document { name, bytes: text.into_bytes() };
    vec![
        text("page.html", page()),
        text("letter.fodt", letter()),
        text("sheet.csv", sheet()),
        text("notes.txt", notes()),
        Document { name: "report.pdf", bytes: report() },
        Document { name: "picture.png", bytes: picture() },
    ]
}

fn random(stream: u64) -> Random {
    Random::stream(SEED, stream)
}

fn sentence(random: &mut Random) -> String {
    let count = 6 + random.below(10);
    let words: Vec<&str> = (0..count).map(|_| WORDS[random.place(WORDS.len())]).collect();
    let text = words.join(" ");
    let (first, rest) = text.split_at(1);
    format!("{}{rest}.", first.to_uppercase())
}

fn paragraph(random: &mut Random) -> String {
    let count = 4 + random.below(5);
    (0..count).map(|_| sentence(random)).collect::<Vec<_>>().join(" ")
}

fn page() -> String {
    let random = &mut random(1);
    let mut html = String::from(
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8><title>The phone's \
         page</title>\n<style>body{font:16px sans-serif;margin:2em;max-width:60em} img{float:right;width:24em;margin:0 \
         0 1em 1em} section{border-top:1px solid #ccc;padding:1em 0}</style></head><body>\n<h1>The phone's page</h1>\n\
         <img src=picture.png alt=''>\n",
    );
    for number in 1..=40 {
        let _ =
            writeln!(html, "<section><h2>{number}. {}</h2><p>{}</p></section>", sentence(random), paragraph(random));
    }
    html + "</body></html>\n"
}

/// OpenDocument as one XML file, which LibreOffice turns into the usual kind.
fn letter() -> String {
    let random = &mut random(2);
    let mut xml = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<office:document \
         xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" \
         xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\" office:version=\"1.3\" \
         office:mimetype=\"application/vnd.oasis.opendocument.text\"><office:body><office:text>\n",
    );
    for number in 1..=PAGES {
        let _ = writeln!(xml, "<text:h text:outline-level=\"1\">{number}. {}</text:h>", sentence(random));
        for _ in 0..8 {
            let _ = writeln!(xml, "<text:p>{}</text:p>", paragraph(random));
        }
    }
    xml + "</office:text></office:body></office:document>\n"
}

fn sheet() -> String {
    let random = &mut random(3);
    (1..=ROWS).fold(String::from("number,square,share,amount,remark\n"), |mut csv, row| {
        let amount = random.below(1_000_000) as f64 / 100.0;
        let (square, share) = (row * row, f64::from(row) / 7.0);
        let _ = writeln!(csv, "{row},{square},{share:.5},{amount:.2},{}", WORDS[random.place(WORDS.len())]);
        csv
    })
}

fn notes() -> String {
    let random = &mut random(4);
    (1..=2_000).fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{line}: {}", sentence(random));
        text
    })
}

/// A report in the oldest form of PDF (1.4) that every reader takes: text in one of the fourteen standard fonts.
fn report() -> Vec<u8> {
    let random = &mut random(5);
    let font = 3 + 2 * PAGES;
    let kids: Vec<String> = (0..PAGES).map(|page| format!("{} 0 R", 3 + 2 * page)).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Count {PAGES} /Kids [{}] >>", kids.join(" ")),
    ];
    for page in 1..=PAGES {
        let content = 2 + 2 * page;
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {content} 0 R \
             /Resources << /Font << /F {font} 0 R >> >> >>"
        ));
        let mut stream = format!("BT /F 18 Tf 60 780 Td (Page {page}) Tj /F 10 Tf 0 -30 Td 14 TL\n");
        for _ in 0..45 {
            let line: String = paragraph(random).chars().take(88).collect();
            let _ = writeln!(stream, "({line}) Tj T*");
        }
        stream.push_str("ET");
        objects.push(format!("<< /Length {} >>\nstream\n{stream}\nendstream", stream.len()));
    }
    objects.push("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned());

    let mut pdf = String::from("%PDF-1.4\n");
    let mut places = Vec::new();
    for (number, object) in (1..).zip(&objects) {
        places.push(pdf.len());
        let _ = write!(pdf, "{number} 0 obj\n{object}\nendobj\n");
    }
    let table = pdf.len();
    let count = objects.len() + 1;
    let _ = write!(pdf, "xref\n0 {count}\n0000000000 65535 f \n");
    for place in places {
        let _ = writeln!(pdf, "{place:010} 00000 n ");
    }
    let _ = write!(pdf, "trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n");
    pdf.into_bytes()
}

/// A picture with large shapes and grain like a photograph.
fn picture() -> Vec<u8> {
    let random = &mut random(6);
    let (width, height) = PICTURE;
    let mut pixels = Vec::with_capacity(width as usize * height as usize * 3);
    for y in 0..height {
        for x in 0..width {
            let (u, v) = (f64::from(x) / f64::from(width), f64::from(y) / f64::from(height));
            let grain = random.below(16) as f64 - 8.0;
            let hills = ((u * 9.0).sin() + (u * 23.0).cos() * 0.4) * 0.1 + 0.6;
            let colour =
                if v < hills { [90.0 + 90.0 * v, 150.0 + 60.0 * v, 230.0] } else { [70.0, 160.0 - 120.0 * v, 60.0] };
            pixels.extend(colour.map(|part| (part + grain).clamp(0.0, 255.0) as u8));
        }
    }
    png_of(PICTURE, &pixels)
}

/// Encodes RGB pixels as PNG.
pub(crate) fn png_of((width, height): (u32, u32), rgb: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(rgb))
        .expect("it goes to memory, and has three bytes for each pixel");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(name: &str) -> Vec<u8> {
        all().into_iter().find(|document| document.name == name).expect("it is made").bytes
    }

    #[test]
    fn documents_are_reproducible() {
        assert!(all() == all());
    }

    #[test]
    fn the_cross_reference_of_the_report_points_at_its_objects() {
        let pdf = String::from_utf8(bytes("report.pdf")).expect("text");
        let table: usize = pdf.lines().rev().nth(1).expect("startxref").parse().expect("a number");
        let mut lines = pdf[table..].lines();
        assert_eq!(lines.next(), Some("xref"));
        let places = lines.skip(2).take_while(|line| line.ends_with("n "));
        let mut count = 0;
        for (number, place) in (1..).zip(places) {
            let place: usize = place[..10].parse().expect("ten digits");
            assert!(pdf[place..].starts_with(&format!("{number} 0 obj")), "{number}");
            count += 1;
        }
        assert_eq!(count, 2 + 2 * PAGES + 1);
        for (at, _) in pdf.match_indices("/Length ") {
            let length: usize = pdf[at + 8..].split(' ').next().expect("a word").parse().expect("a number");
            let start = at + pdf[at..].find("stream\n").expect("a stream") + 7;
            assert!(pdf[start + length..].starts_with("\nendstream"));
        }
    }

    #[test]
    fn the_picture_is_a_valid_png() {
        let file = bytes("picture.png");
        let decoder = png::Decoder::new(std::io::Cursor::new(&file));
        let reader = decoder.read_info().expect("a PNG");
        assert_eq!((reader.info().width, reader.info().height), PICTURE);
        assert!((500_000..4_000_000).contains(&file.len()), "{}", file.len());
    }

    #[test]
    fn every_row_of_the_sheet_has_five_fields() {
        let csv = String::from_utf8(bytes("sheet.csv")).expect("text");
        assert_eq!(csv.lines().count() as u32, ROWS + 1);
        assert!(csv.lines().all(|line| line.split(',').count() == 5));
    }
}
