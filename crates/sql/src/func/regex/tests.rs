use super::*;

fn matches(text: &str, pattern: &str) -> bool {
    Regex::new(pattern, Flags::default()).unwrap().is_match(text).unwrap()
}

fn error(pattern: &str) -> String {
    match Regex::new(pattern, Flags::default()) {
        Ok(_) => String::new(),
        Err(error) => error.message().to_owned(),
    }
}

#[test]
fn constructs_mean_what_they_mean_in_postgresql() {
    assert!(matches("foo bar", r"\mbar\M"));
    assert!(!matches("foobar", r"\mbar"));
    assert!(matches("a\nb", "a.b"));
    assert!(matches("abab", r"^(ab)\1$"));
    assert!(matches("a]b", "[]]"));
    assert!(matches("a-b", "[a\\-z]-[[:alpha:]]"));
    assert!(matches("FOO", "(?i)foo"));
    assert!(matches("a.b", "***=a.b"));
    assert!(!matches("axb", "***=a.b"));
    assert!(matches("x{y", "x{y"));
    assert!(matches("aaa", "^a{2,3}$"));
    assert!(matches("foobar", "foo(?=bar)"));
    assert!(matches("\u{8}", r"\b"));
}

#[test]
fn mistakes_are_named_as_postgresql_names_them() {
    let name = |reason: &str| format!("invalid regular expression: {reason}");
    assert_eq!(error("("), name("parentheses () not balanced"));
    assert_eq!(error("a)"), name("parentheses () not balanced"));
    assert_eq!(error("[a"), name("brackets [] not balanced"));
    assert_eq!(error("*a"), name("quantifier operand invalid"));
    assert_eq!(error("a**"), name("quantifier operand invalid"));
    assert_eq!(error("a{2,1}"), name("invalid repetition count(s)"));
    assert_eq!(error("[z-a]"), name("invalid character range"));
    assert_eq!(error("[[:foo:]]"), name("invalid character class"));
    assert_eq!(error(r"\1"), name("invalid backreference number"));
    assert_eq!(error(r"\q"), name("invalid escape \\ sequence"));
}

#[test]
fn similar_patterns_become_expressions() {
    assert_eq!(similar::to_regex("a%_.b", None).unwrap(), r"^(?:a.*.\.b)$");
    let pattern = similar::to_regex("%#\"o_b#\"%", Some("#")).unwrap();
    let regex = Regex::new(&pattern, Flags::default()).unwrap();
    let groups = regex.find("foobar").unwrap().unwrap();
    assert_eq!(groups[1], Some((1, 4)));
}

#[test]
fn nothing_in_a_look_around_captures() {
    let groups = |pattern: &str| {
        let regex = Regex::new(pattern, Flags::default()).unwrap();
        regex.find("foobar").unwrap().unwrap()
    };
    assert_eq!(groups("(?=foo(bar))f(o)"), [Some((0, 2)), Some((1, 2))]);
    assert_eq!(groups("(?=((f)o))(.)(?!(x))"), [Some((0, 1)), Some((0, 1))]);
    assert_eq!(groups(r"(o)(?<=(o))\1"), [Some((1, 3)), Some((1, 2))]);
    let none = "invalid regular expression: invalid backreference number";
    assert_eq!(error(r"(o)(?=\1)"), none);
    assert_eq!(error(r"(?=(o)\1)"), none);
    assert_eq!(error(r"(?=(o))\1"), none);
}

