"""Databases as they are linked and started: each is found, named and weighed,
and does what it does alone."""
import os
import sys

from linkage import LINKED, Form, build, run

SCRIPT = os.path.abspath("tests/integration/programs/linked/start_be.sh")
STARROCKS = "static, prefix je, hooked malloc"
SHARED = "shared, prefix je, hooked malloc"
STATIC = "is static: the agent cannot be loaded into it"
OWN = "static, prefix je_, libc's malloc"
SERVER = os.path.join(LINKED, "starrocks-strip-unneeded")


def script(kind):
    return Form(f"by {kind}'s script", SCRIPT, kind, SERVER, exe=SERVER,
                linkage=STARROCKS, stripped=True, twin="starrocks", how="scan")


FORMS = (
    Form("starrocks", linkage=STARROCKS, how="symtab"),
    Form("starrocks-rdynamic", linkage=STARROCKS + ", -rdynamic",
         how="exported"),
    Form("starrocks-strip-debug", linkage=STARROCKS, stripped="debug",
         how="symtab"),
    Form("starrocks-strip-unneeded", linkage=STARROCKS, stripped=True,
         twin="starrocks", how="scan"),
    Form("starrocks-rdynamic-stripped", linkage=STARROCKS + ", -rdynamic",
         stripped=True, how="exported"),
    Form("starrocks-split", linkage=STARROCKS + ", debug file", stripped=True,
         how="debug"),
    Form("starrocks-shared", linkage=SHARED, how="exported"),
    Form("starrocks-shared-stripped", linkage=SHARED, stripped=True,
         twin="starrocks-shared", how="exported"),
    Form("compiled-in", linkage=STARROCKS + ", malloc_conf", how="symtab",
         lg_sample=18),
    Form("own", linkage=OWN, symbol="je_mallctl", how="symtab"),
    Form("own-stripped", linkage=OWN, stripped=True, twin="own", how="scan"),
    script("starrocks"),
    script("doris"),
    script("plain"),
    Form("starrocks-static", linkage=STARROCKS + ", -static",
         words_on_stderr=STATIC),
    Form("starrocks-static-pie", linkage=STARROCKS + ", -static-pie",
         words_on_stderr=STATIC),
)

build()
sys.exit(run(FORMS))
