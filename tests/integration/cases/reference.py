"""The man pages and sql/REFERENCE.md say what the programs have, and no more.

Options, keys, tables, columns, methods, functions, privileges, variables and
limits are compared in both directions, and every command is run as it stands
there.  Arguments name single tests.
"""
import contextlib
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import pymysql

from machine import no_namespaces
from node_under_test import BUILD, REAL, Node
from runner import named, needs, run_tests

BIN = os.path.join(BUILD, "bin")
TOP = os.getcwd()
PAGES = sorted(glob.glob("plugin/**/*.[1-8]", recursive=True) +
               glob.glob("server/**/*.[1-8]", recursive=True))
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40,
         "s": 1, "m": 60, "h": 3600, "d": 86400, "%": 1}


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def page(name):
    found = [p for p in PAGES if os.path.basename(p) == name]
    assert len(found) == 1, (name, found)
    return read(found[0])


def run(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, timeout=300, check=False,
                          **more)


def same(what, documented, there):
    """Sets of names."""
    missing, stale = set(there) - set(documented), set(documented) - set(there)
    assert not missing and not stale, \
        f"{what}: not in the reference: {sorted(missing)}; " \
        f"in the reference alone: {sorted(stale)}"


# ---- man pages ----


def test_pages_render():
    assert len(PAGES) == 6, PAGES
    for path in PAGES:
        lint = run("mandoc", "-Tlint", "-Wwarning", path)
        assert lint.returncode == 0 and not lint.stdout, lint.stdout
        text = read(path)
        for name, section in re.findall(r"^\.Xr ([\w.-]+) (\d)", text, re.M):
            if name.startswith("heapwire"):
                assert page(f"{name}.{section}"), (path, name, section)


def test_pages_are_installed():
    with tempfile.TemporaryDirectory() as root:
        done = run("cmake", "--install", BUILD, "--prefix", root)
        assert done.returncode == 0, done.stdout
        for path in PAGES:
            name = os.path.basename(path)
            installed = os.path.join(root, "share/man", f"man{name[-1]}", name)
            assert read(installed) == read(path), installed


def options_of(name):
    return re.findall(r"^\.It Fl -([\w-]+)", page(name), re.M)


def helped(program):
    text = run(os.path.join(BIN, program), "--help").stdout
    names = re.findall(r"--[a-z][\w-]*", "\n".join(
        line for line in text.splitlines() if re.match(r"  +--", line)))
    return {n[2:] for n in names} | {"help"}


def options_of_keys():
    """Of heapwire.ini's."""
    return ["node-id" if key == "id" else
            (key if section == "[node]" else f"{section[1:-1]}-{key}").replace(
                "_", "-") for section, keys in sections().items()
            if " " not in section and section != "[cluster]" for key in keys]


def test_options_are_those_of_the_programs():
    for name, program in (("heapwire.1", "heapwire"),
                          ("heapwire-run.1", "heapwire-run"),
                          ("heapwired.8", "heapwired"),
                          ("heapwire-prof.1", "heapwire-prof"),
                          ("heapwire-passwd.1", "heapwire-passwd")):
        options = options_of(name)
        assert len(options) == len(set(options)), (name, sorted(options))
        if program == "heapwired":
            options += options_of_keys()
        same(name, options, helped(program))
        for option in options:
            tried = run(os.path.join(BIN, program), f"--{option}", "1", "--help")
            assert "unrecognized" not in tried.stdout and \
                "unknown flag" not in tried.stdout, (program, tried.stdout)


def test_the_variables_of_the_plugin():
    source = read(glob.glob("plugin/**/mariadb_plugin.c", recursive=True)[0])
    part_of = page("heapwire-run.1").partition("AS A PLUGIN OF MARIADB")[2]
    same("heapwire.so", set(re.findall(r"heapwire_(\w+)",
                                       part_of.partition("\n.Sh ")[0])),
         re.findall(r'MARIADB_VAR_\w+,\s+"(\w+)"', source))


