# Everything a fresh machine needs is installed by these targets when run as root; otherwise they say what
# is missing.

CARGO ?= cargo
DATA ?= ./data
SEEDS ?= 50
TORTURE_SEEDS ?= 1000
WIRE_FUZZ_ROUNDS ?= 8000000
SYNTAX_FUZZ_ROUNDS ?= 350000

# What only the lab builds, as far as it goes together.
LAB_FEATURES = storage/page-trace,bench/lab-counts,bench/lab-hash-lines,bench/lab-hash-protocols,bench/lab-wal-locked,bench/lab-wal-packed

# Release builds tell what they were built from: `thalweg --version`, and the records of what was measured.
RELEASE = THALWEG_COMMIT=$$(git describe --always --dirty --exclude '*' 2>/dev/null) $(CARGO) build --release --locked

.PHONY: serve test deps deps-test lint tidy unit test-tiny-cache test-tiny-logs sim-test kill-test fuzz-test torture mutations bench \
	bench-connections bench-eviction bench-hash-pages bench-indexes bench-operations bench-point-lookups bench-status-logs drivers tpcc traces \
	loom deps-lab lab lab-long lab-programs pack-test

## Build the server and run it on $(DATA).
serve: deps
	$(RELEASE) -p thalweg
	./target/release/thalweg serve --data $(DATA)

## Everything CI runs.
test: deps deps-test lint tidy unit fuzz-test sim-test kill-test

## What building needs: a C compiler and libclang; and patch, for `lint` and `mutations`.
deps:
	@./xtask/deps.sh build

## What testing needs besides: PostgreSQL 15's server and client programs, to compare with.
deps-test:
	@./xtask/deps.sh test

## What the lab needs besides, whole: npm for PostgreSQL 18, Go for TPC-C, and what counts.
deps-lab:
	@./xtask/deps.sh lab

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) clippy -p storage -p bench --all-targets --locked --features $(LAB_FEATURES) -- -D warnings
	./sim/mutations/run.sh --fit

tidy:
	$(CARGO) run -q --locked -p xtask -- tidy

unit:
	THALWEG_REQUIRE_PG=1 $(CARGO) test --workspace --locked
	./tests/some.sh $(CARGO) test --locked -p base --features lab-counts --lib counts
	./tests/some.sh $(CARGO) test --locked -p storage --features lab-counts --lib shared_lines

## The same tests, differential scripts and all, over a cache of 16 pages, the fewest that a server can be given.
test-tiny-cache: deps deps-test
	THALWEG_TEST_BUFFERS=16 THALWEG_REQUIRE_PG=1 $(CARGO) test --workspace --locked

## Those that run transactions, with status-log pools of 16 pages, one bank each, and ids beyond 32 bits.
test-tiny-logs: deps deps-test
	THALWEG_TEST_LOGS=1 THALWEG_REQUIRE_PG=1 $(CARGO) test -p sql -p server -p thalweg --locked

## Seeded mutation of messages and of statements, about a minute. A failing case is told by its number; one of
## the messages runs alone with WIRE_FUZZ_SEED=n.
fuzz-test:
	WIRE_FUZZ_ROUNDS=$(WIRE_FUZZ_ROUNDS) ./tests/some.sh $(CARGO) test --locked -p wire --lib mutated
	SYNTAX_FUZZ_ROUNDS=$(SYNTAX_FUZZ_ROUNDS) ./tests/some.sh $(CARGO) test --locked -p syntax --test it fuzz::mutated

## Simulation: every write and sync of each seed's run is a crash.
sim-test:
	$(CARGO) run --profile quick --locked -p sim -- crash --seeds $(SEEDS)

## Real kill -9 under pgbench.
kill-test:
	$(CARGO) build --profile quick --locked -p thalweg
	THALWEG=$(CURDIR)/target/quick/thalweg ./tests/kill9.sh 3
	THALWEG=$(CURDIR)/target/quick/thalweg ./tests/kill9.sh 3 wal_io=mmap

## The long versions, by hand before an issue is called resolved.
torture:
	$(MAKE) loom
	THALWEG_CRASH_EVERY=1 ./tests/some.sh $(CARGO) test --release --locked -p storage --lib outcomes_that_were_told
	$(RELEASE) -p sim -p thalweg
	./sim/long_run.sh 0 $(TORTURE_SEEDS) ./target/release/sim
	$(CARGO) build --profile checked --locked -p sim
	./sim/long_run.sh $(TORTURE_SEEDS) $(SEEDS) ./target/checked/sim
	./tests/kill9.sh 100
	./tests/kill9.sh 20 torn_page_protection=full_page_writes
	./tests/kill9.sh 20 wal_io=mmap
	./tests/kill9.sh 10 wal_io=mmap torn_page_protection=full_page_writes
	$(MAKE) test-tiny-cache test-tiny-logs

