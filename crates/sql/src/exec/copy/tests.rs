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
    let mut reader = CopyReader::new(format(kind));
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
    let input = b"1\ta\\tb\t\\N\n2\t\\\\N\\x41\\101\t\r\n\\.\nnever";
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
