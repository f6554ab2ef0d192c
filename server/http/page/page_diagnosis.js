// What the node itself says is unusual, and what to do: the rows of diagnosis.
'use strict';
const pageDiagnosis = (function () {
    const element = Flame.element;
    const HEADS = ['verdict', 'finding']; // what stands out of a row
    const SILENT = ['node_id', 'place', 'rank'];
    const shown = (value) => value !== null && value !== '';
    const textOf = (name, value) => typeof value === 'number' && name.endsWith('bytes') ? flamePaint.size(value) : String(value);

    function line(row) {
        const node = row.node_id ? `node ${row.node_id}: ` : '';
        const heads = HEADS.filter((one) => shown(row[one] ?? null)).map((one) => row[one]);
        const rest = Object.entries(row).filter(([name, value]) => !HEADS.includes(name) && !SILENT.includes(name) && shown(value));
        return element('li', {}, element('strong', {}, node + heads.join(': ')),
            ...rest.flatMap(([name, value]) => [' ', element('span', {class: name.includes('step') ? 'next' : ''},
                `${name === 'why' ? '' : `${name.replaceAll('_', ' ')}: `}${textOf(name, value)}`)]));
    }

    return function (host, rows) {
        host.hidden = !rows.length;
        host.querySelector('ul').replaceChildren(...rows.map(line));
    };
})();
