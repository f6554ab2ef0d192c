#!/usr/bin/env python3
"""The page for a person in a hurry: each state at three widths, dark and light; the
picture of memory, files, links, SQL, a database that hangs or is dead, all nodes."""
import os
import re
import signal
import tempfile

from browser import ENTER, ESCAPE, Browser
from machine import no_localhost
from node_under_test import frozen, wait_for
from page_proxy import PageProxy
import page_under_test
from page_under_test import FLAME, SHOTS, TEXT, Page, check, load
from ports import free_port
from redis_node import RedisNode

CONTROL = "\ue009"
HEADS = "return Array.from(document.querySelectorAll('#table th'), (one) => one.textContent)"
# Cells of figures that are not wholly in the window.
CUT = """
return Array.from(document.querySelectorAll('#table td.number'), (one) => one.getBoundingClientRect())
    .filter((one) => one.left < 0 || one.right > document.documentElement.clientWidth).length"""
COLUMN = """
const at = Array.from(document.querySelectorAll('#table th'), (one) => one.textContent).indexOf(arguments[0]);
return Array.from(document.querySelectorAll('#table tbody tr'), (one) => one.cells[at].textContent)"""
SAVED = """
window.saved = [];
URL.createObjectURL = (blob) => { blob.arrayBuffer().then((bytes) =>
    window.saved.push(new TextDecoder('latin1').decode(bytes).slice(0, 300))); return 'data:,'; };
HTMLAnchorElement.prototype.click = function () { window.file = this.download; };"""


def look(page, name):
    """Nothing leaves the window, and all can be read."""
    for scheme in ("light", "dark"):
        page.theme(scheme)
        for width in (1400, 800, 400):
            page.size(width, 1000)
            wide = page.run("return document.documentElement.scrollWidth")
            check(wide <= width, f"{name}: nothing leaves {width} px", wide)
            for script in (page_under_test.CONTRASTS, page_under_test.LINE_CONTRASTS):
                weak = page.run(script)
                check(not weak, f"{name}, {scheme}, {width} px: all is legible", weak)
            if SHOTS:
                height = page.run("return document.documentElement.scrollHeight")
                page.size(width, min(height + 10, 2600))
                page.save(f"{name}-{scheme}-{width}")
    page.theme(None)
    page.browser.emulate("clearDeviceMetricsOverride")


def healthy(page):
    page.script("enable_prof()")
    page.script("reset(16)")
    load(page.node, 20000)
    page.script('snapshot("before")')
    load(page.node, 40000)
    wait_for(lambda: page.query("SELECT count(*) FROM memory_history WHERE resident IS NOT NULL")[0][0] > 1)
    page.open()
    page.browser.until("!document.querySelector('.key .outside').hidden")
    shown = page.run("return Array.from(document.querySelectorAll('.key .block'), (one) => !one.hidden && one.textContent)"
                     ".filter(Boolean)")
    check({"outside jemalloc", "fragmentation", "allocated"} <= set(shown), "RSS is told apart by kind", shown)
    page.run("document.querySelector('#line canvas').focus()")
    page.keys("\ue012")
    said = page.run(TEXT, ".said")
    check(re.search("RSS .*allocated .*(outside jemalloc|free pages)", said), "and said in figures", said)
    look(page, "healthy")
    flats = page.run(COLUMN, "flat bytes")
    cums = page.run("return Array.from(document.querySelectorAll('#table tbody tr')).map((one) => "
                    "[one.cells[1].textContent, one.cells[4].textContent])")
    percents = [float(cum) for flat, cum in cums if flat == "0 B"]
    check(flats and len(percents) > 1 and percents == sorted(percents, reverse=True),
          "where nothing is flat, the cumulative decides", cums)
    page.size(400, 900)
    check(page.run(CUT) == 0, "on a phone the figures are in sight", page.run(CUT))
    page.browser.emulate("clearDeviceMetricsOverride")
    page.quiet("healthy")