# ---- heapwire.ini ----


def check(text, *options):
    with tempfile.NamedTemporaryFile("w", suffix=".ini") as f:
        f.write(text)  # 0600
        f.flush()
        return run(REAL, "--config", f.name, "--state-dir",
                   f.name + ".state", "--check", *options)


def sections():
    """Of section, its keys; of key, its text."""
    found = {}
    for part in re.split(r"^\.S[sh] ", page("heapwire.ini.5"), flags=re.M):
        title, _, text = part.partition("\n")
        if not title.startswith("["):
            continue
        items = re.split(r"^\.It Cm ", text, flags=re.M)[1:]
        found[title] = {i.split()[0]: i for i in items}
        assert len(found[title]) == len(items), title
    return found


def allowed(text):
    """The list in the fault of what is none of it."""
    said = check(text).stdout
    names = re.search(r"nonsense.*\(allowed: (.*)\)", said)
    assert names, said
    return re.split(r", | and ", names.group(1))


def test_keys_are_those_that_heapwired_takes():
    documented = sections()
    same("sections", documented, allowed("[nonsense]\n"))
    for section, keys in documented.items():
        head = section.replace("NAME", "ann").replace("ID", "10001")
        same(section, keys, allowed(f"{head}\nnonsense = 1\n"))


def number(text):
    """Of 1, 16M, 7d."""
    found = re.fullmatch(r"(\d+)([KMGTsmhd]?)", text)
    return int(found.group(1)) * UNITS.get(found.group(2), 1) if found else None


def test_defaults_and_ranges_are_those_in_force():
    values = dict(line.split("=", 1)
                  for line in check("").stdout.splitlines())
    tried = 0
    for section, keys in sections().items():
        if " " in section:
            continue
        for key, text in keys.items():
            name = key if section == "[node]" else f"{section[1:-1]}.{key}"
            default = re.search(r"^Default: (.*)\.$", text, re.M)
            value = values.pop(name)
            if default:
                assert value == default.group(1) or \
                    value == str(number(default.group(1))), (name, value)
            else:
                assert not value or value.startswith("/tmp/"), (name, value)
            limits = re.search(r"^Range: (\w+) to (\w+)(, or 0)?\.$", text,
                               re.M)
            if not limits:
                continue
            least, most = number(limits.group(1)), number(limits.group(2))
            for n, good in ((least, True), (most, True), (most + 1, False),
                            (least - 1, False), (0, bool(limits.group(3)))):
                if n < 0 or (n == 0 and least == 0):
                    continue
                said = check(f"{section}\n{key} = {n}\n")
                assert (said.returncode == 0) == good, (name, n, said.stdout)
                tried += 1
    assert not values, values
    assert tried > 50, tried


def test_sighup_takes_the_keys_that_say_so():
    with Node(REAL) as n:
        rows = query(n.socket, "SELECT name, reloadable FROM heapwire.settings")
        there = {name for name, takes in rows if takes == "1"}
        documented = {key if section == "[node]" else f"{section[1:-1]}.{key}"
                      for section, keys in sections().items()
                      for key, text in keys.items() if "\nReloaded.\n" in text}
        same("Reloaded", documented, there)


# ---- a node ----


def connect(socket, user="root", password=""):
    return pymysql.connect(unix_socket=socket, user=user, password=password,
                           database="heapwire", read_timeout=60,
                           autocommit=None)  # as it is


def query(socket, text):
    """Its rows, as texts."""
    with contextlib.closing(connect(socket)) as c, c.cursor() as cursor:
        cursor.execute(text)
        return [tuple(map(str, row)) for row in cursor.fetchall()]


def refused(connection, text):
    """The code and text of its error; 0 and "" without one."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(text)
            return 0, ""
    except pymysql.Error as e:
        return e.args


# ---- every command, in a place of its own ----


def examples(text):
    """The literal blocks of a page's EXAMPLES."""
    part = text.partition("\n.Sh EXAMPLES\n")[2].partition("\n.Sh ")[0]
    blocks = re.findall(r"^\.Bd [^\n]*\n(.*?)^\.Ed$", part, re.M | re.S)
    return [b.replace("\\e", "\\") for b in blocks]


