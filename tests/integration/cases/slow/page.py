#!/usr/bin/env python3
"""The page in Chromium, over a Redis with heapwire.

SHOTS, where given, keeps the screenshots.
"""
import os
import re
import subprocess
import sys
import tempfile

import pymysql

# pylint: disable=wrong-import-position
sys.path.insert(0, "tests/integration/lib")
from browser import (DOWN, ENTER, ESCAPE, LEFT, RIGHT, UP,  # noqa: E402
                     Browser)
from node_under_test import wait_for  # noqa: E402
from page_door import PageDoor  # noqa: E402
from page_stand_in import PageStandIn  # noqa: E402
from ports import free_port  # noqa: E402
from redis_node import RedisNode  # noqa: E402

SHOTS = os.environ.get("SHOTS") or tempfile.mkdtemp(prefix="hw-shots-")
TEXT = "return document.querySelector(arguments[0]).textContent"
FLAME = "document.querySelector('.flame').flame"
HOSTILE = ["<img src=x onerror=window.pwned=1>", "</script><script>window.pwned=2",
           "<svg onload=window.pwned=3>", "__proto__", "'\"&amp;"]
# Of a text and of what is behind it, as WCAG counts; the largest element first.
CONTRASTS = """
const parse = (text) => text.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => [r, g, b].map((v) => (v /= 255) <= 0.03928 ?
    v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) =>
    sum + v * [0.2126, 0.7152, 0.0722][i], 0);
function behind(one) {
    for (; one; one = one.parentElement) {
        const color = parse(getComputedStyle(one).backgroundColor);
        if (color.length === 3 || color[3] > 0)
            return color;
    }
    return matchMedia('(prefers-color-scheme: dark)').matches ? [21, 24, 28] : [255, 255, 255];
}
return Array.from(document.querySelectorAll(
    'h1, h2, p, label, button:enabled, select, th button, td, .key span, .flame-details, caption'))
    .filter((one) => one.textContent.trim() && one.getClientRects().length)
    .map((one) => {
        const ink = light(parse(getComputedStyle(one).color)), paper = light(behind(one));
        const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
        return [ratio, one.tagName + ' ' + one.textContent.slice(0, 30)];
    }).filter(([ratio]) => ratio < 4.5)"""
passed = 0


def check(fact, what, seen=None):
    global passed
    if not fact:
        raise SystemExit(f"page.py: not so: {what} (seen: {seen})")
    passed += 1


class Page:
    def __init__(self, browser, door, node):
        self.browser, self.door, self.node = browser, door, node
        self.run, self.keys = browser.run, browser.keys
        self.connection = pymysql.connect(unix_socket=node.socket, user="root",
                                          database="heapwire", autocommit=True)

    def query(self, statement):
        with self.connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall()

    def script(self, call):
        return self.query("ADMIN EXECUTE ON 10001 'System.print(HeapProf"
                          f".getInstance().{call})'")

    def open(self, state=""):
        """Returns once the flame graph and the table are there."""
        self.browser.open("about:blank")
        self.browser.open(self.door.url + ("#" + state if state else ""))
        self.settle()

    def settle(self):
        self.browser.until(f"document.querySelector('.flame') && !{FLAME}.searching && "
                           "document.querySelector('#table').children.length > 0")
        self.fine()

    def fine(self):
        text = self.run(TEXT, "#message")
        check(self.run("return document.querySelector('#message').hidden"),
              "nothing failed", text)

    def until_text(self, selector, wanted):
        self.browser.until(f"document.querySelector({selector!r}).textContent"
                           f".includes({wanted!r})")

    def choose(self, selector, value):
        self.run("const one = document.querySelector(arguments[0]);"
                 "one.value = arguments[1]; one.dispatchEvent(new Event('change'))",
                 selector, value)

    def frames(self):
        return self.run(f"return {FLAME}.frames()")

    def press(self, name):
        """A frame of the flame graph."""
        frame = next(f for f in self.frames() if f["name"] == name)
        left, top = self.run("const canvas = document.querySelector('.flame canvas');"
                             "canvas.scrollIntoView({block: 'nearest'});"
                             "const box = canvas.getBoundingClientRect();"
                             "return [box.left, box.top]")
        self.browser.press(left + frame["x"] + frame["width"] / 2,
                           top + frame["y"] + 8)

    def hash(self):
        return self.run("return Object.fromEntries(new URLSearchParams("
                        "location.hash.slice(1)))")

    def save(self, name):
        self.browser.save(f"{SHOTS}/page-{name}.png")

    def quiet(self, what):
        log = self.browser.console()
        check(not log, f"the console is silent: {what}", log)


def redis_port(node):
    with open(f"/proc/{node.children['redis-server']}/cmdline",
              encoding="utf-8") as f:
        return re.search(r":(\d+)", f.read())[1]


