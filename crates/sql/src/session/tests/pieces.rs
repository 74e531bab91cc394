//! Portals whose rows a client asks for a few at a time.

use super::*;

/// Has a statement's rows two at a time, and so often; what was told.
fn in_pieces(bench: &mut Bench, text: &str, times: usize) -> String {
    let (mut client, session) = (Recorder::default(), &mut bench.session);
    session.parse("", text, &[]).unwrap();
    session.bind("", "", &[], &Formats::default(), Formats::default()).unwrap();
    for _ in 0..times {
        session.execute("", 2, &mut client).unwrap();
    }
    session.sync().unwrap();
    client.out
}

#[test]
fn what_changes_rows_changes_all_of_them() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE p (i int PRIMARY KEY); CREATE TABLE f (i int REFERENCES p)");
    let insert = "INSERT INTO p SELECT generate_series(1, 5) RETURNING i";
    assert_eq!(in_pieces(&mut bench, insert, 1), "1\n2\nSUSPENDED\n");
    assert_eq!(bench.run("SELECT count(*) FROM p"), "[count]\n5\nSELECT 1\n");
    let insert = "WITH w AS (INSERT INTO f SELECT i FROM p) SELECT i FROM p ORDER BY i";
    assert_eq!(in_pieces(&mut bench, insert, 1), "1\n2\nSUSPENDED\n");
    assert_eq!(bench.run("SELECT count(*) FROM f"), "[count]\n5\nSELECT 1\n");
    let update = "UPDATE p SET i = i + 10 WHERE i > 9 RETURNING i";
    assert_eq!(in_pieces(&mut bench, update, 1), "UPDATE 0\n");
    let delete = "DELETE FROM f RETURNING i";
    assert_eq!(
        in_pieces(&mut bench, delete, 4),
        "1\n2\nSUSPENDED\n3\n4\nSUSPENDED\n5\nDELETE 1\nDELETE 0\n"
    );
}

#[test]
fn what_only_reads_reads_no_further_than_it_is_asked() {
    let mut bench = Bench::new();
    bench.run("CREATE SEQUENCE s");
    let select = "SELECT nextval('s') FROM generate_series(1, 5)";
    assert_eq!(in_pieces(&mut bench, select, 1), "1\n2\nSUSPENDED\n");
    assert_eq!(bench.run("SELECT nextval('s')"), "[nextval]\n3\nSELECT 1\n");
}
