//! Text functions, patterns, regular expressions, encodings, arrays.

use sql::types::TypeId;

use crate::Comparison;
use crate::calls::{NULL, call, call_declared, operator};

use TypeId as T;

const TEXTS: &[&str] =
    &["", "a", "abc", "Hello World", "  padded  ", "äöü ß €", "it's \\ here", "xyxyxy", "a.b.c"];

pub fn run(c: &mut Comparison) {
    pieces(c);
    padding(c);
    quoting(c);
    encodings(c);
    likes(c);
    expressions(c);
    expression_functions(c);
    arrays(c);
}

fn pieces(c: &mut Comparison) {
    for text in TEXTS {
        for name in [
            "length",
            "char_length",
            "octet_length",
            "bit_length",
            "lower",
            "upper",
            "initcap",
            "reverse",
            "ascii",
            "md5",
            "quote_ident",
            "quote_literal",
            "btrim",
            "ltrim",
            "rtrim",
        ] {
            call(c, name, &[(T::TEXT, text)]);
        }
        call(c, "length", &[(T::BPCHAR, text)]);
        for n in ["-3", "-1", "0", "1", "2", "5", "100"] {
            call(c, "left", &[(T::TEXT, text), (T::INT4, n)]);
            call(c, "right", &[(T::TEXT, text), (T::INT4, n)]);
            call(c, "substr", &[(T::TEXT, text), (T::INT4, n)]);
            call(c, "repeat", &[(T::TEXT, text), (T::INT4, n)]);
            for len in ["-1", "0", "2", "100", "2147483647"] {
                call(c, "substr", &[(T::TEXT, text), (T::INT4, n), (T::INT4, len)]);
                call(
                    c,
                    "overlay",
                    &[(T::TEXT, text), (T::TEXT, "XY"), (T::INT4, n), (T::INT4, len)],
                );
            }
            call(c, "overlay", &[(T::TEXT, text), (T::TEXT, "XY"), (T::INT4, n)]);
        }
        for other in ["", "a", "xy", ".", "ö", " "] {
            call(c, "position", &[(T::TEXT, text), (T::TEXT, other)]);
            call(c, "strpos", &[(T::TEXT, text), (T::TEXT, other)]);
            call(c, "starts_with", &[(T::TEXT, text), (T::TEXT, other)]);
            call(c, "replace", &[(T::TEXT, text), (T::TEXT, other), (T::TEXT, "<>")]);
            call(c, "btrim", &[(T::TEXT, text), (T::TEXT, other)]);
            call(c, "ltrim", &[(T::TEXT, text), (T::TEXT, other)]);
            call(c, "rtrim", &[(T::TEXT, text), (T::TEXT, other)]);
            operator(c, "||", &[(T::TEXT, text), (T::TEXT, other)]);
            for n in ["-2", "-1", "0", "1", "2", "3"] {
                call(c, "split_part", &[(T::TEXT, text), (T::TEXT, other), (T::INT4, n)]);
            }
        }
        call(c, "translate", &[(T::TEXT, text), (T::TEXT, "abxö"), (T::TEXT, "AB")]);
    }
    for n in ["0", "65", "228", "8364", "128512", "-1", "1114112", "55296"] {
        call(c, "chr", &[(T::INT4, n)]);
        call(c, "to_hex", &[(T::INT4, n)]);
        call(c, "to_hex", &[(T::INT8, n)]);
    }
    for (number, unit) in
        [("0", ""), ("10239", ""), ("10240", ""), ("123456789", ""), ("-123456789", "")]
    {
        call(c, "pg_size_pretty", &[(T::INT8, &format!("{number}{unit}"))]);
    }
}

fn padding(c: &mut Comparison) {
    for text in TEXTS {
        for n in ["-1", "0", "2", "8", "15"] {
            call(c, "lpad", &[(T::TEXT, text), (T::INT4, n)]);
            call(c, "rpad", &[(T::TEXT, text), (T::INT4, n)]);
            for fill in ["", "*", "ab", "ö"] {
                call(c, "lpad", &[(T::TEXT, text), (T::INT4, n), (T::TEXT, fill)]);
                call(c, "rpad", &[(T::TEXT, text), (T::INT4, n), (T::TEXT, fill)]);
            }
        }
    }
}

