"""Statements that a grammar makes, with extreme arguments, for a whole node.

    BUILD=build/asan python3 tests/fuzz/grammar.py SECONDS [SEED]
    python3 tests/fuzz/grammar.py compare SOCKET-OF-MARIADB SECONDS [SEED]

The first form: each statement gets one well-formed answer within its limit, the
node lives, and its sanitizers say nothing.  The second one compares expressions
with a real MariaDB byte by byte, but for what DIFFERS lists.  The seed is
printed; with it the same statements come again.
"""
import collections
import glob
import os
import random
import re
import select
import sys
import time

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
sys.path.insert(0, "tests/integration/lib")
from mysql_wire import NATIVE, Refused, Wire, text_value  # noqa: E402
from node_under_test import REAL, Node  # noqa: E402

ANSWER_SECONDS = 150  # max_execution_time is 1; sanitizers, and nice, are slow
LIMIT_MS = 1000
SOUND = 500  # statements between two looks at what the sanitizers say
FAULT = re.compile(r"Sanitizer|runtime error:|[Aa]ssertion")
# They wait, as they should.
SLOW = {"sleep", "get_lock"}

NUMBERS = ("0 1 -1 2 7 10 255 0.1 0.2 1.50 -1.5 .5 1e3 1e0 1e-7 1e308 -1e308 "
           "9223372036854775807 -9223372036854775808 9223372036854775808 "
           "18446744073709551615 18446744073709551616 4294967296 2147483647 "
           "99999999999999999999999999999999999999 0.000000000000001 "
           "123456789012345.67 TRUE FALSE").split()
TEXTS = ("''", "'a'", "'A'", "'b '", "'10'", "'1.50'", "'1e400'", "'-0'", "'é'",
         "'%a_'", "'a,b,c'", "'[1,2]'", "'%Y-%m-%d %H:%i:%s'", "'%X%V %W'",
         "'a\\0b'", "'\\\\'", "'(a+)+$'", "'😀'", "REPEAT('x', 300)",
         "'18446744073709551616'", "'abc' COLLATE utf8mb4_bin", "BINARY 'a'")
MOMENTS = ("DATE'2026-01-31'", "TIME'-838:59:59'", "TIMESTAMP'9999-12-31 23:59:59'",
           "'2026-02-30'", "'0000-00-00'", "'2026-01-31 10:11:12.5'",
           "20260131", "'10:11:12'", "'200442 Monday'", "NOW()", "CURDATE()")
BYTES = ("0x", "0x41", "x'00ff'", "b'101'", "0xFFFFFFFFFFFFFFFFFF")
PLAIN = ("NULL",)
BINARIES = ("+ - * / % DIV MOD | & ^ << >> = <=> <> != < <= > >= AND OR XOR && "
            "|| LIKE REGEXP RLIKE").split()
UNITS = ("MICROSECOND SECOND MINUTE HOUR DAY WEEK MONTH QUARTER YEAR "
         "DAY_MICROSECOND HOUR_MINUTE YEAR_MONTH SECOND_MICROSECOND").split()
TYPES = ("SIGNED UNSIGNED CHAR CHAR(2) BINARY BINARY(3) DATE DATETIME "
         "DATETIME(6) TIME(3) DECIMAL DECIMAL(5,2) DECIMAL(65,30) "
         "DECIMAL(1,1) DOUBLE YEAR").split()
AGGREGATES = ("COUNT SUM AVG MIN MAX STD VARIANCE GROUP_CONCAT "
              "JSON_ARRAYAGG").split()
WINDOWS = ("ROW_NUMBER() RANK() DENSE_RANK() NTILE(3) LAG(a) LEAD(a,2) "
           "FIRST_VALUE(a) SUM(a) COUNT(*)").split()

