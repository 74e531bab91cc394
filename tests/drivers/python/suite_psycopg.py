"""psycopg 3: prepared statements, text and binary, pipelines, COPY, cancel, cursors."""

import threading
import time

import psycopg
from psycopg import errors
from psycopg.types.json import Json, Jsonb

from checks import CHECKS, VALUES, check, lacks, outcome


def connect(**options):
    return psycopg.connect("", **options)


@check
def connects_and_tells_its_version():
    with connect() as c:
        assert c.info.server_version // 10000 == 15, c.info.server_version
        assert c.info.parameter_status("client_encoding") == "UTF8"
        assert c.info.parameter_status("standard_conforming_strings") == "on"
        assert c.execute("select 1").fetchone() == (1,)


def wrapped(sql, value):
    return {"json": Json, "jsonb": Jsonb}.get(sql, lambda v: v)(value)


@check
def values_of_each_type_both_ways():
    wrong = []
    with connect(autocommit=True) as c:
        for sql, values in VALUES:
            if lacks(lambda t: c.execute("select 1 from pg_type where typname = %s", (t,)).fetchone(), sql):
                continue
            for value in values:
                for way in ("%t", "%b"):
                    for binary in (False, True):
                        try:
                            got = c.cursor(binary=binary).execute(f"select {way}::{sql}", (wrapped(sql, value),)).fetchone()[0]
                            if got != value:
                                wrong.append(f"{sql} {way} {binary}: {value!r} came back as {got!r}"[:150])
                        except psycopg.Error as error:
                            wrong.append(f"{sql} {way} {binary} {value!r}: {error}"[:150])
    assert not wrong, "; ".join(wrong)


@check
def nulls_and_many_parameters():
    with connect(autocommit=True) as c:
        assert c.execute("select %s::int, %s::text", (None, None)).fetchone() == (None, None)
        names = ", ".join(f"%s::int" for _ in range(1000))
        assert c.execute(f"select {names}", list(range(1000))).fetchone() == tuple(range(1000))


@check
def statements_are_prepared_by_and_by():
    with connect(autocommit=True) as c:
        c.prepare_threshold = 2
        for i in range(20):
            assert c.execute("select %s::int + 1", (i,)).fetchone() == (i + 1,)
        count = c.execute("select count(*) from pg_prepared_statements").fetchone()[0]
        assert count >= 1, count


@check
def a_prepared_plan_survives_alter_table():
    with connect(autocommit=True) as c:
        c.execute("drop table if exists altered")
        c.execute("create table altered (a int)")
        c.execute("insert into altered values (1)")
        c.prepare_threshold = 0
        for _ in range(3):
            assert c.execute("select a from altered where a = %s", (1,)).fetchall() == [(1,)]
            assert c.execute("select * from altered where a = %s", (1,)).fetchall() == [(1,)]
        with connect(autocommit=True) as other:  # by somebody else: the driver can't know
            other.execute("alter table altered add column b int default 7")
        assert c.execute("select a from altered where a = %s", (1,)).fetchall() == [(1,)]
        try:
            got = c.execute("select * from altered where a = %s", (1,)).fetchall()
            raise AssertionError(f"no error but {got}")
        except errors.FeatureNotSupported as error:
            assert "cached plan must not change result type" in str(error), error
        c.execute("deallocate all")
        c.execute("alter table altered alter column a type bigint")
        assert c.execute("select a from altered where a = %s", (1,)).fetchall() == [(1,)]
        c.execute("drop table altered")


