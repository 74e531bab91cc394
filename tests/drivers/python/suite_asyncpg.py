"""asyncpg: everything prepared, everything binary, its own look at the catalogs."""

import asyncio
import datetime as dt
import inspect
import json

import asyncpg

from checks import CHECKS, VALUES, check, lacks, outcome


async def connect(**options):
    c = await asyncpg.connect(**options)
    there = {row[0] for row in await c.fetch("select typname::text from pg_type")}
    for name in {"json", "jsonb"} & there:
        await c.set_type_codec(name, encoder=json.dumps, decoder=json.loads, schema="pg_catalog")
    return c


@check
async def connects_and_tells_its_version(c):
    assert c.get_server_version().major == 15
    assert await c.fetchval("select 1") == 1


@check
async def values_of_each_type(c):
    wrong = []
    there = {row[0] for row in await c.fetch("select typname::text from pg_type")}
    for sql, values in VALUES:
        if lacks(lambda t: t in there, sql):
            continue
        for value in values:
            try:
                got = await c.fetchval(f"select $1::{sql}", value)
                if got != value:
                    wrong.append(f"{sql}: {value!r} came back as {got!r}"[:150])
            except asyncpg.PostgresError as error:
                wrong.append(f"{sql} {value!r}: {error}"[:150])
    assert not wrong, "; ".join(wrong)


@check
async def prepared_statements_describe_themselves(c):
    statement = await c.prepare("select $1::int as a, $2::text as b")
    names = [p.name for p in statement.get_parameters()]
    assert names == ["int4", "text"], names
    assert [a.name for a in statement.get_attributes()] == ["a", "b"]
    assert tuple(await statement.fetchrow(1, "x")) == (1, "x")
    await statement.fetch(1, "x")
    assert statement.get_statusmsg() == "SELECT 1", statement.get_statusmsg()


@check
async def batches(c):
    await c.execute("drop table if exists batched; create table batched (a int primary key, b text)")
    await c.executemany("insert into batched values ($1, $2)", [(i, str(i)) for i in range(1000)])
    assert await c.fetchval("select count(*) from batched") == 1000
    try:
        await c.executemany("insert into batched values ($1, $2)", [(2000, "x"), (2000, "y")])
        raise AssertionError("no error")
    except asyncpg.UniqueViolationError:
        pass
    assert await c.fetchval("select count(*) from batched") == 1000
    got = await c.fetchmany("insert into batched values ($1, $2) returning a", [(3000, "x"), (3001, "y")])
    assert [tuple(r) for r in got] == [(3000,), (3001,)]


@check
async def copy_records(c):
    await c.execute("drop table if exists copied3; create table copied3 (a int, b text, c timestamptz)")
    now = dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)
    assert await c.copy_records_to_table("copied3", records=[(i, f"r{i}", now) for i in range(1000)]) == "COPY 1000"
    assert await c.fetchval("select count(*) from copied3 where c = $1", now) == 1000
    out = []

    async def take(data):
        out.append(bytes(data))

    assert await c.copy_from_query("select a from copied3 order by a limit 3", output=take, format="csv") == "COPY 3"
    assert b"".join(out) == b"0\n1\n2\n"
    await c.copy_from_table("copied3", output=take, format="binary")


@check
async def cancel(c):
    try:
        await asyncio.wait_for(c.fetch("select pg_sleep(60)"), 0.3)
        raise AssertionError("no error")
    except asyncio.TimeoutError:
        pass
    assert await c.fetchval("select 1") == 1
    try:
        await c.execute("select pg_sleep(60)", timeout=0.3)
        raise AssertionError("no error")
    except asyncio.TimeoutError:
        pass
    assert await c.fetchval("select 1") == 1


@check
async def transactions(c):
    await c.execute("drop table if exists transacted3; create table transacted3 (a int primary key)")
    async with c.transaction(isolation="repeatable_read"):
        await c.execute("insert into transacted3 values (1)")
        try:
            async with c.transaction():
                await c.execute("insert into transacted3 values (1)")
        except asyncpg.UniqueViolationError as error:
            assert error.constraint_name == "transacted3_pkey" and error.detail == "Key (a)=(1) already exists."
        await c.execute("insert into transacted3 values (2)")
    assert await c.fetchval("select count(*) from transacted3") == 2
    other = await connect()
    transaction = other.transaction(isolation="repeatable_read")
    await transaction.start()
    await other.fetch("select * from transacted3")
    await c.execute("update transacted3 set a = 3 where a = 2")
    try:
        await other.execute("update transacted3 set a = 4 where a = 2")
        raise AssertionError("no error")
    except asyncpg.SerializationError:
        await transaction.rollback()
    await other.close()


@check
async def errors_are_told_apart(c):
    for sql, kind in [
        ("select * from nosuch", asyncpg.UndefinedTableError),
        ("select 1/0", asyncpg.DivisionByZeroError),
        ("selec", asyncpg.PostgresSyntaxError),
        ("select 'x'::int", asyncpg.InvalidTextRepresentationError),
    ]:
        try:
            await c.fetch(sql)
            raise AssertionError(f"no error: {sql}")
        except kind:
            pass


@check
async def cursors(c):
    async with c.transaction():
        total = 0
        async for row in c.cursor("select i from generate_series(1, 1000) i", prefetch=64):
            total += row[0]
        assert total == 500500
        cursor = await c.cursor("select i from generate_series(1, 100) i")
        assert len(await cursor.fetch(10)) == 10
        assert await cursor.forward(80) == 80
        assert (await cursor.fetchrow())[0] == 91


@check
async def a_prepared_plan_survives_alter_table(c):
    await c.execute("drop table if exists altered3; create table altered3 (a int); insert into altered3 values (1)")
    for _ in range(3):
        assert tuple(await c.fetchrow("select * from altered3")) == (1,)
    other = await connect()
    await other.execute("alter table altered3 add column b int default 7")
    await other.close()
    # The driver prepares anew when it is told that the plan has changed.
    assert tuple(await c.fetchrow("select * from altered3")) == (1, 7)


@check
async def composites_and_ranges_are_looked_up(c):
    await c.execute("drop table if exists composite3; create table composite3 (a int, b text)")
    await c.execute("insert into composite3 values (1, 'x')")
    got = await c.fetchval("select t from composite3 t")
    assert got["a"] == 1 and got["b"] == "x", got
    assert await c.fetchval("select row(1, 'x'::text)") == (1, "x")


@check
async def pools_reset_their_connections(_):
    async with asyncpg.create_pool(min_size=2, max_size=4) as pool:
        async def one(i):
            async with pool.acquire() as c:
                await c.execute("set application_name = 'busy'")
                return await c.fetchval("select $1::int", i)
        assert await asyncio.gather(*(one(i) for i in range(50))) == list(range(50))
        async with pool.acquire() as c:
            assert await c.fetchval("show application_name") == ""


async def alone(function):
    c = await connect()
    try:
        await asyncio.wait_for(function(c), 20)
    finally:
        c.terminate()


for function in CHECKS:
    assert inspect.iscoroutinefunction(function)
    outcome(function, lambda: asyncio.run(alone(function)))
