//! Lists and arrays of many members, which are hashed: their answers are those of one comparison after the other.

use super::Bench;

const COLUMNS: [(&str, &str, &[&str]); 9] = [
    ("i", "int", &["1", "2", "-7", "2000000000"]),
    ("s", "smallint", &["1", "2", "3", "32767"]),
    ("b", "bigint", &["1", "2", "3", "4000000000"]),
    ("n", "numeric", &["1", "1.00", "2.5", "'NaN'"]),
    ("d", "float8", &["1", "'-0'", "0", "'NaN'"]),
    ("t", "text", &["'a'", "'A'", "'a '", "''"]),
    ("c", "char(5)", &["'a'", "'A'", "'a  '", "''"]),
    ("z", "date", &["'2024-01-01'", "'2024-01-02'", "'infinity'", "'1999-12-31'"]),
    ("v", "interval", &["'1 day'", "'24 hours'", "'25 hours'", "'1 mon'"]),
];

fn bench() -> Bench {
    let mut bench = Bench::new();
    for (column, ty, values) in COLUMNS {
        bench.run(&format!("CREATE TABLE of_{column} (id serial, x {ty})"));
        for value in values.iter().chain(&["NULL"]) {
            bench.run(&format!("INSERT INTO of_{column} (x) VALUES ({value})"));
        }
    }
    bench
}

#[test]
fn of_all_types_answer_as_their_members_do() {
    let mut bench = bench();
    for (column, ty, values) in COLUMNS {
        for taken in 0..4 {
            for null in [false, true] {
                // Of all values but those left out, some several times.
                let mut members: Vec<String> = (0..12)
                    .map(|i| values[if i % 4 < taken { taken } else { i % 4 }])
                    .map(|value| format!("{value}::{ty}"))
                    .collect();
                if null {
                    members[5] = format!("NULL::{ty}");
                }
                let each = |compares: &str, with: &str| -> String {
                    let all: Vec<String> =
                        members.iter().map(|member| format!("x {compares} {member}")).collect();
                    all.join(with)
                };
                let list = members.join(", ");
                let asked = |any: &str, all: &str| {
                    format!("SELECT id, {any}, {all} FROM of_{column} ORDER BY id")
                };
                let one_by_one = bench.run(&asked(
                    &format!("({}) AS a", each("=", " OR ")),
                    &format!("({}) AS b", each("<>", " AND ")),
                ));
                assert!(one_by_one.contains("SELECT 5"), "{one_by_one}");
                for (any, all) in [
                    (format!("x IN ({list})"), format!("x NOT IN ({list})")),
                    (format!("x = ANY (ARRAY[{list}])"), format!("x <> ALL (ARRAY[{list}])")),
                    (
                        format!("x = ANY (ARRAY(SELECT unnest(ARRAY[{list}])))"),
                        format!("x <> ALL (ARRAY(SELECT unnest(ARRAY[{list}])))"),
                    ),
                ] {
                    let query = asked(&format!("({any}) AS a"), &format!("({all}) AS b"));
                    assert_eq!(bench.run(&query), one_by_one, "{query}");
                }
            }
        }
    }
}

#[test]
fn that_are_parameters_are_those_of_each_run() {
    let mut bench = bench();
    bench.run("PREPARE q (int[]) AS SELECT id, x = ANY ($1), x <> ALL ($1) FROM of_i ORDER BY id");
    for (array, answers) in [
        ("{1,2,3,4,5,6,7,8,9}", ["t|f", "t|f", "f|t", "f|t", "<null>|<null>"]),
        (
            "{1,NULL,3,4,5,6,7,8,9}",
            ["t|f", "<null>|<null>", "<null>|<null>", "<null>|<null>", "<null>|<null>"],
        ),
        ("{-7}", ["f|t", "f|t", "t|f", "f|t", "<null>|<null>"]),
        ("{}", ["f|t", "f|t", "f|t", "f|t", "f|t"]),
    ] {
        let told = bench.run(&format!("EXECUTE q ('{array}')"));
        let rows: Vec<String> =
            told.lines().skip(1).take(5).map(|row| row[2..].to_owned()).collect();
        assert_eq!(rows, answers, "{array}");
    }
    let told = bench.run("EXECUTE q (NULL)");
    assert_eq!(told.matches("<null>|<null>").count(), 5, "{told}");
    // What hangs on the row, or is another value each time, is not kept.
    let told = bench.run(
        "SELECT count(*) FROM of_i a, of_i b WHERE a.x IN (b.x, b.x, b.x, b.x, b.x, b.x, b.x, b.x, b.x)",
    );
    assert_eq!(told, "[count]\n4\nSELECT 1\n");
    bench.run("CREATE SEQUENCE next");
    let next = ["nextval('next')"; 9].join(", ");
    assert_eq!(
        bench.run(&format!("SELECT g, g IN ({next}) FROM generate_series(10, 11) g")),
        "[g|?column?]\n10|f\n11|t\nSELECT 2\n"
    );
}

#[test]
fn of_many_members_are_asked_by_many_rows() {
    let mut bench = Bench::new();
    let told = bench.run(
        "SELECT count(*) FROM generate_series(1, 60000) g \
         WHERE g = ANY (ARRAY(SELECT generate_series(1, 120000, 2))) \
         AND g <> ALL (ARRAY(SELECT generate_series(1, 180000, 3)))",
    );
    assert_eq!(told, "[count]\n20000\nSELECT 1\n");
}
