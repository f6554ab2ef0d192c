// Rows as a table that sorts.
//
// showTable(host, rows, {caption, bytes, doings, press}): bytes names the columns
// that are sizes; doings(row) gives buttons; press(row) makes the first cell one.
'use strict';
const showTable = (function () {
    const element = Flame.element;

    function cellOf(row, column, options) {
        const value = row[column], number = typeof value === 'number';
        const text = value === null ? '' :
            number && options.bytes.includes(column) ? flamePaint.size(value) :
                number && !Number.isInteger(value) ? value.toFixed(2) : String(value);
        const cell = element('td', number ? {class: 'number'} : {});
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
        if (options.doings)
            line.append(element('td', {class: 'doings'}, ...options.doings(row)));
        return line;
    }

    const compare = (a, b) => a === b ? 0 : a === null ? -1 : b === null ? 1 : a < b ? -1 : 1;

    function headOf(rows, options, body) {
        let sorted = '', sign = 1;
        const cells = options.columns.map((column) => {
            const press = Flame.button(column.replaceAll('_', ' '), 'sort');
            const cell = element('th', {scope: 'col'}, press);
            if (rows.some((row) => typeof row[column] === 'number'))
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
        return element('tr', {}, ...cells, ...(options.doings ? [element('th', {})] : []));
    }

    return function (host, rows, options) {
        const all = {bytes: [], ...options, columns: rows.length ? Object.keys(rows[0]) : []};
        const body = element('tbody', {}, ...rows.map((row) => lineOf(row, all)));
        host.replaceChildren(rows.length ?
            element('table', {}, element('caption', {}, options.caption || ''),
                element('thead', {}, headOf(rows, all, body)), body) :
            element('p', {class: 'hint'}, options.none || 'There are none.'));
    };
})();
