#!/usr/bin/env python3
"""The page in Chromium, over a Redis with heapwire."""
import os
import re
import signal
import tempfile

from browser import DOWN, ENTER, ESCAPE, LEFT, RIGHT, TAB, UP, Browser
from http_under_test import reload
from machine import no_localhost
from node_under_test import BUILD, REAL, Node, frozen, wait_for
from page_proxy import PageProxy
import page_under_test
from page_under_test import FLAME, TEXT, Page, check, load
from ports import free_port
from redis_node import RedisNode

SHIFT = "\ue008"
CELLS = ("return Array.from(document.querySelectorAll('#table tbody tr'), (one) =>"
         " one.cells[0].textContent)")
# What can be used, where the keyboard is, and whether one sees it.
USABLE = """
return Array.from(document.querySelectorAll('a[href], button:enabled, select, input, canvas'))
    .filter((one) => one.getClientRects().length && one.tabIndex >= 0).length"""
FOCUSED = """
const one = document.activeElement;
one.seen = one.seen || 0;
return [one === document.body ? 'body' : one.tagName, one.seen++, getComputedStyle(one).outlineStyle !== 'none',
    one.matches('a[href], button, select, input, canvas')]"""


# Of the heap: the graph, texts, the table; of the profiler: the switch, its cost.
SHOWN = """
const text = (id) => document.querySelector(id).textContent;
return [document.querySelector('.flame') !== null, text('#title'), text('#notes'), text('#table'),
    document.querySelector('#switch').hidden, text('#cost'),
    document.querySelector('#snapshot').options.length]"""


# Each statement whose text has one of these fails, and refreshes are counted.
MEDDLE = """
window.failing = [];
window.refreshes = 0;
const ask = data.rows;
data.rows = async (statement, signal) => {
    window.refreshes += statement.includes('guard_reason');
    if (window.failing.some((one) => statement.includes(one)))
        throw new Error(`no ${window.failing}`);
    return ask(statement, signal);
};"""
NAMES = "Array.from(document.querySelector('#snapshot').options, (one) => one.value).join()"


def first_look(page):
    page.open()
    check(page.run("return document.title") == "heapwire, node 10001", "it has a title")
    check("connected" in page.run(TEXT, "#state"), "it says how the node is",
          page.run(TEXT, "#state"))
    check("Enable" in page.run(TEXT, "#switch"), "profiling can be enabled")
    page.until_text("#title", "Nothing is sampled: profiling is off")
    check(page.run("return document.querySelector('#flame').hidden"), "and no empty graph is there")
    page.browser.click("#switch")
    page.until_text("#switch", "Disable")
    page.until_text("#title", "Nothing is sampled yet")
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
    page.quiet("first look")
    page.keys(ENTER)
    page.browser.until("!document.querySelector('#message').hidden")
    text = page.run(TEXT, "#message")
    check("before" in text and "script line" not in text, "an error is that of an act", text)
    page.browser.click("#name")
    page.browser.type("\ue010" + "\ue003" * 6 + "after")
    page.keys(ENTER)
    page.browser.until("Array.from(document.querySelector('#snapshot').options)"
                       ".some((one) => one.value === 'after')")
    page.fine()
    page.browser.console()  # has the browser's own line of a status of 503


def flame(page):
    page.open("snapshot=before")
    names = [f["name"] for f in page.frames()]
    check("main" in names and "processCommand" in names, "frames", names)
    page.press("processCommand")
    zoom = page.hash().get("zoom")
    check(zoom, "a zoom is in the URL", page.hash())
    page.run("document.querySelector('.flame input').focus()")
    page.browser.type("sds")
    page.settle()
    text = page.run(TEXT, ".flame-matched")
    check("Matched: " in text and "(0 frames)" not in text, "a search", text)
    check(page.hash() == {"snapshot": "before", "zoom": zoom, "search": "sds"},
          "is in the URL, too", page.hash())
    page.save("zoomed")
    frames = page.frames()
    page.open("snapshot=before&zoom=" + zoom + "&search=sds")
    check(page.frames() == frames, "a link shows the same")
    page.open(f"snapshot=before&zoom=1-{zoom.split('-')[1]}&search=sds")
    check(page.frames() == frames, "also where the frame has another number")
    page.run("document.querySelector('.flame canvas').focus()")
    for key in (ESCAPE, ESCAPE, UP, UP, UP, RIGHT, LEFT, DOWN, UP):
        page.keys(key)
    check(page.hash() == {"snapshot": "before"}, "Esc leads back", page.hash())
    page.keys("s")
    check("sandwich" in page.hash(), "a sandwich by key", page.hash())
    page.keys("s", "i")
    for wrong in ("zoom=7.5-x", "zoom=-1-x", "zoom=x", "sandwich=no", "color=no",
                  "tab=__proto__", "__proto__=x", "search=(", "by=no"):
        page.open("snapshot=before&" + wrong)
        check(page.frames(), f"a link of {wrong} shows something")
    page.quiet("flame graph")


