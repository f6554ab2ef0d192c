// What is wrong, and how far work is: the two lines below the head of the page.
'use strict';
const pageStatus = (function () {
    const PATIENCE_MS = 700, PROGRESS_MS = 1000;
    const byId = (id) => document.getElementById(id);
    const wrong = new Map(); // by what was asked for: it goes once that works
    let running = null;
    const status = {onShown: () => {}}; // onShown(texts) is called with what is shown

    status.show = () => {
        const texts = Array.from(wrong.values(), (error) => error.message);
        byId('message').textContent = Array.from(new Set(texts)).join('\n');
        byId('message').hidden = !wrong.size;
        status.onShown(texts);
    };

    status.fail = (what, error) => {
        if (error.name !== 'AbortError')
            wrong.set(what, error);
        status.show();
    };

    status.clearOf = (what) => {
        wrong.delete(what);
        status.show();
    };

    status.clear = () => {
        wrong.clear();
        status.show();
    };

    status.passes = (what) => wrong.has(what) && wrong.get(what).passes;

    // What people do by a button.
    status.act = (how) => {
        status.clearOf('act');
        Promise.resolve().then(how).catch((error) => status.fail('act', error));
    };

    // Does work(signal), and shows how far it is where that takes long, or so many
    // seconds.
    status.wait = async (what, work, stop = new AbortController(), seconds = 0) => {
        const bar = byId('progress');
        const started = Date.now();
        const showProgress = (text, percent) => {
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
                showProgress(`${what}, ${Math.round(past)} of ${seconds} s`, 100 * past / seconds);
            else
                showProgress(`${what}, ${Math.round(past)} s${how}`, parseInt(how.split(', ')[1], 10));
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
    };

    status.stop = () => running && running.abort();

    return status;
})();
