#!/usr/bin/env python3
"""heapwire bundle: one file, opened from a disk in Chromium; names that attack;
names that nobody can read; a database that is dead."""
import glob
import json
import os
import re
import signal
import subprocess
import tempfile
import time

from browser import Browser
from machine import no_localhost
from node_under_test import BUILD, frozen, wait_for
import page_under_test
from page_under_test import FLAME, SHOTS, TEXT, Page, check, load
from ports import free_port
from redis_node import RedisNode

HEAPWIRE = os.path.join(BUILD, "bin", "heapwire")
PROF = "prof:true,prof_active:true,lg_prof_sample:12"
HOSTILE = ("<img src=x onerror=window.pwned=1>", "=cmd|'/C calc'!A0",
           "</style></script><script>window.pwned=2</script>", "__proto__")
CELLS = ("return Array.from(document.querySelectorAll('#table tbody tr'), (one) =>"
         " one.cells[0].textContent)")


def bundle(node, path, *words):
    return subprocess.run([HEAPWIRE, "-S", node.socket, "bundle", *words, "-o", path],
                          capture_output=True, text=True, timeout=120, env={**os.environ, "HOME": "/nonexistent"})


def look(browser, path, name):
    """Opens it; nothing runs or is fetched that is not its own."""
    browser.open("about:blank")
    browser.open(path)
    browser.until("document.querySelector('.flame') !== null")
    facts = browser.run("return [window.pwned === undefined, document.querySelectorAll('img, svg, b').length,"
                        " document.scripts.length, performance.getEntriesByType('resource').length]")
    check(facts == [True, 0, 2, 0], f"{name}: nothing but its own", facts)
    log = browser.console()
    check(not log, f"{name}: the console is silent", log)
    for scheme, width in (("light", 1400), ("dark", 400)):
        browser.emulate("setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        browser.emulate("setDeviceMetricsOverride", width=width, height=1000, deviceScaleFactor=1, mobile=False)
        wide = browser.run("return document.documentElement.scrollWidth")
        check(wide <= width, f"{name}: nothing leaves {width} px", wide)
        weak = browser.run(page_under_test.CONTRASTS)
        check(not weak, f"{name}, {scheme}: all is legible", weak)
        if SHOTS:
            browser.emulate("setDeviceMetricsOverride", width=width, height=2000, deviceScaleFactor=1, mobile=False)
            browser.save(f"{SHOTS}/bundle-{name}-{scheme}-{width}.png")
    browser.emulate("setEmulatedMedia", features=[])
    browser.emulate("clearDeviceMetricsOverride")


def frames(browser):
    return [one["name"] for one in browser.run(f"return {FLAME}.frames()")]


def ordinary(browser, node, page, path):
    for name, keys in (("before", 20000), ("after", 60000)):
        load(node, keys)
        page.script(f'snapshot("{name}")')
    wait_for(lambda: page.query("SELECT count(*) FROM memory_history WHERE resident IS NOT NULL")[0][0] > 1)
    done = bundle(node, path)
    check(done.returncode == 0 and not done.stderr, "it is written", done)
    look(browser, path, "ordinary")
    options = browser.run("return Array.from(document.querySelector('.controls select').options, (one) => one.value)")
    check(options == ["now", "after", "before"], "with the heap of now and the newest snapshots", options)
    check("processCommand" in frames(browser), "a flame graph", frames(browser))
    page.choose(".controls label:nth-child(1) select", "after")
    wanted = dict(page.query("SELECT function, flat_bytes FROM heap_functions WHERE snapshot = 'after' AND flat_bytes > 0"))
    got = browser.run(CELLS)
    order = sorted(wanted, key=wanted.get, reverse=True)
    check(got[:3] == order[:3] and set(order) <= set(got), "its functions are the node's", (got[:5], order[:5]))
    page.choose(".controls label:nth-child(2) select", "before")
    grown = dict(page.query("SELECT function, round(flat_bytes / 4096) FROM heap_diff WHERE snapshot = 'after' AND base = 'before'"))
    first = browser.run(CELLS)[0]
    check(abs(grown[first]) == max(map(abs, grown.values())), "and so is what grew", (first, grown))
    for tab, wanted in (("memory", "resident"), ("settings", "state_dir"), ("snapshots", "before"), ("deaths", "nothing"),
                        ("profiler", "connected"), ("threads", "redis-server"), ("waste", "slabs"), ("mappings", "libc.so.6"),
                        ("trend", "unknown")):
        browser.click(f"#tabs button[name={tab}]")
        check(wanted in browser.run(TEXT, "#table") or tab == "settings", f"the table {tab}", browser.run(TEXT, "#table")[:200])
    check(browser.run("return !document.querySelector('#diagnosis').hidden"), "the diagnosis")
    check("threads and waste are of now" in browser.run(TEXT, "header"), "and of what heap the tables are")
    check(browser.run("return document.querySelector('#line select').hidden"), "no choice of a minute's history")
    check(browser.run("return document.querySelector('.key .outside') && !document.querySelector('.key .outside').hidden"),
          "memory over time")
    weeks(browser, path)
    done = bundle(node, path, "before")
    check(done.returncode == 0, "a named one", done)
    look(browser, path, "named")
    check(browser.run("return document.querySelector('.controls select').options.length") == 1, "alone")
    before = os.stat(path).st_mtime_ns
    done = bundle(node, os.path.join(path, "no_such"), "before")
    check(done.returncode == 1 and "no_such" in done.stderr, "a place that is none is an error", done)
    done = bundle(node, path, "no_such")
    check(done.returncode == 1 and "no_such" in done.stderr, "so is a snapshot that is not there", done)
    check(os.stat(path).st_mtime_ns != before, "all else is written")
    check(not glob.glob(glob.escape(path) + ".*"), "nothing else stays")
    check(os.stat(path).st_mode & 0o777 == 0o600, "others may not read it")
    done = subprocess.run([HEAPWIRE, "-S", node.socket, "bundle"], capture_output=True, text=True)
    check(done.returncode == 64 and "--output" in done.stderr, "it says that it needs a file", done)
    done = subprocess.run([HEAPWIRE, "-S", "/no/such", "bundle", "-o", path + ".2"], capture_output=True, text=True)
    check(done.returncode == 2 and not os.path.exists(path + ".2"), "without a node there is no file", done)


COLUMNS = """
const one = document.querySelector('#line canvas'), copy = new OffscreenCanvas(one.width, one.height);
const pen = copy.getContext('2d', {willReadFrequently: true});
pen.drawImage(one, 0, 0);
const {data} = pen.getImageData(0, 0, one.width, one.height), full = [];
for (let x = 0; x < one.width; x++)
    for (let y = 0; y < one.height; y++) // any color
        if (data[4 * (y * one.width + x) + 3] && Math.max(...[0, 1, 2].map((i) => data[4 * (y * one.width + x) + i])) -
            Math.min(...[0, 1, 2].map((i) => data[4 * (y * one.width + x) + i])) > 12) {
            full.push(x);
            break;
        }
return [full.length, full[full.length - 1] - full[0] + 1, one.width]"""


def weeks(browser, path):
    """A history of weeks, whose older rows stand for minutes and hours: the last hours, and all that was."""
    with open(path, encoding="utf-8") as file:
        head, rest = file.read().split('id="data">\n')
    text, tail = rest.split("\n</script>", 1)
    known, now = json.loads(text), int(time.time()) // 10 * 10
    times = [(t, 3600) for t in range(now - 20 * 86400, now - 7 * 86400, 3600)]
    times += [(t, 60) for t in range(now - 7 * 86400, now - 7200, 60)]
    times += [(t, 1) for t in range(now - 7200, now, 10)]
    known["history"] = [{"t": t, "pid": 7, "started": "x", "responsive": 1, "rss": 1 << 28, "allocated": 1 << 27,
                         "active": 1 << 27, "resident": 3 << 26, "limit": None, "seconds": s} for t, s in times]
    known["deaths"] = []
    place = path.removesuffix(".html") + ".weeks.html"
    with open(place, "w", encoding="utf-8") as file:
        file.write(head + 'id="data">\n' + json.dumps(known).replace("<", "\\u003c") + "\n</script>" + tail)
    look(browser, place, "weeks")
    got = browser.run("const one = document.querySelector('#line select');"
                      "return [one.hidden, ...Array.from(one.options, (each) => each.text), one.selectedOptions[0].text]")
    check(got == [False, "the last hour", "6 hours", "the last day", "the last week", "all", "6 hours"], "a choice", got)
    for span in ("21600", "0", "86400", "3600"):
        browser.run(f"const one = document.querySelector('#line select'); one.value = '{span}';"
                    "one.dispatchEvent(new Event('change'))")
        full, wide, all_of_it = browser.run(COLUMNS)
        check(full == wide and wide > 0.8 * all_of_it, f"what is there is drawn without a gap: {span}", (full, wide, all_of_it))


def hashed(browser, node, page, path):
    done = bundle(node, path, "--hash-names")
    check(done.returncode == 0, "hashed", done)
    with open(path, encoding="utf-8") as file:
        told = file.read().split('id="data">')[1].split("</script>")[0]
    names = {row[0] for row in page.query("SELECT DISTINCT function FROM heap_functions WHERE snapshot = 'after'")}
    seen = [name for name in names if len(name) > 5 and name in told]
    check(not seen, "no name of a function is in it", seen)
    look(browser, path, "hashed")
    check(all(re.fullmatch(r"all|\(.*\)|f_[0-9a-f]{12}( \(inline\))?", name) for name in frames(browser)), "numbers are",
          frames(browser))
    check("hashed" in browser.run(TEXT, "header"), "it says so")
    with open(path + ".again", "w", encoding="utf-8"):
        pass
    bundle(node, path + ".again", "--hash-names", "after")
    with open(path + ".again", encoding="utf-8") as file:
        check(not set(re.findall("f_[0-9a-f]{12}", told)) & set(re.findall("f_[0-9a-f]{12}", file.read())),
              "each file has numbers of its own")


def hung(browser, node, page, path):
    with frozen(node.children["redis-server"]):
        wait_for(lambda: page.query("SELECT state FROM profiler")[0][0] == "unresponsive")
        done = bundle(node, path)
        check(done.returncode == 0 and "not responding" in done.stderr, "a hung one has no heap of now, and says so", done)
        look(browser, path, "hung")
        options = browser.run("return Array.from(document.querySelector('.controls select').options, (one) => one.value)")
        check(options == ["after", "before"] and "threads and waste are of after" in browser.run(TEXT, "header"),
              "but its snapshots", (options, browser.run(TEXT, "header")))
        for tab, wanted in (("threads", "redis-server"), ("mappings", "libc.so.6")):
            browser.click(f"#tabs button[name={tab}]")
            check(wanted in browser.run(TEXT, "#table"), f"its {tab}", browser.run(TEXT, "#table")[:200])
        check("does not answer" in browser.run(TEXT, "#diagnosis"), "and that it hangs", browser.run(TEXT, "#diagnosis"))
    wait_for(lambda: page.query("SELECT state FROM profiler")[0][0] == "connected")


def dead(browser, node, page, path):
    wait_for(lambda: page.query("SELECT count(*) FROM memory_history")[0][0] > 11)
    os.kill(node.children["redis-server"], signal.SIGKILL)
    wait_for(lambda: page.query("SELECT state FROM profiler")[0][0] == "gone")
    wait_for(lambda: page.query("SELECT count(*) FROM deaths")[0][0] == 1)
    done = bundle(node, path)
    check(done.returncode == 0 and "the database" in done.stderr and "the bundle has no heap of now" in done.stderr, "a dead one has no heap of now, and says so", done)
    look(browser, path, "dead")
    options = browser.run("return Array.from(document.querySelector('.controls select').options, (one) => one.value)")
    check(options == ["after", "before"], "but its snapshots", options)
    check("died" in browser.run(TEXT, "#diagnosis"), "the diagnosis says that, too", browser.run(TEXT, "#diagnosis"))
    browser.click("#tabs button[name=threads]")
    check("redis-server" in browser.run(TEXT, "#table"), "what its threads had", browser.run(TEXT, "#table"))
    browser.click("#tabs button[name=deaths]")
    check("SIGKILL" in browser.run(TEXT, "#table"), "and its death", browser.run(TEXT, "#table"))


def hostile(browser, work, path):
    place = os.path.join(work, "<svg onload=window.pwned=6>")
    os.mkdir(place)
    program = os.path.join(place, "=cmd|' \u202emodule")
    os.symlink(os.path.join(BUILD, "bin", "hostile_names"), program)
    port = free_port()
    node = RedisNode(work, 10003, {10003: port}, port, program=[program], environment={"MALLOC_CONF": PROF})
    try:
        node.wait()
        page = Page(browser, None, node)
        wait_for(lambda: page.query("SELECT state FROM profiler")[0][0] == "connected")
        node.await_word(b"ready")  # the agent answers before it has called them
        page.script('snapshot("some")')
        done = bundle(node, path)
        check(done.returncode == 0, "hostile names are written", done)
        look(browser, path, "hostile")
        for wanted in HOSTILE:
            check(wanted in frames(browser) and wanted in browser.run(CELLS), f"{wanted} is as it is", frames(browser))
        browser.run("for (const one of document.querySelectorAll('#table tbody button')) one.click()")
        check(browser.run("return window.pwned === undefined"), "and no more than text")
        done = bundle(node, path, "--hash-names")
        with open(path, encoding="utf-8") as file:
            told = file.read().split('id="data">')[1].split("</script>")[0]
        check(done.returncode == 0 and "onerror" not in told and "calc" not in told, "nor read, where hashed")
        look(browser, path, "hostile-hashed")
    finally:
        node.stop()


def main():
    if no_localhost():  # by which chromedriver finds its browser
        print("skipped: bundles, in a browser:", no_localhost())
        return
    with tempfile.TemporaryDirectory(prefix="hw-") as work:
        port = free_port()
        node = RedisNode(work, 10001, {10001: port}, port, linger=300, environment={"MALLOC_CONF": PROF})
        path = os.path.join(work, "bundle.html")
        browser = None
        try:
            browser = Browser(work)
            node.wait()
            page = Page(browser, None, node)
            wait_for(lambda: page.query("SELECT state FROM profiler")[0][0] == "connected")
            for part in (ordinary, hashed, hung, dead):
                part(browser, node, page, path)
            hostile(browser, work, path)
        except BaseException:
            print(node.log()[-3000:], node.output().decode("utf-8", "replace")[-3000:])
            raise
        finally:
            if browser:
                browser.close()
            node.stop()
    print(f"bundle.py: ok, {page_under_test.passed} facts")


main()
