#!/usr/bin/env python3
"""A flame graph in a browser.

    flamegraph.py ORDINARY.svg HOSTILE.svg DIFFERENCE.svg EMPTY.svg LARGE.svg SHOTS
"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
# pylint: disable=wrong-import-position
from browser import (CONTROL, DOWN, ENTER, ESCAPE, LEFT, RIGHT, UP,  # noqa: E402
                     Browser)

FRAMES = "return document.querySelector('.flame').flame.frames()"
STATE = "return document.querySelector('.flame').flame.state"
TEXT = "return document.querySelector(arguments[0]).textContent"
FOUND = "!document.querySelector('.flame').flame.searching"
CANVAS = ("const box = document.querySelector('canvas').getBoundingClientRect();"
          "return [box.left, box.top, box.width]")
# The colors of the canvas' pixels in the middle of a frame, left and right.
PIXELS = """
const canvas = document.querySelector('canvas'), ratio = devicePixelRatio;
const copy = new OffscreenCanvas(canvas.width, canvas.height);
const [x, y, width] = arguments;
const pen = copy.getContext('2d', {willReadFrequently: true});
pen.drawImage(canvas, 0, 0);
return [x + 1, x + width - 3].map((at) => Array.from(pen.getImageData(
    Math.round(at * ratio), Math.round((y + 2) * ratio), 1, 1).data).slice(0, 3))"""
# How many columns of pixels have the color of what a search found.
MARKED_COLUMNS = """
const canvas = document.querySelector('canvas'), columns = new Set();
const copy = new OffscreenCanvas(canvas.width, canvas.height);
const pen = copy.getContext('2d', {willReadFrequently: true});
pen.drawImage(canvas, 0, 0);
const {data} = pen.getImageData(0, 0, canvas.width, canvas.height);
for (let i = 0; i < data.length; i += 4)
    if (data[i] === 0xee && data[i + 1] === 0x3c && data[i + 2] === 0xd2)
        columns.add(i / 4 % canvas.width);
return columns.size / devicePixelRatio"""
# What leaves the window, or lies over something else.
OVERPRINTED = """
const wrong = [], parts = Array.from(document.querySelectorAll(
    '.flame-file > h1, .flame-file > p, .flame-bar > *, .flame-details, .flame-scroll'))
    .filter((one) => one.getClientRects().length && one.getBoundingClientRect().width);
