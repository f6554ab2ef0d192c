"""Prometheus, its rules and a dashboard, on real nodes.

What docker/compose.yaml runs, without containers: docker/setup.sh makes the
accounts, two Redis serve, and Debian's prometheus scrapes them with the
configuration and the rules of docker/prometheus.  Arguments name single tests.
"""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pymysql
import pymysql.cursors
from pymysql.constants import FIELD_TYPE, FLAG

from machine import no_cgroup
from mysql_wire import Wire
from node_under_test import BUILD, REAL, Node, wait_for
from ports import free_port
from redis_node import RUN, RedisNode, grow_old
from runner import in_parallel, named, run_tests

DOCKER = os.path.abspath("docker")
RULES = os.path.join(DOCKER, "prometheus", "heapwire.rules.yml")
IDS = (10001, 10002)
MEGABYTE = 1 << 20


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return f.read()


def run(*command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, timeout=60, check=False,
                          **more)
    assert done.returncode == 0, (command, done.stdout)
    return done.stdout


class Served(RedisNode):
    """A node of compose's, but for its ports and for etcd."""

    def write(self, places):
        text = read(os.path.dirname(self.directory), "heapwire.ini")
        self.http_port, self.port = free_port(), places[self.id]
        text, one = re.subn(r"http = 0\.0\.0\.0:9037\n",
                            f"http = 127.0.0.1:{self.http_port}\n", text)
        text, two = re.subn(r"etcd = .*\n", "", text)
        assert one == two == 1, text
        with open(self.config, "w", encoding="ascii") as f:
            os.fchmod(f.fileno(), 0o600)
            f.write(text + "".join(
                f"[peer {n}]\naddress = 127.0.0.1:{port}\n"
                for n, port in places.items()))

    def rows(self, text):
        sql = Wire(self.socket, timeout=60).login()
        try:
            return [[None if c is None else c.decode() for c in row]
                    for row in sql.query(text.encode())]
        finally:
            sql.close()

    def value(self, text):
        return float(self.rows(text)[0][0])


class Prometheus:
    def __init__(self, work, nodes):
        self.port, self.directory = free_port(), work
        self.config = os.path.join(work, "prometheus.yml")
        shutil.copy(RULES, work)
        text = read(DOCKER, "prometheus", "prometheus.yml")
        for was, now in (("15s", "1s"), ("/etc/heapwire-scrape/", work + "/"),
                         (re.search(r"targets: \[(.*)\]", text).group(1),
                          ", ".join(f"127.0.0.1:{n.http_port}"
                                    for n in nodes))):
            assert was in text, was
            text = text.replace(was, now)
        with open(self.config, "w", encoding="ascii") as f:
            f.write(text)
        with open(os.path.join(work, "prometheus.log"), "wb") as log:
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={self.config}",
                 f"--storage.tsdb.path={work}/metrics",
                 f"--web.listen-address=127.0.0.1:{self.port}"],
                stdout=log, stderr=log)
        wait_for(self.is_ready, 60)

    def is_ready(self):
        assert self.process.poll() is None, read(self.directory,
                                                 "prometheus.log")
        return subprocess.run(
            ["curl", "-sSf", "-m", "20", "-o", "/dev/null",
             f"http://127.0.0.1:{self.port}/-/ready"],
            stderr=subprocess.DEVNULL, check=False).returncode == 0

    def api(self, path, **query):
        texts = [a for name, text in query.items()
                 for a in ("--data-urlencode", f"{name}={text}")]
        said = json.loads(run(
            "curl", "-sS", "-m", "20", "-G", *texts,
            f"http://127.0.0.1:{self.port}/api/v1/{path}"))
        assert said["status"] == "success", said
        return said["data"]

    def query(self, text):
        """Of the instance, its value."""
        return {s["metric"].get("instance"): float(s["value"][1])
                for s in self.api("query", query=text)["result"]}

    def stop(self):
        self.process.terminate()
        self.process.wait(60)


@contextlib.contextmanager
def scraped():
    work = tempfile.mkdtemp(prefix="hw-prom-", dir="/tmp")
    nodes, prometheus = [], None
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, work)
        run("sh", os.path.join(DOCKER, "setup.sh"), work, env=dict(
            os.environ, SCRAPE=work,
            PATH=os.path.join(BUILD, "bin") + ":" + os.environ["PATH"]))
        places = {i: free_port() for i in IDS}
        for i in IDS:
            nodes.append(Served(work, i, places, places[i]))
            stack.callback(nodes[-1].stop)
        for node in nodes:
            node.wait()
            wait_for(lambda n=node: n.rows(
                "SELECT state FROM heapwire.profiler") == [["connected"]], 60)
        prometheus = Prometheus(work, nodes)
        stack.callback(prometheus.stop)
        yield nodes, prometheus


