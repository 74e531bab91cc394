// The two drivers most used from Go: pgx, which speaks binary and batches, and lib/pq, which is plain.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"strings"
	"time"
)

type check struct {
	name string
	run  func(context.Context)
}

// must ends a check with an error.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func equal(got, wanted any) {
	if !reflect.DeepEqual(got, wanted) {
		panic(fmt.Errorf("got %#v, wanted %#v", got, wanted))
	}
}

func refused(err error, code string, codeOf func(error) string) {
	if err == nil {
		panic(errors.New("no error " + code))
	}
	if codeOf(err) != code {
		panic(fmt.Errorf("wanted %s: %w", code, err))
	}
}

func run(c check) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	defer func() {
		if fault := recover(); fault != nil {
			fmt.Printf("FAIL %s %s: %v\n", c.name, place(), strings.ReplaceAll(fmt.Sprint(fault), "\n", " | "))
			return
		}
		fmt.Println("ok", c.name)
	}()
	c.run(ctx)
}

// place is the line of the check that failed.
func place() string {
	for _, line := range strings.Split(string(debug.Stack()), "\n") {
		if i := strings.LastIndex(line, "/"); i >= 0 && !strings.Contains(line, "main.go") &&
			(strings.Contains(line, "pgx_suite.go") || strings.Contains(line, "pq_suite.go")) {
			return strings.Fields(line[i+1:])[0]
		}
	}
	return ""
}

func main() {
	suites := map[string][]check{"pgx": pgxChecks, "pq": pqChecks}
	for _, c := range suites[os.Args[1]] {
		run(c)
	}
}
