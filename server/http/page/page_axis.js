// Marks of axes: round figures and moments, their texts as short as they can be.
'use strict';
const lineAxis = (function () {
    const MINUTE = 60, HOUR = 3600, DAY = 86400;
    const STEPS = [1, 2, 5, 10, 15, 30, ...[1, 2, 5, 10, 15, 30].map((one) => one * MINUTE),
        ...[1, 2, 3, 6, 12].map((one) => one * HOUR), ...[1, 2, 7, 14, 28, 91, 364].map((one) => one * DAY)];

    const textOf = (t) => new Date(t * 1000).toISOString();

    // Two or three up to the highest.
    function sizes(highest) {
        const power = Math.floor(Math.log(highest) / Math.log(1024)), unit = 1024 ** power, list = [];
        const third = highest / unit / 3.3, ten = 10 ** Math.floor(Math.log10(third));
        const step = [5, 2, 1].find((one) => one * ten <= third) * ten;
        for (let i = 1; highest > 2 && i * step * unit < highest; i++)
            list.push({value: i * step * unit,
                text: `${Number((i * step).toPrecision(3))} ${flamePaint.size(unit).split(' ')[1]}`});
        return list;
    }

    // Of days their date, of others the clock; the first says where that clock is, and
    // the date if it is of another day than today.
    function timeTicks(from, to, most, today = Date.now() / 1000) {
        const step = STEPS.find((one) => (to - from) / one <= most) || STEPS[STEPS.length - 1], list = [];
        for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
            const text = textOf(t);
            list.push({t, text: t % DAY === 0 ? text.slice(5, 10) : text.slice(11, step < MINUTE ? 19 : 16)});
        }
        if (list.length && step < DAY) {
            const date = textOf(list[0].t).slice(5, 10);
            list[0].text += list[0].text === date ? ' UTC' : date === textOf(today).slice(5, 10) ? ' UTC' : ` UTC, ${date}`;
        }
        return list;
    }

    return {sizes, timeTicks};
})();