# ---- without a node ----


def test_the_rules():
    """Each alert has its test, and a label that says how bad it is."""
    folder = os.path.join(DOCKER, "prometheus")
    run("promtool", "check", "rules", RULES)
    assert "SUCCESS" in run("promtool", "test", "rules",
                            "heapwire.rules.test.yml", cwd=folder)
    run("promtool", "check", "config", "--syntax-only",
        os.path.join(folder, "prometheus.yml"))
    rules, tests = read(RULES), read(folder, "heapwire.rules.test.yml")
    alerts = re.findall(r"- alert: (\w+)", rules)
    assert len(alerts) == rules.count("labels: {severity: ") > 8, alerts
    for alert in alerts:
        assert f'alertname="{alert}"' in tests, alert
    documented = re.findall(r"^\| `(heapwire_\w+)", read(
        "server/http/METRICS.md"), re.M)
    for name in re.findall(r"\bheapwire_\w+", rules + tests):
        assert name in documented, name


def test_the_ports_of_compose():
    """Each place is one listener's, and HTTP's default is HTTP's here, too."""
    ports = re.findall(r'"(127\.0\.0\.1:\d+):(\d+)"',
                       read(DOCKER, "compose.yaml"))
    places = dict(ports)
    assert len(places) == len(ports) > 3, ports
    inside = re.search(r"^http = 0\.0\.0\.0:(\d+)$",
                       read(DOCKER, "setup.sh"), re.M).group(1)
    assert places[f"127.0.0.1:{inside}"] == inside, places


# ---- without a database, and after one ----


def figures(state):
    """Of /metrics on the socket, which promtool takes."""
    text = run("curl", "-sSf", "-m", "60", "--unix-socket",
               os.path.join(state, "http.sock"), "http://localhost/metrics")
    run("promtool", "check", "metrics", input=text)
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
            for line in text.splitlines() if line[0] != "#"}


def test_what_is_not_known_has_no_sample():
    with Node(REAL) as node:
        found = figures(node.state)
    assert found["heapwire_database_up"] == 0, found
    assert found['heapwire_database_state_info{state="absent"}'] == 1, found
    assert found["heapwire_snapshots"] == 0, found
    for name in found:
        assert not re.match("heapwire_(allocator|process|memory|cgroup)_",
                            name), name
        assert not re.match("heapwire_deaths_last|heapwire_snapshots_last",
                            name), name