def stack(page):
    """Each kind's bytes are there, none above RSS, and none where nothing was read."""
    seen = page.run("""
        const one = (t, more) => ({t, pid: 1, started: 'a', rss: 100, allocated: null, active: null, resident: null,
            limit: null, ...more});
        const full = {allocated: 40, active: 50, resident: 80}, fresh = one(60, {});
        return lineBands.stack([one(0, {}), one(1, full), one(6, {}), one(11, {allocated: 60, active: 70, resident: 90}),
            one(23, {}), one(24, {}), one(33, {rss: 60, ...full}), one(34, {rss: null}), one(35, {}), one(36, {allocated: 40}),
            fresh, one(61, full)], new Set([fresh])).map((tops) => tops && tops.map((one) => Math.round(10 * one) / 10));""")
    check(seen == [[0, 0, 0, 0, 100], [40, 50, 80, 100, 100], [50, 60, 85, 100, 100], [60, 70, 90, 100, 100],
                   [49.1, 59.1, 84.5, 100, 100], [48.2, 58.2, 84.1, 100, 100], [40, 50, 60, 60, 60], None,
                   [40, 40, 40, 40, 100], [40, 40, 40, 40, 100], [0, 0, 0, 0, 100], [40, 50, 80, 100, 100]], "kinds", seen)
    seen = page.run("""
        const at = Date.UTC(2026, 10, 29, 14, 3, 20) / 1000, texts = (...all) => lineAxis.timeTicks(...all).map((one) => one.text);
        return [texts(at, at + 60, 6, at), texts(at, at + 3600, 6, at), texts(at, at + 86400, 4, at),
            texts(at, at + 12 * 86400, 6, at), texts(at - 7 * 86400, at - 7 * 86400 + 3600, 4, at),
            lineAxis.sizes(3e8).map((one) => one.text), lineAxis.sizes(1)];""")
    check(seen == [["14:03:20 UTC", "14:03:30", "14:03:40", "14:03:50", "14:04:00", "14:04:10", "14:04:20"],
                   ["14:10 UTC", "14:20", "14:30", "14:40", "14:50", "15:00"],
                   ["18:00 UTC", "11-30", "06:00", "12:00"],
                   ["12-01", "12-03", "12-05", "12-07", "12-09", "12-11"],
                   ["14:15 UTC, 11-22", "14:30", "14:45", "15:00"],
                   ["50 MB", "100 MB", "150 MB", "200 MB", "250 MB"], []], "labels are short and round", seen)
    page.quiet("stack")


def search(page):
    page.open("snapshot=before")
    page.run("document.querySelector('#tab-functions').focus()")
    page.keys("/")
    check(page.run(f"return document.activeElement === {FLAME}.search && {FLAME}.search.value === ''"),
          "/ searches from everywhere")
    page.browser.click("#name")
    page.browser.type("a/b")
    check(page.run("return document.querySelector('#name').value") == "a/b", "but where people write")
    page.quiet("search")


def files(page):
    page.open("snapshot=before")
    page.run(SAVED)
    forms = {"flamegraph": "<svg", "svg": "<svg", "dot": "^digraph", "pprof": "^\x1f\u2039", "collapsed": r"^_start;.* \d",
             "text": "profile .* allocated", "pdf": "^%PDF", "export": "."}
    offered = page.run("return Array.from(document.querySelector('#form').options, (one) => one.value)")
    check(set(offered) == set(forms), "forms", offered)
    for i, (form, wanted) in enumerate(forms.items()):
        page.choose("#form", form)
        page.browser.click("#download")
        page.browser.until(f"window.saved.length === {i + 1}")
        got = page.run("return window.saved.at(-1)")
        check(re.search(wanted, got), f"{form} is downloaded", got)
    check(page.run("return window.file") == "before.heapwire", "its file has its name", page.run("return window.file"))
    page.run("document.querySelector('#take').requestSubmit()")
    page.browser.until("document.querySelector('#snapshot').options.length > 2")  # all choices are shown anew
    check(page.run("return document.querySelector('#form').value") == "export", "what is chosen stays")
    page.open("base=before")
    check("export" not in page.run("return Array.from(document.querySelector('#form').options, (one) => one.value)"),
          "a difference is no snapshot")
    page.run(SAVED)
    page.choose("#form", "text")
    page.browser.click("#download")
    page.browser.until("window.saved.length === 1")
    check(page.run("return window.file") == "now_since_before.functions.txt", "nor has it its name",
          page.run("return window.file"))
    look(page, "difference")
    page.quiet("files")