def back(page):
    """What people choose are steps, which the browser goes back."""
    page.open("snapshot=after")
    page.choose("#snapshot", "before")
    page.browser.until(f"{FLAME}.tree.title && location.hash === '#snapshot=before'")
    page.settle()
    page.browser.until("document.querySelector('#progress').hidden")
    frames = page.frames()
    page.press("processCommand")
    page.run("document.querySelector('#tab-memory').click()")
    page.browser.until("document.querySelector('#table').textContent.includes('unexplained')")
    page.back()
    page.browser.until("!location.hash.includes('tab')")
    page.browser.until("document.querySelectorAll('#table tbody tr button').length > 3")
    check("zoom" in page.hash(), "Back leads to the table before", page.hash())
    page.back()
    page.browser.until("location.hash === '#snapshot=before'")
    page.browser.until(f"{FLAME}.panels[0].zoom === 0")
    check(page.frames() == frames, "then to the frames before")
    page.back()
    page.browser.until("location.hash === '#snapshot=after'")
    page.browser.until("document.querySelector('#snapshot').value === 'after'")
    page.run("history.forward()")
    page.browser.until("document.querySelector('#snapshot').value === 'before'")
    page.quiet("back")


def unseen(page):
    """What is in use and not in the profile is a block beside it."""
    page.open()
    page.browser.until("!document.querySelector('#diagnosis').hidden")  # what is below stays where it is
    page.run("""
        const ask = data.value;
        data.value = async (statement, signal) => !statement.startsWith('SELECT calls') ? ask(statement, signal) :
            new Blob([JSON.stringify({title: 'db: 1.0 MB in use, estimated from 1 sample alone', notes: ['why'],
                measure: 'in use', space: true, difference: false, unseen: 3 << 20, unseen_why: 'whyever', name: [0, 1], names: ['all', 'main'],
                module: [0, 0], modules: [''], depth: [0, 1], total: [1 << 20, 1 << 20], self: [0, 1 << 20]})]);
        document.querySelector('#again').click();""")
    page.until_text("#title", "1 sample alone")
    page.browser.until("document.querySelector('#table').children.length > 0")
    quarter = "flame.frames().map((one) => Math.round(4 * one.width / flame.brush.width))"
    point = ("const flame = FLAME, box = flame.canvas.getBoundingClientRect();"
             "flame.canvas.scrollIntoView({block: 'nearest'});").replace("FLAME", FLAME)
    for icicle in ("", "i"):
        if icicle:
            page.run("document.querySelector('.flame canvas').focus()")
            page.keys(icicle)
        seen = page.run(point + """
            const copy = new OffscreenCanvas(flame.canvas.width, flame.canvas.height);
            const pen = copy.getContext('2d', {willReadFrequently: true});
            pen.drawImage(flame.canvas, 0, 0);
            return [QUARTER, ...[0.5, 0.9].flatMap((part) => [2, flame.brush.step + 2].map((y) => Array.from(
                pen.getImageData(part * copy.width, y * devicePixelRatio, 1, 1).data).join()))]""".replace("QUARTER", quarter))
        check(seen == [[1, 1]] + ["217,217,217,255"] * 4, "it is as wide as it is large, beside all frames", seen)
    left, top, width = page.run(f"{point} const now = flame.canvas.getBoundingClientRect();"
                                "return [now.left, now.top, now.width]")
    page.browser.point(left + 0.9 * width, top + 5)
    text = page.run(TEXT, ".flame-details")
    check(text.startswith("[not in the profile]: 3.0 MB, 75.0% of the 4.0 MB that are in use: whyever"), "it says what it is", text)
    page.browser.press(left + 0.9 * width, top + 5)
    check(page.hash() == {"icicle": "1"}, "it is no frame", page.hash())
    page.run(f"{FLAME}.find('profile')")
    page.browser.until(f"!{FLAME}.searching")
    check("(0 frames)" in page.run(TEXT, ".flame-matched"), "nor found", page.run(TEXT, ".flame-matched"))
    page.press("all")
    check(page.run(f"{point} return {quarter}") == [4, 4], "the profile alone by a click on its root")
    page.keys(ESCAPE, ESCAPE)
    page.keys(ESCAPE)
    check(page.run(f"{point} return {quarter}") == [1, 1], "and Esc leads back")
    page.press("main")
    check(page.run(f"{point} return {quarter}") == [4, 4], "what is zoomed in is as wide as the page")
    page.browser.press(left + 0.9 * width, top + 5)
    page.save("unseen")
    check(page.run(f"{point} return {quarter}") == [1, 1], "back at the root it is there again")
    page.quiet("unseen")


def memory_is_there(page):
    """On the time line, for which it is asked last."""
    def is_told():
        page.run("document.querySelector('#line canvas').focus()")
        page.keys(ESCAPE)
        page.keys(LEFT)
        return "RSS" in page.run(TEXT, ".said")

    wait_for(is_told)
    page.keys(ESCAPE)