def stays(block):
    """The state directory of the node that this block starts in front."""
    last = block.replace("\\\n", " ").splitlines()[-1]
    if not re.match(r"(heapwire-run|\S*/heapwired) ", last) or \
            re.search(r"--(explain|dry-run|check)\b", last):
        return None
    node = re.search(r"--node-id (\d+)", last)
    given = re.search(r"--state-dir (\S+)", last)
    return given.group(1) if given else \
        f"/run/heapwire/{node.group(1) if node else 10001}"


# heapwired may answer before the database has reached it: then not OK.
ANSWERS = """for try in $(seq 200); do
    mysql --no-defaults -S {0}/mysql.sock -u root -e 'ADMIN EXECUTE ON ALL
        "HeapProf.getInstance().has_enable()"' 2>/dev/null | grep OK && break
    sleep 0.1
done
[ "$try" -lt 200 ]
"""


def script_of(blocks):
    """One shell script.  What stays in front goes to the background."""
    parts = ["set -e\n"]
    for block in blocks:
        # Its own text in the fault's report.
        parts.append(f"cat >&2 <<'END'\n--- {block}END\n")
        state = stays(block)
        parts.append(block if not state else
                     block.rstrip() + " &\n" + ANSWERS.format(state))
    return "".join(parts)


@contextlib.contextmanager
def installed():
    """An installation, a directory, and a runner of scripts there, as root of a
    machine that has no other node: namespaces of their own, in which every
    process ends with the script."""
    work = tempfile.mkdtemp(prefix="hw-")
    try:
        done = run("cmake", "--install", BUILD, "--prefix", "/usr/local",
                   env=dict(os.environ, DESTDIR=f"{work}/root"))
        assert done.returncode == 0, done.stdout
        yield work, lambda script: run(
            "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child",
            "--mount-proc", "sh", "-ec",
            f"mount --bind {work}/root/usr/local /usr/local\n"
            f"mount -t tmpfs tmpfs /run\nip link set lo up\n"
            f"cd $(mktemp -d -p {work})\n{script}")
    finally:
        shutil.rmtree(work, ignore_errors=True)


@needs(no_namespaces)
def test_examples_of_the_pages_run():
    count = 0
    with installed() as (_, shell):
        for path in PAGES:
            blocks = examples(read(path))
            assert blocks, path
            count += len(blocks)
            for ini in (b for b in blocks if b.startswith("[")):
                assert check(ini).returncode == 0, (path, check(ini).stdout)
            done = shell(script_of(b for b in blocks
                                   if not b.startswith("[")))
            assert done.returncode == 0, f"{path}\n{done.stdout}"
    assert count > 15, count


# ---- sql/REFERENCE.md ----


REFERENCE = "sql/REFERENCE.md"
SETUP = """(umask 077; heapwire-passwd heapwire.ini admin --privileges all >admin.password)
heapwire-run --config heapwire.ini -- redis-server --port 6390 --save '' \\
    --enable-debug-command yes
"""


def part(title):
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)",
                      read(REFERENCE), re.M | re.S)
    assert found, title
    return found.group(1)


def rows(text):
    """Of the tables of Markdown in text: lists of cells."""
    lines = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines()
             if line.startswith("| ")]
    return [[c.strip().replace("\\|", "|") for c in cells]
            for cells in lines if not cells[0].strip().startswith("---")]


def quoted(text):
    return re.findall(r"`([^`]+)`", text)


def sources(pattern):
    """What pattern, a regular expression, finds in the sources of sql/."""
    found = []
    for path in glob.glob("sql/**/*.c", recursive=True):
        found += re.findall(pattern, read(path), re.M)
    assert found, pattern
    return found