def load(node, keys):
    subprocess.run(["redis-benchmark", "-p", redis_port(node), "-q", "-n",
                    str(keys), "-r", str(keys), "-d", "300", "-P", "16", "-t",
                    "set,hset,lpush"], check=True, stdout=subprocess.DEVNULL)


def first_look(page):
    page.open()
    check(page.run("return document.title") == "heapwire 10001", "it has a title")
    check("connected" in page.run(TEXT, "#state"), "it says how the node is",
          page.run(TEXT, "#state"))
    check("Enable" in page.run(TEXT, "#switch"), "profiling can be enabled")
    page.save("first")

    page.browser.click("#switch")
    page.until_text("#switch", "Disable")
    check(page.query("SELECT active FROM profiler")[0][0] == 1, "and then is")
    check(page.run(TEXT, "#cost"), "its cost is beside it")
    page.script("reset(16)")
    load(page.node, 20000)
    page.browser.click("#name")
    page.browser.type("before")
    page.keys(ENTER)
    page.browser.until("Array.from(document.querySelector('#snapshot').options)"
                       ".some((one) => one.value === 'before')")
    load(page.node, 60000)
    page.script('snapshot("after")')
    page.quiet("first look")


def flame(page):
    page.open("snapshot=before")
    names = [f["name"] for f in page.frames()]
    check("main" in names and "processCommand" in names, "frames", names)
    page.press("processCommand")
    zoom = page.hash().get("zoom")
    check(zoom, "a zoom is in the URL", page.hash())
    page.run("document.querySelector('.flame input').focus()")
    page.browser.type("zmalloc")
    page.settle()
    text = page.run(TEXT, ".flame-matched")
    check("Matched: " in text and "(0 frames)" not in text, "a search", text)
    check(page.hash() == {"snapshot": "before", "zoom": zoom, "search": "zmalloc"},
          "is in the URL, too", page.hash())
    page.save("zoomed")
    frames = page.frames()
    page.open("snapshot=before&zoom=" + zoom + "&search=zmalloc")
    check(page.frames() == frames, "a link shows the same")
    page.run("document.querySelector('.flame canvas').focus()")
    for key in (ESCAPE, ESCAPE, UP, UP, UP, RIGHT, LEFT, DOWN, UP):
        page.keys(key)
    check(page.hash() == {"snapshot": "before"}, "Esc leads back", page.hash())
    page.keys("s")
    check("sandwich" in page.hash(), "a sandwich by key", page.hash())
    page.quiet("flame graph")


def compare(page):
    page.open("snapshot=after&base=before")
    check("since the base" in page.run(TEXT, "#title"), "a difference",
          page.run(TEXT, "#title"))
    colors = {f["color"] for f in page.frames()}
    check(any(c.startswith("hsl(8 ") for c in colors), "in which some grew", colors)
    check("grown" in page.run(TEXT, "#table thead"), "and so has the table")
    page.save("difference")
    page.run("document.querySelector('#table tbody button').click()")
    check("sandwich" in page.hash(), "a function of it is a sandwich", page.hash())

    # The same by a brush over the time line.
    page.open()
    page.browser.until("document.querySelector('#base').options.length === 3")
    box = page.run("const canvas = document.querySelector('#line canvas');"
                   "canvas.scrollIntoView(); const box = canvas.getBoundingClientRect();"
                   "return [box.left, box.top, box.width, box.height]")
    left, top, width, height = box
    page.browser.drag(left + 3, top + height / 2, left + width - 3,
                      top + height / 2)
    page.browser.until("location.hash.includes('base=before')")
    check(page.hash() == {"snapshot": "after", "base": "before"},
          "a brush compares", page.hash())
    page.browser.until("document.querySelector('#title').textContent.includes('since')")
    check("RSS" in page.run(TEXT, ".said") and " to " in page.run(TEXT, ".said"),
          "and says what grew", page.run(TEXT, ".said"))
    page.save("brushed")

    # And by keys.
    page.open()
    page.run("document.querySelector('#line canvas').focus()")
    for _ in range(12):
        page.keys("\ue008", LEFT)
    page.keys(ENTER)
    for _ in range(12):
        page.keys("\ue008", RIGHT)
    page.keys(ENTER)
    page.browser.until("location.hash.includes('base=before')")
    check(page.hash() == {"snapshot": "after", "base": "before"},
          "so do keys", page.hash())
    page.quiet("compare")