def boxes(page, work):
    """Names of pictures stay in their boxes, whatever the font."""
    pictures = {"svg": "g.node", "flamegraph": "#frames g"}
    for form, box in pictures.items():
        text = page.query(f"SELECT {form}('before')")[0][0]
        text = re.sub(r"<script.*</script>", "", text if isinstance(text, str) else text.decode(), flags=re.S)
        path = os.path.join(work, f"{form}.svg")
        for font in ("DejaVu Sans Mono", "DejaVu Sans", "serif"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace("</svg>", f"<style>text{{font-family:{font!r} !important;font-weight:bold "
                                                  "!important}</style></svg>"))
            page.browser.open(path)
            count, out = page.run("""
                const parts = Array.from(document.querySelectorAll(arguments[0])).filter((one) => one.querySelector('text'));
                return [parts.length, parts.filter((one) => {
                    const box = one.querySelector('polygon, rect').getBBox();
                    return Array.from(one.querySelectorAll('text')).some((text) => { const {x, width} = text.getBBox();
                        return x < box.x - 0.5 || x + width > box.x + box.width + 0.5; });
                }).map((one) => one.textContent.slice(0, 200))]""", box)
            check(count > 5 and not out, f"{form}: names stay in their boxes in {font}", (count, out))
    page.quiet("boxes")


def links(page):
    page.open("by=inuse_objects")
    page.run("window.copied = []; navigator.clipboard.writeText = async (text) => { window.copied.push(text); }")
    page.browser.click("#keep")
    page.browser.until("window.copied.length === 1")
    link = page.run("return window.copied[0]")
    name = page.hash().get("snapshot")
    check(re.fullmatch(r"link_\d{14}_[a-z0-9]+", name or ""), "what was now is kept", page.hash())
    check((name,) in page.query("SELECT name FROM snapshots"), "on the node")
    check(link == page.proxy.url + "#by=inuse_objects&snapshot=" + name, "the link names it", link)
    page.until_text("#kept", "Copied: ")
    page.settle()
    before = page.run(TEXT, "#title")
    page.browser.open("about:blank")
    page.browser.open(link)
    page.settle()
    check(page.run(TEXT, "#title") == before, "and shows the same", (before, page.run(TEXT, "#title")))
    page.run("navigator.clipboard.writeText = async () => { throw new Error('no'); }")
    page.browser.click("#keep")
    page.until_text("#kept", "The link: ")
    check(page.run("return document.querySelector('#kept a').href") == link, "a second time nothing is kept")
    page.browser.open("about:blank")
    page.browser.open(page.proxy.url + "#view=cpu&kind=wall&seconds=5")
    page.until_text("#title", "Sample")
    page.browser.click("#keep")
    page.browser.until("location.hash.includes('snapshot=link_')")
    page.settle()
    check(page.query("SELECT kind FROM snapshots ORDER BY taken DESC LIMIT 1") == (("wall",),), "a profile of time is kept, too")
    page.quiet("links")


def run_sql(page, text):
    page.run("document.querySelector('#table textarea').value = arguments[0]", text)
    page.run("document.querySelector('#table textarea').focus()")
    page.keys(CONTROL, ENTER)
    page.browser.until("!document.querySelector('#table [role=status]').textContent.startsWith('Runs')")
    return page.run(TEXT, "#table [role=status]")


def sql(page):
    page.open("snapshot=before&tab=sql&sql=SELECT+snapshot_is_not_run")
    check(page.run("return document.querySelector('#table textarea').value") == "SELECT snapshot_is_not_run" and
          page.run(TEXT, "#table [role=status]") == "", "a link's statement is there, and not run")
    text = run_sql(page, "SELECT 1 AS one, 'a''b' AS two, NULL AS one, '<img src=x onerror=window.pwned=1>' AS x_y")
    check("<img" in text and "1 row" in text and "x_y" in text and "one (3)" in text, "rows are a table", text)
    check(page.run("return window.pwned === undefined && !document.querySelector('img')"), "of text alone")
    look(page, "sql")
    text = run_sql(page, "SELECT no_such FROM profiler")
    check("no_such" in text, "an error is shown", text)
    page.fine()
    check("read-only" in run_sql(page, "DELETE FROM snapshots"), "nothing is changed")
    check("No rows" in run_sql(page, "SELECT 1 FROM profiler WHERE 1 = 0"), "no rows are said")
    check("of which the first 1000" in run_sql(
        page, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500) SELECT i FROM n"),
        "many are cut")
    check("i < 1500" in page.hash()["sql"], "the statement is in the URL", page.hash())
    check(all(line["message"].find("sql") > 0 for line in page.browser.console()), "the console has statuses alone")


