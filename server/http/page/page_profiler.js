// What the head of the page says of a profiler.
'use strict';
const pageProfiler = (function () {
    // All nodes' profilers as one.
    function together(list, nodes) {
        const count = (what) => `${list.filter(what).length} of ${nodes}`;
        const costs = list.map((one) => one.overhead).filter((cost) => cost !== null);
        return {state: `${count((one) => one.state === 'connected')} connected`,
            profiling: `on in ${count((one) => one.active)}`, active: list.every((one) => one.active),
            overhead: costs.length ? costs.reduce((sum, cost) => sum + cost, 0) : null};
    }

    function costOf(profiler) {
        if (profiler.reason && !profiler.active)
            return profiler.reason;
        if (profiler.overhead !== null)
            return `costs ${profiler.overhead.toFixed(2)}% of one CPU`;
        return profiler.active ? 'its cost is not measured yet' :
            `one sample in ${flamePaint.size(profiler.sample_rate || 524288)}`;
    }

    return {together, costOf};
})();
