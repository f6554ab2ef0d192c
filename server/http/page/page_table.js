// Rows as a table that sorts.
//
// showTable(host, rows, {caption, bytes, truths, actions, press}): bytes names the
// columns that are sizes, truths those that are yes or no; actions(row) gives
// buttons; press(row) makes the first cell one; narrow: on a phone the first and the
// last cell have lines of their own, and figures stand between; plain: heads are as
// they are.
'use strict';
// A row as a table of its figures; size(number) is their text.
const turned = (row, size) => Object.entries(row).map(([figure, value]) => ({figure, value: typeof value === 'number' ? size(value) : value}));

const showTable = (function () {
    const element = Flame.element, LONG = 240, SHORT = 32;

    // As the flame graph has names: nothing that turns the writing.
    const shown = (text) => text.replace(/\p{Cc}/gu, '?').replace(/[\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, '???');

    function textOf(value, column, options) {
        if (value === null)
            return '';
        if (typeof value !== 'number')
            return shown(String(value));
        if (options.truths.includes(column))
            return value ? 'yes' : 'no';
        return options.bytes.includes(column) ? flamePaint.size(value) :
            Number.isInteger(value) && !column.includes('percent') ? String(value) : value.toFixed(2);
    }

    function cellOf(row, column, options) {
        const number = typeof row[column] === 'number' && !options.truths.includes(column);
        const whole = textOf(row[column], column, options), long = whole.length > LONG;
        const text = long ? `${whole.slice(0, LONG)}\u2026` : whole;
        const kind = number ? 'number' : text.length < SHORT ? 'short' : 'long';
        const cell = element('td', {class: kind, ...long && {title: whole}});
        if (options.press && column === options.columns[0]) {
            const press = Flame.button(text, '');
            press.addEventListener('click', () => options.press(row));
            cell.append(press);
        } else {
            cell.textContent = text;
        }
        return cell;
    }

    function lineOf(row, options) {
        const line = element('tr', {}, ...options.columns.map((one) => cellOf(row, one, options)));
        if (options.actions)
            line.append(element('td', {class: 'actions'}, ...options.actions(row)));
        return line;
    }

    const compare = (a, b) => a === b ? 0 : a === null ? -1 : b === null ? 1 : a < b ? -1 : 1;

    function headOf(rows, options, body) {
        let sorted = '', sign = 1;
        const cells = options.columns.map((column) => {
            const press = Flame.button(options.plain ? shown(column) : column.replaceAll('_', ' ').replace('percent', '%'), 'sort');
            const cell = element('th', {scope: 'col'}, press);
            if (!options.truths.includes(column) && rows.some((row) => typeof row[column] === 'number'))
                cell.className = 'number';
            press.addEventListener('click', () => {
                sign = sorted === column ? -sign : cell.className ? -1 : 1;
                sorted = column;
                for (const other of cells)
                    other.removeAttribute('aria-sort');
                cell.setAttribute('aria-sort', sign > 0 ? 'ascending' : 'descending');
                const order = [...rows].sort((a, b) => sign * compare(a[column], b[column]));
                body.replaceChildren(...order.map((row) => lineOf(row, options)));
            });
            return cell;
        });
        return element('tr', {}, ...cells, ...(options.actions ? [element('th', {})] : []));
    }

    // Those that have anything.
    const columnsOf = (rows, {plain}) => Object.keys(rows[0] || {}).filter((column) =>
        plain || rows.some((row) => row[column] !== null && row[column] !== ''));

    const usable = (host) => Array.from(host.querySelectorAll('button, select'));

    return function (host, rows, options) {
        const at = usable(host).indexOf(document.activeElement);
        const all = {bytes: [], truths: [], ...options, columns: columnsOf(rows, options)};
        const body = element('tbody', {}, ...rows.map((row) => lineOf(row, all)));
        host.replaceChildren(rows.length ?
            element('table', all.narrow ? {class: 'narrow'} : {}, element('caption', {}, options.caption || ''),
                element('thead', {}, headOf(rows, all, body)), body) :
            element('p', {class: 'hint'}, options.none || 'There are none.'));
        if (at >= 0) // the keyboard stays where it was
            (usable(host)[at] || host).focus();
    };
})();