def tabs(page):
    """A tab is there where its table is."""
    page.open("snapshot=before")
    shown = page.run("return Array.from(document.querySelectorAll('#tabs button')).filter((one) => !one.hidden)"
                     ".map((one) => one.id.slice(4))")
    tables = {row[0] for row in page.query("SELECT table_name FROM information_schema.tables WHERE table_schema = 'heapwire'")}
    check(("waste" in shown) == ("heap_waste" in tables), "waste", shown)
    check("mappings" in shown, "mappings", shown)
    page.run("document.querySelector('#tab-mappings').click()")
    page.until_text("#table", "redis")
    page.open("snapshot=before&tab=no_such")
    check("flat bytes" in page.run(HEADS), "another is the functions'")
    page.quiet("tabs")


ASKED = """
window.asked = [];
const real = window.fetch;
window.fetch = (path, how) => { window.asked.push(String(how.body)); return real(path, how); }"""


def diagnosis(page):
    """What the table has is shown, whatever is in it."""
    script = page.browser.ask("POST", "/goog/cdp/execute", {"cmd": "Page.addScriptToEvaluateOnNewDocument", "params": {"source": ASKED}})
    page.open()
    page.browser.until("window.asked.some((one) => one.includes('FROM heapwire.snapshots'))")
    asked = page.run("return window.asked")
    place = [next(i for i, one in enumerate(asked) if f"FROM heapwire.{what}" in one) for what in ("profiler", "diagnosis", "snapshots")]
    check(place == sorted(place), "it is asked for before the lists", asked)
    page.browser.ask("POST", "/goog/cdp/execute", {"cmd": "Page.removeScriptToEvaluateOnNewDocument", "params": script})
    page.open("snapshot=before")
    page.browser.until("!document.querySelector('#diagnosis').hidden")  # its own has come, and no other does for a minute
    page.run("""pageDiagnosis(document.querySelector('#diagnosis'), [
        {node_id: null, verdict: 'leak', subject: '<img src=x onerror=window.pwned=1>', why: 'it grew for 2 hours', certainty: 'likely',
         bytes: 5 << 20, steps: '1. Look at it.\\n2. Restart.'}, {verdict: 'fragmentation', subject: null, why: '', certainty: '', bytes: null, steps: ''}])""")
    text = page.run(TEXT, "#diagnosis ul")
    check("leak: <img" in text and "(5.0 MB, likely): it grew" in text and "\n2. Restart" in text and text.endswith("fragmentation"),
          "a line a finding", text)
    check(page.run("return window.pwned === undefined && !document.querySelector('img')"), "of text alone")
    look(page, "diagnosis")
    page.run("pageDiagnosis(document.querySelector('#diagnosis'), [])")
    check(page.run("return document.querySelector('#diagnosis').hidden"), "none is nothing")
    page.quiet("diagnosis")


def ways(page):
    """What the page links to is there."""
    page.open("snapshot=before")
    for link, wanted in (("reference", "## Tables"), ("help", "/sql"), ("metrics", "# HELP")):
        text = page.browser.ask("POST", "/execute/async", {"script":
            "const [path, done] = arguments; fetch(path).then((one) => one.text()).then(done)", "args": [link]})
        check(wanted in text, f"{link} is there", text[:300])
        check(page.run("return document.querySelector(`footer a[href=${arguments[0]}]`) !== null", link), "and linked")


