"""Programs that unwinders find hard, built and run; and Redis at work."""
import contextlib
import os
import subprocess

from node_under_test import wait_for
from ports import free_port
from redis_node import redis_answers

SOURCES = "tests/integration/programs/profiled/unwound."
MODES = ("mixed frames exceptions recursion tail plt clock calls signals "
         "altstack fiber").split()
CC = ["-pthread", SOURCES + "cc"]
C = [SOURCES + "c"]
# How it is built, the output's name apart; what it is run with.
BUILDS = {
    "g++ -O2": (["g++", "-O2", *CC], MODES),
    "g++ -O0": (["g++", "-O0", *CC], MODES),
    "g++ -O2 -fno-omit-frame-pointer": (
        ["g++", "-O2", "-fno-omit-frame-pointer", *CC], MODES),
    "clang++ -O2": (["clang++", "-O2", *CC], MODES),
    "clang++ -O2 -fno-omit-frame-pointer": (
        ["clang++", "-O2", "-fno-omit-frame-pointer", *CC], MODES),
    "g++ -O3 -static": (["g++", "-O3", "-static", *CC], MODES),
    "g++ -O2 -static-pie, stripped": (
        ["g++", "-O2", "-static-pie", "-s", *CC], MODES),
    "g++ -O2, stripped": (["g++", "-O2", "-s", *CC], MODES),
    "g++ -O2, -z lazy, -fcf-protection": (
        ["g++", "-O2", "-Wl,-z,lazy", "-fcf-protection=full", *CC], MODES),
    "g++ -O2, gold, -z lazy": (
        ["g++", "-O2", "-fuse-ld=gold", "-Wl,-z,lazy", *CC], MODES),
    "g++ -O2, code that is made": (["g++", "-O2", *CC], ["jit"]),
    "gcc, .debug_frame alone": (
        ["gcc", "-g", "-O2", "-fno-asynchronous-unwind-tables", *C], []),
    "gcc, frame pointers alone": (
        ["gcc", "-O2", "-fno-asynchronous-unwind-tables",
         "-fno-omit-frame-pointer", *C], []),
    "musl": (["musl-gcc", "-O2", *C], []),
    "musl -static": (["musl-gcc", "-O2", "-static", *C], []),
    "rustc -O": (["rustc", "-O", SOURCES + "rs"], []),
    "go": (["go", "build"], []),
}


@contextlib.contextmanager
def running(command, **options):
    with subprocess.Popen(command, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, **options) as process:
        try:
            yield process
        finally:
            process.kill()


@contextlib.contextmanager
def built(work, name):
    build, arguments = BUILDS[name]
    program = os.path.join(work, "unwound")
    subprocess.run([*build, "-o", program,
                    *([SOURCES + "go"] if name == "go" else [])], check=True)
    with running([program, *arguments]) as process:
        yield process.pid


@contextlib.contextmanager
def redis_load(port):
    with running(["redis-benchmark", "-p", str(port), "-l", "-q", "-t",
                  "set,get,incr,lpush,lpop,sadd,hset,zadd,lrange,mset"]):
        yield


@contextlib.contextmanager
def redis(work, _=None):
    port = str(free_port())
    with running(["redis-server", "--port", port, "--save", "", "--dir", work]
                 ) as server:
        wait_for(lambda: redis_answers(int(port)))
        with redis_load(port):
            yield server.pid
