package main

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/lib/pq"
)

func pqOpen(parameters string) *sql.DB {
	db, err := sql.Open("postgres", parameters)
	must(err)
	return db
}

func pqCode(err error) string {
	var pg *pq.Error
	if errors.As(err, &pg) {
		return string(pg.Code)
	}
	return err.Error()
}

func through[T any](ctx context.Context, db *sql.DB, typ string, values ...T) {
	for _, value := range values {
		var got T
		must(db.QueryRowContext(ctx, "select $1::"+typ, value).Scan(&got))
		equal(got, value)
	}
}

var pqChecks = []check{
	{"values_of_each_type", func(ctx context.Context) {
		for _, parameters := range []string{"", "binary_parameters=yes"} {
			db := pqOpen(parameters)
			through(ctx, db, "boolean", true, false)
			through[int64](ctx, db, "bigint", 0, -1, 1<<62)
			through[int32](ctx, db, "integer", 0, -1, 1<<30)
			through(ctx, db, "double precision", 0, 0.1, -1e300)
			through(ctx, db, "text", "", "grüße ☃", "it's \\ \"q\"")
			through(ctx, db, "numeric", "12345678901234567890.12345")
			through(ctx, db, "bytea", []byte{0, 255, 92})
			var got time.Time
			when := time.Date(2024, 2, 29, 12, 34, 56, 789012000, time.UTC)
			must(db.QueryRowContext(ctx, "select $1::timestamptz", when).Scan(&got))
			equal(got.UTC(), when)
			var numbers pq.Int64Array
			must(db.QueryRowContext(ctx, "select $1::bigint[]", pq.Array([]int64{1, 2, 3})).Scan(&numbers))
			equal([]int64(numbers), []int64{1, 2, 3})
			var nothing sql.NullString
			must(db.QueryRowContext(ctx, "select $1::text", nil).Scan(&nothing))
			equal(nothing.Valid, false)
			must(db.Close())
		}
	}},
	{"prepared_statements", func(ctx context.Context) {
		db := pqOpen("")
		statement, err := db.PrepareContext(ctx, "select $1::int * 2")
		must(err)
		for i := range 10 {
			var got int
			must(statement.QueryRowContext(ctx, i).Scan(&got))
			equal(got, 2*i)
		}
		must(statement.Close())
		must(db.Close())
	}},
	{"copy_in", func(ctx context.Context) {
		db := pqOpen("")
		_, err := db.ExecContext(ctx, "drop table if exists copied_q; create table copied_q (a int, b text)")
		must(err)
		tx, err := db.BeginTx(ctx, nil)
		must(err)
		statement, err := tx.PrepareContext(ctx, pq.CopyIn("copied_q", "a", "b"))
		must(err)
		for i := range 1000 {
			_, err = statement.ExecContext(ctx, i, "a\tb\n")
			must(err)
		}
		_, err = statement.ExecContext(ctx)
		must(err)
		must(statement.Close())
		must(tx.Commit())
		var count int
		must(db.QueryRowContext(ctx, "select count(*) from copied_q where b = E'a\\tb\\n'").Scan(&count))
		equal(count, 1000)
		must(db.Close())
	}},
	{"cancelling", func(ctx context.Context) {
		db := pqOpen("")
		short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		begun := time.Now()
		_, err := db.ExecContext(short, "select pg_sleep(60)")
		if err == nil || time.Since(begun) > 20*time.Second {
			panic(errors.New("it was not cancelled"))
		}
		must(db.PingContext(ctx))
		must(db.Close())
	}},
	{"transactions_and_errors", func(ctx context.Context) {
		db := pqOpen("")
		_, err := db.ExecContext(ctx, "drop table if exists transacted_q; create table transacted_q (a int primary key)")
		must(err)
		tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
		must(err)
		_, err = tx.ExecContext(ctx, "insert into transacted_q values ($1)", 1)
		must(err)
		_, err = tx.ExecContext(ctx, "insert into transacted_q values ($1)", 1)
		refused(err, "23505", pqCode)
		_, err = tx.ExecContext(ctx, "select 1")
		refused(err, "25P02", pqCode)
		must(tx.Rollback())
		for text, code := range map[string]string{"select * from nosuch": "42P01", "selec": "42601", "select 1/0": "22012"} {
			_, err = db.ExecContext(ctx, text)
			refused(err, code, pqCode)
		}
		result, err := db.ExecContext(ctx, "insert into transacted_q select generate_series(1, 7)")
		must(err)
		count, err := result.RowsAffected()
		must(err)
		equal(count, int64(7))
		must(db.Close())
	}},
	{"plans_after_alter_table", func(ctx context.Context) {
		db := pqOpen("")
		db.SetMaxOpenConns(1)
		_, err := db.ExecContext(ctx, "drop table if exists altered_q; create table altered_q (a int); insert into altered_q values (1)")
		must(err)
		statement, err := db.PrepareContext(ctx, "select a from altered_q where a = $1")
		must(err)
		var got int
		must(statement.QueryRowContext(ctx, 1).Scan(&got))
		_, err = db.ExecContext(ctx, "alter table altered_q add column b int")
		must(err)
		must(statement.QueryRowContext(ctx, 1).Scan(&got))
		_, err = db.ExecContext(ctx, "drop table altered_q")
		must(err)
		refused(statement.QueryRowContext(ctx, 1).Scan(&got), "42P01", pqCode)
		must(db.Close())
	}},
	{"several_statements_and_results", func(ctx context.Context) {
		db := pqOpen("")
		rows, err := db.QueryContext(ctx, "select 1; select 2, 3")
		must(err)
		var a, b int
		rows.Next()
		must(rows.Scan(&a))
		rows.Next()
		if !rows.NextResultSet() || !rows.Next() {
			panic(errors.New("there is a second result"))
		}
		must(rows.Scan(&a, &b))
		equal([]int{a, b}, []int{2, 3})
		must(rows.Close())
		must(db.Close())
	}},
}
