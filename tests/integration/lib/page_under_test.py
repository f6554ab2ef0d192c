"""The page in Chromium, over a Redis with heapwire: for cases/page.py,
cases/page_hurry.py and cases/slow/page.py.  SHOTS, where given, keeps the screenshots."""
import os
import subprocess

import pymysql


SHOTS = os.environ.get("SHOTS")
TEXT = "return document.querySelector(arguments[0]).textContent"
FLAME = "document.querySelector('.flame').flame"
# Of a text and of what is behind it, as WCAG counts.
LIGHT = """
const light = ([r, g, b]) => [r, g, b].map((v) => (v /= 255) <= 0.03928 ?
    v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) =>
    sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
"""
CONTRASTS = LIGHT + """
const parse = (text) => text.match(/[\\d.]+/g).map(Number);
function behind(one) {
    for (; one; one = one.parentElement) {
        const color = parse(getComputedStyle(one).backgroundColor);
        if (color.length === 3 || color[3] > 0)
            return color;
    }
    return matchMedia('(prefers-color-scheme: dark)').matches ? [21, 24, 28] : [255, 255, 255];
}
return Array.from(document.querySelectorAll('h1, h2, p, a, label, button:enabled, select, input, ' +
    'th button, td, .key span, .flame-details, .flame-matched, .said, caption'))
    .filter((one) => (one.textContent.trim() || one.value) && one.getClientRects().length)
    .map((one) => [contrast(parse(getComputedStyle(one).color), behind(one)),
        one.tagName + ' ' + one.textContent.slice(0, 30)])
    .filter(([ratio]) => ratio < 4.5)"""
# Of frames as the canvas has them; beside the text they differ most from it.
FRAME_CONTRASTS = LIGHT + """
const canvas = document.querySelector('.flame canvas'), flame = document.querySelector('.flame').flame;
const copy = new OffscreenCanvas(canvas.width, canvas.height), ratio = devicePixelRatio;
const pen = copy.getContext('2d', {willReadFrequently: true});
pen.drawImage(canvas, 0, 0);
const ink = flame.brush.colors.ink.match(/[0-9a-f]{2}/g).map((one) => parseInt(one, 16));
const at = (x, y) => contrast(ink, pen.getImageData(Math.round(x * ratio), Math.round(y * ratio), 1, 1).data);
return Math.min(...flame.frames().filter((one) => one.width > 24 && one.y >= 0 && one.y < flame.brush.height - 18)
    .map((one) => Math.max(...[4, 8, 13].flatMap((y) => [5, 8, 11].map((x) => at(one.x + one.width - x, one.y + y))))))"""
# Lines and marks of the time line.
LINE_CONTRASTS = LIGHT + """
const style = getComputedStyle(document.documentElement);
const parse = (name) => {
    const text = style.getPropertyValue(name).trim().slice(1).replace(/^(.)(.)(.)$/, '$1$1$2$2$3$3');
    return [0, 2, 4].map((i) => parseInt(text.slice(i, i + 2), 16));
};
return ['rss', 'allocated', 'live', 'limit', 'line', 'link', 'wrong'].map((name) =>
    [contrast(parse('--' + name), parse('--paper')), name]).filter(([ratio]) => ratio < 3)"""
passed = 0


def check(fact, what, seen=None):
    global passed
    if not fact:
        raise SystemExit(f"page: not so: {what} (seen: {seen})")
    passed += 1


class Page:
    def __init__(self, browser, proxy, node):
        self.browser, self.proxy, self.node = browser, proxy, node
        self.run, self.keys = browser.run, browser.keys
        self.reconnect()

    def reconnect(self):
        self.connection = pymysql.connect(
            unix_socket=self.node.socket, user="root", database="heapwire",
            autocommit=True)

    def query(self, statement):
        with self.connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall()

    def script(self, call):
        return self.query(f"ADMIN EXECUTE ON {self.node.id} 'System.print(HeapProf"
                          f".getInstance().{call})'")

    def open(self, state=""):
        """Returns once the flame graph and the table are there."""
        self.browser.open("about:blank")
        self.browser.open(self.proxy.url + ("#" + state if state else ""))
        self.settle()

    def settle(self):
        self.browser.until(f"document.querySelector('.flame') && !{FLAME}.searching && "
                           "document.querySelector('#snapshot').options.length > 0 && "
                           "document.querySelector('#table').children.length > 0")
        self.fine()

    def hurry(self, on):
        """Whether pages that are opened next wait for a twentieth of the time."""
        command, parameters = ("addScriptToEvaluateOnNewDocument", {"source":
            "const slow = setTimeout; setTimeout = (how, ms) => slow(how, ms / 20)"}) if on else (
            "removeScriptToEvaluateOnNewDocument", self.hurried)
        self.hurried = self.browser.ask("POST", "/goog/cdp/execute", {
            "cmd": f"Page.{command}", "params": parameters})

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

    def back(self):
        self.run("history.back()")

    def theme(self, scheme):
        self.browser.emulate("setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": scheme}] if scheme else [])

    def size(self, width, height):
        self.browser.emulate("setDeviceMetricsOverride", width=width,
                             height=height, deviceScaleFactor=1, mobile=False)

    def legible(self, what):
        for script in (CONTRASTS, LINE_CONTRASTS):
            weak = self.run(script)
            check(not weak, f"{what}: all is legible", weak)
        for way in self.run(f"return Array.from({FLAME}.ways.options, (one) => one.value)"):
            self.run(f"{FLAME}.setColor(arguments[0])", way)
            worst = self.run(FRAME_CONTRASTS)
            check(worst >= 4.5, f"{what}: and frames colored by {way}", worst)

    def save(self, name):
        if SHOTS:
            self.browser.save(f"{SHOTS}/page-{name}.png")

    def quiet(self, what):
        log = self.browser.console()
        check(not log, f"the console is silent: {what}", log)


def load(node, keys):
    subprocess.run(["redis-benchmark", "-p", str(node.redis_port), "-q", "-n",
                    str(keys), "-r", str(keys), "-d", "300", "-P", "16", "-t",
                    "set,hset,lpush"], check=True, stdout=subprocess.DEVNULL)
