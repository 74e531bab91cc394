// pgjdbc: server-prepared statements, binary transfer, batches, COPY, fetch size, cancelling.

import java.io.ByteArrayOutputStream;
import java.io.StringReader;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.Array;
import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Properties;
import java.util.UUID;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyManager;
import org.postgresql.util.PSQLException;

public class Suite {
    interface Check { void run(Connection c) throws Exception; }

    static Connection connect(String more) throws SQLException {
        String url = "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT")
            + "/postgres?user=postgres&gssEncMode=disable&sslmode=" + System.getenv("PGSSLMODE") + more;
        Properties known = new Properties();
        if (System.getenv("PGPASSWORD") != null) {
            known.setProperty("password", System.getenv("PGPASSWORD"));
            known.setProperty("sslrootcert", System.getenv("PGSSLROOTCERT"));
        }
        return DriverManager.getConnection(url, known);
    }

    static void check(String name, Check check) {
        try (Connection c = connect("")) {
            check.run(c);
            System.out.println("ok " + name);
        } catch (Throwable fault) {
            int line = Arrays.stream(fault.getStackTrace()).filter(f -> f.getClassName().startsWith("Suite"))
                .mapToInt(StackTraceElement::getLineNumber).findFirst().orElse(0);
            System.out.println("FAIL " + name + " line " + line + ": " + String.valueOf(fault).replace("\n", " | "));
        }
    }

    static void equal(Object got, Object wanted) {
        if (!Objects.deepEquals(got, wanted)) throw new AssertionError("got " + show(got) + ", wanted " + show(wanted));
    }

    static String show(Object value) {
        return value instanceof Object[] array ? Arrays.deepToString(array) : value instanceof byte[] b ? Arrays.toString(b) : String.valueOf(value);
    }

    interface Act { void run() throws Exception; }

    static PSQLException refused(String code, Act act) throws Exception {
        try {
            act.run();
        } catch (PSQLException error) {
            equal(error.getSQLState(), code);
            return error;
        }
        throw new AssertionError("no error " + code);
    }

    static void run(Connection c, String sql) throws SQLException {
        try (Statement s = c.createStatement()) { s.execute(sql); }
    }

    static Object one(Connection c, String sql) throws SQLException {
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery(sql)) {
            r.next();
            return r.getObject(1);
        }
    }

    static void through(Connection c, String type, Object... values) throws Exception {
        // From the fifth execution on, the statement is the server's and what can be is binary.
        for (int round = 0; round < 2; round++) {
            try (PreparedStatement s = c.prepareStatement("select ?::" + type)) {
                s.unwrap(org.postgresql.PGStatement.class).setPrepareThreshold(round == 0 ? 0 : -1);
                for (Object value : values) {
                    s.setObject(1, value);
                    try (ResultSet r = s.executeQuery()) {
                        r.next();
                        Object got = value == null ? r.getObject(1) : value instanceof byte[] ? r.getBytes(1) : r.getObject(1, value.getClass());
                        if (!Objects.deepEquals(got, value)) throw new AssertionError(type + ": " + show(value) + " came back as " + show(got));
                    } catch (SQLException error) {
                        throw new AssertionError(type + " " + show(value) + ": " + error.getMessage());
                    }
                }
            }
        }
    }

    static void values(Connection c) throws Exception {
        through(c, "boolean", true, false);
        through(c, "smallint", (short) 0, (short) -32768, (short) 32767);
        through(c, "integer", 0, Integer.MIN_VALUE, Integer.MAX_VALUE, null);
        through(c, "bigint", 0L, Long.MIN_VALUE, Long.MAX_VALUE);
        through(c, "real", 0f, 1.5f, Float.POSITIVE_INFINITY);
        through(c, "double precision", 0.0, 0.1, -1e300, Double.NEGATIVE_INFINITY);
        through(c, "numeric", new BigDecimal("0"), new BigDecimal("-12345678901234567890.12345"), new BigDecimal("0.00001"), new BigDecimal("1.50"));
        through(c, "text", "", "grüße ☃", "it's \\ \"q\"", null);
        through(c, "varchar", "vär");
        through(c, "bytea", new byte[0], new byte[] {0, -1, 92, 39});
        through(c, "date", LocalDate.of(2024, 2, 29), LocalDate.of(1, 1, 1));
        through(c, "timestamp", LocalDateTime.of(2024, 2, 29, 12, 34, 56, 789012000));
        through(c, "timestamptz", OffsetDateTime.of(2024, 2, 29, 12, 34, 56, 789012000, ZoneOffset.UTC));
        through(c, "uuid", UUID.fromString("12345678-1234-5678-9abc-def012345678"));
        try (PreparedStatement s = c.prepareStatement("select ?::int[], ?::text[]")) {
            for (int i = 0; i < 7; i++) {
                s.setArray(1, c.createArrayOf("int4", new Integer[] {1, null, 3}));
                s.setArray(2, c.createArrayOf("text", new String[] {"a", "b c", "\"", "NULL", null}));
                try (ResultSet r = s.executeQuery()) {
                    r.next();
                    Array numbers = r.getArray(1), texts = r.getArray(2);
                    equal(numbers.getArray(), new Integer[] {1, null, 3});
                    equal(texts.getArray(), new String[] {"a", "b c", "\"", "NULL", null});
                }
            }
        }
    }

    static void batches(Connection c) throws Exception {
        run(c, "drop table if exists batched_j; create table batched_j (a int primary key, b text)");
        for (String rewrite : List.of("false", "true")) {
            try (Connection d = connect("&reWriteBatchedInserts=" + rewrite);
                 PreparedStatement s = d.prepareStatement("insert into batched_j values (?, ?)")) {
                int from = rewrite.equals("true") ? 10000 : 0;
                for (int i = 0; i < 1000; i++) {
                    s.setInt(1, from + i);
                    s.setString(2, "row " + i);
                    s.addBatch();
                }
                equal(s.executeBatch().length, 1000);
            }
        }
        equal(one(c, "select count(*) from batched_j"), 2000L);
        try (PreparedStatement s = c.prepareStatement("insert into batched_j values (?, 'x')")) {
            for (int a : new int[] {50000, 50000, 50001}) {
                s.setInt(1, a);
                s.addBatch();
            }
            s.executeBatch();
            throw new AssertionError("no error");
        } catch (BatchUpdateException error) {
            equal(error.getSQLState(), "23505");
        }
        try (PreparedStatement s = c.prepareStatement("insert into batched_j values (?, 'k') returning a", Statement.RETURN_GENERATED_KEYS)) {
            s.setInt(1, 60000);
            s.executeUpdate();
            try (ResultSet keys = s.getGeneratedKeys()) {
                keys.next();
                equal(keys.getInt(1), 60000);
            }
        }
    }

    static void copying(Connection c) throws Exception {
        run(c, "create temp table copied_j (a int, b text)");
        CopyManager copies = c.unwrap(PGConnection.class).getCopyAPI();
        equal(copies.copyIn("copy copied_j from stdin (format csv)", new StringReader("1,x\n2,\"y,z\"\n3,\n")), 3L);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        equal(copies.copyOut("copy (select * from copied_j order by a) to stdout", out), 3L);
        equal(out.toString(StandardCharsets.UTF_8), "1\tx\n2\ty,z\n3\t\\N\n");
        refused("22P02", () -> copies.copyIn("copy copied_j from stdin", new StringReader("x\ty\n")));
        equal(one(c, "select count(*) from copied_j"), 3L);
    }

    static void cancelling(Connection c) throws Exception {
        try (Statement s = c.createStatement()) {
            Thread canceller = new Thread(() -> {
                try {
                    Thread.sleep(300);
                    s.cancel();
                } catch (Exception ignored) {
                    // The check fails by itself then.
                }
            });
            canceller.start();
            refused("57014", () -> s.execute("select pg_sleep(60)"));
            canceller.join();
            s.setQueryTimeout(1);
            refused("57014", () -> s.execute("select pg_sleep(60)"));
            s.setQueryTimeout(0);
            s.execute("select 1");
        }
    }

    static void transactions(Connection c) throws Exception {
        run(c, "drop table if exists transacted_j; create table transacted_j (a int primary key)");
        c.setAutoCommit(false);
        c.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
        run(c, "insert into transacted_j values (1)");
        Savepoint before = c.setSavepoint("before");
        PSQLException error = refused("23505", () -> run(c, "insert into transacted_j values (1)"));
        equal(error.getServerErrorMessage().getConstraint(), "transacted_j_pkey");
        equal(error.getServerErrorMessage().getDetail(), "Key (a)=(1) already exists.");
        refused("25P02", () -> run(c, "select 1"));
        c.rollback(before);
        c.commit();
        equal(one(c, "select count(*) from transacted_j"), 1L);
        c.rollback();
        c.setReadOnly(true);
        refused("25006", () -> run(c, "insert into transacted_j values (2)"));
        c.rollback();
        c.setReadOnly(false);
        c.setAutoCommit(true);
        for (String[] pair : new String[][] {{"select * from nosuch", "42P01"}, {"selec", "42601"}, {"select 1/0", "22012"}, {"select 'x'::int", "22P02"}}) {
            refused(pair[1], () -> run(c, pair[0]));
        }
    }

    static void fetching(Connection c) throws Exception {
        c.setAutoCommit(false);
        try (PreparedStatement s = c.prepareStatement("select i, repeat('x', i % 100) from generate_series(1, ?) i")) {
            s.setFetchSize(37);
            for (int round = 0; round < 7; round++) {
                s.setInt(1, 1000);
                long sum = 0;
                try (ResultSet r = s.executeQuery()) {
                    while (r.next()) sum += r.getInt(1);
                }
                equal(sum, 500500L);
            }
        }
        c.commit();
        try (Statement s = c.createStatement(); ) {
            s.setMaxRows(10);
            try (ResultSet r = s.executeQuery("select i from generate_series(1, 1000) i")) {
                int rows = 0;
                while (r.next()) rows++;
                equal(rows, 10);
            }
        }
        c.commit();
    }

    static void altering(Connection c) throws Exception {
        run(c, "drop table if exists altered_j; create table altered_j (a int); insert into altered_j values (1)");
        try (Connection other = connect("");
             PreparedStatement star = c.prepareStatement("select * from altered_j where a = ?");
             PreparedStatement plain = c.prepareStatement("select a from altered_j where a = ?")) {
            for (int i = 0; i < 8; i++) {
                for (PreparedStatement s : List.of(star, plain)) {
                    s.setInt(1, 1);
                    try (ResultSet r = s.executeQuery()) { equal(r.next(), true); }
                }
            }
            run(other, "alter table altered_j add column b int default 7");
            try (ResultSet r = plain.executeQuery()) { equal(r.next(), true); }
            // Outside a transaction the driver prepares anew by itself.
            try (ResultSet r = star.executeQuery()) {
                r.next();
                equal(r.getInt(2), 7);
            }
            for (int i = 0; i < 8; i++) star.executeQuery().close();
            c.setAutoCommit(false);
            run(other, "alter table altered_j add column c int");
            refused("0A000", () -> star.executeQuery());
            c.rollback();
            c.setAutoCommit(true);
        }
    }

    static void metadata(Connection c) throws Exception {
        run(c, "drop table if exists described_j cascade; create table described_j (a int primary key, b varchar(10) not null default 'x', c numeric(10,2))");
        run(c, "create index described_j_b on described_j (b)");
        DatabaseMetaData m = c.getMetaData();
        equal(m.getDatabaseMajorVersion(), 15);
        List<String> found = new ArrayList<>();
        try (ResultSet r = m.getColumns(null, "public", "described_j", null)) {
            while (r.next()) found.add(r.getString("COLUMN_NAME") + " " + r.getString("TYPE_NAME") + " " + r.getInt("COLUMN_SIZE") + " " + r.getString("IS_NULLABLE"));
        }
        equal(found, List.of("a int4 10 NO", "b varchar 10 NO", "c numeric 10 YES"));
        found.clear();
        try (ResultSet r = m.getPrimaryKeys(null, "public", "described_j")) {
            while (r.next()) found.add(r.getString("COLUMN_NAME") + " " + r.getString("PK_NAME"));
        }
        equal(found, List.of("a described_j_pkey"));
        found.clear();
        try (ResultSet r = m.getIndexInfo(null, "public", "described_j", false, false)) {
            while (r.next()) found.add(r.getString("INDEX_NAME"));
        }
        equal(found.size(), 2);
        try (ResultSet r = m.getTables(null, "public", "described_j", new String[] {"TABLE"})) { equal(r.next(), true); }
    }

    public static void main(String[] arguments) {
        check("values_of_each_type", Suite::values);
        check("batches", Suite::batches);
        check("copying", Suite::copying);
        check("cancelling", Suite::cancelling);
        check("transactions_and_errors", Suite::transactions);
        check("fetch_size", Suite::fetching);
        check("plans_after_alter_table", Suite::altering);
        check("metadata", Suite::metadata);
    }
}
