"""Runs a file's tests in their order, and says how long each took."""
import time
from concurrent.futures import ThreadPoolExecutor


def named(module, names=(), prefix="test_"):
    """By name, of the globals given: all, or those that are asked for."""
    tests = {n[len(prefix):]: f for n, f in module.items()
             if n.startswith(prefix)}
    unknown = set(names) - set(tests)
    assert not unknown, f"no such test: {unknown}"
    return {n: f for n, f in tests.items() if not names or n in names}


def in_parallel(test):
    """It has nodes of its own, and waits for a time that no setting makes
    shorter: it runs while the other tests do."""
    test.in_parallel = True
    return test


def needs(look):
    """One of machine.py: where it tells why not, the test is skipped."""
    def mark(test):
        test.needs = look
        return test
    return mark


def of_each(test, *nodes):
    """The same test of several nodes at once."""
    with ThreadPoolExecutor(len(nodes)) as pool:
        list(pool.map(test, nodes))


def run_tests(tests, *arguments, label=""):
    def run(name, test):
        why = test.needs() if hasattr(test, "needs") else ""
        if why:
            print(f"skipped: {label}{name}: {why}", flush=True)
            return
        began = time.monotonic()
        test(*arguments)
        print(f"ok {label}{name} ({time.monotonic() - began:.1f} s)",
              flush=True)

    waiting = {n: t for n, t in tests.items() if hasattr(t, "in_parallel")}
    with ThreadPoolExecutor(len(waiting) or 1) as pool:
        ends = [pool.submit(run, n, t) for n, t in waiting.items()]
        for name, test in tests.items():
            if name not in waiting:
                run(name, test)
        for end in ends:
            end.result()
