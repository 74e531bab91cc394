use super::TimeZone;

fn east(zone: &TimeZone, y: i64, m: i32, d: i32, hour: i64) -> i32 {
    let days = crate::types::datetime::calendar::days_from_civil(y, m, d);
    zone.east_of_local((days + 10_957) * 86_400 + hour * 3600)
}

#[test]
fn gaps_count_by_the_offset_before_and_overlaps_by_the_one_after() {
    let berlin = TimeZone::named("europe/berlin").unwrap();
    assert_eq!(berlin.name(), "Europe/Berlin");
    assert_eq!(east(&berlin, 2024, 1, 15, 12), 3600);
    assert_eq!(east(&berlin, 2024, 7, 15, 12), 7200);
    assert_eq!(east(&berlin, 2024, 3, 31, 2), 3600);
    assert_eq!(east(&berlin, 2024, 10, 27, 2), 3600);
    // Far beyond the listed transitions the rule goes on.
    assert_eq!(east(&berlin, 9999, 7, 15, 12), 7200);
    assert_eq!(east(&berlin, 200_000, 7, 15, 12), 7200);
}

#[test]
fn posix_rules_have_western_signs() {
    let zone = TimeZone::named("<foo>-3:30").unwrap();
    assert_eq!(zone.at(0).east_s, 12_600);
    assert_eq!(TimeZone::named("+05:30").unwrap().at(0).east_s, -19_800);
    let zone = TimeZone::named("FOO5BAR").unwrap();
    assert_eq!(east(&zone, 2024, 7, 1, 0), -4 * 3600);
    assert_eq!(east(&zone, 2024, 1, 1, 0), -5 * 3600);
    assert_eq!(TimeZone::fixed_east(-12_600).name(), "<-03:30>+03:30");
    assert!(TimeZone::named("nowhere").is_none());
}
