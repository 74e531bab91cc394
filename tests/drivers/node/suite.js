// node-postgres: simple and named statements, text and binary results, cursors, COPY streams, cancelling.
'use strict'
const assert = require('node:assert/strict')
const { pipeline } = require('node:stream/promises')
const { Readable, Writable } = require('node:stream')
const { Client, Pool } = require('pg')
const Cursor = require('pg-cursor')
const { from: copyFrom, to: copyTo } = require('pg-copy-streams')

const checks = []
const check = (name, run) => checks.push({ name, run })

async function connect(options = {}) {
  const client = new Client(options)
  await client.connect()
  return client
}

const refused = async (promise, code) => {
  try {
    await promise
  } catch (error) {
    assert.equal(error.code, code, error.message)
    return error
  }
  assert.fail(`no error ${code}`)
}

check('values_of_each_type', async (c) => {
  const cases = [
    ['boolean', true, true], ['smallint', -32768, -32768], ['integer', 2147483647, 2147483647],
    ['bigint', '-9223372036854775808', '-9223372036854775808'], ['real', 1.5, 1.5],
    ['double precision', 0.1, 0.1], ['numeric', '123.4500', '123.4500'], ['text', 'grüße ☃', 'grüße ☃'],
    ['varchar(3)', 'abc', 'abc'], ['char(3)', 'a', 'a  '],
    ['bytea', Buffer.from([0, 255, 92]), Buffer.from([0, 255, 92])],
    ['uuid', '12345678-1234-5678-9abc-def012345678', '12345678-1234-5678-9abc-def012345678'],
    ['timestamptz', new Date(1709210096789), new Date(1709210096789)],
    ['date', '2024-02-29', new Date(2024, 1, 29)], ['json', { a: [1, null] }, { a: [1, null] }],
    ['jsonb', { a: [1, null] }, { a: [1, null] }], ['int[]', [1, null, 3], [1, null, 3]],
    ['text[]', ['a', 'b c', '"', null], ['a', 'b c', '"', null]], ['text', null, null],
  ]
  const there = new Set((await c.query('select typname from pg_type')).rows.map((row) => row.typname))
  for (const [type, value, expected] of cases) {
    if (type.startsWith('json') && !there.has(type)) {
      console.log('note: no type', type)
      continue
    }
    const result = await c.query(`select $1::${type} as v`, [value])
    assert.deepEqual(result.rows[0].v, expected, type)
  }
})

check('binary_results', async () => {
  const c = await connect({ binary: true })
  const { rows: [row] } = await c.query("select $1::int as i, $2::text as t, true as b", [7, 'x'])
  assert.deepEqual({ ...row }, { i: 7, t: 'x', b: true })
  await c.end()
})

check('named_statements', async (c) => {
  for (let i = 0; i < 5; i++) {
    const { rows } = await c.query({ name: 'twice', text: 'select $1::int * 2 as v', values: [i] })
    assert.equal(rows[0].v, 2 * i)
  }
  const { rows } = await c.query("select count(*)::int as n from pg_prepared_statements where name = 'twice'")
  assert.equal(rows[0].n, 1)
})

check('a_named_plan_after_alter_table', async (c) => {
  await c.query('drop table if exists altered_n')
  await c.query('create table altered_n (a int); insert into altered_n values (1)')
  const star = { name: 'star', text: 'select * from altered_n' }
  const plain = { name: 'plain', text: 'select a from altered_n' }
  assert.deepEqual((await c.query(star)).rows, [{ a: 1 }])
  assert.deepEqual((await c.query(plain)).rows, [{ a: 1 }])
  await c.query('alter table altered_n add column b int')
  assert.deepEqual((await c.query(plain)).rows, [{ a: 1 }])
  await refused(c.query(star), '0A000')
  await c.query('drop table altered_n')
  await refused(c.query(plain), '42P01')
})

check('many_queries_queued', async (c) => {
  const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => c.query('select $1::int as v', [i])))
  answers.forEach((answer, i) => assert.equal(answer.rows[0].v, i))
  const several = await c.query('select 1 as a; select 2 as b; create temp table x (a int); insert into x values (1), (2)')
  assert.deepEqual(several.map((r) => [r.command, r.rowCount]), [['SELECT', 1], ['SELECT', 1], ['CREATE', null], ['INSERT', 2]])
})

