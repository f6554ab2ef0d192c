// The tables of the page: what each asks for.
//
// of(node) gives the statement; node is null for this one, a number for another,
// 'all' for the sum.  Without here: this node's alone.
'use strict';
const pageTables = (function () {
    const whole = (node) => node === 'all' ? '' : ` WHERE node_id = ${node}`;
    const from = (table, node) => node === null ? `heapwire.${table}` :
        `heapwire.cluster_${table}${whole(node)}`;

    return {
        functions: {
            title: 'Functions', bytes: ['flat_bytes', 'cum_bytes', 'grown', 'itself', 'error'],
            of(node, snapshot, base) {
                if (base)
                    return 'SELECT `function`, cum_bytes AS grown, flat_bytes AS itself, cum_error AS error, ' +
                        'significant, module FROM heapwire.heap_diff WHERE snapshot = ' +
                        `${data.quote(snapshot)} AND base = ${data.quote(base)} ` +
                        'ORDER BY abs(cum_bytes) DESC LIMIT 500';
                const columns = 'SELECT `function`, flat_bytes, flat_percent, cum_bytes, cum_percent, ' +
                    'flat_objects, cum_objects, module FROM ';
                return node === null ?
                    `${columns}heapwire.heap_functions WHERE snapshot = ${data.quote(snapshot)} ` +
                        'ORDER BY flat_bytes DESC LIMIT 500' :
                    `${columns}${from('heap_functions', node)} ORDER BY flat_bytes DESC LIMIT 500`;
            },
        },
        snapshots: {
            title: 'Snapshots', bytes: ['bytes', 'size', 'rss', 'allocated'],
            of: (node) => `SELECT name, taken, ${node === null ? '' : 'node_id, '}bytes, samples, rss, allocated, cause, reason, ` +
                `pinned, size FROM ${from('snapshots', node)} ORDER BY taken DESC`,
        },
        memory: {
            title: 'Memory', turned: true,
            of: (node) => 'SELECT taken, rss, rss_file, allocated, active, metadata, resident, mapped, retained, ' +
                `cgroup_current, cgroup_limit, unexplained FROM ${from('memory', node)}`,
        },
        allocators: {
            title: 'Allocators', bytes: ['allocated'],
            of: (node) => `SELECT * FROM ${from('allocators', node)}`,
        },
        arenas: {
            title: 'Arenas', here: true, bytes: ['small_allocated', 'large_allocated', 'active', 'dirty', 'muzzy',
                'mapped', 'retained', 'metadata', 'resident'],
            of: () => 'SELECT * FROM heapwire.malloc_arenas ORDER BY resident DESC',
        },
        bins: {
            title: 'Bins', here: true, bytes: ['slab_size', 'allocated', 'wasted'],
            of: () => 'SELECT * FROM heapwire.malloc_bins WHERE curslabs > 0 ORDER BY wasted DESC',
        },
        symbols: {
            title: 'Symbol indexes', here: true, bytes: ['bytes', 'debug_bytes'],
            of: () => 'SELECT object, state, bytes, debug_bytes, made, last_used, build_id, note ' +
                'FROM heapwire.symbol_indexes',
        },
        deaths: {
            title: 'Deaths', here: true, bytes: ['rss', 'allocated', 'cgroup_limit'],
            of: () => 'SELECT at, how, pid, program, oom_kills, rss, allocated, cgroup_limit, last_snapshot ' +
                'FROM heapwire.deaths ORDER BY at DESC',
        },
        nodes: {
            title: 'Nodes', here: true,
            of: () => 'SELECT id, address, port, role, self, alive, state, profiling, version, round_trip_ms, ' +
                'last_error FROM heapwire.nodes ORDER BY id',
        },
    };
})();
