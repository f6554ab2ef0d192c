"""jeprof by the URL of a kept snapshot, and of what grew between two."""
import os
import re
import subprocess
import sys
import tempfile

from http_under_test import (FILLED, MB, WITHOUT_SOME, fill, kill_redis, local, redis,
                       redis_client, same)
from runner import named, run_tests


def jeprof(node, flag, of, *more):
    url = f"http://boss:b0ss@127.0.0.1:{node.http_port}/snapshot/{of}/pprof/heap"
    with tempfile.TemporaryDirectory() as cache:
        return subprocess.run(["jeprof", flag, *more, url], check=True,
                              env={**os.environ, "JEPROF_TMPDIR": cache},
                              capture_output=True, timeout=300).stdout.decode()


def jeprof_total(text):
    return float(re.search(r"^Total: (-?[\d.]+) MB$", text, re.M).group(1))


def keep(node, name):
    same("a snapshot", name + "\n",
         local(node, f"/snapshots?name={name}", "-X", "POST").text)


def jeprof_difference(directory, base, now):
    text = subprocess.run(
        ["jeprof", "--text", f"--base={base}", now], check=True, cwd=directory,
        capture_output=True, timeout=300).stdout.decode()
    same("without a name", [],
         re.findall(r" (0x[0-9a-f]+|[0-9a-f]{16})$", text, re.M))
    return jeprof_total(text)


def test_jeprof_of_kept():
    """By their own paths, also when the database is gone; and what grew, with
    the names that only the base has: jeprof --raw writes them down."""
    with redis(linger=300) as node, tempfile.TemporaryDirectory() as directory:
        fill(node)
        keep(node, "before")
        with redis_client(node) as write:
            for i in range(FILLED // MB):
                write(b"j%05d" % i)
        keep(node, "after")
        local(node, "/sql", "-d", "ADMIN EXECUTE ON 10001 "
              "'CpuProf.getInstance().snapshot(\"busy\", 1)'")
        kill_redis(node)
        before, after = (jeprof_total(jeprof(node, "--text", name))
                         for name in ("before", "after"))
        assert after > before + WITHOUT_SOME > 2 * WITHOUT_SOME, (before, after)
        assert re.search(r" aeMain$", jeprof(node, "--text", "after"),
                         re.M)
        assert jeprof(node, "--dot", "after").startswith(
            'digraph "/usr/bin/redis')
        for name in ("before", "after"):
            with open(os.path.join(directory, name), "w", encoding="utf-8") as f:
                f.write(jeprof(node, "--raw", name))
        grown = jeprof_difference(directory, "before", "after")
        assert abs(grown - after + before) < 0.5, (grown, before, after)
        shrunk = jeprof_difference(directory, "after", "before")
        assert abs(shrunk + grown) < 0.5, (grown, shrunk)
        plain = local(node, "/snapshot/before/pprof/heap")
        assert plain.header("etag")
        with open(os.path.join(directory, "plain"), "wb") as f:
            f.write(plain.body)
        grown = jeprof_total(jeprof(
            node, "--text", "after", "--base=" + os.path.join(directory, "plain")))
        assert abs(grown - after + before) < 0.5, (grown, before, after)
        asked = (("heap", ()), ("symbol", ("-d", "0x1")), ("symbol", ()),
                 ("cmdline", ()))
        for name, status in (("nothing", 404), ("before", 200)):
            for what, how in asked:
                got = local(node, f"/snapshot/{name}/pprof/{what}", *how)
                same(f"{name}: {what} {how}", status, got.status)
                assert status == 200 or b"heapwire.snapshots" in got.body, got
        time = local(node, "/snapshot/busy/pprof/heap")
        same("a profile of time", 400, time.status)
        assert "use pprof" in time.text, time.text
        same("there are symbols", b"num_symbols: 1\n",
             local(node, "/snapshot/before/pprof/symbol").body)
        same("no parameters", 400,
             local(node, "/snapshot/before/pprof/heap?node=2").status)


if __name__ == "__main__":
    run_tests(named(globals(), sys.argv[1:]))
    print("jeprof_url.py: ok")