def compare(page):
    page.open("snapshot=after&base=before")
    check("since the base" in page.run(TEXT, "#title"), "a difference",
          page.run(TEXT, "#title"))
    colors = {f["color"] for f in page.frames()}
    check(any(c.startswith("hsl(8 ") for c in colors), "in which some grew", colors)
    check("grown" in page.run(TEXT, "#table thead"), "and so has the table")
    first = page.run(CELLS)[0]
    check("sds" in first or "lp" in first or "dict" in first, "what grew itself comes first", first)
    page.save("difference")
    for way, red in (("module", False), ("name", False), ("growth", True)):
        page.run(f"{FLAME}.setColor(arguments[0])", way)
        check(("red grew" in page.run(TEXT, "#notes")) == red, f"the notes explain the colors by {way}",
              page.run(TEXT, "#notes"))
    page.run("document.querySelector('#table tbody button').click()")
    check("sandwich" in page.hash(), "a function of it is a sandwich", page.hash())

    page.open("snapshot=after&base=before&tab=threads")
    text = page.run(TEXT, "#table")
    check("grown bytes" in text and "redis-server" in text and "significant" in text, "what pools grew by", text)

    # The same by a brush over the time line.
    page.open()
    page.browser.until("document.querySelector('#base').options.length === 3")
    memory_is_there(page)
    left, top, width, height = page.run(
        "const canvas = document.querySelector('#line canvas');"
        "canvas.scrollIntoView(); const box = canvas.getBoundingClientRect();"
        "return [box.left, box.top, box.width, box.height]")
    page.browser.drag(left + 3, top + height / 2, left + width - 3,
                      top + height / 2)
    page.browser.until("location.hash.includes('base=before')")
    check(page.hash() == {"snapshot": "after", "base": "before"},
          "a brush compares", page.hash())
    page.browser.until("document.querySelector('#title').textContent.includes('since')")
    check("RSS" in page.run(TEXT, ".said") and " to " in page.run(TEXT, ".said"),
          "and says what grew", page.run(TEXT, ".said"))

    # By two clicks.
    page.open()
    memory_is_there(page)
    for x in (left + 3, left + width - 3):
        page.run("document.querySelector('#line canvas').scrollIntoView()")
        page.browser.press(x, top + height / 2)
    page.browser.until("location.hash.includes('base=before')")
    check(page.hash() == {"snapshot": "after", "base": "before"},
          "two clicks do, too", page.hash())

    # And by keys.
    page.open()
    memory_is_there(page)
    page.run("document.querySelector('#line canvas').focus()")
    for _ in range(12):
        page.keys(SHIFT, LEFT)
    page.keys(ENTER)
    for _ in range(12):
        page.keys(SHIFT, RIGHT)
    page.keys(ENTER)
    page.browser.until("location.hash.includes('base=before')")
    check(page.hash() == {"snapshot": "after", "base": "before"},
          "so do keys", page.hash())
    page.keys(ESCAPE)
    page.keys(UP)
    check("snapshot before" in page.run(TEXT, ".said"), "a key leads to a mark",
          page.run(TEXT, ".said"))
    page.quiet("compare")


def processes(page):
    """A brush compares what is within, and of one process."""
    page.open()
    page.run("""
        const ask = data.rows, now = Date.now();
        window.historyCame = false;
        data.rows = async (statement, signal) => !statement.includes('cause FROM') ?
            ask(statement, signal).finally(() => { window.historyCame ||= statement.includes('memory_history'); }) :
            [['old', 1, -1e6], ['a1', 1, 1000], ['a2', 1, 2000], ['b1', 2, 2200], ['b2', 2, 3000], ['c', 3, 4000]]
                .map(([name, pid, t]) => ({name, pid, node_id: 10001, program: 'x', cause: 'asked', bytes: 1e6,
                    taken: new Date(now + 1000 * t).toISOString().slice(0, 19).replace('T', ' ')}));
        document.querySelector('#again').click();""")
    page.until_text("#snapshot", "b2")
    page.browser.until("window.historyCame")  # the line begins there, and not at old
    check("old (ended process)" in page.run(TEXT, "#snapshot"), "what cannot be compared is marked",
          page.run(TEXT, "#snapshot"))
    # Nothing is nearer to its begin than a2.
    for begin, end, wanted in ((0.47, 0.8, {"snapshot": "b2", "base": "b1"}),
                               (0.47, 0.6, {"snapshot": "b2", "base": "b1"}),
                               (0.2, 0.52, {"snapshot": "a2", "base": "a1"})):
        left, top, width = page.run(
            "const box = document.querySelector('#line canvas').getBoundingClientRect();"
            "return [box.left, box.top, box.width]")
        page.browser.drag(left + begin * width, top + 50, left + end * width, top + 50)
        check(page.hash() == wanted, "a brush compares two of one process",
              (page.hash(), page.run(TEXT, ".said")))
        # They are not there; what is said of it moves the line.
        page.browser.until("!document.querySelector('#message').hidden")
    check(page.run("return document.querySelector('#title').textContent === '' &&"
                   " !document.querySelector('.flame')"), "what fails leaves no former heap")
    page.browser.console()  # has the browser's own lines of a status of 400


