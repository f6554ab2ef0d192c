"""Reads phpMyAdmin's pages about a node, and prints those with an error.

phpmyadmin.py DIRECTORY PORT USER PASSWORD: Debian's phpMyAdmin is copied to
DIRECTORY, since its place decides where it looks for its configuration.
"""
import http.cookiejar
import os
import re
import shutil
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request

from ports import free_port

DEBIANS = "/usr/share/phpmyadmin"
# What each page is about: the server, the database, a table of it.
PAGES = {
    "": ["/", "/server/databases", "/server/status", "/server/status/advisor",
         "/server/status/monitor", "/server/status/processes",
         "/server/status/queries", "/server/status/variables",
         "/server/variables", "/server/collations", "/server/engines",
         "/server/engines/heapwire", "/server/engines/InnoDB/Status",
         "/server/plugins", "/server/binlog", "/server/replication",
         "/server/privileges", "/server/sql", "/server/export",
         "/server/import", "/transformation/overview"],
    "db": ["/database/structure", "/database/sql", "/database/search",
           "/database/export", "/database/operations", "/database/routines",
           "/database/events", "/database/triggers", "/database/designer",
           "/database/central-columns", "/database/multi-table-query",
           "/database/qbe", "/database/data-dictionary"],
    "table": ["/sql", "/table/structure", "/table/search", "/table/zoom-search",
              "/table/find-replace", "/table/export", "/table/operations",
              "/table/relation", "/table/tracking", "/table/triggers",
              "/table/indexes", "/table/change"],
}
ERRORS = (r"#\d{4} - [^<]*|Fatal error[^<]*|Uncaught[^<]*|Internal error[^<]*|"
          r"Failed (?:evaluating|calculating)[^<]*|"
          r"<b>(?:Warning|Deprecated|Notice)</b>:[^\n]*")


def install(directory, port, user, password):
    shutil.copytree(DEBIANS, directory, symlinks=True,
                    ignore=shutil.ignore_patterns("locale", "doc"))
    os.mkdir(f"{directory}/tmp")
    with open(f"{directory}/libraries/vendor_config.php", "r+",
              encoding="utf-8") as f:
        text = f.read()
        f.seek(0)
        f.write(re.sub("'/etc/phpmyadmin/", f"'{directory}/",
                       text.replace("/var/lib/phpmyadmin/tmp/",
                                    f"{directory}/tmp/")))
        f.truncate()
    with open(f"{directory}/config.inc.php", "w", encoding="ascii") as f:
        f.write(f"""<?php
$cfg['blowfish_secret'] = '0123456789abcdef0123456789abcdef';
$cfg['TempDir'] = '{directory}/tmp';
$cfg['Servers'][1] = ['auth_type' => 'config', 'host' => '127.0.0.1',
    'port' => '{port}', 'user' => '{user}', 'password' => '{password}'];
""")


def read_page(browser, at, query):
    """Its text, of whatever status."""
    try:
        with browser.open(f"{at}/index.php?{query}", timeout=60) as answer:
            return answer.read().decode("utf-8", "replace")
    except urllib.error.HTTPError as e:
        return f"Fatal error {e.code} " + e.read().decode("utf-8", "replace")


def read_pages(at):
    # With its cookies, since without it every page begins a session.
    browser = urllib.request.build_opener(
        urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
    count = 0
    for about, pages in PAGES.items():
        for page in pages:
            query = {"route": page}
            if about:
                query["db"] = "heapwire"
            if about == "table":
                query["table"] = "nodes"
            text = read_page(browser, at, urllib.parse.urlencode(query))
            for error in re.findall(ERRORS, text):
                print(page, error)
            count += "phpMyAdmin" in text
    print(count, "pages")


def main(directory, port, user, password):
    install(directory, port, user, password)
    address = f"127.0.0.1:{free_port()}"
    with subprocess.Popen(["php", "-S", address, "-t", directory],
                          stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as server:
        try:
            while "started" not in server.stderr.readline():
                pass
            threading.Thread(target=server.stderr.read).start()
            read_pages(f"http://{address}")
        finally:
            server.terminate()


main(*sys.argv[1:])