# What may differ from MariaDB, and why.  Others are faults.
DIFFERS = (
    (r"é|😀|ß", "only ASCII letters have case here, and none an accent"),
    (r"JSON", "SQLite writes JSON without blanks"),
    (r"0000-00-00|-00|2026-02-30",
     "a date with zeros, or past its month, is NULL (MySQL's NO_ZERO_DATE)"),
    (r"\d{16,}|e3\d\d|\.\d{9}",
     "a DECIMAL past 15 digits is a double, so are its neighbours"),
    (r"(?i)\b(YEAR|TO_DAYS|FROM_DAYS|MAKEDATE|TIMESTAMPADD|DATE_ADD|DATE_SUB)",
     "no year 0, and no zero dates"),
    (r"(?i)\b(0x|x'|b')",
     "bytes have no truth: IF(0x41, ...) has it, 0x41 AND 1 has not; and x'41' "
     "is a number beside numbers, as in MySQL"),
    (r"(?i)\b(STD|STDDEV|VAR)", "doubles, as in MySQL"),
    (r"(?i)\b(is_free_lock|is_used_lock|row_count|coalesce|json_quote)\(",
     "what MariaDB alone refuses, or alone takes"),
    (r"1e400|-\('", "of what is no number, or none that there is"),
    (r"(?i)AS (DATE|TIME|YEAR)|\b(DAY|MONTH|QUARTER|HOUR|TIME)\w*\(",
     "what is no date is NULL: MySQL reads 10:11:12 as one, and 0 as none"),
    (r"(?i)INTERVAL", "likewise, and a fraction is as long as it must be"),
    (r"(?i)\b(REGEXP_SUBSTR|FORMAT|PAD|LOCATE|INSTR)", "NULL for nothing found"),
    (r"(?i)\b(ABS|SIGN|SQRT|EXP|LN|POW|POWER)\b",
     "SQLite's: NULL where MySQL fails; a text is no date, 0x41 no number"),
)


def functions():
    """Of name, the arguments: all that the tables of sql/functions/ have."""
    row = re.compile(r'^    \{"(\w+)",\s*(\d+),\s*(\w+),\s*(?:call|step)_',
                     re.M)
    builtin = re.compile(r'^    \{"(\w+)",\s*RETURNS_', re.M)
    found = {}
    for path in glob.glob("sql/functions/*.c"):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        found.update((name, (1, 2)) for name in builtin.findall(text))
        for name, least, most in row.findall(text):
            most = int(most) if most.isdigit() else int(least) + 3
            found[name] = int(least), max(int(least), most)
    return {name: count for name, count in sorted(found.items())
            if not name.startswith("hw_") and name not in SLOW}


