"""A Python program with a database in it: holds what it is ordered to.

embedded.py chdb|polars; orders as server.cc's, "pages" and "allocated" alone.
"""
import sys
import threading

MB = 1 << 20


class Chdb:
    def __init__(self):
        from chdb import session
        self.session = session.Session()
        self.ask("CREATE DATABASE d")
        self.ask("CREATE TABLE d.t (n UInt64) ENGINE = Memory")

    def ask(self, statement):
        return str(self.session.query(statement, "TSV")).strip()

    def load(self, megabytes):
        self.ask(f"INSERT INTO d.t SELECT number FROM numbers({megabytes * MB // 8})")
        return self.ask("SELECT total_bytes, total_rows FROM system.tables "
                        "WHERE database = 'd' AND name = 't'")

    def allocated(self):
        return 0


class Polars:
    def __init__(self):
        import polars
        self.polars = polars
        self.held = []

    def load(self, megabytes):
        n = megabytes * MB // 8
        self.held.append(self.polars.select(
            self.polars.int_range(n, dtype=self.polars.Int64).alias("n") * 3))
        return f"{sum(f.estimated_size() for f in self.held)}"

    def allocated(self):
        return 0


database = {"chdb": Chdb, "polars": Polars}[sys.argv[1]]()
print("ready", flush=True)
for line in sys.stdin:
    what, *count = line.split()
    if what == "stop":
        break
    if what == "pages":
        answer = []
        worker = threading.Thread(
            target=lambda: answer.append(database.load(int(count[0]))))
        worker.start()
        worker.join()
        print(*answer, flush=True)
    elif what == "allocated":
        print(database.allocated(), flush=True)
    else:
        print("no such thing", flush=True)
print("stopped", flush=True)
