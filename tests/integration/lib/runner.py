"""Runs a file's tests in their order, and says how long each took."""
import time


def named(module, names=(), prefix="test_"):
    """By name, of the globals given: all, or those that are asked for."""
    tests = {n[len(prefix):]: f for n, f in module.items()
             if n.startswith(prefix)}
    unknown = set(names) - set(tests)
    assert not unknown, f"no such test: {unknown}"
    return {n: f for n, f in tests.items() if not names or n in names}


def run_tests(tests, *arguments, label=""):
    for name, test in tests.items():
        began = time.monotonic()
        test(*arguments)
        print(f"ok {label}{name} ({time.monotonic() - began:.1f} s)",
              flush=True)
