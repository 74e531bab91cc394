package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

func pgxConnect(ctx context.Context, mode pgx.QueryExecMode) *pgx.Conn {
	config, err := pgx.ParseConfig("")
	must(err)
	config.DefaultQueryExecMode = mode
	c, err := pgx.ConnectConfig(ctx, config)
	must(err)
	return c
}

func pgxCode(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return err.Error()
}

func exec(ctx context.Context, c *pgx.Conn, sql string, args ...any) {
	_, err := c.Exec(ctx, sql, args...)
	must(err)
}

var modes = []pgx.QueryExecMode{
	pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
	pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
}

func roundTrip[T any](ctx context.Context, c *pgx.Conn, sql string, values ...T) {
	for _, value := range values {
		var got T
		if err := c.QueryRow(ctx, "select $1::"+sql, value).Scan(&got); err != nil {
			panic(fmt.Errorf("%s %v: %w", sql, value, err))
		}
		equal(got, value)
	}
}

var pgxChecks = []check{
	{"values_of_each_type", func(ctx context.Context) {
		for _, mode := range modes {
			c := pgxConnect(ctx, mode)
			roundTrip(ctx, c, "boolean", true, false)
			roundTrip[int16](ctx, c, "smallint", 0, math.MinInt16, math.MaxInt16)
			roundTrip[int32](ctx, c, "integer", 0, math.MinInt32, math.MaxInt32)
			roundTrip[int64](ctx, c, "bigint", 0, math.MinInt64+1, math.MaxInt64)
			roundTrip[float32](ctx, c, "real", 0, 1.5, -3.25)
			roundTrip(ctx, c, "double precision", 0, 0.1, -1e300, math.Inf(1))
			roundTrip(ctx, c, "text", "", "grüße ☃", "it's \\ \"q\"")
			roundTrip(ctx, c, "bytea", []byte{}, []byte{0, 255, 92, 39})
			roundTrip(ctx, c, "date", time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC))
			roundTrip(ctx, c, "timestamp", time.Date(2024, 2, 29, 12, 34, 56, 789012000, time.UTC))
			roundTrip(ctx, c, "integer[]", []int32{}, []int32{1, 2, 3})
			roundTrip(ctx, c, "text[]", []string{"a", "b c", `"`, "NULL"})
			roundTrip(ctx, c, "uuid", pgtype.UUID{Bytes: [16]byte{0x12, 0x34, 15: 9}, Valid: true})
			roundTrip(ctx, c, "interval", 3*time.Hour+7*time.Microsecond)
			var number pgtype.Numeric
			must(number.Scan("-12345678901234567890.12345"))
			var text string
			must(c.QueryRow(ctx, "select ($1::numeric)::text", number).Scan(&text))
			equal(text, "-12345678901234567890.12345")
			var nothing *string
			must(c.QueryRow(ctx, "select $1::text", nil).Scan(&nothing))
			equal(nothing, (*string)(nil))
			must(c.Close(ctx))
		}
	}},
	{"batches", func(ctx context.Context) {
		c := pgxConnect(ctx, pgx.QueryExecModeCacheStatement)
		exec(ctx, c, "drop table if exists batched_g")
		exec(ctx, c, "create table batched_g (a int primary key, b text)")
		batch := &pgx.Batch{}
		for i := range 500 {
			batch.Queue("insert into batched_g values ($1, $2)", i, fmt.Sprint(i))
		}
		batch.Queue("select count(*) from batched_g")
		results := c.SendBatch(ctx, batch)
		for range 500 {
			_, err := results.Exec()
			must(err)
		}
		var count int
		must(results.QueryRow().Scan(&count))
		must(results.Close())
		equal(count, 500)
		batch = &pgx.Batch{}
		batch.Queue("insert into batched_g values (1000, 'x')")
		batch.Queue("insert into batched_g values (1000, 'y')")
		batch.Queue("insert into batched_g values (1001, 'z')")
		refused(c.SendBatch(ctx, batch).Close(), "23505", pgxCode)
		must(c.QueryRow(ctx, "select count(*) from batched_g").Scan(&count))
		equal(count, 500)
		must(c.Close(ctx))
	}},
	{"copy_from", func(ctx context.Context) {
		c := pgxConnect(ctx, pgx.QueryExecModeCacheStatement)
		exec(ctx, c, "create temp table copied_g (a int, b text, c timestamptz, d float8)")
		rows := make([][]any, 1000)
		for i := range rows {
			rows[i] = []any{i, fmt.Sprintf("row %d", i), time.Unix(int64(i), 0), float64(i) / 2}
		}
		rows[7][1] = nil
		count, err := c.CopyFrom(ctx, pgx.Identifier{"copied_g"}, []string{"a", "b", "c", "d"}, pgx.CopyFromRows(rows))
		must(err)
		equal(count, int64(1000))
		var sum float64
		var texts int
		must(c.QueryRow(ctx, "select sum(d), count(b) from copied_g").Scan(&sum, &texts))
		equal(sum, 249750.0)
		equal(texts, 999)
		must(c.Close(ctx))
	}},
	{"cancelling", func(ctx context.Context) {
		c := pgxConnect(ctx, pgx.QueryExecModeCacheStatement)
		pid := c.PgConn().PID()
		other := pgxConnect(ctx, pgx.QueryExecModeExec)
		go func() {
			time.Sleep(300 * time.Millisecond)
			_, _ = other.Exec(ctx, "select pg_cancel_backend($1)", int32(pid))
		}()
		_, err := c.Exec(ctx, "select pg_sleep(60)")
		refused(err, "57014", pgxCode)
		go func() {
			time.Sleep(300 * time.Millisecond)
			_ = c.PgConn().CancelRequest(ctx)
		}()
		_, err = c.Exec(ctx, "select pg_sleep(60)")
		refused(err, "57014", pgxCode)
		exec(ctx, c, "select 1")
		must(c.Close(ctx))
	}},
	{"transactions", func(ctx context.Context) {
		c := pgxConnect(ctx, pgx.QueryExecModeCacheStatement)
		exec(ctx, c, "drop table if exists transacted_g")
		exec(ctx, c, "create table transacted_g (a int primary key)")
		tx, err := c.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
		must(err)
		_, err = tx.Exec(ctx, "insert into transacted_g values ($1)", 1)
		must(err)
		inner, err := tx.Begin(ctx)
		must(err)
		_, err = inner.Exec(ctx, "insert into transacted_g values ($1)", 1)
		refused(err, "23505", pgxCode)
		_, err = inner.Exec(ctx, "select 1")
		refused(err, "25P02", pgxCode)
		must(inner.Rollback(ctx))
		must(tx.Commit(ctx))
		var count int
		must(c.QueryRow(ctx, "select count(*) from transacted_g").Scan(&count))
		equal(count, 1)
		tx, err = c.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
		must(err)
		_, err = tx.Exec(ctx, "insert into transacted_g values (2)")
		refused(err, "25006", pgxCode)
		must(tx.Rollback(ctx))
		must(c.Close(ctx))
	}},
	{"errors", func(ctx context.Context) {
		c := pgxConnect(ctx, pgx.QueryExecModeCacheStatement)
		for sql, code := range map[string]string{
			"select * from nosuch": "42P01", "selec": "42601", "select 1/0": "22012",
			"select 'x'::int": "22P02", "select nosuch()": "42883",
		} {
			_, err := c.Exec(ctx, sql)
			refused(err, code, pgxCode)
		}
		exec(ctx, c, "drop table if exists faulty_g")
		exec(ctx, c, "create table faulty_g (a int check (a > 0))")
		_, err := c.Exec(ctx, "insert into faulty_g values ($1)", -1)
		var pg *pgconn.PgError
		if !errors.As(err, &pg) {
			panic(errors.New("no error"))
		}
		equal(pg.ConstraintName, "faulty_g_a_check")
		equal(pg.TableName, "faulty_g")
		must(c.Close(ctx))
	}},
	{"plans_after_alter_table", func(ctx context.Context) {
		c := pgxConnect(ctx, pgx.QueryExecModeCacheStatement)
		other := pgxConnect(ctx, pgx.QueryExecModeExec)
		exec(ctx, c, "drop table if exists altered_g")
		exec(ctx, c, "create table altered_g (a int)")
		exec(ctx, c, "insert into altered_g values ($1)", 1)
		var a, b int
		must(c.QueryRow(ctx, "select * from altered_g where a = $1", 1).Scan(&a))
		must(c.QueryRow(ctx, "select a from altered_g where a = $1", 1).Scan(&a))
		exec(ctx, other, "alter table altered_g add column b int default 7")
		must(c.QueryRow(ctx, "select a from altered_g where a = $1", 1).Scan(&a))
		refused(c.QueryRow(ctx, "select * from altered_g where a = $1", 1).Scan(&a, &b), "0A000", pgxCode)
		// The driver has thrown the statement away.
		must(c.QueryRow(ctx, "select * from altered_g where a = $1", 1).Scan(&a, &b))
		equal(b, 7)
		must(c.Close(ctx))
	}},
	{"cursors_and_early_ends", func(ctx context.Context) {
		c := pgxConnect(ctx, pgx.QueryExecModeCacheStatement)
		tx, err := c.Begin(ctx)
		must(err)
		_, err = tx.Exec(ctx, "declare several cursor for select i from generate_series(1, 1000) i")
		must(err)
		rows, err := tx.Query(ctx, "fetch 100 from several")
		must(err)
		numbers, err := pgx.CollectRows(rows, pgx.RowTo[int])
		must(err)
		equal(len(numbers), 100)
		must(tx.Commit(ctx))
		rows, err = c.Query(ctx, "select i from generate_series(1, 100000) i")
		must(err)
		rows.Next()
		rows.Close()
		must(rows.Err())
		must(c.Ping(ctx))
		must(c.Close(ctx))
	}},
}
