// A flame graph that people use: new Flame(host, tree, options).
//
// host is an element that it fills; tree is from flameTree.parse; options has
// state (zoom, search, icicle, sandwich, color: all may be missing) and
// changed(state).  Texts are drawn or set as text, never as markup or code.
'use strict';
const Flame = (function () {
    const XHTML = 'http://www.w3.org/1999/xhtml';
    const HELP = 'Click or Enter: zoom. Esc: back. Arrows: move. / search, s sandwich, ' +
        'i icicle, m color, c copy name.';

    // Also in an SVG document, whose createElement makes no HTML.
    function element(tag, attributes, ...children) {
        const one = document.createElementNS(XHTML, tag);
        for (const [name, value] of Object.entries(attributes))
            one.setAttribute(name, value);
        one.append(...children);
        return one;
    }

    function button(text, title, pressed) {
        const one = element('button', {type: 'button', title}, text);
        if (pressed)
            one.setAttribute('aria-pressed', 'false');
        return one;
    }

    class FlameGraph {
        constructor(host, tree, options = {}) {
            this.host = host;
            this.tree = tree;
            this.changed = options.changed || (() => {});
            this.icicle = false;
            this.whole = true; // with what the profile does not see
            this.hits = null;  // per name: does it match?
            this.wrong = '';   // why there are none
            this.stopSearch = () => {};
            this.at = null;    // where the keyboard is: {panel, frame}
            this.hover = null; // what the pointer is over
            this.outside = false; // is it over what the profile does not see?
            this.build();
            this.listen();
            this.restore(options.state || {});
        }

        // ---- its parts ----

        build() {
            this.search = element('input', {
                type: 'search', placeholder: 'Search: regular expression', spellcheck: 'false',
                'aria-label': 'search functions by regular expression'});
            this.matched = element('output', {class: 'flame-matched'});
            this.back = button('Reset zoom', 'Esc');
            this.flip = button('Icicle', 'i: callers above', true);
            this.both = button('Sandwich', 's: callers and callees of this function', true);
            this.copy = button('Copy name', 'c');
            this.ways = element('select', {'aria-label': 'color', title: 'm'});
            for (const way of this.tree.difference ? ['growth', 'module', 'name'] : ['name', 'module'])
                this.ways.append(element('option', {value: way}, `Color: ${way}`));
            this.details = element('div', {class: 'flame-details', role: 'status'}, HELP);
            this.canvas = element('canvas', {tabindex: '0', role: 'application',
                'aria-label': 'flame graph. ' + HELP});
            this.space = element('div', {class: 'flame-space'}, this.canvas);
            this.scroll = element('div', {class: 'flame-scroll'}, this.space);
            this.root = element('div', {class: 'flame'},
                element('div', {class: 'flame-bar'}, this.search, this.matched, this.back,
                    this.flip, this.both, this.ways, this.copy),
                this.details, this.scroll);
            this.root.flame = this; // for tests and other programs
            this.host.classList.add('flame-host');
            this.host.replaceChildren(this.root);
            this.brush = new flameCanvas.Brush(this.canvas);
        }

        listen() {
            const on = (who, what, how) => who.addEventListener(what, how);
            on(this.search, 'input', () => this.find(this.search.value));
            on(this.back, 'click', () => this.reset());
            on(this.flip, 'click', () => this.setIcicle(!this.icicle));
            on(this.both, 'click', () => this.toggleSandwich());
            on(this.ways, 'change', () => this.setColor(this.ways.value));
            on(this.copy, 'click', () => this.copyName());
            on(this.scroll, 'scroll', () => this.draw());
            on(this.canvas, 'pointermove', (event) => this.point(this.under(event), event.offsetX >= this.brush.room));
            on(this.canvas, 'pointerleave', () => this.point(null));
            on(this.canvas, 'click', (event) => this.press(this.under(event)));
            on(this.canvas, 'blur', () => this.draw());
            on(this.canvas, 'focus', () => this.draw());
            on(this.root, 'keydown', (event) => this.key(event));
            new ResizeObserver(() => this.resize()).observe(this.scroll);
        }

        // ---- state ----

        get state() {
            const state = {};
            const zoom = this.sandwich ? 0 : this.panels[0].zoom;
            if (zoom > 0)
                state.zoom = `${zoom}-${this.markOf(zoom)}`;
            if (this.search.value)
                state.search = this.search.value;
            if (this.icicle)
                state.icicle = '1';
            if (this.sandwich)
                state.sandwich = this.sandwich;
            if (this.color !== this.ways.options[0].value)
                state.color = this.color;
            return state;
        }

        restore(state) {
            const ways = Array.from(this.ways.options, (one) => one.value);
            this.color = this.ways.value = ways.includes(state.color) ? state.color : ways[0];
            this.icicle = Boolean(state.icicle);
            this.search.value = state.search || '';
            this.show(state.sandwich || '');
            if (!this.sandwich && state.zoom)
                this.panels[0].zoom = this.frameOf(state.zoom);
            this.find(this.search.value);
            this.resize();
            this.reveal();
        }

        // Of a frame's function, for a zoom that outlives its heap.
        markOf(frame) {
            return flamePaint.hash(this.tree.names[this.tree.name[frame]]).toString(36);
        }

        // In another heap the frame has another number: the widest of that name.
        frameOf(zoom) {
            const [number, mark] = zoom.split('-'), at = Number(number), tree = this.tree;
            let best = 0;
            if (Number.isInteger(at) && at > 0 && at < tree.count && this.markOf(at) === mark)
                return at;
            const alike = tree.names.map((name) => flamePaint.hash(name).toString(36) === mark);
            for (let i = 1; i < tree.count; i++)
                if (alike[tree.name[i]] && (!best || tree.width[i] > tree.width[best]))
                    best = i;
            return best;
        }

        // The panels of the whole tree, or (name is not "") of a sandwich.
        show(name) {
            const number = name ? this.tree.names.indexOf(name) : -1;
            this.sandwich = number < 0 ? '' : name;
            this.at = this.hover = null;
            if (number < 0) {
                this.panels = [this.panel(this.tree, !this.icicle, 0)];
            } else {
                const above = this.panel(flameTree.callers(this.tree, number), true, 0);
                this.panels = [above, this.panel(flameTree.callees(this.tree, number), false,
                    above.tree.rows.length - 1)];
            }
            this.flip.setAttribute('aria-pressed', String(this.icicle));
            this.flip.disabled = number >= 0;
            this.both.setAttribute('aria-pressed', String(number >= 0));
            this.tellMatched();
            this.resize();
        }

        panel(tree, up, top) {
            return {tree, up, top, zoom: 0, color: flamePaint.painter(tree, this.color)};
        }

        // ---- geometry ----

        sizeSpace() {
            const rows = Math.max(...this.panels.map((one) => one.top + one.tree.rows.length));
            this.space.style.height = rows * this.brush.step + 'px';
        }

        resize() {
            this.brush.measure();
            this.sizeSpace();
            const width = this.scroll.clientWidth, height = this.scroll.clientHeight;
            if (width > 0 && height > 0)
                this.brush.resize(width, height);
            this.draw();
        }

        // The frame at a pointer.
        under(event) {
            const box = this.canvas.getBoundingClientRect();
            const x = event.clientX - box.left;
            const row = Math.floor((event.clientY - box.top + this.scroll.scrollTop) / this.brush.step);
            for (const panel of this.panels) {
                const frame = flameCanvas.frameAt(panel, flameCanvas.depthOf(panel, row), x,
                    this.brush.room);
                if (frame >= 0)
                    return {panel, frame};
            }
            return null;
        }

        // Scrolls to the keyboard's frame, or to the zoomed one.
        reveal() {
            const panel = this.at ? this.at.panel : this.panels[0];
            const frame = this.at ? this.at.frame : panel.zoom;
            if (!panel.tree.count)
                return;
            const y = flameCanvas.rowOf(panel, panel.tree.depth[frame]) * this.brush.step;
            const height = this.scroll.clientHeight, margin = 2 * this.brush.step;
            if (y - margin < this.scroll.scrollTop)
                this.scroll.scrollTop = y - margin;
            else if (y + margin > this.scroll.scrollTop + height)
                this.scroll.scrollTop = y + margin - height;
        }

        draw() {
            if (!this.brush.width)
                return;
            this.brush.room = this.brush.width * this.share();
            this.brush.draw(this.panels, this.scroll.scrollTop, this.hits);
            if (this.hover)
                this.brush.outline(this.hover.panel, this.hover.frame, this.scroll.scrollTop, this.brush.colors.pointed, 1);
            if (this.at && document.activeElement === this.canvas)
                this.brush.outline(this.at.panel, this.at.frame, this.scroll.scrollTop, this.brush.colors.focused, 2);
            this.back.disabled = this.panels.every((one) => one.zoom === 0) && this.whole;
        }

        // Of the width, that of the frames.
        share() {
            const total = this.tree.total[0], unseen = this.tree.unseen;
            return unseen && this.whole && !this.sandwich && !this.panels[0].zoom ? total / (total + unseen) : 1;
        }

        // What is in sight, for tests and other programs.
        frames() {
            const list = [];
            for (const panel of this.panels)
                for (let depth = 0; depth < panel.tree.rows.length; depth++)
                    flameCanvas.eachOf(panel, depth, this.brush.room, (frame, x, width, under) => {
                        const name = panel.tree.names[panel.tree.name[frame]];
                        const hit = Boolean(this.hits && this.hits[panel.tree.name[frame]]);
                        list.push({name, frame, x, width, under, hit, color: panel.color(frame),
                            y: flameCanvas.rowOf(panel, depth) * this.brush.step - this.scroll.scrollTop});
                    });
            return list;
        }

        // ---- what people do ----

        tell() {
            const one = this.hover || this.at;
            if (this.outside) {
                this.details.textContent = flamePaint.unseen(this.tree);
                return;
            }
            if (!one) {
                this.details.textContent = this.panels[0].zoom ? this.textOf(
                    {panel: this.panels[0], frame: this.panels[0].zoom}) : HELP;
                return;
            }
            this.details.textContent = this.textOf(one);
        }

        textOf({panel, frame}) {
            return `${panel.tree.names[panel.tree.name[frame]]}: ${flamePaint.describe(panel.tree, frame)}`;
        }

        point(one, outside = false) {
            const same = one && this.hover && one.panel === this.hover.panel &&
                one.frame === this.hover.frame;
            if (same || (!one && !this.hover && outside === this.outside))
                return;
            this.hover = one;
            this.outside = outside;
            this.canvas.style.cursor = one ? 'pointer' : '';
            this.tell();
            this.draw();
        }

        press(one) {
            if (!one)
                return;
            this.at = one;
            this.zoom(one.panel, one.frame);
        }

        zoom(panel, frame) {
            this.whole = Boolean(frame || panel.zoom || this.sandwich || !this.tree.unseen); // the root again: alone
            panel.zoom = frame;
            this.reveal();
            this.done();
        }

        reset() {
            if (this.panels.some((one) => one.zoom > 0) || !this.whole)
                for (const panel of this.panels)
                    panel.zoom = 0;
            else if (this.sandwich)
                this.show('');
            this.whole = true;
            this.at = null;
            this.reveal();
            this.done();
        }

        setIcicle(on) {
            const zoom = this.panels[0].zoom;
            this.icicle = on;
            this.show('');
            this.panels[0].zoom = zoom;
            this.reveal();
            this.done();
        }

        setColor(way) {
            this.color = this.ways.value = way;
            this.paint();
            this.done();
        }

        // Also when the page turns dark or light.
        paint() {
            for (const panel of this.panels)
                panel.color = flamePaint.painter(panel.tree, this.color);
            this.draw();
        }

        nextColor() {
            const ways = Array.from(this.ways.options, (one) => one.value);
            this.setColor(ways[(ways.indexOf(this.color) + 1) % ways.length]);
        }

        // The function that is looked at: pointed at, moved to, or zoomed.
        chosenName() {
            const one = this.hover || this.at || {panel: this.panels[0], frame: this.panels[0].zoom};
            return one.panel.tree.count ? one.panel.tree.names[one.panel.tree.name[one.frame]] : '';
        }

        toggleSandwich() {
            const name = this.sandwich ? '' : this.chosenName();
            this.look(name === 'all' ? '' : name);
            if (!this.sandwich && name === 'all')
                this.details.textContent = 'Zoom into a function first, or move to one: ' +
                    'a sandwich shows its callers and callees.';
        }

        // A function's sandwich, by its name.
        look(name) {
            this.show(name);
            this.scroll.scrollTop = 0;
            this.reveal();
            this.done();
            if (name && !this.sandwich)
                this.details.textContent = `The flame graph has no frame of ${name}.`;
        }

        copyName() {
            const name = this.chosenName();
            const said = () => { this.details.textContent = `Copied: ${name}`; };
            if (navigator.clipboard)
                navigator.clipboard.writeText(name).then(said, () => this.copyOld(name, said));
            else
                this.copyOld(name, said);
        }

        // Without TLS there is no clipboard but this one, and in an SVG document
        // not even that: then the name is selected, and people copy it.
        copyOld(name, said) {
            this.details.textContent = name;
            getSelection().selectAllChildren(this.details);
            if (document.contentType === 'text/html' && document.execCommand('copy'))
                said();
        }

        // What is marked stays so until the answer is there.
        find(text) {
            this.stopSearch();
            this.stopSearch = () => {};
            this.searching = Boolean(text);
            try {
                if (text)
                    this.stopSearch = flameSearch(this.tree.names, text,
                        (hits) => this.mark(hits), (why) => this.mark(null, `No search: ${why}`));
                else
                    this.mark(null);
            } catch (error) {
                this.mark(null, 'Not a regular expression: ' + error.message.replace(/^.*: /, ''));
            }
            this.done();
        }

        mark(hits, wrong = '') {
            this.searching = false;
            this.hits = hits;
            this.wrong = wrong;
            this.tellMatched();
            this.draw();
        }

        tellMatched() {
            const tree = this.sandwich ? this.panels[1].tree : this.tree;
            const {frames, part} = flameTree.covered(tree, this.hits || []);
            this.matched.textContent = this.wrong ? flamePaint.fit(this.wrong, 66) : this.hits ?
                `Matched: ${(100 * part).toFixed(1)}% (${frames} frame${frames === 1 ? '' : 's'})` : '';
            this.matched.classList.toggle('wrong', Boolean(this.wrong));
        }

        done() {
            this.tell();
            this.draw();
            this.changed(this.state);
        }

        // ---- the keyboard ----

        move(to) {
            const one = this.at || {panel: this.panels[0], frame: this.panels[0].zoom};
            const {panel, frame} = one, tree = panel.tree;
            const next = {
                in: () => this.widest(tree, frame),
                out: () => tree.parent[frame],
                left: () => this.siblingFrame(panel, frame, -1),
                right: () => this.siblingFrame(panel, frame, 1),
            }[to]();
            this.at = {panel, frame: next >= 0 ? next : frame};
            this.hover = null;
            this.outside = false;
            this.reveal();
            this.tell();
            this.draw();
        }

        widest(tree, frame) {
            let best = -1;
            for (let i = frame + 1; i < tree.end[frame]; i = tree.end[i])
                if (best < 0 || tree.width[i] > tree.width[best])
                    best = i;
            return best;
        }

        siblingFrame(panel, frame, step) {
            const row = panel.tree.rows[panel.tree.depth[frame]];
            const next = row[row.indexOf(frame) + step];
            const zoom = panel.zoom;
            return next >= zoom && next < panel.tree.end[zoom] ? next : -1;
        }

        escape() {
            if (this.search.value) {
                this.search.value = '';
                this.find('');
                this.canvas.focus({preventScroll: true});
            } else {
                this.reset();
            }
        }

        key(event) {
            if (event.key === 'Escape') {
                this.escape();
                event.preventDefault();
                return;
            }
            if (event.target !== this.canvas || event.ctrlKey || event.metaKey || event.altKey)
                return;
            const panel = this.at ? this.at.panel : this.panels[0];
            const action = {
                ArrowUp: () => this.move(panel.up ? 'in' : 'out'),
                ArrowDown: () => this.move(panel.up ? 'out' : 'in'),
                ArrowLeft: () => this.move('left'),
                ArrowRight: () => this.move('right'),
                Enter: () => this.at && this.zoom(this.at.panel, this.at.frame),
                Home: () => this.reset(),
                '/': () => this.search.focus(),
                i: () => this.sandwich || this.setIcicle(!this.icicle),
                s: () => this.toggleSandwich(),
                m: () => this.nextColor(),
                c: () => this.copyName(),
            }[event.key];
            if (!action || !panel.tree.count)
                return;
            event.preventDefault();
            action();
        }
    }

    FlameGraph.element = element;
    FlameGraph.button = button;
    return FlameGraph;
})();
