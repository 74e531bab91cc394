"""What the three suites share: running checks and telling how they went; values of each type."""

import datetime as dt
import decimal
import ipaddress
import traceback
import uuid

CHECKS = []


def check(function):
    """Marks a check; they run in the order in which they stand."""
    CHECKS.append(function)
    return function


def outcome(function, run):
    try:
        run()
        print("ok", function.__name__)
    except BaseException as error:  # a suite goes on whatever happens
        where = traceback.extract_tb(error.__traceback__)
        line = next((f.lineno for f in where if "suite_" in f.filename), 0)
        line = [f.lineno for f in where if "suite_" in f.filename][-1] if line else 0
        print(f"FAIL {function.__name__} line {line}: {type(error).__name__}: {error}".replace("\n", " | "))


# Types that a server may lack; what it lacks is said once.
OPTIONAL = {"json", "jsonb", "inet", "time"}


def lacks(server_has, sql):
    """Whether the server has no such type, and need not."""
    if sql not in OPTIONAL or server_has(sql):
        return False
    print("note: no type", sql)
    return True


UTC = dt.timezone.utc
# SQL type, and values as Python has them.
VALUES = [
    ("boolean", [True, False]),
    ("smallint", [0, -32768, 32767]),
    ("integer", [0, -(2**31), 2**31 - 1]),
    ("bigint", [0, -(2**63), 2**63 - 1]),
    ("real", [0.0, 1.5, -2.25, float("inf")]),
    ("double precision", [0.0, 0.1, -1e300, 5e-324, float("-inf")]),
    ("numeric", [decimal.Decimal(t) for t in ("0", "1", "-1.50", "12345678901234567890.123456789", "0.00001", "1e20")]),
    ("text", ["", "a", "grüße ☃ 𝄞", "it's \\ \"quoted\"", "x" * 10000]),
    ("varchar", ["v", "vär"]),
    ("bytea", [b"", b"\x00\xff\\'", bytes(range(256))]),
    ("date", [dt.date(2000, 1, 1), dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1969, 7, 20)]),
    ("time", [dt.time(0, 0), dt.time(23, 59, 59, 999999)]),
    ("timestamp", [dt.datetime(2000, 1, 1), dt.datetime(1, 1, 1, 0, 0, 1), dt.datetime(2024, 2, 29, 12, 34, 56, 789012)]),
    ("timestamptz", [dt.datetime(2024, 2, 29, 12, 34, 56, 789012, UTC), dt.datetime(1900, 1, 1, tzinfo=UTC)]),
    ("interval", [dt.timedelta(0), dt.timedelta(days=3, seconds=5, microseconds=7), dt.timedelta(days=-1)]),
    ("uuid", [uuid.UUID(int=0), uuid.UUID("12345678-1234-5678-9abc-def012345678")]),
    ("json", [{"a": [1, 2.5, None, "x"]}]),
    ("jsonb", [{"a": [1, 2.5, None, "x"]}, [], "s"]),
    ("inet", [ipaddress.ip_address("10.1.2.3")]),
    ("integer[]", [[], [1, 2, 3], [1, None, 3], [[1, 2], [3, 4]]]),
    ("text[]", [["a", "b c", "", "NULL", 'q"\\', None]]),
    ("numeric[]", [[decimal.Decimal("1.5"), decimal.Decimal("-2")]]),
    ("timestamptz[]", [[dt.datetime(2024, 1, 1, tzinfo=UTC)]]),
]
