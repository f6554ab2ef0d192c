// The time line: memory over the kept history, snapshots and deaths as marks.
//
// new TimeLine(host, {picked}): picked(from, to) is called with two moments,
// seconds since 1970: of a brush, of two clicks, or of Enter twice. What it returns
// is said besides.
'use strict';
const TimeLine = (function () {
    const CURVES = ['rss', 'allocated', 'limit'], MARGIN = 6, SNAP = 8;
    // Where the next value is later, nothing was read: the kernel's are of each second,
    // jemalloc's of each ten, and so are another node's.
    const LAPSE_S = 5, SELDOM_S = 30;
    const element = Flame.element;

    const clock = (t) => new Date(t * 1000).toISOString().slice(5, 19).replace('T', ' ');

    class TimeLine {
        constructor(host, {picked}) {
            this.picked = picked;
            this.cursor = this.from = this.to = null;
            this.told = ''; // of what was picked
            this.canvas = element('canvas', {tabindex: '0', role: 'application',
                'aria-label': 'memory over time. Left and right move, with Shift further, up and ' +
                    'down to snapshots and deaths, Enter picks a moment, twice to compare two.'});
            this.said = element('p', {class: 'said', role: 'status'});
            host.append(element('div', {class: 'key'},
                ...[['rss', 'RSS'], ['allocated', 'allocated'], ['live', 'live bytes, at snapshots'],
                    ['limit', 'limit of the cgroup']].map(([name, text]) =>
                    element('span', {class: name}, element('i', {}), text)),
                element('span', {}, '▼ snapshot, ✕ death')), this.canvas, this.said);
            this.limits = host.querySelector('.limit');
            this.set([], []);
            this.listen();
            new ResizeObserver(() => this.draw()).observe(this.canvas);
        }

        listen() {
            const on = (what, how) => this.canvas.addEventListener(what, how);
            on('pointerdown', (event) => {
                this.canvas.setPointerCapture(event.pointerId);
                this.down = this.time(event);
            });
            on('pointermove', (event) => this.move(event));
            on('pointerup', (event) => this.up(event));
            on('pointercancel', () => {
                this.down = undefined; // it became a scroll
                this.brushed = false;
            });
            on('pointerleave', () => this.point(null));
            on('keydown', (event) => this.key(event));
        }

        set(samples, marks) {
            this.samples = samples;
            this.marks = marks;
            this.range = this.wholeRange();
            this.highest = this.highestValue();
            this.first = this.firstOfLives();
            this.limits.hidden = samples.every((one) => !one.limit);
            this.draw();
        }

        // Of each process, the first: before it there was no database.
        firstOfLives() {
            return new Set(this.samples.filter((one, i) => i > 0 && (one.pid !== this.samples[i - 1].pid ||
                one.started !== this.samples[i - 1].started)));
        }

        // ---- where a moment is ----

        wholeRange() {
            const times = [...this.marks.map((one) => one.t)];
            if (this.samples.length)
                times.push(this.samples[0].t, this.samples[this.samples.length - 1].t);
            if (!times.length)
                return [0, 1];
            const last = Math.max(...times);
            // What is older than the history is at its edge.
            const first = this.samples.length ? this.samples[0].t : Math.min(...times);
            return [first, Math.max(last, first + 10)];
        }

        x(t) {
            const [from, to] = this.range;
            const part = Math.min(Math.max((t - from) / (to - from), 0), 1);
            return MARGIN + part * (this.width - 2 * MARGIN);
        }

        time(event) {
            const box = this.canvas.getBoundingClientRect(), [from, to] = this.range;
            const x = event.clientX - box.left;
            const near = this.marks.filter((one) => Math.abs(this.x(one.t) - x) < SNAP)
                .sort((a, b) => Math.abs(this.x(a.t) - x) - Math.abs(this.x(b.t) - x))[0];
            if (near)
                return near.t;
            const part = (x - MARGIN) / (box.width - 2 * MARGIN);
            return from + Math.min(Math.max(part, 0), 1) * (to - from);
        }

        sampleAt(t) {
            let low = 0, high = this.samples.length - 1;
            while (low < high) {
                const middle = low + high + 1 >> 1;
                if (this.samples[middle].t <= t)
                    low = middle;
                else
                    high = middle - 1;
            }
            return this.samples[low];
        }

        // ---- drawing ----

        highestValue() {
            let most = 1;
            for (const one of this.samples)
                most = Math.max(most, one.rss || 0, one.allocated || 0);
            for (const one of this.marks)
                most = Math.max(most, one.live || 0);
            const limit = this.samples.length && this.samples[this.samples.length - 1].limit;
            // A limit far away would press the curves flat.
            return (limit && limit < most * 5 ? Math.max(limit, most) : most) * 1.08;
        }

        draw() {
            const canvas = this.canvas, ratio = window.devicePixelRatio || 1;
            const width = this.width = canvas.clientWidth, height = canvas.clientHeight;
            canvas.width = Math.round(width * ratio);
            canvas.height = Math.round(height * ratio);
            const pen = this.pen = canvas.getContext('2d');
            const style = getComputedStyle(document.documentElement);
            this.color = (name) => style.getPropertyValue(`--${name}`);
            pen.setTransform(ratio, 0, 0, ratio, 0, 0);
            this.em = parseFloat(getComputedStyle(canvas).fontSize);
            pen.font = `${this.em}px system-ui, sans-serif`;
            this.floor = height - 1.5 * this.em;
            const scale = (this.floor - 1.2 * this.em) / this.highest;
            this.y = (value) => this.floor - value * scale;
            this.drawAxes(width);
            for (const name of CURVES)
                this.drawCurve(name);
            this.drawMarks();
            this.drawSpan();
        }

        drawAxes(width) {
            const pen = this.pen, [from, to] = this.range;
            pen.fillStyle = this.color('dim');
            pen.strokeStyle = this.color('soft');
            const power = Math.floor(Math.log(this.highest) / Math.log(1024)), unit = 1024 ** power;
            const third = this.highest / unit / 3.3, ten = 10 ** Math.floor(Math.log10(third));
            const step = [5, 2, 1].find((one) => one * ten <= third) * ten; // a round figure
            for (let i = 1; this.highest > 2 && i * step * unit < this.highest; i++) {
                const y = this.y(i * step * unit);
                pen.beginPath();
                pen.moveTo(MARGIN, y);
                pen.lineTo(width - MARGIN, y);
                pen.stroke();
                pen.fillText(`${Number((i * step).toPrecision(3))} ${flamePaint.size(unit).split(' ')[1]}`, MARGIN + 2, y - 3);
            }
            if (!this.samples.length && !this.marks.length)
                return;
            const count = Math.max(Math.min(Math.floor(width / (14 * this.em)), 8), 2);
            for (let i = 0; i < count; i++) {
                const t = from + (to - from) * i / (count - 1);
                pen.textAlign = i === 0 ? 'left' : i === count - 1 ? 'right' : 'center';
                pen.fillText(clock(t) + (i === 0 ? ' UTC' : ''), this.x(t), this.floor + 1.2 * this.em);
            }
            pen.textAlign = 'left';
        }

        drawCurve(name) {
            const pen = this.pen;
            let gap = true, last = -1, before = -Infinity;
            pen.strokeStyle = this.color(name);
            pen.lineWidth = this.em / 7.5;
            pen.lineCap = 'round'; // a single one is a dot
            pen.setLineDash(name === 'limit' ? [6, 4] : []);
            pen.beginPath();
            for (const one of this.samples) {
                const x = this.x(one.t);
                gap = gap || this.first.has(one) || (one.responsive === 0 && name === 'allocated');
                if (one[name] === null) {
                    gap = gap || name === 'rss';
                    continue;
                }
                gap = gap || one.t - before > (name === 'allocated' || one.seldom ? SELDOM_S : LAPSE_S);
                before = one.t;
                if (x - last < 0.5 && !gap)
                    continue;
                if (gap)
                    pen.moveTo(x, this.y(one[name]));
                pen.lineTo(x, this.y(one[name]));
                gap = false;
                last = x;
            }
            pen.stroke();
            pen.lineCap = 'butt';
            pen.setLineDash([]);
        }

        drawMarks() {
            const pen = this.pen;
            for (const one of this.marks) {
                const x = this.x(one.t);
                pen.strokeStyle = pen.fillStyle = this.color(one.death ? 'wrong' : 'live');
                pen.lineWidth = 1;
                pen.beginPath();
                pen.moveTo(x, this.em);
                pen.lineTo(x, this.floor);
                pen.globalAlpha = 0.5;
                pen.stroke();
                pen.globalAlpha = 1;
                pen.textAlign = 'center';
                pen.fillText(one.death ? '✕' : '▼', x, 0.9 * this.em);
                pen.textAlign = 'left';
                if (one.live)
                    pen.fillRect(x - this.em / 4, this.y(one.live) - this.em / 4, this.em / 2, this.em / 2);
            }
        }

        drawSpan() {
            const pen = this.pen;
            pen.fillStyle = pen.strokeStyle = this.color('link');
            if (this.from !== null && this.to !== null) {
                pen.globalAlpha = 0.18;
                pen.fillRect(this.x(this.from), 0, this.x(this.to) - this.x(this.from), this.floor);
                pen.globalAlpha = 1;
            }
            for (const t of [this.from, this.to, this.cursor])
                if (t !== null) {
                    pen.beginPath();
                    pen.moveTo(this.x(t), 0);
                    pen.lineTo(this.x(t), this.floor);
                    pen.stroke();
                }
        }

        // ---- what people do ----

        describe(t) {
            const mark = this.marks.find((one) => one.t === t), one = this.sampleAt(t);
            let text = clock(t) + ' UTC';
            if (one && t - one.t > (one.seldom ? SELDOM_S : LAPSE_S))
                text += ', nothing was read';
            else if (one)
                for (const [name, word] of [['rss', 'RSS'], ['allocated', 'allocated'], ['limit', 'limit']])
                    if (one[name] !== null)
                        text += `, ${word} ${flamePaint.size(one[name])}`;
            text += one && one.responsive === 0 ? ', the database did not answer' : '';
            return mark ? `${text}; ${mark.text}` : text;
        }

        point(t) {
            this.cursor = t;
            this.said.textContent = t !== null ? this.describe(t) : this.told;
            this.draw();
        }

        move(event) {
            const t = this.time(event);
            if (this.down !== undefined && Math.abs(this.x(t) - this.x(this.down)) > 4) {
                this.from = Math.min(this.down, t);
                this.to = Math.max(this.down, t);
                this.brushed = true;
            }
            this.point(t);
        }

        up(event) {
            const t = this.time(event);
            if (this.down === undefined)
                return;
            this.down = undefined;
            if (this.brushed)
                this.pick(this.from, this.to);
            else
                this.choose(t);
            this.brushed = false;
        }

        // One end of two.
        choose(t) {
            if (this.from !== null && this.to === null && t !== this.from)
                this.pick(Math.min(this.from, t), Math.max(this.from, t));
            else {
                this.from = t;
                this.to = null;
                this.say('', this.picked(t, null));
                this.draw();
            }
        }

        pick(from, to) {
            this.from = from;
            this.to = to;
            this.cursor = null;
            this.draw();
            this.say(this.between(), this.picked(from, to));
        }

        say(...texts) {
            this.told = texts.filter(Boolean).join('; ');
            this.said.textContent = this.told;
        }

        // What grew from one moment to the other.
        between() {
            const a = this.sampleAt(this.from), b = this.sampleAt(this.to);
            let text = `${clock(this.from)} to ${clock(this.to)} UTC`;
            for (const [name, word] of [['rss', 'RSS'], ['allocated', 'allocated']])
                if (a && b && a[name] !== null && b[name] !== null)
                    text += `, ${word} ${b[name] >= a[name] ? '+' : ''}${flamePaint.size(b[name] - a[name])}`;
            return text;
        }

        key(event) {
            const [from, to] = this.range;
            const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
            if (step)
                this.point(Math.min(Math.max((this.cursor ?? to) +
                    step * (to - from) / (event.shiftKey ? 10 : 200), from), to));
            else if (event.key === 'ArrowUp' || event.key === 'ArrowDown')
                this.point(this.markBeside(event.key === 'ArrowUp' ? 1 : -1));
            else if (event.key === 'Enter' && this.cursor !== null)
                this.choose(this.nearest(this.cursor));
            else if (event.key === 'Escape') {
                this.from = this.to = null;
                this.say('');
                this.point(null);
            } else
                return;
            event.preventDefault();
        }

        // The next snapshot or death, or the one before.
        markBeside(step) {
            const at = this.cursor ?? (step > 0 ? -Infinity : Infinity);
            const times = this.marks.map((one) => one.t).filter((t) => (t - at) * step > 0);
            return times.length ? (step > 0 ? Math.min : Math.max)(...times) : this.cursor;
        }

        nearest(t) {
            const [from, to] = this.range;
            const near = this.marks.filter((one) => Math.abs(one.t - t) < (to - from) / 100);
            return near.length ? near[0].t : t;
        }
    }

    return TimeLine;
})();