fn quoting(c: &mut Comparison) {
    for name in
        ["a", "A", "select", "user", "ä", "a b", "a\"b", "1a", "_a1", "a$b", "name", "time", ""]
    {
        call(c, "quote_ident", &[(T::TEXT, name)]);
    }
    for text in
        ["a.b", "\"A\".b", "a.", ".a", "a b", "\"a", "a.b.c.d", "", "A.B", "a . b", "1a", "\"\""]
    {
        call(c, "parse_ident", &[(T::TEXT, text), (T::BOOL, "t")]);
        call(c, "parse_ident", &[(T::TEXT, text), (T::BOOL, "f")]);
    }
    call(c, "quote_nullable", &[(T::TEXT, NULL)]);
    let formats = [
        "Hello %s",
        "%s %s",
        "%2$s %1$s",
        "%I and %L",
        "%%",
        "%",
        "%x",
        "%10s|",
        "%-10s|",
        "%*s|",
        "%1$*2$s|",
        "%0$s",
        "%5$s",
        "%s %",
        "%-*s|",
        "%2$-5s|",
    ];
    for format in formats {
        call_declared(
            c,
            "format",
            &[T::TEXT, T::ANY],
            T::TEXT,
            &[(T::TEXT, format), (T::TEXT, "World x"), (T::INT4, "7")],
        );
        call_declared(
            c,
            "format",
            &[T::TEXT, T::ANY],
            T::TEXT,
            &[(T::TEXT, format), (T::TEXT, NULL), (T::BOOL, "t")],
        );
        call(c, "format", &[(T::TEXT, format)]);
    }
    call_declared(
        c,
        "concat",
        &[T::ANY],
        T::TEXT,
        &[(T::TEXT, "a"), (T::INT4, "1"), (T::TEXT, NULL), (T::BOOL, "t")],
    );
    call_declared(
        c,
        "concat_ws",
        &[T::TEXT, T::ANY],
        T::TEXT,
        &[(T::TEXT, ", "), (T::NUMERIC, "1.50"), (T::TEXT, NULL), (T::DATE, "2024-01-01")],
    );
}

fn encodings(c: &mut Comparison) {
    let long = "x".repeat(57);
    let longer = "y".repeat(100);
    for bytes in ["", "a", "ab", "abc", "\\x00ff80", "a\\\\b", &long, &longer] {
        for format in ["hex", "base64", "escape", "HEX", "none"] {
            call(c, "encode", &[(T::BYTEA, bytes), (T::TEXT, format)]);
        }
        for name in
            ["md5", "sha224", "sha256", "sha384", "sha512", "length", "octet_length", "bit_count"]
        {
            call(c, name, &[(T::BYTEA, bytes)]);
        }
        for n in ["-1", "0", "1", "2", "7"] {
            call(c, "get_byte", &[(T::BYTEA, bytes), (T::INT4, n)]);
            call(c, "get_bit", &[(T::BYTEA, bytes), (T::INT8, n)]);
            call(c, "set_byte", &[(T::BYTEA, bytes), (T::INT4, n), (T::INT4, "300")]);
            call(c, "set_bit", &[(T::BYTEA, bytes), (T::INT8, n), (T::INT4, "1")]);
            call(c, "substr", &[(T::BYTEA, bytes), (T::INT4, n), (T::INT4, "2")]);
        }
        call(c, "btrim", &[(T::BYTEA, bytes), (T::BYTEA, "a")]);
        call(c, "position", &[(T::BYTEA, bytes), (T::BYTEA, "b")]);
    }
    for (text, format) in [
        ("YWJj", "base64"),
        ("YWI=", "base64"),
        ("YQ==", "base64"),
        ("YQ", "base64"),
        ("Y", "base64"),
        ("Y===", "base64"),
        ("Y W J j", "base64"),
        ("!", "base64"),
        ("YWJj=", "base64"),
        ("ä", "base64"),
        ("6162", "hex"),
        ("616", "hex"),
        ("6g", "hex"),
        ("a\\142", "escape"),
        ("a\\9", "escape"),
        ("=", "base64"),
        ("YQ=a", "base64"),
    ] {
        call(c, "decode", &[(T::TEXT, text), (T::TEXT, format)]);
    }
    for (bytes, charset) in [
        ("\\xc3a4", "UTF8"),
        ("\\xe4", "LATIN1"),
        ("\\xe4", "UTF8"),
        ("\\xc3", "utf-8"),
        ("a", "nonsense"),
        ("\\x00", "UTF8"),
        ("\\xc328", "UTF8"),
        ("\\xe282", "UTF8"),
        ("\\xf0288cbc", "UTF8"),
    ] {
        call(c, "convert_from", &[(T::BYTEA, bytes), (T::NAME, charset)]);
    }
    for (text, charset) in [("ä", "LATIN1"), ("€", "LATIN1"), ("ä", "UTF8"), ("a", "nonsense")]
    {
        call(c, "convert_to", &[(T::TEXT, text), (T::NAME, charset)]);
    }
}

