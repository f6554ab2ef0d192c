// A bundle: what a node knew when it was made, without the node.
'use strict';
(function () {
    const known = JSON.parse(document.getElementById('data').textContent);
    const element = Flame.element, rows = (name) => known[name] || [];
    const bytes = ['bytes', 'rss', 'allocated', 'cgroup_limit', 'size', 'flat_bytes', 'cum_bytes', 'grown', 'itself', 'anon', 'swap',
        'live_bytes', 'top_bytes', 'waste_bytes', 'error_bytes', 'asked_bytes', 'size_class', 'bytes_per_hour', 'low', 'high'];
    const host = (id) => element('div', {id});
    const title = element('h1', {}), about = element('p', {class: 'hint'}), choice = element('select', {}), base = element('select', {});
    const flameHost = host('flame'), heap = element('p', {id: 'title'}), notes = element('p', {id: 'notes'}), table = host('table');
    const tabs = element('div', {id: 'tabs', role: 'tablist'}), lineHost = host('line');
    const diagnosis = element('section', {id: 'diagnosis'}, element('h2', {}, 'Diagnosis'), element('ul', {}));
    let flame = null, tab = 'functions';

    // Of each function what it holds itself, and with what it called; a frame within
    // another of its name counts once.
    function functionsOf(tree) {
        const found = new Map();
        for (let i = 1; i < tree.count; i++) {
            const name = tree.name[i], one = found.get(name) || {flat: 0, cum: 0, end: 0};
            one.flat += tree.self[i];
            if (i >= one.end) {
                one.cum += tree.total[i];
                one.end = tree.end[i];
            }
            found.set(name, one);
        }
        return new Map(Array.from(found, ([name, one]) => [tree.names[name], one]));
    }

    const treeOf = (name) => flameTree.parse(JSON.stringify(known.calls[name]));

    function functionRows() {
        const list = functionsOf(flame.tree);
        if (!base.value)
            return Array.from(list, ([name, {flat, cum}]) => ({function: name, flat_bytes: Math.round(flat), cum_bytes: Math.round(cum)}))
                .sort((a, b) => b.flat_bytes - a.flat_bytes || b.cum_bytes - a.cum_bytes);
        const before = functionsOf(treeOf(base.value)), none = {flat: 0, cum: 0};
        return Array.from(new Set([...list.keys(), ...before.keys()]), (name) => {
            const a = list.get(name) || none, b = before.get(name) || none;
            return {function: name, itself: Math.round(a.flat - b.flat), grown: Math.round(a.cum - b.cum)};
        }).filter((one) => one.itself || one.grown).sort((a, b) => Math.abs(b.itself) - Math.abs(a.itself) || Math.abs(b.grown) - Math.abs(a.grown));
    }

    const TABS = {
        functions: ['Functions', () => flame ? functionRows().slice(0, 500) : []],
        threads: ['Threads', () => rows('threads')],
        waste: ['Waste', () => rows('waste')],
        mappings: ['Mappings', () => rows('mappings')],
        trend: ['Trend', () => rows('trend')],
        snapshots: ['Snapshots', () => rows('snapshots')],
        memory: ['Memory', () => rows('memory').flatMap((row) => turned(row, flamePaint.size))],
        deaths: ['Deaths', () => rows('deaths')],
        profiler: ['Profiler', () => rows('profiler').flatMap((row) => turned(row, String))],
        settings: ['Settings', () => rows('settings')],
    };

    function showTab() {
        for (const one of tabs.children)
            one.setAttribute('aria-selected', String(one.name === tab));
        showTable(table, TABS[tab][1](), {bytes, truths: [], narrow: !['memory', 'deaths', 'profiler', 'settings'].includes(tab), none: 'There is nothing.',
            caption: base.value && tab === 'functions' ? 'The difference of two estimates: what is small may be chance.' : '',
            press: {functions: look, waste: look, trend: look, snapshots: (row) => known.calls[row.name] && choose(row.name, '')}[tab]});
    }

    const look = (row) => flame?.look(row.function);

    function choose(name, since) {
        choice.value = name;
        base.value = since;
        const tree = treeOf(name), total = tree.total[0] || 0;
        heap.textContent = tree.title || `${name}: ${flamePaint.size(total)} in use`;
        notes.textContent = tree.notes.join('; ');
        flame = new Flame(flameHost, tree);
        showTab();
    }

    function picked(from, to) {
        const list = rows('snapshots').filter((one) => known.calls[one.name]), two = to !== null && pageMarks.twoOf(list, from, to);
        const one = pageMarks.nearestTo(list, from, false);
        if (two)
            choose(two.second.name, two.first.name);
        else if (to === null && one && pageMarks.secondsFrom(one, from) < 1)
            choose(one.name, '');
        else
            return 'no heap of that time is in this file';
        return two ? `compares ${two.second.name} with ${two.first.name}` : one.name;
    }

    function build() {
        const names = Object.keys(known.calls), [one] = rows('profiler');
        const select = (list, first) => list.map((name) => element('option', {value: name}, name || first));
        document.title = title.textContent = one ? `heapwire, node ${one.node_id}` : 'heapwire';
        about.textContent = [`A copy of ${one || rows('memory')[0] ? rows('memory')[0]?.taken || one.since : 'unknown time'} UTC, which asks no node`,
            one && `the database was ${one.state}, profiling: ${one.profiling}`,
            known.hashed && 'names are hashed, and sentences that may contain them are left out',
            rows('threads').length + rows('waste').length > 0 && `threads and waste are of ${names[0]}`].filter(Boolean).join('; ') + '.';
        choice.append(...select(names));
        base.append(...select(['', ...names], 'nothing'));
        for (const [key, [text]] of Object.entries(TABS)) {
            const press = element('button', {type: 'button', role: 'tab', name: key}, text);
            press.addEventListener('click', () => {
                tab = key;
                showTab();
            });
            tabs.append(press);
        }
        document.body.append(element('header', {}, title, about), element('main', {}, diagnosis,
            element('section', {}, element('h2', {}, 'Memory'), lineHost),
            element('section', {class: 'tall'}, element('h2', {}, 'Heap'), element('div', {class: 'controls'},
                element('label', {}, 'Of ', choice), element('label', {}, 'functions since ', base)), heap, notes, flameHost),
            element('section', {}, tabs, table)));
        pageDiagnosis(diagnosis, rows('diagnosis'));
        const line = new TimeLine(lineHost, {picked});
        const draw = () => line.set(rows('history'), pageMarks.of({snapshots: rows('snapshots').filter((row) => row.kind === 'heap'), deaths: rows('deaths')}));
        for (const row of rows('history'))
            row.seldom = 1;
        draw();
        flamePaint.scheme.addEventListener('change', () => {
            draw();
            if (flame)
                flame.paint();
        });
        choice.addEventListener('change', () => choose(choice.value, base.value));
        base.addEventListener('change', showTab);
        if (names.length)
            choose(names[0], '');
        else
            heap.textContent = 'There was no heap.';
        showTab();
    }

    build();
})();
