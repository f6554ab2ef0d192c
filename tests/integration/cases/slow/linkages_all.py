"""Databases as they are linked: every jemalloc, and Rust's, with whatever cargo
there is."""
import os
import sys

from linkage import LINKED, Form, build, run

build("all")
STATIC = "static, jemalloc "
RUST = "tikv-jemallocator 0.6"
RUST_LIBRARY = "alloc::boxed::Box::new,alloc::vec::*,hashbrown::*,std::collections::*"
RUST_NAMES = ("PageCache.*::load", "Index<.*>.*::load")


def rust(name, linkage, **more):
    """Stripped and not."""
    more = dict(dict(symbol="_rjem_mallctl", names=RUST_NAMES,
                     options=("--allocator-frames", RUST_LIBRARY)),
                **more)
    return (Form(name, linkage=linkage, how="symtab", **more),
            Form(name + "-stripped", linkage=linkage, stripped=True, twin=name,
                 how="scan", **more))


FORMS = (
    Form("jemalloc-5.2.1", linkage=STATIC + "5.2.1, prefix je_", version="5.2.1",
         symbol="je_mallctl", how="symtab"),
    Form("jemalloc-5.2.1-stripped", linkage=STATIC + "5.2.1, prefix je_",
         version="5.2.1", symbol="je_mallctl", how="scan", stripped=True,
         twin="jemalloc-5.2.1"),
    Form("jemalloc-5.3.1", linkage=STATIC + "5.3.1, no prefix", version="5.3.1",
         symbol="mallctl", how="symtab"),
    Form("jemalloc-5.3.1-stripped", linkage=STATIC + "5.3.1, no prefix",
         version="5.3.1", symbol="mallctl", how="scan", stripped=True,
         twin="jemalloc-5.3.1"),
    Form("noprof", linkage=STATIC + "5.3.0, prefix je, without prof",
         refused="jemalloc without profiling"),
    Form("noprof-abort-conf", LINKED + "/noprof",
         linkage=STATIC + "5.3.0, prefix je, without prof",
         env={"JEMALLOC_CONF": "abort_conf:true"},
         refused="jemalloc without profiling"),
    *rust("rust", RUST),
    *rust("rust-lto", RUST + ", LTO"),
    *rust("rust-unprefixed", RUST + ", unprefixed", symbol="mallctl"),
    *rust("rust-compiled-in", RUST + ", malloc_conf", lg_sample=18),
    *rust("rust-noprof", RUST + ", without profiling",
          refused="jemalloc without profiling"),
)
if os.path.exists(os.path.join(LINKED, "jemalloc-dev")):
    FORMS += (Form("jemalloc-dev", linkage=STATIC + "development branch",
                   version="", symbol="je_mallctl", how="symtab"),)

sys.exit(run(FORMS))
