"""Chromium without a window, driven over chromedriver's WebDriver.

https://www.w3.org/TR/webdriver2/
"""
import base64
import json
import os
import re
import signal
import subprocess
import urllib.error
import urllib.request

from node_under_test import wait_for

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
ESCAPE, CONTROL, ENTER, TAB = "\ue00c", "\ue009", "\ue007", "\ue004"
LEFT, UP, RIGHT, DOWN = "\ue012", "\ue013", "\ue014", "\ue015"


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
        def started():
            self.log.seek(0)
            return re.search(r"started successfully on port (\d+)", self.log.read())
        wait_for(started, 120, tell=lambda: "chromedriver does not start")
        return int(started()[1])

    def until(self, condition):
        """Waits until that JavaScript is true, and what it asks about is there."""
        wait_for(lambda: self.run(
            f"try {{ return {condition}; }} catch (error) {{"
            " if (error instanceof TypeError) return false; throw error; }"),
            tell=lambda: condition)

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

    def open(self, place):
        """A file or a URL."""
        if "://" not in place:
            place = "file://" + os.path.abspath(place)
        self.ask("POST", "/url", {"url": place})

    def run(self, script, *args):
        return self.ask("POST", "/execute/sync",
                        {"script": script, "args": list(args)})

    def emulate(self, command, **parameters):
        """Chromium's own: what devices it says there are."""
        self.ask("POST", "/goog/cdp/execute",
                 {"cmd": f"Emulation.{command}", "params": parameters})

    def element(self, selector):
        return self.ask("POST", "/element",
                        {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.ask("POST", f"/element/{self.element(selector)}/click", {})

    def point(self, x, y, *more):
        """Moves the pointer there, in the window; more are further steps."""
        steps = [{"type": "pointerMove", "duration": 0, "x": round(x),
                  "y": round(y), "origin": "viewport"}, *more]
        self.ask("POST", "/actions", {"actions": [{
            "type": "pointer", "id": "mouse", "actions": steps}]})

    def press(self, x, y):
        self.point(x, y, {"type": "pointerDown", "button": 0},
                   {"type": "pointerUp", "button": 0})

    def drag(self, x, y, to_x, to_y):
        self.point(x, y, {"type": "pointerDown", "button": 0},
                   {"type": "pointerMove", "duration": 0, "x": round(to_x),
                    "y": round(to_y), "origin": "viewport"},
                   {"type": "pointerUp", "button": 0})

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
