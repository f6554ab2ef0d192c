// The time line: memory over the kept history, snapshots and deaths as marks.
//
// new TimeLine(host, {picked}): picked(from, to) is called with two moments,
// seconds since 1970: of a brush, of two clicks, or of Enter twice. What it returns
// is said besides.
'use strict';
const TimeLine = (function () {
    const CURVES = ['rss', 'allocated', 'limit'], MARGIN = 6, SNAP = 8;
    // Where the next value is later, nothing was read: the kernel's are of each second,
    // jemalloc's of each ten, and so are another node's; older ones stand for as many
    // seconds as they say.
    const LAPSE_S = 5, SELDOM_S = 30, LAPSES = 2.5;
    // What is drawn, in seconds to the newest; 0: all.
    const HOUR = 3600, SPANS = [[HOUR, 'the last hour'], [6 * HOUR, '6 hours'], [24 * HOUR, 'the last day'], [168 * HOUR, 'the last week'], [0, 'all']];
    const GOLDEN = 137.508; // degrees: neighbours differ most
    const element = Flame.element;

    const clock = (t) => new Date(t * 1000).toISOString().slice(5, 19).replace('T', ' ');
    const lapseOf = (one) => Math.max(one.seldom ? SELDOM_S : LAPSE_S, LAPSES * (one.seconds || 0));
    const hasGap = (a, b) => b.t - a.t > Math.max(lapseOf(a), lapseOf(b));

    class TimeLine {
        constructor(host, {picked}) {
            this.picked = picked;
            this.cursor = this.from = this.to = null;
            this.pickedText = ''; // of what was picked
            this.canvas = element('canvas', {tabindex: '0', role: 'application',
                'aria-label': 'memory over time. Left and right move, with Shift further, up and ' +
                    'down to snapshots and deaths, Enter picks a moment, twice to compare two.'});
            this.said = element('p', {class: 'said', role: 'status'});
            this.legend = element('div', {class: 'key'},
                ...lineBands.KINDS.map(([kind, text]) =>
                    element('span', {class: `block ${kind}`}, element('i', {}), text)).reverse(),
                ...[['rss', 'RSS'], ['limit', 'limit of the cgroup'], ['live', 'live bytes, at snapshots']].map(([name, text]) =>
                    element('span', {class: name}, element('i', {}), text)),
                element('span', {class: 'marks'}, '▼ snapshot, ✕ death'));
            this.span = element('select', {'aria-label': 'how much is shown'});
            this.wanted = 6 * HOUR;
            this.span.addEventListener('change', () => {
                this.wanted = Number(this.span.value);
                this.set(...this.given);
            });
            this.legend.append(this.span);
            host.append(this.legend, this.canvas, this.said);
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
            on('keydown', (event) => this.press(event));
        }

        // others: of several nodes {name, samples}, whose RSS is a line each.
        set(samples, marks, others = null) {
            this.given = [samples, marks, others];
            const from = others ? -Infinity : this.spanStart(samples);
            this.others = others;
            this.samples = samples.filter((one) => one.t >= from);
            this.marks = marks.filter((one) => one.t >= from);
            this.range = this.wholeRange();
            this.highest = this.highestValue();
            this.first = this.firstOfLives();
            this.stacks = others ? [] : lineBands.stack(this.samples, this.first);
            this.showKey();
            this.draw();
        }

        // When what is shown begins: of a history that is longer than an hour there is a
        // choice.
        spanStart(samples) {
            const newest = samples.length ? samples[samples.length - 1].t : 0, length = samples.length ? newest - samples[0].t : 0;
            const list = SPANS.filter(([span]) => span < length), [span] = list.find(([one]) => one === this.wanted) || [0];
            this.span.hidden = list.length < 2;
            if (this.span.length !== list.length)
                this.span.replaceChildren(...list.map(([value, text]) => element('option', {value: String(value)}, text)));
            this.span.value = String(span);
            return span ? newest - span : -Infinity;
        }

        showKey() {
            const kinds = lineBands.seen(this.stacks), limit = this.limitNow();
            for (const [kind] of lineBands.KINDS)
                this.legend.querySelector(`.${kind}`).hidden = !kinds.includes(kind);
            const there = {rss: !this.others, live: !this.others && this.marks.some((one) => one.live), marks: this.marks.length > 0};
            for (const [name, shown] of Object.entries(there))
                this.legend.querySelector(`.${name}`).hidden = !shown;
            this.limits.hidden = Boolean(this.others) || this.samples.every((one) => !one.limit);
            this.limits.lastChild.textContent = limit > this.highest ? `limit: ${flamePaint.size(limit)}, far above` : 'limit of the cgroup';
        }

        // Of each process, the first: before it there was no database.
        firstOfLives() {
            return new Set(this.samples.filter((one, i) => i > 0 && (one.pid !== this.samples[i - 1].pid ||
                one.started !== this.samples[i - 1].started)));
        }

        // ---- where a moment is ----

        all() {
            return this.others ? this.others.flatMap((one) => one.samples) : this.samples;
        }

        wholeRange() {
            const times = [...this.marks.map((one) => one.t)], lists = this.others ? this.others.map((one) => one.samples) : [this.samples];
            const some = lists.filter((one) => one.length);
            for (const one of some)
                times.push(one[0].t, one[one.length - 1].t);
            if (!times.length)
                return [0, 1];
            const last = Math.max(...times);
            // What is older than the history is at its edge.
            const first = Math.min(...(some.length ? some.map((one) => one[0].t) : times));
            return [first, Math.max(last, first + 10)];
        }

        x(t) {
            const [from, to] = this.range;
            const part = Math.min(Math.max((t - from) / (to - from), 0), 1);
            return this.left + part * (this.width - this.left - this.right);
        }

        time(event) {
            const box = this.canvas.getBoundingClientRect(), [from, to] = this.range;
            const x = event.clientX - box.left;
            const near = this.marks.filter((one) => Math.abs(this.x(one.t) - x) < SNAP)
                .sort((a, b) => Math.abs(this.x(a.t) - x) - Math.abs(this.x(b.t) - x))[0];
            if (near)
                return near.t;
            const part = (x - this.left) / (box.width - this.left - this.right);
            return from + Math.min(Math.max(part, 0), 1) * (to - from);
        }

        placeAt(t, samples = this.samples) {
            let low = 0, high = samples.length - 1;
            while (low < high) {
                const middle = low + high + 1 >> 1;
                if (samples[middle].t <= t)
                    low = middle;
                else
                    high = middle - 1;
            }
            return low;
        }

        sampleAt(t) {
            return this.samples[this.placeAt(t)];
        }

        // ---- drawing ----

        limitNow() {
            return !this.others && this.samples.length && this.samples[this.samples.length - 1].limit || 0;
        }

        highestValue() {
            let most = 1;
            for (const one of this.all())
                most = Math.max(most, one.rss || 0, one.allocated || 0);
            for (const one of this.marks)
                most = Math.max(most, this.others ? 0 : one.live || 0);
            const limit = this.limitNow();
            // A limit far away would press the curves flat.
            return (limit < most * 5 ? Math.max(limit, most) : most) * 1.08;
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
            this.baseline = height - 1.5 * this.em;
            const scale = (this.baseline - 1.2 * this.em) / this.highest;
            this.y = (value) => this.baseline - value * scale;
            this.sizes = lineAxis.sizes(this.highest);
            const widest = (texts) => Math.max(0, ...texts.map((text) => pen.measureText(text).width));
            this.left = MARGIN + widest(this.sizes.map((one) => one.text)) + MARGIN; // the figures stand beside the curves
            this.right = MARGIN + widest((this.others || []).map((one) => one.name));
            if (!this.others)
                lineBands.draw(pen, this.stacks, this.pieces(), (i) => this.x(this.samples[i].t), this.y, this.color);
            this.drawAxes(width);
            if (this.others)
                this.drawOthers();
            else
                for (const name of CURVES)
                    this.drawCurve(name);
            this.drawMarks();
            this.drawSpan();
        }

        drawAxes(width) {
            const pen = this.pen, [from, to] = this.range;
            pen.fillStyle = this.color('dim');
            pen.strokeStyle = this.color('line');
            for (const {value, text} of this.sizes) {
                const y = this.y(value);
                pen.globalAlpha = 0.25;
                pen.beginPath();
                pen.moveTo(this.left, y);
                pen.lineTo(width - this.right, y);
                pen.stroke();
                pen.globalAlpha = 1;
                pen.textAlign = 'right';
                pen.fillText(text, this.left - MARGIN, y + 0.35 * this.em);
            }
            pen.textAlign = 'left';
            if (!this.all().length && !this.marks.length)
                return;
            for (const {t, text} of lineAxis.timeTicks(from, to, Math.max(Math.floor((width - this.left) / (8 * this.em)), 2))) {
                const half = pen.measureText(text).width / 2;
                pen.fillText(text, Math.min(Math.max(this.x(t), half), width - half) - half, this.baseline + 1.2 * this.em);
            }
        }

        // The places whose samples are drawn together: not where nothing was read, nor
        // two of one pixel.
        pieces() {
            const list = [];
            let before = null, last = -2;
            this.samples.forEach((one, i) => {
                if (!this.stacks[i]) {
                    before = null;
                    return;
                }
                const x = this.x(one.t), gap = !before || this.first.has(one) || hasGap(before, one);
                before = one;
                if (gap)
                    list.push([]);
                else if (x - last < 0.5)
                    return;
                list[list.length - 1].push(i);
                last = x;
            });
            return list;
        }

        drawCurve(name, samples = this.samples, color = this.color(name)) {
            const pen = this.pen;
            let last = -2, before = null, gap = true;
            pen.strokeStyle = color;
            pen.lineWidth = this.em / 7.5;
            pen.lineCap = 'round'; // a single one is a dot
            pen.setLineDash(name === 'limit' ? [6, 4] : []);
            pen.beginPath();
            for (const one of samples) {
                const x = this.x(one.t);
                gap = gap || this.first.has(one) || (one.responsive === 0 && name === 'allocated');
                if (one[name] === null) {
                    gap = gap || name === 'rss';
                    continue;
                }
                gap = gap || (hasGap(before, one) && !(name === 'allocated' && one.t - before.t <= SELDOM_S));
                before = one;
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

        // Each with its name at its end, where that has room.
        drawOthers() {
            const pen = this.pen, taken = [];
            this.others.forEach(({name, samples}, i) => {
                const color = `hsl(${(210 + i * GOLDEN) % 360} 65% ${flamePaint.scheme.matches ? 68 : 36}%)`;
                const last = samples[samples.length - 1];
                this.drawCurve('rss', samples, color);
                let y = last && last.rss !== null ? this.y(last.rss) : NaN;
                while (taken.some((one) => Math.abs(one - y) < this.em))
                    y += this.em; // below the others
                if (!(y >= 0 && y < this.baseline))
                    return;
                taken.push(y);
                pen.fillStyle = color;
                pen.fillText(name, this.x(last.t) + MARGIN / 2, y + 0.35 * this.em);
            });
        }

        drawMarks() {
            const pen = this.pen;
            for (const one of this.marks) {
                const x = this.x(one.t);
                pen.strokeStyle = pen.fillStyle = this.color(one.death ? 'wrong' : 'live');
                pen.lineWidth = 1;
                pen.beginPath();
                pen.moveTo(x, this.em);
                pen.lineTo(x, this.baseline);
                pen.globalAlpha = 0.5;
                pen.stroke();
                pen.globalAlpha = 1;
                pen.textAlign = 'center';
                pen.fillText(one.death ? '✕' : '▼', x, 0.9 * this.em);
                pen.textAlign = 'left';
                if (one.live && !this.others)
                    pen.fillRect(x - this.em / 4, this.y(one.live) - this.em / 4, this.em / 2, this.em / 2);
            }
        }

        drawSpan() {
            const pen = this.pen;
            pen.fillStyle = pen.strokeStyle = this.color('link');
            if (this.from !== null && this.to !== null) {
                pen.globalAlpha = 0.18;
                pen.fillRect(this.x(this.from), 0, this.x(this.to) - this.x(this.from), this.baseline);
                pen.globalAlpha = 1;
            }
            for (const t of [this.from, this.to, this.cursor])
                if (t !== null) {
                    pen.beginPath();
                    pen.moveTo(this.x(t), 0);
                    pen.lineTo(this.x(t), this.baseline);
                    pen.stroke();
                }
        }

        // ---- what people do ----

        describe(t) {
            const mark = this.marks.find((one) => one.t === t);
            const text = `${clock(t)} UTC${this.others ? this.describeOthers(t) : this.describeOne(t)}`;
            return mark ? `${text}; ${mark.text}` : text;
        }

        describeOne(t) {
            const place = this.placeAt(t), one = this.samples[place];
            let text = '';
            if (one && t - one.t > lapseOf(one))
                text = ', nothing was read';
            else if (one) {
                const read = this.readingAt(place);
                text += one.rss !== null ? `, RSS ${flamePaint.size(one.rss)}` : '';
                const told = read ? lineBands.tell(read, flamePaint.size) : '';
                text += told && read !== one ? `; at ${clock(read.t).slice(6)} ${told.slice(2)}` : told;
                text += one.limit ? `, limit ${flamePaint.size(one.limit)}` : '';
            }
            return text + (one && one.responsive === 0 ? ', the database did not answer' : '');
        }

        // The newest figures of jemalloc's that are meant there.
        readingAt(place) {
            const t = this.samples[place].t;
            for (; place >= 0 && t - this.samples[place].t <= lineBands.HOLDS_S; place--) {
                if (this.samples[place].allocated !== null)
                    return this.samples[place];
                if (this.first.has(this.samples[place]))
                    return null;
            }
            return null;
        }

        describeOthers(t) {
            return this.others.map(({name, samples}) => [name, samples[this.placeAt(t, samples)]])
                .filter(([, one]) => one && t >= one.t && t - one.t <= SELDOM_S && one.rss !== null)
                .map(([name, one]) => `, node ${name} ${flamePaint.size(one.rss)}`).join('');
        }

        point(t) {
            this.cursor = t;
            this.said.textContent = t !== null ? this.describe(t) : this.pickedText;
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
            this.pickedText = texts.filter(Boolean).join('; ');
            this.said.textContent = this.pickedText;
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

        press(event) {
            const [from, to] = this.range;
            const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
            if (step)
                this.point(Math.min(Math.max((this.cursor ?? to) +
                    step * (to - from) / (event.shiftKey ? 10 : 200), from), to));
            else if (event.key === 'ArrowUp' || event.key === 'ArrowDown')
                this.point(this.stepMark(event.key === 'ArrowUp' ? 1 : -1));
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
        stepMark(step) {
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