def palettes(page):
    for scheme in ("light", "dark"):
        page.theme(scheme)
        for state in ("snapshot=before", "base=before"):
            page.open(state)
            page.legible(f"flame graph, {scheme}, {state}")
    # Also without loading anew.
    dark = page.frames()[0]["color"]
    page.theme("light")
    page.browser.until(f"{FLAME}.frames()[0].color !== {dark!r}")
    page.theme(None)
    page.quiet("palettes")


def off(page):
    page.script("disable_prof()")
    page.script("reset(19, true)")
    page.open()
    page.until_text("#title", "profiling is off")
    look(page, "off")
    page.browser.open("about:blank")
    page.browser.open(page.proxy.url + "#snapshot=no_such")
    page.browser.until("!document.querySelector('#message').hidden")
    look(page, "error")
    page.browser.console()


def hung(page):
    """Its last snapshot, and that it is one."""
    page.hurry(True)
    with frozen(page.node.children["redis-server"]):
        wait_for(lambda: page.query("SELECT state FROM profiler")[0][0] == "unresponsive")
        page.open()
        page.until_text("#last", "Not the heap of now")
        name = page.query("SELECT name FROM snapshots WHERE kind = 'heap' ORDER BY taken DESC LIMIT 1")[0][0]
        text = page.run(TEXT, "#last")
        check(name in text, "the last snapshot is shown, and named", (name, text))
        check([f["name"] for f in page.frames()][1:], "with its frames")
        check(page.run("return document.querySelectorAll('#table tbody tr').length") > 3, "and its functions")
        look(page, "hung")
        page.choose("#snapshot", "before")
        page.browser.until("document.querySelector('#last').hidden")
        page.choose("#snapshot", "")
        page.browser.until("!document.querySelector('#last').hidden")
    page.browser.until("document.querySelector('#last').hidden && document.querySelector('#message').hidden")
    page.until_text("#state", "connected")
    page.hurry(False)
    page.browser.console()


def all_nodes(browser, work):
    """A line a node; then one of them dies, and starts again."""
    places = {10001: free_port(), 10002: free_port()}
    nodes = [RedisNode(work, i, places, port, linger=300, environment={
        "MALLOC_CONF": "prof:true,prof_active:true,lg_prof_sample:12"}) for i, port in places.items()]
    proxy = None
    try:
        for node in nodes:
            node.wait()
        proxy = PageProxy(nodes[0])
        page = Page(browser, proxy, nodes[0])
        wait_for(lambda: [row[0] for row in page.query("SELECT state FROM cluster_profiler")] == ["connected"] * 2)
        page.query("ADMIN EXECUTE ON ALL 'System.print(HeapProf.getInstance().snapshot(\"early\"))'")
        wait_for(lambda: page.query("SELECT count(DISTINCT node_id) FROM cluster_memory_history")[0][0] == 2)
        page.hurry(True)
        page.open("node=all")
        browser.until("document.querySelectorAll('#nodes tbody tr').length === 2")
        rows = page.run("return Array.from(document.querySelectorAll('#nodes tbody tr'), (one) => one.textContent)")
        check([row[:5] for row in rows] == ["10001", "10002"] and all("connected" in row and " MB" in row for row in rows),
              "a line a node", rows)
        check("each node" in page.run(TEXT, "#line-title"), "and a curve")
        browser.until("document.querySelectorAll('#diagnosis li').length > 1 && "
                      "document.querySelector('#nodes thead').textContent.includes('diagnosis')")
        verdicts = page.run("return Array.from(document.querySelectorAll('#nodes tbody tr'), (one) =>"
                            " `node ${one.cells[0].textContent}: ${one.cells[2].textContent}`)")
        findings = page.run("return Array.from(document.querySelectorAll('#diagnosis strong'), (one) => one.textContent)")
        first = [next(one for one in findings if one.startswith(f"node {i}: ")) for i in (10001, 10002)]
        check(verdicts == first, "with what is unusual of each", (verdicts, findings))
        look(page, "all")
        page.browser.click("#keep")
        browser.until("location.hash.includes('snapshot=link_')")
        wait_for(lambda: page.query("SELECT count(*) FROM cluster_snapshots WHERE name LIKE 'link%'")[0][0] == 2)

        # Dead: its last snapshot.
        heapwired = nodes[0].heapwired
        wait_for(lambda: page.query("SELECT count(*) FROM memory_history")[0][0] > 11)
        os.kill(nodes[0].children["redis-server"], signal.SIGKILL)
        wait_for(lambda: page.query("SELECT state FROM profiler")[0][0] == "gone")
        wait_for(lambda: page.query("SELECT count(*) FROM deaths")[0][0] == 1)  # by then it is known how
        page.open()
        page.until_text("#last", "Not the heap of now: ")
        text = page.run(TEXT, "#last")
        check("killed by signal 9" in text and "link_" in text, "that of a dead one, and why", text)
        check(page.frames()[1:], "its heap is shown")
        look(page, "dead")
        page.browser.click("#keep")
        browser.until("location.hash.includes('snapshot=link_')")
        browser.until("document.querySelector('#last').hidden")
        page.fine()
        page.keys(ESCAPE)
        page.choose("#node", "10002")
        page.until_text("#state", "connected")
        page.run("document.querySelector('#nodes').scrollIntoView()")
        check(page.run("return document.querySelector('#nodes').hidden"), "one node has no lines of others")
        page.hurry(False)
        browser.console()
        check(heapwired, "it outlives its database")
    finally:
        browser.open("about:blank")
        if proxy:
            proxy.close()
        for node in nodes:
            node.stop()


