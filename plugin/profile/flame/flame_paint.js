// Colors, texts and figures of flame graphs.
'use strict';
const flamePaint = (function () {
    const UNSEEN = '[not in the profile]';
    // What is drawn, and how; of a name its saturation and lightness, each from and
    // how much more; of growth the lightness of none and how much more of the most.
    const LIGHT = {ink: '#1b1b1b', paper: '#fff', grey: 'hsl(0 0% 85%)', noise: 'hsl(0 0% 91%)', crowd: '#b5b9b2', hit: '#ee3cd2',
        pointed: '#1b1b1b', focused: '#0b3d91', name: [42, 20, 66, 11], module: [48, 72, 5], growth: [85, 93, -30]};
    const DARK = {ink: '#f4f4f4', paper: '#15181c', grey: 'hsl(0 0% 28%)', noise: 'hsl(0 0% 24%)', crowd: '#4a4e48', hit: '#a3128c',
        pointed: '#fff', focused: '#9cc9ff', name: [34, 14, 23, 8], module: [36, 23, 3], growth: [70, 20, 20]};
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const palette = () => scheme.matches ? DARK : LIGHT;
    const GOLDEN = 137.508; // degrees: neighbours differ most

    function hash(text) {
        let h = 2166136261; // FNV-1a: the same picture every time
        for (let i = 0; i < text.length; i++)
            h = Math.imul(h ^ text.charCodeAt(i), 16777619) >>> 0;
        return (h ^ h >>> 15) >>> 0;
    }

    // Brendangregg.com's colors: green for memory, orange for time.
    const hueOf = (tree, h) => tree.unit === 'time' || tree.unit === 'samples' ? 5 + h % 50 : 80 + h % 75;

    function byName(tree, name) {
        const h = hash(name), [grey, vivid, dark, light] = palette().name;
        return `hsl(${hueOf(tree, h)} ${grey + (h >>> 8) % 100 / 100 * vivid}% ${dark + (h >>> 16) % 100 / 100 * light}%)`;
    }

    function byModule(module) {
        const [vivid, dark, step] = palette().module;
        return `hsl(${(module * GOLDEN) % 360} ${vivid}% ${dark + module % 3 * step}%)`;
    }

    // Red grew, blue shrank; grey may be chance.
    function byGrowth(tree, i) {
        const total = tree.total[i], {noise, growth: [vivid, none, more]} = palette();
        if (total === 0 || tree.noise[i])
            return noise;
        const part = Math.sqrt(Math.min(Math.abs(total) / tree.heaviest, 1));
        return `hsl(${total > 0 ? 8 : 215} ${vivid}% ${none + Math.round(more * part)}%)`;
    }

    const isGrey = (name, i) => i === 0 && name === 'all' ||
        /^\((no frames|\d+ smaller callees?)\)$/.test(name); // no function

    // A function from a frame to its color, for one way to color.
    function painter(tree, way) {
        if (way === 'growth')
            return (i) => byGrowth(tree, i);
        const known = tree.names.map(() => '');
        return (i) => {
            const n = tree.name[i], name = tree.names[n];
            if (!known[n])
                known[n] = isGrey(name, i) ? palette().grey :
                    way === 'module' ? byModule(tree.module[n]) : byName(tree, name);
            return known[n];
        };
    }

    const isWide = (code) =>
        code >= 0x1100 && (code <= 0x115f || (code >= 0x2e80 && code <= 0xa4cf) ||
            (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
            (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
            (code >= 0x1f300 && code <= 0x1faff) || code >= 0x20000);

    // The part of a name that fits into so many columns, with an ellipsis.
    function fit(name, columns) {
        let used = 0, cut = 0, at = 0;
        if (columns < 3)
            return '';
        for (const character of name) {
            used += isWide(character.codePointAt(0)) ? 2 : 1;
            if (used > columns)
                return name.slice(0, cut) + '\u2026';
            at += character.length;
            if (used < columns)
                cut = at;
        }
        return name;
    }

    function amount(number, step, units) {
        let value = Math.abs(number), unit = 0;
        for (; value >= step && unit < units.length - 1; unit++)
            value /= step;
        return `${number < 0 ? '-' : ''}${unit ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
    }

    const size = (bytes) => amount(bytes, 1024, ['B', 'KB', 'MB', 'GB', 'TB', 'PB']);
    const time = (nanoseconds) => amount(nanoseconds, 1000, ['ns', 'us', 'ms', 's']);

    function figure(tree, value, signed) {
        const text = tree.unit === 'bytes' ? size(value) : tree.unit === 'time' ? time(value) :
            `${Math.round(value)} ${tree.unit}`;
        return signed && value > 0 ? '+' + text : text;
    }

    // What frame i is, beside its name.
    function describe(tree, i) {
        const total = tree.total[i], whole = tree.width[0] || 1;
        const share = (100 * tree.width[i] / whole).toFixed(2) + '%';
        let text = figure(tree, total, tree.difference);
        if (tree.unit === 'bytes' && Math.abs(total) >= 1024)
            text += ` (${Math.round(total)} bytes)`;
        if (tree.difference) {
            if (tree.width[i] > Math.abs(total))
                text += `, ${figure(tree, tree.width[i])} changed`;
            text += `, ${share} of what changed`;
            text += tree.noise[i] ? ', within sampling noise' : '';
        } else {
            text += `, ${share}`;
            if (tree.end[i] > i + 1 && tree.self[i] >= 0.5)
                text += `, itself ${figure(tree, tree.self[i])}`;
        }
        const module = tree.modules[tree.module[tree.name[i]]];
        return module ? `${text}, in ${module}` : text;
    }

    function unseen(tree) {
        const all = tree.unseen + tree.total[0];
        return `${UNSEEN}: ${size(tree.unseen)}, ${(100 * tree.unseen / all).toFixed(1)}% of the ${size(all)} ` +
            `that are in use: ${tree.unseen_why}. Click “all” to look at the profile alone.`;
    }

    return {palette, scheme, UNSEEN, unseen, hash, painter, fit, size, describe};
})();
