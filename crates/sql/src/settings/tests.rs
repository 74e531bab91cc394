use super::*;

fn parsed(name: &str, text: &str) -> std::result::Result<String, String> {
    let setting = get(name).unwrap();
    setting.parse(text).map(|value| setting.show(&value)).map_err(|e| {
        let hint = e.fields().hint.as_ref().map(|hint| format!(" {hint}")).unwrap_or_default();
        format!("{} {}{hint}", e.sqlstate(), e.message())
    })
}

#[test]
fn numbers_are_read_and_shown_with_their_units() {
    assert_eq!(parsed("shared_buffers", "512MB").unwrap(), "512MB");
    assert_eq!(parsed("shared_buffers", "16384").unwrap(), "128MB");
    assert_eq!(parsed("shared_buffers", "1.5GB").unwrap(), "1536MB");
    assert_eq!(parsed("shared_buffers", "136 kB").unwrap(), "136kB");
    assert_eq!(parsed("statement_timeout", "90s").unwrap(), "90s");
    assert_eq!(parsed("statement_timeout", "120000").unwrap(), "2min");
    assert_eq!(parsed("statement_timeout", "0").unwrap(), "0");
    assert_eq!(parsed("checkpoint_timeout", "15min").unwrap(), "15min");
    assert_eq!(parsed("max_connections", "0x10").unwrap(), "16");
}

#[test]
fn faults_are_told_in_postgres_words() {
    assert_eq!(
        parsed("work_mem", "10").unwrap_err(),
        "22023 10 kB is outside the valid range for parameter \"work_mem\" (64 .. 2147483647)"
    );
    assert_eq!(
        parsed("work_mem", "1 lot").unwrap_err(),
        "22023 invalid value for parameter \"work_mem\": \"1 lot\" Valid units for this parameter \
         are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\"."
    );
    assert_eq!(
        parsed("standard_conforming_strings", "maybe").unwrap_err(),
        "22023 parameter \"standard_conforming_strings\" requires a Boolean value"
    );
    assert_eq!(
        parsed("standard_conforming_strings", "off").unwrap_err(),
        "0A000 standard_conforming_strings = off is not supported Write literals with backslash \
         escapes as E'...'."
    );
    assert_eq!(
        parsed("bytea_output", "base64").unwrap_err(),
        "22023 invalid value for parameter \"bytea_output\": \"base64\" Available values: \
         escape, hex."
    );
    assert_eq!(
        get("nosuch").unwrap_err().message(),
        "unrecognized configuration parameter \"nosuch\""
    );
}

#[test]
fn truth_values_may_be_abbreviated() {
    for (text, value) in [("on", "on"), ("T", "on"), ("ye", "on"), ("of", "off"), ("0", "off")] {
        assert_eq!(parsed("enable_seqscan", text).unwrap(), value, "{text}");
    }
    assert!(parsed("enable_seqscan", "o").is_err());
    assert_eq!(parsed("synchronous_commit", "false").unwrap(), "off");
    assert_eq!(parsed("synchronous_commit", "LOCAL").unwrap(), "local");
}

#[test]
fn the_table_is_in_order_and_its_defaults_are_allowed() {
    let key = |setting: &Setting| setting.name.to_ascii_lowercase();
    assert!(TABLE.windows(2).all(|pair| key(&pair[0]) < key(&pair[1])), "sorted, each name once");
    for setting in TABLE.iter() {
        let default = setting.default();
        assert_eq!(setting.parse(&setting.show(&default)).unwrap(), default, "{}", setting.name);
        assert!(setting.summary.ends_with('.'), "{}: one sentence", setting.name);
    }
    assert_eq!(find("datestyle").unwrap().name, "DateStyle");
}
