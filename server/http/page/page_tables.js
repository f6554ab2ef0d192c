// The tables of the page: what each asks for.
//
// of(node, snapshot, base, force) gives the statement; node is null for this one, a
// number for another, 'all' for all; snapshot and base are names as views take them;
// force: they are of two processes.  needs names the table of a tab that not every
// node has.
'use strict';
const pageTables = (function () {
    // The table's name where that node's rows are.
    const placeOf = (table, node) => `${node === null ? '' : 'cluster_'}${table}`;

    // Where the rows of that node are, or those of them that a condition holds for.
    function of(table, node, condition = '') {
        const all = [typeof node === 'number' ? `node_id = ${node}` : '', condition].filter(Boolean);
        return `heapwire.${placeOf(table, node)}${all.length ? ` WHERE ${all.join(' AND ')}` : ''}`;
    }

    // Functions of two snapshots that heap_diff does not compare.
    const side = (name, sign) => `SELECT \`function\`, module, ${sign}cast(flat_bytes AS signed) AS itself, ` +
        `${sign}cast(cum_bytes AS signed) AS grown FROM heapwire.heap_functions WHERE snapshot = ${data.quote(name)}`;
    const forcedFunctions = (snapshot, base) => 'SELECT `function`, sum(itself) AS itself, sum(grown) AS grown, module FROM ' +
        `(${side(snapshot, '')} UNION ALL ${side(base, '-')}) AS two GROUP BY 1, 4 HAVING itself <> 0 OR grown <> 0 ` +
        'ORDER BY abs(itself) DESC, abs(grown) DESC LIMIT 500';

    // The snapshot of a sum's name, as its nodes keep it.
    const ofNode = (node, name) => node === null ? name : name.includes(':') ? name.slice(name.indexOf(':') + 1) : 'now';

    // Pools of two snapshots that heap_pool_diff does not compare.
    const held = (node, name, sign) => `SELECT pool, ${sign}cast(live_bytes AS signed) AS bytes, ${sign}cast(live_objects AS signed) AS objects ` +
        `FROM ${of('heap_threads', node, `snapshot = ${data.quote(ofNode(node, name))}`)}`;
    const forcedPools = (node, snapshot, base) => 'SELECT pool, sum(bytes) AS grown_bytes, sum(objects) AS grown_objects FROM ' +
        `(${held(node, snapshot, '')} UNION ALL ${held(node, base, '-')}) AS two GROUP BY 1 ` +
        'HAVING grown_bytes <> 0 OR grown_objects <> 0 ORDER BY abs(grown_bytes) DESC LIMIT 500';

    const which = (node) => node === 'all' ? 'node_id, ' : '';

    const tables = {
        functions: {
            title: 'Functions', heap: true, narrow: true, bytes: ['flat_bytes', 'cum_bytes', 'grown', 'itself', 'error'],
            truths: ['significant'],
            of: (node, snapshot, base, force) => base && force ? forcedFunctions(snapshot, base) : base ?
                'SELECT `function`, flat_bytes AS itself, cum_bytes AS grown, cum_error AS error, ' +
                    `significant, module FROM heapwire.heap_diff WHERE snapshot = ${data.quote(snapshot)} ` +
                    `AND base = ${data.quote(base)} AND (flat_bytes <> 0 OR cum_bytes <> 0) ORDER BY abs(flat_bytes) DESC, abs(cum_bytes) DESC LIMIT 500` :
                'SELECT `function`, flat_bytes, flat_percent, cum_bytes, cum_percent, flat_objects, ' +
                    `cum_objects, module FROM heapwire.heap_functions WHERE snapshot = ${data.quote(snapshot)} ` +
                    'ORDER BY flat_bytes DESC, cum_bytes DESC LIMIT 500',
            cpu: (snapshot) => 'SELECT `function`, flat_time, flat_percent, cum_time, cum_percent, module ' +
                `FROM heapwire.cpu_functions WHERE snapshot = ${data.quote(snapshot)} ORDER BY 2 DESC, 4 DESC LIMIT 500`,
        },
        threads: {
            title: 'Threads', heap: true, narrow: true, bytes: ['live_bytes', 'top_bytes', 'grown_bytes', 'error'], truths: ['significant'],
            caption: 'What is in use by the thread that allocated it, or what its pool grew by.',
            none: 'The threads of this profile are not known, or nothing is sampled.',
            // Threads are not a sum's, but each of its nodes'.
            of: (node, snapshot, base, force) => base && force ? forcedPools(node, snapshot, base) : base ?
                'SELECT pool, grown_bytes, error, significant, grown_objects, top_bytes, top_function ' +
                    `FROM heapwire.heap_pool_diff WHERE snapshot = ${data.quote(snapshot)} ` +
                    `AND base = ${data.quote(base)} ORDER BY grown_bytes DESC LIMIT 500` :
                `SELECT pool, live_bytes, percent, live_objects, top_bytes, ${which(node)}name, coalesce(tid, concat('#', number)) AS thread, top_function FROM ` +
                    `${of('heap_threads', node, `snapshot = ${data.quote(ofNode(node, snapshot))}`)} ` +
                    'ORDER BY live_bytes DESC LIMIT 500',
        },
        snapshots: {
            title: 'Snapshots', narrow: true, bytes: ['bytes', 'size', 'rss', 'allocated'], truths: ['pinned'],
            of: (node) => 'SELECT name, kind, taken, node_id, ' +
                "if(kind = 'heap', bytes, NULL) AS bytes, samples, rss, allocated, cause, reason, " +
                `pinned, size FROM ${of('snapshots', node)} ORDER BY taken DESC`,
        },
        waste: {
            title: 'Waste', heap: true, needs: 'heap_waste', narrow: true,
            caption: 'Memory in pages that nobody uses, by the function that keeps it there.',
            bytes: ['waste_bytes', 'error_bytes', 'size_class', 'live_bytes', 'asked_bytes'],
            of: (node, snapshot) => "SELECT coalesce(`function`, concat('(', kind, ')')) AS `function`, waste_bytes, error_bytes, size_class, " +
                'round(100 * utilization, 2) AS used_percent, live_bytes, asked_bytes, kind FROM heapwire.heap_waste ' +
                `WHERE snapshot = ${data.quote(snapshot)} ORDER BY within IS NULL, waste_bytes DESC LIMIT 500`,
        },
        trend: {
            title: 'Trend', needs: 'heap_trend', narrow: true, none: 'Nothing is sampled.',
            caption: 'How fast each function grows, by the snapshots that are kept each hour while profiling is on.',
            bytes: ['bytes', 'bytes_per_hour', 'low', 'high'],
            of: (node) => "SELECT `function`, bytes, bytes_per_hour, low, high, growth_percent, " +
                `${which(node)}points, since, ages, concat_ws(': ', verdict, note) AS verdict ` +
                `FROM ${of('heap_trend', node)} ORDER BY bytes_per_hour DESC, bytes DESC LIMIT 500`,
        },
        mappings: {
            title: 'Mappings', needs: 'mappings', narrow: true, caption: 'What the database has mapped. Each look costs some milliseconds for each GB.',
            bytes: ['size', 'rss', 'anon', 'swap'],
            of: (node) => `SELECT coalesce(nullif(owner, ''), nullif(name, ''), concat('(', kind, ')')) AS owner, rss, size, anonymous AS anon, swap, ` +
                `${which(node)}tid, first_seen, permissions AS mode, start, kind FROM ${of('mappings', node)} ORDER BY rss DESC LIMIT 500`,
        },
        waits: {
            title: 'Waits', narrow: true, caption: 'What each thread does now: those that run, and some that wait, are stopped for it, for some microseconds each. ' +
                'Equal numbers in deadlock wait for each other for ever.',
            of: (node) => `SELECT ${which(node)}tid, coalesce(process, name) AS name, state, owner AS waits_for, deadlock, user_ms + system_ms AS cpu_ms, ` +
                `substring_index(wchan, '.', 1) AS wchan, coalesce(folded, why) AS stack FROM ${of('threads', node)} ` +
                'ORDER BY deadlock IS NULL, deadlock, owner IS NULL, cpu_ms DESC LIMIT 500',
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
        sql: {title: 'SQL'}, // pageSql
    };

    return {tables, of, placeOf};
})();
