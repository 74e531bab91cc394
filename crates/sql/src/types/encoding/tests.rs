use super::*;

#[test]
fn names_are_found_in_any_spelling() {
    let name = |text| Encoding::by_name(text).map(Encoding::name);
    assert_eq!(name("iso-8859-15"), Some("LATIN9"));
    assert_eq!(name("latin 1"), Some("LATIN1"));
    assert_eq!(name("Windows-1252"), Some("WIN1252"));
    assert_eq!(name("unicode"), Some("UTF8"));
    assert_eq!(name("sql_ascii"), Some("SQL_ASCII"));
    assert_eq!(name("iso_8859_5"), Some("ISO_8859_5"));
    assert_eq!(name("nope"), None);
    assert_eq!(Encoding::unsupported("euc-jp"), Some("EUC_JP"));
}

#[test]
fn the_setting_knows_all() {
    assert!(Encoding::all().map(Encoding::name).eq(NAMES.iter().copied()));
}

#[test]
fn every_byte_comes_back() {
    for encoding in Encoding::all().filter(|e| !e.is_plain()) {
        for byte in 1..=255u8 {
            let Ok(text) = encoding.decode(&[byte]) else { continue };
            let mut bytes = Vec::new();
            encoding.encode(&text, &mut bytes).unwrap();
            assert_eq!(bytes, [byte], "{}", encoding.name());
        }
    }
}

#[test]
fn what_has_no_equivalent_is_told_as_postgresql_does() {
    let latin1 = Encoding::by_name("LATIN1").unwrap();
    let error = latin1.encode("a€", &mut Vec::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "22P05: character with byte sequence 0xe2 0x82 0xac in encoding \"UTF8\" has no equivalent in encoding \"LATIN1\""
    );
    let win1252 = Encoding::by_name("WIN1252").unwrap();
    assert_eq!(win1252.decode(b"\x80").unwrap(), "€");
    let error = win1252.decode(b"\x81").unwrap_err();
    assert_eq!(
        error.to_string(),
        "22P05: character with byte sequence 0x81 in encoding \"WIN1252\" has no equivalent in encoding \"UTF8\""
    );
    assert!(latin1.decode(b"a\0").is_err());
    assert_eq!(latin1.encode_lossy("é€"), b"\xe9?");
}

#[test]
fn texts_within_binary_values_are_converted() {
    let latin1 = Encoding::by_name("LATIN1").unwrap();
    let array = |text: &[u8]| {
        let mut bytes = Vec::new();
        for number in [1, 0, TypeId::TEXT.0 as i32, 2, 1, -1, text.len() as i32] {
            bytes.extend_from_slice(&i32::to_be_bytes(number));
        }
        bytes.extend_from_slice(text);
        bytes
    };
    let (there, here) = (array(b"\xe9"), array("é".as_bytes()));
    assert_eq!(latin1.encode_binary(TypeId::TEXT_ARRAY, &here).unwrap(), there);
    assert_eq!(latin1.decode_binary(TypeId::TEXT_ARRAY, &there).unwrap(), here);
    assert_eq!(latin1.encode_binary(TypeId::INT4, &[0, 0, 0, 0xe9]).unwrap(), [0, 0, 0, 0xe9]);
}