def ways(page):
    """The skip link, a second thought, and a history as long as it may be."""
    page.open("snapshot=after&tab=snapshots")
    page.run("document.querySelector('.skip').focus()")
    page.keys(ENTER)
    check(page.run("return document.activeElement.matches('.flame canvas')") and page.hash() ==
          {"snapshot": "after", "tab": "snapshots"},
          "the skip link leads to the flame graph, and changes nothing", page.hash())
    page.keys("i")
    check(page.hash().get("icicle") == "1", "whose keys act at once", page.hash())
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
        const took = [[], []]; // of which the best: all else is the machine's
        for (let round = 0; round < 5; round++)
            [[], marks].forEach((some, which) => {
                line.set(samples, some);
                const start = performance.now();
                for (let i = 0; i < 6; i++)
                    line.point(1.7e9 + 1000 * i);
                took[which].push(performance.now() - start);
            });
        return took.map((some) => Math.min(...some))""")
    check(marked < 10 * plain, "snapshots make no long history slow", (plain, marked))
    drawn = page.run("""
        const sample = (life, t) => ({t: 1.7e9 + t, rss: 1e9, allocated: null, limit: null, ...life});
        const steps = (from, to) => Array.from({length: (to - from) / 5 + 1}, (_, i) => from + 5 * i);
        const before = steps(0, 20).map((t) => sample({pid: 1, started: 'a'}, t));
        const after = (life) => [...before, ...steps(life.pid === 1 && life.started === 'a' ? 25 : 90, 100).map((t) =>
            sample(life, t))];
        return [[{pid: 1, started: 'a'}, []], [{pid: 2, started: 'b'}, [20]], [{pid: 1, started: 'b'}, [95]],
                [{pid: 2, started: 'a'}, []]].map(([life, deaths]) => {
            const samples = after(life), marks = deaths.map((t) => ({t: 1.7e9 + t, death: true}));
            const line = new TimeLine(document.querySelector('#line'), {picked() {}});
            line.set(samples, marks);
            const {width, height, data} = line.pen.getImageData(
                0, 0, line.canvas.width, line.canvas.height);
            const isCurve = (x, y) => {
                const [red, , blue, opaque] = data.subarray(4 * (y * width + x));
                return opaque > 60 && red > blue + 60;
            };
            return [0.05, 0.5, 0.95].map((part) =>
                Array.from({length: height}, (_, y) => y).some((y) => isCurve(part * width | 0, y)));
        });""")
    # A death is in the second of the last sample, or is known late, or never.
    check(drawn == [[True, True, True]] + [[True, False, True]] * 3,
          "no curve is drawn where there was no database", drawn)
    curves = page.run("""
        // Where each curve is broken, for a minute from 100 on: by name, 1 for a gap.
        const read = (t) => ({t: 1.7e9 + t, rss: 1e9, limit: null, pid: 1, started: 'a', responsive: 1,
            allocated: t % 10 ? null : 9e8});
        const seconds = Array.from({length: 260}, (_, t) => read(t)), away = (one) => one.t >= 1.7e9 + 100 &&
            one.t < 1.7e9 + 160;
        const cases = [seconds,
            seconds.map((one) => away(one) ? {...one, allocated: null, responsive: 0} : one), // SIGSTOP
            seconds.filter((one) => !away(one)), // heapwired was stopped, too
            seconds.filter((one) => one.t % 10 === 0).map((one) => ({...one, seldom: 1}))];
        return cases.map((samples) => {
            const line = new TimeLine(document.querySelector('#line'), {picked() {}}), moves = {};
            const {moveTo} = Object.getPrototypeOf(line.pen), draw = line.drawCurve;
            line.drawCurve = (name) => {
                moves[name] = -1;
                line.pen.moveTo = (...to) => { moves[name]++; moveTo.apply(line.pen, to); };
                draw.call(line, name);
                delete line.pen.moveTo;
            };
            line.set(samples, []);
            const told = line.describe(1.7e9 + 150);
            return [moves.rss, moves.allocated, told.replace(/^.*UTC, /, '')];
        });""")
    check(curves == [[0, 0, "RSS 953.7 MB, allocated 858.3 MB"],
                     [0, 1, "RSS 953.7 MB, the database did not answer"],
                     [1, 1, "nothing was read"],
                     [0, 0, "RSS 953.7 MB, allocated 858.3 MB"]],
          "each curve is broken where nothing was read", curves)
    drawn = page.run("""
        const line = new TimeLine(document.querySelector('#line'), {picked() {}}), texts = [];
        line.set([0, 100].map((t) => ({t: 1.7e9 + t, rss: 3e8, allocated: null, limit: null})), []);
        const write = line.pen.fillText;
        line.pen.fillText = (text) => texts.push(text);
        line.draw();
        return [texts, line.limits.hidden];""")
    check({"50 MB", "100 MB"} < set(drawn[0]) and
          sum("UTC" in text for text in drawn[0]) == 1 and drawn[1], "axes are round", drawn)
    page.quiet("ways")


def doing(page, row, text):
    page.run("const line = Array.from(document.querySelectorAll('#table tbody tr'))"
             ".find((one) => one.cells[0].textContent === arguments[0]);"
             "const one = Array.from(line.querySelectorAll('button')).find((one) =>"
             " one.textContent === arguments[1]); one.focus(); one.click()", row, text)


def tables(page):
    page.open()
    tabs = page.run("return Array.from(document.querySelectorAll('#tabs [role=tab]'),"
                    " (one) => one.id.slice(4))")
    check({"functions", "threads", "mappings", "deaths", "sql"} < set(tabs), "there are tabs", tabs)
    for i in tabs:
        page.run("document.querySelector('#table').replaceChildren();"
                 "document.querySelector('#tab-' + arguments[0]).click()", i)
        page.settle()
        if i == "threads":
            check("redis-server" in page.run(TEXT, "#table"), "a thread and its pool",
                  page.run(TEXT, "#table"))
            check("pool redis-server" in [f["name"] for f in page.frames()],
                  "the flame graph begins with pools", page.frames())
        if i == "waits":
            check("bioProcessBackgroundJobs" in page.run(TEXT, "#table"),
                  "what a thread does now", page.run(TEXT, "#table"))
    page.run("document.querySelector('#tab-threads').focus()")
    page.run("document.querySelector('#table').replaceChildren()")
    page.keys(RIGHT)
    page.browser.until("document.querySelectorAll('#table tbody tr').length === 2")
    check(page.hash() == {"tab": "snapshots", "root": "pool"}, "keys change tabs", page.hash())

    doing(page, "before", "Pin")
    page.until_text("#table tbody", "Unpin")
    check(page.query("SELECT name FROM snapshots WHERE pinned = 1") ==
          (("before",),), "a snapshot is pinned")
    check(page.run("return document.activeElement.textContent") == "Unpin",
          "and the keyboard is where it was")
    page.run("window.saved = []; URL.createObjectURL = (blob) => {"
             "blob.arrayBuffer().then((bytes) => window.saved.push("
             "new TextDecoder('latin1').decode(bytes).slice(0, 400))); return 'data:,'}")
    for i, (form, wanted) in enumerate((
            ("pprof", "^\x1f\u2039"), ("flamegraph", "<svg"), ("svg", "<svg"), ("pdf", "^%PDF"),
            ("collapsed", "^_start;.* \\d"), ("export", "."))):
        page.run("const one = Array.from(document.querySelectorAll('#table tbody select'))"
                 ".find((one) => one.closest('tr').cells[0].textContent === 'after');"
                 "one.value = arguments[0]", form)
        doing(page, "after", "Download")
        page.browser.until(f"window.saved.length === {i + 1}")
        got = page.run("return window.saved.at(-1)")
        check(re.search(wanted, got), f"{form} is downloaded", got)
    page.script('snapshot("extra")')
    page.open("tab=snapshots")
    page.run("window.confirm = () => false")
    doing(page, "extra", "Delete")
    page.script('pin("extra")')
    page.open("tab=snapshots")
    page.run("window.confirm = (text) => { window.asked = text; return true; }")
    doing(page, "extra", "Delete")
    check("pinned" in page.run("return window.asked"), "one is asked whether what is pinned may go")
    page.browser.until("document.querySelectorAll('#table tbody tr').length === 2")
    check(len(page.query("SELECT name FROM snapshots")) == 2, "one is deleted")
    page.run("Array.from(document.querySelectorAll('#table th button'))"
             ".find((one) => one.textContent === 'size').click()")
    order = page.run(CELLS)
    sizes = dict(page.query("SELECT name, size FROM snapshots"))
    check([sizes[name] for name in order] == sorted(sizes.values(), reverse=True),
          "it sorts", (order, sizes))  # of equal ones either is first
    page.quiet("tables")


def cpu(page):
    """A profile of time is taken when people ask for it, and can be stopped."""
    page.query(f"ADMIN EXECUTE ON {page.node.id} "
               "'CpuProf.getInstance().snapshot_wall(\"waits\", 1)'")
    page.open()
    page.run("document.querySelector('#view-cpu').click()")
    page.until_text("#title", "Sample")
    page.until_text("#again", "Sample")
    check(page.run("return document.querySelector('#flame').hidden && "
                   "document.querySelector('#progress').hidden"), "nothing is taken by itself")
    page.until_text("#table", "kept profiles")
    page.choose("#seconds", "30")
    page.choose("#kind", "wall")
    page.browser.click("#again")
    page.until_text("#progress", "of 30 s")
    page.browser.click("#stop")
    page.until_text("#title", "Sample")
    wait_for(lambda: not page.query("SELECT id FROM sessions WHERE info LIKE '%calls(%' "
                                    "AND id <> connection_id()"))
    page.fine()
    page.choose("#seconds", "5")
    check(page.hash() == {"view": "cpu", "kind": "wall", "seconds": "5"}, "it is in the URL", page.hash())
    page.browser.click("#again")
    page.until_text("#progress", "of 5 s")
    page.browser.until("document.querySelector('.flame') && !document.querySelector('#flame').hidden")
    names = [f["name"] for f in page.frames()]
    check("main" in names, "it is drawn as the heap is", names)
    page.save("cpu")
    check(page.run("return " + NAMES) == ",waits", "what is kept can be chosen")
    page.choose("#snapshot", "waits")
    page.browser.until("location.hash.includes('snapshot=waits')")
    page.settle()
    check("main" in [f["name"] for f in page.frames()], "and is drawn")
    page.until_text("#table", "flat time")
    page.run("document.querySelector('#view-heap').click()")
    page.until_text("#table", "flat bytes")
    page.browser.until(f"!({NAMES}).includes('waits')")
    page.query(f"ADMIN EXECUTE ON {page.node.id} 'HeapProf.getInstance().delete(\"waits\")'")
    page.quiet("profiles of time")


def keyboard(page):
    """Whatever can be used is reached by Tab, and one sees where one is."""
    page.open("snapshot=after&tab=snapshots")
    count, seen = page.run(USABLE), 0
    for _ in range(count + 5):
        page.keys(TAB)
        tag, times, visible, counts = page.run(FOCUSED)
        if tag == "body" or times:
            break
        check(visible, f"one sees that {tag} has the keyboard")
        seen += counts
    check(seen == count, "Tab comes by all", (seen, count))
    unnamed = page.run(
        "return Array.from(document.querySelectorAll('button, select, input, canvas'))"
        ".filter((one) => !(one.textContent.trim() || one.labels?.length ||"
        " one.getAttribute('aria-label'))).map((one) => one.outerHTML)")
    check(not unnamed, "whatever can be used has a name", unnamed)
    page.run("document.querySelector('.flame canvas').focus()")
    page.keys(UP)
    check(page.run("const one = document.querySelector('.flame-details');"
                   "return one.getAttribute('role') === 'status' && one.textContent")
          .startswith("_start"), "a frame is read out")
    check(page.run("return document.getAnimations().length") == 0, "nothing moves")
    page.quiet("keyboard")


def sizes(page):
    for scheme, width in (("light", 360), ("dark", 1300)):
        page.theme(scheme)
        page.size(width, 900)
        page.open("snapshot=after&base=before&tab=snapshots")
        wide = page.run("return document.documentElement.scrollWidth")
        check(wide <= width, f"nothing leaves {width} px", wide)
        page.legible(f"{scheme}, {width} px")
        cut = page.run("const one = document.querySelector('.flame-details');"
                       "return [one.scrollHeight - one.clientHeight, one.textContent]")
        check(cut[0] <= 0, f"the keys are told whole at {width} px", cut)
        page.press("processCommand")
        page.run(f"{FLAME}.find('call')")
        page.settle()
        page.legible(f"{scheme}, {width} px, zoomed and searched")
        page.save(f"{scheme}-{width}")
    page.browser.emulate("clearDeviceMetricsOverride")
    page.theme(None)
    # The canvas' text is as large as the page's.
    page.open("snapshot=after")
    small = page.run(f"return {FLAME}.brush.size")
    page.browser.ask("POST", "/goog/cdp/execute", {
        "cmd": "Page.setFontSizes", "params": {"fontSizes": {"standard": 32}}})
    page.open("snapshot=after")
    large = page.run(f"return {FLAME}.brush.size")
    check(large == small * 2, "people choose the size of the text", (small, large))
    page.browser.ask("POST", "/goog/cdp/execute", {
        "cmd": "Page.setFontSizes", "params": {"fontSizes": {"standard": 16}}})
    page.quiet("sizes")


def hostile(browser, work):
    """Names of functions and of a module that attack."""
    place = os.path.join(work, "<svg onload=window.pwned=6>")
    os.mkdir(place)
    program = os.path.join(place, "=cmd|' \u202emodule")
    os.symlink(os.path.join(BUILD, "bin", "hostile_names"), program)
    port = free_port()
    node = RedisNode(work, 10003, {10003: port}, port, program=[program],
                     environment={"MALLOC_CONF":
                                  "prof:true,prof_active:true,lg_prof_sample:12"})
    proxy = None
    try:
        node.wait()
        proxy = PageProxy(node)
        page = Page(browser, proxy, node)
        wait_for(lambda: page.query("SELECT state FROM profiler")[0][0] == "connected")
        page.open()
        names = [f["name"] for f in page.frames()]
        for wanted in ("<img src=x onerror=window.pwned=1>", "=cmd|'/C calc'!A0",
                       "</style></script><script>window.pwned=2</script>", "__proto__"):
            check(wanted in names, f"{wanted} is as it is", names)
            check(wanted in page.run(CELLS), "in the table, too", page.run(CELLS))
        check(not re.search("[\u202a-\u202e\u2066-\u2069]",
                            "".join(names) + page.run(TEXT, "body")), "nothing turns the writing")
        check(max(map(len, names + page.run(CELLS))) < 500, "long names are cut")
        for name in names:
            page.run(f"{FLAME}.look(arguments[0]); {FLAME}.find('script|img');"
                     f"{FLAME}.setColor('module'); {FLAME}.tell()", name)
        page.run("for (const one of document.querySelectorAll('#table tbody button')) one.click()")
        for tab in ("threads", "allocators", "symbols", "nodes", "snapshots"):
            page.run("document.querySelector('#table').replaceChildren();"
                     "document.querySelector('#tab-' + arguments[0]).click()", tab)
            page.settle()
            if tab == "threads":
                check("<b onclick=x>-*" in page.run(TEXT, "#table"), "a thread's name is text",
                      page.run(TEXT, "#table"))
                check("pool <b onclick=x>-*" in [f["name"] for f in page.frames()], "and its pool", page.frames())
        page.script('snapshot("before")')
        page.open("snapshot=before&tab=%3Cimg%20src=x%3E&search=%3Csvg%3E&node=%3Cb%3E")
        page.save("hostile")
        check(page.run("return window.pwned === undefined && "
                       "document.querySelectorAll('img, svg, b').length === 0 && "
                       "document.scripts.length === 1"), "and no more than text")
        page.quiet("hostile names")
    finally:
        browser.open("about:blank")
        if proxy:
            proxy.close()
        node.stop()


def failures(page):
    """What fails is said, and the page goes on."""
    page.browser.open("about:blank")
    page.browser.open(page.proxy.url + "#snapshot=no_such")
    page.browser.until("!document.querySelector('#message').hidden")
    check("no_such" in page.run(TEXT, "#message"), "a snapshot that is not there",
          page.run(TEXT, "#message"))
    page.browser.until("document.querySelector('#table').textContent === '' && "
                       "document.querySelector('#snapshot').options.length > 2")
    page.choose("#snapshot", "before")
    page.settle()
    page.fine()
    page.browser.console()  # has the browser's own line of a status of 500

    # heapwired does not answer for a while.
    page.hurry(True)
    page.open("snapshot=before")
    page.proxy.cut()
    page.choose("#snapshot", "after")
    page.until_text("#message", "heapwired does not answer")
    page.until_text("#state", "heapwired does not answer; asks again in")
    check(page.run(TEXT, "#title") == "", "no former heap stays", page.run(TEXT, "#title"))
    page.proxy.broken = False
    page.until_text("#state", "connected")
    page.browser.until("document.querySelector('.flame') && document.querySelector('#message').hidden")
    page.hurry(False)
    page.open("snapshot=before")
    page.browser.console()

    # Switched off again.
    page.browser.click("#switch")
    page.until_text("#switch", "Enable")
    check(page.query("SELECT active FROM profiler")[0][0] == 0, "profiling is off")


def less(browser):
    """An account that may only look, at a node that has no database."""
    with Node(program=REAL, settings="http = 127.0.0.1:0\n",
              users=[("eye", b"pw", "status"), ("boss", b"pw", "all")]) as node:
        browser.open(f"http://eye:pw@127.0.0.1:{node.http_port}/#tab=nodes")
        browser.until("document.querySelector('#state').textContent.includes('absent')")
        browser.until("document.querySelector('#message').textContent.includes('privilege')")
        text = browser.run(TEXT, "#message")
        check("PROFILE" in text, "it says which privilege the heap needs", text)
        browser.until("document.querySelector('#table').textContent.includes('10001')")
        node.write([("boss", b"pw", "all")])
        reload(node)
        browser.until("document.querySelector('#state').textContent.includes('login is no longer valid')")
        node.passwd("eye", b"pw", "status")
        reload(node)
        # The browser sends a password that was refused no more.
        browser.open("about:blank")
        browser.open(f"http://eye:pw@127.0.0.1:{node.http_port}/#tab=nodes")
        browser.until("document.querySelector('#state').textContent.includes('absent')")
        browser.console()
        browser.open("about:blank")


def ends(browser):
    """Databases that ended unseen, or nobody knows when: each has its cross."""
    with Node(program=REAL, settings="http = 127.0.0.1:0\n", users=[("boss", b"pw", "all")]) as node:
        born = 1795274000000
        with open(os.path.join(node.state, "deaths"), "w", encoding="ascii") as file:
            os.fchmod(file.fileno(), 0o600)
            for at, started in ((born + 358000, born), (0, born + 60000), (0, 0)):
                file.write(f"2026 at={at} started={started} pid=77 asked=0 unknown=1 unseen=1 rss=461373440 "
                           "limit=536870912 growth=12582912 program=/usr/bin/redis-server\n")
        browser.open(f"http://boss:pw@127.0.0.1:{node.http_port}/#tab=nodes")
        browser.until("document.querySelector('#state').textContent.includes('absent')")
        page = Page(browser, None, node)
        wait_for(lambda: "death: " in mark(page))
        told = [page.run(TEXT, ".said")]
        page.keys(DOWN)
        told.append(page.run(TEXT, ".said"))
        check("death: ended unseen after 15:19:18, rss 440 of 512 MB, growing 12 MB/s" in told[0] and
              told[0].startswith("11-21 15:19:18 UTC"), "one that ended unseen is on the time line", told)
        check("death: ended unseen after" in told[1] and told[1].startswith("11-21 15:14:20 UTC"),
              "one of no moment is at its start", told)
        drawn = page.run("""
            const line = new TimeLine(document.querySelector('#line'), {picked() {}}), texts = [];
            const marks = [1.7e9, 1.7e9 + 50].map((t) => ({t, death: true, text: 'death'}));
            line.set([0, 100].map((t) => ({t: 1.7e9 + t, rss: 3e8, allocated: null, limit: null})), marks);
            const write = line.pen.fillText;
            line.pen.fillText = (text) => texts.push(text);
            line.drawMarks();
            return texts.join('');""")
        check(drawn == "\u2715\u2715", "each by a cross", drawn)
        state = page.run(TEXT, "#state")
        check("absent" in state and page.run("return document.querySelector('#stale').hidden"),
              "and one of neither stops nothing", state)
        page.save("ends")
        browser.console()
        browser.open("about:blank")


def two_nodes(browser, work):
    """What is shown is of the node that is chosen, or nothing is."""
    places = {10001: free_port(), 10002: free_port()}
    nodes = [RedisNode(work, i, places, port, environment={
        "MALLOC_CONF": "prof:true,prof_active:true,lg_prof_sample:12"}) for i, port in places.items()]
    proxy = None
    try:
        for node in nodes:
            node.wait()
        proxy = PageProxy(nodes[0])
        page = Page(browser, proxy, nodes[0])
        wait_for(lambda: [row[0] for row in page.query(
            "SELECT state FROM cluster_profiler")] == ["connected"] * 2)
        page.hurry(True)
        page.open()
        page.until_text("#title", "in use")
        with frozen(nodes[1].heapwired):
            page.choose("#node", "10002")
            seen = page.run(SHOWN)
            check(seen == [False, "", "", "", True, "", 0], "nothing stays of another node", seen)
            page.browser.until("!document.querySelector('#message').hidden")
            page.until_text("#state", "asks again in")
            seen = page.run(SHOWN)
            check(seen == [False, "", "", "", True, "", 0], "nor comes back", seen)
            check("10002" in page.run(TEXT, "h1"), "the heading names the node")
        page.browser.until("document.querySelector('.flame') && document.querySelector('#message').hidden")
        page.until_text("#state", "connected")
        check("10002" in page.run(TEXT, "#line-title"), "then all is that node's")
        page.hurry(False)
        browser.console()  # has the browser's own lines
    finally:
        browser.open("about:blank")
        if proxy:
            proxy.close()
        for node in nodes:
            node.stop()


def refreshed(page):
    """Once a whole refresh is over that begins after this."""
    count = page.run("return window.refreshes")
    page.browser.until(f"window.refreshes > {count + 1}")


def mark(page):
    """What is said of the last snapshot or death of the time line."""
    page.run("document.querySelector('#line canvas').focus()")
    page.keys(ESCAPE)
    page.keys(DOWN)
    return page.run(TEXT, ".said")


def parts(page):
    """Each part of a refresh may fail; all others are as they were, and go on."""
    wanted = page.run("return " + NAMES)
    for what, statement, place in (
            ("profiler", "guard_reason", "#state"), ("snapshots", "cause FROM", "#stale"),
            ("deaths", "last_snapshot FROM", "#stale"), ("memory", "_memory", "#stale")):
        # The history of what has ended is asked for once.
        for anew in (True,) if what == "memory" else (False, True):
            page.run("window.failing = [arguments[0]]", statement)
            if anew:
                page.browser.click("#again")
            page.until_text(place, f"no {statement}")
            refreshed(page)
            told = page.run("return ['#state', '#stale'].map((one) => document.querySelector(one).textContent)")
            check(sum(f"no {statement}" in text for text in told) == 1, f"{what} fails in its place", told)
            check(what == "profiler" or told[0].startswith("gone"), "the state stays", told)
            names = page.run("return " + NAMES)
            check(names == wanted or (what == "snapshots" and anew), f"snapshots stay without {what}", names)
            said = mark(page)
            check("death: " in said or (what == "deaths" and anew), f"so do deaths, without {what}", said)
            check("RSS" in said.split(";")[0] or (what == "memory" and anew),
                  f"and memory, without {what}", said)
            page.run("window.failing = []")
            page.browser.until("document.querySelector('#stale').hidden && "
                               "document.querySelector('#state').textContent === 'gone, profiling: unknown'"
                               f" && {NAMES} === {wanted!r}")
            refreshed(page)


def gone(browser, work):
    """A database of another node that ends while people look at it, and after that."""
    places = {10001: free_port(), 10002: free_port()}
    nodes = [RedisNode(work, i, places, port, linger=300, environment={
        "MALLOC_CONF": "prof:true,prof_active:true,lg_prof_sample:12"}) for i, port in places.items()]
    proxy = None
    try:
        for node in nodes:
            node.wait()
        proxy = PageProxy(nodes[0])
        page = Page(browser, proxy, nodes[0])
        wait_for(lambda: [row[0] for row in page.query(
            "SELECT state FROM cluster_profiler")] == ["connected"] * 2)
        for name in ("base", "later"):
            page.query("ADMIN EXECUTE ON 10002 'System.print(HeapProf.getInstance()"
                       f""".snapshot("{name}"))'""")
        # heapwired outlives no database that ends at once.
        wait_for(lambda: page.query("SELECT count(*) FROM cluster_memory_history"
                                    " WHERE node_id = 10002")[0][0] > 11, 120)
        page.hurry(True)
        page.open("node=10002")
        browser.until(f"{NAMES} === ',base,later'")
        page.run(MEDDLE)
        os.kill(nodes[1].children["redis-server"], signal.SIGKILL)
        page.until_text("#state", "gone, profiling: unknown")
        refreshed(page)
        refreshed(page)
        state = page.run(TEXT, "#state")
        check(state == "gone, profiling: unknown", "that it is gone stays its state", state)
        check(page.run("return document.querySelector('#stale').hidden"), "and nothing failed",
              page.run(TEXT, "#stale"))
        check(page.frames(), "the heap that is shown stays")
        wait_for(lambda: "death: " in mark(page))  # its parent tells of it
        check("RSS" in page.run(TEXT, ".said"), "its death is on the time line, with its memory",
              page.run(TEXT, ".said"))
        page.fine()

        # Chosen after its death.
        page.choose("#node", "all")
        page.until_text("#state", "1 of 2 connected")
        page.choose("#node", "10002")
        page.until_text("#state", "gone, profiling: unknown")
        browser.until(f"{NAMES} === ',base,later'")
        browser.until("!document.querySelector('#last').hidden && document.querySelector('.flame')")
        refreshed(page)
        text = page.run("return document.body.innerText")
        check(text.count("it was killed by signal 9") == 1, "why there is no heap is said once", text)
        page.save("gone")
        page.choose("#snapshot", "base")
        page.settle()
        check(page.frames() and "killed by signal 9" in page.run(TEXT, "#cost"),
              "its snapshots can be looked at", page.run(TEXT, "#cost"))
        parts(page)
        page.hurry(False)
        browser.console()  # has the browser's own lines
    finally:
        browser.open("about:blank")
        if proxy:
            proxy.close()
        for node in nodes:
            node.stop()


def main():
    if no_localhost():  # by which chromedriver finds its browser
        print("skipped: the page, in a browser:", no_localhost())
        return
    with tempfile.TemporaryDirectory(prefix="hw-") as work:
        port = free_port()
        node = RedisNode(work, 10001, {10001: port}, port)
        proxy = browser = None
        try:
            browser = Browser(work)
            node.wait()
            proxy = PageProxy(node)
            page = Page(browser, proxy, node)
            wait_for(lambda: page.query("SELECT state FROM profiler")[0][0] ==
                     "connected")
            for part in (first_look, flame, back, compare, unseen, processes, ways, tables, cpu, keyboard, sizes,
                         failures):
                part(page)
            hostile(browser, work)
            two_nodes(browser, work)
            gone(browser, work)
            page.hurry(True)
            less(browser)
            ends(browser)
        finally:
            if browser:
                browser.close()
            if proxy:
                proxy.close()
            node.stop()
    print(f"page.py: ok, {page_under_test.passed} facts")


main()
