// The script of a flame graph (flamegraph.c): zoom, search, details, fitting
// to the window.  Everything is drawn without it; it only moves elements.
// Texts are set as text, never as markup or code.
'use strict';
(function () {
    const script = document.currentScript;
    const svg = script ? script.closest('svg') : document.documentElement;
    const space = 'http://www.w3.org/2000/svg';
    const MARGIN = 10, PAD = 3, CHAR = 7.25, NARROWEST = 500, SCROLLBAR = 16;
    const byId = (id) => svg.querySelector('#' + id);
    const reset = byId('reset'), details = byId('details');
    const search = byId('search'), matched = byId('matched'), head = byId('head');
    const alone = svg === document.documentElement;
    const title = byId('title'), headline = title.textContent;
    let width = 1200, zoomed = null, pattern = null, box = null, input = null;

    const frames = Array.from(svg.querySelectorAll('#frames > g'), (g) => {
        const title = g.querySelector('title').textContent;
        const end = title.indexOf('\n');
        return {
            g, rect: g.querySelector('rect'), text: g.querySelector('text'),
            name: title.slice(0, end), figures: title.slice(end + 1),
            x: Number(g.dataset.x), w: Number(g.dataset.w),
            y: Number(g.querySelector('rect').getAttribute('y')),
            color: g.querySelector('rect').getAttribute('fill'),
        };
    });
    const byElement = new Map(frames.map((frame) => [frame.g, frame]));
    const root = frames[0];

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

    function place(frame, x, w) {
        frame.g.style.display = '';
        frame.rect.setAttribute('x', x.toFixed(2));
        frame.rect.setAttribute('width', Math.max(w - 0.5, 0.1).toFixed(2));
        const label = fit(frame.name, Math.floor((w - 2 * PAD) / CHAR));
        if (!frame.text && label) {
            frame.text = document.createElementNS(space, 'text');
            frame.text.setAttribute('y', frame.y + 12);
            frame.g.append(frame.text);
        }
        if (frame.text) {
            frame.text.textContent = label;
            frame.text.setAttribute('x', (x + PAD).toFixed(2));
        }
    }

    // The font may be wider than expected: cuts long texts once more, and
    // measures all of them before it changes any.
    function clip() {
        const long = [];
        for (const frame of frames) {
            if (!frame.text || !frame.text.textContent || frame.g.style.display)
                continue;
            const room = Number(frame.rect.getAttribute('width')) - 2 * PAD;
            const length = frame.text.getComputedTextLength();
            if (length > room)
                long.push([frame.text, Math.floor(room / length * frame.text.textContent.length)]);
        }
        for (const [text, columns] of long)
            text.textContent = fit(text.textContent, columns - 1);
    }

    // The longest part of a text that fits into room pixels.
    function shorten(text, whole, room) {
        text.textContent = whole;
        const length = text.getComputedTextLength();
        if (length > room)
            text.textContent = fit(whole, Math.floor(room / length * whole.length) - 1);
    }

    // The search result leaves less room for the title.
    function layHead() {
        const found = matched.textContent ? matched.getComputedTextLength() + MARGIN : 0;
        const room = width - 2 * MARGIN;
        shorten(title, headline, room - found);
        const beside = found > 0 && title.getComputedTextLength() > room - 2 * found;
        title.style.textAnchor = beside ? 'start' : '';
        title.setAttribute('x', beside ? MARGIN : width / 2);
    }

    const boxWidth = () => Math.min(320, (width - 2 * MARGIN) * 0.6);

    function layBox() {
        box.setAttribute('x', width - MARGIN - boxWidth());
        box.setAttribute('width', boxWidth());
        input.style.width = boxWidth() + 'px';
    }

    // Between the reset link and the search.
    function tell(frame) {
        const right = box && box.style.display === ''
            ? boxWidth() : search.getComputedTextLength();
        const from = zoomed ? Number(details.dataset.x) : MARGIN;
        const room = width - from - 2 * MARGIN - right;
        const figures = frame ? frame.figures.replace(/\n/g, ', ') : '';
        const columns = Math.floor(room / CHAR);
        details.setAttribute('x', from);
        shorten(details, frame ? fit(frame.name, Math.max(columns - figures.length - 2, 12)) +
            ': ' + figures : '', room);
    }

    // The frames inside the zoomed one, and those below it, faded.
    function draw() {
        const view = zoomed || root;
        const scale = (width - 2 * MARGIN) / view.w, close = root.w * 1e-9;
        for (const frame of frames) {
            const under = frame.y > view.y && frame.x <= view.x + close &&
                frame.x + frame.w >= view.x + view.w - close;
            const within = frame.y <= view.y && frame.x >= view.x - close &&
                frame.x + frame.w <= view.x + view.w + close;
            frame.g.classList.toggle('under', under);
            if (under)
                place(frame, MARGIN, width - 2 * MARGIN);
            else if (within && frame.w * scale >= 0.1)
                place(frame, MARGIN + (frame.x - view.x) * scale, frame.w * scale);
            else
                frame.g.style.display = 'none';
        }
        clip();
        reset.style.display = zoomed ? '' : 'none';
        tell(null);
    }

    function zoom(frame) {
        zoomed = frame === root ? null : frame;
        draw();
    }

    // A match inside another match does not count twice.
    function matchedPart(hits) {
        let covered = 0, end = -Infinity;
        hits.sort((a, b) => a.x - b.x || b.w - a.w);
        for (const frame of hits) {
            if (frame.x + frame.w <= end)
                continue;
            covered += frame.x + frame.w - Math.max(frame.x, end);
            end = frame.x + frame.w;
        }
        return root ? 100 * covered / root.w : 0;
    }

    function say(text, wrong) {
        shorten(matched, text, width - 2 * MARGIN);
        matched.classList.toggle('wrong', Boolean(wrong));
        layHead();
    }

    function mark() {
        const hits = [];
        for (const frame of frames) {
            const hit = Boolean(pattern) && pattern.test(frame.name);
            frame.rect.setAttribute('fill', hit ? '#ee3cd2' : frame.color);
            if (hit)
                hits.push(frame);
        }
        if (pattern) {
            const part = matchedPart(hits).toFixed(1);
            say(`Matched: ${part}% (${hits.length} frame${hits.length === 1 ? '' : 's'})`);
        } else {
            say('');
        }
    }

    function find(text) {
        try {
            pattern = text ? new RegExp(text, 'i') : null;
        } catch (error) {
            pattern = null;
            mark();
            say('Not a regular expression: ' + fit(error.message.replace(/^.*: /, ''), 40), true);
            return;
        }
        mark();
    }

    function openSearch() {
        if (!box) {
            box = document.createElementNS(space, 'foreignObject');
            box.id = 'box';
            box.setAttribute('height', 26);
            box.setAttribute('y', search.getAttribute('y') - 17);
            input = document.createElementNS('http://www.w3.org/1999/xhtml', 'input');
            input.type = 'text';
            input.placeholder = 'regular expression, any case';
            input.setAttribute('aria-label', 'search functions by regular expression');
            input.style.cssText = 'box-sizing:border-box;height:26px;padding:2px 8px;' +
                'font:13px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;' +
                'border:1px solid #888;border-radius:4px';
            input.addEventListener('input', () => find(input.value));
            box.append(input);
            head.append(box);
        }
        layBox();
        box.style.display = '';
        search.style.display = 'none';
        tell(null);
        input.focus();
        input.select();
    }

    function closeSearch() {
        box.style.display = 'none';
        search.style.display = '';
        input.value = '';
        find('');
    }

    // A line wider than a narrow window is set closer.
    function setCloser(text) {
        text.removeAttribute('textLength');
        if (text.getComputedTextLength() > width - 2 * MARGIN) {
            text.setAttribute('textLength', width - 2 * MARGIN);
            text.setAttribute('lengthAdjust', 'spacingAndGlyphs');
        }
    }

    // As wide as the window, unless the graph is part of a page.
    function resize() {
        const height = svg.viewBox.baseVal.height;
        const bar = height > window.innerHeight ? SCROLLBAR : 0;
        if (alone)
            width = Math.max((window.innerWidth || 1200) - bar, NARROWEST);
        svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
        svg.setAttribute('width', width);
        for (const text of svg.querySelectorAll('.middle'))
            text.setAttribute('x', width / 2);
        for (const text of svg.querySelectorAll('.note'))
            setCloser(text);
        for (const text of svg.querySelectorAll('.right'))
            text.setAttribute('x', width - MARGIN);
        if (box)
            layBox();
        layHead();
        if (root)
            draw();
    }

    const frameOf = (event) => {
        const g = event.target.closest && event.target.closest('#frames > g');
        return g && byElement.get(g);
    };

    svg.addEventListener('click', (event) => {
        const frame = frameOf(event);
        if (frame)
            zoom(frame);
    });
    svg.addEventListener('mouseover', (event) => {
        const frame = frameOf(event);
        tell(frame);
    });
    reset.addEventListener('click', () => root && zoom(root));
    search.addEventListener('click', openSearch);
    window.addEventListener('keydown', (event) => {
        if ((event.ctrlKey || event.metaKey) && event.key === 'f') {
            event.preventDefault();
            openSearch();
        } else if (event.key === 'Escape') {
            if (box && box.style.display === '')
                closeSearch();
            else if (root)
                zoom(root);
        }
    });
    window.addEventListener('resize', resize);
    // The head stays in sight while the frames scroll.
    window.addEventListener('scroll', () => {
        head.setAttribute('transform', `translate(0 ${alone ? Math.max(window.scrollY, 0) : 0})`);
    });
    details.dataset.x = details.getAttribute('x');
    svg.append(head);
    search.style.display = '';
    resize();
})();
