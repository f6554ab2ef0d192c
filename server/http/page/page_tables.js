// The tables of the page: what each asks for.
//
// of(node, snapshot, base) gives the statement; node is null for this one, a number
// for another, 'all' for all; snapshot and base are names as views take them.
'use strict';
const pageTables = (function () {
    // Where the rows of that node are, or those of them that a condition holds for.
    function of(table, node, condition = '') {
        const all = [typeof node === 'number' ? `node_id = ${node}` : '', condition].filter(Boolean);
        return `heapwire.${node === null ? '' : 'cluster_'}${table}${all.length ? ` WHERE ${all.join(' AND ')}` : ''}`;
    }

    // The snapshot of a sum's name, as its nodes keep it.
    const ofNode = (node, name) => node === null ? name : name.includes(':') ? name.slice(name.indexOf(':') + 1) : 'now';

    const which = (node) => node === 'all' ? 'node_id, ' : '';

    const tables = {
        functions: {
            title: 'Functions', heap: true, bytes: ['flat_bytes', 'cum_bytes', 'grown', 'itself', 'error'],
            truths: ['significant'],
            of: (node, snapshot, base) => base ?
                'SELECT `function`, flat_bytes AS itself, cum_bytes AS grown, cum_error AS error, ' +
                    `significant, module FROM heapwire.heap_diff WHERE snapshot = ${data.quote(snapshot)} ` +
                    `AND base = ${data.quote(base)} ORDER BY abs(flat_bytes) DESC LIMIT 500` :
                'SELECT `function`, flat_bytes, flat_percent, cum_bytes, cum_percent, flat_objects, ' +
                    `cum_objects, module FROM heapwire.heap_functions WHERE snapshot = ${data.quote(snapshot)} ` +
                    'ORDER BY flat_bytes DESC LIMIT 500',
            cpu: (snapshot) => 'SELECT `function`, flat_time, flat_percent, cum_time, cum_percent, module ' +
                `FROM heapwire.cpu_functions WHERE snapshot = ${data.quote(snapshot)} ORDER BY 2 DESC LIMIT 500`,
        },
        threads: {
            title: 'Threads', heap: true, bytes: ['live_bytes', 'top_bytes', 'grown_bytes', 'error'], truths: ['significant'],
            caption: 'What is in use by the thread that allocated it, or what its pool grew by.',
            none: 'The threads of this profile are not known, or nothing is sampled.',
            // Not of a sum, but of each of its nodes.
            of: (node, snapshot, base) => base && node === null ?
                'SELECT pool, grown_bytes, error, significant, grown_objects, top_function, top_bytes ' +
                    `FROM heapwire.heap_pool_diff WHERE snapshot = ${data.quote(snapshot)} ` +
                    `AND base = ${data.quote(base)} ORDER BY grown_bytes DESC LIMIT 500` :
                `SELECT pool, name, ${which(node)}coalesce(tid, concat('#', number)) AS thread, live_bytes, percent, live_objects, top_function, top_bytes FROM ` +
                    `${of('heap_threads', node, `snapshot = ${data.quote(ofNode(node, snapshot))}`)} ` +
                    'ORDER BY live_bytes DESC LIMIT 500',
        },
        snapshots: {
            title: 'Snapshots', bytes: ['bytes', 'size', 'rss', 'allocated'], truths: ['pinned'],
            of: (node) => 'SELECT name, kind, taken, node_id, ' +
                "if(kind = 'heap', bytes, NULL) AS bytes, samples, rss, allocated, cause, reason, " +
                `pinned, size FROM ${of('snapshots', node)} ORDER BY taken DESC`,
        },
        waits: {
            title: 'Waits', caption: 'What each thread does now: those that run, and some that wait, are stopped for it, for some microseconds each. ' +
                'Equal numbers in deadlock wait for each other for ever.',
            of: (node) => `SELECT ${which(node)}tid, coalesce(process, name) AS name, state, owner AS waits_for_tid, deadlock, wchan, user_ms, ` +
                `system_ms, coalesce(folded, why) AS stack FROM ${of('threads', node)} ` +
                'ORDER BY deadlock IS NULL, deadlock, owner IS NULL, user_ms DESC LIMIT 500',
        },
        memory: {
            title: 'Memory', turned: true, bytes: ['rss', 'rss_file', 'allocated', 'active', 'metadata', 'resident',
                'mapped', 'retained', 'cgroup_current', 'cgroup_limit', 'unexplained'],
            of: (node) => `SELECT ${which(node)}taken, ${tables.memory.bytes.join(', ')} ` +
                `FROM ${of('memory', node)}`,
        },
        allocators: {
            title: 'Allocators', bytes: ['allocated'], truths: ['chosen', 'callable', 'can_profile', 'opt_prof',
                'active', 'serves_malloc', 'serves_new'],
            of: (node) => `SELECT * FROM ${of('allocators', node)}`,
        },
        arenas: {
            title: 'Arenas', bytes: ['small_allocated', 'large_allocated', 'active', 'dirty', 'muzzy',
                'mapped', 'retained', 'metadata', 'resident'],
            of: (node) => `SELECT * FROM ${of('malloc_arenas', node)} ORDER BY resident DESC`,
        },
        bins: {
            title: 'Bins', bytes: ['size', 'slab_size', 'allocated', 'wasted'],
            of: (node) => `SELECT * FROM ${of('malloc_bins', node, 'curslabs > 0')} ORDER BY wasted DESC`,
        },
        symbols: {
            title: 'Symbol indexes', bytes: ['bytes', 'debug_bytes'],
            of: (node) => `SELECT ${which(node)}object, state, bytes, debug_bytes, made, last_used, build_id, note ` +
                `FROM ${of('symbol_indexes', node)}`,
        },
        deaths: {
            title: 'Deaths', bytes: ['rss', 'allocated', 'cgroup_limit'],
            of: (node) => `SELECT ${which(node)}at, how, pid, program, oom_kills, rss, allocated, cgroup_limit, ` +
                `last_snapshot FROM ${of('deaths', node)} ORDER BY at DESC`,
        },
        nodes: {
            title: 'Nodes', truths: ['self', 'alive'],
            of: () => 'SELECT id, address, port, role, self, alive, state, profiling, version, round_trip_ms, ' +
                'last_error FROM heapwire.nodes ORDER BY id',
        },
    };

    return {tables, of};
})();