fn likes(c: &mut Comparison) {
    let texts = ["", "a", "abc", "ABC", "a%c", "a_c", "äbc", "aXbXc", "a\\c", "abcabc", "%", "\\"];
    let patterns = [
        "", "%", "_", "a%", "%c", "a_c", "%b%", "a\\%c", "a\\_c", "\\\\", "\\", "a\\", "%\\", "__",
        "ä__", "%a%b%c%", "_%_", "%%", "A%", "%abc", "abc%abc", "a%\\", "x\\",
    ];
    for text in texts {
        for pattern in patterns {
            operator(c, "~~", &[(T::TEXT, text), (T::TEXT, pattern)]);
            operator(c, "!~~", &[(T::TEXT, text), (T::TEXT, pattern)]);
            operator(c, "~~*", &[(T::TEXT, text), (T::TEXT, pattern)]);
        }
    }
    for pattern in patterns {
        for escape in ["", "\\", "#", "ab", "a"] {
            call(c, "like_escape", &[(T::TEXT, pattern), (T::TEXT, escape)]);
            call(c, "similar_to_escape", &[(T::TEXT, pattern), (T::TEXT, escape)]);
        }
    }
    for pattern in
        ["a(b|c)%", "[a-c]+", "a{2}", "%(", "a.b", "^a$", "[\\]]", "a#\"b#\"c", "a?b*c+", "_|%"]
    {
        call(c, "similar_to_escape", &[(T::TEXT, pattern)]);
        for text in ["ab", "abc", "aa", "a.b", "xbx", "abbbc"] {
            call(c, "substring", &[(T::TEXT, text), (T::TEXT, pattern), (T::TEXT, "#")]);
        }
    }
    call(c, "substring", &[(T::TEXT, "foobar"), (T::TEXT, "%#\"o_b#\"%"), (T::TEXT, "#")]);
}

const PATTERNS: &[&str] = &[
    "",
    "a",
    "^a",
    "c$",
    "^abc$",
    "a.c",
    "a*",
    "a+b",
    "a?b",
    "(a)(b)(c)",
    "(?:a)b",
    "[abc]+",
    "[^a]",
    "[[:alpha:]]+",
    "[[:digit:]]+",
    "\\d+",
    "\\w+",
    "\\s",
    "\\S+",
    "\\mfoo",
    "foo\\M",
    "\\yfoo\\y",
    "(?i)ABC",
    "a{2,3}",
    "a{2}",
    "a{,3}",
    "x{0}",
    "(a|b)*c",
    "a|b|c",
    "(foo|bar)baz",
    "\\.",
    "\\\\",
    "\\(",
    "(",
    ")",
    "[",
    "]",
    "*",
    "a**",
    "+",
    "a{3,2}",
    "a{256}",
    "{",
    "a{",
    "a{1",
    "[z-a]",
    "[[:foo:]]",
    "\\",
    "\\1",
    "(a)\\1",
    "(?=a)b",
    "foo(?=bar)",
    "foo(?!bar)",
    "(?<=foo)bar",
    "(?<!x)bar",
    "\\x41",
    "\\u0041",
    "[\\d]+",
    "[\\w.]+",
    "(?x) a b # c",
    "***=a.c",
    "***:abc",
    "a??",
    "a*?b",
    ".+?",
    "\\Aabc",
    "abc\\Z",
    "[a-",
    "[]a]",
    "[^]a]",
    "[a\\]]",
    "[[.a.]]",
    "[[=a=]]",
    "(?z)a",
    "()",
    "a||b",
    "\\n",
    "\\t",
    "\\q",
    "(a",
    "a)",
    "\\d{2}-\\d{2}",
    "ä",
    "[ä-ü]+",
    "^$",
    "$",
    "^",
    "\\m",
    "[[:<:]]foo",
    "foo[[:>:]]",
    "(?n)^b",
    "(?w)^b$",
    "a.b",
    "(?p)a.b",
];