check('transactions', async (c) => {
  await c.query('drop table if exists transacted_n')
  await c.query('create table transacted_n (a int primary key)')
  await c.query('begin')
  await c.query('insert into transacted_n values (1)')
  await c.query('savepoint s')
  const error = await refused(c.query('insert into transacted_n values (1)'), '23505')
  assert.equal(error.constraint, 'transacted_n_pkey')
  assert.equal(error.detail, 'Key (a)=(1) already exists.')
  assert.equal(error.table, 'transacted_n')
  await refused(c.query('select 1'), '25P02')
  await c.query('rollback to s')
  await c.query('commit')
  assert.equal((await c.query('select count(*)::int as n from transacted_n')).rows[0].n, 1)
})

check('errors', async (c) => {
  const error = await refused(c.query('select * from nosuch'), '42P01')
  assert.equal(error.position, '15')
  await refused(c.query('selec'), '42601')
  await refused(c.query('select 1/$1::int', [0]), '22012')
  await refused(c.query('select $1::int', ['x']), '22P02')
  assert.equal((await c.query('select 1 as a')).rows[0].a, 1)
})

check('cursors', async (c) => {
  const cursor = c.query(new Cursor('select i from generate_series(1, $1::int) i', [1000]))
  let sum = 0
  for (let rows; (rows = await cursor.read(128)).length > 0;) rows.forEach((row) => { sum += row.i })
  assert.equal(sum, 500500)
  await cursor.close()
  const early = c.query(new Cursor('select i from generate_series(1, 1000000) i'))
  assert.equal((await early.read(10)).length, 10)
  await early.close()
  assert.equal((await c.query('select 1 as a')).rows[0].a, 1)
})

check('copy_streams', async (c) => {
  await c.query('create temp table copied_n (a int, b text)')
  const rows = Readable.from((function* () { for (let i = 0; i < 10000; i++) yield `${i}\trow ${i}\n` })())
  await pipeline(rows, c.query(copyFrom('copy copied_n from stdin')))
  let text = ''
  const sink = new Writable({ write(chunk, _, done) { text += chunk; done() } })
  await pipeline(c.query(copyTo('copy (select * from copied_n where a < 3 order by a) to stdout (format csv)')), sink)
  assert.equal(text, '0,row 0\n1,row 1\n2,row 2\n')
  assert.equal((await c.query('select count(*)::int as n from copied_n')).rows[0].n, 10000)
})

check('cancelling', async (c) => {
  const { processID, secretKey } = c
  assert.ok(processID !== undefined && secretKey !== undefined)
  const sleeping = refused(c.query('select pg_sleep(60)'), '57014')
  await new Promise((resolve) => setTimeout(resolve, 300))
  const other = await connect()
  assert.equal((await other.query('select pg_cancel_backend($1) as done', [processID])).rows[0].done, true)
  await other.end()
  await sleeping
  const timed = await connect({ statement_timeout: 200 })
  await refused(timed.query('select pg_sleep(60)'), '57014')
  await timed.end()
})

check('pools', async () => {
  const pool = new Pool({ max: 5 })
  const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => pool.query('select $1::int as v', [i])))
  answers.forEach((answer, i) => assert.equal(answer.rows[0].v, i))
  await pool.end()
})

check('notices_and_notifications', async (c) => {
  const notices = []
  c.on('notice', (notice) => notices.push(notice.message))
  await c.query('drop table if exists nosuch')
  assert.deepEqual(notices, ['table "nosuch" does not exist, skipping'])
})

// A check that has failed may leave promises behind.
process.on('unhandledRejection', () => {})
void (async () => {
  for (const { name, run } of checks) {
    const client = await connect()
    try {
      const late = new Promise((_, reject) => setTimeout(() => reject(new Error('took too long')), 30000).unref())
      await Promise.race([run(client), late])
      console.log('ok', name)
    } catch (error) {
      console.log('FAIL', name, String(error.stack ?? error).split('\n').filter((l, i) => i < 3 || l.includes('suite.js')).slice(0, 5).join(' | '))
    }
    client.end().catch(() => {})
  }
  process.exit(0)
})()
