// The page: what is chosen is in the URL, and a link shows the same again.
'use strict';
(function () {
    const REFRESH_MS = 10000, REFRESH_MAX_MS = 80000, ANSWER_MS = 20000, PATIENCE_MS = 700, PROGRESS_MS = 1000, SAMPLES_MAX = 21600;
    const element = Flame.element;
    const byId = (id) => document.getElementById(id);
    const state = {};
    let known = {nodes: []}; // of the chosen node: another one's is another object
    let line = null, flame = null, self = null, drawing = null, listing = null, running = null, lost = false;

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
        if (differ('view', 'snapshot', 'base', 'by', 'root', 'kind', 'seconds')) {
            showChoices();
            drawFlame();
        } else if (flame && differ(...FLAME_STATE)) {
            flame.restore(flameState());
        }
        if (differ('tab') || (differ('view', 'snapshot', 'base') && tableNow().heap))
            drawTable();
    }

    // ---- messages and progress ----

    // What is wrong, by what was asked for: it goes once that works.
    const wrong = new Map();

    function showWrong() {
        const texts = Array.from(wrong.values(), (error) => error.message);
        byId('message').textContent = Array.from(new Set(texts)).join('\n');
        byId('message').hidden = !wrong.size;
        const reason = known.profiler && known.profiler.reason; // which is said once
        byId('cost').hidden = Boolean(reason) && texts.some((text) => text.includes(reason));
    }

    function complain(what, error) {
        if (error.name !== 'AbortError')
            wrong.set(what, error);
        showWrong();
    }

    function forget(what) {
        wrong.delete(what);
        showWrong();
    }

    // What people do by a button.
    function act(how) {
        forget('act');
        Promise.resolve(how()).catch((error) => complain('act', error));
    }

    // Does work(signal), and says how far it is where that takes long, or so many
    // seconds.
    async function wait(what, work, stop = new AbortController(), seconds = 0) {
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
            const past = (Date.now() - started) / 1000;
            const rows = past < seconds ? [] : await data.rows("SELECT state FROM heapwire.sessions WHERE command = 'Query' " +
                "AND state LIKE '%(%of%' ORDER BY time DESC LIMIT 1").catch(() => []);
            const how = rows.length ? `: ${rows[0].state}` : '';
            if (past < seconds)
                say(`${what}, ${Math.round(past)} of ${seconds} s`, 100 * past / seconds);
            else
                say(`${what}, ${Math.round(past)} s${how}`, parseInt(how.split(', ')[1], 10));
            setTimeout(tick, past < seconds ? PROGRESS_MS / 4 : PROGRESS_MS);
        };
        running = stop;
        setTimeout(tick, seconds ? 0 : PATIENCE_MS);
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

    // Of the processor's time, or the clock's, and not of the heap.
    const isCpu = () => state.view === 'cpu';
    const toSample = () => isCpu() && !state.snapshot;
    const kindNow = () => state.kind === 'wall' ? 'wall' : 'cpu';
    // What the stacks of the heap begin with: '' as they are.
    const rootNow = () => ['pool', 'thread'].find((one) => one === state.root) || '';
    // As the flame graph calls a row of the threads.
    const labelOf = (row) => rootNow() === 'thread' && row.thread ? ['thread', row.thread, row.name].filter(Boolean).join(' ') :
        row.pool ? `pool ${row.pool}` : 'unknown pool';
    const secondsNow = () => [5, 30].find((one) => one === Number(state.seconds)) || 10;

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
        const bad = rows.filter((row) => row.status === 'ERROR');
        if (bad.length)
            throw new Error(bad.map((row) => `node ${row.node_id}: ${data.plain(row.result)}`).join('\n'));
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

    const processOf = (one) => `${one.node_id} ${one.pid} ${one.program}`;

    // What cannot be compared with the heap as it is now.
    function markOf(one) {
        const started = known.profiler && known.profiler.started;
        return one.cause === 'imported' ? ' (imported)' : started && one.taken < started ? ' (ended process)' : '';
    }

    function showChoices() {
        const list = isCpu() ? known.profiles : known.snapshots;
        const names = Array.from(new Map(list.map((one) => [one.name, one.name + markOf(one)])));
        options(byId('snapshot'), [['', isCpu() ? 'a new profile' : 'now'], ...names], state.snapshot || '');
        options(byId('base'), [['', isCpu() ? 'nothing' : 'the start'], ...names], state.base || '');
        byId('by').value = state.by || 'inuse_space';
        byId('root').value = rootNow();
        byId('kind').value = kindNow();
        byId('seconds').value = secondsNow();
        byId('again').textContent = toSample() ? 'Sample' : 'Again';
        byId('flame-title').textContent = isCpu() ? 'CPU' : 'Heap';
        byId('by').parentNode.hidden = byId('root').parentNode.hidden = isCpu();
        byId('sampling').hidden = !toSample();
        for (const one of byId('views').children) {
            const chosen = one.id === (isCpu() ? 'view-cpu' : 'view-heap');
            one.setAttribute('aria-selected', String(chosen));
            one.tabIndex = chosen ? 0 : -1;
        }
    }

    // Nothing stays of what was shown; only the page's height, until the next is there.
    function clearFlame() {
        const host = byId('flame');
        if (drawing) // what was asked for before is not wanted any more
            drawing.abort();
        drawing = null;
        host.style.minHeight = `${host.offsetHeight}px`;
        host.replaceChildren();
        byId('title').textContent = byId('notes').textContent = '';
        flame = null;
    }

    function showNotes() {
        const key = flame.color === 'growth' ? ['red grew, blue shrank, grey may be chance'] : [];
        byId('notes').textContent = [...flame.tree.notes, ...key].join('; ');
    }

    // Of an empty heap, why.
    function showEmpty() {
        const empty = Boolean(flame) && !isCpu() && !state.snapshot && !state.base && flame.tree.total.every((one) => one === 0);
        const off = known.profiler && !known.profiler.active;
        byId('flame').hidden = empty;
        if (empty)
            byId('title').textContent = off ? 'Nothing is sampled: profiling is off. “Enable profiling” sees what is ' +
                'allocated after that, and nothing from before.' :
                'Nothing is sampled yet. Profiling sees what was allocated since it is on; “Again” looks again.';
    }

    function showSample() {
        byId('flame').hidden = true;
        byId('title').textContent = '“Sample” looks at what the threads do for so long.';
    }

    // A profile that takes its time is taken when people press the button.
    async function drawFlame(pressed = false) {
        clearFlame();
        if (toSample() && !pressed) {
            showSample();
            return;
        }
        byId('flame').hidden = false;
        const now = drawing = new AbortController();
        const seconds = toSample() ? secondsNow() : 0;
        const name = data.quote(nameOf(seconds ? `${kindNow()}:${seconds}` : state.snapshot));
        const base = state.base ? data.quote(nameOf(state.base)) : 'NULL';
        const by = isCpu() ? '' : (state.by === 'inuse_objects' ? 'by=inuse_objects;' : '') + (rootNow() && `by_${rootNow()}`);
        try {
            const blob = await wait(seconds ? 'Sampling' : `Drawing the ${isCpu() ? 'profile' : 'heap'}`,
                (signal) => data.value(`SELECT calls(${name}, ${base}, '${by}')`, signal), now, seconds);
            const tree = flameTree.parse(await blob.text());
            if (now !== drawing)
                return;
            forget('flame');
            byId('title').textContent = tree.title;
            flame = new Flame(byId('flame'), tree, {state: flameState(), changed: (changes) => {
                if (!flame)
                    return;
                keepFlame(changes);
                showNotes();
            }});
            showNotes();
            showEmpty();
        } catch (error) {
            if (now === drawing) {
                complain('flame', error);
                if (toSample())
                    showSample();
            }
        }
        if (now === drawing)
            byId('flame').style.minHeight = '';
    }

    // What a table was asked for is where people see it.
    const showFlame = () => byId('flame').scrollIntoView({block: 'nearest'});

    function choose(changes) {
        keep({zoom: '', sandwich: '', ...changes});
        forget('flame');
        showChoices();
        drawFlame();
        if (tableNow().heap)
            drawTable();
    }

    // ---- the time line ----

    const seconds = (text) => Date.parse(`${text}Z`.replace(' ', 'T')) / 1000;

    function deathText(one) {
        const last = [['RSS', one.rss], ['allocated', one.allocated]].filter(([, value]) => value !== null)
            .map(([what, value]) => `last ${what} ${flamePaint.size(value)}`);
        return [`death: ${one.how}`, ...last, ...one.last_snapshot ? [`last snapshot ${one.last_snapshot}`] : []].join(', ');
    }

    // What has no moment is in the tables alone.
    function drawLine() {
        line.set(known.samples, [
            ...known.snapshots.map((one) => ({t: seconds(one.taken), live: one.bytes,
                text: `snapshot ${one.name}, ${flamePaint.size(one.bytes)} live`})),
            ...known.deaths.map((one) => ({t: seconds(one.at), death: true, text: deathText(one)}))]
            .filter((one) => Number.isFinite(one.t)));
    }

    // Of a list, the one that is nearest to a moment; of those of one second, the
    // first, or (later) the last.
    const away = (one, t) => Math.abs(seconds(one.taken) - t);
    const nearestTo = (t, later, list = known.snapshots) => list.reduce((best, one) =>
        !best || away(one, t) < away(best, t) || (later && away(one, t) === away(best, t)) ? one : best, null);

    // The two of one process that are best for two moments: both within, if any are.
    function twoOf(from, to) {
        let best = null;
        for (const key of new Set(known.snapshots.map(processOf))) {
            const all = known.snapshots.filter((one) => processOf(one) === key);
            const within = all.filter((one) => seconds(one.taken) > from - 1 && seconds(one.taken) < to + 1);
            const list = within.length > 1 ? within : all;
            const first = nearestTo(from, false, list), second = nearestTo(to, true, list);
            const far = away(first, from) + away(second, to);
            const pair = {first, second, within: list === within, far};
            if (first !== second && (!best || pair.within > best.within || (pair.within === best.within && far < best.far)))
                best = pair;
        }
        return best;
    }

    function picked(from, to) {
        if (to === null) {
            const one = nearestTo(from);
            if (!one || away(one, from) >= 1)
                return 'pick a second moment to compare the nearest snapshots';
            choose({snapshot: one.name, base: ''});
            return `snapshot ${one.name}; pick another moment to compare`;
        }
        const two = twoOf(from, to);
        if (!two)
            return 'no two snapshots of one process are near: there is nothing to compare';
        choose({snapshot: two.second.name, base: two.first.name});
        return `compares ${two.second.name} with ${two.first.name}${two.within ? '' :
            ', the nearest of one process: no two of one are within'}`;
    }

    // The sum of all nodes has no time line: this node's is shown.
    const lineNode = () => node() === 'all' ? null : node();

    // Of another node the whole history costs much: it is read once, and again when
    // its database is gone, for its last seconds.
    async function fetchHistory(mine, of, ask) {
        const samples = mine.samples, newest = samples[samples.length - 1];
        const started = mine.profiler && mine.profiler.started, other = of !== null && newest;
        if (other && !started && mine.ended)
            return;
        const rows = await ask(other && started ?
            `SELECT unix_timestamp(taken) AS t, rss, allocated, cgroup_limit AS \`limit\`, answered AS responsive, 1 AS seldom FROM ${pageTables.of('memory', of)}` :
            'SELECT unix_timestamp(at) AS t, pid, started, responsive, rss, allocated, cgroup_limit AS `limit` ' +
                `FROM ${pageTables.of('memory_history', of, `at > from_unixtime(${newest ? newest.t : 0})`)} ORDER BY at`);
        mine.ended = !started;
        for (const row of rows)
            if (!samples.length || Number(row.t) > samples[samples.length - 1].t)
                samples.push({started, pid: newest && newest.started === started ? newest.pid : null, ...row, t: Number(row.t)});
        // Older rows are minutes and hours, of weeks: a line of them would have no room for today.
        const last = samples.length && samples[samples.length - 1].t;
        samples.splice(0, Math.max(samples.findIndex((sample) => sample.t > last - SAMPLES_MAX), 0));
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
            one.addEventListener('click', () => act(how));
            return one;
        };
        const name = JSON.stringify(row.name), of = node() === null ? null : row.node_id;
        const change = (call) => method(call, of).then(() => refresh()).then(drawTable);
        const list = element('select', {'aria-label': `download ${row.name}`});
        for (const [form] of DOWNLOADS)
            if (form !== 'export' || of === null || of === self) // which other nodes do not send
                list.append(element('option', {value: form}, form));
        return [
            press('Compare', 'what has grown since it', () => choose({view: row.kind === 'heap' ? '' : 'cpu',
                kind: row.kind === 'wall' ? 'wall' : '', snapshot: '', base: row.name})),
            press(row.pinned ? 'Unpin' : 'Pin', 'eviction spares what is pinned',
                () => change(`${row.pinned ? 'unpin' : 'pin'}(${name})`)),
            press('Delete', '', () => confirm(`Delete the snapshot ${row.name}${row.pinned ? ', which is pinned' : ''}?`) && change(`delete(${name})`)),
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
        const name = nameOf(state.snapshot), ask = isCpu() && table.heap ?
            !state.base && state.snapshot && table.cpu?.(name) :
            table.of(node(), name, state.base && nameOf(state.base));
        try {
            const rows = ask ? await data.rows(ask) : [];
            if (now !== listing)
                return;
            forget('table');
            showTable(host, table.turned && rows.length === 1 ? turned(rows) : rows, {...table, none: ask ? table.none : 'Only of kept profiles.',
                doings: tab === 'snapshots' && doingsOf,
                press: {snapshots: (row) => {
                    choose({view: row.kind === 'heap' ? '' : 'cpu', snapshot: row.name, base: ''});
                    showFlame();
                }, threads: (row) => {
                    if (flame)
                        flame.look(labelOf(row));
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
            complain('table', error);
        }
    }

    function arrows(tabs) {
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

    function makeTabs() {
        const tabs = byId('tabs');
        for (const [key, {title}] of Object.entries(pageTables.tables)) {
            const one = element('button', {type: 'button', role: 'tab', id: `tab-${key}`, 'aria-controls': 'table'}, title);
            one.addEventListener('click', () => {
                keep({tab: key});
                forget('table');
                if (key === 'threads' && !isCpu() && !rootNow())
                    choose({root: 'pool'});
                else
                    drawTable();
            });
            tabs.append(one);
        }
        arrows(tabs);
    }

    // ---- the node and its profiler ----

    function toNode(id) {
        keep({node: Number(id) === self ? '' : id, snapshot: '', base: '', zoom: '', sandwich: ''});
        visit();
    }

    // Shows the chosen node: the heap first.  Nothing stays of the one before.
    async function visit() {
        const mine = known = {nodes: known.nodes, snapshots: [], profiles: [], samples: [], deaths: [], profiler: null, stale: {}};
        wrong.clear();
        showWrong();
        showProfiler('asks the node');
        drawLine();
        showStale();
        byId('table').replaceChildren();
        options(byId('snapshot'), [], '');
        options(byId('base'), [], '');
        listing = null;
        lost = false;
        clearFlame();
        showName();
        await fetchNodes().catch((error) => complain('nodes', error));
        if (mine !== known)
            return; // another one was chosen since
        drawFlame();
        drawTable();
        await refresh().catch((error) => showLost(error.message));
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
        if (profiler.reason && !profiler.active)
            return profiler.reason;
        if (profiler.overhead !== null)
            return `costs ${profiler.overhead.toFixed(2)}% of one CPU`;
        return profiler.active ? 'its cost is not measured yet' :
            `one sample in ${flamePaint.size(profiler.sample_rate || 524288)}`;
    }

    function showProfiler(otherwise) {
        const one = known.profiler, press = byId('switch');
        byId('state').textContent = one ? `${one.state}, profiling: ${one.profiling}` +
            (one.guard_reason ? `; switched off: ${one.guard_reason}` : '') : otherwise;
        byId('state').classList.toggle('wrong', known.profiler === null && lost);
        press.hidden = byId('take').hidden = !one;
        byId('cost').textContent = one ? costOf(one) : '';
        showWrong();
        showEmpty();
        if (!one)
            return;
        press.textContent = one.active ? 'Disable profiling' : 'Enable profiling';
        press.disabled = Boolean(one.reason) && !one.active;
    }

    function showLost(text) {
        lost = true;
        byId('state').classList.add('wrong');
        byId('state').textContent = text;
    }

    // Of a refresh what failed, and why; not what the node's state says already.
    function showStale() {
        const told = Object.entries(known.stale).filter(([, text]) => text && text !== known.stale.profiler);
        const texts = Array.from(new Set(told.map(([, text]) => text)), (text) => 'No news of ' +
            `${told.filter(([, one]) => one === text).map(([what]) => what).join(', ')}: ${text}`);
        byId('stale').textContent = texts.join('\n');
        byId('stale').hidden = !texts.length;
    }

    // Everything but the flame graph and the table, which change when people ask.
    // What fails leaves the rest as it is; the profiler's rows are how the node is.
    async function refresh() {
        const mine = known, of = node(), at = lineNode();
        const ask = (statement) => data.rows(statement, AbortSignal.timeout(ANSWER_MS));
        const part = async (what, work, show) => {
            const error = mine === known && await work().then(() => null, (failed) => failed);
            if (mine !== known)
                return null; // another one was chosen since
            mine.stale[what] = error && error.message;
            showStale();
            if (!error)
                show();
            return error;
        };
        const rows = (what, statement) => part(what, async () => { mine[what] = await ask(statement); }, () => {
            showChoices();
            drawLine();
        });
        const failed = await part('profiler', async () => {
            const list = await ask('SELECT state, profiling, active, sample_rate, overhead, reason, guard_reason, started ' +
                `FROM ${pageTables.of('profiler', of)}`);
            mine.profiler = of === 'all' && list.length ? together(list) : list[0] || null;
        }, () => {
            lost = lost || !mine.profiler;
            showProfiler('the node does not answer');
        });
        if (!failed || !failed.passes) {
            const list = (condition) => 'SELECT name, taken, bytes, node_id, pid, program, cause ' +
                `FROM ${pageTables.of('snapshots', of, condition)} ORDER BY taken`;
            await rows('snapshots', list("kind = 'heap'"));
            await rows('profiles', list("kind <> 'heap'"));
            await rows('deaths', 'SELECT coalesce(at, sampled, started) AS at, how, rss, allocated, ' +
                `last_snapshot FROM ${pageTables.of('deaths', at)}`);
            await part('memory', () => fetchHistory(mine, at, ask), drawLine);
        }
        if (failed && mine === known)
            throw failed;
    }

    // Of the node that is shown.
    function showName() {
        const id = node() || self;
        document.title = byId('program').textContent = id === 'all' ? 'heapwire, all nodes' :
            id ? `heapwire, node ${id}` : 'heapwire';
        byId('line-title').textContent = node() === null || self === null ? 'Memory' :
            `Memory of node ${lineNode() ?? self}${id === 'all' ? ', this one: the sum has no time line' : ''}`;
    }

    async function fetchNodes() {
        known.nodes = await data.rows('SELECT id, self FROM heapwire.nodes ORDER BY id');
        self = known.nodes.find((one) => one.self).id;
        showName();
        showNodes();
    }

    const passes = (what) => wrong.has(what) && wrong.get(what).passes;

    // Asks again and again; a node that is gone ever more seldom.  What failed
    // meanwhile is asked for again once the node answers.
    async function follow(pause) {
        let next = REFRESH_MS;
        await new Promise((go) => setTimeout(go, pause));
        try {
            if (!document.hidden) {
                await refresh();
                if (known.profiler && (lost || self === null))
                    visit();
                else if (passes('flame'))
                    drawFlame();
                if (passes('table'))
                    drawTable();
            }
        } catch (error) {
            next = Math.min(pause * 2, REFRESH_MAX_MS);
            showLost(`${error.message}; asks again in ${next / 1000} s`);
        }
        follow(next);
    }

    function listen() {
        const on = (id, what, how) => byId(id).addEventListener(what, how);
        on('node', 'change', () => toNode(byId('node').value));
        on('snapshot', 'change', () => choose({snapshot: byId('snapshot').value}));
        on('base', 'change', () => choose({base: byId('base').value}));
        on('by', 'change', () => choose({by: byId('by').value === 'inuse_space' ? '' : byId('by').value}));
        on('root', 'change', () => choose({root: byId('root').value}));
        on('kind', 'change', () => keep({kind: byId('kind').value === 'cpu' ? '' : 'wall'}));
        on('seconds', 'change', () => keep({seconds: byId('seconds').value}));
        on('again', 'click', () => toSample() ? drawFlame(true) : visit());
        arrows(byId('views'));
        for (const what of ['heap', 'cpu'])
            on(`view-${what}`, 'click', () => choose({view: what === 'heap' ? '' : what, snapshot: '', base: ''}));
        on('stop', 'click', () => running && running.abort());
        on('switch', 'click', () => act(() =>
            method(known.profiler.active ? 'disable_prof()' : 'enable_prof()').then(() => refresh())));
        on('take', 'submit', (event) => {
            const name = byId('name').value;
            event.preventDefault();
            act(() => wait('Taking a snapshot', () => method(`snapshot(${name ? JSON.stringify(name) : ''})`))
                .then(() => refresh()).then(() => tabNow() === 'snapshots' && drawTable()));
        });
        document.querySelector('.skip').addEventListener('click', (event) => {
            event.preventDefault(); // the fragment is the state
            (flame ? flame.canvas : byId('flame')).focus(); // which takes the keys
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