def ways(page):
    """The skip link, a second thought, and a history as long as it may be."""
    page.open("snapshot=after&tab=snapshots")
    page.run("document.querySelector('.skip').focus()")
    page.keys(ENTER)
    check(page.run("return document.activeElement.id") == "flame" and page.hash() ==
          {"snapshot": "after", "tab": "snapshots"},
          "the skip link leads to the flame graph, and changes nothing", page.hash())
    page.run("data.value = (statement, signal) => new Promise((_, fail) =>"
             " signal.addEventListener('abort', () => {"
             " window.given_up = statement; fail(signal.reason); }))")
    page.choose("#snapshot", "before")
    page.choose("#snapshot", "after")
    check("'before'" in page.run("return window.given_up || ''"),
          "what is not wanted any more is given up")
    page.open()
    plain, marked = page.run("""
        document.querySelector('#line').replaceChildren();
        const line = new TimeLine(document.querySelector('#line'), {picked() {}});
        const samples = Array.from({length: 21600}, (_, i) =>
            ({t: 1.7e9 + 4 * i, rss: 1e9 + i, allocated: 9e8 + i, limit: 2e9}));
        const marks = Array.from({length: 300}, (_, i) => ({t: 1.7e9 + 280 * i, live: 8e8}));
        return [[], marks].map((some) => {
            line.set(samples, some);
            const start = performance.now();
            for (let i = 0; i < 30; i++)
                line.point(1.7e9 + 1000 * i);
            return performance.now() - start;
        })""")
    check(marked < 10 * plain, "snapshots make no long history slow", (plain, marked))
    page.quiet("ways")


def tables(page):
    page.open()
    count = page.run("return document.querySelectorAll('[role=tab]').length")
    check(count == 10, "there are tabs", count)
    for i in range(count):
        page.run("document.querySelector('#table').replaceChildren();"
                 "document.querySelectorAll('[role=tab]')[arguments[0]].click()", i)
        page.settle()
        if i == 5:
            page.save("arenas")
    page.run("document.querySelector('#tab-functions').focus()")
    page.run("document.querySelector('#table').replaceChildren()")
    page.keys(RIGHT)
    page.keys(RIGHT)
    page.browser.until("document.querySelectorAll('#table tbody tr').length === 2")
    check(page.hash() == {"tab": "snapshots"}, "keys change tabs", page.hash())
    page.save("snapshots")

    def doing(row, text):
        page.run("const line = Array.from(document.querySelectorAll('#table tbody tr'))"
                 ".find((one) => one.cells[0].textContent === arguments[0]);"
                 "Array.from(line.querySelectorAll('button')).find((one) =>"
                 " one.textContent === arguments[1]).click()", row, text)

    doing("before", "Pin")
    page.until_text("#table tbody", "Unpin")
    check(page.query("SELECT name FROM snapshots WHERE pinned = 1") ==
          (("before",),), "a snapshot is pinned")
    page.run("window.saved = []; URL.createObjectURL = (blob) => {"
             "blob.arrayBuffer().then((bytes) => window.saved.push("
             "Array.from(new Uint8Array(bytes).slice(0, 2)))); return 'data:,'}")
    doing("after", "Download")
    page.browser.until("window.saved.length === 1")
    check(page.run("return window.saved[0]") == [0x1f, 0x8b], "pprof is downloaded")
    page.script('snapshot("extra")')
    page.open("tab=snapshots")
    page.run("window.confirm = () => true")
    doing("extra", "Delete")
    page.browser.until("document.querySelectorAll('#table tbody tr').length === 2")
    check(len(page.query("SELECT name FROM snapshots")) == 2, "one is deleted")
    page.run("Array.from(document.querySelectorAll('#table th button'))"
             ".find((one) => one.textContent === 'size').click()")
    order = page.run("return Array.from(document.querySelectorAll('#table tbody tr'),"
                     " (one) => one.cells[0].textContent)")
    check(order == [name for name, in page.query(
        "SELECT name FROM snapshots ORDER BY size DESC")], "it sorts", order)
    page.quiet("tables")


def looks(page):
    """Every size, dark and light."""
    for scheme in ("light", "dark"):
        page.browser.emulate("setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": scheme}])
        for width, height in ((360, 740), (1300, 900), (3840, 2160)):
            page.browser.emulate("setDeviceMetricsOverride", width=width,
                                 height=height, deviceScaleFactor=1, mobile=False)
            page.open("snapshot=after&base=before&tab=snapshots")
            wide = page.run("return document.documentElement.scrollWidth")
            check(wide <= width, f"nothing leaves {width} px", wide)
            check(page.run(f"return {FLAME}.frames()[0].width") > width * 0.8,
                  "and the flame graph fills it")
            weak = page.run(CONTRASTS)
            check(not weak, f"{scheme}, {width} px: all is legible", weak)
            page.save(f"{scheme}-{width}")
    page.browser.emulate("clearDeviceMetricsOverride")
    page.browser.emulate("setEmulatedMedia", features=[])
    unnamed = page.run(
        "return Array.from(document.querySelectorAll('button, select, input, canvas'))"
        ".filter((one) => !(one.textContent.trim() || one.labels?.length ||"
        " one.getAttribute('aria-label'))).map((one) => one.outerHTML)")
    check(not unnamed, "whatever can be used has a name", unnamed)
    page.quiet("looks")


