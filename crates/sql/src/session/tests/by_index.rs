//! Conditions on views, IN and EXISTS come to the tables' indexes.

use super::Bench;

fn bench() -> Bench {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE cust (id int PRIMARY KEY, region int)");
    bench.run("CREATE TABLE ord (id int PRIMARY KEY, cust_id int, state int)");
    bench.run("INSERT INTO cust SELECT i, i % 100 FROM generate_series(1, 5000) AS i");
    bench.run("INSERT INTO ord SELECT i, i % 5000, i % 5 FROM generate_series(1, 10000) AS i");
    bench.run("CREATE INDEX ON ord (cust_id); CREATE INDEX ON cust (region); ANALYZE");
    bench
}

/// No table is read whole.
fn goes_by_index(bench: &mut Bench, query: &str) {
    let plan = bench.run(&format!("EXPLAIN (COSTS OFF) {query}"));
    assert!(plan.contains("Index") && !plan.contains("Seq Scan"), "{query}:\n{plan}");
}

#[test]
fn of_tables_below_views_and_sub_selects() {
    let mut bench = bench();
    bench.run("CREATE VIEW plain AS SELECT id, cust_id + 0 AS c FROM ord");
    bench.run("CREATE VIEW sums AS SELECT cust_id, count(*) AS n FROM ord GROUP BY cust_id");
    bench.run("CREATE VIEW all_ids AS SELECT id FROM ord UNION ALL SELECT id FROM cust");
    goes_by_index(&mut bench, "SELECT * FROM plain WHERE id = 7");
    goes_by_index(&mut bench, "SELECT * FROM plain WHERE id = 7 FOR UPDATE");
    goes_by_index(&mut bench, "SELECT * FROM sums WHERE cust_id = 7");
    goes_by_index(&mut bench, "SELECT * FROM all_ids WHERE id = 7");
    goes_by_index(
        &mut bench,
        "SELECT * FROM (SELECT * FROM plain) s JOIN cust c ON c.id = s.id WHERE s.id = 7",
    );
    goes_by_index(&mut bench, "WITH w AS (SELECT * FROM ord) SELECT * FROM w WHERE id = 7");
    goes_by_index(
        &mut bench,
        "UPDATE cust SET region = s.c FROM plain s WHERE s.id = cust.id AND cust.id = 7",
    );
}

#[test]
fn of_tables_that_few_values_lead_to() {
    let mut bench = bench();
    let few = "SELECT id FROM cust WHERE region = 7 AND id < 100";
    goes_by_index(&mut bench, &format!("SELECT * FROM ord WHERE cust_id IN ({few})"));
    goes_by_index(&mut bench, &format!("DELETE FROM ord WHERE cust_id IN ({few})"));
    let queue = "SELECT id FROM ord WHERE state = 1 ORDER BY id LIMIT 3 FOR UPDATE SKIP LOCKED";
    goes_by_index(
        &mut bench,
        &format!("UPDATE ord SET state = 2 WHERE id IN ({queue}) RETURNING id"),
    );
    let outer = "SELECT * FROM ord LEFT JOIN cust ON cust.id = ord.cust_id";
    goes_by_index(&mut bench, &format!("{outer} WHERE ord.id IN ({queue})"));
}

#[test]
fn of_tables_that_few_rows_ask() {
    let mut bench = bench();
    let of_cust = "SELECT 1 FROM ord o WHERE o.cust_id = c.id";
    goes_by_index(&mut bench, &format!("SELECT * FROM cust c WHERE id = 5 AND EXISTS ({of_cust})"));
    goes_by_index(
        &mut bench,
        &format!("SELECT * FROM cust c WHERE id = 5 AND NOT EXISTS ({of_cust})"),
    );
    goes_by_index(
        &mut bench,
        "SELECT * FROM cust c WHERE id = 5 AND id IN (SELECT cust_id FROM ord)",
    );
}

#[test]
fn of_the_table_that_gives_the_order() {
    let mut bench = bench();
    let joined = "FROM ord o JOIN cust c ON c.id = o.cust_id";
    goes_by_index(&mut bench, &format!("SELECT o.id {joined} ORDER BY o.id DESC LIMIT 20"));
    let outer =
        "FROM ord o LEFT JOIN cust c ON c.id = o.cust_id LEFT JOIN ord x ON x.id = c.region";
    goes_by_index(&mut bench, &format!("SELECT * {outer} ORDER BY o.id LIMIT 20"));
    let sorted = bench.run(&format!("EXPLAIN (COSTS OFF) SELECT * {outer} ORDER BY o.id LIMIT 20"));
    assert!(!sorted.contains("Sort"), "{sorted}");
}

