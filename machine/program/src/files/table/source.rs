//! The text of a table: of a file, of standard input (`-`), or of a pipe (`<(zcat day.csv.gz)`), packed by gzip or not.

use std::fs::File;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use crate::files::read::{Error, open, read_stream};

/// How files begin that are packed in another way than by gzip, and the program that unpacks them.
const PACKED: [(&[u8], &str); 4] =
    [(b"\x28\xb5\x2f\xfd", "zstdcat"), (b"\xfd7zXZ", "xzcat"), (b"BZh", "bzcat"), (b"PK\x03\x04", "unzip -p")];

/// Reads the text of a table, of at most `limit_bytes` when it is unpacked. It is read once from its begin to its end,
/// so a pipe will do; one that has no writer yet is waited for. A text in UTF-16, as some programs save tables, is
/// converted.
///
/// # Errors
/// As [`crate::files::read`] and [`crate::files::read_text`], and [`Error::Packed`].
pub fn read(path: &Path, limit_bytes: u64) -> Result<String, Error> {
    let bytes = if path.as_os_str() == "-" {
        let name = Path::new("standard input");
        return text(read_stream(std::io::stdin().lock(), name, limit_bytes)?, name, limit_bytes);
    } else {
        let failed = |source| Error::Io { path: path.to_owned(), source };
        let is_pipe = std::fs::metadata(path).map_err(failed)?.file_type().is_fifo();
        let file = if is_pipe { File::open(path).map_err(failed)? } else { open(path)? };
        let size_bytes = file.metadata().map_or(0, |metadata| metadata.len());
        if size_bytes > limit_bytes {
            return Err(Error::TooLarge { path: path.to_owned(), size_bytes: Some(size_bytes), limit_bytes });
        }
        read_stream(file, path, limit_bytes)?
    };
    text(bytes, path, limit_bytes)
}

fn text(mut bytes: Vec<u8>, path: &Path, limit_bytes: u64) -> Result<String, Error> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        bytes = read_stream(flate2::read::MultiGzDecoder::new(&bytes[..]), path, limit_bytes)?;
    }
    if let Some((_, by)) = PACKED.iter().find(|(begin, _)| bytes.starts_with(begin)) {
        return Err(Error::Packed { path: path.to_owned(), by });
    }
    match bytes[..] {
        [0xff, 0xfe, ..] => of_utf16(&bytes[2..], u16::from_le_bytes, path),
        [0xfe, 0xff, ..] => of_utf16(&bytes[2..], u16::from_be_bytes, path),
        _ => String::from_utf8(bytes)
            .map_err(|error| Error::not_text(path, error.as_bytes(), error.utf8_error().valid_up_to())),
    }
}

fn of_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16, path: &Path) -> Result<String, Error> {
    let units = bytes.chunks(2).map(|pair| unit([pair[0], pair.get(1).copied().unwrap_or_default()]));
    let text: Result<String, _> = char::decode_utf16(units).collect();
    text.map_err(|_| Error::not_text(path, &[], 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    const TEXT: &str = "app,größe\nmail,1\n";

    #[test]
    fn packed_and_utf_16_texts_are_the_same_text() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("table");
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        packed.write_all(TEXT.as_bytes()).expect("packed");
        let utf16 = |begin: [u8; 2], bytes: fn(u16) -> [u8; 2]| {
            begin.into_iter().chain(TEXT.encode_utf16().flat_map(bytes)).collect::<Vec<u8>>()
        };
        for bytes in [
            TEXT.as_bytes().to_vec(),
            packed.finish().expect("packed"),
            utf16([0xff, 0xfe], u16::to_le_bytes),
            utf16([0xfe, 0xff], u16::to_be_bytes),
        ] {
            std::fs::write(&path, &bytes).expect("written");
            assert_eq!(read(&path, 1000).expect("a text"), TEXT, "{bytes:?}");
        }
    }

    #[test]
    fn a_pipe_is_read_to_its_end() {
        let dir = tempfile::tempdir().expect("a directory");
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a FIFO");
        let name = fifo.clone();
        let writer = std::thread::spawn(move || std::fs::write(name, TEXT));
        assert_eq!(read(&fifo, 1000).expect("a text"), TEXT);
        writer.join().expect("ended").expect("written");
    }

    #[test]
    fn what_cannot_be_a_table_is_refused_with_its_reason() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("table");
        for (bytes, words) in [
            (b"a,b\n1,x\xff\n".as_slice(), "byte 7 (line 2) is not UTF-8"),
            (b"PK\x03\x04abc", "unzip -p"),
            (b"\xfd7zXZ\x00", "xzcat"),
            (&[b'x'; 101], "at most 100 B"),
            (b"\x1f\x8b\x08cut off", "cannot read"),
        ] {
            std::fs::write(&path, bytes).expect("written");
            let said = read(&path, 100).expect_err(words).to_string();
            assert!(said.contains(words) && said.contains("table"), "{said}");
        }
        for other in [dir.path(), Path::new("/dev/zero")] {
            assert!(matches!(read(other, 100), Err(Error::NotRegular { .. })), "{}", other.display());
        }
        assert!(read(&dir.path().join("gone"), 100).expect_err("missing").is_missing());
        // A packed file that unpacks to more than the limit.
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packed.write_all(&[b'x'; 100_000]).expect("packed");
        std::fs::write(&path, packed.finish().expect("packed")).expect("written");
        assert!(matches!(read(&path, 1000), Err(Error::TooLarge { .. })));
    }
}
