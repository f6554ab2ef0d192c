// What the node itself says is unusual, and what to do: the rows of diagnosis.
'use strict';
const pageDiagnosis = (function () {
    const element = Flame.element, join = (mark, ...texts) => texts.filter(Boolean).join(mark);

    function line({node_id: node, verdict, subject, bytes, certainty, why, steps}) {
        const head = join(': ', node && `node ${node}`, verdict, subject);
        const sure = join(', ', bytes && flamePaint.size(bytes), certainty);
        return element('li', {}, element('strong', {}, head), `${sure && ` (${sure})`}${why && `: ${why}`}`,
            ...steps ? [element('div', {class: 'steps'}, steps)] : []);
    }

    return function (host, rows) {
        host.hidden = !rows.length;
        host.querySelector('ul').replaceChildren(...rows.map(line));
    };
})();