#[test]
fn beside_values_of_other_types() {
    let mut bench = bench();
    bench.run("CREATE TABLE ev (id int PRIMARY KEY, at timestamptz, lt timestamp)");
    bench.run("INSERT INTO ev SELECT i, now() + i * interval '1 h', now() FROM generate_series(1, 5000) AS i");
    bench.run("CREATE INDEX ON ev (at); CREATE INDEX ON ev (lt); ANALYZE ev");
    bench.run("PREPARE by_long (bigint) AS SELECT * FROM ev WHERE id = $1");
    goes_by_index(&mut bench, "EXECUTE by_long (5)");
    bench.run("PREPARE by_longs (bigint[]) AS SELECT * FROM ev WHERE id = ANY ($1)");
    goes_by_index(&mut bench, "EXECUTE by_longs ('{5,6}')");
    goes_by_index(
        &mut bench,
        "SELECT * FROM ev WHERE at >= current_date AND at < current_date + 1",
    );
    goes_by_index(&mut bench, "SELECT * FROM ev WHERE lt > now() + interval '2 days'");
}

#[test]
fn of_the_table_that_gives_the_order_whatever_is_asked_of_it() {
    let mut bench = bench();
    let joined = "FROM ord o JOIN cust c ON c.id = o.cust_id WHERE o.state = $1";
    bench.run(&format!("PREPARE page (int) AS SELECT o.id {joined} ORDER BY o.id LIMIT 20"));
    goes_by_index(&mut bench, "EXECUTE page (1)");
    let lateral = "FROM cust c, LATERAL (SELECT c.id + 1 AS n OFFSET 0) l JOIN ord o ON o.id = l.n";
    let first = bench.run(&format!("SELECT o.id {lateral} ORDER BY o.id LIMIT 2"));
    assert_eq!(first, "[id]\n2\n3\nSELECT 2\n");
}

#[test]
fn where_a_parameter_switches_a_condition_off() {
    let mut bench = bench();
    bench.run("PREPARE one (int) AS SELECT * FROM ord WHERE $1 IS NULL OR cust_id = $1");
    let plan = bench.run("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE one (7)");
    assert!(plan.contains("Index") && plan.contains("(never executed)"), "{plan}");
    let one = bench.run("EXECUTE one (7)");
    assert!(one.ends_with("SELECT 2\n"), "{one}");
    let all = bench.run("EXECUTE one (NULL)");
    assert!(all.ends_with("SELECT 10000\n"), "{}", &all[all.len() - 40..]);
    let named = "DELETE FROM ord WHERE ctid IN (SELECT ctid FROM ord WHERE cust_id = 7)";
    let plan = bench.run(&format!("EXPLAIN (COSTS OFF) {named}"));
    assert!(plan.contains("Tid Scan on ord") && !plan.contains("Seq Scan"), "{plan}");
}

#[test]
fn of_tables_that_many_rows_ask_where_nothing_is_hashed() {
    let mut bench = bench();
    let all = "SELECT count(*) FROM cust c JOIN ord o ON o.cust_id = c.id";
    let hashed = bench.run(&format!("EXPLAIN (COSTS OFF) {all}"));
    assert!(hashed.contains("Hash Join"), "{hashed}");
    bench.run("SET enable_hashjoin = off");
    let plan = bench.run(&format!("EXPLAIN (COSTS OFF) {all}"));
    assert!(plan.contains("Index Cond: (cust_id = c.id)"), "{plan}");
    bench.run("DROP INDEX ord_cust_id_idx; CREATE INDEX ON ord USING hash (cust_id)");
    let plan = bench.run(&format!("EXPLAIN (COSTS OFF) {all}"));
    assert!(plan.contains("Index Cond: (cust_id = c.id)"), "{plan}");
}

#[test]
fn of_tables_whose_extremes_are_asked_for() {
    let mut bench = bench();
    for query in [
        "SELECT min(id), max(id) FROM ord",
        "SELECT max(id) - min(id), min(cust_id) FROM ord HAVING max(id) > 5",
        "SELECT min(id), max(id) FROM ord WHERE id > 100 AND id < 200",
        "SELECT c.id, (SELECT max(o.cust_id) - min(o.cust_id) FROM ord o WHERE o.cust_id = c.id)
         FROM cust c WHERE c.id < 3",
    ] {
        goes_by_index(&mut bench, query);
    }
    // One of them without an index, and the table is read anyhow.
    for query in ["SELECT min(id), max(state) FROM ord", "SELECT min(id), count(*) FROM ord"] {
        let plan = bench.run(&format!("EXPLAIN (COSTS OFF) {query}"));
        assert!(plan.contains("Seq Scan") && !plan.contains("InitPlan"), "{query}:\n{plan}");
    }
}
