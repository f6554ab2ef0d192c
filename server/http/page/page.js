// The page: what is chosen is in the URL, and a link shows the same again.
'use strict';
(function () {
    const REFRESH_MS = 10000, PATIENCE_MS = 700, PROGRESS_MS = 1000;
    const element = Flame.element;
    const byId = (id) => document.getElementById(id);
    const state = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
    const known = {nodes: [], snapshots: [], samples: [], deaths: [], profiler: null};
    let line = null, flame = null, self = null, drawing = null, listing = null, running = null;

    // ---- the URL ----

    function keep(changes) {
        for (const [key, value] of Object.entries(changes))
            if (value)
                state[key] = value;
            else
                delete state[key];
        history.replaceState(null, '', '#' + new URLSearchParams(state));
    }

    const FLAME_STATE = ['zoom', 'search', 'icicle', 'sandwich', 'color'];
    const flameState = () => Object.fromEntries(FLAME_STATE.map((key) => [key, state[key]]));

    // ---- messages and progress ----

    function complain(error) {
        if (error.name === 'AbortError')
            return;
        byId('message').textContent = error.message;
        byId('message').hidden = false;
    }

    // Runs work(signal), and tells how far it is where that takes long.
    async function wait(what, work) {
        const stop = new AbortController(), bar = byId('progress');
        const say = (text) => { bar.querySelector('span').textContent = text; };
        const started = Date.now();
        let timer = setTimeout(function tick() {
            bar.hidden = false;
            say(`${what}, ${Math.round((Date.now() - started) / 1000)} s`);
            data.rows("SELECT state FROM heapwire.sessions WHERE command = 'Query' AND state LIKE '%(%of%'")
                .then((rows) => rows.length && say(`${what}: ${rows[0].state}`), () => {});
            timer = setTimeout(tick, PROGRESS_MS);
        }, PATIENCE_MS);
        running = stop;
        try {
            byId('message').hidden = true;
            return await work(stop.signal);
        } finally {
            clearTimeout(timer);
            timer = null;
            if (running === stop) {
                running = null;
                bar.hidden = true;
            }
        }
    }

    // ---- names of what is looked at ----

    // null: this node; 'all'; or the number of another.
    function node() {
        if (!state.node || Number(state.node) === self)
            return null;
        return state.node === 'all' ? 'all' : Number(state.node);
    }

    // A snapshot's name as views of that node take it.
    function nameOf(snapshot) {
        const of = node();
        if (of === null)
            return snapshot || 'now';
        const sum = of === 'all' ? 'cluster' : `cluster@${of}`;
        return snapshot && snapshot !== 'now' ? `${sum}:${snapshot}` : sum;
    }

    function execute(script) {
        const of = node();
        return data.rows(`ADMIN EXECUTE ON ${of === null ? self : of === 'all' ? 'ALL' : of} ${data.quote(script)}`)
            .then((rows) => {
                const wrong = rows.find((row) => row.status === 'ERROR');
                if (wrong)
                    throw new Error(`node ${wrong.node_id}: ${wrong.result}`);
                return rows;
            });
    }

    const method = (call) => execute(`System.print(HeapProf.getInstance().${call})`);

    // ---- the flame graph ----

    function options(select, list, chosen) {
        select.replaceChildren(...list.map(([value, text]) => {
            const one = element('option', {value}, text);
            one.selected = value === chosen;
            return one;
        }));
        if (chosen && !list.some(([value]) => value === chosen))
            select.append(element('option', {value: chosen, selected: ''}, chosen));
    }

    function showChoices() {
        const names = Array.from(new Set(known.snapshots.map((one) => one.name)), (name) => [name, name]);
        options(byId('snapshot'), [['', 'now'], ...names], state.snapshot || '');
        options(byId('base'), [['', 'the start'], ...names], state.base || '');
        byId('by').value = state.by || 'inuse_space';
    }

    async function drawFlame() {
        const now = drawing = {};
        const base = state.base ? data.quote(nameOf(state.base)) : 'NULL';
        const by = state.by === 'inuse_objects' ? 'inuse_objects' : 'inuse_space';
        try {
            const blob = await wait('Drawing the heap', (signal) => data.value(
                `SELECT calls(${data.quote(nameOf(state.snapshot))}, ${base}, 'by=${by}')`, signal));
            const tree = flameTree.parse(await blob.text());
            if (now !== drawing) // another one was asked for since
                return;
            byId('title').textContent = tree.title;
            const key = tree.difference ? ['red grew, blue shrank, grey may be chance'] : [];
            byId('notes').textContent = [...tree.notes, ...key].join('; ');
            flame = null;
            flame = new Flame(byId('flame'), tree, {state: flameState(),
                changed: (changes) => flame && keep({...Object.fromEntries(
                    FLAME_STATE.map((key) => [key, ''])), ...changes})});
        } catch (error) {
            if (now === drawing)
                complain(error);
        }
    }

    function choose(changes) {
        keep({zoom: '', sandwich: '', ...changes});
        showChoices();
        drawFlame();
        if (state.tab === 'functions' || !state.tab)
            drawTable();
    }

    // ---- the time line ----

    const seconds = (text) => Date.parse(text.replace(' ', 'T') + 'Z') / 1000;

    function drawLine() {
        line.set(known.samples, [
            ...known.snapshots.map((one) => ({t: seconds(one.taken), live: one.bytes, name: one.name,
                text: `snapshot ${one.name}, ${flamePaint.size(one.bytes)} live`})),
            ...known.deaths.map((one) => ({t: seconds(one.at), death: true, text: `death: ${one.how}`}))]);
    }

    // The snapshot that is nearest to a moment.
    function nearestTo(t) {
        const away = (one) => Math.abs(seconds(one.taken) - t);
        return known.snapshots.reduce((best, one) =>
            !best || away(one) < away(best) ? one : best, null);
    }

    function picked(from, to) {
        const first = nearestTo(from), second = to === null ? null : nearestTo(to);
        if (to === null && first && Math.abs(seconds(first.taken) - from) < 1)
            choose({snapshot: first.name, base: ''});
        else if (first && second && first !== second)
            choose({snapshot: second.name, base: first.name});
    }

    async function fetchHistory() {
        const last = known.samples.length ? known.samples[known.samples.length - 1].t : 0;
        const rows = await data.rows('SELECT unix_timestamp(at) AS t, rss, allocated, cgroup_limit AS `limit` ' +
            `FROM heapwire.memory_history WHERE at > from_unixtime(${last}) ORDER BY at`);
        for (const row of rows)
            known.samples.push({...row, t: Number(row.t)});
        known.samples.splice(0, Math.max(known.samples.length - 21600, 0));
    }

    // ---- tables ----

    function doingsOf(row) {
        const press = (text, title, how) => {
            const one = Flame.button(text, title);
            one.addEventListener('click', () => Promise.resolve(how()).catch(complain));
            return one;
        };
        const name = JSON.stringify(row.name);
        const change = (call) => method(call).then(refresh).then(drawTable);
        const list = element('select', {'aria-label': `download ${row.name}`});
        for (const [form] of DOWNLOADS)
            list.append(element('option', {value: form}, form));
        return [
            press('Compare', 'what has grown since it', () => choose({snapshot: '', base: row.name})),
            press(row.pinned ? 'Unpin' : 'Pin', 'eviction spares what is pinned',
                () => change(`${row.pinned ? 'unpin' : 'pin'}(${name})`)),
            press('Delete', '', () => confirm(`Delete the snapshot ${row.name}?`) && change(`delete(${name})`)),
            list, press('Download', '', () => download(row.name, list.value))];
    }

    const DOWNLOADS = [['pprof', 'pb.gz'], ['flamegraph', 'svg'], ['svg', 'graph.svg'], ['pdf', 'pdf'],
        ['collapsed', 'txt'], ['export', 'heapwire']];

    async function download(name, form) {
        const extension = DOWNLOADS.find(([one]) => one === form)[1];
        const blob = await wait(`Making ${form}`, (signal) =>
            data.value(`SELECT ${form}(${data.quote(nameOf(name))})`, signal));
        const url = URL.createObjectURL(blob);
        element('a', {href: url, download: `${name}.${extension}`}).click();
        setTimeout(() => URL.revokeObjectURL(url), 60000);
    }

    function turned(rows) {
        return Object.entries(rows[0] || {}).map(([figure, value]) => ({figure,
            value: typeof value === 'number' ? flamePaint.size(value) : value}));
    }

    async function drawTable() {
        const tab = pageTables[state.tab] ? state.tab : 'functions', table = pageTables[tab];
        const host = byId('table'), now = listing = {};
        for (const one of byId('tabs').children) {
            const chosen = one.id === `tab-${tab}`;
            one.setAttribute('aria-selected', String(chosen));
            one.tabIndex = chosen ? 0 : -1;
        }
        host.setAttribute('aria-labelledby', `tab-${tab}`);
        try {
            const rows = await data.rows(table.of(table.here ? null : node(), state.snapshot || 'now', state.base));
            if (now !== listing)
                return;
            showTable(host, table.turned && rows.length === 1 ? turned(rows) : rows, {
                caption: table.here && node() !== null ? 'Of this node alone.' : '',
                bytes: table.bytes || [],
                doings: tab === 'snapshots' && (node() === null) ? doingsOf : null,
                press: {snapshots: (row) => choose({snapshot: row.name, base: ''}),
                    functions: (row) => flame && flame.look(row.function),
                    nodes: (row) => toNode(String(row.id))}[tab]});
        } catch (error) {
            if (now === listing)
                complain(error);
        }
    }

    function makeTabs() {
        const tabs = byId('tabs');
        for (const [key, {title}] of Object.entries(pageTables)) {
            const one = element('button', {type: 'button', role: 'tab', id: `tab-${key}`, 'aria-controls': 'table'}, title);
            one.addEventListener('click', () => {
                keep({tab: key});
                drawTable();
            });
            tabs.append(one);
        }
        tabs.addEventListener('keydown', (event) => {
            const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
            if (!step)
                return;
            const list = Array.from(tabs.children);
            const next = list[(list.indexOf(event.target) + step + list.length) % list.length];
            next.focus();
            next.click();
        });
    }

    // ---- the node and its profiler ----

    function toNode(id) {
        keep({node: Number(id) === self ? '' : id, snapshot: '', base: '', zoom: '', sandwich: ''});
        refresh().then(() => {
            drawFlame();
            drawTable();
        }).catch(complain);
    }

    function showNodes() {
        const list = known.nodes.map((one) => [String(one.id),
            `${one.id}${one.self ? ' (this one)' : ''}`]);
        options(byId('node'), list.length > 1 ? [...list, ['all', 'all, added up']] : list,
            state.node || String(self));
    }

    function costOf(profiler) {
        if (profiler.overhead !== null)
            return `costs ${profiler.overhead.toFixed(2)}% of one CPU`;
        if (profiler.reason)
            return profiler.reason;
        return profiler.active ? 'its cost is not measured yet' :
            `one sample in ${flamePaint.size(profiler.sample_rate || 524288)}`;
    }

    function showProfiler() {
        const one = known.profiler, press = byId('switch');
        byId('state').textContent = one ? `${one.state}, profiling: ${one.profiling}` +
            (one.guard_reason ? `; switched off: ${one.guard_reason}` : '') : '';
        press.hidden = !one;
        if (!one)
            return;
        press.textContent = one.active ? 'Disable profiling' : 'Enable profiling';
        press.disabled = Boolean(one.reason) && !one.active;
        byId('cost').textContent = costOf(one);
    }

    async function fetchProfiler() {
        const of = node(), from = of === null ? 'profiler' : 'cluster_profiler';
        const rows = await data.rows('SELECT state, profiling, active, sample_rate, overhead, reason, ' +
            `guard_reason FROM heapwire.${from}${typeof of === 'number' ? ` WHERE node_id = ${of}` : ''} LIMIT 1`);
        known.profiler = rows[0] || null;
    }

    // Everything but the flame graph and the table, which change when people ask.
    async function refresh() {
        const of = node(), more = 'name, taken, bytes, pid, program';
        await fetchProfiler();
        showProfiler();
        known.snapshots = await data.rows(of === null ?
            `SELECT ${more} FROM heapwire.snapshots ORDER BY taken` :
            `SELECT ${more} FROM heapwire.cluster_snapshots` +
                `${of === 'all' ? '' : ` WHERE node_id = ${of}`} ORDER BY taken`);
        known.deaths = await data.rows('SELECT at, how FROM heapwire.deaths');
        await fetchHistory();
        byId('line-title').textContent = of === null ? 'Memory' : 'Memory of this node';
        showChoices();
        drawLine();
    }

    async function begin() {
        known.nodes = await data.rows('SELECT id, self FROM heapwire.nodes ORDER BY id');
        self = known.nodes.find((one) => one.self).id;
        document.title = `heapwire ${self}`;
        byId('program').textContent = `heapwire, node ${self}`;
        showNodes();
        await refresh();
        await drawFlame();
        await drawTable();
    }

    function listen() {
        const on = (id, what, how) => byId(id).addEventListener(what, how);
        on('node', 'change', () => toNode(byId('node').value));
        on('snapshot', 'change', () => choose({snapshot: byId('snapshot').value}));
        on('base', 'change', () => choose({base: byId('base').value}));
        on('by', 'change', () => choose({by: byId('by').value === 'inuse_space' ? '' : byId('by').value}));
        on('again', 'click', () => refresh().then(drawFlame).then(drawTable).catch(complain));
        on('stop', 'click', () => running && running.abort());
        on('switch', 'click', () => method(known.profiler.active ? 'disable_prof()' : 'enable_prof()')
            .then(refresh).catch(complain));
        on('take', 'submit', (event) => {
            const name = byId('name').value;
            event.preventDefault();
            wait('Taking a snapshot', () => method(`snapshot(${name ? JSON.stringify(name) : ''})`))
                .then(refresh).then(() => state.tab === 'snapshots' && drawTable()).catch(complain);
        });
        window.addEventListener('hashchange', () => location.reload());
        matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawLine);
        setInterval(() => document.hidden || fetchProfiler().then(showProfiler).then(fetchHistory)
            .then(drawLine).catch(complain), REFRESH_MS);
    }

    line = new TimeLine(byId('line'), {picked});
    makeTabs();
    listen();
    begin().catch(complain);
})();
