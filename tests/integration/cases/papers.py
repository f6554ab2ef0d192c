"""CHANGELOG.md, .github/SECURITY.md and .github/CONTRIBUTING.md: each test that
they name is there, and what they repeat from elsewhere is the same there."""
import glob
import re
import sys

from runner import named, run_tests

CHANGELOG, SECURITY, CONTRIBUTING = (
    "CHANGELOG.md", ".github/SECURITY.md", ".github/CONTRIBUTING.md")
CASES = "tests/integration/cases"


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def test_tests_that_are_named_are_there():
    for path, least in (SECURITY, 40), (CHANGELOG, 15), (CONTRIBUTING, 0):
        cited = re.findall(r"`(?:slow/)?(\w+\.(?:py|sh|c))(?:: (\w+))?`",
                           read(path))
        assert len(cited) >= least, (path, cited)
        for name, test in cited:
            found = [f for where in (f"{CASES}/**/", "tests/unit/**/",
                                     "tests/fuzz/")
                     for f in glob.glob(where + name, recursive=True)]
            assert found, f"{path}: there is no {name}"
            assert not test or re.search(rf"^def {test}\(", read(found[0]),
                                         re.M), f"{path}: {name}: no {test}"


def test_promises_are_held_by_tests():
    """Each row of "What stays"; without a file's name, of versions.py."""
    rows = re.findall(r"^\| (.*) \|$", read(CHANGELOG).partition(
        "\n# What stays\n")[2], re.M)[2:]
    assert len(rows) >= 8, rows
    versions = read(f"{CASES}/slow/versions.py")
    used = set()
    for row in rows:
        tests = row.split(" | ")[-1]
        own = re.findall(r"`([a-z_]+)`", tests)
        assert own, row
        for name in own:
            assert f"def test_{name}(" in versions, (row, name)
        used.update(own)
    unused = set(re.findall(r"^def test_(\w+)", versions, re.M)) - used
    assert not unused, unused


def test_the_version_is_one():
    """CMake's, which programs and the greeting say, is the newest here."""
    version, = re.findall(r"^project\(heapwire VERSION ([\d.]+) ",
                          read("CMakeLists.txt"), re.M)
    versions = re.findall(r"^## (\d+\.\d+\.\d+)\b", read(CHANGELOG), re.M)
    assert versions[0] == version, (versions, version)
    assert versions == sorted(versions, reverse=True, key=lambda v: list(
        map(int, v.split(".")))), versions


def test_privileges_are_the_references():
    """Which reference.py holds against a node."""
    def table(path):
        return re.findall(r"^\| `(\w+)` \| (to .*) \|$", re.sub(
            r"\(\S*#levers\)", "", read(path)), re.M)
    assert table(SECURITY) == table("sql/REFERENCE.md"), table(SECURITY)
    assert len(table(SECURITY)) == 6


def test_ports_and_modes():
    """Those of "exposed by default" are those of the settings."""
    defaults = re.findall(r"127\.0\.0\.1:(\d+)", "\n".join(re.findall(
        r"Default: .*", read("server/config/heapwire.ini.5"))))
    assert set(re.findall(r"127\.0\.0\.1:(\d+)", read(SECURITY))) == \
        set(defaults), defaults


# Not in /help: parts of the page, what pprof and jeprof ask for by themselves,
# paths beside one that is there.
UNLISTED = {"/page.css", "/page.js", "/help", "/debug/pprof", "/debug/pprof/",
            "/pprof/growth",
            "/snapshot/NAME/pprof/symbol", "/snapshot/NAME/pprof/cmdline",
            "/debug/mem/pprof/cmdline", "/debug/mem/pprof/symbol",
            "/jeheap/active/true", "/jeheap/active/false", "/jeheap/reset/",
            "/debug/prof/mem/status", "/debug/prof/mem/activate",
            "/debug/prof/mem/deactivate"}


def test_paths_are_those_of_the_table():
    """/help and the manual of HTTP list what the table of routes has."""
    source = read("server/http/http_route.c")
    routes = {path.replace("*", "NAME") for path in re.findall(
        r'^    \{"(/[^"]*)"', source + read("server/http/http_route_others.c"),
        re.M)}
    text = source[source.index("index_text[] ="):source.index("pprof_text[] =")]
    listed = set(re.findall(r"(?<=[\" ])/\S*", text.replace("\\n", " ")))
    assert listed == routes - UNLISTED, listed ^ (routes - UNLISTED)
    manual = read("server/http/README.md")
    rows = manual[manual.index("## The paths"):]
    told = {re.sub(r"/N$", "/", path)
            for path in re.findall(r"`(/[^` ]*)`", rows)}
    assert routes - told <= {"/page.css", "/page.js"}, routes - told


if __name__ == "__main__":
    run_tests(named(globals(), sys.argv[1:]))
    print("papers.py: ok")