const SUBJECTS: &[&str] = &[
    "", "abc", "ABC", "aabbcc", "foobar", "foo bar", "a.c", "12-34", "xfoo", "äöü", "a\nb", "aaa",
    "foobaz", "a\\b(c)", "  x ",
];

fn expressions(c: &mut Comparison) {
    for pattern in PATTERNS {
        for text in SUBJECTS {
            operator(c, "~", &[(T::TEXT, text), (T::TEXT, pattern)]);
            operator(c, "~*", &[(T::TEXT, text), (T::TEXT, pattern)]);
            call(c, "substring", &[(T::TEXT, text), (T::TEXT, pattern)]);
            call(c, "regexp_match", &[(T::TEXT, text), (T::TEXT, pattern)]);
        }
    }
}

fn expression_functions(c: &mut Comparison) {
    let patterns = ["a", "b*", "(o)(.)", "\\s+", "", "[abc]", "x|", "(a)|(b)"];
    for pattern in patterns {
        for text in SUBJECTS {
            for flags in ["", "g", "i", "gi"] {
                let with_flags = &[(T::TEXT, *text), (T::TEXT, pattern), (T::TEXT, flags)];
                call(c, "regexp_matches", with_flags);
                call(c, "regexp_split_to_array", with_flags);
                call(c, "regexp_split_to_table", with_flags);
                call(c, "regexp_match", with_flags);
                call(c, "regexp_like", with_flags);
                for replacement in ["<\\1>", "[\\&]", "\\\\x", "\\"] {
                    call(
                        c,
                        "regexp_replace",
                        &[
                            (T::TEXT, text),
                            (T::TEXT, pattern),
                            (T::TEXT, replacement),
                            (T::TEXT, flags),
                        ],
                    );
                }
            }
            for start in ["1", "2", "0", "50"] {
                let from = &[(T::TEXT, *text), (T::TEXT, pattern), (T::INT4, start)];
                call(c, "regexp_count", from);
                call(c, "regexp_substr", from);
                call(c, "regexp_instr", from);
                for n in ["0", "1", "2", "-1"] {
                    call(
                        c,
                        "regexp_replace",
                        &[
                            (T::TEXT, text),
                            (T::TEXT, pattern),
                            (T::TEXT, "<\\&>"),
                            (T::INT4, start),
                            (T::INT4, n),
                        ],
                    );
                    call(
                        c,
                        "regexp_instr",
                        &[
                            (T::TEXT, text),
                            (T::TEXT, pattern),
                            (T::INT4, start),
                            (T::INT4, n),
                            (T::INT4, "1"),
                        ],
                    );
                }
            }
        }
    }
    call(c, "regexp_replace", &[(T::TEXT, "a"), (T::TEXT, "a"), (T::TEXT, "b"), (T::TEXT, "1")]);
    call(c, "regexp_match", &[(T::TEXT, "a"), (T::TEXT, "a"), (T::TEXT, "z")]);
    call(
        c,
        "regexp_instr",
        &[(T::TEXT, "abc"), (T::TEXT, "b"), (T::INT4, "1"), (T::INT4, "1"), (T::INT4, "2")],
    );
}

