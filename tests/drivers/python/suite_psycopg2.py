"""psycopg2: values within the text of simple queries, named cursors, COPY."""

import io
import threading

import psycopg2
import psycopg2.extras
from psycopg2 import errors
from psycopg2.extras import Json

from checks import CHECKS, VALUES, check, lacks, outcome

psycopg2.extras.register_uuid()


def connect():
    return psycopg2.connect("")


def has_type(cursor, name):
    cursor.execute("select 1 from pg_type where typname = %s", (name,))
    return cursor.fetchone()


@check
def values_of_each_type():
    wrong = []
    with connect() as c, c.cursor() as cursor:
        for sql, values in VALUES:
            if sql == "inet" or lacks(lambda t: has_type(cursor, t), sql):  # the driver has no inet
                continue
            for value in values:
                cursor.execute(f"select cast(%s as {sql})", (Json(value) if "json" in sql else value,))
                got = cursor.fetchone()[0]
                if sql == "bytea":
                    got = bytes(got)
                if got != value:
                    wrong.append(f"{sql}: {value!r} came back as {got!r}"[:150])
    assert not wrong, "; ".join(wrong)


@check
def many_values_at_a_time():
    with connect() as c, c.cursor() as cursor:
        cursor.execute("create temp table many (a int, b text)")
        psycopg2.extras.execute_values(cursor, "insert into many values %s", [(i, str(i)) for i in range(1000)])
        psycopg2.extras.execute_batch(cursor, "insert into many values (%s, %s)", [(i, "x") for i in range(1000)])
        cursor.execute("select count(*), sum(a) from many")
        assert cursor.fetchone() == (2000, 999000)
        cursor.execute("select 1; select 2; select 3")
        assert cursor.fetchall() == [(3,)]


@check
def copy_both_ways():
    with connect() as c, c.cursor() as cursor:
        cursor.execute("create temp table copied (a int, b text)")
        cursor.copy_from(io.StringIO("1\tx\n2\t\\N\n"), "copied")
        cursor.copy_expert("copy copied from stdin (format csv)", io.StringIO('3,"a,b"\n'))
        out = io.StringIO()
        cursor.copy_to(out, "copied")
        assert out.getvalue() == "1\tx\n2\t\\N\n3\ta,b\n", out.getvalue()


@check
def cancel():
    c = connect()
    with c.cursor() as cursor:
        threading.Timer(0.3, c.cancel).start()
        try:
            cursor.execute("select pg_sleep(60)")
            raise AssertionError("no error")
        except errors.QueryCanceled:
            c.rollback()
        cursor.execute("select 1")
    c.close()


@check
def transactions_and_errors():
    c = connect()
    with c.cursor() as cursor:
        cursor.execute("drop table if exists transacted2; create table transacted2 (a int primary key)")
        c.commit()
        cursor.execute("insert into transacted2 values (1)")
        try:
            cursor.execute("insert into transacted2 values (1)")
        except errors.UniqueViolation as error:
            assert error.pgcode == "23505" and error.diag.constraint_name == "transacted2_pkey"
        try:
            cursor.execute("select 1")
            raise AssertionError("no error")
        except errors.InFailedSqlTransaction:
            c.rollback()
        cursor.execute("select count(*) from transacted2")
        assert cursor.fetchone() == (0,)
        c.rollback()
        c.set_session(isolation_level="REPEATABLE READ", readonly=False)
        cursor.execute("show transaction_isolation")
        assert cursor.fetchone() == ("repeatable read",)
        c.rollback()
    c.close()


@check
def named_cursors():
    with connect() as c:
        with c.cursor("named") as cursor:
            cursor.itersize = 77
            cursor.execute("select i, repeat('x', i % 50) from generate_series(1, 1000) i")
            assert sum(row[0] for row in cursor) == 500500
        with c.cursor("scrolled", scrollable=True) as cursor:
            cursor.execute("select i from generate_series(1, 20) i")
            cursor.fetchall()
            cursor.scroll(-20)
            assert cursor.fetchone() == (2,)


@check
def dictionaries_and_notices():
    with connect() as c, c.cursor(cursor_factory=psycopg2.extras.RealDictCursor) as cursor:
        cursor.execute("select 1 as a, 'x'::text as b")
        assert dict(cursor.fetchone()) == {"a": 1, "b": "x"}
        cursor.execute("drop table if exists nosuch")
        assert "does not exist, skipping" in c.notices[-1]


for function in CHECKS:
    outcome(function, function)
