#!/usr/bin/env bash
# start_be.sh - a database's start, as its own script does it.
#
# start_be.sh starrocks|doris|plain PROGRAM...: StarRocks' exports options that
# profile, and becomes the database; Doris' has none of them, and waits for it;
# plain: as Doris', but it becomes it.

options="percpu_arena:percpu,oversize_threshold:0,muzzy_decay_ms:5000"
options="$options,dirty_decay_ms:5000,metadata_thp:auto,background_thread:true"
script=$1
shift
ulimit -n 1024
case $script in
starrocks)
    export JEMALLOC_CONF="$options,prof:true,prof_active:false"
    exec "$@"
    ;;
doris)
    export JEMALLOC_CONF="$options"
    "$@"
    exit $?
    ;;
plain)
    export JEMALLOC_CONF="$options"
    exec "$@"
    ;;
esac
