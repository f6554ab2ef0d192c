#!/usr/bin/env python3
"""A flame graph in a browser: chromedriver's WebDriver, nothing else.

    flamegraph.py ORDINARY.svg HOSTILE.svg DIFFERENCE.svg EMPTY.svg LARGE.svg SHOTS

https://www.w3.org/TR/webdriver2/
"""
import base64
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
ESCAPE, CONTROL = "\ue00c", "\ue009"


class Browser:
    def __init__(self, home):
        self.log = open(os.path.join(home, "chromedriver.log"), "w+",
                        encoding="utf-8")
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=self.log,
            stderr=subprocess.STDOUT, env={**os.environ, "HOME": home},
            start_new_session=True)
        self.base = f"http://127.0.0.1:{self.port()}"
        answer = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "unhandledPromptBehavior": "ignore",
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"args": [
                "--headless=new", "--no-sandbox", "--disable-gpu",
                "--disable-dev-shm-usage", "--window-size=1300,900",
                f"--user-data-dir={home}/profile"]}}}})
        self.base += "/session/" + answer["sessionId"]

    def port(self):
        for _ in range(300):
            self.log.seek(0)
            for line in self.log.read().splitlines():
                if "started successfully on port" in line:
                    return int(line.rstrip(".").rsplit(" ", 1)[1])
            time.sleep(0.1)
        raise SystemExit("chromedriver does not start")

    def until(self, condition):
        """Waits until that JavaScript is true."""
        for _ in range(100):
            if self.run("return " + condition):
                return
            time.sleep(0.05)
        raise SystemExit("never true: " + condition)

    def resize(self, width, height):
        """Waits until the page has the new size and has been drawn in it."""
        self.run("window.resized = 0; window.addEventListener('resize', () =>"
                 " requestAnimationFrame(() => window.resized++), {once: true})")
        self.ask("POST", "/window/rect", {"width": width, "height": height})
        self.until("window.resized > 0")

    def ask(self, method, path, body=None):
        request = urllib.request.Request(
            self.base + path, method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{method} {path}: {error.read().decode()}")

    def open(self, path):
        self.ask("POST", "/url", {"url": "file://" + os.path.abspath(path)})

    def run(self, script, *args):
        return self.ask("POST", "/execute/sync",
                        {"script": script, "args": list(args)})

    def element(self, selector):
        return self.ask("POST", "/element",
                        {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.ask("POST", f"/element/{self.element(selector)}/click", {})

    def point(self, selector, click=False):
        steps = [{"type": "pointerMove", "duration": 0, "x": 0, "y": 0,
                  "origin": {ELEMENT: self.element(selector)}}]
        if click:
            steps += [{"type": "pointerDown", "button": 0},
                      {"type": "pointerUp", "button": 0}]
        self.ask("POST", "/actions", {"actions": [{
            "type": "pointer", "id": "mouse", "actions": steps}]})

    def keys(self, *keys):
        down = [{"type": "keyDown", "value": key} for key in keys]
        up = [{"type": "keyUp", "value": key} for key in reversed(keys)]
        self.ask("POST", "/actions", {"actions": [{
            "type": "key", "id": "keys", "actions": down + up}]})

    def type(self, text):
        for character in text:
            self.keys(character)

    def console(self):
        return self.ask("POST", "/se/log", {"type": "browser"})

    def save(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.ask("GET", "/screenshot")))

    def close(self):
        try:
            self.ask("DELETE", "")
        except (OSError, SystemExit):
            pass
        os.killpg(self.driver.pid, signal.SIGKILL)
        self.driver.wait()


FRAMES = """return Array.from(document.querySelectorAll('#frames > g'), (g) => ({
    name: g.querySelector('title').textContent.split('\\n')[0],
    shown: g.style.display !== 'none',
    under: g.classList.contains('under'),
    x: Number(g.querySelector('rect').getAttribute('x')),
    width: Number(g.querySelector('rect').getAttribute('width')),
    color: g.querySelector('rect').getAttribute('fill'),
    text: g.querySelector('text') ? g.querySelector('text').textContent : ''}))"""
TEXT = "return document.getElementById(arguments[0]).textContent"
SHOWN = ("return getComputedStyle(document.getElementById(arguments[0]))"
         ".display !== 'none'")
# What is printed over something else, or outside of the picture or its frame.
OVERPRINTED = """
const shown = (text) => text.textContent.trim() && text.getClientRects().length;
const wide = document.documentElement.getAttribute('width'), wrong = [];
const head = Array.from(document.querySelectorAll('#head text, #box')).filter(
    (one) => one.id === 'box' ? one.style.display === '' : shown(one));
const boxes = head.map((one) => one.getBoundingClientRect());
head.forEach((one, i) => {
    if (boxes[i].left < 0 || boxes[i].right > wide)
        wrong.push(`${one.id || one.textContent} leaves the picture`);
    for (let k = 0; k < i; k++)
        if (boxes[i].left < boxes[k].right && boxes[k].left < boxes[i].right &&
            boxes[i].top < boxes[k].bottom - 2 && boxes[k].top < boxes[i].bottom - 2)
            wrong.push(`${one.id || one.textContent} over ${head[k].id || head[k].textContent}`);
});
for (const text of document.querySelectorAll('#frames text')) {
    const frame = text.parentNode.querySelector('rect').getBoundingClientRect();
    const own = text.getBoundingClientRect();
    if (shown(text) && (own.left < frame.left || own.right > frame.right))
        wrong.push(`${text.textContent} leaves its frame`);
}
return wrong"""
MARKED = "#ee3cd2"
passed = 0


def check(fact, what, seen=None):
    global passed
    if not fact:
        raise SystemExit(f"flamegraph.py: not so: {what} (seen: {seen})")
    passed += 1


def quiet(browser, what):
    log = browser.console()
    check(not log, f"the console is silent: {what}", log)


def ordinary(browser, path, shots):
    browser.open(path)
    frames = browser.run(FRAMES)
    root, width = frames[0], browser.run("return innerWidth")
    check(root["name"] == "all" and abs(root["width"] - (width - 20)) < 2,
          "the root is as wide as the window", root)
    check(all(frame["shown"] for frame in frames), "all frames are shown")
    check(not browser.run(SHOWN, "reset"), "nothing is zoomed at first")
    browser.save(f"{shots}/ordinary.png")

    # Hovering shows what a frame is.
    index = next(i for i, frame in enumerate(frames)
                 if frame["name"] == "store::Table::put")
    place = f"#frames > g:nth-child({index + 1}) rect"
    browser.point(place)
    details = browser.run(TEXT, "details")
    check("store::Table::put" in details and "%" in details and
          "MB" in details, "hovering shows name, bytes and percent", details)

    # A click zooms, what it stands upon stays, the rest goes.
    browser.point(place, click=True)
    zoomed = browser.run(FRAMES)
    check(abs(zoomed[index]["width"] - root["width"]) < 1,
          "a click makes a frame as wide as the root", zoomed[index])
    check(zoomed[0]["under"] and zoomed[0]["shown"], "its callers stay")
    check(any(not frame["shown"] for frame in zoomed), "others are hidden")
    check(any(len(now["text"]) > len(then["text"])
              for now, then in zip(zoomed, frames)), "labels have room now")
    check(browser.run(SHOWN, "reset"), "there is a way back")
    browser.save(f"{shots}/zoomed.png")
    browser.click("#reset")
    check(browser.run(FRAMES) == frames, "reset zoom shows what was there")
    check(not browser.run(SHOWN, "reset"), "and goes away")

    # Searching, by key and by button.
    browser.keys(CONTROL, "f")
    browser.type("^store::")
    by_case = browser.run(TEXT, "matched")
    browser.keys(CONTROL, "a")
    browser.type("^STORE::")
    check(browser.run(TEXT, "matched") == by_case, "whatever its case", by_case)
    marked = [f for f in browser.run(FRAMES) if f["color"] == MARKED]
    wanted = [f for f in frames if f["name"].startswith("store::")]
    text = browser.run(TEXT, "matched")
    check(len(marked) == len(wanted) > 3, "a search marks what matches", text)
    check(f"({len(wanted)} frames)" in text, "and counts it", text)
    part = float(text.split("Matched: ")[1].split("%")[0])
    check(0 < part < 100, "and says how much it is", text)
    browser.save(f"{shots}/search.png")
    browser.keys(CONTROL, "a")
    browser.type("(unclosed[")
    text = browser.run(TEXT, "matched")
    check("Not a regular expression" in text, "a wrong one is said so", text)
    check(all(f["color"] != MARKED for f in browser.run(FRAMES)),
          "and marks nothing")
    browser.keys(ESCAPE)
    check(browser.run(TEXT, "matched") == "", "Esc ends the search")
    check(browser.run(FRAMES) == frames, "and leaves all as it was")
    browser.click("#search")
    browser.type("all")
    text = browser.run(TEXT, "matched")
    check("100.0%" in text, "the root is all there is", text)
    browser.keys(ESCAPE)

    # Esc also ends a zoom; a window of another size is filled.
    browser.point(place, click=True)
    browser.keys(ESCAPE)
    check(browser.run(FRAMES) == frames, "Esc ends a zoom")
    browser.resize(800, 700)
    width = browser.run("return innerWidth")
    narrow = browser.run(FRAMES)[0]["width"]
    check(abs(narrow - (width - 20)) < 2, "it fits a smaller window", narrow)
    browser.save(f"{shots}/narrow.png")
    browser.resize(800, 400)
    browser.run("window.scrolled = 0; window.addEventListener('scroll', () =>"
                " requestAnimationFrame(() => window.scrolled++), {once: true});"
                "scrollTo(0, 90)")
    browser.until("window.scrolled > 0")
    scrolled = browser.run("return scrollY")
    top = browser.run("return document.getElementById('head')"
                      ".getBoundingClientRect().top")
    check(scrolled > 20 and abs(top) < 2, "the head stays in sight",
          (scrolled, top))
    browser.save(f"{shots}/scrolled.png")
    browser.ask("POST", "/window/rect", {"width": 1300, "height": 900})
    quiet(browser, "ordinary")


def narrow(browser, paths, shots):
    """Nothing overprints anything, whatever is shown, as wide as it is."""
    for path in paths:
        name = os.path.basename(path)
        for width in (600, 500, 900, 1300):
            browser.ask("POST", "/window/rect", {"width": width, "height": 800})
            browser.open(path)

            def fine(what):
                wrong = browser.run(OVERPRINTED)
                check(not wrong, f"{name}, {width} px, {what}: all is legible",
                      wrong[:5])

            fine("as it is")
            count = browser.run("return document.querySelectorAll("
                                "'#frames > g').length")
            for i in range(min(count, 6)):
                browser.run("document.querySelectorAll('#frames > g')"
                            "[arguments[0]].dispatchEvent(new MouseEvent("
                            "'mouseover', {bubbles: true}))", i)
                fine(f"frame {i} hovered over")
            if count > 3:
                browser.run("document.querySelectorAll('#frames > g')[3]"
                            ".dispatchEvent(new MouseEvent('click',"
                            " {bubbles: true}))")
            browser.run("document.querySelectorAll('#frames > g').forEach("
                        "(g) => g.dispatchEvent(new MouseEvent('mouseover',"
                        " {bubbles: true})))")
            fine("zoomed")
            browser.keys(CONTROL, "f")
            browser.type("a")
            fine("searched")
            browser.save(f"{shots}/{name}.{width}.png")
            browser.type("(")
            fine("searched in vain")
            # Whatever font there is: this one is wider.
            browser.run("const style = document.createElementNS("
                        "'http://www.w3.org/2000/svg', 'style');"
                        "style.textContent = 'text{letter-spacing:1px}';"
                        "document.documentElement.append(style);"
                        "window.dispatchEvent(new Event('resize'))")
            browser.keys(ESCAPE)
            browser.keys(ESCAPE)
            fine("in a wider font")
    browser.ask("POST", "/window/rect", {"width": 1300, "height": 900})


def hostile(browser, path, shots):
    browser.open(path)  # which returns once it is loaded
    check(browser.run("return window.pwned === undefined"),
          "no name is run as a script")
    check(browser.run("return document.scripts.length || document"
                      ".querySelectorAll('script').length") == 1,
          "there is one script: ours")
    check(browser.run("return document.querySelectorAll("
                      "'img,iframe,a,image,use,animate').length") == 0,
          "names make no elements")
    names = [frame["name"] for frame in browser.run(FRAMES)]
    for name in ["<script>window.pwned=1</script>", "]]>", "\"quotes'&amp;"]:
        check(name in names, f"it is shown as it is: {name}", names)
    check(max(map(len, names)) <= 400, "long names are cut")
    for i, name in enumerate(names):
        browser.run("document.querySelectorAll('#frames > g')[arguments[0]]"
                    ".dispatchEvent(new MouseEvent('mouseover',"
                    " {bubbles: true}))", i)
    browser.keys(CONTROL, "f")
    browser.type("^<script>")
    check("(1 frame)" in browser.run(TEXT, "matched"), "it can be searched",
          browser.run(TEXT, "matched"))
    browser.save(f"{shots}/hostile.png")
    check(browser.run("return window.pwned === undefined"),
          "nor when shown and searched")
    check(browser.run("return performance.getEntriesByType('resource')"
                      ".length") == 0, "nothing is loaded")
    quiet(browser, "hostile")


def others(browser, difference, empty, shots):
    browser.open(difference)
    frames = browser.run(FRAMES)
    red = [f for f in frames if int(f["color"][1:3], 16) >
           int(f["color"][5:7], 16)]
    blue = [f for f in frames if int(f["color"][1:3], 16) <
            int(f["color"][5:7], 16)]
    check(red and blue, "growth is red and shrinking blue")
    browser.save(f"{shots}/difference.png")
    quiet(browser, "difference")
    browser.open(empty)
    check(not browser.run(FRAMES), "an empty profile has no frames")
    browser.keys(CONTROL, "f")
    browser.type("x")
    browser.keys(ESCAPE)
    browser.keys(ESCAPE)
    browser.save(f"{shots}/empty.png")
    quiet(browser, "empty")


def large(browser, path):
    browser.open(path)
    count = browser.run("return document.querySelectorAll("
                        "'#frames > g').length")
    check(count > 15000, "a large graph has its frames", count)
    spent = {}
    for what, script in (
            ("layout", "document.getElementById('frames').style.display ="
                       " 'none'; document.documentElement"
                       ".getBoundingClientRect(); document"
                       ".getElementById('frames').style.display = ''"),
            ("zoom", "document.querySelector('#frames > g:nth-child(3)')"
                     ".dispatchEvent(new MouseEvent('click',"
                     " {bubbles: true}))"),
            ("reset", "document.getElementById('reset').dispatchEvent("
                      "new MouseEvent('click'))")):
        spent[what] = browser.run(
            f"const start = performance.now(); {script};"
            "document.documentElement.getBoundingClientRect();"
            "return performance.now() - start")
        print(f"{what} of {count} frames: {spent[what]:.0f} ms")
        check(spent[what] < 10 * spent["layout"],
              f"{what} costs a few layouts of the same frames", spent)
    quiet(browser, "large")


def main():
    shots = sys.argv[6]
    with tempfile.TemporaryDirectory() as home:
        browser = Browser(home)
        try:
            ordinary(browser, sys.argv[1], shots)
            hostile(browser, sys.argv[2], shots)
            others(browser, sys.argv[3], sys.argv[4], shots)
            narrow(browser, sys.argv[1:5], shots)
            large(browser, sys.argv[5])
        finally:
            browser.close()
    print(f"flamegraph.py: {passed} facts")


main()