class Grammar:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.calls = functions()
        assert len(self.calls) > 100, self.calls
        self.columns = []  # that a SELECT around has
        self.parameters = None  # how many ? there may be, or None

    def pick(self, *of):
        return self.random.choice(of)

    def some(self, make, most=3, by=", "):
        return by.join(make() for _ in range(self.random.randint(1, most)))

    def chance(self, one_of):
        return self.random.randrange(one_of) == 0

    def literal(self):
        if self.parameters is not None and self.chance(4):
            self.parameters += 1
            return "?"
        return self.pick(*self.pick(NUMBERS, NUMBERS, TEXTS, TEXTS, MOMENTS,
                                    BYTES, PLAIN))

    def call(self, depth):
        name = self.pick(*self.calls)
        least, most = self.calls[name]
        return f"{name}({self.several(depth, least, most)})"

    def several(self, depth, least, most):
        return ", ".join(self.expression(depth - 1) for _ in
                         range(self.random.randint(least, most)))

    def expression(self, depth=3, pure=False):
        e = lambda: self.expression(depth - 1)  # noqa: E731
        if depth <= 0 or self.chance(6):
            if self.columns and self.chance(2):
                return self.pick(*self.columns)
            return self.literal()
        return self.pick(
            lambda: self.call(depth), lambda: self.call(depth),
            lambda: self.call(depth),
            lambda: f"({e()} {self.pick(*BINARIES)} {e()})",
            lambda: f"({e()} {self.pick(*BINARIES)} {e()})",
            lambda: f"{self.pick('-', '~', '!', 'NOT ', '+ ')}({e()})",
            lambda: f"CASE {e()} WHEN {e()} THEN {e()} ELSE {e()} END",
            lambda: f"CASE WHEN {e()} THEN {e()} END",
            lambda: f"CAST({e()} AS {self.pick(*TYPES)})",
            lambda: f"({e()} {self.pick('', 'NOT ')}IN ({e()}, {e()}))",
            lambda: f"({e()} {self.pick('', 'NOT ')}BETWEEN {e()} AND {e()})",
            lambda: f"({e()} IS {self.pick('', 'NOT ')}"
                    f"{self.pick('NULL', 'TRUE', 'UNKNOWN')})",
            lambda: f"({e()} + INTERVAL {e()} {self.pick(*UNITS)})",
            lambda: f"DATE_SUB({e()}, INTERVAL {e()} {self.pick(*UNITS)})",
            lambda: f"EXTRACT({self.pick(*UNITS)} FROM {e()})",
            lambda: f"TIMESTAMPDIFF({self.pick(*UNITS[:9])}, {e()}, {e()})",
            lambda: f"TRIM({self.pick('BOTH', 'LEADING')} {e()} FROM {e()})",
            lambda: f"(({e()}, {e()}) = ({e()}, {e()}))",
            lambda: self.query(depth - 2),
        )()

    def query(self, depth):
        """An expression with a SELECT."""
        inner = self.select(depth)
        return self.pick(
            f"({inner})", f"EXISTS ({inner})",
            f"({self.expression(depth - 1)} {self.pick('IN', '= ANY', '> ALL')}"
            f" ({inner}))")

    def table(self, depth):
        name = self.pick("t", "u")
        if depth <= 0 or self.chance(3):
            return f"heapwire.{self.pick('nodes', 'sessions', 'memory', 'snapshots', 'heap_functions', 'heap_stacks')} {name}"
        rows = f"SELECT {self.expression(1)} AS a, {self.expression(1)} AS b"
        return self.pick(
            f"({rows} UNION ALL SELECT 1, 'x') {name}",
            f"({self.select(depth - 1)}) {name}",
            f"({rows}) t {self.pick('JOIN', 'LEFT JOIN', 'CROSS JOIN')} "
            f"(SELECT 1 AS a, 2 AS c) u {self.pick('USING (a)', 'ON t.a = u.a', '')}")

    def window(self):
        frame = self.pick("", " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW")
        return (f"{self.pick(*WINDOWS)} OVER (PARTITION BY a ORDER BY a{frame})")

    def select(self, depth=3):
        if depth <= 0:
            return f"SELECT {self.expression(1)}"
        before, self.columns = self.columns, []
        table = self.table(depth) if not self.chance(4) else "DUAL"
        if table != "DUAL":
            self.columns = ["a", "b", "t.a"] if "AS a" in table else ["id", "1"]
        e = lambda: self.expression(depth - 1)  # noqa: E731
        items = [e() for _ in range(self.random.randint(1, 3))]
        if self.chance(5):
            items.append(f"{self.pick(*AGGREGATES)}({e()}) AS g")
        if self.chance(8):
            items.append(self.window())
        if self.chance(10):
            items = ["*"]
        out = f"SELECT {self.pick('', '', 'DISTINCT ', 'SQL_NO_CACHE ')}"
        out += f"{', '.join(items)} FROM {table}"
        if self.chance(3):
            out += f" WHERE {e()}"
        if self.chance(5):
            out += f" GROUP BY {self.some(e, 2)}"
        if self.chance(6):
            out += f" HAVING {self.pick('COUNT(*) > ', '')}{e()}"
        if self.chance(5):
            out += f" ORDER BY {self.pick('1', e())} {self.pick('', 'DESC')}"
        if self.chance(5):
            out += f" LIMIT {self.pick('0', '1', '2, 3', '1 OFFSET 9')}"
        if self.chance(8):
            out += f" {self.pick('UNION', 'UNION ALL', 'EXCEPT')} " \
                   f"SELECT {', '.join(['1'] * len(items))}"
        if self.chance(10):
            out = f"WITH c AS ({out}) SELECT * FROM c"
        self.columns = before
        return out

    def script(self):
        profile = self.pick("HeapProf.getInstance()", "Profile.of('now')", "h")
        call = self.pick("has_enable()", "enable_prof()", "disable_prof()",
                         "snapshot()", "top(5)", "raw()", "diff('x')",
                         "dump_dot_snapshot()", "delete_like('%')", "nope(1)",
                         f"focus({self.pick(*TEXTS)})", "a.b.c()")
        text = f"var h = {profile}\nSystem.print(h.{call})"
        if self.chance(4):
            text = text[:self.random.randrange(len(text))]
        return text.replace("'", '"').replace("\\", "")

    def statement(self):
        e = self.expression
        return self.pick(
            self.select, self.select, self.select, self.select,
            lambda: f"SELECT {self.some(e)}", lambda: f"SELECT {self.some(e)}",
            lambda: f"DO {self.some(e)}",
            lambda: f"SET @{self.pick('a', 'b')} = {e()}",
            lambda: f"SELECT @a := {e()}, @a, @b",
            lambda: f"SELECT {e()} INTO @a",
            lambda: f"SET {self.pick('sql_mode', 'time_zone', 'sql_select_limit', 'autocommit', 'NAMES')} = {self.literal()}",
            lambda: f"SHOW {self.pick('TABLES', 'DATABASES', 'VARIABLES', 'STATUS', 'PROCESSLIST', 'WARNINGS', 'BACKENDS', 'COLUMNS FROM heapwire.nodes', 'CREATE TABLE heapwire.nodes', 'GRANTS', 'ENGINES', 'COLLATION')} {self.pick('', 'LIKE ' + self.pick(*TEXTS), 'WHERE ' + e(2))}",
            lambda: f"KILL QUERY {e(1)}",
            lambda: f"EXPLAIN {self.pick('', 'FORMAT=JSON ', 'FORMAT=TREE ')}{self.select()}",
            lambda: f"ADMIN EXECUTE ON {self.pick('ALL', '10001', '-1', '10001, 10002')} '{self.script()}'",
            lambda: f"CALL {self.pick('heapwire.snapshot', 'heapwire.nope', 'sys.x')}({self.several(2, 0, 3)})",
            lambda: f"PREPARE s FROM {self.pick(*TEXTS)}",
            lambda: "PREPARE s FROM '" + self.select(2).replace("\\", "").replace("'", "''") + "'",
            lambda: f"EXECUTE s{self.pick('', ' USING @a', ' USING @a, @b')}",
            lambda: self.pick("DEALLOCATE PREPARE s", "USE heapwire", "BEGIN",
                              "ROLLBACK", "TABLE heapwire.nodes",
                              "VALUES ROW(1), ROW(2)", "CHECK TABLE nodes",
                              "DESCRIBE heapwire.nodes", "SHOW ERRORS"),
            lambda: self.broken(self.select()),
        )()

    def broken(self, text):
        """A piece is lost, twice there, or of the wrong bytes."""
        at = self.random.randrange(len(text) + 1)
        end = min(len(text), at + self.random.randint(1, 9))
        return self.pick(text[:at] + text[end:], text[:end] + text[at:],
                         text[:at] + self.pick("(", ")", "'", "?", "\0", "/*",
                                               ",", "`", "@", "\u00e9")
                         + text[at:])