def run_redis(state, linger):
    return subprocess.Popen(
        [RUN, "--state-dir", state, "--listen", "none", "--linger", linger,
         "--log", state + ".log", "--", "redis-server", "--port", "0",
         "--unixsocket", state + ".redis", "--save", ""],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def is_figure(state, name, wanted):
    """False where /metrics is an error, too."""
    with contextlib.suppress(AssertionError):
        return figures(state)[name] == wanted
    return False


def is_connected(state):
    return is_figure(state, "heapwire_database_up", 1)


@in_parallel
def test_deaths_have_a_reason():
    """First it is told to end, then it is killed: heapwired serves on, for one
    that ran for ten seconds."""
    work = tempfile.mkdtemp(prefix="hw-prom-", dir="/tmp")
    state = os.path.join(work, "state")
    os.mkdir(state, mode=0o700)
    node = run_redis(state, "0")
    try:
        wait_for(lambda: is_connected(state), 60)
        node.terminate()
        node.wait(30)
        node = run_redis(state, "600")
        wait_for(lambda: is_connected(state), 60)
        found = figures(state)
        assert found['heapwire_deaths{reason="clean"}'] == 1, found
        for pid in read(f"/proc/{node.pid}/task/{node.pid}/children").split():
            if read(f"/proc/{pid}/comm").startswith("redis"):
                grow_old(pid)
                os.kill(int(pid), signal.SIGKILL)
        # There may be an error until heapwired knows of the end.
        wait_for(lambda: not is_connected(state), 60)
        wait_for(lambda: is_figure(
            state, 'heapwire_deaths{reason="signal"}', 1), 60)
        found = figures(state)
        assert found["heapwire_database_up"] == 0, found
        assert found['heapwire_deaths{reason="clean"}'] == 1, found
        assert abs(found['heapwire_deaths_last_timestamp_seconds'
                         '{reason="signal"}'] - time.time()) < 120, found  # it is of now
        assert 'heapwire_deaths_last_timestamp_seconds{reason="oom"}' not in \
            found, found

        def say(path):
            return run("curl", "-sS", "-m", "60", "-w", "%{http_code}",
                       "--unix-socket", os.path.join(state, "http.sock"),
                       "http://localhost" + path)
        # Who looks for the record looks now and then.
        wait_for(lambda: "signal 9" in say("/jeheap/dump"), 60)
        for path in ("/jeheap/dump", "/debug/prof/mem",
                     "/debug/prof/mem/status", "/pprof/heap"):
            said = say(path)
            assert said.endswith("503") and "signal 9" in said, (path, said)
            assert "not enabled" not in said, (path, said)
    finally:
        node.terminate()
        node.wait(30)
        shutil.rmtree(work)


# ---- with nodes ----


def instances(nodes):
    return {f"127.0.0.1:{n.http_port}" for n in nodes}


def is_of(prometheus, query, wanted):
    """These instances have it: at any moment a scrape may have taken longer
    than its second."""
    wait_for(lambda: prometheus.query(query).keys() == wanted, 60, 0.2)


def check_it_is_scraped(nodes, prometheus):
    is_of(prometheus, "up == 1", instances(nodes))

    def targets():
        return prometheus.api("targets")["activeTargets"]
    wait_for(lambda: {t["lastError"] for t in targets()} == {""}, 60, 0.2)
    assert {t["scrapeUrl"][:8] for t in targets()} == {"https://"}, targets()
    run("promtool", "check", "config", prometheus.config)


def fill(node):
    """13 MB in use, and a snapshot of them."""
    node.rows(f"ADMIN EXECUTE ON {node.id} "
              "'HeapProf.getInstance().enable_prof(600)'")
    title = read("/proc", str(node.children["redis-server"]), "cmdline")
    value = "v" * 65536
    run("redis-cli", "-p", re.search(r":(\d+)", title).group(1), "--pipe",
        input="".join(f"SET k{i} {value}\r\n" for i in range(200)))
    node.rows(f"ADMIN EXECUTE ON {node.id} "
              "'HeapProf.getInstance().snapshot()'")


def check_its_figures(nodes, prometheus):
    """They are SQL's, of the node."""
    node = nodes[0]
    instance = f"127.0.0.1:{node.http_port}"
    fill(node)

    def equal(metric, sql, most=0.0):
        def same():
            there = prometheus.query(metric).get(instance)
            return there is not None and abs(there - node.value(sql)) <= most
        wait_for(same, 60, 0.2)

    for column in ("allocated", "active", "metadata", "resident", "mapped",
                   "retained"):
        equal(f"heapwire_allocator_{column}_bytes",
              f"SELECT {column} FROM heapwire.memory", MEGABYTE)
    for metric, column in (
            ("process_resident_bytes", "rss"),
            ("process_resident_file_bytes", "rss_file"),
            ("memory_unexplained_bytes", "unexplained")):
        equal(f"heapwire_{metric}", f"SELECT {column} FROM heapwire.memory",
              4 * MEGABYTE)
    for metric, sql in (
            ("heapwire_database_up", "SELECT 1"),
            ("heapwire_profiler_active", "SELECT active FROM heapwire.profiler"),
            ("heapwire_profiler_cpu_budget_ratio",
             "SELECT budget / 100 FROM heapwire.profiler"),
            ("heapwire_profiler_sample_rate_bytes",
             "SELECT sample_rate FROM heapwire.profiler"),
            ("heapwire_database_start_time_seconds",
             "SELECT unix_timestamp(started) FROM heapwire.profiler"),
            ("heapwire_snapshots", "SELECT count(*) FROM heapwire.snapshots"),
            ("heapwire_snapshots_size_bytes",
             "SELECT sum(size) FROM heapwire.snapshots"),
            ("sum(heapwire_deaths) by (instance)",
             "SELECT count(*) FROM heapwire.deaths"),
            ("heapwire_cluster_peers", "SELECT peers FROM heapwire.daemon"),
            ("heapwire_daemon_max_fds",
             "SELECT descriptors_max FROM heapwire.daemon")):
        equal(metric, sql)
    is_of(prometheus, "heapwire_snapshots > 0", {instance})
    is_of(prometheus, 'heapwire_daemon_connections{door="http"} > 0',
          instances(nodes))


def check_its_rules(prometheus):
    wait_for(lambda: all(
        r["health"] == "ok" for g in prometheus.api("rules")["groups"]
        for r in g["rules"]), 60)
    groups = prometheus.api("rules")["groups"]
    assert [r["name"] for g in groups for r in g["rules"]] == re.findall(
        r"- alert: (\w+)", read(RULES)), groups
    firing = [a for a in prometheus.api("alerts")["alerts"]
              if a["state"] == "firing"]
    assert not firing, firing


def check_the_texts(nodes):
    """promtool has no fault with them; of others through a node, too."""
    token = read(os.path.dirname(nodes[0].directory), "token").strip()

    def get(path, user=("-H", f"Authorization: Bearer {token}"), *more):
        return run("curl", "-sS", "-k", "-m", "60", "-w", "%{http_code}",
                   *user, *more, f"https://127.0.0.1:{nodes[0].http_port}" +
                   path).rpartition("\n")
    text, _, status = get("/metrics")
    assert status == "200", status
    said = run("promtool", "check", "metrics", input=text + "\n")
    assert said == "", said
    assert get("/metrics?node=10002")[2] == "403"  # status, not cluster
    grafana = ("-u", "grafana:" + read(os.path.dirname(
        nodes[0].directory), "grafana.password").strip())
    for path, label in (("/metrics?node=10002", ""),
                        ("/metrics?node=all", "{node=\"10002\"}")):
        text, _, status = get(path, grafana)
        assert status == "200", (path, text)
        assert f"\nheapwire_database_up{label} 1\n" in text, text
        run("promtool", "check", "metrics", input=text + "\n")
    text, _, status = get("/metrics?node=10009", grafana)
    assert status == "404" and "there is no node 10009" in text, text
    assert get("/metrics?node=x", grafana)[2] == "400"
    text, _, status = get("/debug/pprof/heap?node=10002&snapshot=nothing",
                          grafana)
    assert status == "404" and "node 10002: no snapshot" in text, text


def check_a_node_that_is_gone(nodes, prometheus):
    """The others' figures stay, and an alert waits for its two minutes."""
    nodes[1].crash()
    gone = f"127.0.0.1:{nodes[1].http_port}"
    wait_for(lambda: [
        a["labels"]["instance"] for a in prometheus.api("alerts")["alerts"]
        if a["labels"]["alertname"] == "HeapwireDown"] == [gone], 60, 0.2)
    is_of(prometheus, "heapwire_database_up == 1", instances(nodes) - {gone})


# ---- the dashboard, as Grafana asks for it ----

# Without a limit, and before profiling's cost is known, there are none.
MAY_LACK = ["heapwire_cgroup_memory_limit_bytes", "heapwire_profiler_cpu_ratio"]
if no_cgroup():
    MAY_LACK += ["heapwire_cgroup_memory_bytes",
                 "heapwire_cgroup_memory_cache_bytes"]


NUMBERS = (FIELD_TYPE.TINY, FIELD_TYPE.SHORT, FIELD_TYPE.LONG,
           FIELD_TYPE.LONGLONG)


def expand(text, **variables):
    """Grafana's macros of MySQL, over the last hour in steps of 15 s."""
    now = int(time.time())
    text = re.sub(r"\$(\w+)(?!\w*\()", lambda m: variables.get(
        m.group(1), m.group(0)), text)
    group = r"UNIX_TIMESTAMP(\1) DIV 15 * 15"
    text = re.sub(r"\$__timeGroupAlias\((\w+), 15s\)", group + ' AS "time"',
                  text)
    text = re.sub(r"\$__timeGroup\((\w+), 15s\)", group, text)
    text = re.sub(r"\$__timeFilter\((\w+)\)", rf"\1 BETWEEN FROM_UNIXTIME("
                  rf"{now - 3600}) AND FROM_UNIXTIME({now})", text)
    assert "$" not in text, text
    return text


def check_prometheus_panel(prometheus, panel, target):
    text = expand(target["expr"], instance=".+", __rate_interval="1m")
    for name in re.findall(r"heapwire_\w+", text):
        if name in MAY_LACK and not prometheus.query(name):
            return
    wait_for(lambda: prometheus.query(text), 60, 0.2)
    for label in re.findall(r"{{(\w+)}}", target["legendFormat"]):
        for s in prometheus.api("query", query=text)["result"]:
            assert label in s["metric"], (panel, label, s)


def is_nested(rows):
    """Each frame has room for those below it, as the panel draws them."""
    open_frames = []
    for level, label, value, own in rows:
        del open_frames[level:]
        assert level == len(open_frames) and 0 <= own <= value, (level, label)
        if open_frames:
            open_frames[-1] -= value
            assert open_frames[-1] > -len(rows), label  # each is rounded
        open_frames.append(value)
    return rows[0][0] == 0 and all(row[0] > 0 for row in rows[1:])


def check_the_dashboard(node, prometheus):
    board = json.loads(read(DOCKER, "grafana", "heapwire.json"))
    password = read(os.path.dirname(node.directory), "grafana.password")
    sql = pymysql.connect(
        host="127.0.0.1", port=node.port, user="grafana",
        password=password.strip(), read_timeout=60,
        cursorclass=pymysql.cursors.DictCursor)

    def ask(text):
        with sql.cursor() as cursor:
            cursor.execute(text)
            for field in cursor._result.fields:
                # To Grafana "UNSIGNED BIGINT" is a text.
                assert field.type_code not in NUMBERS or \
                    not field.flags & FLAG.UNSIGNED, (field.name, text)
            return cursor.fetchall()

    variables = {v["name"]: v for v in board["templating"]["list"]}
    names = ask(variables["snapshot"]["query"])
    assert [list(n.values())[0] for n in names][-1] == "now", names
    assert len(names) == 2, names
    shown = {}
    for panel in board["panels"]:
        for target in panel.get("targets", ()):
            if "expr" in target:
                check_prometheus_panel(prometheus, panel["title"], target)
                continue
            shown[panel["title"]] = ask(expand(
                target["rawSql"], __interval="15s", snapshot=names[0]["name"]))
    assert not shown.pop("Deaths"), shown
    assert all(shown.values()), shown
    assert "time" in shown["Each second, by SQL"][0], shown
    assert [n["id"] for n in shown["Nodes"]] == list(IDS), shown["Nodes"]
    frames = shown["Flame graph"]
    assert list(frames[0]) == ["level", "label", "value", "self"], frames[0]
    assert is_nested([list(f.values()) for f in frames]), frames
    assert any(f["label"] == "aeMain" for f in frames), frames
    # What its editor asks for.
    tables = ask("SELECT table_name FROM information_schema.tables WHERE "
                 "table_schema = 'heapwire' ORDER BY table_name")
    assert "heap_flame_graph" in [list(t.values())[0] for t in tables], tables
    assert ask("SELECT DISTINCT TABLE_SCHEMA from information_schema.TABLES "
               "where TABLE_TYPE != 'SYSTEM VIEW' ORDER BY TABLE_SCHEMA")
    assert ask("SELECT column_name, data_type FROM information_schema.columns "
               "WHERE table_schema = 'heapwire' AND table_name = "
               "'memory_history' AND data_type IN ('timestamp','datetime',"
               "'bigint','int','double','float') ORDER BY column_name")
    sql.close()


def test_the_dashboard_can_be_imported():
    board = json.loads(read(DOCKER, "grafana", "heapwire.json"))
    inputs = {"${%s}" % i["name"]: i["pluginId"] for i in board["__inputs"]}
    variables = {v["name"]: v for v in board["templating"]["list"]}
    for v in variables.values():
        if v["type"] == "datasource":
            assert inputs[v["current"]["value"]] == v["query"], v
    ids = [p["id"] for p in board["panels"]]
    assert len(ids) == len(set(ids)), ids
    needed = {r["id"] for r in board["__requires"]} | {"row"}
    taken = set()
    for panel in board["panels"]:
        assert panel["type"] in needed, panel
        at = panel["gridPos"]
        for x in range(at["x"], at["x"] + at["w"]):
            for y in range(at["y"], at["y"] + at["h"]):
                assert x < 24 and (x, y) not in taken, panel["title"]
                taken.add((x, y))
        for target in panel.get("targets", ()):
            source = target["datasource"]
            of = variables[source["uid"].strip("${}")]
            assert of["query"] == source["type"], target
    documented = read("server/http/METRICS.md")
    for name in re.findall(r"heapwire_\w+", json.dumps(
            [p.get("targets") for p in board["panels"]])):
        if not name.startswith("heapwire_heap"):
            assert f"| `{name}" in documented, name


def test_two_nodes():
    if no_cgroup():
        print("skipped: the panels of cgroups:", no_cgroup())
    with scraped() as (nodes, prometheus):
        check_it_is_scraped(nodes, prometheus)
        check_its_figures(nodes, prometheus)
        check_its_rules(prometheus)
        check_the_texts(nodes)
        check_the_dashboard(nodes[0], prometheus)
        check_a_node_that_is_gone(nodes, prometheus)


if __name__ == "__main__":
    run_tests(named(globals(), sys.argv[1:]))
    print("prometheus.py: ok")
