"""Serves the page as its HTTP door does, over a node's MySQL socket."""
import contextlib
import datetime
import decimal
import http.server
import json
import os
import re
import threading

import pymysql

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
PAGE = os.path.join(TOP, "server/http/page")


def files():
    """By path: type and content, as CMakeLists.txt puts them together."""
    with open(os.path.join(PAGE, "CMakeLists.txt"), encoding="utf-8") as f:
        text = f.read().replace("${flame}", "../../../plugin/profile/flame")
    kinds = {"page_html": ("/", "text/html"), "page_css": ("/page.css", "text/css"),
             "page_js": ("/page.js", "text/javascript")}
    found = {}
    for name, names in re.findall(r"hw_embed\((\w+) page_files.h\s+([^)]*)\)",
                                  text):
        path, kind = kinds[name]
        content = b""
        for one in names.split():
            with open(os.path.join(PAGE, one), "rb") as f:
                content += f.read()
        found[path] = (kind + "; charset=utf-8", content)
    return found


def policy():
    with open(os.path.join(PAGE, "page_files.h"), encoding="utf-8") as f:
        lines = re.search(r"#define PAGE_POLICY(.*?)\n\n", f.read(), re.S)[1]
    return "".join(re.findall(r'"([^"]*)"', lines))


def plain(value):
    if isinstance(value, decimal.Decimal):
        return float(value) if value % 1 else int(value)
    if isinstance(value, (datetime.datetime, datetime.date)):
        return str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, kind, content):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", self.server.policy)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self):
        kind, content = self.server.files.get(self.path, ("text/plain", None))
        if content is None:
            self.answer(404, kind, b"there is no such path\n")
        else:
            self.answer(200, kind, content)

    def do_POST(self):
        statement = self.rfile.read(int(self.headers["Content-Length"])).decode()
        assert self.path in ("/sql", "/value"), self.path
        if self.headers["X-Heapwire"] != "1":
            self.answer(403, "text/plain", b"no header\n")
            return
        self.server.asked.append(statement)
        change = self.server.changed_name
        try:
            with pymysql.connect(unix_socket=self.server.socket_path, user="root",
                                 database="heapwire") as c, c.cursor() as cursor:
                cursor.execute(statement)
                rows, columns = cursor.fetchall(), cursor.description or ()
        except pymysql.MySQLError as error:
            self.answer(500, "text/plain; charset=utf-8", str(error.args[1]).encode())
            return
        if self.path == "/sql":
            self.answer(200, "application/json", json.dumps({
                "columns": [c[0] for c in columns],
                "rows": [[change(plain(v)) for v in row] for row in rows]}).encode())
        else:
            value = rows[0][0]
            if statement.startswith("SELECT calls("):
                calls = json.loads(value)
                calls["names"] = [change(one) for one in calls["names"]]
                value = json.dumps(calls)
            self.answer(200, "application/octet-stream",
                        value if isinstance(value, bytes) else str(value).encode())

    def handle(self):
        with contextlib.suppress(ConnectionError): # a page that is left
            super().handle()

    def log_message(self, *_):
        pass


class PageStandIn:
    def __init__(self, socket_path):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.socket_path = socket_path
        self.server.changed_name = lambda value: value
        self.server.files, self.server.policy = files(), policy()
        self.asked = self.server.asked = []
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