def tables_of(text):
    """Of a table's name, its rows and the text before them."""
    return {m.group(1): (rows(m.group(2))[1:], m.group(2))
            for m in re.finditer(r"^### `(\w+)`\n(.*?)(?=^###|\Z)", text,
                                 re.M | re.S)}


def test_tables_and_columns():
    documented = tables_of(part("Tables"))
    sums = dict(quoted(f"{a} {b}") for a, b in
                rows(part("Tables").partition("### Tables of all nodes")[2])[1:])
    with Node(REAL) as n:
        there = {}
        for table, column, kind in query(n.socket, """SELECT table_name,
                column_name, concat(column_type, if(column_key = 'PRI' AND
                table_name NOT LIKE 'cluster%', ', key', ''))
                FROM information_schema.columns
                WHERE table_schema = 'heapwire' ORDER BY 1, ordinal_position"""):
            there.setdefault(table, []).append((column, kind))
        same("tables", list(documented) + list(sums), there)
        for table, (columns, _) in documented.items():
            given = [(quoted(name)[0], kind) for name, kind, _ in columns]
            assert given == there[table], (table, given, there[table])
        for table, of in sums.items():
            assert there[table] == [("node_id", "bigint unsigned")] + [
                (c, kind.removesuffix(", key")) for c, kind in there[of]
                if c != "node_id"], (table, of)
        schema = [name for name, in query(n.socket, """SELECT table_name
            FROM information_schema.tables
            WHERE table_schema = 'information_schema'""")]
        same("information_schema", re.findall(
            r"\b[A-Z][A-Z_]{4,}\b", part("Tables").partition(
                "### Others")[2]), schema)


def test_statements_and_shows():
    text = part("Statements")
    words = {word for cell, *_ in rows(text)[1:]
             for code in quoted(cell) for word in code.split()[:1]}
    known = set(sources(r'^    \{"([A-Z]+)",\s+(?:parse_|ER_)'))
    changes, = sources(r'token_is_any\(&p->token,\s+((?:"[A-Z ]+"\s*)+)\)'
                       r'\s+\? parse_change')
    same("statements", words, known | set(changes.replace('"', "").split()))
    shows = text.partition("`SHOW` has:")[2].partition(".\n")[0]
    same("SHOW", quoted(shows.replace("\n", " ")),
         [s.replace(" ( * )", "(*)") for s in
          sources(r'^    \{"([A-Z()* ]+)", "\w+",\s+SHOW_')])


def methods_of(socket, expression):
    """The methods that the error of an unknown one lists."""
    with contextlib.closing(connect(socket)) as c:
        _, said = refused(
            c, f"ADMIN EXECUTE ON 10001 '{expression}.nonsense()'")
    assert "nonsense" in said, said
    return re.findall(r"(\w+)\(", said)


def test_methods():
    with Node(REAL) as n:
        for name, expressions in (
                ("System", ["System"]),
                ("CpuProf", ["CpuProf", "CpuProf.getInstance()"]),
                ("HeapProf", ["HeapProf", "HeapProf.getInstance()"]),
                ("ExecEnv", ["ExecEnv", "ExecEnv.getInstance()"]),
                ("Jemalloc", ["Jemalloc", "Jemalloc.getInstance()"]),
                ("Profile", ["Profile", 'Profile.of("a")'])):
            there = {m for e in expressions for m in methods_of(n.socket, e)}
            same(name, {m for cell, *_ in rows(part("Scripts"))[1:]
                        for m in re.findall(rf"`{name}\.(\w+)\(", cell)},
                 there)