#[test]
fn what_comes_again_is_compared_without_case_if_all_is() {
    let matches = |text: &str, pattern: &str| {
        let flags = Flags { ignore_case: true, ..Flags::default() };
        Regex::new(pattern, flags).unwrap().is_match(text).unwrap()
    };
    assert!(matches("Hello hello", r"^(\w+) \1$"));
    assert!(matches("HELLO hEllo", r"^(h\w+) \1$"));
    assert!(matches("ÄÖ äö", r"^(\w+) \1$"));
    assert!(!matches("Hello hell", r"^(\w+) \1$"));
    assert!(!matches("Hello hello", r"(?c)^(\w+) \1$"));
    assert!(super::tests::matches("Hello hello", r"(?i)^(\w+) \1$"));
    assert!(!super::tests::matches("Hello hello", r"^(\w+) \1$"));
    // Letters whose other case has another number of bytes are where they were.
    let regex = Regex::new(r"(?i)(.)\1(x)", Flags::default()).unwrap();
    let groups = regex.find("\u{212a}aAX").unwrap().unwrap();
    assert_eq!(groups, [Some((3, 6)), Some((3, 4)), Some((5, 6))]);
}

#[test]
fn look_behinds_may_have_several_lengths() {
    assert!(matches("Mrs X", "(?<=Mr|Mrs) X"));
    assert!(matches("Mrs X", "(?<=Mrs?) X"));
    assert!(matches("Mrs X", "(?<=(M|D)(r|rs)) X"));
    assert!(matches("abcX", "(?<=a(?:b|bc|$)(?!c))X"));
    assert!(!matches("abbcX", "(?<=a(?:b|bc))X"));
    assert!(matches("abbbcX", "(?<=ab{2,3}[a-c()[:digit:]])X"));
    assert!(!matches("Mrs X", "(?<!Mr|Mrs) X"));
    assert!(!matches("Mrs X", "(?<!Mrs?) X"));
    assert!(matches("Ms X", "(?<!Mrs?) X"));
    assert!(matches("X", "(?<!a?b)X"));
    assert!(matches("a,b", "(?<=^|,)b"));
    assert!(!matches("X", "(?<!a?)X"));
    // What leads can be longer than it must.
    assert!(matches("x   y", r"(?<=\s+)y"));
    assert!(matches("xaab", "(?<=a*|c{2,})b"));
    assert!(!matches("xb", "(?<=a+)b"));
    let regex = Regex::new(r"(?<=(a|bc){1,2}\.)(x)", Flags::default()).unwrap();
    let groups = regex.find("äabc.x").unwrap().unwrap();
    assert_eq!(groups, [Some((6, 7)), Some((6, 7))]);
    let unbounded = "look-behinds without a greatest length are not supported";
    assert_eq!(error("(?<=ba*)c"), unbounded);
    assert_eq!(error("(?<!b(?:a|c)+)c"), unbounded);
    let varied = "look-behinds so long, or of so many lengths, are not supported";
    assert_eq!(error(&format!("(?<=b{})c", "(a?|bc)".repeat(40))), varied);
    assert_eq!(error("(?<=x((?:a{255}){1,255}){255})c"), varied);
    assert_eq!(error(r"(?<=x\w{0,255})y"), varied);
    assert!(matches("xaay", r"(?<=x\w{0,32})y"));
}

#[test]
fn what_takes_no_characters_may_be_repeated() {
    assert!(matches("ab", "^(?:)*a(?:^)*b$"));
    assert!(matches("ab", "^a(?:(?=b)){3}b"));
    assert!(!matches("ab", "^a(?:(?=c))+b"));
    assert!(matches("ab", r"a(?:\M|(?!b*))*b"));
    assert!(matches("ab", "(?=(^)*a)(?<=()*)ab"));
    assert!(matches("ab", "(?:(?:$)?)*ab(?:$|c){2}"));
    assert!(matches("ab", "(?<=(x{0})+)ab(?<=(?:b{0})*)"));
}

#[test]
fn what_is_large_is_no_mistake() {
    assert!(!matches("a", r"^(\w{1,100}\.){10}$"));
    assert!(matches("ab.c.", r"^(\w{1,100}\.){2,10}$"));
    assert_eq!(
        error(r"((\w{1,200}){200}){200}"),
        "invalid regular expression: regular expression is too complex"
    );
    let nested = format!("{}a{}", "(".repeat(150), ")".repeat(150));
    assert!(error(&nested).starts_with("regular expressions with parentheses nested so deep"));
}
