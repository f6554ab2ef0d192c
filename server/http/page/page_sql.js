// A box for a statement of SQL, which nothing but its button runs: no link does.
//
// pageSql(host, {text, keep}): text is what stands in it; keep(text) is called when it
// is run.
'use strict';
const pageSql = (function () {
    const ROWS_MAX = 1000;
    const element = Flame.element;

    function showAnswer(host, {columns, rows, warnings = []}) {
        const table = element('div', {class: 'answer'}), cut = rows.length > ROWS_MAX;
        const names = columns.map((one, i) => columns.indexOf(one) === i ? one : `${one} (${i + 1})`); // a key for each
        const list = rows.slice(0, ROWS_MAX).map((row) => Object.fromEntries(row.map((value, i) => [names[i], value])));
        showTable(table, list, {plain: true, none: 'No rows.',
            caption: `${rows.length} row${rows.length === 1 ? '' : 's'}${cut ? `, of which the first ${ROWS_MAX} are shown` : ''}`});
        host.replaceChildren(...warnings.map((one) => element('p', {class: 'wrong'}, String(one))), table);
    }

    return function (host, {text, keep}) {
        const box = element('textarea', {rows: '4', spellcheck: 'false', 'aria-label': 'statement', placeholder: 'SELECT …'});
        const run = Flame.button('Run', 'Ctrl Enter'), out = element('div', {role: 'status'});
        let newest = null;
        const go = async () => {
            const now = newest = {};
            keep(box.value);
            out.replaceChildren(element('p', {class: 'hint'}, 'Runs …'));
            try {
                const answer = await data.answer(box.value);
                if (now === newest)
                    showAnswer(out, answer);
            } catch (error) {
                if (now === newest)
                    out.replaceChildren(element('p', {class: 'wrong'}, error.message));
            }
        };
        box.value = text;
        run.addEventListener('click', go);
        box.addEventListener('keydown', (event) => {
            if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey))
                return;
            event.preventDefault();
            go();
        });
        host.replaceChildren(element('div', {class: 'sql'}, box, run, element('span', {class: 'hint'},
            'One statement, with the privileges of your account. “SHOW TABLES” lists what there is.')), out);
    };
})();
