// How the page asks its node: here, and nowhere else.
'use strict';
const data = (function () {
    // A password in the page's own URL is none of fetch's.
    const here = location.origin + location.pathname.replace(/[^/]*$/, '');

    // An error that passes: the same may work later, as it is.
    // status: the answer's, 0 if there was none.
    const failure = (text, passes = false, status = 0) => Object.assign(new Error(text), {passes, status});

    // Without the place in a script that people did not write.
    const plain = (text) => text.replace(/script line \d+(, column \d+)?: /, '');

    // The header is one that no form of another origin can send.
    async function ask(path, statement, signal, take) {
        let answer, body;
        try {
            answer = await fetch(here + path, {method: 'POST', body: statement, signal,
                headers: {'Content-Type': 'text/plain; charset=utf-8', 'X-Heapwire': '1'}});
            body = await (answer.ok ? take(answer) : answer.text());
        } catch (error) {
            throw error.name === 'AbortError' ? error : failure('heapwired does not answer', true);
        }
        if (answer.status === 401)
            throw failure('the login is no longer valid: load the page again', true);
        if (!answer.ok)
            throw failure(plain(body.trim()) ||
                `the node answers ${answer.status}`, false, answer.status);
        return body;
    }

    // {columns, rows, warnings}, as they came.
    const answer = (statement, signal) => ask('sql', statement, signal, (one) => one.json());

    // Rows as objects by their columns' names.
    async function rows(statement, signal) {
        const {columns, rows: lists} = await answer(statement, signal);
        return lists.map((list) => Object.fromEntries(list.map((value, i) => [columns[i], value])));
    }

    // The only value of the only row, as it is.
    const value = (statement, signal) => ask('value', statement, signal, (answer) => answer.blob());

    // A text as SQL has it.  A backslash is an escape there.
    const quote = (text) => `'${String(text).replace(/['\\]/g, '\\$&')}'`;

    // To the page as it is shown, without a password of its URL.
    const link = (hash) => location.origin + location.pathname + hash;

    return {answer, rows, value, quote, plain, link};
})();