const boxes = parts.map((one) => one.getBoundingClientRect());
parts.forEach((one, i) => {
    const name = one.className || one.textContent.slice(0, 30);
    if (boxes[i].left < 0 || boxes[i].right > innerWidth + 0.5)
        wrong.push(`${name} leaves the window`);
    for (let k = 0; k < i; k++)
        if (boxes[i].left < boxes[k].right - 1 && boxes[k].left < boxes[i].right - 1 &&
            boxes[i].top < boxes[k].bottom - 1 && boxes[k].top < boxes[i].bottom - 1)
            wrong.push(`${name} over ${parts[k].textContent.slice(0, 30)}`);
});
return wrong"""
MARKED = [0xee, 0x3c, 0xd2]
passed = 0


def check(fact, what, seen=None):
    global passed
    if not fact:
        raise SystemExit(f"flamegraph.py: not so: {what} (seen: {seen})")
    passed += 1


def quiet(browser, what):
    log = browser.console()
    check(not log, f"the console is silent: {what}", log)


def matched(browser):
    """What the search says in the end."""
    browser.until(FOUND)
    return browser.run(TEXT, ".flame-matched")


def place(browser, frame):
    left, top, _ = browser.run(CANVAS)
    return left + frame["x"] + frame["width"] / 2, top + frame["y"] + 8


def named(frames, name):
    return next(frame for frame in frames if frame["name"] == name)


def pixels(browser, frame):
    return browser.run(PIXELS, frame["x"], frame["y"], frame["width"])


def zooming(browser, shots):
    frames = browser.run(FRAMES)
    root, width = frames[0], browser.run(CANVAS)[2]
    check(root["name"] == "all" and abs(root["width"] - width) < 1,
          "the root is as wide as the canvas", root)
    check(width > browser.run("return innerWidth") - 40, "which fills the window",
          width)
    browser.save(f"{shots}/ordinary.png")
    put = named(frames, "store::Table::put")
    colors = pixels(browser, put)
    check(colors[0] == colors[1] and colors[0] not in ([0, 0, 0], [255, 255, 255]),
          "a frame is one box of one color", colors)

    browser.point(*place(browser, put))
    details = browser.run(TEXT, ".flame-details")
    check(details.startswith("store::Table::put: ") and "%" in details and
          "MB" in details and "bytes)" in details,
          "hovering shows name, bytes and percent", details)

    browser.press(*place(browser, put))
    zoomed = browser.run(FRAMES)
    check(abs(named(zoomed, put["name"])["width"] - width) < 1,
          "a click makes a frame as wide as the root")
    check(zoomed[0]["under"], "its callers stay")
    check(not any(one["name"] == "net::accept" for one in zoomed),
          "others are gone")
    check(browser.run(STATE)["zoom"].startswith(f"{put['frame']}-"), "and that is its state",
          browser.run(STATE))
    browser.save(f"{shots}/zoomed.png")
    browser.keys(ESCAPE)
    check(browser.run(FRAMES) == frames, "Esc shows what was there")
    check(browser.run(STATE) == {}, "and the state is the first one")
    return frames


def searching(browser, frames, shots):
    browser.keys(CONTROL, "f")
    browser.type("^store::")
    by_case = matched(browser)
    browser.keys(CONTROL, "a")
    browser.type("^STORE::")
    text = matched(browser)
    check(text == by_case, "a search goes by any case", (text, by_case))
    hits = [f for f in browser.run(FRAMES) if f["hit"]]
    wanted = [f for f in frames if f["name"].startswith("store::")]
    check(len(hits) == len(wanted) > 3 and f"({len(wanted)} frames)" in text,
          "it counts what matches", text)
    outer = sum(f["width"] for f in wanted if "Command" in f["name"])
    part = float(text.split("Matched: ")[1].split("%")[0])
    check(abs(part - 100 * outer / frames[0]["width"]) < 0.1,
          "and says how much that is", text)
    check(pixels(browser, hits[0])[0] == MARKED, "and marks it",
          pixels(browser, hits[0]))
    browser.save(f"{shots}/search.png")
    browser.keys(CONTROL, "a")
    browser.type("(unclosed[")
    text = matched(browser)
    check("Not a regular expression" in text, "a wrong one is said so", text)
    check(not any(f["hit"] for f in browser.run(FRAMES)), "and marks nothing")
    browser.keys(ESCAPE)
    check(matched(browser) == "", "Esc ends the search")
    check(browser.run(FRAMES) == frames, "and leaves all as it was")
    # One that backtracks for ever: the graph goes on, and says so in the end.
    browser.keys("/")
    browser.type("(.|.|.|.)+!")
    browser.press(*place(browser, named(frames, "net::accept")))
    check(browser.run(STATE).get("zoom"), "meanwhile a click zooms")
    text = matched(browser)
    check("too long" in text, "a search that takes too long is given up", text)
    browser.keys(ESCAPE)
    browser.keys(ESCAPE)
    check(browser.run(FRAMES) == frames, "and nothing else has changed")
    browser.keys("/")
    browser.type("all")
    text = matched(browser)
    check("100.0%" in text, "the root is all there is", text)
    browser.keys(ESCAPE)


def turning(browser, frames, shots):
    """Icicle, sandwich and colors, by keys."""
    browser.keys("i")
    flipped = browser.run(FRAMES)
    check(flipped[0]["y"] < flipped[1]["y"], "an icicle has its root above")
    check([(f["x"], f["width"]) for f in flipped] ==
          [(f["x"], f["width"]) for f in frames], "and nothing else differs")
    browser.keys("i")
    check(browser.run(FRAMES) == frames, "twice is not at all")

    put = named(frames, "sys::allocate")
    browser.point(*place(browser, put))
    browser.keys("s")
    check(browser.run(STATE) == {"sandwich": "sys::allocate"}, "a sandwich",
          browser.run(STATE))
    sandwich = browser.run(FRAMES)
    middle = [f for f in sandwich if f["name"] == "sys::allocate"]
    width = browser.run(CANVAS)[2]
    check(len(middle) == 2 and all(abs(f["width"] - width) < 1 for f in middle)
          and middle[0]["y"] == middle[1]["y"],
          "has the function in one row, from all its callers", middle)
    above = {f["name"] for f in sandwich if f["y"] < middle[0]["y"]}
    check({"arena::grow0", "main", "server::Session::run"} <= above,
          "its callers are above", above)
    direct = [f for f in sandwich if f["name"].startswith("arena::grow") and
              middle[0]["y"] - f["y"] < 20]
    check(len(direct) == 5 and abs(sum(f["width"] for f in direct) - width) < 1,
          "each of them once", direct)
    browser.save(f"{shots}/sandwich.png")
    browser.keys("s")
    check(browser.run(FRAMES) == frames, "s shows the whole again")
    run = named(frames, "server::Session::run")
    browser.point(*place(browser, run))
    browser.keys("s")
    below = [f["name"] for f in browser.run(FRAMES)
             if f["y"] > named(browser.run(FRAMES), run["name"])["y"]]
    check("store::Table::put" in below and "main" not in below,
          "callees are below", below)
    browser.keys(ESCAPE)

    browser.keys("m")
    check(browser.run(STATE).get("color") == "module", "m is the next color")
    browser.keys("m")
    check(browser.run(FRAMES) == frames, "of two")


def by_keyboard(browser, frames):
    """To the same places without a mouse."""
    browser.point(1, 1)
    browser.run("document.querySelector('canvas').focus()")
    for key in (UP, UP, UP):
        browser.keys(key)
    details = browser.run(TEXT, ".flame-details")
    check(details.startswith("server::Session::run: "),
          "up goes to the biggest callee", details)
    browser.keys(LEFT)
    details = browser.run(TEXT, ".flame-details")
    check(details.startswith("net::accept: "), "left to its neighbour", details)
    browser.keys(RIGHT)
    browser.keys(DOWN)
    check(browser.run(TEXT, ".flame-details").startswith("main: "),
          "down to the caller")
    browser.keys(UP)
    browser.keys(ENTER)
    check(abs(named(browser.run(FRAMES), "server::Session::run")["width"] -
              browser.run(CANVAS)[2]) < 1, "Enter zooms")
    browser.run("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    browser.keys("c")
    check(browser.run("return getSelection().toString()") ==
          "server::Session::run", "c gives the name to copy")
    browser.keys(ESCAPE)
    check([f["width"] for f in browser.run(FRAMES)] ==
          [f["width"] for f in frames], "Esc ends a zoom")


def ordinary(browser, path, shots):
    browser.open(path)
    frames = zooming(browser, shots)
    searching(browser, frames, shots)
    turning(browser, frames, shots)
    by_keyboard(browser, frames)
    browser.resize(700, 500)
    browser.until("Math.abs(document.querySelector('.flame').flame.frames()[0].width"
                  " - document.querySelector('.flame-scroll').clientWidth) < 1")
    browser.save(f"{shots}/narrow.png")
    browser.resize(1300, 900)
    quiet(browser, "ordinary")


def narrow(browser, paths, shots):
    """Nothing overprints anything, whatever is shown, as wide as it is."""
    for path in paths:
        name = os.path.basename(path)
        for width in (500, 800, 1300):
            browser.ask("POST", "/window/rect", {"width": width, "height": 800})
            browser.open(path)

            def fine(what):
                wrong = browser.run(OVERPRINTED)
                check(not wrong, f"{name}, {width} px, {what}: all is legible",
                      wrong[:5])

            fine("as it is")
            for frame in browser.run(FRAMES)[:4]:
                browser.point(*place(browser, frame))
                fine(f"{frame['name'][:20]} hovered over")
            browser.keys(CONTROL, "f")
            browser.type("a(")
            fine("searched in vain")
            browser.save(f"{shots}/{name}.{width}.png")
    browser.ask("POST", "/window/rect", {"width": 1300, "height": 900})


def hostile(browser, path, shots):
    browser.open(path)  # which returns once it is loaded
    check(browser.run("return window.pwned === undefined"),
          "no name is run as a script")
    check(browser.run("return document.querySelectorAll('script').length") == 1,
          "there is one script: ours")
    check(browser.run("return document.querySelectorAll("
                      "'img,iframe,a,image,use,animate').length") == 0,
          "names make no elements")
    frames = browser.run(FRAMES)
    names = [frame["name"] for frame in frames]
    for name in ["<script>window.pwned=1</script>", "]]>", "\"quotes'&amp;",
                 "__proto__", "constructor"]:
        check(name in names, f"it is shown as it is: {name}", names)
    check(max(map(len, names)) <= 400, "long names are cut")
    grey = {f["name"] for f in frames if f["color"] == "hsl(0 0% 85%)"}
    check(grey == {"all"}, "what is a function has a color", grey)
    for frame in frames:
        browser.point(*place(browser, frame))
        if frame["width"] > 5 and not frame["name"].startswith("leaf"):
            browser.keys("s")
            browser.keys("s")
    browser.keys(CONTROL, "f")
    browser.type("^<script>")
    check("(1 frame)" in matched(browser),
          "it can be searched", matched(browser))
    browser.save(f"{shots}/hostile.png")
    check(browser.run("return window.pwned === undefined"),
          "nor when shown and searched")
    check(browser.run("return performance.getEntriesByType('resource')"
                      ".length") == 0, "nothing is loaded")
    quiet(browser, "hostile")


def others(browser, difference, empty, shots):
    browser.open(difference)
    frames = browser.run(FRAMES)
    seen = [pixels(browser, f)[0] for f in frames if f["width"] > 20]
    check(any(c[0] > c[2] + 40 for c in seen) and
          any(c[2] > c[0] + 40 for c in seen),
          "growth is red and shrinking blue", seen)
    browser.point(*place(browser, frames[0]))
    text = browser.run(TEXT, ".flame-details")
    check("+335.1 MB" in text and "changed" in text, "with its sign", text)
    browser.save(f"{shots}/difference.png")
    quiet(browser, "difference")
    browser.open(empty)
    check(not browser.run(FRAMES), "an empty profile has no frames")
    check("nothing sampled" in browser.run(TEXT, ".flame-file"), "and says why")
    browser.keys(CONTROL, "f")
    browser.type("x")
    for key in (ESCAPE, ESCAPE, "i", "s", "c", UP, ENTER):
        browser.keys(key)
    browser.save(f"{shots}/empty.png")
    quiet(browser, "empty")


def large(browser, path, shots):
    browser.open(path)
    frames = browser.run(FRAMES)
    check(len(frames) > 99000, "a large graph has its frames", len(frames))
    paint = browser.run("return performance.getEntriesByName("
                        "'first-contentful-paint')[0].startTime")
    ready = browser.run("return performance.getEntriesByType('navigation')[0]"
                        ".loadEventEnd")
    check(0 < paint < 10000 and 0 < ready < 10000, "soon", (paint, ready))
    print(f"first paint of {len(frames)} frames: {paint:.0f} ms, usable after "
          f"{ready:.0f} ms")
    spent = {}
    for what, script in (
            ("reading", "JSON.parse(document.querySelector('#calls').textContent)"),
            ("zoom", "flame.press({panel: flame.panels[0], frame: 3})"),
            ("reset", "flame.reset()"),
            ("hover", "flame.point({panel: flame.panels[0], frame: 9})"),
            ("icicle", "flame.setIcicle(true)"),
            ("search", "flame.find('function.*7$'); await new Promise((done) => {"
             " flame.mark = (hits) => { delete flame.mark; done(flame.mark(hits)); }; })"),
            ("sandwich", "flame.show('leaf3')")):
        spent[what] = browser.run(
            "return (async () => {"
            "const flame = document.querySelector('.flame').flame;"
            "const copy = new OffscreenCanvas(1, 1).getContext('2d',"
            " {willReadFrequently: true});"
            f"const start = performance.now(); {script};"
            "copy.drawImage(flame.canvas, 0, 0); copy.getImageData(0, 0, 1, 1);"
            "return performance.now() - start})()")
        print(f"{what} of {len(frames)} frames: {spent[what]:.0f} ms")
        check(spent[what] < 200 * spent["reading"],
              f"{what} costs little more than to read the same frames", spent)
    browser.run("const flame = document.querySelector('.flame').flame;"
                "flame.show(''); flame.find('^function777$')")
    check("(1 frame)" in matched(browser) and
          1 <= browser.run(MARKED_COLUMNS) < 3,
          "one of many narrow frames is marked, and not its neighbours",
          browser.run(MARKED_COLUMNS))
    browser.save(f"{shots}/large.png")
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
            large(browser, sys.argv[5], shots)
        finally:
            browser.close()
    print(f"flamegraph.py: {passed} facts")


main()
