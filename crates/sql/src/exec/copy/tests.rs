use super::*;
use syntax::ast::CopyDirection;

fn format(kind: Kind) -> CopyFormat {
    let mut format = CopyFormat::from_options(&[], CopyDirection::From).unwrap();
    if kind == Kind::Csv {
        format.kind = Kind::Csv;
        format.delimiter = b',';
        format.null = Vec::new();
    }
    format
}

/// Feeds `input` in pieces of `piece` bytes; fields as text, nulls as "NULL".
fn read(kind: Kind, input: &[u8], piece: usize) -> Vec<Vec<String>> {
    read_as(format(kind), input, piece)
}

fn read_as(format: CopyFormat, input: &[u8], piece: usize) -> Vec<Vec<String>> {
    let mut reader = CopyReader::new(format);
    let mut record = Record::default();
    let mut records = Vec::new();
    let mut pieces = input.chunks(piece);
    loop {
        let more = pieces.next();
        if let Some(more) = more {
            reader.input().extend_from_slice(more);
        }
        while reader.next(more.is_none(), &mut record, &|_| (false, false)).unwrap() {
            let field = |i| match record.field(i) {
                None => "NULL".to_owned(),
                Some(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
            };
            records.push((0..record.len()).map(field).collect());
        }
        if more.is_none() {
            return records;
        }
    }
}

#[test]
fn text_escapes_and_nulls_in_pieces_of_any_size() {
    let input = b"1\ta\\tb\t\\N\r\n2\t\\\\N\\x41\\101\t\r\n\\.\r\nnever";
    for piece in 1..input.len() {
        let records = read(Kind::Text, input, piece);
        assert_eq!(records, [vec!["1", "a\tb", "NULL"], vec!["2", "\\NAA", ""]], "{piece}");
    }
}

#[test]
fn csv_quotes_across_lines_and_tells_empty_from_null() {
    let input = b"1,\"a,\"\"b\"\"\nc\",\n2,\"\",x";
    for piece in 1..input.len() {
        let records = read(Kind::Csv, input, piece);
        assert_eq!(records, [vec!["1", "a,\"b\"\nc", "NULL"], vec!["2", "", "x"]], "{piece}");
    }
}

#[test]
fn csv_escapes_that_are_no_quotes_in_pieces_of_any_size() {
    let input = b"1,\"a\\\"\nb\\\\\",2\n";
    for piece in 1..input.len() {
        let format = CopyFormat { escape: b'\\', ..format(Kind::Csv) };
        assert_eq!(read_as(format, input, piece), [vec!["1", "a\"\nb\\", "2"]], "{piece}");
    }
}

/// Reads a record of what has come so far.
fn next(reader: &mut CopyReader, record: &mut Record) -> bool {
    reader.next(false, record, &|_| (false, false)).unwrap()
}

#[test]
fn lines_are_counted_in_pieces_of_any_size() {
    let input = b"1,\"a\r\nb\nc\"\n2,d\n";
    for size in 1..input.len() {
        let mut reader = CopyReader::new(format(Kind::Csv));
        let (mut record, mut lines) = (Record::default(), Vec::new());
        for piece in input.chunks(size) {
            reader.input().extend_from_slice(piece);
            while next(&mut reader, &mut record) {
                lines.push(record.line);
            }
        }
        assert_eq!(lines, [1, 4], "{size}");
    }
}

#[test]
fn what_was_looked_at_is_not_looked_at_again() {
    let pieces: [(Kind, &[u8]); 3] =
        [(Kind::Text, b"abc"), (Kind::Text, b"a\\t"), (Kind::Csv, b"\"a\"")];
    for (kind, piece) in pieces {
        let mut reader = CopyReader::new(format(kind));
        let mut record = Record::default();
        for _ in 0..3 {
            reader.input().extend_from_slice(piece);
            assert!(!next(&mut reader, &mut record));
            // Whoever looked once more would see the line end here.
            reader.input().fill(b'\n');
        }
        reader.input().extend_from_slice(b"z\nabc\n");
        assert!(next(&mut reader, &mut record));
        let mut whole = vec![b'\n'; 3 * piece.len()];
        whole.push(b'z');
        assert_eq!(record.raw, whole, "{kind:?}");
        assert!(next(&mut reader, &mut record));
        assert_eq!(record.raw, b"abc");
        assert!(!next(&mut reader, &mut record));
    }
}

#[test]
fn an_open_quote_is_an_error() {
    let mut reader = CopyReader::new(format(Kind::Csv));
    reader.input().extend_from_slice(b"1,\"open\n");
    let error = reader.next(true, &mut Record::default(), &|_| (false, false)).unwrap_err();
    assert_eq!(error.message(), "unterminated CSV quoted field");
}

#[test]
fn what_is_written_reads_back() {
    let values: [Option<&[u8]>; 4] = [Some(b"a\tb\n\\"), None, Some(b""), Some(b"\"q\",")];
    for kind in [Kind::Text, Kind::Csv] {
        let mut out = Vec::new();
        write_record(&format(kind), values.into_iter(), &|_| false, &mut out);
        let back = read(kind, &out, 7);
        assert_eq!(back, [vec!["a\tb\n\\", "NULL", "", "\"q\","]], "{kind:?}");
    }
}

/// All lines end as the first does, whatever comes in between; escaped, or in quotes, a break is a character.
#[test]
fn lines_that_end_otherwise_are_refused() {
    let refused = |kind: Kind, input: &[u8]| {
        let mut reader = CopyReader::new(format(kind));
        reader.input().extend_from_slice(input);
        let mut record = Record::default();
        loop {
            match reader.next(true, &mut record, &|_| (false, false)) {
                Ok(true) => {}
                Ok(false) => return String::new(),
                Err(error) => return error.to_string(),
            }
        }
    };
    for (input, told) in [
        (&b"a\nb\rc\n"[..], "carriage return"),
        (b"a\nb\r\n", "carriage return"),
        (b"a\r\nb\n", "newline"),
        (b"a\r\nb\r", "carriage return"),
        (b"a\rb\n", "newline"),
        (b"a\rb\r\n", "newline"),
    ] {
        let input_text = String::from_utf8_lossy(input);
        let text = format!("22P04: literal {told} found in data");
        assert_eq!(refused(Kind::Text, input), text, "{input_text:?}");
        let csv = format!("22P04: unquoted {told} found in data");
        assert_eq!(refused(Kind::Csv, input), csv, "{input_text:?}");
    }
    for input in [&b"a\nb\n"[..], b"a\rb\r", b"a\r\nb\r\n", b"a\r\n\"b\nc\"\r\n", b"a\n\"b\rc\""] {
        assert_eq!(refused(Kind::Csv, input), "");
    }
    assert_eq!(refused(Kind::Text, b"a\nb\\\rc\\\nd\n"), "");
}