## Can the simulation fail? One deliberate fault after another must be caught by it (sim/README.md).
mutations:
	./sim/mutations/run.sh $(MUTATION)

## Thalweg, PostgreSQL 15 and 18 and the canned-reply ceiling, interleaved, then one row that 32 clients change; recorded under
## bench/record/. `BENCH="--loads all"` is the whole table, every script in every mode.
bench: deps deps-test
	$(RELEASE) -p thalweg -p bench
	./target/release/peers $(BENCH)
	./target/release/peers --scale 1 --clients 32 --loads tpcb-sync-prepared $(filter --no-record,$(BENCH))

## Loading, data larger than the cache, recovery, restart, vacuum, memory, beside PostgreSQL 15; recorded.
bench-operations: deps deps-test
	$(RELEASE) -p thalweg -p bench
	./target/release/operations $(BENCH)

## Savepoints, lockers of rows, a hot row and a queue, beside PostgreSQL 15 and 18, 35 minutes; status look-ups in
## process; recorded under bench/record/, the former from the first run on. `BENCH="--loads hot-row,queue"` chooses.
bench-status-logs: deps deps-test
	$(RELEASE) -p thalweg -p bench
	./target/release/status_logs $(BENCH)
	./target/release/status_lookups $(filter --no-record,$(BENCH))

## Ten thousand connections beside 64 at work, long queries beside short ones; recorded under bench/record/.
bench-connections: deps
	$(RELEASE) -p thalweg -p bench
	./target/release/connections $(BENCH)

## Look-ups in process on a cached table of ten million rows beside an ordered map, two minutes and 5 GB of memory; recorded
## under bench/record/. The head of its source says how the shared lines that they write are counted.
bench-point-lookups: deps
	$(RELEASE) -p bench
	./target/release/point_lookups $(BENCH)

## Random reads through a cache of 1 % of the data beside what the device gives, direct and buffered, under two
## minutes; recorded under bench/record/.
bench-eviction: deps
	$(RELEASE) -p bench
	./target/release/eviction $(BENCH)

## Ways to search a hash index's page and to insert into it, in process, fingerprints among them: time and cache lines, five
## minutes and 5 GiB of memory; recorded under bench/record/.
bench-hash-pages: deps
	./bench/hash_pages.sh $(BENCH)

## Indexes beside PostgreSQL 15 and 18: builds over 10^7 rows, sizes while rows come and go, 50 minutes; and hash index and
## B-tree in process, with the protocols of seed S4, 20 minutes; recorded. `BENCH="--parts churn"` chooses of the former.
bench-indexes: deps deps-test
	$(RELEASE) -p thalweg -p bench
	./target/release/indexes $(BENCH)
	./bench/index_paths.sh

## Every experiment of the lab beside PostgreSQL, drawn, under 20 minutes; goes on where it was interrupted. LAB adds
## arguments, EXPERIMENTS chooses. Records go to lab/record/. The build that counts is made by the lab, where it has part.
EXPERIMENTS ?= all
lab: deps deps-test deps-lab
	$(RELEASE) -p thalweg -p bench -p lab
	./target/release/lab run $(EXPERIMENTS) --resume $(LAB)

## The same, longer, larger, two and a half hours.
lab-long: deps deps-test deps-lab
	$(RELEASE) -p thalweg -p bench -p lab
	./target/release/lab run $(EXPERIMENTS) --long --resume $(LAB)

## Every program of a whole run into $(DIR), so that none changes while it lasts: $(DIR)/lab run all --long
DIR ?= target/lab-programs
lab-programs: deps deps-lab
	$(RELEASE) -p lab
	./target/release/lab build $(DIR)

## Packs the lab for another machine, and runs it unpacked without network, by root and by an ordinary user, two minutes.
pack-test: deps deps-test
	$(RELEASE) -p thalweg -p bench -p lab
	./lab/pack-test.sh

## Small suites of widely used drivers (Python, Node, Go, Java); DRIVERS chooses, SERVER=postgres compares.
drivers: deps
	$(RELEASE) -p thalweg
	./tests/drivers/run.sh $(DRIVERS)

## TPC-C by go-tpc: load, check, run, check; TPCC is warehouses, seconds, clients. SERVER=postgres compares.
tpcc: deps deps-test
	$(RELEASE) -p thalweg
	./lab/tpcc/run.sh $(TPCC)

## Records which pages are used under pgbench and TPC-C, and asks the simulator of replacement policies about them.
traces: deps deps-test
	./bench/traces.sh $(TRACES)

## Model checks of the lock-free kernels: some minutes of building, then about one.
loom:
	RUSTFLAGS="--cfg loom" ./tests/some.sh $(CARGO) test --release --locked -p base -p storage --lib loom