def restart(page):
    """What is of two processes is compared by a button."""
    page.browser.open("about:blank")
    page.node.stop()
    page.node.start().wait()
    page.reconnect()
    wait_for(lambda: page.query("SELECT state FROM profiler")[0][0] == "connected")
    page.script("enable_prof()")
    page.script("reset(16)")
    load(page.node, 20000)
    page.script('snapshot("after_restart")')
    page.browser.open(page.proxy.url + "#snapshot=after_restart&base=before")
    page.browser.until("!document.querySelector('#restart').hidden")
    text = page.run(TEXT, "#restart")
    check("different processes" in text and "script" not in text, "it says why not", text)
    page.fine()
    look(page, "restart")
    page.browser.click("#force")
    page.settle()
    page.until_text("#title", "since the base")
    check(page.hash() == {"snapshot": "after_restart", "base": "before", "force": "1"}, "a link does the same", page.hash())
    page.until_text("#table thead", "grown")
    check(page.run("return document.querySelectorAll('#table tbody tr').length") > 1, "its functions, too")
    page.run("document.querySelector('#tab-threads').click()")
    page.settle()
    page.until_text("#table thead", "grown")
    check("redis-server" in page.run(TEXT, "#table"), "and its pools", page.run(TEXT, "#table"))
    page.run("document.querySelector('#tab-functions').click()")
    page.settle()
    page.choose("#by", "inuse_objects")
    page.settle()
    check(page.hash().get("force") == "1" and "since the base" in page.run(TEXT, "#title"), "also by objects", page.hash())
    page.choose("#base", "")
    page.settle()
    check("force" not in page.hash(), "the next comparison is another", page.hash())
    page.browser.console()  # has the browser's own lines of a status of 500


def main():
    if no_localhost():  # by which chromedriver finds its browser
        print("skipped: the page, in a browser:", no_localhost())
        return
    with tempfile.TemporaryDirectory(prefix="hw-") as work:
        port = free_port()
        node = RedisNode(work, 10001, {10001: port}, port, environment={"MALLOC_CONF": "prof:true,prof_active:false"})
        proxy = browser = None
        try:
            browser = Browser(work)
            node.wait()
            proxy = PageProxy(node)
            page = Page(browser, proxy, node)
            wait_for(lambda: page.query("SELECT state FROM profiler")[0][0] == "connected")
            for part in (healthy, stack, search, files):
                part(page)
            boxes(page, work)
            for part in (links, sql, tabs, diagnosis, ways, palettes, off, hung, restart):
                part(page)
            all_nodes(browser, work)
        except BaseException:
            print(node.log()[-3000:], node.output().decode("utf-8", "replace")[-3000:])
            raise
        finally:
            if browser:
                browser.close()
            if proxy:
                proxy.close()
            node.stop()
    print(f"page_hurry.py: ok, {page_under_test.passed} facts")


main()
