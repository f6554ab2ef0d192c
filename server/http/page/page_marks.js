// Snapshots and deaths as marks of the time line, and which two of them are meant.
'use strict';
const pageMarks = (function () {
    const seconds = (text) => Date.parse(`${text}Z`.replace(' ', 'T')) / 1000;

    function deathText(one) {
        const last = [['RSS', one.rss], ['allocated', one.allocated]].filter(([, value]) => value !== null)
            .map(([what, value]) => `last ${what} ${flamePaint.size(value)}`);
        return [`${one.node_id ? `node ${one.node_id}, ` : ''}death: ${one.how}`, ...last, ...one.last_snapshot ? [`last snapshot ${one.last_snapshot}`] : []].join(', ');
    }

    // What has no moment is in the tables alone.
    function of({snapshots, deaths}) {
        return [
            ...snapshots.map((one) => ({t: seconds(one.taken), live: one.bytes,
                text: `snapshot ${one.name}, ${flamePaint.size(one.bytes)} live`})),
            ...deaths.map((one) => ({t: seconds(one.at), death: true, text: deathText(one)}))]
            .filter((one) => Number.isFinite(one.t));
    }

    const processOf = (one) => `${one.node_id} ${one.pid} ${one.program}`;

    // Of a list, the one that is nearest to a moment; of those of one second, the
    // first, or (later) the last.
    const secondsFrom = (one, t) => Math.abs(seconds(one.taken) - t);
    const nearestTo = (list, t, later) => list.reduce((best, one) =>
        !best || secondsFrom(one, t) < secondsFrom(best, t) || (later && secondsFrom(one, t) === secondsFrom(best, t)) ? one : best, null);

    // The two of one process that are best for two moments: both within, if any are.
    function twoOf(snapshots, from, to) {
        let best = null;
        for (const key of new Set(snapshots.map(processOf))) {
            const all = snapshots.filter((one) => processOf(one) === key);
            const within = all.filter((one) => seconds(one.taken) > from - 1 && seconds(one.taken) < to + 1);
            const list = within.length > 1 ? within : all;
            const first = nearestTo(list, from, false), second = nearestTo(list, to, true);
            const far = secondsFrom(first, from) + secondsFrom(second, to);
            const pair = {first, second, within: list === within, far};
            if (first !== second && (!best || pair.within > best.within || (pair.within === best.within && far < best.far)))
                best = pair;
        }
        return best;
    }

    return {of, secondsFrom, nearestTo, twoOf};
})();
