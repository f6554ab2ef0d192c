// The page: what is chosen is in the URL, and a link shows the same again.
'use strict';
(function () {
    const REFRESH_MS = 10000, REFRESH_MAX_MS = 80000, PATIENCE_MS = 700, PROGRESS_MS = 1000, SAMPLES_MAX = 21600;
    const element = Flame.element;
    const byId = (id) => document.getElementById(id);
    const state = {};
    const known = {nodes: [], snapshots: [], samples: [], deaths: [], profiler: null};
    let line = null, flame = null, self = null, drawing = null, listing = null, running = null;

    // ---- the URL ----

    const address = () => '#' + new URLSearchParams(state);

    function readAddress() {
        for (const key of Object.keys(state))
            delete state[key];
        Object.assign(state, Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
    }

    // What quietly changes is no step to go back to.
    function keep(changes, quietly) {
        const before = address();
        for (const [key, value] of Object.entries(changes))
            if (value)
                state[key] = value;
            else
                delete state[key];
        if (address() !== before)
            history[quietly ? 'replaceState' : 'pushState'](null, '', address());
    }

    const FLAME_STATE = ['zoom', 'search', 'icicle', 'sandwich', 'color'];
    const flameState = () => Object.fromEntries(FLAME_STATE.map((key) => [key, state[key]]));

    function keepFlame(changes) {
        const all = Object.fromEntries(FLAME_STATE.map((key) => [key, changes[key] || '']));
        keep(all, FLAME_STATE.every((key) => key === 'search' || all[key] === (state[key] || '')));
    }

    // Back, forward, or another link.
    function goBack() {
        const before = {...state};
        readAddress();
        const differ = (...keys) => keys.some((key) => state[key] !== before[key]);
        if (differ('node')) {
            visit();
            return;
        }
        if (differ('snapshot', 'base', 'by')) {
            showChoices();
            drawFlame();
        } else if (flame && differ(...FLAME_STATE)) {
            flame.restore(flameState());
        }
        if (differ('tab') || (differ('snapshot', 'base') && tableNow().heap))
            drawTable();
    }

    // ---- messages and progress ----

    function complain(error) {
        const box = byId('message');
        if (error.name === 'AbortError' || (!box.hidden && box.textContent.split('\n').includes(error.message)))
            return;
        box.textContent = box.hidden ? error.message : `${box.textContent}\n${error.message}`;
        box.hidden = false;
    }

    function forget() {
        byId('message').hidden = true;
    }

    // Does work(signal), and says how far it is where that takes long.
    async function wait(what, work, stop = new AbortController()) {
        const bar = byId('progress');
        const started = Date.now();
        const say = (text, percent) => {
            if (running !== stop)
                return;
            bar.querySelector('span').textContent = text;
            if (percent)
                bar.querySelector('progress').value = percent / 100;
            else
                bar.querySelector('progress').removeAttribute('value');
            bar.hidden = false;
        };
        const tick = async () => {
            if (running !== stop)
                return;
            const rows = await data.rows("SELECT state FROM heapwire.sessions WHERE command = 'Query' " +
                "AND state LIKE '%(%of%' ORDER BY time DESC LIMIT 1").catch(() => []);
            const how = rows.length ? `: ${rows[0].state}` : '';
            say(`${what}, ${Math.round((Date.now() - started) / 1000)} s${how}`, parseInt(how.split(', ')[1], 10));
            setTimeout(tick, PROGRESS_MS);
        };
        running = stop;
        setTimeout(tick, PATIENCE_MS);
        try {
            return await work(stop.signal);
        } finally {
            if (running === stop) {
                running = null;
                bar.hidden = true;
            }
        }
    }

    // ---- names of what is looked at ----

    // null: this node; 'all'; or the number of another.
    function node() {
        const id = Number(state.node);
        return state.node === 'all' ? 'all' : Number.isInteger(id) && id > 0 && id !== self ? id : null;
    }

    // A snapshot's name as views take it.
    function nameOf(snapshot, of = node()) {
        if (of === null || of === self)
            return snapshot || 'now';
        const sum = of === 'all' ? 'cluster' : `cluster@${of}`;
        return snapshot && snapshot !== 'now' ? `${sum}:${snapshot}` : sum;
    }

    async function method(call, of = node()) {
        const script = data.quote(`System.print(HeapProf.getInstance().${call})`);
        const rows = await data.rows(`ADMIN EXECUTE ON ${of === null ? self : of === 'all' ? 'ALL' : of} ${script}`);
        const wrong = rows.filter((row) => row.status === 'ERROR');
        if (wrong.length)
            throw new Error(wrong.map((row) => `node ${row.node_id}: ${row.result}`).join('\n'));
    }

    // ---- the flame graph ----

    function options(select, list, chosen) {
        const all = chosen && !list.some(([value]) => value === chosen) ? [...list, [chosen, chosen]] : list;
        const text = JSON.stringify(all);
        if (select.shows !== text) // one that is open stays as it is
            select.replaceChildren(...all.map(([value, what]) => element('option', {value}, what)));
        select.shows = text;
        select.value = chosen;
    }

    function showChoices() {
        const names = Array.from(new Set(known.snapshots.map((one) => one.name)), (name) => [name, name]);
        options(byId('snapshot'), [['', 'now'], ...names], state.snapshot || '');
        options(byId('base'), [['', 'the start'], ...names], state.base || '');
        byId('by').value = state.by || 'inuse_space';
    }

    async function drawFlame() {
        if (drawing) // what was asked for before is not wanted any more
            drawing.abort();
        const now = drawing = new AbortController();
        const base = state.base ? data.quote(nameOf(state.base)) : 'NULL';
        const by = state.by === 'inuse_objects' ? 'inuse_objects' : 'inuse_space';
        forget();
        try {
            const blob = await wait('Drawing the heap', (signal) => data.value(
                `SELECT calls(${data.quote(nameOf(state.snapshot))}, ${base}, 'by=${by}')`, signal), now);
            const tree = flameTree.parse(await blob.text());
            if (now !== drawing)
                return;
            byId('title').textContent = tree.title;
            const key = tree.difference ? ['red grew, blue shrank, grey may be chance'] : [];
            byId('notes').textContent = [...tree.notes, ...key].join('; ');
            flame = null;
            flame = new Flame(byId('flame'), tree, {state: flameState(),
                changed: (changes) => flame && keepFlame(changes)});
        } catch (error) {
            if (now === drawing)
                complain(error);
        }
    }

    // What a table was asked for is where people see it.
    const showFlame = () => byId('flame').scrollIntoView({block: 'nearest'});

    function choose(changes) {
        keep({zoom: '', sandwich: '', ...changes});
        showChoices();
        drawFlame();
        if (tableNow().heap)
            drawTable();
    }

    // ---- the time line ----

    const seconds = (text) => Date.parse(text.replace(' ', 'T') + 'Z') / 1000;

    function deathText(one) {
        const last = [['RSS', one.rss], ['allocated', one.allocated]].filter(([, value]) => value !== null)
            .map(([what, value]) => `last ${what} ${flamePaint.size(value)}`);
        return [`death: ${one.how}`, ...last, ...one.last_snapshot ? [`last snapshot ${one.last_snapshot}`] : []].join(', ');
    }

    function drawLine() {
        line.set(known.samples, [
            ...known.snapshots.map((one) => ({t: seconds(one.taken), live: one.bytes, name: one.name,
                text: `snapshot ${one.name}, ${flamePaint.size(one.bytes)} live`})),
            ...known.deaths.map((one) => ({t: seconds(one.at), death: true, text: deathText(one)}))]);
    }

    // The snapshot that is nearest to a moment; of those of one second, the first, or
    // (later) the last.
    function nearestTo(t, later) {
        const away = (one) => Math.abs(seconds(one.taken) - t);
        return known.snapshots.reduce((best, one) =>
            !best || away(one) < away(best) || (later && away(one) === away(best)) ? one : best, null);
    }

    function picked(from, to) {
        const first = nearestTo(from), second = to === null ? null : nearestTo(to, true);
        if (to === null && first && Math.abs(seconds(first.taken) - from) < 1) {
            choose({snapshot: first.name, base: ''});
            return `snapshot ${first.name}; pick another moment to compare`;
        }
        if (to === null)
            return 'pick a second moment to compare the nearest snapshots';
        if (!first || first === second)
            return first ? `both moments are nearest to ${first.name}: there is nothing to compare` : 'there are no snapshots';
        choose({snapshot: second.name, base: first.name});
        return `compares ${second.name} with ${first.name}`;
    }

    // The sum of all nodes has no time line: this node's is shown.
    const lineNode = () => node() === 'all' ? null : node();

    // Of another node the whole history costs much: it is read once.
    async function fetchHistory(signal) {
        const of = lineNode(), samples = known.samples, newest = samples[samples.length - 1];
        const started = known.profiler && known.profiler.started;
        const rows = await data.rows(of !== null && newest ?
            `SELECT unix_timestamp(taken) AS t, rss, allocated, cgroup_limit AS \`limit\` FROM ${pageTables.of('memory', of)}` :
            'SELECT unix_timestamp(at) AS t, pid, started, rss, allocated, cgroup_limit AS `limit` ' +
                `FROM ${pageTables.of('memory_history', of, `at > from_unixtime(${newest ? newest.t : 0})`)} ORDER BY at`,
        signal);
        for (const row of rows)
            if (!samples.length || Number(row.t) > samples[samples.length - 1].t)
                samples.push({started, pid: newest && newest.started === started ? newest.pid : null, ...row, t: Number(row.t)});
        samples.splice(0, Math.max(samples.length - SAMPLES_MAX, 0));
    }

    // ---- tables ----

    const DOWNLOADS = [['pprof', 'pb.gz'], ['flamegraph', 'svg'], ['svg', 'graph.svg'], ['pdf', 'pdf'],
        ['collapsed', 'txt'], ['export', 'heapwire']];

    async function download(row, form, of) {
        const extension = DOWNLOADS.find(([one]) => one === form)[1];
        const blob = await wait(`Making ${form}`, (signal) =>
            data.value(`SELECT ${form}(${data.quote(nameOf(row.name, of))})`, signal));
        const url = URL.createObjectURL(blob);
        element('a', {href: url, download: `${row.name}.${extension}`}).click();
        setTimeout(() => URL.revokeObjectURL(url), 60000);
    }

    function doingsOf(row) {
        const press = (text, title, how) => {
            const one = Flame.button(text, title);
            one.setAttribute('aria-label', `${text} ${row.name}`);
            one.addEventListener('click', () => {
                forget();
                Promise.resolve(how()).catch(complain);
            });
            return one;
        };
        const name = JSON.stringify(row.name), of = node() === null ? null : row.node_id;
        const change = (call) => method(call, of).then(refresh).then(drawTable);
        const list = element('select', {'aria-label': `download ${row.name}`});
        for (const [form] of DOWNLOADS)
            if (form !== 'export' || of === null || of === self) // which other nodes do not send
                list.append(element('option', {value: form}, form));
        return [
            press('Compare', 'what has grown since it', () => choose({snapshot: '', base: row.name})),
            press(row.pinned ? 'Unpin' : 'Pin', 'eviction spares what is pinned',
                () => change(`${row.pinned ? 'unpin' : 'pin'}(${name})`)),
            press('Delete', '', () => confirm(`Delete the snapshot ${row.name}?`) && change(`delete(${name})`)),
            list, press('Download', '', () => download(row, list.value, of))];
    }

    function turned(rows) {
        return Object.entries(rows[0]).map(([figure, value]) => ({figure,
            value: typeof value === 'number' ? flamePaint.size(value) : value}));
    }

    const tabNow = () => Object.hasOwn(pageTables.tables, state.tab || '') ? state.tab : 'functions';
    const tableNow = () => pageTables.tables[tabNow()];

    async function drawTable() {
        const tab = tabNow(), table = tableNow(), host = byId('table'), now = listing = {};
        for (const one of byId('tabs').children) {
            const chosen = one.id === `tab-${tab}`;
            one.setAttribute('aria-selected', String(chosen));
            one.tabIndex = chosen ? 0 : -1;
        }
        host.setAttribute('aria-labelledby', `tab-${tab}`);
        try {
            const rows = await data.rows(table.of(node(), nameOf(state.snapshot), state.base && nameOf(state.base)));
            if (now !== listing)
                return;
            showTable(host, table.turned && rows.length === 1 ? turned(rows) : rows, {...table,
                doings: tab === 'snapshots' ? doingsOf : null,
                press: {snapshots: (row) => {
                    choose({snapshot: row.name, base: ''});
                    showFlame();
                }, functions: (row) => {
                    if (flame)
                        flame.look(row.function);
                    showFlame();
                },
                nodes: (row) => toNode(String(row.id))}[tab]});
        } catch (error) {
            if (now !== listing)
                return;
            host.replaceChildren();
            complain(error);
        }
    }

    function makeTabs() {
        const tabs = byId('tabs');
        for (const [key, {title}] of Object.entries(pageTables.tables)) {
            const one = element('button', {type: 'button', role: 'tab', id: `tab-${key}`, 'aria-controls': 'table'}, title);
            one.addEventListener('click', () => {
                forget();
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
        visit();
    }

    // Shows the chosen node: the heap first.
    async function visit() {
        Object.assign(known, {snapshots: [], samples: [], deaths: [], profiler: null});
        forget();
        await fetchNodes().catch(complain);
        drawFlame();
        drawTable();
        await refresh().catch(complain);
    }

    function showNodes() {
        const list = known.nodes.map((one) => [String(one.id),
            `${one.id}${one.self ? ' (this one)' : ''}`]);
        options(byId('node'), list.length > 1 ? [...list, ['all', 'all, added up']] : list,
            String(node() || self));
    }

    // All nodes' profilers as one.
    function together(list) {
        const count = (what) => `${list.filter(what).length} of ${known.nodes.length}`;
        const costs = list.map((one) => one.overhead).filter((cost) => cost !== null);
        return {state: `${count((one) => one.state === 'connected')} connected`,
            profiling: `on in ${count((one) => one.active)}`, active: list.every((one) => one.active),
            overhead: costs.length ? costs.reduce((sum, cost) => sum + cost, 0) : null};
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
            (one.guard_reason ? `; switched off: ${one.guard_reason}` : '') : 'the node does not answer';
        press.hidden = byId('take').hidden = !one;
        byId('cost').textContent = one ? costOf(one) : '';
        if (!one)
            return;
        press.textContent = one.active ? 'Disable profiling' : 'Enable profiling';
        press.disabled = Boolean(one.reason) && !one.active;
    }

    // Everything but the flame graph and the table, which change when people ask.
    async function refresh(signal) {
        const of = node(), at = lineNode();
        const rows = await data.rows('SELECT state, profiling, active, sample_rate, overhead, reason, guard_reason, started ' +
            `FROM ${pageTables.of('profiler', of)}`, signal);
        if (of !== node())
            return; // another one was chosen since
        known.profiler = of === 'all' && rows.length ? together(rows) : rows[0] || null;
        showProfiler();
        const snapshots = await data.rows(
            `SELECT name, taken, bytes FROM ${pageTables.of('snapshots', of)} ORDER BY taken`, signal);
        const deaths = await data.rows(
            `SELECT at, how, rss, allocated, last_snapshot FROM ${pageTables.of('deaths', at)}`, signal);
        await fetchHistory(signal);
        if (of !== node())
            return;
        Object.assign(known, {snapshots, deaths});
        byId('line-title').textContent = of === null ? 'Memory' :
            `Memory of node ${at ?? self}${of === 'all' ? ', this one: the sum has no time line' : ''}`;
        showChoices();
        drawLine();
    }

    async function fetchNodes() {
        known.nodes = await data.rows('SELECT id, self FROM heapwire.nodes ORDER BY id');
        self = known.nodes.find((one) => one.self).id;
        document.title = `heapwire ${self}`;
        byId('program').textContent = `heapwire, node ${self}`;
        showNodes();
    }

    // Asks again and again; a node that is gone ever more seldom.
    async function follow(pause) {
        let next = REFRESH_MS;
        await new Promise((go) => setTimeout(go, pause));
        try {
            if (!document.hidden)
                await refresh(AbortSignal.timeout(REFRESH_MAX_MS));
        } catch (error) {
            next = Math.min(pause * 2, REFRESH_MAX_MS);
            byId('state').textContent = `no answer: ${error.message}; asks again in ${next / 1000} s`;
        }
        follow(next);
    }

    function listen() {
        const on = (id, what, how) => byId(id).addEventListener(what, how);
        on('node', 'change', () => toNode(byId('node').value));
        on('snapshot', 'change', () => choose({snapshot: byId('snapshot').value}));
        on('base', 'change', () => choose({base: byId('base').value}));
        on('by', 'change', () => choose({by: byId('by').value === 'inuse_space' ? '' : byId('by').value}));
        on('again', 'click', () => visit());
        on('stop', 'click', () => running && running.abort());
        on('switch', 'click', () => {
            forget();
            method(known.profiler.active ? 'disable_prof()' : 'enable_prof()').then(refresh).catch(complain);
        });
        on('take', 'submit', (event) => {
            const name = byId('name').value;
            event.preventDefault();
            forget();
            wait('Taking a snapshot', () => method(`snapshot(${name ? JSON.stringify(name) : ''})`))
                .then(() => refresh()).then(() => tabNow() === 'snapshots' && drawTable()).catch(complain);
        });
        document.querySelector('.skip').addEventListener('click', (event) => {
            event.preventDefault(); // the fragment is the state
            byId('flame').focus();
        });
        window.addEventListener('popstate', goBack);
        matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawLine);
    }

    line = new TimeLine(byId('line'), {picked});
    readAddress();
    makeTabs();
    listen();
    visit().then(() => follow(REFRESH_MS));
})();