def test_functions_and_forms():
    given = [f for _, cell in rows(part("SQL functions"))[1:]
            for f in quoted(cell)]
    there = sources(r'^    \{"([a-z]\w*)",\s*(?:-?\d+,\s*(?:\w+),|RETURNS_)')
    same("functions", given, {f for f in there if not f.startswith("hw_")})
    with Node(REAL) as n, contextlib.closing(connect(n.socket)) as c:
        for function in given:
            assert refused(c, f"SELECT {function}()")[0] != 1305, function
        forms = [name for name, in query(n.socket, """SELECT routine_name
            FROM information_schema.routines
            WHERE routine_type = 'FUNCTION'""")]
        same("forms", [quoted(form)[0] for form, *_ in
                       rows(part("Views of a snapshot").partition(
                           "| option ")[0])[1:]], forms)
        options = [o for cell, *_ in rows("| option " + part(
            "Views of a snapshot").partition("| option ")[2])[1:]
                   for o in quoted(cell)]
        _, said = refused(c, "SELECT top('now', NULL, 'nonsense')")
        same("options", options,
             re.findall(r"\w+", said[said.index("by, "):].replace(
                 " and ", ", ")))


def test_privileges():
    """Of one table or method each: with what is documented, and without."""
    given = {quoted(p)[0] for p, _ in rows(part("Privileges"))[1:]}
    needed = {f"SELECT 1 FROM {table} LIMIT 0":
              re.search(r"Privilege:\s(.*)\.", text).group(1)
              for table, (_, text) in tables_of(part("Tables")).items()}
    values = {"name": '"a"', "pattern": '"a"', "seconds": "60", "n": "5", "hz": "9",
              "measure": '"inuse_space"', "what": '"lines"', "f": "0.5",
              "regexp": '"a"', "lg_sample": "19", "force": "true", "x": "1",
              "dirty_ms": "0", "muzzy_ms": "0", "on": "true",
              "tid": "1", "part": '"a"', '"kernel"': '"kernel"'}
    for cell, _, privilege in rows(part("Scripts"))[1:]:
        for call in quoted(cell):
            name, method, arguments = re.fullmatch(
                r"(\w+)\.(\w+)\((.*)\)", call).groups()
            arguments = ", ".join(values[a.strip()] for a in
                                  arguments.split(",") if a)
            of = {"HeapProf": "HeapProf.getInstance()",
                  "CpuProf": "CpuProf.getInstance()",
                  "Jemalloc": "Jemalloc.getInstance()",
                  "Profile": 'Profile.of("a")'}.get(name, name)
            if method in ("getInstance", "of", "now"):
                of = name
            needed[f"ADMIN EXECUTE ON 10001 '{of}.{method}({arguments})'"] = \
                privilege
    needed["SHOW BACKENDS"] = "`status`"
    needed["CALL heapwire.import_snapshot('a', 'b')"] = "`control`"
    needed["CALL heapwire.budget('a', NULL)"] = "`control`"
    needed["ADMIN EXECUTE ON ALL 'System.print(1)'"] = "none"
    users = {",".join(sorted(given - {p})): p for p in given}
    with Node(REAL, users=[(f"not_{p}", b"pw", rest)
                           for rest, p in users.items()] +
              [(f"only_{p}", b"pw", p) for p in given]) as n:
        for p in given:
            for user in f"not_{p}", f"only_{p}":
                with contextlib.closing(connect(n.socket, user, "pw")) as c:
                    for statement, privilege in needed.items():
                        wanted = quoted(privilege)
                        assert set(wanted) <= given, privilege
                        may = p not in wanted if user == f"not_{p}" else \
                            wanted in ([], [p])
                        code, said = refused(c, statement)
                        assert (code != 1227) == may, \
                            (statement, user, privilege, code, said)


def test_variables():
    text = part("Variables")
    table = rows(text)[1:]
    other = quoted(text.partition("they change nothing:")[2])
    with Node(REAL) as n:
        there = dict(query(n.socket, "SHOW VARIABLES"))
        same("variables", [quoted(v)[0] for v, *_ in table] + other, there)
        for name, default, _ in table:
            value = there[quoted(name)[0]]
            assert re.search(rf"\b{value}$", default), (name, default, value)


def test_errors():
    header = read(glob.glob("plugin/**/errors.h", recursive=True)[0])
    states = dict(re.findall(r'\{(ER_\w+), "(\w+)"\}', read(glob.glob(
        "plugin/**/errors.c", recursive=True)[0])))
    there = {(code, states.get(name, "HY000")) for name, code in
             re.findall(r"(ER_\w+) = (\d+)", header)}
    same("errors", {(code, state) for code, state, _ in
                    rows(part("Errors"))[1:]}, there)


