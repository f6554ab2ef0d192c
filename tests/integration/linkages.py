"""Databases as they are linked and started: each is found, named and weighed,
and does what it does alone."""
import os
import sys

from linkage import LINKED, Form, run

SCRIPT = os.path.abspath("tests/integration/linked/start_be.sh")
STARROCKS = "static, prefix je, hooked malloc"
SHARED = "shared, prefix je, hooked malloc"
STATIC = "is static: the agent cannot be loaded into it"
OWN = "static, prefix je_, libc's malloc"
HOOKED = ("--allocator-frames", "my_*")
SERVER = os.path.join(LINKED, "starrocks-strip-unneeded")


def script(kind):
    return Form(f"by {kind}'s script", SCRIPT, kind, SERVER, exe=SERVER,
                linkage=STARROCKS, stripped=True, twin="starrocks", how="scan")


def hooked(name, linkage=STARROCKS, **more):
    return Form(name, linkage=linkage, options=HOOKED, **more)


FORMS = (
    hooked("starrocks", how="symtab"),
    hooked("starrocks-rdynamic", STARROCKS + ", -rdynamic", how="exported"),
    hooked("starrocks-strip-debug", stripped="debug", how="symtab"),
    hooked("starrocks-strip-unneeded", stripped=True, twin="starrocks",
           how="scan"),
    hooked("starrocks-rdynamic-stripped", STARROCKS + ", -rdynamic",
           stripped=True, how="exported"),
    hooked("starrocks-split", STARROCKS + ", debug file", stripped=True,
           how="debug"),
    hooked("starrocks-shared", SHARED, how="exported"),
    hooked("starrocks-shared-stripped", SHARED, stripped=True,
           twin="starrocks-shared", how="exported"),
    hooked("compiled-in", STARROCKS + ", malloc_conf", how="symtab",
           lg_sample=18),
    Form("own", linkage=OWN, symbol="je_mallctl", how="symtab"),
    Form("own-stripped", linkage=OWN, stripped=True, twin="own", how="scan",
         unnamed_leaf=True),
    script("starrocks"),
    script("doris"),
    script("plain"),
    Form("starrocks-static", linkage=STARROCKS + ", -static",
         words_on_stderr=STATIC),
    Form("starrocks-static-pie", linkage=STARROCKS + ", -static-pie",
         words_on_stderr=STATIC),
)

sys.exit(run(FORMS))
