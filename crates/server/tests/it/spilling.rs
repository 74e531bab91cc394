//! Temporary files of statements that are canceled, time out, or lose their client.

use crate::House;
use crate::timers::until;

const CANCELED: &str = "ERROR 57014 canceling statement due to user request\nZ I";

impl House {
    /// How many temporary files of this server are open.
    fn temporary_files(&self) -> usize {
        let ours = self.dir.join("data/base/pgsql_tmp");
        let open = std::fs::read_dir("/proc/self/fd").unwrap();
        let links = open.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
        links.filter(|link| link.starts_with(&ours)).count()
    }
}

#[test]
fn temporary_files_go_with_their_statement_however_it_ends() {
    let house = House::new();
    let mut me = house.client();
    me.query("set work_mem = '64kB'");
    for query in [
        "select * from generate_series(1, 1000000000) g order by g % 1000",
        "select g % 100000, count(*) from generate_series(1, 1000000000) g group by 1",
        "select count(*) from generate_series(1, 9) a left join generate_series(1, 1000000000) b on a = b",
        "select count(*) from (select * from generate_series(1, 9) a except \
         select * from generate_series(1, 1000000000) b) x",
        "create table c as with c as materialized (select * from generate_series(1, 1000000000)) \
         select * from c",
    ] {
        me.request(|r| r.query(query));
        until("a temporary file", || house.temporary_files() > 0);
        house.cancel(&me);
        let told = me.until_ready();
        assert!(told.ends_with(CANCELED), "{query}: {told}");
        until("no temporary file", || house.temporary_files() == 0);
    }
    me.query("set statement_timeout = '300ms'");
    let told = me.query(
        "select count(*) from (select * from generate_series(1, 1000000000) g order by g % 9) x",
    );
    assert!(told.contains("57014"), "{told}");
    until("no temporary file", || house.temporary_files() == 0);
    me.query("set statement_timeout = 0");
    // The client leaves while rows are being sent that it does not read.
    let rows = "select repeat('x', 400) from generate_series(1, 20000) g order by g % 1000";
    me.request(|r| r.query(rows));
    until("a temporary file", || house.temporary_files() > 0);
    drop(me);
    until("no temporary file", || house.temporary_files() == 0);
    assert_eq!(std::fs::read_dir(house.dir.join("data/base/pgsql_tmp")).unwrap().count(), 0);
}