def hostile(page):
    names = {"hsetCommand": HOSTILE[0], "zmalloc": HOSTILE[1], "call": HOSTILE[2],
             "main": HOSTILE[3], "setCommand": HOSTILE[4]}
    door, page.door = page.door, PageStandIn(page.node.socket)
    page.door.server.changed_name = lambda v: names.get(v, v) \
        if isinstance(v, str) else v
    page.open("snapshot=before")
    shown = {f["name"] for f in page.frames()}
    check({HOSTILE[0], HOSTILE[2], HOSTILE[3]} <= shown, "names are as they are", shown)
    check(HOSTILE[0] in page.run(TEXT, "#table"), "in tables, too")
    for name in HOSTILE[:4]:
        page.run(f"{FLAME}.look(arguments[0])", name)
        page.run(f"{FLAME}.find('img|script')")
    page.save("hostile")
    check(page.run("return window.pwned === undefined && "
                   "document.querySelectorAll('img, svg').length === 0 && "
                   "document.scripts.length === 1"), "and no more than text")
    page.quiet("hostile names")
    page.browser.open("about:blank")
    page.door.close()
    page.door = door


def other_nodes(page):
    """One choice leads to another node, or to the sum of all."""
    wait_for(lambda: page.query(
        "SELECT count(*) FROM nodes WHERE alive = 1")[0][0] == 2, 30)
    page.open("tab=nodes")
    check(page.run("return document.querySelectorAll('#table tbody tr').length") == 2,
          "both nodes are there")
    page.run("document.querySelectorAll('#table tbody tr')[1]"
             ".querySelector('button').click()")
    page.until_text("#switch", "Enable")
    check(page.hash() == {"tab": "nodes", "node": "10002"}, "a node by a click",
          page.hash())
    page.browser.click("#switch")
    page.until_text("#switch", "Disable")
    check(page.query("SELECT active FROM cluster_profiler WHERE node_id = 10002")
          == ((1,),), "its profiling is switched")
    page.browser.click("#name")
    page.browser.type("elsewhere")
    page.keys(ENTER)
    page.browser.until("Array.from(document.querySelector('#snapshot').options)"
                       ".some((one) => one.value === 'elsewhere')")
    check(page.query("SELECT node_id FROM cluster_snapshots WHERE name = 'elsewhere'")
          == ((10002,),), "its snapshot is taken")
    page.open("node=10002&snapshot=elsewhere")
    check(page.run(TEXT, "#title"), "and can be looked at")
    page.open("node=all&tab=snapshots")
    rows = page.run("return Array.from(document.querySelectorAll('#table tbody tr'),"
                    " (one) => one.cells[0].textContent)")
    check(set(rows) == {"before", "after", "elsewhere"}, "all at once", rows)
    names = [f["name"] for f in page.frames()]
    check("processCommand" in names, "and their heaps added up", names)
    page.save("all-nodes")
    page.quiet("other nodes")


def failures(page):
    """What fails is said, and the page goes on."""
    page.browser.open("about:blank")
    page.browser.open(page.door.url + "#snapshot=no_such")
    page.browser.until("!document.querySelector('#message').hidden")
    check("no_such" in page.run(TEXT, "#message"), "a snapshot that is not there",
          page.run(TEXT, "#message"))
    page.browser.until("document.querySelector('#table').textContent === '' && "
                       "document.querySelector('#snapshot').options.length > 2")
    page.choose("#snapshot", "before")
    page.settle()
    page.browser.console()  # has the browser's own line of a status of 500

    # Switched off again.
    page.browser.click("#switch")
    page.until_text("#switch", "Enable")
    check(page.query("SELECT active FROM profiler")[0][0] == 0, "profiling is off")


def main():
    subprocess.run(["sh", "docker/install.sh", "clients"], check=True)
    with tempfile.TemporaryDirectory(prefix="hw-") as work:
        places = {10001: free_port(), 10002: free_port()}
        nodes = [RedisNode(work, i, places, port) for i, port in places.items()]
        node = nodes[0].wait()
        door = browser = None
        try:
            door = PageDoor(node)
            browser = Browser(work)
            page = Page(browser, door, node)
            wait_for(lambda: page.query("SELECT state FROM profiler")[0][0] ==
                     "connected", 30)
            for part in (first_look, flame, compare, ways, tables, looks, hostile,
                         other_nodes, failures):
                part(page)
        finally:
            if browser:
                browser.close()
            if door:
                door.close()
            for node in nodes:
                node.stop()
    print(f"page.py: ok, {passed} facts")


main()
