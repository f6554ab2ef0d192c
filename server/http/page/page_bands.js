// What RSS consists of, one kind upon the other.
'use strict';
const lineBands = (function () {
    // Jemalloc's figures are of each ten seconds: between two of them a line is drawn,
    // behind the last they hold for so long.
    const BETWEEN_S = 30, HOLDS_S = 12;
    const KINDS = [['allocated', 'allocated'], ['fragmentation', 'fragmentation'],
        ['free', 'free pages, metadata'], ['outside', 'outside jemalloc'], ['unknown', 'RSS, kind not known']];

    // Where each kind ends, from the lowest; never above RSS, which is what there is.
    // jemalloc counts pages that the kernel took away, too.
    function topsOf(rss, last) {
        const below = (value) => Math.min(value, rss);
        if (!last)
            return [0, 0, 0, 0, rss];
        const used = below(last.allocated);
        if (!hasPages(last))
            return [used, used, used, used, rss];
        const held = Math.max(below(last.active), used);
        return [used, held, Math.max(below(last.resident), held), rss, rss];
    }

    // Without them it is no jemalloc.
    const hasPages = (one) => Number.isFinite(one.active) && Number.isFinite(one.resident);

    function between(a, b, t) {
        const part = (t - a.t) / (b.t - a.t), mix = (name) => a[name] + part * (b[name] - a[name]);
        return hasPages(a) && hasPages(b) ? {allocated: mix('allocated'), active: mix('active'), resident: mix('resident')} :
            {allocated: mix('allocated')};
    }

    // For each sample the one before it, itself included, that has jemalloc's figures,
    // and the one behind it: of the same life, and both near.
    function readings(samples, first) {
        const list = [];
        let before = null;
        samples.forEach((one, i) => {
            before = one.allocated !== null ? one : first.has(one) ? null : before;
            list[i] = {before, behind: null};
        });
        let behind = null;
        for (let i = samples.length - 1; i >= 0; i--) {
            const one = samples[i], at = list[i];
            behind = one.allocated !== null ? one : behind;
            at.behind = at.before && behind && behind.t - at.before.t <= BETWEEN_S ? behind : null;
            if (at.before && !at.behind && one.t - at.before.t > HOLDS_S)
                at.before = null;
            if (first.has(one))
                behind = null;
        }
        return list;
    }

    // For each sample its tops, or null; first has the samples that begin a life.
    function stack(samples, first) {
        return readings(samples, first).map(({before, behind}, i) => {
            const {rss, t} = samples[i];
            return rss === null ? null : topsOf(rss, before && behind && behind !== before ? between(before, behind, t) : before);
        });
    }

    // The kinds that have any bytes.
    const seen = (stacks) => KINDS.filter((_, k) => stacks.some((tops) => tops && tops[k] > (k && tops[k - 1])))
        .map(([kind]) => kind);

    // pieces: lists of places in stacks, each drawn for itself; x(place), y(value).
    function draw(pen, stacks, pieces, x, y, color) {
        KINDS.forEach(([kind], k) => {
            pen.fillStyle = color(`band-${kind}`);
            for (const piece of pieces) {
                const last = piece[piece.length - 1], end = Math.max(x(last), x(piece[0]) + 1);
                pen.beginPath();
                for (const i of piece)
                    pen.lineTo(i === last ? end : x(i), y(stacks[i][k]));
                for (let n = piece.length - 1; n >= 0; n--)
                    pen.lineTo(piece[n] === last ? end : x(piece[n]), y(k ? stacks[piece[n]][k - 1] : 0));
                pen.fill();
            }
        });
    }

    // What a reading says, without what is not known.
    function tell(one, size) {
        const parts = [['allocated', one.allocated], ...hasPages(one) ? [['fragmentation', one.active - one.allocated],
            ['free pages, metadata', one.resident - one.active], ['outside jemalloc', one.rss - one.resident]] : []];
        return parts.filter(([, bytes]) => bytes > 0).map(([text, bytes]) => `, ${text} ${size(bytes)}`).join('');
    }

    return {KINDS, HOLDS_S, stack, seen, draw, tell};
})();
