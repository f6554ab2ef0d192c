"""A memory cgroup of our own, of either version."""
import contextlib
import os

from node_under_test import wait_for


def remove(path):
    try:
        os.rmdir(path)
        return True
    except OSError:
        return False


@contextlib.contextmanager
def cgroup(name, limit):
    """The file that takes a process's number; None: none can be made here."""
    v2 = os.path.exists("/sys/fs/cgroup/cgroup.controllers")
    path = f"/sys/fs/cgroup/{'' if v2 else 'memory/'}heapwire-{name}-{os.getpid()}"
    try:
        os.mkdir(path)
    except OSError:
        yield None
        return
    try:
        try:
            with open(os.path.join(path, "memory.max" if v2 else
                                   "memory.limit_in_bytes"), "w",
                      encoding="ascii") as f:
                f.write(str(limit))
        except OSError:
            yield None
            return
        yield os.path.join(path, "cgroup.procs")
    finally:
        wait_for(lambda: remove(path))