@check
def pipelines():
    with connect(autocommit=True) as c:
        c.execute("drop table if exists piped")
        c.execute("create table piped (a int primary key)")
        with c.pipeline() as p:
            for i in range(500):
                c.execute("insert into piped values (%s)", (i,))
            p.sync()
            cursor = c.execute("select count(*) from piped")
            assert cursor.fetchone() == (500,)
        try:
            with c.pipeline():
                c.execute("insert into piped values (1000)")
                c.execute("insert into piped values (1000)")
                c.execute("insert into piped values (1001)")
            raise AssertionError("no error")
        except errors.UniqueViolation:
            pass
        assert c.execute("select count(*) from piped where a >= 1000").fetchone() == (0,)
        c.cursor().executemany("insert into piped values (%s)", [(i,) for i in range(2000, 2100)])
        assert c.execute("select count(*) from piped").fetchone() == (600,)
        got = c.cursor()
        got.executemany("insert into piped values (%s) returning a", [(1,), (2,)] and [(5000,), (5001,)], returning=True)
        rows = []
        while True:
            rows += got.fetchall()
            if not got.nextset():
                break
        assert rows == [(5000,), (5001,)], rows


@check
def copy_both_ways():
    with connect(autocommit=True) as c:
        c.execute("drop table if exists copied")
        c.execute("create table copied (a int, b text, c timestamptz)")
        cursor = c.cursor()
        with cursor.copy("copy copied (a, b) from stdin") as copy:
            for i in range(1000):
                copy.write_row((i, f"row\t{i}\n" if i % 10 else None))
        assert cursor.rowcount == 1000, cursor.rowcount
        assert c.execute("select count(*), count(b) from copied").fetchone() == (1000, 900)
        with cursor.copy("copy (select a, b from copied order by a) to stdout") as copy:
            copy.set_types(["int4", "text"])
            rows = list(copy.rows())
        assert rows[1] == (1, "row\t1\n") and rows[10] == (10, None) and len(rows) == 1000
        with cursor.copy("copy copied (a) from stdin (format csv, header)") as copy:
            copy.write("a\n5000\n")
        try:
            with cursor.copy("copy copied (a) from stdin") as copy:
                copy.write("1\nx\n")
            raise AssertionError("no error")
        except errors.InvalidTextRepresentation as error:
            assert "COPY copied, line 2" in (error.diag.context or ""), error.diag.context
        try:
            with cursor.copy("copy copied (a) from stdin") as copy:
                copy.write("1\n")
                raise ValueError("given up")
        except ValueError:
            pass
        assert c.execute("select count(*) from copied").fetchone() == (1001,)


@check
def copy_binary():
    with connect(autocommit=True) as c:
        c.execute("drop table if exists copied")
        c.execute("create table copied (a int, b text, c float8, d numeric, e date)")
        with c.cursor().copy("copy copied from stdin (format binary)") as copy:
            copy.set_types(["int4", "text", "float8", "numeric", "date"])
            for i in range(100):
                copy.write_row((i, f"r{i}", i / 2, None, None))
        with c.cursor().copy("copy (select a, b, c from copied order by a) to stdout (format binary)") as copy:
            copy.set_types(["int4", "text", "float8"])
            rows = list(copy.rows())
        assert len(rows) == 100 and rows[3] == (3, "r3", 1.5), rows[:4]


@check
def cancel():
    with connect(autocommit=True) as c:
        threading.Timer(0.3, c.cancel_safe).start()
        started = time.monotonic()
        try:
            c.execute("select pg_sleep(60)")
            raise AssertionError("no error")
        except errors.QueryCanceled as error:
            assert error.sqlstate == "57014"
        assert time.monotonic() - started < 30
        assert c.execute("select 1").fetchone() == (1,)
        c.execute("set statement_timeout = '200ms'")
        try:
            c.execute("select pg_sleep(60)")
            raise AssertionError("no error")
        except errors.QueryCanceled:
            pass


