#!/usr/bin/env python3
"""The page in Chromium: a cluster, 100,000 frames, long work, a node that is gone,
all sizes.  Measures."""
import os
import signal
import sys
import tempfile

# pylint: disable=wrong-import-position
sys.path.insert(0, "tests/integration/lib")
from browser import Browser  # noqa: E402
from node_under_test import BUILD, wait_for  # noqa: E402
from page_proxy import PageProxy  # noqa: E402
import page_under_test  # noqa: E402
from page_under_test import FLAME, TEXT, Page, check, load  # noqa: E402
from ports import free_port  # noqa: E402
from redis_node import RedisNode  # noqa: E402

CELLS = ("return Array.from(document.querySelectorAll('#table tbody tr'), (one) =>"
         " one.cells[0].textContent)")
# Between an act and the frame that shows it; the median of five.
FRAME = """
const [done] = arguments, flame = document.querySelector('.flame').flame;
const times = [];
const once = () => {
    const before = performance.now();
    const i = times.length;
    SCRIPT;
    requestAnimationFrame(() => setTimeout(() => {
        times.push(performance.now() - before);
        if (times.length < 5)
            once();
        else
            done(times.sort((a, b) => a - b)[2]);
    }));
};
once();"""


# When the first flame graph is on the screen.
PAINTED = """
(function look() {
    requestAnimationFrame(() => document.querySelector('.flame canvas') ?
        setTimeout(() => { window.painted = performance.now(); }) : look());
})()"""


def fill(page):
    for name, keys in (("before", 20000), ("after", 60000)):
        page.script("enable_prof()")
        load(page.node, keys)
        page.script(f'snapshot("{name}")')


def looks(page):
    """Every size, dark and light."""
    for scheme in ("light", "dark"):
        page.theme(scheme)
        for width, height in ((360, 740), (1300, 900), (3840, 2160)):
            page.size(width, height)
            page.open("snapshot=after&base=before&tab=snapshots")
            wide = page.run("return document.documentElement.scrollWidth")
            check(wide <= width, f"nothing leaves {width} px", wide)
            check(page.run(f"return {FLAME}.frames()[0].width") > width * 0.8,
                  "and the flame graph fills it")
            page.save(f"{scheme}-{width}")
            page.legible(f"{scheme}, {width} px")
    page.browser.emulate("clearDeviceMetricsOverride")
    page.theme(None)
    page.quiet("looks")


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
    page.browser.until("document.querySelector('#line-title').textContent.includes('10002')")
    page.browser.click("#switch")
    page.until_text("#switch", "Disable")
    check(page.query("SELECT active FROM cluster_profiler WHERE node_id = 10002")
          == ((1,),), "its profiling is switched")
    page.browser.click("#name")
    page.browser.type("elsewhere\ue007")
    page.browser.until("Array.from(document.querySelector('#snapshot').options)"
                       ".some((one) => one.value === 'elsewhere')")
    check(page.query("SELECT node_id FROM cluster_snapshots WHERE name = 'elsewhere'")
          == ((10002,),), "its snapshot is taken")
    page.open("node=10002&snapshot=elsewhere")
    check(page.run(TEXT, "#title"), "and can be looked at")
    for tab in page.run("return Array.from(document.querySelectorAll('#tabs [role=tab]'),"
                        " (one) => one.id)"):
        for node in ("10002", "all"):
            page.open(f"node={node}&tab={tab[4:]}")
    page.open("node=all&tab=snapshots")
    check(set(page.run(CELLS)) == {"before", "after", "elsewhere"}, "all at once",
          page.run(CELLS))
    names = [f["name"] for f in page.frames()]
    check("processCommand" in names, "and their heaps added up", names)
    check("2 of 2 connected" in page.run(TEXT, "#state"), "their state together",
          page.run(TEXT, "#state"))
    page.save("all-nodes")
    page.run("window.confirm = () => true; Array.from(document.querySelectorAll("
             "'#table button')).find((one) => one.ariaLabel === 'Delete elsewhere').click()")
    page.browser.until("document.querySelectorAll('#table tbody tr').length === 2")
    page.quiet("other nodes")


def gone(page):
    """Without its node the page says so, asks seldom, and goes on."""
    page.open("tab=snapshots")
    os.kill(page.node.heapwired, signal.SIGKILL)
    page.proxy.broken = True
    before = page.proxy.accepted
    wait_for(lambda: "does not answer; asks again in" in page.run(TEXT, "#state"))
    page.save("gone")
    check(page.proxy.accepted - before < 8, "nothing storms",
          page.proxy.accepted - before)
    page.proxy.broken = False
    wait_for(lambda: "connected" in page.run(TEXT, "#state"), 60)
    page.choose("#snapshot", "before")
    page.browser.until("document.querySelector('#title').textContent.length > 0")
    page.browser.console()  # has the browser's own lines
    page.reconnect()


