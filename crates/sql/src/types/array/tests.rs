use super::*;
use crate::types::context::{FormatContext, IoContext};
use crate::types::{TimestampTz, TypeMod, input, output_string, testing::NoNames};

fn round_trip(text: &str) -> String {
    let format = FormatContext::new();
    let cx = IoContext { format: &format, now: TimestampTz(0), names: &NoNames };
    match input(TypeId::TEXT_ARRAY, TypeMod::NONE, text, &cx) {
        Ok(value) => output_string(TypeId::TEXT_ARRAY, &value, &cx).unwrap(),
        Err(error) => format!(
            "{}: {}",
            error.sqlstate(),
            error.fields().detail.as_deref().unwrap_or(error.message())
        ),
    }
}

#[test]
fn text_round_trips_with_quotes_where_needed() {
    for text in [
        "{}",
        "{a,b}",
        "{{a,b},{c,d}}",
        "{NULL,\"NULL\",\"\",\"a b\",\"x\\\"y\\\\\",ä}",
        "[2:3]={a,b}",
        "[0:0][-1:0]={{x,y}}",
    ] {
        assert_eq!(round_trip(text), text);
    }
    assert_eq!(round_trip(" { a b ,  \" c\" , d\\  } "), "{\"a b\",\" c\",\"d \"}");
}

#[test]
fn malformed_text_is_refused_with_the_reason() {
    for (text, reason) in [
        ("x", "22P02: Array value must start with \"{\" or dimension information."),
        ("{a", "22P02: Unexpected end of input."),
        ("{a}b", "22P02: Junk after closing right brace."),
        ("{a,}", "22P02: Unexpected \"}\" character."),
        ("{{}}", "22P02: Unexpected \"}\" character."),
        ("{a,{b}}", "22P02: Unexpected \"{\" character."),
        (
            "{{a},{b,c}}",
            "22P02: Multidimensional arrays must have sub-arrays with matching dimensions.",
        ),
        ("[1:2]={a}", "22P02: Specified array dimensions do not match array contents."),
        ("[3:2]={a}", "2202E: upper bound cannot be less than lower bound"),
    ] {
        assert_eq!(round_trip(text), reason, "{text}");
    }
}

#[test]
fn slices_and_elements() {
    let array = Array {
        element_type: TypeId::INT4,
        dims: vec![Dimension { len: 2, lower: 1 }, Dimension { len: 3, lower: 0 }],
        elements: (1..=6).map(Datum::Int4).collect(),
    };
    assert_eq!(array.get(&[2, 1]).as_int4(), 5);
    assert!(array.get(&[3, 1]).is_null());
    let slice = array.slice(&[(Some(2), None), (None, Some(1))]);
    assert_eq!(format!("{:?}", slice.elements), "[Int4(4), Int4(5)]");
    let grown = Array::from_elements(TypeId::INT4, vec![Datum::Int4(1)])
        .with_element(&[-1], Datum::Int4(9))
        .unwrap();
    assert_eq!(grown.dims, [Dimension { len: 3, lower: -1 }]);
}

#[test]
fn arrays_are_no_larger_than_values() {
    let refused = |made: Result<Array>| made.unwrap_err().to_string();
    let error = "54000: array size exceeds the maximum allowed (1073741823)";
    // 100 MB, which all elements share.
    let piece = Datum::from("x".repeat(100 << 20));
    let full = Array::from_elements(TypeId::TEXT, vec![piece.clone(); 10]).checked().unwrap();
    assert_eq!(full.elements.len(), 10);
    let more = Array::from_elements(TypeId::TEXT, vec![piece.clone(); 11]);
    assert_eq!(refused(more.checked()), error);
    assert_eq!(refused(full.with_element(&[11], piece.clone())), error);
    assert!(full.with_element(&[11], Datum::Null).is_ok());
    assert!(full.with_element(&[10], piece).is_ok());
    assert_eq!(refused(full.with_slice(&[(Some(6), Some(15))], &full)), error);
}