def connect(n):
    c = Wire(n.socket, timeout=ANSWER_SECONDS)
    c.login(b"root", b"", NATIVE)
    c.query(f"SET max_execution_time = {LIMIT_MS}")
    c.query("SET sql_mode = ''")
    return c


def execute(c, grammar, text):
    """As a prepared statement, with values that it did not choose."""
    st = c.prepare(text)
    values = [grammar.pick(None, text_value(b"x"), text_value(b"-1.5e9"),
                           text_value(b"2026-01-31")) for _ in st.parameters]
    try:
        c.execute(st, values)
    finally:
        c.close_statement(st)


def check_node(n):
    assert n.process.poll() is None, f"the node ended: {n.stderr()[-6000:]}"
    assert not FAULT.search(n.stderr()), n.stderr()[-6000:]


def run_one(c, grammar, text, counts):
    try:
        if grammar.parameters is not None:
            execute(c, grammar, text)
        else:
            c.query(text.encode("utf-8", "surrogateescape"))
        counts["answered"] += 1
    except Refused as error:
        counts[error.code] += 1
    assert not c.buffer and not select.select([c.sock], [], [], 0)[0], \
        "more than one answer"


def storm(seconds, seed):
    print(f"grammar.py {seconds} {seed}", flush=True)
    grammar, counts = Grammar(seed), collections.Counter()
    end, total, slowest, text = time.monotonic() + seconds, 0, 0, ""
    with Node(REAL, listen="none") as n:
        c = connect(n)
        try:
            while time.monotonic() < end:
                grammar.parameters = 0 if grammar.chance(5) else None
                text = grammar.statement()
                total += 1
                began = time.monotonic()
                try:
                    run_one(c, grammar, text, counts)
                except EOFError:
                    assert text.startswith("KILL"), "the connection is lost"
                    c = connect(n)
                slowest = max(slowest, time.monotonic() - began)
                if total % SOUND == 0:
                    check_node(n)
                    c.close()
                    c = connect(n)  # a variable may make all that follows fail
            check_node(n)
        except (Exception, KeyboardInterrupt):
            print(f"seed {seed}, statement {total}: {text}", flush=True)
            raise
    refused = ", ".join(f"{code}: {count}" for code, count in
                        counts.most_common(9) if code != "answered")
    print(f"{total} statements, {counts['answered']} answered; refused: "
          f"{refused}; the slowest took {slowest:.1f} s")
    assert counts["answered"] > total / 10, counts


