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

from node_under_test import BUILD, REAL, Node
from runner import named, run_tests

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
                          stderr=subprocess.STDOUT, timeout=60, check=False,
                          **more)


def same(what, documented, there):
    """Sets of names."""
    missing, stale = set(there) - set(documented), set(documented) - set(there)
    assert not missing and not stale, \
        f"{what}: not in the reference: {sorted(missing)}; " \
        f"in the reference alone: {sorted(stale)}"


# ---- man pages ----


def test_pages_render():
    assert len(PAGES) == 5, PAGES
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


def test_options_are_those_of_the_programs():
    for name, program in (("heapwire-run.1", "heapwire-run"),
                          ("heapwired.8", "heapwired"),
                          ("heapwire-prof.1", "heapwire-prof"),
                          ("heapwire-passwd.1", "heapwire-passwd")):
        options = options_of(name)
        assert len(options) == len(set(options)), (name, sorted(options))
        same(name, options, helped(program))
        for option in options:
            tried = run(os.path.join(BIN, program), f"--{option}", "1", "--help")
            assert "unrecognized" not in tried.stdout and \
                "unknown flag" not in tried.stdout, (program, tried.stdout)


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


def allowed(text, what):
    said = check(text).stdout
    names = re.search(r"unknown " + what + r" .*\(allowed: (.*)\)", said)
    assert names, said
    return re.split(r", | and ", names.group(1))


def test_keys_are_those_that_heapwired_takes():
    documented = sections()
    same("sections", documented, allowed("[nonsense]\n", "section"))
    for section, keys in documented.items():
        head = section.replace("NAME", "ann").replace("ID", "10001")
        same(section, keys, allowed(f"{head}\nnonsense = 1\n", "key"))
    for key in documented["[node]"]:
        option = "node-id" if key == "id" else key.replace("_", "-")
        assert option in options_of("heapwired.8"), key


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


ANSWERS = """for try in $(seq 200); do
    mysql --no-defaults -S {0}/mysql.sock -u root -e 'ADMIN EXECUTE ON ALL
        "HeapProf.getInstance().has_enable()"' && break
    sleep 0.1
done 2>/dev/null | grep OK
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


def test_examples_of_the_pages_run():
    if os.geteuid() != 0:
        print("skipped: examples need root, for namespaces of their own")
        return
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


# ---- a node ----


def query(socket, text, user="root", password=None, database="heapwire"):
    """Its rows; what the server says against it, as an assertion."""
    done = mysql(socket, text, user, password, database)
    assert done.returncode == 0, (text, done.stdout)
    return [line.split("\t") for line in done.stdout.splitlines()]


def mysql(socket, text, user="root", password=None, database="heapwire"):
    command = ["mysql", "--no-defaults", "--skip-ssl", "--socket", socket,
               "--user", user, "-N", "-B", "--raw", "-D", database,
               "--execute", text]
    environment = dict(os.environ, MYSQL_PWD=password or "")
    return run(*command, env=environment)


if __name__ == "__main__":
    run_tests(named(globals(), sys.argv[1:]))
