// The page: what is chosen is in the URL, and a link shows the same again.
'use strict';
(function () {
    const REFRESH_MS = 10000, REFRESH_MAX_MS = 80000, DIAGNOSE_MS = 60000, DIAGNOSE_SHARE = 100, ANSWER_MS = 20000, SAMPLES_MAX = 21600, SQL_MAX = 4000;
    const BY = ['inuse_objects', 'waste'];
    const element = Flame.element, {fail, clearOf, act, wait, passes} = pageStatus, {options, arrows} = pageControls;
    const {state, address, readAddress, keep, flameState, keepFlame} = pageAddress;
    const byId = (id) => document.getElementById(id);
    let known = {nodes: []}; // of the chosen node: another one's is another object
    let line = null, flame = null, self = null, drawing = null, listing = null, lost = false;
    let have = null; // the tables that the node has
    let last = null; // of a database that is gone or hangs, the snapshot that is shown instead of now

    // Back, forward, or another link.
    function goBack() {
        const before = {...state};
        readAddress();
        const differ = (...keys) => keys.some((key) => state[key] !== before[key]);
        if (differ('node')) {
            visit();
            return;
        }
        if (differ('view', 'snapshot', 'base', 'by', 'root', 'kind', 'seconds', 'force')) {
            showChoices();
            drawFlame();
        } else if (flame && differ(...Object.keys(flameState()))) {
            flame.restore(flameState());
        }
        if (differ('tab') || (differ('view', 'snapshot', 'base', 'force') && tableNow().heap))
            drawTable();
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

    const snapshotNow = () => state.snapshot || (last && !isCpu() ? last.name : '');

    // A snapshot's name as views take it.
    function nameOf(snapshot, of = node()) {
        if (of === null || of === self)
            return snapshot || 'now';
        const sum = of === 'all' ? 'cluster' : `cluster@${of}`;
        return snapshot && snapshot !== 'now' ? `${sum}:${snapshot}` : sum;
    }

    // What the method answers: of one node its lines.
    async function method(call, of = node(), profiler = 'HeapProf') {
        const script = data.quote(`System.print(${profiler}.getInstance().${call})`);
        const rows = await data.rows(`ADMIN EXECUTE ON ${of === null ? self : of === 'all' ? 'ALL' : of} ${script}`);
        const bad = rows.filter((row) => row.status === 'ERROR');
        if (bad.length)
            throw new Error(bad.map((row) => `node ${row.node_id}: ${data.plain(row.result)}`).join('\n'));
    }

    // What is shown, as views and downloads take it; seconds: it is sampled for them.
    function viewNow() {
        const seconds = toSample() ? secondsNow() : 0;
        const name = data.quote(nameOf(seconds ? `${kindNow()}:${seconds}` : snapshotNow()));
        const options = [!isCpu() && BY.includes(state.by) && `by=${state.by}`, !isCpu() && rootNow() && `by_${rootNow()}`,
            state.base && state.force && 'force'];
        return {seconds, name, arguments: `${name}, ${state.base ? data.quote(nameOf(state.base)) : 'NULL'}, ` +
            `'${options.filter(Boolean).join('; ')}'`};
    }

    // ---- the flame graph ----

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
        byId('by').value = BY.includes(state.by) ? state.by : 'inuse_space';
        byId('by-waste').hidden = !have?.has('heap_waste');
        byId('root').value = rootNow();
        byId('kind').value = kindNow();
        byId('seconds').value = secondsNow();
        byId('again').textContent = toSample() ? 'Sample' : 'Again';
        byId('flame-title').textContent = isCpu() ? 'CPU' : 'Heap';
        byId('by').parentNode.hidden = byId('root').parentNode.hidden = isCpu();
        const forms = pageDownload.list(!state.base && (node() === null || node() === self)), form = byId('form').value;
        options(byId('form'), forms, forms.some(([one]) => one === form) ? form : forms[0][0]);
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
        byId('restart').hidden = true;
        flame = null;
    }

    function showNotes() {
        const key = flame.color === 'growth' ? ['red grew, blue shrank, grey may be chance'] : [];
        byId('notes').textContent = [...flame.tree.notes, ...key].join('; ');
    }

    // Of an empty heap, why.
    function showEmpty() {
        const empty = Boolean(flame) && !isCpu() && !snapshotNow() && !state.base && flame.tree.total.every((one) => one === 0);
        const off = known.profiler && !known.profiler.active;
        byId('flame').hidden = empty;
        if (empty)
            byId('title').textContent = off ? 'Nothing is sampled: profiling is off. “Enable profiling” sees what is ' +
                'allocated after that, and nothing from before.' :
                'Nothing is sampled yet. Profiling sees what is allocated after it was switched on; “Again” looks again.';
    }

    function showSample() {
        byId('flame').hidden = true;
        byId('title').textContent = '“Sample” looks at what the threads do for so long.';
    }

    // Of a database that is gone or hangs, what was asked about it now: whether its
    // last snapshot can be asked instead.
    async function turnToLast(error, mine = known) {
        const of = node();
        if (last)
            return !state.snapshot && !isCpu();
        if (![503, 504].includes(error.status) || of === 'all' || isCpu() || state.snapshot || state.base)
            return false;
        const [one] = await data.rows('SELECT name, taken FROM ' +
            `${pageTables.of('snapshots', of, "kind = 'heap' AND cause <> 'imported'")} ORDER BY taken DESC LIMIT 1`).catch(() => []);
        if (!one || mine !== known)
            return false;
        last = last || {...one, why: error.message};
        byId('last').textContent = `Not the heap of now: ${last.why}. This is the last snapshot, ${last.name}, of ${last.taken} UTC.`;
        return true;
    }

    function showLast() {
        byId('last').hidden = !last || isCpu() || Boolean(state.snapshot);
        pageStatus.show();
    }

    // A profile that takes its time is taken when people press the button.
    async function drawFlame(pressed = false) {
        clearFlame();
        showLast();
        if (toSample() && !pressed) {
            showSample();
            return;
        }
        byId('flame').hidden = false;
        const now = drawing = new AbortController(), before = last;
        const view = viewNow();
        try {
            const blob = await wait(view.seconds ? 'Sampling' : `Drawing the ${isCpu() ? 'profile' : 'heap'}`,
                (signal) => data.value(`SELECT calls(${view.arguments})`, signal), now, view.seconds);
            const tree = flameTree.parse(await blob.text());
            if (now !== drawing)
                return;
            clearOf('flame');
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
            if (now === drawing && error.name !== 'AbortError' && !before && await turnToLast(error)) {
                if (now === drawing)
                    drawFlame();
                return;
            }
            if (now === drawing)
                showFlameError(error);
        }
        if (now === drawing)
            byId('flame').style.minHeight = '';
    }

    function showFlameError(error) {
        if (toSample())
            showSample();
        const unrelated = state.base && /^(.*?); .*compares them nevertheless/.exec(error.message);
        byId('restart').hidden = !unrelated;
        byId('restart').querySelector('span').textContent = unrelated ? `${unrelated[1]}: what differs may not be what grew.` : '';
        if (unrelated)
            clearOf('flame');
        else
            fail('flame', error);
    }

    // ---- links and files ----

    // What is now is another heap when somebody looks again: a snapshot is not.
    async function keepLink() {
        const {seconds} = viewNow();
        if (!state.snapshot && !snapshotNow()) {
            const name = `link_${new Date().toISOString().replace(/\D/g, '').slice(0, 14)}_${Math.random().toString(36).slice(2, 4)}`;
            await wait(seconds ? 'Sampling' : 'Taking a snapshot', () => isCpu() ?
                method(`${kindNow() === 'wall' ? 'snapshot_wall' : 'snapshot'}("${name}", ${seconds})`, node(), 'CpuProf') :
                method(`snapshot("${name}")`), undefined, seconds);
            keep({snapshot: name});
            await refresh();
            drawFlame();
        } else {
            keep({snapshot: snapshotNow()});
            showLast();
        }
        showChoices();
        if (tableNow().heap)
            drawTable();
        const link = data.link(address());
        const said = await navigator.clipboard?.writeText(link).then(() => 'Copied: ', () => '') || 'The link: ';
        byId('kept').replaceChildren(said, element('a', {href: link}, link));
        byId('kept').hidden = false;
    }

    function download() {
        const {seconds, arguments: all, name} = viewNow(), form = byId('form').value;
        return pageDownload.get(form, form === 'export' ? name : all,
            [snapshotNow() || (isCpu() ? kindNow() : 'now'), ...state.base ? ['since', state.base] : []].join('_'), seconds);
    }

    // What a table was asked for is where people see it.
    const showFlame = () => byId('flame').scrollIntoView({block: 'nearest'});

    function choose(changes) {
        keep({zoom: '', sandwich: '', force: 'snapshot' in changes || 'base' in changes ? '' : state.force, ...changes});
        clearOf('flame');
        byId('kept').hidden = true;
        showChoices();
        drawFlame();
        if (tableNow().heap)
            drawTable();
    }

    // ---- the time line ----

    function drawLine() {
        line.set(known.samples, pageMarks.of(known), known.others);
    }

    function picked(from, to) {
        if (to === null) {
            const one = pageMarks.nearestTo(known.snapshots, from, false);
            if (!one || pageMarks.secondsFrom(one, from) >= 1)
                return 'pick a second moment to compare the nearest snapshots';
            choose({snapshot: one.name, base: ''});
            return `snapshot ${one.name}; pick another moment to compare`;
        }
        const two = pageMarks.twoOf(known.snapshots, from, to);
        if (!two)
            return 'no two snapshots of one process are near: there is nothing to compare';
        choose({snapshot: two.second.name, base: two.first.name});
        return `compares ${two.second.name} with ${two.first.name}${two.within ? '' :
            ', the nearest of one process: no two of one are within'}`;
    }

    // Of another node the whole history costs much: it is read once, and again when
    // its database is gone, for its last seconds.
    async function fetchHistory(mine, of, ask) {
        const samples = mine.samples, newest = samples[samples.length - 1];
        const started = mine.profiler && mine.profiler.started, other = of !== null && newest;
        if (other && !started && mine.ended)
            return;
        const rows = await ask(other && started ?
            `SELECT unix_timestamp(taken) AS t, rss, allocated, active, resident, cgroup_limit AS \`limit\`, answered AS responsive, 1 AS seldom FROM ${pageTables.of('memory', of)}` :
            'SELECT unix_timestamp(at) AS t, pid, started, responsive, rss, allocated, active, resident, cgroup_limit AS `limit`, seconds ' +
                `FROM ${pageTables.of('memory_history', of, `at > from_unixtime(${newest ? newest.t : 0})`)} ORDER BY at`);
        mine.ended = !started;
        for (const row of rows)
            if (!samples.length || Number(row.t) > samples[samples.length - 1].t)
                samples.push({started, pid: newest && newest.started === started ? newest.pid : null, ...row, t: Number(row.t)});
        samples.splice(0, Math.max(samples.length - SAMPLES_MAX, 0));
    }

    // ---- tables ----

    function actionsOf(row) {
        const press = (text, title, how) => {
            const one = Flame.button(text, title);
            one.setAttribute('aria-label', `${text} ${row.name}`);
            one.addEventListener('click', () => act(how));
            return one;
        };
        const name = JSON.stringify(row.name), of = node() === null ? null : row.node_id;
        const change = (call) => method(call, of).then(() => refresh()).then(drawTable);
        const list = element('select', {'aria-label': `download ${row.name}`});
        options(list, pageDownload.list(of === null || of === self), 'flamegraph');
        return [
            press('Compare', 'what has grown since it', () => choose({view: row.kind === 'heap' ? '' : 'cpu',
                kind: row.kind === 'wall' ? 'wall' : '', snapshot: '', base: row.name})),
            press(row.pinned ? 'Unpin' : 'Pin', 'eviction spares what is pinned',
                () => change(`${row.pinned ? 'unpin' : 'pin'}(${name})`)),
            press('Delete', '', () => confirm(`Delete the snapshot ${row.name}${row.pinned ? ', which is pinned' : ''}?`) && change(`delete(${name})`)),
            list, press('Download', '', () => pageDownload.get(list.value, data.quote(nameOf(row.name, of)), row.name))];
    }

    // Whether the node has the table that the tab shows.
    const hasTab = ({needs, heap}) => !needs || have?.has(heap ? needs : pageTables.placeOf(needs, node()));
    const tabNow = () => Object.hasOwn(pageTables.tables, state.tab || '') && hasTab(pageTables.tables[state.tab]) ? state.tab : 'functions';
    const tableNow = () => pageTables.tables[tabNow()];

    function lookAt(row) {
        if (flame)
            flame.look(row.function);
        showFlame();
    }

    async function drawTable() {
        const tab = tabNow(), table = tableNow(), host = byId('table'), now = listing = {};
        for (const one of byId('tabs').children) {
            const chosen = one.id === `tab-${tab}`;
            one.setAttribute('aria-selected', String(chosen));
            one.tabIndex = chosen ? 0 : -1;
            one.hidden = !hasTab(pageTables.tables[one.id.slice(4)]);
        }
        host.setAttribute('aria-labelledby', `tab-${tab}`);
        if (tab === 'sql') {
            clearOf('table');
            pageSql(host, {text: state.sql || '', keep: (text) => keep({sql: text.slice(0, SQL_MAX)}, true)});
            return;
        }
        const before = last, name = nameOf(snapshotNow()), ask = isCpu() && table.heap ?
            !state.base && state.snapshot && table.cpu?.(name) :
            table.of(node(), name, state.base && nameOf(state.base), state.force);
        try {
            const rows = ask ? await data.rows(ask) : [];
            if (now !== listing)
                return;
            clearOf('table');
            showTable(host, table.turned && rows.length === 1 ? turned(rows[0], flamePaint.size) : rows, {...table, none: ask ? table.none : table.cpu ? 'It exists only for kept profiles: “Keep and copy link” keeps one.' : 'It exists only for the heap.',
                actions: tab === 'snapshots' && actionsOf,
                press: {snapshots: (row) => {
                    choose({view: row.kind === 'heap' ? '' : 'cpu', snapshot: row.name, base: ''});
                    showFlame();
                }, threads: (row) => {
                    if (flame)
                        flame.look(labelOf(row));
                    showFlame();
                }, functions: lookAt, waste: lookAt, trend: lookAt,
                nodes: (row) => toNode(String(row.id))}[tab]});
        } catch (error) {
            if (now === listing && table.heap && !before && await turnToLast(error)) {
                if (now === listing)
                    drawTable();
                return;
            }
            if (now !== listing)
                return;
            host.replaceChildren();
            if (!/heap_diff does not$/.test(error.message)) // which is said beside the flame graph
                fail('table', error);
        }
    }

    function makeTabs() {
        const tabs = byId('tabs');
        for (const [key, {title}] of Object.entries(pageTables.tables)) {
            const one = element('button', {type: 'button', role: 'tab', id: `tab-${key}`, 'aria-controls': 'table'}, title);
            one.addEventListener('click', () => {
                keep({tab: key});
                clearOf('table');
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

    // Shows the chosen node: what is unusual and the heap first, which share a
    // profile.  Nothing stays of the node before.
    async function visit() {
        const mine = known = {nodes: known.nodes, snapshots: [], profiles: [], samples: [], deaths: [], others: null, profiler: null, stale: {}};
        pageStatus.clear();
        showProfiler('asks the node');
        drawLine();
        showStale();
        byId('table').replaceChildren();
        options(byId('snapshot'), [], '');
        options(byId('base'), [], '');
        byId('nodes').hidden = byId('kept').hidden = true;
        pageDiagnosis(byId('diagnosis'), []);
        listing = last = null;
        lost = false;
        clearFlame();
        showName();
        await fetchNodes().catch((error) => fail('nodes', error));
        if (mine !== known)
            return; // another one was chosen since
        const refreshing = refresh().catch((error) => showLost(error.message));
        drawFlame();
        drawTable();
        await refreshing;
    }

    function showNodes() {
        const list = known.nodes.map((one) => [String(one.id),
            `${one.id}${one.self ? ' (this one)' : ''}`]);
        options(byId('node'), list.length > 1 ? [...list, ['all', 'all, added up']] : list,
            String(node() || self));
    }

    function showProfiler(otherwise) {
        const one = known.profiler, press = byId('switch');
        byId('state').textContent = one ? `${one.state}, profiling: ${one.profiling}` +
            (one.guard_reason && !one.active ? `; switched off: ${one.guard_reason}` : '') : otherwise;
        byId('state').classList.toggle('wrong', known.profiler === null && lost);
        press.hidden = byId('take').hidden = !one;
        byId('cost').textContent = one ? pageProfiler.costOf(one) : '';
        pageStatus.show();
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

    const isToDiagnose = (mine, of) => have?.has(pageTables.placeOf('diagnosis', of)) && mine.profiler?.state !== 'absent' &&
        !(Date.now() < mine.diagnose);

    // A profile is taken for it: so of the time it has a hundredth at most.
    async function fetchDiagnosis(mine, of, ask) {
        const began = Date.now();
        try {
            mine.diagnosis = await ask(`SELECT * FROM ${pageTables.of('diagnosis', of)}`);
        } finally {
            mine.diagnose = Date.now() + Math.max(DIAGNOSE_MS, DIAGNOSE_SHARE * (Date.now() - began));
        }
    }

    // Of all nodes.
    function showRows(mine, of) {
        if (of === 'all' && mine.memory)
            pageNodes.show(byId('nodes'), mine, (id) => toNode(String(id)));
    }

    // Everything but the flame graph and the table, which change when people ask.
    // What fails leaves the rest as it is; the profiler's rows are how the node is.
    async function refresh() {
        const mine = known, of = node();
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
            const list = await ask(`SELECT ${of === 'all' ? 'node_id, ' : ''}state, profiling, active, sample_rate, overhead, reason, ` +
                `guard_reason, started FROM ${pageTables.of('profiler', of)}`);
            mine.profilers = list;
            mine.profiler = of === 'all' && list.length ? pageProfiler.together(list, known.nodes.length) : list[0] || null;
        }, () => {
            lost = lost || !mine.profiler;
            showProfiler('the node does not answer');
        });
        if (!failed || !failed.passes) {
            const diagnosed = isToDiagnose(mine, of) && part('diagnosis', () => fetchDiagnosis(mine, of, ask), () => {
                pageDiagnosis(byId('diagnosis'), mine.diagnosis);
                showRows(mine, of);
            });
            const list = (condition) => 'SELECT name, taken, bytes, node_id, pid, program, cause ' +
                `FROM ${pageTables.of('snapshots', of, condition)} ORDER BY taken`;
            await rows('snapshots', list("kind = 'heap'"));
            await rows('profiles', list("kind <> 'heap'"));
            await rows('deaths', `SELECT ${of === 'all' ? 'node_id, ' : ''}coalesce(at, sampled, started) AS at, how, rss, allocated, ` +
                `last_snapshot FROM ${pageTables.of('deaths', of)}`);
            await part('memory', () => of === 'all' ? pageNodes.fetch(mine, ask) : fetchHistory(mine, of, ask), () => {
                drawLine();
                showRows(mine, of);
            });
            await diagnosed;
        }
        if (failed && mine === known)
            throw failed;
    }

    // Of the node that is shown.
    function showName() {
        const id = node() || self;
        document.title = byId('program').textContent = id === 'all' ? 'heapwire, all nodes' :
            id ? `heapwire, node ${id}` : 'heapwire';
        byId('line-title').textContent = id === 'all' ? 'Memory: RSS of each node' :
            node() === null || self === null ? 'Memory' : `Memory of node ${id}`;
    }

    async function fetchNodes() {
        known.nodes = await data.rows('SELECT id, self FROM heapwire.nodes ORDER BY id');
        self = known.nodes.find((one) => one.self).id;
        have = have || new Set((await data.rows("SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'heapwire'"))
            .map((one) => one.name));
        showName();
        showNodes();
    }

    // Asks again and again; a node that is gone ever more seldom.  What failed
    // meanwhile is asked for again once the node answers.
    async function follow(pause) {
        let next = REFRESH_MS;
        await new Promise((go) => setTimeout(go, pause));
        try {
            if (!document.hidden) {
                await refresh();
                if (known.profiler && (lost || self === null || (last && known.profiler.state === 'connected')))
                    await visit(); // one refresh at a time
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
        on('stop', 'click', pageStatus.stop);
        on('keep', 'click', () => act(keepLink));
        on('download', 'click', () => act(download));
        on('force', 'click', () => choose({force: '1'}));
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
        window.addEventListener('keydown', (event) => {
            if (event.key !== '/' || !flame || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey ||
                event.target.closest?.('input, select, textarea'))
                return;
            event.preventDefault();
            flame.search.focus();
        });
        pageStatus.onShown = (texts) => { // the reason is said once
            const reason = known.profiler && known.profiler.reason;
            byId('cost').hidden = Boolean(reason) && [...texts, byId('last').hidden ? '' : last.why].some((text) => text.includes(reason));
        };
        flamePaint.scheme.addEventListener('change', () => {
            drawLine();
            if (flame)
                flame.paint();
        });
    }

    line = new TimeLine(byId('line'), {picked});
    readAddress();
    makeTabs();
    listen();
    visit().then(() => follow(REFRESH_MS));
})();