# ---- beside a MariaDB ----

def answer(connection, expression):
    import pymysql
    with connection.cursor() as cursor:
        try:
            cursor.execute("SELECT " + expression)
            return cursor.fetchall()
        except pymysql.err.MySQLError as error:
            return error.args[0]


def compare(theirs, seconds, seed):
    import pymysql
    print(f"grammar.py compare {seconds} {seed}", flush=True)
    grammar, counts = Grammar(seed), collections.Counter()
    with Node(REAL, listen="none") as n:
        both = [pymysql.connect(unix_socket=path, user="root", conv={},
                                charset="utf8mb4")
                for path in (theirs, n.socket)]
        for c in both:
            c.cursor().execute("SET sql_mode = ''")
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            text = grammar.expression(2)
            if re.search(r"(?i)heapwire|rand\(|now\(|utc_|cur|uuid|version|"
                         r"user\(|connection|unix_timestamp\(\)|localtime|"
                         r"sysdate|database|schema|found_rows|FROM", text):
                continue
            a, b = (answer(c, text) for c in both)
            counts["compared"] += 1
            if a == b or isinstance(a, int) and isinstance(b, int):
                counts["equal"] += 1
                continue
            if b == 1305 or a == 1305:
                counts["only one has the function"] += 1
                continue
            why = next((why for what, why in DIFFERS if re.search(what, text)),
                       None)
            counts["listed" if why else "differ"] += 1
            if not why:
                print(f"{text}\n  theirs: {a}\n  ours:   {b}")
    print(dict(counts))
    return counts["differ"] > 0


def main(arguments):
    comparing = arguments[:1] == ["compare"]
    theirs = arguments[1] if comparing else None
    rest = arguments[2 if comparing else 0:]
    seconds = float(rest[0]) if rest else 60
    seed = int(rest[1]) if len(rest) > 1 else random.randrange(1 << 32)
    if comparing:
        return compare(theirs, seconds, seed)
    storm(seconds, seed)
    return 0


sys.exit(main(sys.argv[1:]))
