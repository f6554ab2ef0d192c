// How the page asks its node: here, and nowhere else.
'use strict';
const data = (function () {
    // A password in the page's own URL is none of fetch's.
    const here = location.origin + location.pathname.replace(/[^/]*$/, '');

    // The header is one that no form of another origin can send.
    async function ask(path, statement, signal) {
        const answer = await fetch(here + path, {method: 'POST', body: statement, signal,
            headers: {'Content-Type': 'text/plain; charset=utf-8', 'X-Heapwire': '1'}});
        if (!answer.ok)
            throw new Error((await answer.text()).trim() || `the node answers ${answer.status}`);
        return answer;
    }

    // Rows as objects by their columns' names.
    async function rows(statement, signal) {
        const {columns, rows: lists} = await (await ask('sql', statement, signal)).json();
        return lists.map((list) => Object.fromEntries(list.map((value, i) => [columns[i], value])));
    }

    // The only value of the only row, as it is.
    async function value(statement, signal) {
        return (await ask('value', statement, signal)).blob();
    }

    // A text as SQL has it.  A backslash is an escape there.
    const quote = (text) => `'${String(text).replace(/['\\]/g, '\\$&')}'`;

    return {rows, value, quote};
})();