def deaths(page):
    """A database that was killed is a mark, with what was seen of it last."""
    wait_for(lambda: page.query("SELECT max(allocated) FROM memory_history")[0][0])
    os.kill(page.node.children["redis-server"], signal.SIGKILL)
    page.node.process.wait(30)
    page.node.start().wait()
    page.reconnect()
    page.open("tab=deaths")
    table = page.run(TEXT, "#table")
    check("9" in table and "after" in table, "a death has its last snapshot", table)
    page.run("document.querySelector('#line canvas').focus()")
    page.keys("\ue015")
    said = page.run(TEXT, ".said")
    check("death: " in said and "last RSS " in said and "last snapshot after" in said,
          "and is a mark of the time line", said)
    page.save("death")
    page.quiet("deaths")


def program(browser, work):
    """A heap of 100,000 frames, and work that takes long."""
    port = free_port()
    node = RedisNode(work, 10003, {10003: port}, port,
                     program=[os.path.join(BUILD, "bin", "many_stacks"), "8600", "16384"],
                     environment={"MALLOC_CONF":
                                  "prof:true,prof_active:true,lg_prof_sample:12"})
    proxy = None
    try:
        node.wait()
        proxy = PageProxy(node)
        page = Page(browser, proxy, node)
        wait_for(lambda: page.query("SELECT state FROM profiler")[0][0] == "connected")
        with open(os.path.join(node.directory, "out"), encoding="utf-8") as out:
            wait_for(lambda: out.seek(0) or "ready" in out.read(), 60)
        page.script('snapshot("many")')
        large(page)
        progress(page)
    finally:
        browser.open("about:blank")
        if proxy:
            proxy.close()
        node.stop()


def large(page):
    page.browser.ask("POST", "/goog/cdp/execute", {
        "cmd": "Page.addScriptToEvaluateOnNewDocument", "params": {"source": PAINTED}})
    for state in ("", "snapshot=many", "snapshot=many"):
        page.open(state)
        count = page.run(f"return {FLAME}.tree.count")
        check(count > 90000, "a large heap", count)
        print(f"{count} frames of {state or 'now'}: painted", page.run(
            "return Math.round(window.painted)"), "ms after the navigation;",
            page.run("return performance.getEntriesByType('resource').filter((one) =>"
                     " one.name.endsWith('value')).map((one) => `asked at ${Math.round("
                     "one.startTime)}, answered at ${Math.round(one.responseEnd)}`).join()"))
    for what, script in (
            ("zoom", "flame.press({panel: flame.panels[0], frame: 3 + i})"),
            ("reset", "flame.press({panel: flame.panels[0], frame: 0})"),
            ("hover", "flame.point({panel: flame.panels[0], frame: 9 + i})"),
            ("key", "flame.move(i % 2 ? 'out' : 'in')"),
            ("search", "flame.find('step_.*7$'.slice(0, 9 + i))"),
            ("icicle", "flame.setIcicle(i % 2 === 0)"),
            ("color", "flame.setColor(i % 2 ? 'name' : 'module')"),
            ("sandwich", "flame.look(`step_${i}3`)"),
            ("search in it", "flame.find('step_.*7$'.slice(0, 9 + i))")):
        took = page.browser.ask("POST", "/execute/async", {
            "script": FRAME.replace("SCRIPT", script), "args": []})
        print(f"{what}: {took:.0f} ms to the frame")
    page.save("large")
    page.quiet("large")


def progress(page):
    page.open("snapshot=many&tab=snapshots")
    page.run("const one = document.querySelector('#table tbody select'); one.value = 'svg';"
             "window.saved = 0; URL.createObjectURL = () => { window.saved++; return 'data:,'; }")
    page.run("Array.from(document.querySelectorAll('#table tbody button')).find((one) =>"
             " one.textContent === 'Download').click()")
    page.browser.until("!document.querySelector('#progress').hidden")
    text = page.run(TEXT, "#progress span")
    check("Making call graph, SVG" in text, "long work is told of", text)
    page.browser.until("document.querySelector('#progress span').textContent.includes(' of ')")
    print("progress:", page.run(TEXT, "#progress span"))
    page.save("progress")
    page.run("document.querySelector('#stop').click()")
    page.browser.until("document.querySelector('#progress').hidden")
    check(page.run("return window.saved") == 0, "and can be stopped")
    wait_for(lambda: not page.query("SELECT id FROM sessions WHERE info LIKE 'SELECT svg%'"))
    page.quiet("progress")


def main():
    with tempfile.TemporaryDirectory(prefix="hw-") as work:
        places = {10001: free_port(), 10002: free_port()}
        nodes = [RedisNode(work, i, places, port) for i, port in places.items()]
        proxy = browser = None
        try:
            browser = Browser(work)
            for node in nodes:
                node.wait()
            proxy = PageProxy(nodes[0])
            page = Page(browser, proxy, nodes[0])
            wait_for(lambda: page.query("SELECT state FROM profiler")[0][0] ==
                     "connected", 30)
            fill(page)
            for part in (looks, other_nodes, gone, deaths):
                part(page)
            program(browser, work)
        finally:
            if browser:
                browser.close()
            if proxy:
                proxy.close()
            for node in nodes:
                node.stop()
    print(f"page.py: ok, {page_under_test.passed} facts")


main()