@check
def transactions():
    with connect() as c:
        c.execute("drop table if exists transacted")
        c.execute("create table transacted (a int primary key)")
        c.commit()
        with c.transaction():
            c.execute("insert into transacted values (1)")
            try:
                with c.transaction():
                    c.execute("insert into transacted values (1)")
            except errors.UniqueViolation:
                pass
            c.execute("insert into transacted values (2)")
        assert c.execute("select array_agg(a order by a) from transacted").fetchone() == ([1, 2],)
        c.rollback()
        try:
            c.execute("select 1/0")
        except errors.DivisionByZero:
            pass
        try:
            c.execute("select 1")
            raise AssertionError("no error")
        except errors.InFailedSqlTransaction:
            pass
        c.rollback()
        c.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        assert c.execute("show transaction_isolation").fetchone() == ("repeatable read",)
        c.rollback()
        c.read_only = True
        try:
            c.execute("insert into transacted values (9)")
            raise AssertionError("no error")
        except errors.ReadOnlySqlTransaction:
            pass
        c.rollback()


@check
def errors_carry_their_fields():
    with connect(autocommit=True) as c:
        c.execute("drop table if exists faulty")
        c.execute("create table faulty (a int primary key, b int not null check (b > 0))")
        c.execute("insert into faulty values (1, 1)")
        cases = [
            ("insert into faulty values (1, 1)", errors.UniqueViolation, "faulty_pkey", "Key (a)=(1) already exists."),
            ("insert into faulty values (2, 0)", errors.CheckViolation, "faulty_b_check", None),
            ("insert into faulty values (2, null)", errors.NotNullViolation, None, None),
            ("select * from nosuch", errors.UndefinedTable, None, None),
            ("select nosuch from faulty", errors.UndefinedColumn, None, None),
            ("select 'x'::int", errors.InvalidTextRepresentation, None, None),
            ("selec", errors.SyntaxError, None, None),
            ("select nosuch(1)", errors.UndefinedFunction, None, None),
            ("select 2147483647 + 1", errors.NumericValueOutOfRange, None, None),
        ]
        for sql, kind, constraint, detail in cases:
            try:
                c.execute(sql)
                raise AssertionError(f"no error: {sql}")
            except kind as error:
                assert error.diag.severity_nonlocalized == "ERROR"
                if constraint:
                    assert error.diag.constraint_name == constraint, error.diag.constraint_name
                    assert error.diag.table_name == "faulty" and error.diag.schema_name == "public"
                if detail:
                    assert error.diag.message_detail == detail, error.diag.message_detail
        try:
            c.execute("insert into faulty values (3, null)")
        except errors.NotNullViolation as error:
            assert error.diag.column_name == "b", error.diag.column_name
        try:
            c.execute("select * from nosuch")
        except errors.UndefinedTable as error:
            assert error.diag.statement_position == "15", error.diag.statement_position


@check
def server_side_cursors():
    with connect() as c:
        with c.cursor("named") as cursor:
            cursor.itersize = 100
            cursor.execute("select i from generate_series(1, 1000) i")
            assert sum(row[0] for row in cursor) == 500500
        with c.cursor("scrolled", scrollable=True) as cursor:
            cursor.execute("select i from generate_series(1, 100) i")
            assert len(cursor.fetchmany(10)) == 10
            cursor.scroll(-5)
            assert cursor.fetchone() == (6,)
            cursor.scroll(50, mode="absolute")
            assert cursor.fetchone() == (51,)
        c.commit()
        with c.cursor("held", withhold=True) as cursor:
            cursor.execute("select i from generate_series(1, 10) i")
            c.commit()
            assert len(cursor.fetchall()) == 10
        c.rollback()
        with c.cursor() as cursor:
            rows = list(cursor.stream("select i from generate_series(1, 500) i"))
            assert len(rows) == 500


@check
def notices_and_settings():
    with connect(autocommit=True, options="-c search_path=pg_catalog -c work_mem=1MB") as c:
        assert c.execute("show work_mem").fetchone() == ("1MB",)
        heard = []
        c.add_notice_handler(lambda diag: heard.append(diag.message_primary))
        c.execute("drop table if exists public.nosuch")
        assert heard == ['table "nosuch" does not exist, skipping'], heard
        c.execute("set timezone = 'Europe/Berlin'")
        assert c.info.parameter_status("TimeZone") == "Europe/Berlin"


for function in CHECKS:
    outcome(function, function)