def constants():
    found = {}
    for kind in "hc":  # a header's counts
        for path in glob.glob(f"[ps][lqe]*/**/*.{kind}", recursive=True):
            for name, value in re.findall(
                    r"\b([A-Z][A-Z0-9_]+) =\s+([^,}/;]+)", read(path)):
                found.setdefault(name, value.strip())
    return found


def value_of(name, known):
    expression = re.sub(r"[A-Z][A-Z0-9_]+",
                        lambda m: str(value_of(m.group(), known)), known[name])
    assert re.fullmatch(r"[\d()*+<\- ]+", expression), (name, expression)
    return eval(expression)  # of digits and operators


def test_limits():
    known = constants()
    for what, figure, name in rows(part("Limits"))[1:]:
        name = quoted(name)[0]
        value, _, unit = figure.partition(" ")
        factor = {"": 1, "s": 1000, "KB": 1 << 10, "MB": 1 << 20}[unit]
        assert name in known, f"{what}: {name} is not in the code"
        assert int(value) * factor == value_of(name, known), (what, figure)


def test_the_protocol_is_the_one_that_is_spoken():
    text = read("server/wire/PROTOCOL.md")
    header = read("server/wire/capability.h")
    offered = header.partition("CAPABILITIES_OFFERED =")[2].partition("}")[0]
    table = text.partition("| offered | why |")[2].partition("\n\n")[0]
    same("capabilities", [c for cell, _ in rows(table)
                          for c in cell.split(", ")],
         re.findall(r"CAPABILITY_(\w+)", offered))
    commands = read("server/conversation/command.c")
    there = {f"{int(code, 16):02x} {name}" for name, code in
             re.findall(r"(COM_\w+) = (0x\w+)", commands)}
    same("commands", [c for cell, _ in rows(text.partition(
        "| command | reply |")[2].partition("\n\n")[0])[:-1]
                      for c in cell.split(", ")], there)


def test_every_document_that_is_cited_is_there():
    """By its name, from the folder of the file that cites it or the top's."""
    for path in run("git", "ls-files").stdout.splitlines():
        if "/corpus" in path or not os.path.exists(path):
            continue
        with open(path, encoding="utf-8", errors="replace") as f:
            text = f.read()
        for cited in set(re.findall(
                r"(?<![\w$./\\-])[\w./-]*\b[A-Za-z-]+\.md\b", text)):
            places = [os.path.join(os.path.dirname(path), up, cited)
                      for up in ("", "..")] + [cited]
            assert any(map(os.path.exists, places)), (path, cited)


@needs(no_namespaces)
def test_blocks_of_the_reference_run():
    text = read(REFERENCE)
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)
    assert {kind for kind, _ in blocks} == {"sql", "sh"}
    script = [script_of([SETUP])]
    for i, (kind, block) in enumerate(blocks):
        script.append(script_of(
            [block] if kind == "sh" else
            ["mysql --socket /run/heapwire/10001/mysql.sock --user root "
             f"-D heapwire <<'SQL' >out 2>&1 || {{ cat out; exit 1; }}\n"
             f"{block}SQL\n"
             # What a script meets on a node of a list is a row.
             "test -s out\nif grep ERROR out; then exit 1; fi\n"]))
        if "enable_prof(" in block or "snapshot(" in block:
            script.append(f"redis-cli -p 6390 debug populate 90000 {i}\n")
    with installed() as (_, shell):
        done = shell("".join(script))
        assert done.returncode == 0, done.stdout
        # Of a dozen samples: any of what holds the keys.
        assert re.search("_sdsnewlen|dictAddRaw|createEmbeddedString",
                         done.stdout), done.stdout


if __name__ == "__main__":
    run_tests(named(globals(), sys.argv[1:]))