const ARRAYS: &[&str] = &[
    "{}",
    "{1,2,3}",
    "{1,NULL,3}",
    "{{1,2},{3,4}}",
    "[2:3]={5,6}",
    "{3,2,1,2}",
    "[0:1][1:2]={{1,2},{3,4}}",
];

fn arrays(c: &mut Comparison) {
    let any = T::ANYARRAY;
    let (array, element) = (T::ANYCOMPATIBLEARRAY, T::ANYCOMPATIBLE);
    let ints = T::INT4_ARRAY;
    for a in ARRAYS {
        for (name, result) in
            [("array_ndims", T::INT4), ("array_dims", T::TEXT), ("cardinality", T::INT4)]
        {
            call_declared(c, name, &[any], result, &[(ints, a)]);
        }
        call_declared(c, "unnest", &[any], T::INT4, &[(ints, a)]);
        for n in ["0", "1", "2", "3"] {
            for name in ["array_length", "array_lower", "array_upper"] {
                call_declared(c, name, &[any, T::INT4], T::INT4, &[(ints, a), (T::INT4, n)]);
            }
            call_declared(
                c,
                "generate_subscripts",
                &[any, T::INT4],
                T::INT4,
                &[(ints, a), (T::INT4, n)],
            );
            call_declared(c, "trim_array", &[any, T::INT4], ints, &[(ints, a), (T::INT4, n)]);
        }
        for value in ["2", "7", NULL] {
            let pair = &[(ints, *a), (T::INT4, value)];
            call_declared(c, "array_append", &[array, element], ints, pair);
            call_declared(c, "array_remove", &[array, element], ints, pair);
            call_declared(c, "array_position", &[array, element], T::INT4, pair);
            call_declared(c, "array_positions", &[array, element], ints, pair);
            call_declared(
                c,
                "array_prepend",
                &[element, array],
                ints,
                &[(T::INT4, value), (ints, a)],
            );
            let triple = &[(ints, *a), (T::INT4, value), (T::INT4, "9")];
            call_declared(c, "array_replace", &[array, element, element], ints, triple);
        }
        for b in ARRAYS {
            call_declared(c, "array_cat", &[array, array], ints, &[(ints, a), (ints, b)]);
            for name in [
                "array_eq",
                "array_lt",
                "array_le",
                "arraycontains",
                "arraycontained",
                "arrayoverlap",
            ] {
                call_declared(c, name, &[any, any], T::BOOL, &[(ints, a), (ints, b)]);
            }
            call_declared(c, "btarraycmp", &[any, any], T::INT4, &[(ints, a), (ints, b)]);
        }
        for null in ["*", NULL] {
            let args = &[(ints, *a), (T::TEXT, ", "), (T::TEXT, null)];
            call_declared(c, "array_to_string", &[any, T::TEXT, T::TEXT], T::TEXT, args);
        }
        call_declared(c, "array_to_string", &[any, T::TEXT], T::TEXT, &[(ints, a), (T::TEXT, "-")]);
    }
    for (lens, lowers) in
        [("{3}", "{1}"), ("{2,2}", "{0,5}"), ("{}", "{}"), ("{-1}", "{1}"), ("{2}", "{1,2}")]
    {
        let args = &[(T::INT4, "7"), (ints, lens), (ints, lowers)];
        call_declared(c, "array_fill", &[T::ANYELEMENT, ints, ints], ints, args);
        call_declared(c, "array_fill", &[T::ANYELEMENT, ints], ints, &args[..2]);
    }
    for text in ["", "a,b,c", "a,,c", ",", "abc"] {
        for delimiter in [",", "", "b", NULL] {
            for null in ["", "a", NULL] {
                let args = &[(T::TEXT, text), (T::TEXT, delimiter), (T::TEXT, null)];
                call(c, "string_to_array", args);
                call(c, "string_to_table", args);
            }
            call(c, "string_to_array", &[(T::TEXT, text), (T::TEXT, delimiter)]);
        }
    }
}
