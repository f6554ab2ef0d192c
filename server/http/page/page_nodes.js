// All nodes: a row each, and a line each on the time line.
//
// fetch(known, ask) puts them into known.others, with what came since; show(host,
// known, press) shows the rows.
'use strict';
const pageNodes = (function () {
    // A line for each of so many nodes; of the time before, so much is read.
    const LINES_MAX = 16, BEFORE_S = 900, STEP_S = 10;
    const shareOf = (rss, limit) => rss !== null && limit ? 100 * rss / limit : null;

    async function fetch(known, ask) {
        const now = await ask('SELECT node_id, unix_timestamp(taken) AS t, rss, allocated, cgroup_limit AS `limit`, answered ' +
            'FROM heapwire.cluster_memory');
        const lines = known.nodes.length <= LINES_MAX;
        const before = known.others || !lines ? [] : await ask('SELECT node_id, unix_timestamp(at) AS t, pid, started, rss ' +
            `FROM heapwire.cluster_memory_history WHERE at > from_unixtime(unix_timestamp() - ${BEFORE_S}) AND unix_timestamp(at) % ${STEP_S} = 0 ORDER BY at`);
        const others = known.others || known.nodes.map(({id}) => ({id, name: String(id), samples: []}));
        for (const row of [...before, ...lines ? now : []]) {
            const one = others.find(({id}) => id === row.node_id), newest = one && one.samples[one.samples.length - 1];
            if (one && (!newest || Number(row.t) > newest.t))
                one.samples.push({pid: newest && newest.pid, started: newest && newest.started, ...row, t: Number(row.t), seldom: 1});
        }
        known.others = others;
        known.memory = now;
    }

    function rowOf(known, id) {
        const profiler = known.profilers.find((one) => one.node_id === id), memory = known.memory.find((one) => one.node_id === id);
        const deaths = known.deaths.filter((one) => one.node_id === id);
        const [worst = {}] = (known.diagnosis || []).filter((one) => one.node_id === id && one.place === 1);
        const {rss = null, allocated = null, limit = null} = memory || {};
        const state = profiler ? profiler.state : 'does not answer';
        return {node: id, state: state === 'gone' && rss !== null ? 'gone, at last' : state,
            diagnosis: [worst.verdict, worst.subject].filter(Boolean).join(': '), rss, percent_of_limit: shareOf(rss, limit), limit, allocated,
            profiling: profiler ? profiler.profiling : '',
            last_death: deaths.length ? `${deaths[deaths.length - 1].at}: ${deaths[deaths.length - 1].how}` : ''};
    }

    function show(host, known, press) {
        showTable(host, known.nodes.map(({id}) => rowOf(known, id)),
            {bytes: ['rss', 'allocated', 'limit'], press: (row) => press(row.node)});
        host.hidden = false;
    }

    return {fetch, show};
})();
